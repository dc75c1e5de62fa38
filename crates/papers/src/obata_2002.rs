//! obata-2002: pages over HTTP/1.0, 1.1 and pipelined 1.1, with Table 1's network.
//!
//! The text never gives the maximum window; 16 KiB reproduces its numbers. A "kbyte" is 1000 B.

use crate::reproduction::{Plot, in_s};
use crate::{Axis, Figure, Reproduction};
use farhop_model::mended::{self, Mends};
use farhop_model::obata_2002::{
    Connection, P_CONNECT, eq1_connect_time, eq9_http10, eq10_request_time, eq11_http11_initial,
    eq12_later_transmit_time, eq13_http11_revised, eq15_http11_pipelined, hasegawa_http10, hasegawa_http11,
    hasegawa_setup_time,
};
use farhop_model::{ModelError, Path, Symbols, WindowReading};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// A page's time for its number of data sets and their size.
type Formula = fn(&Path, u32, Bytes) -> Result<Duration, ModelError>;

/// A line of a figure: its name, the reading, and the formula.
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

/// Table 1.
fn table_1(max_window: Bytes) -> Result<Path, ModelError> {
    Path::new(Symbols {
        down_rate: Some(Rate::kbps(2048)),
        up_rate: Rate::from_bits_per_second(900_700),
        down_delay: Duration::from_micros(258_600),
        up_delay: Duration::from_micros(17_300),
        mss: Bytes::new(1448),
        headers: Bytes::new(52),
        ack: Bytes::new(52),
        max_window: Some(max_window),
        window: WindowReading::Real,
    })
}

/// The window that reproduces the text.
const WINDOW: Bytes = Bytes::kib(16);
const SMALL: Bytes = Bytes::kb(5);

pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    let Ok(path) = table_1(WINDOW) else { return reproduction };
    setup(&mut reproduction, &path);
    pipelining(&mut reproduction, &path);
    intervals(&mut reproduction, &path);
    over_counts(&mut reproduction, &path);
    over_sizes(&mut reproduction, &path);
    reproduction
}

fn setup(reproduction: &mut Reproduction, path: &Path) {
    let section = Figure::Section("4.3");
    let ours = in_s(eq1_connect_time(path, P_CONNECT));
    let rtt = path.symbols().down_delay + path.symbols().up_delay;
    let older = in_s(hasegawa_setup_time(rtt, Connection::New));
    reproduction.row(section, "T_connect (s)", Some(0.29), ours, "Eq 1");
    reproduction.row(section, "T_setup of [12] (s)", Some(0.41), older, "3/2 of the propagation alone");
    reproduction.row(section, "T_setup − T_connect (s)", Some(0.12), older - ours, "Eq 1 and [12]");
    for (n, published) in [(10, 1.2), (60, 7.2)] {
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
    for (n, published, note) in [(10, 1.5, "; \"about 1.5\" is not reproduced"), (100, 20.0, "")] {
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
    reproduction.row(Figure::Fig(6), "interval of data requests (s)", Some(0.28), in_s(interval), reading);
}

const TIME: Axis = Axis { label: "transfer time", unit: "s" };

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
                ("[12]", "3/2 of the propagation and Eq 8", OLDER_10),
                ("mended", "Eq 9 with every mend", MENDED_10),
            ],
        ),
        (10, 60, &[("revised (1.1) formula", "Eq 13", REVISED), ("[12]", "setup of [12] and Eq 8", OLDER_11)]),
        (
            12,
            100,
            &[
                ("revised (1.1) formula", "Eq 13", REVISED),
                ("pipeline formula", "Eq 15", PIPELINED),
                ("pipeline formula, mended", "Eq 15 with every mend", MENDED_PIPELINED),
            ],
        ),
    ];
    for (figure, most, formulas) in lines {
        let x = Axis { label: "data sets of 5 kB", unit: "1" };
        let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(figure), x, y: TIME };
        for (name, reading, formula) in formulas {
            plot.line(*name, reading, 1..=most, |n| formula(path, n, SMALL).map(in_s));
        }
    }
}

/// Lines over the size of 20 data sets.
fn over_sizes(reproduction: &mut Reproduction, path: &Path) {
    let lines: [(u8, &[Line]); 2] = [
        (5, &[("initial (1.0) formula", "Eq 9", HTTP10), ("initial (1.1) formula", "Eq 11", INITIAL)]),
        (8, &[("revised (1.1) formula", "Eq 13", REVISED), ("mended", "Eq 13 with every mend", MENDED_11)]),
    ];
    for (figure, formulas) in lines {
        let x = Axis { label: "size of each of 20 data sets", unit: "kB" };
        let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(figure), x, y: TIME };
        for (name, reading, formula) in formulas {
            plot.line(*name, reading, 5..=500_u32, |kb| formula(path, 20, Bytes::kb(u64::from(kb))).map(in_s));
        }
    }
}
