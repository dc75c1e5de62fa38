//! Fig 4 to 10 and 12 simulated: pages over the shipped scenario `obata-2002`.
//!
//! The first data set is the page that names the others, which is how a browser learns of them; that costs no time where they
//! are asked for one after another. Fig 6 is what a capture at the server shows ([`super::starts`]).

use super::{TIME, claims, starts};
use crate::filling::{Fill, Plot};
use crate::lab::Lab;
use farhop_results::Architecture;
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 8] = [
    Figure::Fig(4),
    Figure::Fig(5),
    Figure::Fig(6),
    Figure::Fig(7),
    Figure::Fig(8),
    Figure::Fig(9),
    Figure::Fig(10),
    Figure::Fig(12),
];

pub(super) const SCENARIO: &str = "obata-2002";

/// How pages are asked for.
#[derive(Debug, Clone, Copy)]
struct Version {
    /// As scenarios have it.
    word: &'static str,
    name: &'static str,
    /// When the first segment of a connection is acknowledged.
    first_ack: &'static str,
}

impl Version {
    const fn new(word: &'static str, name: &'static str) -> Self {
        Self { word, name, first_ack: "delayed" }
    }
}

const HTTP10: Version = Version::new("1.0", "HTTP/1.0, simulated");
const HTTP10_AT_ONCE: Version =
    Version { first_ack: "immediate", ..Version::new("1.0", "HTTP/1.0 with first ACKs at once, simulated") };
const HTTP11: Version = Version::new("1.1", "HTTP/1.1, simulated");
const PIPELINED: Version = Version::new("1.1-pipelined", "pipelined, simulated");

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let versions = match figure {
        Figure::Fig(4 | 5) => &[HTTP10, HTTP11][..],
        Figure::Fig(6) => return starts::sequence(lab, reproduction),
        Figure::Fig(7 | 8 | 10) => &[HTTP11],
        Figure::Fig(9) => &[HTTP10],
        Figure::Fig(12) => &[HTTP11, PIPELINED],
        _ => &[],
    };
    for version in versions {
        let points = times(lab, reproduction, figure, *version);
        match (figure, version.word) {
            (Figure::Fig(4 | 5), "1.0") => {
                let at_once = times(lab, reproduction, figure, HTTP10_AT_ONCE);
                claims::of_connections(reproduction, figure, &points, &at_once);
            }
            _ => claims::of_times(reproduction, figure, version.word, &points),
        }
    }
    if figure == Figure::Fig(12) {
        saved(lab, reproduction);
    }
}

/// A version's times, as they were put into the figure; those of the paper's points, as what the paper does not have decides nothing.
fn times(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, version: Version) -> Vec<(f64, f64)> {
    let points = match figure {
        Figure::Fig(5 | 8) => over_sizes(lab, reproduction, figure, version),
        _ => over_counts(lab, reproduction, figure, version),
    };
    let has = papers_points(figure);
    points.into_iter().filter(|(x, _)| has.contains(&(*x as u32))).collect()
}

/// Data sets of §4.2, and those beside them.
const COUNTS: [u32; 6] = [10, 20, 30, 40, 50, 60];
const FURTHER_COUNTS: [u32; 2] = [1, 5];
/// Sizes of Table 1 in kB, and those beside them.
const SIZES: [u32; 5] = [5, 10, 50, 100, 500];
const FURTHER_SIZES: [u32; 2] = [20, 200];
/// Data sets that the text names of Fig 12, and those beside them.
const TOLD: [u32; 2] = [10, 100];
const NOT_TOLD: [u32; 6] = [1, 5, 20, 40, 60, 80];

/// Where the paper has points, as far as the text tells.
const fn papers_points(figure: Figure) -> &'static [u32] {
    match figure {
        Figure::Fig(5 | 8) => &SIZES,
        Figure::Fig(12) => &TOLD,
        _ => &COUNTS,
    }
}

/// Where ours are: the paper's and further ones, in order.
fn our_points(figure: Figure) -> Vec<u32> {
    let further: &[u32] = match figure {
        Figure::Fig(5 | 8) => &FURTHER_SIZES,
        Figure::Fig(12) => &NOT_TOLD,
        _ => &FURTHER_COUNTS,
    };
    let mut all = [papers_points(figure), further].concat();
    all.sort_unstable();
    all
}

/// What pipelining saves, as the text has it.
fn saved(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let mut all = Vec::new();
    for (count, published) in super::SAVED {
        let time = |lab: &mut Lab<'_>, version: Version| {
            let changes = [
                format!("http.version={}", version.word),
                format!("page.objects={count}"),
                "page.size=5 kB".to_owned(),
            ];
            lab.load(SCENARIO, Architecture::Direct, &changes).map(|(load, _)| load.page_load_s)
        };
        match (time(lab, HTTP11), time(lab, PIPELINED)) {
            (Ok(persistent), Ok(pipelined)) => {
                all.push((published, persistent - pipelined));
                reproduction.row(
                    Figure::Fig(12),
                    format!("saved by pipelining, {count} data sets of 5 kB, simulated (s)"),
                    Some(published),
                    persistent - pipelined,
                    "simulated: bsd-1997, window of 16 KiB (not in the text)",
                );
            }
            (Err(reason), _) | (_, Err(reason)) => reproduction.gap_once(Figure::Fig(12), &reason),
        }
    }
    claims::of_saving(reproduction, &all);
}

/// Over the number of data sets of 5 kB.
fn over_counts(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    figure: Figure,
    version: Version,
) -> Vec<(f64, f64)> {
    let pages = our_points(figure).into_iter().map(|count| (count, count, 5));
    put(lab, reproduction, (figure, Axis::linear("data sets of 5 kB", "1")), version, pages)
}

/// Over the size of 20 data sets.
fn over_sizes(lab: &mut Lab<'_>, reproduction: &mut Reproduction, figure: Figure, version: Version) -> Vec<(f64, f64)> {
    let pages = our_points(figure).into_iter().map(|kb| (kb, 20, kb));
    put(lab, reproduction, (figure, Axis::log("size of each of 20 data sets", "kB")), version, pages)
}

/// Adds the times of pages: where on the axis, of how many data sets, of how many kB. Returns what was added.
fn put(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    (figure, x): (Figure, Axis),
    version: Version,
    pages: impl IntoIterator<Item = (u32, u32, u32)>,
) -> Vec<(f64, f64)> {
    let (mut points, mut failed) = (Vec::new(), None);
    for (place, count, kb) in pages {
        let changes = [
            format!("http.version={}", version.word),
            format!("tcp.first_ack={}", version.first_ack),
            format!("page.objects={count}"),
            format!("page.size={kb} kB"),
        ];
        match lab.load(SCENARIO, Architecture::Direct, &changes) {
            Ok((load, _)) => points.push((f64::from(place), load.page_load_s)),
            Err(reason) => failed = Some(reason),
        }
    }
    let has: Vec<String> = papers_points(figure).iter().map(u32::to_string).collect();
    let reading = format!(
        "simulated: bsd-1997 with its ticks of 200 ms, window of 16 KiB (not in the text), the first data set names the others; judged by \
         the text's points {}",
        has.join(", ")
    );
    let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y: TIME };
    plot.points(version.name, Origin::Simulated, &reading, points.clone());
    if let Some(reason) = failed {
        reproduction.gap(figure, &reason);
    }
    points
}
