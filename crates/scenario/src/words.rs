//! The spelling in files of what is chosen from a list.

use crate::scenario::PrefetchSide;
use farhop_results::Architecture;
use farhop_tcp::{ByteCounting, Congestion, FirstAck, Profile};
use farhop_units::{ParseError, suggestion};
use farhop_web::logs::Strictness;
use farhop_web::{Dns, HttpVersion, Tls};

/// A spelling and what it stands for.
pub(crate) type Word<T> = (&'static str, T);

const fn profile(profile: Profile) -> Word<Profile> {
    (profile.word(), profile)
}

pub(crate) const PROFILES: &[Word<Profile>] =
    &[profile(Profile::Linux), profile(Profile::Bsd1997), profile(Profile::Rfc)];

pub(crate) const CONGESTION: &[Word<Congestion>] = &[
    ("reno", Congestion::Reno),
    ("newreno", Congestion::NewReno),
    ("cubic", Congestion::Cubic),
    ("bbr", Congestion::Bbr),
];

pub(crate) const FIRST_ACK: &[Word<FirstAck>] = &[("immediate", FirstAck::Immediate), ("delayed", FirstAck::Delayed)];

pub(crate) const SWITCH: &[Word<bool>] = &[("on", true), ("off", false)];

pub(crate) const HTTP_VERSIONS: &[Word<HttpVersion>] = &[
    ("1.0", HttpVersion::Http10),
    ("1.1", HttpVersion::Http11),
    ("1.1-pipelined", HttpVersion::Http11Pipelined),
    ("2", HttpVersion::Http2),
    ("3", HttpVersion::Http3),
];

pub(crate) const TLS: &[Word<Tls>] = &[("none", Tls::None), ("1.2", Tls::V12), ("1.3", Tls::V13)];

pub(crate) const DNS: &[Word<Dns>] = &[("none", Dns::None), ("near", Dns::Near), ("far", Dns::Far)];

pub(crate) const PREFETCH_AT: &[Word<PrefetchSide>] =
    &[("terminal", PrefetchSide::Near), ("gateway", PrefetchSide::Far)];

pub(crate) const BROKEN_LINES: &[Word<Strictness>] = &[("skip", Strictness::Skip), ("refuse", Strictness::Refuse)];

/// What counts in slow start but a number of segments.
pub(crate) const BYTE_COUNTING: &[Word<ByteCounting>] =
    &[("packets", ByteCounting::Packets), ("unlimited", ByteCounting::Unlimited)];

/// Reads one of `words`.
pub(crate) fn choose<T: Copy>(words: &[Word<T>], text: &str) -> Result<T, ParseError> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| unknown(text, &words.iter().map(|(word, _)| *word).collect::<Vec<_>>()))
}

/// The spelling of `meaning`.
pub(crate) fn spell<T: PartialEq>(words: &[Word<T>], meaning: &T) -> &'static str {
    words.iter().find(|(_, known)| known == meaning).map(|(word, _)| *word).expect("every variant has its word")
}

/// Reads the name of an architecture.
pub(crate) fn architecture(text: &str) -> Result<Architecture, ParseError> {
    let all: Vec<&str> = Architecture::ALL.iter().map(|known| known.word()).collect();
    text.parse().map_err(|()| unknown(text, &all))
}

fn unknown(text: &str, known: &[&str]) -> ParseError {
    let suggestion = suggestion(text, known.iter().copied());
    let accepted = known.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    ParseError::new(format!("unknown word{suggestion}"), accepted)
}
