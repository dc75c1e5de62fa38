use super::*;
use proptest::prelude::*;

/// Records of up to 20 steps, one of which at least sends something.
pub(super) fn any_steps() -> impl Strategy<Value = TraceRecord> {
    let step = (1_u64..1 << 40, proptest::option::of(1_u64..), proptest::option::of(0_u64..1 << 40));
    let last = (1_u64..1 << 40, 1_u64.., proptest::option::of(0_u64..1 << 40));
    (proptest::collection::vec(step, 0..20), last).prop_map(|(mut entries, (span, rate, delay))| {
        entries.push((span, Some(rate), delay));
        let mut length = Duration::ZERO;
        let steps = entries.into_iter().map(|(span, rate, delay)| {
            let at = length;
            length += Duration::from_nanos(span);
            TraceStep { at, rate: rate.and_then(Rate::from_bits_per_second), delay: delay.map(Duration::from_nanos) }
        });
        TraceRecord::Steps { steps: steps.collect(), length }
    })
}

/// Records of up to 20 opportunities, in whole milliseconds or not, with and without time after the last.
pub(super) fn any_opportunities() -> impl Strategy<Value = TraceRecord> {
    let unit = prop_oneof![Just(1_u64), Just(1000), Just(1_000_000)];
    (proptest::collection::vec(0_u64..4, 1..20), unit, 0_u64..2).prop_map(|(gaps, unit, rest)| {
        let sum = |at: &mut u64, gap: &u64| {
            *at += gap;
            Some(Duration::from_nanos(*at * unit))
        };
        let times: Vec<Duration> = gaps.iter().scan(0, sum).collect();
        let last = times.last().copied().unwrap_or_default();
        let rest = if last.is_zero() { 1 } else { rest };
        TraceRecord::Opportunities { times, length: last + Duration::from_nanos(rest) }
    })
}

#[test]
fn a_summary_is_for_people() {
    let steps = TraceRecord::from_csv("time_s,rate_mbit_s\n0,7.8\n20,0\n40,7.8654\n60,end").unwrap();
    assert_eq!(Trace::new(steps.clone(), TraceEnd::Repeat).summary(), "60 s, 5.22 Mbit/s on average, repeats");
    assert_eq!(Trace::new(steps, TraceEnd::Hold).summary(), "60 s, 5.22 Mbit/s on average, then stays as it ends");
    let times = TraceRecord::from_mahimahi("1\n2\n").unwrap();
    assert_eq!(Trace::new(times, TraceEnd::Hold).summary(), "2 ms, 12 Mbit/s on average, then carries nothing");
}

#[test]
fn a_file_is_known_by_its_first_line() {
    assert_eq!(TraceRecord::from_file("5\n6"), TraceRecord::from_mahimahi("5\n6"));
    for text in ["time_s,rate_bit_s\n0,1", "# source\ntime_s,rate_bit_s\n0,1"] {
        assert_eq!(TraceRecord::from_file(text), TraceRecord::from_csv(text));
    }
    assert!(TraceRecord::from_file("").is_err());
}

#[test]
fn zero_is_a_rate_in_every_unit() {
    for text in ["0", "0 bit/s", "0.00Mbit/s", "0 kbit/s"] {
        assert_eq!(rate_or_nothing(text), Ok(None), "{text}");
    }
    assert_eq!(rate_or_nothing("0.5 kbit/s"), Ok(Rate::from_bits_per_second(500)));
    for text in ["", ".", "0 mbps", "none", "10"] {
        assert!(rate_or_nothing(text).is_err(), "{text}");
    }
}

#[test]
fn bounds_are_those_of_the_steps() {
    let text = "time,rate,delay\n0 s,1 Mbit/s,30 ms\n1 s,3 Mbit/s,\n2 s,0,50 ms";
    let trace = Trace::new(TraceRecord::from_csv(text).unwrap(), TraceEnd::Repeat);
    assert_eq!(trace.peak_rate(), Some(Rate::mbps(3)));
    let least = [10, 40].map(|own| trace.least_delay(Duration::from_millis(own)));
    assert_eq!(least, [10, 30].map(|delay| Some(Duration::from_millis(delay))));
}

proptest! {
    #[test]
    fn what_was_made_right_is_right(record in prop_oneof![any_steps(), any_opportunities()]) {
        prop_assert_eq!(record.check(), Ok(()));
        let written = record.to_mahimahi();
        prop_assert!(written.is_err() || TraceRecord::from_mahimahi(&written.unwrap()).is_ok());
    }
}
