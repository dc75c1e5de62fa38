//! prefetch-2013: TCP's limits, normal access, and prefetching. Equations are reconstructions, since their images are lost.

mod claims;
pub(crate) mod experiments;

use crate::filling::{Fill, Plot, in_s, kbit_s};
use core::num::NonZeroU32;
use farhop_model::ModelError;
use farhop_model::prefetch_2013::{
    Access, MSS, Paced, Proposed, Rounds, Window, eq3_max_throughput, eq4_throughput, eq5_load_time,
    eq6_http_throughput, eq7_normal, eq8_conventional, eq9_proposed,
};
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

const RTT: Duration = Duration::from_millis(500);
/// Simultaneous connections of Fig 4.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(4).expect("not zero");
/// Contents of the test in §4, and their bytes.
const TEST_CONTENTS: usize = 28;
const TEST_BYTES: u64 = 1_849_285;
/// Their load times by the paper's theory, in s.
const THEORY_NORMAL: f64 = 89.2;
const THEORY_PROPOSED: f64 = 4.2;
/// The HTML among them, whose size the paper does not give.
const HTML: Bytes = Bytes::kb(28);

pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    limits(&mut reproduction);
    throughputs(&mut reproduction);
    load_times(&mut reproduction);
    test_bed(&mut reproduction);
    reproduction.gap(Figure::Table(1), "its image is lost; what the text says of the parameters is in the readings");
    reproduction
}

/// Contents of 10 kB.
fn contents(count: usize) -> impl Iterator<Item = Bytes> + Clone {
    std::iter::repeat_n(Bytes::kb(10), count)
}

fn access(rounds: Rounds) -> Access {
    Access { rtt: RTT, rate: Some(Rate::mbps(100)), rounds }
}

fn counted(receive_window: Bytes) -> Result<Rounds, ModelError> {
    Window::new(MSS, None, Some(receive_window)).map(Rounds::Counted)
}

fn limits(reproduction: &mut Reproduction) {
    let reading = "reconstructed; 65,535 B taken as 64,000 B, as the text does";
    let most = eq3_max_throughput(Bytes::kb(64), RTT).map_or(f64::NAN, kbit_s);
    reproduction.row(Figure::Eq(3), "maximum TCP throughput (kbit/s)", Some(1024.0), most, reading);
    let one = |rounds| eq4_throughput(Bytes::kb(10), RTT, rounds).map_or(f64::NAN, kbit_s);
    let fig = Figure::Fig(3);
    let reading = "reconstructed; k = 3 round trips of 1, 2, 4 segments";
    reproduction.row(fig, "throughput of 10 kB (kbit/s)", None, one(3), reading);
    let reading = "reconstructed; k = 4: \"less than 50 kbps\", a bound, is not 53.3 (k = 3)";
    reproduction.row(fig, "throughput of 10 kB, one round trip more (kbit/s)", None, one(4), reading);
    let reading = "reconstructed; Eq 3 over Eq 4 with k = 3; \"about 20 times\" in the text";
    reproduction.row(fig, "maximum over throughput of 10 kB", Some(20.0), most / one(3), reading);
}

fn throughputs(reproduction: &mut Reproduction) {
    let fig = Figure::Fig(4);
    let paper = access(Rounds::default());
    let reading = "reconstructed; Eq 5 and 6 with k = 3 whatever the window, 100 Mbit/s";
    let time = eq5_load_time(&paper, contents(100), CONNECTIONS).map_or(f64::NAN, in_s);
    let rate = eq6_http_throughput(&paper, contents(100), CONNECTIONS).map_or(f64::NAN, kbit_s);
    reproduction.row(fig, "load time of 100 · 10 kB, 4 connections, window of 4 kB (s)", Some(37.6), time, reading);
    reproduction.row(
        fig,
        "HTTP throughput of 100 · 10 kB, 4 connections, window of 4 kB (kbit/s)",
        Some(212.0),
        rate,
        reading,
    );
    let reading = "reconstructed; Eq 1 and 2 as written: a window of 4 kB needs k = 4";
    let written = counted(Bytes::kb(4)).map(|rounds| Access { rate: None, ..access(rounds) });
    let time = written.and_then(|access| eq5_load_time(&access, contents(100), CONNECTIONS)).map_or(f64::NAN, in_s);
    reproduction.row(fig, "load time by the window itself (s)", None, time, reading);

    let (x, y) = (Axis::linear("content size", "kB"), Axis::linear("throughput", "kbit/s"));
    let mut plot = Plot { reproduction: &mut *reproduction, figure: Figure::Fig(3), x, y };
    for window_kb in [4_u64, 8, 16, 32, 64] {
        plot.line(format!("window of {window_kb} kB"), "reconstructed; Eq 1, 2 and 4", 1..=200_u32, |size_kb| {
            let window = Window::new(MSS, None, Some(Bytes::kb(window_kb)))?;
            let size = Bytes::kb(u64::from(size_kb));
            eq4_throughput(size, RTT, window.rounds(size)).map(kbit_s)
        });
    }
    let reading = "\"less than 50 kbps\" for a content of 10 kB and a window of 64 kB: a bound";
    plot.points("the text's bound of 50 kbit/s", Origin::Text, reading, [(10.0, 50.0)]);
    let x = Axis::linear("receive window", "kB");
    let mut plot = Plot { reproduction, figure: fig, x, y };
    let reading = "reconstructed; Eq 1, 2 and 6, 100 · 10 kB over 4 connections, 100 Mbit/s";
    plot.line("round trips by the window", reading, 2..=64_u32, |window_kb| {
        let rounds = counted(Bytes::kb(u64::from(window_kb)))?;
        eq6_http_throughput(&access(rounds), contents(100), CONNECTIONS).map(kbit_s)
    });
    let reading = "reconstructed; Eq 6 with k = 3 whatever the window, as §3.2 counts";
    plot.line("three round trips each", reading, [2_u32, 64], |_| {
        eq6_http_throughput(&access(Rounds::default()), contents(100), CONNECTIONS).map(kbit_s)
    });
    let reading = "\"restricted to 212 kbps … when Rwin is only 4 kByte\"";
    plot.points("the text's 212 kbit/s", Origin::Text, reading, [(4.0, 212.0)]);
}

fn proposed(rounds: Rounds) -> Proposed {
    Proposed::test_bed(RTT, rounds)
}

fn load_times(reproduction: &mut Reproduction) {
    let (x, y) = (Axis::linear("contents", "1"), Axis::linear("load time", "s"));
    let mut plot = Plot { reproduction, figure: Figure::Fig(9), x, y };
    let (rounds, count) = (Rounds::default(), |n: u32| usize::try_from(n).unwrap_or(usize::MAX));
    plot.line("normal access", "reconstructed; Eq 7", 1..=100, |n| {
        eq7_normal(RTT, contents(count(n)), &rounds).map(in_s)
    });
    let reading = "reconstructed; Eq 8, the prefetching server halfway";
    plot.line("conventional prefetching, halfway", reading, 1..=100, |n| {
        eq8_conventional(RTT / 2, RTT / 2, contents(count(n)), &rounds).map(in_s)
    });
    let reading = "reconstructed; Eq 8, the prefetching server at the ground station";
    plot.line("conventional prefetching, at the ground station", reading, 1..=100, |n| {
        eq8_conventional(Duration::ZERO, RTT, contents(count(n)), &rounds).map(in_s)
    });
    let reading = "reconstructed; Eq 9, 1414 B every 1 ms, the HTML of 10 kB in three round trips";
    plot.line("proposed", reading, 1..=100, |n| eq9_proposed(&proposed(rounds), contents(count(n))).map(in_s));
}

/// 28 contents of 1,849,285 B in all; all but the HTML are equal, as their sizes are missing.
fn test_page() -> impl Iterator<Item = Bytes> + Clone {
    let images = TEST_CONTENTS - 1;
    let image = Bytes::new((TEST_BYTES - HTML.get()) / images as u64);
    std::iter::once(HTML).chain(std::iter::repeat_n(image, images))
}

fn test_bed(reproduction: &mut Reproduction) {
    let fig = Figure::Fig(14);
    let normal = eq7_normal(RTT, test_page(), &Rounds::default()).map_or(f64::NAN, in_s);
    let reading = "reconstructed; Eq 7, 3 · 0.5 s · 28; 89.2 s are not reproduced, for want of the objects' sizes (measured: 47.4 s)";
    reproduction.row(fig, "load time of 28 contents, normal access (s)", Some(THEORY_NORMAL), normal, reading);
    let window = counted(Bytes::kb(64)).unwrap_or_default();
    let counted_normal = eq7_normal(RTT, test_page(), &window).map_or(f64::NAN, in_s);
    let reading = "reconstructed; Eq 1, 2 and 7 with a 28 kB HTML and 27 equal contents; 89.2 s are not reproduced";
    reproduction.row(
        fig,
        "load time of 28 contents, normal access, by their sizes (s)",
        Some(THEORY_NORMAL),
        counted_normal,
        reading,
    );
    let reading =
        "reconstructed; Eq 9: 1308 packets · 1 ms + 0.25 s + the HTML in three round trips; not reproduced so";
    let three = eq9_proposed(&proposed(Rounds::default()), test_page()).map_or(f64::NAN, in_s);
    reproduction.row(fig, "load time of 28 contents, proposed (s)", Some(THEORY_PROPOSED), three, reading);
    let reading = "reconstructed; Eq 9: 1308 packets · 1 ms + 0.25 s + an HTML of 28 kB in five; its size is missing in the text (measured: 4.3 s)";
    let five = eq9_proposed(&proposed(window), test_page()).map_or(f64::NAN, in_s);
    reproduction.row(
        fig,
        "load time of 28 contents, proposed, HTML of 28 kB (s)",
        Some(THEORY_PROPOSED),
        five,
        reading,
    );
    let reading = "reconstructed; Eq 7 over Eq 9 by sizes; \"21 times\" is theory over theory (measured: 11 times)";
    reproduction.row(fig, "normal access over proposed", Some(21.0), counted_normal / five, reading);
    let reading = "1414 B every 1 ms without headers; the text's 14 Mbit/s are what the client got in one second";
    as_they_come(reproduction, fig, window);
    let pace = Paced::PAPER.packet.bits_f64() / Paced::PAPER.interval.as_secs_f64() / 1e6;
    reproduction.row(Figure::Section("4"), "rate of UDP (Mbit/s)", None, pace, reading);
}

/// Fig 14: when the first n contents of the test are there.
fn as_they_come(reproduction: &mut Reproduction, figure: Figure, by_size: Rounds) {
    let (x, y) = (Axis::linear("contents loaded", "1"), Axis::linear("time", "s"));
    let mut plot = Plot { reproduction, figure, x, y };
    let first = |n: u32| test_page().take(usize::try_from(n).unwrap_or(usize::MAX));
    let all = 1..=u32::try_from(TEST_CONTENTS).unwrap_or(u32::MAX);
    let reading = "reconstructed; Eq 7, the first n of 28 contents, an HTML of 28 kB and 27 equal ones";
    plot.line("normal access, three round trips each", reading, all.clone(), |n| {
        eq7_normal(RTT, first(n), &Rounds::default()).map(in_s)
    });
    plot.line("normal access, round trips by size", reading, all.clone(), |n| {
        eq7_normal(RTT, first(n), &by_size).map(in_s)
    });
    let reading = "reconstructed; Eq 9, the first n of 28 contents, an HTML of 28 kB and 27 equal ones";
    plot.line("proposed, round trips by size", reading, all.clone(), |n| {
        eq9_proposed(&proposed(by_size), first(n)).map(in_s)
    });
    let last = f64::from(*all.end());
    for (name, reading, times) in [
        ("the text's theory", "\"derived times\" of §4", [THEORY_NORMAL, THEORY_PROPOSED]),
        ("the text's measurement", "\"observed\" in §4", [47.4, 4.3]),
    ] {
        for (access, time) in ["normal access", "proposed"].into_iter().zip(times) {
            plot.points(format!("{name}, {access}"), Origin::Text, reading, [(last, time)]);
        }
    }
}
