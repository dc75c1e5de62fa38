//! obata-2002: pages over HTTP/1.0, 1.1 and pipelined 1.1, with Table 1's network.
//!
//! The text never gives the maximum window; 16 KiB reproduces its numbers. A "kbyte" is 1000 B.

mod claims;
pub(crate) mod experiments;
mod starts;

use crate::filling::{Fill, Plot, in_s};
use farhop_model::mended::{self, Mends};
use farhop_model::obata_2002::{
    Connection, P_CONNECT, eq1_connect_time, eq2_next_window, eq3_transmission_period, eq8_transmit_time, eq9_http10,
    eq10_request_time, eq11_http11_initial, eq12_later_transmit_time, eq13_http11_revised, eq15_http11_pipelined,
    hasegawa_http10, hasegawa_http11, hasegawa_setup_time, table_1,
};
use farhop_model::{ModelError, Path, Segments};
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_units::Bytes;
use std::time::Duration;

/// A page's time for its number of data sets and their size.
type Formula = fn(&Path, u32, Bytes) -> Result<Duration, ModelError>;

/// A line of a figure: its name, the reading, and the formula; one whose name begins with "mended" mends the line before.
type Line = (&'static str, &'static str, Formula);

const HTTP10: Formula = |path, n, size| eq9_http10(path, data_sets(n, size), P_CONNECT);
const INITIAL: Formula = |path, n, size| eq11_http11_initial(path, data_sets(n, size), P_CONNECT);
const REVISED: Formula = |path, n, size| eq13_http11_revised(path, data_sets(n, size), P_CONNECT);
const PIPELINED: Formula = |path, n, size| eq15_http11_pipelined(path, data_sets(n, size), P_CONNECT);
const OLDER_10: Formula = |path, n, size| hasegawa_http10(path, data_sets(n, size));
const OLDER_11: Formula = |path, n, size| hasegawa_http11(path, data_sets(n, size));
const MENDED_10: Formula =
    |path, n, size| mended::obata_2002::eq9_http10(path, data_sets(n, size), P_CONNECT, Mends::ALL);
const MENDED_11: Formula =
    |path, n, size| mended::obata_2002::eq13_http11_revised(path, data_sets(n, size), P_CONNECT, Mends::ALL);
const MENDED_PIPELINED: Formula =
    |path, n, size| mended::obata_2002::eq15_http11_pipelined(path, data_sets(n, size), P_CONNECT, Mends::ALL);

fn data_sets(count: u32, size: Bytes) -> impl Iterator<Item = Bytes> {
    (0..count).map(move |_| size)
}

fn network(max_window: Bytes) -> Result<Path, ModelError> {
    Path::new(table_1(max_window))
}

/// The window that reproduces the text.
const WINDOW: Bytes = Bytes::kib(16);
const SMALL: Bytes = Bytes::kb(5);
/// Data sets, and by how many s [12] and the initial (1.0) formula differ in the text.
const APART: [(u32, f64); 2] = [(10, 1.2), (60, 7.2)];
/// Data sets, and how many s pipelining saves in the text.
const SAVED: [(u32, f64); 2] = [(10, 1.5), (100, 20.0)];

pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    let Ok(path) = network(WINDOW) else { return reproduction };
    window_growth(&mut reproduction, &path);
    setup(&mut reproduction, &path);
    pipelining(&mut reproduction, &path);
    intervals(&mut reproduction, &path);
    over_counts(&mut reproduction, &path);
    over_sizes(&mut reproduction, &path);
    sequence_numbers(&mut reproduction, &path);
    reproduction
}

fn window_growth(reproduction: &mut Reproduction, path: &Path) {
    let (x, y) = (Axis::linear("transmission k", "1"), Axis::linear("window w(k)", "segments"));
    let mut plot = Plot { reproduction, figure: Figure::Fig(3), x, y };
    plot.line("slow start up to 16 KiB", "Eq 2; the text gives no maximum window", 0..=15_u32, |k| {
        Ok((0..k).fold(Segments::ONE, |window, _| eq2_next_window(path, window)).as_f64())
    });
}

fn setup(reproduction: &mut Reproduction, path: &Path) {
    let section = Figure::Section("4.3");
    let ours = in_s(eq1_connect_time(path, P_CONNECT));
    let rtt = path.symbols().down_delay + path.symbols().up_delay;
    let older = in_s(hasegawa_setup_time(rtt, Connection::New));
    reproduction.row(section, "T_connect (s)", Some(0.29), ours, "Eq 1");
    reproduction.row(section, "T_setup of [12] (s)", Some(0.41), older, "3/2 of the propagation alone");
    reproduction.row(section, "T_setup − T_connect (s)", Some(0.12), older - ours, "Eq 1 and [12]");
    for (n, published) in APART {
        let apart = apart(path, OLDER_10, HTTP10, n, SMALL);
        let quantity = format!("[12] − initial (1.0) formula, {n} data sets (s)");
        let reading = "Eq 9, [12]'s transfer time as Eq 8: \"the difference is small\"";
        reproduction.row(Figure::Fig(9), quantity, Some(published), apart, reading);
    }
}

/// How much longer `a` takes than `b`, in s.
fn apart(path: &Path, a: Formula, b: Formula, n: u32, size: Bytes) -> f64 {
    let time = |formula: Formula| formula(path, n, size).map_or(f64::NAN, in_s);
    time(a) - time(b)
}

fn pipelining(reproduction: &mut Reproduction, path: &Path) {
    let figure = Figure::Fig(12);
    let reading = "Eq 13 and 15, window of 16 KiB (not in the text); the same for 5 KiB";
    for ((n, published), note) in SAVED.into_iter().zip(["; \"about 1.5\" is not reproduced", ""]) {
        let quantity = format!("saved by pipelining, {n} data sets of 5 kB (s)");
        let saved = apart(path, REVISED, PIPELINED, n, SMALL);
        reproduction.row(figure, quantity, Some(published), saved, &format!("{reading}{note}"));
    }
    let saved = apart(path, MENDED_11, MENDED_PIPELINED, 10, SMALL);
    let quantity = "saved by pipelining, 10 data sets of 5 kB, mended (s)";
    reproduction.row(figure, quantity, None, saved, "Eq 13 and 15 with every mend, as packets behave");
}

fn intervals(reproduction: &mut Reproduction, path: &Path) {
    let interval = eq10_request_time(path, P_CONNECT) + eq12_later_transmit_time(path, Bytes::kb(10));
    let reading = "Eq 10 and 12, one data set of 10 kB; \"about 0.28\" of the measurement is not reproduced: it is propagation alone";
    let published = Some(starts::PUBLISHED_INTERVAL);
    reproduction.row(Figure::Fig(6), "interval of data requests (s)", published, in_s(interval), reading);
}

const TIME: Axis = Axis::linear("transfer time", "s");

/// Lines over the number of data sets of 5 kB.
fn over_counts(reproduction: &mut Reproduction, path: &Path) {
    let lines: [(u8, u32, &[Line]); 5] = [
        (4, 60, &[("initial (1.0) formula", "Eq 9", HTTP10), ("initial (1.1) formula", "Eq 11", INITIAL)]),
        (7, 60, &[("revised (1.1) formula", "Eq 13", REVISED), ("mended", "Eq 13 with every mend", MENDED_11)]),
        (
            9,
            60,
            &[
                ("initial (1.0) formula", "Eq 9", HTTP10),
                ("mended", "Eq 9 with every mend", MENDED_10),
                ("[12]", "3/2 of the propagation and Eq 8", OLDER_10),
            ],
        ),
        (10, 60, &[("revised (1.1) formula", "Eq 13", REVISED), ("[12]", "setup of [12] and Eq 8", OLDER_11)]),
        (
            12,
            100,
            &[
                ("revised (1.1) formula", "Eq 13", REVISED),
                ("pipeline formula", "Eq 15", PIPELINED),
                ("mended pipeline formula", "Eq 15 with every mend", MENDED_PIPELINED),
            ],
        ),
    ];
    for (figure, most, formulas) in lines {
        let x = Axis::linear("data sets of 5 kB", "1");
        let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(figure), x, y: TIME };
        put_lines(&mut plot, formulas, 1..=most, |formula, n| formula(path, n, SMALL).map(in_s));
        put_told(&mut plot, path);
    }
}

/// Adds lines, published and mended.
fn put_lines(
    plot: &mut Plot<'_>,
    formulas: &[Line],
    xs: core::ops::RangeInclusive<u32>,
    time: impl Fn(Formula, u32) -> Result<f64, ModelError>,
) {
    for (name, reading, formula) in formulas {
        let time = |x| time(*formula, x);
        match name.starts_with("mended") {
            true => plot.mended(*name, reading, xs.clone(), time),
            false => plot.line(*name, reading, xs.clone(), time),
        }
    }
}

/// Adds the points that the text gives as differences to a formula.
fn put_told(plot: &mut Plot<'_>, path: &Path) {
    let (name, to, sign, differences) = match plot.figure {
        Figure::Fig(9) => ("the text's 1.2 s and 7.2 s above the initial formula", HTTP10, 1.0, APART),
        Figure::Fig(12) => ("the text's 1.5 s and 20 s below the revised formula", REVISED, -1.0, SAVED),
        _ => return,
    };
    let point = |(n, difference): (u32, f64)| {
        let time = to(path, n, SMALL).ok().map(in_s)?;
        Some((f64::from(n), time + sign * difference))
    };
    let points: Vec<_> = differences.into_iter().filter_map(point).collect();
    plot.points(name, Origin::Text, "a difference in the text, added to our formula's time", points);
}

/// Lines over the size of 20 data sets.
fn over_sizes(reproduction: &mut Reproduction, path: &Path) {
    let lines: [(u8, &[Line]); 2] = [
        (5, &[("initial (1.0) formula", "Eq 9", HTTP10), ("initial (1.1) formula", "Eq 11", INITIAL)]),
        (8, &[("revised (1.1) formula", "Eq 13", REVISED), ("mended", "Eq 13 with every mend", MENDED_11)]),
    ];
    for (figure, formulas) in lines {
        let x = Axis::log("size of each of 20 data sets", "kB");
        let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(figure), x, y: TIME };
        put_lines(&mut plot, formulas, 5..=500, |formula, kb| formula(path, 20, Bytes::kb(u64::from(kb))).map(in_s));
    }
}

/// Data sets of Fig 6, which is "taken from Fig 5".
const SHOWN: u32 = 20;
/// Their size.
const SHOWN_SIZE: Bytes = Bytes::kb(10);

const SENT: (Axis, Axis) = (Axis::linear("time since the SYN", "s"), Axis::linear("sent by the server", "kB"));

/// What the server has sent by when, with slow start in every data set and in the first alone.
fn sequence_numbers(reproduction: &mut Reproduction, path: &Path) {
    let (x, y) = SENT;
    let mut plot = Plot { reproduction, figure: Figure::Fig(6), x, y };
    for (name, reading, slow) in [
        ("initial (1.1) formula", "Eq 1, 2, 3, 8 and 10: slow start in every data set of 10 kB", SHOWN),
        ("revised (1.1) formula", "Eq 1, 2, 3, 8, 10 and 12: slow start in the first data set alone", 1),
    ] {
        plot.points(name, Origin::Formula, reading, sequence(path, slow));
    }
}

/// A step up for every window; the first `slow` data sets begin with one segment, the others fit a full window.
fn sequence(path: &Path, slow: u32) -> Vec<(f64, f64)> {
    let (mut start, mut points) = (in_s(eq1_connect_time(path, P_CONNECT)), Vec::new());
    for set in 0..SHOWN {
        let is_slow = set < slow;
        let mut sent = f64::from(set) * SHOWN_SIZE.as_f64();
        for (after, bytes) in if is_slow { slow_windows(path) } else { vec![(0.0, SHOWN_SIZE.as_f64())] } {
            let begin = start + after;
            points.extend([(begin, sent / 1000.0), (begin + on_the_link(path, bytes), (sent + bytes) / 1000.0)]);
            sent += bytes;
        }
        let transmit = if is_slow { eq8_transmit_time } else { eq12_later_transmit_time };
        start += in_s(transmit(path, SHOWN_SIZE) + eq10_request_time(path, P_CONNECT));
    }
    points
}

/// When, after the data set's start, each window of a slow start leaves, in s, and its bytes.
fn slow_windows(path: &Path) -> Vec<(f64, f64)> {
    let (mut after, mut left, mut windows) = (0.0, SHOWN_SIZE.as_f64(), Vec::new());
    let (mut window, mut previous) = (Segments::ONE, None);
    while left > 0.0 {
        let bytes = left.min(window.as_f64() * path.symbols().mss.as_f64());
        windows.push((after, bytes));
        left -= bytes;
        after += in_s(eq3_transmission_period(path, window, previous));
        (previous, window) = (Some(window), eq2_next_window(path, window));
    }
    windows
}

/// The time of `bytes` without headers on the downlink, as Eq 8 and 12 count it, in s.
fn on_the_link(path: &Path, bytes: f64) -> f64 {
    path.symbols().down_rate.map_or(0.0, |rate| bytes * 8.0 / rate.as_f64())
}
