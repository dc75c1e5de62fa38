//! Where a recorded object is named in what names it, and how long the browser took from there to the request.

use super::Timed;
use crate::har::{Entry, address};
use farhop_units::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;
use url::{Position, Url};

/// A part of a whole, in 2³² parts: exact arithmetic gives the same page on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share(u64);

impl Share {
    const NOTHING: Self = Self(0);
    const WHOLE: Self = Self(1 << 32);

    /// `part` of `whole`, at most all of it; all of nothing.
    fn of(part: u128, whole: u128) -> Self {
        let share = (part.min(whole) << 32).checked_div(whole);
        share.and_then(|share| u64::try_from(share).ok()).map_or(Self::WHOLE, Self)
    }
}

/// So much of `size`, rounded up: a name is known when its last byte has arrived.
pub(super) fn share_of(size: Bytes, Share(share): Share) -> Bytes {
    let bytes = (u128::from(size.get()) * u128::from(share)).div_ceil(1 << 32);
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX).min(size.get()))
}

fn share_of_time(span: Duration, Share(share): Share) -> Duration {
    let nanos = span.as_nanos().saturating_mul(u128::from(share)) >> 32;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// What is known of the bodies that name others.
pub(super) struct Places<'a> {
    entries: &'a [Timed<'a>],
    /// By place of a document: the texts in its body that may be URLs, with where they end.
    texts: BTreeMap<usize, BTreeMap<&'a [u8], usize>>,
    /// By place of a document: how many lines its body has, or how many are known to be there.
    lines: BTreeMap<usize, u64>,
}

impl<'a> Places<'a> {
    pub(super) fn new(entries: &'a [Timed<'a>], referrers: &[Option<usize>]) -> Self {
        let mut places = Self { entries, texts: BTreeMap::new(), lines: BTreeMap::new() };
        for (place, referrer) in referrers.iter().enumerate() {
            let Some(by) = *referrer else { continue };
            let body = entries[by].entry.body.as_deref();
            if let Some(body) = body.filter(|_| super::is_html(entries[by].entry)) {
                places.texts.entry(by).or_insert_with(|| texts(body));
                places.lines.entry(by).or_insert_with(|| lines(body));
            } else {
                let line = line(entries[place].entry).unwrap_or_default();
                // One more line than the last that names something.
                places.lines.entry(by).and_modify(|most| *most = line.max(*most)).or_insert(line);
            }
        }
        places
    }

    /// How much of what is at `by` must have arrived for what is at `place` to be known, and how long the browser waits from then on.
    pub(super) fn of(&mut self, by: usize, place: usize) -> (Share, Duration) {
        let (referrer, Timed { entry, started }) = (self.entries[by], self.entries[place]);
        let (first, end) = reception(&referrer);
        let share = if referrer.entry.redirects_to().is_some() {
            Share::NOTHING
        } else if super::is_html(referrer.entry) {
            let text = || self.text(by, entry);
            let line = || self.line(by, entry);
            let time = || Share::of(started.saturating_sub(first).as_nanos(), end.saturating_sub(first).as_nanos());
            text().or_else(line).unwrap_or_else(time)
        } else {
            Share::WHOLE
        };
        let known = first.saturating_add(share_of_time(end.saturating_sub(first), share));
        (share, started.saturating_sub(known))
    }

    /// By where the document's body has the URL.
    fn text(&self, by: usize, entry: &Entry) -> Option<Share> {
        let texts = self.texts.get(&by)?;
        let base = &self.entries[by].entry.url;
        let end = spellings(base, &entry.url).iter().filter_map(|spelling| texts.get(spelling.as_bytes())).min()?;
        let length = self.entries[by].entry.body.as_deref()?.len();
        Some(Share::of(*end as u128, length as u128))
    }

    /// By the line that the recording says, if it is a line of what names the object.
    fn line(&self, by: usize, entry: &Entry) -> Option<Share> {
        let initiator = entry.initiator.as_ref()?;
        let line = line(entry).filter(|line| *line > 0)?;
        let url = Url::parse(initiator.url.as_deref()?).ok()?;
        let is_there = address(&url) == self.entries[by].entry.address();
        let lines = self.lines.get(&by).copied().unwrap_or_default();
        is_there.then(|| Share::of(line.into(), u128::from(lines) + 1))
    }
}

fn line(entry: &Entry) -> Option<u64> {
    entry.initiator.as_ref()?.line
}

fn lines(body: &[u8]) -> u64 {
    body.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// When the first and the last byte of a response arrived in the recording.
pub(super) fn reception(timed: &Timed<'_>) -> (Duration, Duration) {
    let timings = &timed.entry.timings;
    let before = [timings.blocked, timings.dns, timings.connect, timings.send, timings.wait];
    let first = before.into_iter().flatten().fold(timed.started, Duration::saturating_add);
    (first, first.saturating_add(timings.receive.unwrap_or_default()))
}

/// The words of a document that may be URLs, each with where it first ends. Design point: what stands between quotes, spaces and brackets.
fn texts(body: &[u8]) -> BTreeMap<&[u8], usize> {
    const SHORTEST: usize = 2;
    const LONGEST: usize = 8192;
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>()=,\\`".contains(byte);
    let mut texts = BTreeMap::new();
    let mut end = 0;
    for word in body.split(is_end) {
        end += word.len();
        if (SHORTEST..=LONGEST).contains(&word.len()) {
            texts.entry(word).or_insert(end);
        }
        end += 1;
    }
    texts
}

/// How a document at `base` may write `url`. A `=` in a query ends a word, so that what is before it counts.
fn spellings(base: &Url, url: &Url) -> Vec<String> {
    let whole = address(url);
    let mut spellings =
        vec![whole.to_owned(), url[Position::AfterScheme..Position::AfterQuery].trim_start_matches(':').to_owned()];
    if url.origin() == base.origin() {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        spellings.extend([path.to_owned(), path.trim_start_matches('/').to_owned()]);
        spellings.extend(base.make_relative(url).filter(|relative| !relative.is_empty()));
    }
    spellings.iter_mut().for_each(|text| {
        let word = text.split(['=', ',', '(', ')', '\'']).next().unwrap_or_default().len();
        text.truncate(word);
    });
    let escaped: Vec<String> =
        spellings.iter().filter(|text| text.contains('&')).map(|text| text.replace('&', "&amp;")).collect();
    spellings.extend(escaped);
    // A lone slash stands everywhere.
    spellings.retain(|text| text.len() > 1);
    spellings
}
