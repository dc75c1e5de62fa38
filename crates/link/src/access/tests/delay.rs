//! How long packets take: means at light and heavy load against formulas.
//!
//! F is the frame, T a slot, h a hop, N the number of terminals, ρ the load. Delays end with the packet's slot.

use super::play::{HOP, Play, poisson, seconds};
use farhop_units::{Instant, Rate};
use std::time::Duration;

const RATE: Rate = Rate::kbps(400);
/// A slot of 53 B.
const SLOT: Duration = Duration::from_micros(1060);
/// 25 of them.
const FRAME: Duration = Duration::from_micros(26_500);

/// Mean delay of packets of `bytes` that arrive at all terminals together every `every` on average.
fn mean_delay(scheme: &str, terminals: u16, bytes: u64, every: Duration, packets: usize) -> Duration {
    let mut play = Play::new(scheme, terminals, RATE, HOP, 5);
    let arrivals = poisson(every, terminals, 6).take(packets);
    let last = arrivals.map(|(at, terminal)| (play.arrive(at, terminal, bytes), at).1).last().unwrap();
    play.run_until(last + Duration::from_secs(100));
    assert_eq!(play.done.len(), packets);
    play.mean_delay()
}

#[track_caller]
fn assert_close(measured: Duration, expected: Duration, tolerance: f64) {
    let ratio = measured.as_secs_f64() / expected.as_secs_f64();
    assert!((ratio - 1.0).abs() < tolerance, "{measured:?} instead of {expected:?}");
}

#[test]
fn tdmas_mean_delay_is_half_a_frame_and_the_queue() {
    // One slot per terminal and frame: a queue of deterministic service F whose server walks away for F when idle, with
    // W = F/2 + ρ·F/(2·(1 − ρ)) = F/(2·(1 − ρ)).
    let terminals = 25;
    for (load, packets) in [(0.02, 20_000), (0.5, 100_000), (0.8, 400_000)] {
        let measured = mean_delay("tdma", terminals, 53, SLOT.div_f64(load), packets);
        assert_close(measured, FRAME.div_f64(2.0 * (1.0 - load)) + SLOT, 0.03);
    }
}

#[test]
fn cfdamas_light_load_waits_half_a_round_of_free_slots() {
    for terminals in [25, 100, 400] {
        let measured = mean_delay("cfdama", terminals, 40, Duration::from_secs(1), 20_000);
        assert_close(measured, SLOT * u32::from(terminals) / 2 + SLOT, 0.02);
    }
}

#[test]
fn cfdamas_light_load_waits_for_a_free_slot_or_a_reservation() {
    // 2000 terminals, r = 50 request slots of 2 B and S = 23 slots in F = (100 B + 23·53 B)·8/R. The free round takes N/S
    // frames. A reservation waits for its request slot, at most N/r = 40 frames and 20 on average, then 2h and half a frame
    // until the next one starts; as a free slot comes at a uniform time, the mean is that of the lesser of the two.
    let (terminals, scheme) = (2000_u16, "cfdama requests=pre-assigned request-slots=50 request=2B");
    let frame = RATE.transmission_time(farhop_units::Bytes::new(100 + 23 * 53)).as_secs_f64();
    let (free, turn) = (f64::from(terminals) / 23.0 * frame, f64::from(terminals) / 50.0 * frame);
    let least = 2.0 * HOP.as_secs_f64() + frame / 2.0;
    let steps = 400;
    let at = |step: u32, span: f64| (f64::from(step) + 0.5) / f64::from(steps) * span;
    let lesser = (0..steps).flat_map(|f| (0..steps).map(move |t| at(f, free).min(least + at(t, turn))));
    let expected = lesser.sum::<f64>() / f64::from(steps * steps);
    let measured = mean_delay(scheme, terminals, 40, Duration::from_secs(1), 20_000);
    assert_close(measured, Duration::from_secs_f64(expected) + SLOT, 0.03);
    assert!(measured.as_secs_f64() < 0.7 * free / 2.0, "requests help: {measured:?}");
}

#[test]
fn a_new_stream_costs_a_request_and_two_hops() {
    // From any time to the next frame F/2, a request slot drawn among 16 of 160 µs: 8.5 of them on average; 2h, up to F until
    // the next frame starts, its request slots and one slot.
    let (requests, request) = (16, Duration::from_micros(160));
    let frame = request * requests + SLOT * 22;
    let mut play = Play::new("aloha-periodic", 25, RATE, HOP, 5);
    (0..200_u64).for_each(|number| play.arrive(Instant::from_nanos(number * 10_007_654_321), 3, 40));
    play.run_until(seconds(4000));
    let least = frame / 2 + request * 17 / 2 + 2 * HOP + request * requests + SLOT;
    let mean = play.mean_delay();
    assert!((least..least + frame).contains(&mean), "{mean:?} is not within a frame from {least:?}");
}

#[test]
fn a_collision_costs_a_request_two_more_hops() {
    // One request slot per frame: who arrives in the same frame asks in the same slot.
    let delays = |seed| {
        let mut play = Play::new("aloha-periodic request-slots=1 backoff=2", 2, RATE, HOP, seed);
        (0..2).for_each(|terminal| play.arrive(seconds(1), terminal, 40));
        play.run_until(seconds(9));
        let collisions = play.scheduler.counters(seconds(9)).collisions;
        (collisions, [0, 1].map(|place: usize| play.done[place].left.unwrap() - play.done[place].arrived))
    };
    for seed in 0..20 {
        let (collisions, [first, second]) = delays(seed);
        assert!(collisions > 0);
        let (least, frames) = (2 * HOP * (u32::try_from(collisions).unwrap() + 1), 2 * FRAME);
        // Each collision and the request that gets through take two hops, the next frame and up to a frame of backoff.
        assert!(
            first >= least && second <= least + frames * 2 * (u32::try_from(collisions).unwrap() + 1),
            "{seed}: {first:?}"
        );
    }
}

/// Mean delay of 204 B (four slots) every 26 ms from one of 1000 terminals, from 10 s on.
fn mean_delay_of_a_flow(scheme: &str) -> Duration {
    let mut play = Play::new(scheme, 1000, RATE, HOP, 5);
    (0..2000).for_each(|number| play.arrive(Instant::START + Duration::from_millis(26) * number, 7, 204));
    play.run_until(seconds(60));
    play.done.retain(|done| done.arrived > seconds(10));
    play.mean_delay()
}

#[test]
fn a_requested_rate_spares_a_steady_flow_the_two_hops() {
    let volume = mean_delay_of_a_flow("dama rbdc=none");
    let rate = mean_delay_of_a_flow("dama");
    assert!(volume >= HOP * 2, "what is asked for packet by packet comes two hops later: {volume:?}");
    assert!(rate < FRAME * 2, "what it needs is there already: {rate:?}");
}

#[test]
fn a_requested_rate_lasts_as_long_as_its_timeout() {
    // Two free slots per frame come round in 13 s; 26 kbit/s of volume would be two hops away.
    let delay_after = |pause: Duration| {
        let mut play = Play::new("dama frame=26ms timeout=3s free=2", 1000, RATE, HOP, 5);
        (0..1000).for_each(|number| play.arrive(Instant::START + Duration::from_millis(26) * number, 7, 204));
        play.run_until(seconds(27));
        assert_eq!(play.backlog(7), 0);
        let again = seconds(27) + pause;
        play.arrive(again, 7, 40);
        play.run_until(seconds(60));
        play.done.last().unwrap().left.unwrap() - again
    };
    assert!(delay_after(Duration::from_secs(1)) < HOP);
    assert!(delay_after(Duration::from_secs(7)) > HOP);
}

#[test]
fn slotted_aloha_waits_half_a_slot_if_nobody_is_there() {
    let slot = Duration::from_millis(30);
    let measured = mean_delay("slotted-aloha slot=30ms", 100, 40, Duration::from_secs(60), 5000);
    assert_close(measured, slot * 3 / 2, 0.03);
}

/// A terminal fetches pages as in zhou-2004: some requests of 390 B and acknowledgements of 40 B within two seconds, then
/// nothing for a while.
fn mean_delay_of_pages(scheme: &str) -> Duration {
    let terminals = 128;
    let mut packets = Vec::new();
    for (at, terminal) in poisson(Duration::from_millis(200), terminals, 8).take(1500) {
        let request = |number: u64| (at + Duration::from_millis(350 * number), terminal, 390);
        packets.extend((0..6).map(request));
        packets.extend((0..60).map(|number| (at + Duration::from_millis(600 + 25 * number), terminal, 40)));
    }
    packets.sort_unstable();
    let mut play = Play::new(scheme, terminals, RATE, HOP, 5);
    packets.iter().for_each(|&(at, terminal, bytes)| play.arrive(at, terminal, bytes));
    play.run_until(seconds(1000));
    assert_eq!(play.done.len(), packets.len());
    play.mean_delay()
}

#[test]
fn web_pages_prefer_cfdama_to_streams_and_streams_to_tdma() {
    let [cfdama, periodic, tdma] = ["cfdama", "aloha-periodic", "tdma"].map(mean_delay_of_pages);
    assert!(cfdama < periodic && periodic < tdma, "{cfdama:?}, {periodic:?}, {tdma:?}");
}
