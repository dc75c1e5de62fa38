//! What §2.3 and §4 say of the figures, judged by the simulation.

use crate::filling::Fill;
use crate::judging::{Points, Said};
use farhop_results::Load;
use farhop_results::reproduction::{Figure, Reproduction};

/// How far ours may be from what the text calls its number.
const ABOUT: f64 = 0.1;

fn is_about(ours: f64, said: f64) -> bool {
    (ours / said - 1.0).abs() <= ABOUT
}

/// When Fig 16's cut ends, in s.
const CUT_ENDS: f64 = 3.0;

/// Bytes of the test's contents.
const ALL: u64 = super::TEST_BYTES;

/// Fig 9: §2.3 on the prefetching server's place, §3.2 on the proposed scheme.
pub(super) fn of_numbers_of_contents(
    to: &mut Reproduction,
    normal: &Points,
    halfway: &Points,
    ground: &Points,
    proposed: &Points,
) {
    let figure = Figure::Fig(9);
    let last = |points: &Points| points.last().map_or(f64::NAN, |(_, time)| *time);
    let gain = last(normal) / last(halfway);
    let claim = "conventional prefetching doubles the throughput halfway between server and client";
    let why = "while the client asks for one content the server halfway gets the next: each waits for half of the way";
    Said { figure, claim, why }.judge(to, [is_about(gain, 2.0)], format!("{gain:.2} times with 100 contents"));
    let gain = last(normal) / last(ground);
    let claim = "it is not as effective at the ground station";
    let why = "there the client's requests cross the whole link as before";
    Said { figure, claim, why }.judge(to, [gain < 1.5], format!("{gain:.2} times with 100 contents"));
    let claim = "the proposed scheme significantly shortens the load time";
    let why = "with one content there is nothing to prefetch; all others are stored when the client has the HTML, and come at the speed of Ethernet";
    let pairs = proposed.iter().zip(halfway).skip(1);
    let parts = pairs.map(|((_, proposed), (_, halfway))| proposed < &(halfway / 2.0));
    let ours = format!("{:.2} s instead of {:.2} s with 100 contents", last(proposed), last(normal));
    Said { figure, claim, why }.judge(to, parts, ours);
}

/// Fig 14, with TCP in one reading.
pub(super) fn of_load_times(to: &mut Reproduction, tcp: &str, normal: f64, conventional: [f64; 2], proposed: f64) {
    let figure = Figure::Fig(14);
    let mut judge = |claim: &str, why: &str, parts: &[bool], ours: String| {
        let claim = &format!("{claim} ({tcp})");
        Said { figure, claim, why }.judge(to, parts.iter().copied(), ours);
    };
    let measured = [is_about(normal, 47.4), is_about(proposed, 4.3)];
    judge(
        "normal access takes 47.4 s, the proposed scheme 4.3 s",
        "here the first content leaves when the HTML has passed the prefetching server, and boxes take no time; by the text's own \
         times (Fig 15) the test's came 0.65 s later and its last bytes 1.35 s after the others. Sizes of contents are not given",
        &measured,
        format!("{normal:.1} and {proposed:.2} s"),
    );
    let gain = normal / proposed;
    judge(
        "the proposed scheme is about 21 times as fast as normal access",
        "the text's 21 is theory over theory, its measurements make 11; ours depends on the round trips that TCP needs for each content",
        &[is_about(gain, 21.0)],
        format!("{gain:.1} times"),
    );
    judge(
        "the test agrees with theory: 89.2 and 4.2 s",
        "not in the paper itself for normal access (47.4 s); what of the 4.2 s is not packets depends on the HTML's size",
        &[is_about(normal, 89.2), is_about(proposed, 4.2)],
        format!("{normal:.1} and {proposed:.2} s"),
    );
    let [train, ground] = conventional;
    judge(
        "conventional prefetching in the train or at the ground station is not as effective",
        "the client's or the server's every request crosses the link, so that nothing is gained",
        &conventional.map(|time| time > 0.9 * normal && proposed < time),
        format!("{train:.1} and {ground:.1} s, normal access {normal:.1} s, proposed {proposed:.2} s"),
    );
}

/// The most of a line.
pub(super) fn most(points: &Points) -> f64 {
    points.iter().map(|(_, y)| *y).fold(0.0, f64::max)
}

/// Fig 15, with TCP in one reading.
pub(super) fn of_throughputs(to: &mut Reproduction, tcp: &str, normal: &Points, proposed: &Points) {
    let figure = Figure::Fig(15);
    let (second, peak) =
        (1..).zip(proposed.iter().map(|(_, y)| *y)).max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((0, f64::NAN));
    let claim = &format!("at most about 14 Mbit/s, in the third second ({tcp})");
    let why = "what has been stored by the time the client has the HTML comes at the speed of Ethernet, the rest at the 11.3 Mbit/s of the packets \
               on the link: over its one connection the client asks for no content before. When the HTML is there, and so how much that is, \
               depends on TCP";
    let ours = format!("{peak:.1} Mbit/s in second {second}");
    Said { figure, claim, why }.judge(to, [is_about(peak, 14.0), second == 3], ours);
    let claim = &format!("normal access has low throughput and takes long ({tcp})");
    let why = "each content begins slowly on a connection of its own";
    let ours = format!("at most {:.2} Mbit/s, {} s instead of {}", most(normal), normal.len(), proposed.len());
    Said { figure, claim, why }.judge(to, [most(normal) < peak / 2.0, normal.len() > 5 * proposed.len()], ours);
}

/// Fig 16: what was cut comes again.
pub(super) fn of_recovery(to: &mut Reproduction, load: &Load, reading: &str) {
    let figure = Figure::Fig(16);
    let bytes: u64 = load.objects.iter().map(|object| object.bytes).sum();
    let claim = "100 % of what the UDP packets carry is received";
    let why = "what is missing is asked for until it is there";
    Said { figure, claim, why }.judge(to, [bytes == ALL], format!("{bytes} of {ALL} B"));
    // What crosses the uplink and answers what came after the cut is there a round trip later; what comes before had waited in the cut.
    let round_trip = super::RTT.as_secs_f64();
    let requests: Vec<f64> = load
        .link
        .iter()
        .filter(|sample| sample.up_bit_s > 0.0)
        .map(|sample| sample.start_s + sample.span_s)
        .filter(|arrival| *arrival > CUT_ENDS + round_trip)
        .map(|arrival| arrival - round_trip / 2.0)
        .collect();
    let (first, last) = (requests.first().copied().unwrap_or(f64::NAN), requests.last().copied().unwrap_or(f64::NAN));
    to.row(figure, "last request for what is missing, proposed, simulated (s)", Some(7.0), last, reading);
    let claim = "it is asked for after 7 s, 5 s after the cut began, and not before";
    let why = "the clock of 5 s runs from the last packet before the cut. But our link keeps what waits before the cut and sends it after it: \
               when the last packet of a content is among that, what is missing of it is asked for at once";
    let ours = format!("requests from {first:.2} to {last:.2} s, all there at {:.2} s", load.page_load_s);
    Said { figure, claim, why }.judge(to, [is_about(last, 7.0), is_about(first, 7.0)], ours);
}
