//! Pages of 2025, from the percentiles of the Web Almanac 2025, chapter "Page Weight" (HTTP Archive, crawl of July 2025, desktop).
//!
//! Published there, at the 10th, 25th, 50th, 75th and 90th percentile:
//!
//! | kind | files per page | size of a file, kB |
//! |---|---|---|
//! | scripts | 5, 11, 23, 40, 67 | 0.4, 1.2, 4.6, 21.8, 83.5 |
//! | images | 5, 9, 17, 32, 56 | 0, 1, 8, 48, 183 |
//! | style sheets | 2, 4, 8, 16, 31 | 0 and 25 at the 10th and 90th |
//! | fonts | 0, 2, 4, 7, 10 | 9, 15, 23, 47, 79 |
//! | HTML | 3 at the median, 12 at the 90th | 0 and 30 at the 10th and 90th |
//! | others | 2 at the median, 12 at the 90th | |
//!
//! All requests of a page: 27, 46, 77, 122, 185; all its bytes: 607, 1275, 2412, 4570, 9179 kB. The median home page has 2862 kB, and of each
//! kind at the median 22 kB HTML, 82 kB style sheets, 139 kB fonts, 697 kB scripts, 1058 kB images: the mean sizes here, times the
//! median counts, agree with the last four. (The 25 and 30 kB are half of what the chapter's candlesticks say, since
//! those add desktop and mobile, as their other kinds show.)
//!
//! The chapter "Third Parties" counts 16 third-party domains on the median page, and at least one on nine of ten pages.
//!
//! Ours, since percentiles of parts do not say how they belong together or where they stand:
//! - the ends of the distributions (0 and 100 %) and what is between published points; the document's size (the chapter's
//!   percentiles of all HTML of a page, scaled to the median of 22 kB);
//! - that pages with many files of one kind tend to have many of the others: a Gaussian copula with `correlation`, chosen so that all
//!   requests have about the published percentiles (27, 45, 71, 115, 188);
//! - sizes that do not depend on counts, so that pages' bytes vary less than the published ones (780, 1420, 2460, 4140, 7010 kB);
//! - `hosts` but for two of its points, and the share of the document's own (`first-party`);
//! - the order: style sheets and scripts in the first quarter of the document, images and frames behind; fonts are named by complete style
//!   sheets, all data and `by-script` of the other files by complete scripts, after `script-time`;
//! - viewing times, which are those of the 3GPP model.
//!
//! Left out: video, the server's time, cookies (requests are as the scenario says), and what loads after the page's load event.

use super::assemble::{Draft, mean, numbered, page, whole};
use super::parameters::{Parameter, Parameters, published};
use super::{Behaviour, Purpose, Streams};
use crate::distribution::{Distribution, Quantity, normal_cdf, normal_quantile};
use crate::{MAX_OBJECTS, Page};
use farhop_units::{Bytes, Probability, random::Dice};
use std::time::Duration;

/// The parameters of pages of 2025.
#[derive(Debug, Clone, PartialEq)]
pub struct Page2025 {
    /// Sizes of documents.
    pub documents: Distribution<Bytes>,
    /// Style sheets.
    pub styles: Kind,
    /// Scripts.
    pub scripts: Kind,
    /// Images.
    pub images: Kind,
    /// HTML beside the document.
    pub frames: Kind,
    /// Fonts.
    pub fonts: Kind,
    /// Data that scripts load.
    pub data: Kind,
    /// Correlation of the counts of different kinds.
    pub correlation: Probability,
    /// Hosts that a page's files are spread over.
    pub hosts: Distribution<f64>,
    /// Share of the files on the document's own host; the rest is spread evenly.
    pub first_party: Probability,
    /// Share of scripts, images and frames that a script names rather than the document.
    pub by_script: Probability,
    /// From a complete script to the requests for what it names.
    pub script_time: Distribution<Duration>,
    /// Viewing between pages.
    pub think: Distribution<Duration>,
}

/// Files of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// How many a page has; rounded to the nearest whole number.
    pub count: Distribution<f64>,
    /// How large each is.
    pub size: Distribution<Bytes>,
}

impl Kind {
    fn published(count: &str, size: &str) -> Self {
        Self { count: published(count), size: published(size) }
    }
}

impl Default for Page2025 {
    fn default() -> Self {
        Self {
            documents: published("percentiles 0%=1kB 10%=4kB 25%=9kB 50%=22kB 75%=49kB 90%=95kB 100%=1MB"),
            styles: Kind::published(
                "percentiles 0%=0.5 10%=2 25%=4 50%=8 75%=16 90%=31 100%=90",
                "percentiles 0%=50B 10%=200B 25%=700B 50%=2.5kB 75%=8kB 90%=25kB 100%=135kB",
            ),
            scripts: Kind::published(
                "percentiles 0%=0.5 10%=5 25%=11 50%=23 75%=40 90%=67 100%=200",
                "percentiles 0%=100B 10%=400B 25%=1.2kB 50%=4.6kB 75%=21.8kB 90%=83.5kB 100%=400kB",
            ),
            images: Kind::published(
                "percentiles 0%=0.5 10%=5 25%=9 50%=17 75%=32 90%=56 100%=200",
                "percentiles 0%=40B 10%=100B 25%=1kB 50%=8kB 75%=48kB 90%=183kB 100%=800kB",
            ),
            frames: Kind::published(
                "percentiles 0%=0.1 10%=0.4 25%=1 50%=2 75%=5 90%=11 100%=40",
                "percentiles 0%=50B 10%=150B 50%=1.5kB 90%=30kB 100%=300kB",
            ),
            fonts: Kind::published(
                "percentiles 0%=0.1 10%=0.4 25%=2 50%=4 75%=7 90%=10 100%=30",
                "percentiles 0%=2kB 10%=9kB 25%=15kB 50%=23kB 75%=47kB 90%=79kB 100%=150kB",
            ),
            data: Kind::published(
                "percentiles 0%=0.1 10%=0.4 25%=1 50%=2 75%=5 90%=12 100%=40",
                "percentiles 0%=20B 10%=50B 50%=400B 90%=10kB 100%=300kB",
            ),
            correlation: published("30 %"),
            hosts: published("percentiles 0%=1 10%=2 25%=8 50%=17 75%=29 90%=48 100%=150"),
            first_party: published("50 %"),
            by_script: published("30 %"),
            script_time: published("exponential mean=50ms"),
            think: published("exponential mean=30s"),
        }
    }
}

impl Parameters for Page2025 {
    const NAME: &'static str = "page-2025";

    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)> {
        vec![
            ("documents", &mut self.documents),
            ("styles", &mut self.styles.count),
            ("style-sizes", &mut self.styles.size),
            ("scripts", &mut self.scripts.count),
            ("script-sizes", &mut self.scripts.size),
            ("images", &mut self.images.count),
            ("image-sizes", &mut self.images.size),
            ("frames", &mut self.frames.count),
            ("frame-sizes", &mut self.frames.size),
            ("fonts", &mut self.fonts.count),
            ("font-sizes", &mut self.fonts.size),
            ("data", &mut self.data.count),
            ("data-sizes", &mut self.data.size),
            ("correlation", &mut self.correlation),
            ("hosts", &mut self.hosts),
            ("first-party", &mut self.first_party),
            ("by-script", &mut self.by_script),
            ("script-time", &mut self.script_time),
            ("think", &mut self.think),
        ]
    }
}

/// What is the same for all files of a kind.
struct Traits {
    stem: &'static str,
    extension: &'static str,
    media_type: &'static str,
    /// Where in the document the first and the last reference end, as shares of it.
    places: (f64, f64),
}

/// No page is on more; a page with more files than that has hosts with several.
const MOST_HOSTS: usize = 1024;
const KINDS: usize = 6;
const STYLE: usize = 0;
const SCRIPT: usize = 1;
const FONT: usize = 4;
const DATA: usize = 5;
/// In the order in which a page lists them: those that name others before those that they name.
const TRAITS: [Traits; KINDS] = [
    Traits { stem: "style", extension: ".css", media_type: "text/css", places: (0.02, 0.1) },
    Traits { stem: "script", extension: ".js", media_type: "text/javascript", places: (0.1, 0.25) },
    Traits { stem: "image", extension: ".jpg", media_type: "image/jpeg", places: (0.25, 0.95) },
    Traits { stem: "frame", extension: ".html", media_type: "text/html", places: (0.3, 0.95) },
    Traits { stem: "font", extension: ".woff2", media_type: "font/woff2", places: (0.1, 0.1) },
    Traits { stem: "data", extension: ".json", media_type: "application/json", places: (0.25, 0.25) },
];

impl Page2025 {
    const fn kinds(&self) -> [&Kind; KINDS] {
        [&self.styles, &self.scripts, &self.images, &self.frames, &self.fonts, &self.data]
    }

    /// How many files of each kind a page has: the quantiles at normal numbers that share a part.
    fn counts(&self, dice: &mut Dice) -> [usize; KINDS] {
        /// A stream's number may be 0, whose normal number is infinite; six deviations are one page in 10⁹.
        const FARTHEST: f64 = 6.0;
        let mut normal = || normal_quantile(dice.uniform()).clamp(-FARTHEST, FARTHEST);
        let (together, alone) = (self.correlation.get().sqrt(), (1.0 - self.correlation.get()).sqrt());
        let shared = together * normal();
        self.kinds().map(|kind| whole(kind.count.at(normal_cdf(shared + alone * normal()))))
    }

    /// What is drawn for a file.
    fn file(&self, kind: usize, hosts: usize, mut dice: Dice) -> File {
        let size = self.kinds()[kind].size.draw(&mut dice);
        let first_party = dice.uniform() < self.first_party.get() || hosts == 1;
        let other = 1 + scaled(dice.uniform(), hosts.max(2) - 1);
        let host = if first_party { 0 } else { other };
        let by_script = dice.uniform() < self.by_script.get();
        File { size, host, by_script, which: dice.uniform(), delay: self.script_time.draw(&mut dice) }
    }
}

/// A file before it has its place in a page.
struct File {
    size: Bytes,
    /// Host, 0 being the document's.
    host: usize,
    by_script: bool,
    /// Which of the scripts names it, from 0 to below 1.
    which: f64,
    delay: Duration,
}

/// A page that grows file by file.
struct Site {
    drafts: Vec<Draft>,
    /// Number of each host in the page, in the order of their use, so that none is without files.
    hosts: Vec<Option<usize>>,
    hosts_used: usize,
    /// Scripts that the document names.
    scripts: Vec<usize>,
}

impl Site {
    fn new(document_size: Bytes, hosts: usize) -> Self {
        let mut numbers = vec![None; hosts];
        numbers[0] = Some(0);
        Self { drafts: vec![Draft::document(document_size)], hosts: numbers, hosts_used: 1, scripts: Vec::new() }
    }

    /// The page with these counts, whose files are made by `file` from their kind and their place among those of the kind.
    fn page(mut self, counts: [usize; KINDS], file: impl Fn(usize, usize) -> File) -> Page {
        for (kind, count) in counts.into_iter().enumerate() {
            for place in 0..count {
                let file = file(kind, place);
                let (named_by, delay) = self.referrer(kind, place, counts[STYLE], &file);
                self.add(kind, (place, count), (named_by, delay), &file);
            }
        }
        page(self.drafts.into_iter(), self.hosts_used)
    }

    /// What names file `place` of a kind, and how long that takes once it is complete.
    fn referrer(&self, kind: usize, place: usize, styles: usize, file: &File) -> (usize, Duration) {
        // Style sheets come first, right behind the document.
        if kind == FONT && styles > 0 {
            return (1 + place % styles, Duration::ZERO);
        }
        let by_script = kind == DATA || (file.by_script && kind != STYLE && kind != FONT);
        match self.scripts.get(scaled(file.which, self.scripts.len())) {
            Some(script) if by_script => (*script, file.delay),
            _ => (0, Duration::ZERO),
        }
    }

    fn add(&mut self, kind: usize, (place, count): (usize, usize), named: (usize, Duration), file: &File) {
        let (named_by, delay) = named;
        let Traits { stem, extension, media_type, places } = TRAITS[kind];
        let referrer = self.drafts[named_by].size;
        let end = if named_by == 0 { share(referrer, places, place, count) } else { referrer };
        if kind == SCRIPT && named_by == 0 {
            self.scripts.push(self.drafts.len());
        }
        let next = self.hosts_used;
        let host = *self.hosts[file.host].get_or_insert(next);
        self.hosts_used = next.max(host + 1);
        let draft = Draft::new(numbered(stem, place + 1, extension), media_type, file.size);
        self.drafts.push(Draft { host, named_by: Some((named_by, end)), delay, ..draft });
    }
}

/// A whole number below `bound`, from one between 0 and 1.
#[expect(clippy::cast_precision_loss, reason = "counts of files and hosts")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of files and hosts")]
fn scaled(uniform: f64, bound: usize) -> usize {
    ((uniform * bound as f64) as usize).min(bound.saturating_sub(1))
}

/// Where in a document the reference of file `place` of `count` ends.
#[expect(clippy::cast_precision_loss, reason = "counts of files")]
fn share(document: Bytes, (first, last): (f64, f64), place: usize, count: usize) -> Bytes {
    let share = first + (last - first) * (place as f64 / count as f64);
    Bytes::from_number(document.as_f64() * share)
}

impl Behaviour for Page2025 {
    fn page(&self, streams: &Streams) -> Page {
        let mut dice = streams.dice(Purpose::Count);
        let hosts = whole(self.hosts.draw(&mut dice)).clamp(1, MOST_HOSTS);
        let document = self.documents.draw(&mut dice);
        let counts = self.counts(&mut dice);
        // More files of one kind leave those of the others as they are.
        let file = |kind: usize, place: usize| self.file(kind, hosts, streams.object(1 + kind * MAX_OBJECTS + place));
        Site::new(document, hosts).page(counts, file)
    }

    fn typical_page(&self) -> Page {
        let counts = self.kinds().map(|kind| whole(kind.count.at(0.5)));
        let hosts = whole(self.hosts.at(0.5)).max(1);
        // The first-party host has the first files, the others have the rest in turn; the first script names the data.
        let first_party = scaled(self.first_party.get(), counts.iter().sum());
        let delay = self.script_time.mean().unwrap_or_default();
        let file = |kind: usize, place: usize| {
            let index = counts[..kind].iter().sum::<usize>() + place;
            let host = if index < first_party { 0 } else { index % hosts };
            File { size: mean(&self.kinds()[kind].size), host, by_script: false, which: 0.0, delay }
        };
        Site::new(self.documents.at(0.5), hosts).page(counts, file)
    }

    fn most_hosts(&self) -> usize {
        whole(self.hosts.at(1.0)).clamp(1, MOST_HOSTS)
    }

    fn think(&self) -> &Distribution<Duration> {
        &self.think
    }
}
