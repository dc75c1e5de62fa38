//! Laws of the transmitter, checked against an integration of its own: nanosecond by nanosecond, in whole numbers.

use super::*;
use crate::{Orbit, TraceEnd, TraceStep};
use proptest::collection::vec;
use proptest::prelude::*;

/// A small link of every kind: some steps or opportunities of some nanoseconds, or a rate; framing; pauses.
fn any_config() -> impl Strategy<Value = DirectionConfig> {
    let capacity = prop_oneof![
        (1 << 27..3_000_000_000_u64).prop_map(|bits| (Rate::from_bits_per_second(bits), None)),
        any_trace().prop_map(|(record, end)| (None, Some(Trace::new(record, end)))),
    ];
    let framing = (0_u64..50, 1_u32..20, 0_u32..20).prop_map(|(overhead, useful, more)| Framing {
        overhead: Bytes::new(overhead),
        redundancy: (
            core::num::NonZeroU32::MIN.saturating_add(useful + more - 1),
            core::num::NonZeroU32::MIN.saturating_add(useful - 1),
        ),
    });
    let pauses = proptest::option::of((2_u64..80, 1_u64..20));
    (capacity, framing, pauses).prop_map(|((rate, trace), framing, pauses)| {
        let orbit = pauses.map(|(handover, pause)| Orbit::LowEarth {
            altitude_m: 550_000.0,
            least_elevation_deg: 25.0,
            handover: Duration::from_nanos(handover),
            pause: Duration::from_nanos(pause.min(handover - 1)),
        });
        DirectionConfig { rate, trace, framing, orbit, ..Default::default() }
    })
}

fn any_trace() -> impl Strategy<Value = (TraceRecord, TraceEnd)> {
    let end = prop_oneof![Just(TraceEnd::Repeat), Just(TraceEnd::Hold)];
    let steps = vec((1_u64..30, proptest::option::of(1 << 27..3_000_000_000_u64)), 1..6).prop_map(|entries| {
        let mut length = Duration::ZERO;
        let steps = entries.into_iter().map(|(span, rate)| {
            let at = length;
            length += Duration::from_nanos(span);
            TraceStep { at, rate: rate.and_then(Rate::from_bits_per_second), delay: None }
        });
        TraceRecord::Steps { steps: steps.collect(), length }
    });
    let opportunities = (vec(0_u64..10, 1..10), 0_u64..5).prop_map(|(gaps, rest)| {
        let sum = |at: &mut u64, gap: &u64| {
            *at += gap;
            Some(Duration::from_nanos(*at))
        };
        let times: Vec<Duration> = gaps.iter().scan(0, sum).collect();
        let length = *times.last().expect("at least one") + Duration::from_nanos(rest);
        TraceRecord::Opportunities { times, length }
    });
    (prop_oneof![steps, opportunities], end)
}

/// What the link carries in nanosecond `at` (opportunities: at that instant), in nanobits; nothing in a pause.
fn carried(config: &DirectionConfig, at: u64) -> u128 {
    if config.orbit.is_some_and(|orbit| orbit.pause_end(Instant::from_nanos(at)).is_some()) {
        return 0;
    }
    let Some(trace) = &config.trace else { return config.rate.map_or(0, |rate| rate.bits_per_second().into()) };
    let length = u64::try_from(trace.record.length().as_nanos()).unwrap();
    let repeats = trace.end == TraceEnd::Repeat && length > 0;
    let since = Duration::from_nanos(if repeats { at % length } else { at });
    match &*trace.record {
        TraceRecord::Steps { steps, .. } => {
            let step = steps.iter().rfind(|step| step.at <= since).expect("the first is at 0");
            step.rate.map_or(0, |rate| rate.bits_per_second().into())
        }
        TraceRecord::Opportunities { times, length } => {
            let now = times.iter().filter(|time| **time == since).count();
            // The last of a repetition come with the first of the next.
            let seam =
                if repeats && at > 0 && since.is_zero() { times.iter().filter(|t| *t == length).count() } else { 0 };
            (now + seam) as u128 * 1500 * 8 * 1_000_000_000
        }
    }
}

/// When packets of these sizes end that wait from `start` on, by brute force up to nanosecond `until`.
fn brute_force(config: &DirectionConfig, start: u64, sizes: &[u64], until: u64) -> Vec<Option<u64>> {
    let (sent, useful) = (u128::from(config.framing.redundancy.0.get()), u128::from(config.framing.redundancy.1.get()));
    let total = |count: usize| -> u128 {
        let bytes: u64 = sizes[..=count].iter().map(|size| size + config.framing.overhead.get()).sum();
        u128::from(bytes) * 8 * 1_000_000_000 * sent
    };
    // An opportunity is there at its instant, but is gone for who arrives then, unless he waited for a pause's end; a
    // rate has carried what it carries in a nanosecond at the end of that.
    let at_once = config.trace.as_ref().is_some_and(|t| matches!(&*t.record, TraceRecord::Opportunities { .. }));
    let waited = config.orbit.is_some_and(|orbit| orbit.pause_end(Instant::from_nanos(start)).is_some());
    let (mut have, mut ends) = (0, Vec::new());
    for at in start + u64::from(at_once && !waited)..until {
        have += carried(config, at) * useful;
        while ends.len() < sizes.len() && have >= total(ends.len()) {
            ends.push(Some(if at_once { at } else { at + 1 }));
        }
    }
    ends.resize(sizes.len(), None);
    ends
}

fn simulated(serializer: &mut Serializer<()>, start: u64, sizes: &[u64]) -> Vec<u64> {
    let mut ends = Vec::new();
    serializer.start(Instant::from_nanos(start), slot(sizes[0]));
    for size in sizes[1..].iter().map(Some).chain([None]) {
        ends.push(finish_time(serializer).as_nanos());
        serializer.finish(size.map(|&size| slot(size)));
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn service_is_what_brute_force_says(
        config in any_config(), start in 0_u64..200, sizes in vec(1_u64..60, 1..8),
        scale in prop_oneof![Just(1), Just(40)], gap in 0_u64..100,
    ) {
        const UNTIL: u64 = 1500;
        let sizes: Vec<u64> = sizes.into_iter().map(|size| size * scale).collect();
        let mut serializer = Serializer::new(&config);
        let mut start = start;
        // Two busy periods, with some idle time between.
        for _ in 0..2 {
            let ends = simulated(&mut serializer, start, &sizes);
            for (end, expected) in ends.iter().zip(brute_force(&config, start, &sizes, UNTIL)) {
                let agrees = expected.map_or(*end >= UNTIL, |expected| expected == *end);
                prop_assert!(agrees, "{:?}, not {:?}", ends, expected);
            }
            let last = ends[ends.len() - 1];
            if last >= UNTIL {
                break;
            }
            start = last + gap;
        }
    }

    #[test]
    fn packets_back_to_back_end_when_one_of_their_cost_would(
        config in any_config(), start in 0_u64..1 << 40, sizes in vec(0_u64..500, 2..20),
    ) {
        let overhead = config.framing.overhead.get();
        let whole = sizes.iter().map(|size| size + overhead).sum::<u64>() - overhead;
        let mut at_once = Serializer::new(&config);
        at_once.start(Instant::from_nanos(start), slot(whole));
        prop_assume!(finish_time(&at_once) < NEVER);
        let ends = simulated(&mut Serializer::new(&config), start, &sizes);
        prop_assert!(ends.is_sorted() && ends[0] >= start);
        prop_assert_eq!(ends[ends.len() - 1], finish_time(&at_once).as_nanos());
    }

    #[test]
    fn a_constant_rate_takes_the_time_that_its_units_say(
        bits in 1_u64.., start in 0_u64..1 << 60, sizes in vec(0_u64..1 << 32, 1..50),
    ) {
        let rate = Rate::from_bits_per_second(bits).expect("above zero");
        let start = Instant::from_nanos(start);
        let mut serializer = constant(rate);
        let mut sent = Bytes::ZERO;
        for (index, &bytes) in sizes.iter().enumerate() {
            if index == 0 {
                serializer.start(start, slot(bytes));
            } else {
                serializer.finish(Some(slot(bytes)));
            }
            sent += Bytes::new(bytes);
            let expected = start + rate.transmission_time(sent);
            prop_assume!(expected.as_nanos() < u64::MAX);
            prop_assert_eq!(finish_time(&serializer), expected);
        }
    }

    #[test]
    fn one_step_is_a_constant_rate(
        bits in 1_u64.., start: u64, sizes in vec(0_u64..1 << 32, 1..10), length in 1_u64..1 << 40, repeat: bool,
    ) {
        let rate = Rate::from_bits_per_second(bits);
        let steps = vec![TraceStep { at: Duration::ZERO, rate, delay: None }];
        let record = TraceRecord::Steps { steps, length: Duration::from_nanos(length) };
        let end = if repeat { TraceEnd::Repeat } else { TraceEnd::Hold };
        let trace = Some(Trace::new(record, end));
        let mut traced = Serializer::new(&DirectionConfig { trace, ..Default::default() });
        let mut constant = Serializer::new(&DirectionConfig { rate, ..Default::default() });
        prop_assert_eq!(simulated(&mut traced, start, &sizes), simulated(&mut constant, start, &sizes));
    }

    #[test]
    fn what_repeats_is_periodic(
        (record, _) in any_trace(), start in 0_u64..1000, laps in 1_u64..1 << 40, sizes in vec(1_u64..5000, 1..10),
    ) {
        prop_assume!(!record.length().is_zero());
        let later = u64::try_from(record.length().as_nanos()).unwrap() * laps;
        let config = DirectionConfig { trace: Some(Trace::new(record, TraceEnd::Repeat)), ..Default::default() };
        // The first round alone has no opportunities at its beginning that belong to the one before.
        let start = start + 1;
        let first = simulated(&mut Serializer::new(&config), start, &sizes);
        prop_assume!(first.iter().all(|&end| end < u64::MAX / 2));
        let second = simulated(&mut Serializer::new(&config), start + later, &sizes);
        let shifted: Vec<u64> = first.iter().map(|end| end + later).collect();
        prop_assert_eq!(second, shifted);
    }

    #[test]
    fn a_change_midway_is_a_fresh_start_at_the_end_of_the_packet(
        before in any_config(), after in any_config(), start in 0_u64..1000, sizes in vec(1_u64..5000, 1..10),
    ) {
        let mut changed = Serializer::new(&before);
        changed.start(Instant::from_nanos(start), slot(100));
        let end = finish_time(&changed);
        prop_assume!(end < NEVER);
        prop_assume!(before.trace != after.trace || before.framing != after.framing);
        changed.set(START, &after);
        prop_assert_eq!(finish_time(&changed), end);
        let mut fresh = Serializer::new(&after);
        let expected = simulated(&mut fresh, end.as_nanos(), &sizes);
        let mut ends = Vec::new();
        for &size in &sizes {
            changed.finish(Some(slot(size)));
            ends.push(finish_time(&changed).as_nanos());
        }
        prop_assert_eq!(ends, expected);
    }

    #[test]
    fn nothing_is_too_large(
        spans in vec((any::<u64>(), proptest::option::of(any::<u64>())), 0..5), length: u64, start: u64,
        sizes in vec(any::<u64>(), 1..5), overhead: u64, redundancy in (1_u32.., 1_u32..), orbit in proptest::option::of((1_u64 << 50.., any::<u64>())),
        opportunities: bool, repeat: bool,
    ) {
        let (at, length) = (|nanos: u64| Duration::from_nanos(nanos) * 3, Duration::from_nanos(length));
        // In no order at all, as a caller of this crate may have made it.
        let record = if opportunities {
            TraceRecord::Opportunities { times: spans.iter().map(|(time, _)| at(*time)).collect(), length }
        } else {
            let rate = |bits: Option<u64>| bits.and_then(Rate::from_bits_per_second);
            let step = |(time, bits): &(u64, Option<u64>)| TraceStep { at: at(*time), rate: rate(*bits), delay: None };
            TraceRecord::Steps { steps: spans.iter().map(step).collect(), length }
        };
        let ratio = |number| core::num::NonZeroU32::new(number).unwrap();
        let config = DirectionConfig {
            trace: Some(Trace::new(record, if repeat { TraceEnd::Repeat } else { TraceEnd::Hold })),
            framing: Framing { overhead: Bytes::new(overhead), redundancy: (ratio(redundancy.0), ratio(redundancy.1)) },
            orbit: orbit.map(|(handover, pause)| Orbit::LowEarth {
                altitude_m: 550_000.0,
                least_elevation_deg: 25.0,
                handover: Duration::from_nanos(handover),
                pause: Duration::from_nanos(pause),
            }),
            ..Default::default()
        };
        let ends = simulated(&mut Serializer::new(&config), start, &sizes);
        prop_assert!(ends.is_sorted() && ends[0] >= start);
    }
}
