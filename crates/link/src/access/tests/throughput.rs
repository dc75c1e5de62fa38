//! How much gets through: slotted Aloha's curve, and what full load leaves of the rate.

use super::play::{HOP, Play, Sent, poisson, seconds};
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

const RATE: Rate = Rate::kbps(400);

/// Bursts per slot that get through if `offered` per slot are sent, once each, by very many terminals.
fn aloha_throughput(offered: f64) -> f64 {
    let (terminals, slots) = (20_000, 100_000);
    let slot = Duration::from_millis(10);
    let mut play = Play::new("slotted-aloha slot=10ms attempts=1", terminals, RATE, Duration::ZERO, 1);
    let end = Instant::START + slot * slots;
    let packets = poisson(slot.div_f64(offered), terminals, 2);
    packets.take_while(|&(at, _)| at < end).for_each(|(at, terminal)| play.arrive(at, terminal, 40));
    play.run_until(end);
    let counters = play.scheduler.counters(end);
    assert_eq!(counters.offered, u64::from(slots));
    counters.used as f64 / f64::from(slots)
}

#[test]
fn slotted_aloha_carries_g_times_e_to_the_minus_g() {
    let offered = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];
    let carried = offered.map(aloha_throughput);
    for (offered, carried) in offered.into_iter().zip(carried) {
        let expected = offered * libm::exp(-offered);
        assert!((carried - expected).abs() < 0.005, "G = {offered}: {carried} of {expected}");
    }
    let most = carried.into_iter().fold(0.0, f64::max);
    assert!((most - carried[4]).abs() < f64::EPSILON, "the maximum is at G = 1: {carried:?}");
    assert!((most - 1.0 / core::f64::consts::E).abs() < 0.005, "{most}");
}

#[test]
fn slotted_aloha_gets_everything_through_below_its_maximum() {
    let slot = Duration::from_millis(10);
    let mut play = Play::new("slotted-aloha slot=10ms backoff=128..1024", 1000, RATE, HOP, 1);
    let packets = poisson(slot.mul_f64(4.0), 1000, 2).take(20_000);
    let last = packets.map(|(at, terminal)| (play.arrive(at, terminal, 40), at).1).last().unwrap();
    play.run_until(last + Duration::from_secs(600));
    assert_eq!((play.done.len(), play.given_up), (20_000, 0));
    assert_eq!(play.backlogs().sum::<u64>(), 0);
}

#[test]
fn a_packet_is_given_up_after_so_many_collisions() {
    // Two terminals that always draw the next slot collide forever.
    let mut play = Play::new("slotted-aloha slot=10ms backoff=1 attempts=5", 2, RATE, HOP, 1);
    play.arrive(seconds(1), 0, 40);
    play.arrive(seconds(1), 1, 40);
    play.run_until(seconds(60));
    assert_eq!((play.done.len(), play.given_up), (2, 80));
    let counters = play.scheduler.counters(seconds(60));
    assert_eq!((counters.collisions, counters.given_up, counters.used), (5, 2, 0));
    assert_eq!(play.scheduler.next_timeout(), None);
    play.arrive(seconds(61), 0, 40);
    play.run_until(seconds(62));
    assert_eq!(play.done.len(), 3, "alone, it gets through");
}

#[test]
fn a_rate_holds_from_the_next_slot_on_whatever_it_was_for_a_moment() {
    let mut play = Play::new("slotted-aloha slot=10ms", 2, RATE, HOP, 1);
    let micros = |count| seconds(1) + Duration::from_micros(count);
    for (at, kbps) in [(3000, 100), (6000, 800)] {
        play.run_until(micros(at));
        play.scheduler.set_rate(micros(at), Rate::kbps(kbps));
    }
    play.arrive(micros(7000), 0, 1500);
    play.run_until(seconds(2));
    let sent: Vec<_> = play.sent.iter().map(|sent| (sent.bytes, sent.end)).collect();
    // The second burst goes two hops after the first.
    assert_eq!(sent, [(1000, micros(20_000)), (500, micros(530_000))]);
}

/// Fraction of the rate that data takes from 100 s to 200 s, when `busy` of `terminals` have always something to send.
fn utilisation(scheme: &str, terminals: u16, busy: u16) -> f64 {
    let mut play = Play::new(scheme, terminals, RATE, HOP, 5);
    (0..busy).for_each(|terminal| play.arrive(seconds(0), terminal, 1 << 40));
    play.run_until(seconds(100));
    let before = play.sent.len();
    play.run_until(seconds(200));
    let sent: u64 = play.sent[before..].iter().map(|sent| sent.bytes).sum();
    sent as f64 / RATE.bytes_in(Duration::from_secs(100)).as_f64()
}

#[track_caller]
fn assert_close(measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() < 0.005, "{measured} instead of {expected}");
}

#[test]
fn full_load_takes_everything_but_the_requests() {
    // At 400 kbit/s 25 slots of 53 B fit 26.5 ms.
    assert_close(utilisation("tdma", 20, 20), 1.0);
    assert_close(utilisation("cfdama", 20, 20), 51.0 / 53.0);
    assert_close(utilisation("cfdama field=10B", 20, 20), 43.0 / 53.0);
    // 16 request slots of 8 B leave room for 22 slots.
    let data = 22.0 * 53.0;
    assert_close(utilisation("cfdama requests=pre-assigned", 20, 20), data / (128.0 + data));
    assert_close(utilisation("cfdama requests=random", 20, 20), data / (128.0 + data));
    let data = 22.0 * 51.0;
    assert_close(utilisation("dama", 20, 20), data / (128.0 + 22.0 * 53.0));
    assert_close(utilisation("aloha-periodic timeout=30s", 20, 20), data / (128.0 + 22.0 * 53.0));
}

#[test]
fn who_is_alone_gets_what_the_scheme_can_give() {
    assert_close(utilisation("tdma", 20, 1), 1.0 / 20.0);
    // One free slot in each frame goes round, mostly to others.
    assert_close(utilisation("cfdama", 20, 1), 51.0 / 53.0 * (24.0 + 1.0 / 20.0) / 25.0);
    assert_close(utilisation("cfdama requests=pre-assigned", 20, 1), 22.0 * 53.0 / (128.0 + 22.0 * 53.0));
    let slot = 51.0 / (128.0 + 22.0 * 53.0);
    assert_close(utilisation("dama", 20, 1), (21.0 + 1.0 / 20.0) * slot);
    // What shrinks while nothing new arrives is asked for twice: the stream, and once more.
    assert_close(utilisation("aloha-periodic", 20, 1), 2.0 * slot);
}

#[test]
fn a_stream_grows_with_its_backlog_up_to_the_most() {
    let sent_at_last = |most: u32| {
        let scheme = format!("aloha-periodic most={most}");
        let mut play = Play::new(&scheme, 20, RATE, HOP, 5);
        // 160 kbit/s: ten slots per frame, nearly.
        (0..6000).for_each(|number| play.arrive(Instant::START + Duration::from_millis(20 * number), 4, 400));
        let late = |sent: &&Sent| sent.end > seconds(60) && sent.end <= seconds(120);
        play.sent.iter().filter(late).map(|sent| sent.bytes).sum::<u64>() as f64
    };
    let per_slot = 51.0 * 60.0 / RATE.transmission_time(Bytes::new(128 + 22 * 53)).as_secs_f64();
    assert_close(sent_at_last(3), 3.0 * per_slot);
    assert_close(sent_at_last(8), 8.0 * per_slot);
    assert_close(sent_at_last(20), 60.0 * 20_000.0);
}
