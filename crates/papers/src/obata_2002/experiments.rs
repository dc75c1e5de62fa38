//! Fig 4 to 10 and 12 simulated: pages over the shipped scenario `obata-2002`.
//!
//! The first data set is the page that names the others, which is how a browser learns of them; that costs no time where they
//! are asked for one after another.

use super::{TIME, claims};
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

const SCENARIO: &str = "obata-2002";
const HTTP10: (&str, &str) = ("1.0", "HTTP/1.0, simulated");
const HTTP11: (&str, &str) = ("1.1", "HTTP/1.1, simulated");
const PIPELINED: (&str, &str) = ("1.1-pipelined", "pipelined, simulated");

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let versions = match figure {
        Figure::Fig(4 | 5) => &[HTTP10, HTTP11][..],
        Figure::Fig(6) => return sequence(lab, reproduction),
        Figure::Fig(7 | 8 | 10) => &[HTTP11],
        Figure::Fig(9) => &[HTTP10],
        Figure::Fig(12) => &[HTTP11, PIPELINED],
        _ => &[],
    };
    for version in versions {
        let points = match figure {
            Figure::Fig(5 | 8) => over_sizes(lab, reproduction, figure, *version),
            _ => over_counts(lab, reproduction, figure, *version),
        };
        claims::of_times(reproduction, figure, version.0, &points);
    }
    if figure == Figure::Fig(12) {
        saved(lab, reproduction);
    }
}

/// What pipelining saves, as the text has it.
fn saved(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let mut all = Vec::new();
    for (count, published) in super::SAVED {
        let time = |lab: &mut Lab<'_>, version: &str| {
            let changes =
                [format!("http.version={version}"), format!("page.objects={count}"), "page.size=5 kB".to_owned()];
            lab.load(SCENARIO, Architecture::Direct, &changes).map(|(load, _)| load.page_load_s)
        };
        match (time(lab, HTTP11.0), time(lab, PIPELINED.0)) {
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
    version: (&str, &str),
) -> Vec<(f64, f64)> {
    let most = if figure == Figure::Fig(12) { 100 } else { 60 };
    let counts = [1, 5, 10, 20, 40, 60, 80, 100].into_iter().filter(|count| *count <= most);
    let pages = counts.map(|count| (count, count, 5));
    put(lab, reproduction, (figure, Axis::linear("data sets of 5 kB", "1")), version, pages)
}

/// Over the size of 20 data sets.
fn over_sizes(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    figure: Figure,
    version: (&str, &str),
) -> Vec<(f64, f64)> {
    let pages = [5, 10, 20, 50, 100, 200, 500].map(|kb| (kb, 20, kb));
    put(lab, reproduction, (figure, Axis::log("size of each of 20 data sets", "kB")), version, pages)
}

/// Adds the times of pages: where on the axis, of how many data sets, of how many kB. Returns what was added.
fn put(
    lab: &mut Lab<'_>,
    reproduction: &mut Reproduction,
    (figure, x): (Figure, Axis),
    (version, name): (&str, &str),
    pages: impl IntoIterator<Item = (u32, u32, u32)>,
) -> Vec<(f64, f64)> {
    let (mut points, mut failed) = (Vec::new(), None);
    for (place, count, kb) in pages {
        let changes =
            [format!("http.version={version}"), format!("page.objects={count}"), format!("page.size={kb} kB")];
        match lab.load(SCENARIO, Architecture::Direct, &changes) {
            Ok((load, _)) => points.push((f64::from(place), load.page_load_s)),
            Err(reason) => failed = Some(reason),
        }
    }
    let reading = "simulated: bsd-1997 with its ticks of 200 ms, window of 16 KiB (not in the text), the first data set names the others";
    let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y: TIME };
    plot.points(name, Origin::Simulated, reading, points.clone());
    if let Some(reason) = failed {
        reproduction.gap(figure, &reason);
    }
    points
}

/// Fig 6: what the downlink has delivered, which is what the server had sent one delay before.
fn sequence(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let changes = ["http.version=1.1", "page.objects=5", "page.size=10 kB"].map(str::to_owned);
    let load = match lab.load(SCENARIO, Architecture::Direct, &changes) {
        Ok((load, _)) => load,
        Err(reason) => return reproduction.gap(Figure::Fig(6), &reason),
    };
    let mut sum = 0.0;
    let mut points = Vec::new();
    for sample in &load.link {
        sum += sample.down_bit_s * sample.span_s / 8000.0;
        points.push((sample.start_s + sample.span_s, sum));
    }
    let (x, y) = (Axis::linear("time since the SYN", "s"), Axis::linear("delivered to the client", "kB"));
    let reading = "simulated: what the downlink has delivered, headers included, a delay of 258.6 ms after it was sent";
    let mut plot = Plot { reproduction, figure: Figure::Fig(6), x, y };
    plot.points("HTTP/1.1, simulated", Origin::Simulated, reading, points);
}
