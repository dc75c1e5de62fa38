//! What holds whatever the traffic: slots, bytes, two hops, bounded waiting.

use super::play::{HOP, Play, poisson, seconds};
use super::schedule::FRAMED;
use crate::access::layout::Layout;
use crate::access::policy::Setup;
use farhop_units::{Instant, Rate};
use proptest::prelude::*;
use std::time::Duration;

const RATE: Rate = Rate::kbps(400);

fn layout(scheme: &str, terminals: u16) -> Layout {
    Layout::new(Setup::new(&scheme.parse().unwrap(), terminals, RATE).unwrap().shape, RATE)
}

const ALOHA: [&str; 3] =
    ["slotted-aloha", "slotted-aloha slot=2ms backoff=4", "slotted-aloha slot=5ms backoff=2..8 attempts=3"];

/// Packets of 40 to 1500 B at `load` times the rate.
fn packets(load: f64, terminals: u16, seed: u64) -> impl Iterator<Item = (Instant, u16, u64)> {
    let mean = RATE.transmission_time(farhop_units::Bytes::new(386)).div_f64(load);
    let sizes = [40, 40, 40, 52, 250, 300, 866, 1500];
    poisson(mean, terminals, seed).zip(sizes.into_iter().cycle()).map(|((at, terminal), bytes)| (at, terminal, bytes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_slot_is_used_twice_and_no_byte_sent_twice(
        scheme in prop::sample::select([FRAMED.as_slice(), &ALOHA].concat()),
        load in 0.05..2.0, seed: u64,
    ) {
        let terminals = 6;
        let mut play = Play::new(scheme, terminals, RATE, HOP, seed);
        for (at, terminal, bytes) in packets(load, terminals, seed).take_while(|&(at, ..)| at < seconds(10)) {
            play.arrive(at, terminal, bytes);
        }
        play.run_until(seconds(10));
        let sent: u64 = play.sent.iter().map(|sent| sent.bytes).sum();
        let waiting: u64 = (0..terminals).map(|terminal| play.backlog(terminal)).sum();
        let given_up = play.given_up;
        prop_assert_eq!(play.arrived, sent + waiting + given_up);
        prop_assert!(play.sent.is_sorted_by(|one, next| one.end < next.end), "two bursts end in one slot");
        let counters = play.scheduler.counters(seconds(10));
        prop_assert_eq!(counters.used, play.sent.len() as u64);
        prop_assert!(counters.granted <= counters.offered);
        if !scheme.starts_with("slotted") {
            let layout = layout(scheme, terminals);
            let slots = u64::from(layout.slots());
            prop_assert_eq!(counters.offered, slots * layout.frame_at(seconds(10)));
            let mut used = std::collections::BTreeMap::new();
            for sent in &play.sent {
                prop_assert!(sent.bytes <= layout.payload.get());
                let frame = layout.frame_from(sent.end) - 1;
                *used.entry(frame).or_insert(0) += 1;
                // It ends where a slot ends.
                let position = layout.position_after(frame, Instant::from_nanos(sent.end.as_nanos() - 1));
                prop_assert_eq!(layout.position_start(frame, position), sent.end);
                prop_assert!(position > layout.requests());
            }
            prop_assert!(used.values().all(|&used| used <= slots));
        }
    }

    #[test]
    fn what_was_reserved_comes_two_hops_later_at_the_earliest(
        scheme in prop::sample::select(vec![
            "aloha-periodic", "aloha-periodic frame=5ms slots=3", "cfdama requests=pre-assigned request-slots=16",
            "cfdama requests=random", "cfdama", "dama", "dama request-slots=40",
        ]),
        arrival in 0_u64..5_000_000_000, milliseconds in 1_u64..400, seed: u64,
    ) {
        let (terminals, hop) = (1000_u16, Duration::from_millis(milliseconds));
        let mut play = Play::new(scheme, terminals, RATE, hop, seed);
        let arrived = Instant::from_nanos(arrival);
        play.arrive(arrived, 7, 100_000);
        play.run_until(arrived + 2 * hop);
        let layout = layout(scheme, terminals);
        let slots = u64::from(layout.slots()) * (layout.frame_from(arrived + 2 * hop) - layout.frame_at(arrived));
        let free = if scheme.starts_with("aloha") { 0 } else { slots.div_ceil(terminals.into()) };
        prop_assert!(play.sent.len() as u64 <= free, "{} of {free}", play.sent.len());
        // And it does come: all is sent much earlier than free slots alone could.
        play.run_until(arrived + 2 * hop + Duration::from_secs(75));
        let expected = if scheme.starts_with("dama") || scheme.starts_with("cfdama") { 100_000 } else { 40_000 };
        let sent: u64 = play.sent.iter().map(|sent| sent.bytes).sum();
        prop_assert!(sent >= expected, "{sent} B");
    }
}

#[test]
fn an_hour_without_packets_takes_no_steps() {
    for scheme in FRAMED.into_iter().chain(ALOHA) {
        let steps = |hours: u64| {
            let mut play = Play::new(scheme, 6, RATE, HOP, 1);
            play.arrive(seconds(1), 3, 400);
            play.arrive(seconds(1 + 3600 * hours), 4, 400);
            play.run_until(seconds(4000 + 3600 * hours));
            assert_eq!(play.done.len(), 2);
            play.steps
        };
        let (none, many) = (steps(0), steps(1000));
        assert!(many < 2 * none + 100, "{scheme}: {many} steps instead of {none}");
    }
}

#[test]
fn time_ends_without_a_hang() {
    for scheme in FRAMED.into_iter().chain(ALOHA) {
        let mut play = Play::new(scheme, 6, RATE, HOP, 1);
        play.arrive(seconds(1), 3, 400);
        play.arrive(Instant::from_nanos(u64::MAX - 1_000_000), 3, 4000);
        play.run_until(Instant::from_nanos(u64::MAX));
        play.arrive(Instant::from_nanos(u64::MAX), 3, 4000);
        play.run_until(Instant::from_nanos(u64::MAX));
        assert!(!play.sent.is_empty());
    }
}

/// The longest that a terminal waited, from its first byte or last burst to the next burst, at overload.
fn longest_wait(scheme: &str, terminals: u16, load: f64, after: Instant) -> Duration {
    let mut play = Play::new(scheme, terminals, RATE, HOP, 11);
    let horizon = seconds(60);
    // A few terminals with most of the traffic, which keep all demand to themselves if they can.
    let mut since: Vec<Option<Instant>> = vec![None; terminals.into()];
    let (mut longest, mut seen) = (Duration::ZERO, 0);
    for (number, (at, terminal, bytes)) in packets(load, terminals, 4).take_while(|&(at, ..)| at < horizon).enumerate()
    {
        let terminal = if number % 4 == 0 { terminal } else { terminal % 3 };
        play.run_until(at);
        for sent in play.sent.split_at(seen).1 {
            let since = &mut since[usize::from(sent.terminal)];
            let waited = sent.end - since.expect("it had something to send");
            longest = if sent.end > after { longest.max(waited) } else { longest };
            *since = Some(sent.end).filter(|_| sent.left > 0);
        }
        seen = play.sent.len();
        since[usize::from(terminal)].get_or_insert(at);
        play.arrive(at, terminal, bytes);
    }
    let waiting = since.iter().flatten().map(|&since| horizon - since);
    waiting.fold(longest, Duration::max)
}

#[test]
fn every_backlog_is_served_in_bounded_time() {
    let n = 40;
    let frames = |scheme: &str, frames: u32| layout(scheme, n).frame() * frames;
    for scheme in ["tdma", "tdma frame=100ms slots=100"] {
        let (waited, bound) = (longest_wait(scheme, n, 3.0, Instant::START), frames(scheme, 1));
        // From just after the beginning of its slot to the end of the next.
        assert!(waited <= bound + layout(scheme, n).frame() / n.into(), "{scheme}: {waited:?}");
    }
    for (scheme, free) in [("cfdama", 1), ("cfdama free=3", 3), ("dama", 1), ("dama rbdc=none free=2", 2)]
        .into_iter()
        .chain([("cfdama requests=random", 1)])
    {
        let (waited, bound) =
            (longest_wait(scheme, n, 3.0, Instant::START), frames(scheme, u32::from(n).div_ceil(free) + 1));
        assert!(waited <= bound, "{scheme}: {waited:?} of {bound:?}");
    }
}

#[test]
fn a_constant_rate_has_a_slot_in_every_frame() {
    let scheme = "dama frame=60ms cra=8kbit/s";
    let (waited, bound) = (longest_wait(scheme, 20, 3.0, Instant::START), layout(scheme, 20).frame() * 2);
    assert!(waited <= bound, "{waited:?} of {bound:?}");
}

#[test]
fn a_reservation_is_served_after_those_made_before_it() {
    // 40 terminals ask for 20 kB each at once, in 4 of 40 request slots per frame, and nothing is free.
    let (scheme, n, bytes) = ("cfdama requests=pre-assigned request-slots=4", 40, 20_000);
    let mut play = Play::new(scheme, n, RATE, HOP, 1);
    (0..n).for_each(|terminal| play.arrive(seconds(1), terminal, bytes));
    play.run_until(seconds(100));
    let layout = layout(scheme, n);
    let slots = bytes.div_ceil(layout.payload.get()) * u64::from(n);
    let frames = 10 + slots.div_ceil(layout.slots().into()) + 2;
    let bound = seconds(1) + 2 * HOP + layout.frame() * u32::try_from(frames).unwrap();
    assert_eq!(play.done.len(), usize::from(n));
    assert!(play.done.iter().all(|done| done.left.is_some_and(|left| left <= bound)), "{bound:?}");
}

#[test]
fn a_stream_is_served_within_a_round_of_all_streams() {
    // 40 streams of 8 slots are 320; a frame has 22 slots.
    let (scheme, n) = ("aloha-periodic request-slots=8 timeout=30s", 40);
    let layout = layout(scheme, n);
    let round = (u32::from(n) * 8).div_ceil(layout.slots()) + 1;
    let mut play = Play::new(scheme, n, RATE, HOP, 3);
    (0..n).for_each(|terminal| play.arrive(seconds(1), terminal, 1_000_000));
    play.run_until(seconds(60));
    let mut last = vec![None; n.into()];
    for sent in &play.sent {
        if let Some(last) = last[usize::from(sent.terminal)].replace(sent.end) {
            assert!(sent.end - last <= layout.frame() * round, "{:?}", sent.end - last);
        }
    }
    assert!(last.iter().all(|last| last.is_some_and(|last| seconds(60) - last <= layout.frame() * round)));
}

#[test]
fn a_stream_ends_after_its_timeout_and_two_hops() {
    let (scheme, n) = ("aloha-periodic timeout=1s", 4);
    let frame = layout(scheme, n).frame();
    let last_use = |gap: Duration| {
        let mut play = Play::new(scheme, n, RATE, HOP, 3);
        play.arrive(seconds(1), 2, 40);
        play.run_until(seconds(3));
        let last = play.sent[0].end;
        play.arrive(last + gap, 2, 40);
        play.run_until(seconds(9));
        play.sent[1].end - (last + gap)
    };
    // The scheduler hears the burst a hop later, waits the timeout, and its release takes another hop.
    let kept = 2 * HOP + Duration::from_secs(1);
    assert!(last_use(kept - frame) <= frame, "the stream is still there");
    assert!(last_use(kept + frame) >= 2 * HOP, "a new request was needed");
}

#[test]
fn a_stream_lasts_for_its_first_frame_however_short_its_timeout() {
    for (scheme, n) in [("aloha-periodic timeout=1ms", 4), ("aloha-periodic timeout=1ns frame=2s", 1)] {
        let mut play = Play::new(scheme, n, RATE, HOP, 3);
        play.arrive(seconds(1), 0, 40);
        play.run_until(seconds(9));
        assert_eq!((play.done.len(), play.backlog(0)), (1, 0), "{scheme}");
    }
}
