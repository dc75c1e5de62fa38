//! The mends against ns-3, and against the published formulas where nothing is mended.

use super::*;
use crate::Symbols;
use crate::obata_2001::Readings;
use crate::obata_2002::P_CONNECT;
use crate::path::tests::any_path;
use farhop_units::Rate;
use proptest::prelude::*;

/// ns-3 (NewReno from one segment, ACKs of every second segment or after 200 ms, the first at once, no loss, 1 MiB in segments of
/// 1448 B, 250 ms and 2048 kbit/s down, 64 kbit/s up): uplink delay in ms, window in KiB, seconds from first data segment
/// sent to last byte received.
pub(crate) const NS3: [(u64, u64, f64); 28] = [
    (250, 4, 187.846_255),
    (250, 8, 83.745_483),
    (250, 16, 38.907_331),
    (250, 32, 19.672_051),
    (250, 64, 11.993_302),
    (250, 128, 8.768_037),
    (250, 192, 8.768_037),
    (125, 4, 142.596_255),
    (125, 8, 70.773_920),
    (125, 16, 29.532_331),
    (125, 32, 15.181_676),
    (125, 64, 9.265_818),
    (125, 128, 7.558_271),
    (125, 192, 7.558_271),
    (30, 4, 108.206_255),
    (30, 8, 53.483_920),
    (30, 16, 22.407_331),
    (30, 32, 11.571_676),
    (30, 64, 7.088_068),
    (30, 128, 6.638_958),
    (30, 192, 6.638_958),
    (25, 4, 106.396_255),
    (25, 8, 52.573_920),
    (25, 16, 22.032_331),
    (25, 32, 11.381_676),
    (25, 64, 6.978_068),
    (25, 128, 6.593_958),
    (25, 192, 6.593_958),
];

/// ns-3 acknowledges the first segment at once.
pub(super) const AT_ONCE: Readings = Readings {
    first_ack_delay: Duration::ZERO,
    redundancy: Redundancy::NONE,
    threshold: crate::obata_2001::Threshold::BelowMaximum,
};

fn fig5(up_delay_ms: u64, max_window: Bytes) -> Path {
    Path::new(crate::obata_2001::table_1(Duration::from_millis(up_delay_ms), max_window)).unwrap()
}

/// Relative errors of the time over ns-3's.
fn errors(mends: Mends) -> Vec<f64> {
    let error = |(up_delay, window, ns3): (u64, u64, f64)| {
        let path = fig5(up_delay, Bytes::kib(window));
        obata_2001::transfer_time(&path, Bytes::kib(1024), &AT_ONCE, mends).unwrap().as_secs_f64() / ns3 - 1.0
    };
    NS3.into_iter().map(error).collect()
}

/// Mean and largest absolute error.
fn mean_and_largest(errors: &[f64]) -> (f64, f64) {
    let (mut sum, mut largest) = (0.0, 0.0_f64);
    for error in errors {
        sum += error.abs();
        largest = largest.max(error.abs());
    }
    (sum / f64::from(u32::try_from(errors.len()).unwrap()), largest)
}

fn all_but_one() -> [(&'static str, Mends); 5] {
    [
        ("whole segments and odd windows", Mends { whole_segments: false, odd_windows: false, ..Mends::ALL }),
        ("headers", Mends { headers: false, ..Mends::ALL }),
        ("no jump", Mends { no_jump: false, ..Mends::ALL }),
        ("ACK queueing", Mends { ack_queueing: false, ..Mends::ALL }),
        ("odd windows", Mends { odd_windows: false, ..Mends::ALL }),
    ]
}

#[test]
fn every_mend_is_measured_against_ns3() {
    println!("{:34} mean      max  of |T/T_ns3 − 1| over {} flows", "mends", NS3.len());
    let print = |name: &str, mends| {
        let (mean, largest) = mean_and_largest(&errors(mends));
        println!("{name:34} {:6.3} % {:7.3} %", mean * 100.0, largest * 100.0);
        (mean, largest)
    };
    let published = print("none (as published)", Mends::NONE);
    for (name, mends) in Mends::EACH {
        print(name, mends);
    }
    for (name, mends) in all_but_one() {
        print(&format!("all but {name}"), mends);
    }
    let cumulative = Mends { whole_segments: true, headers: true, no_jump: true, ..Mends::NONE };
    let terms = print("whole segments, headers, no jump", cumulative);
    let queueing = print("… and ACK queueing", Mends { ack_queueing: true, ..cumulative });
    let all = print("all", Mends::ALL);
    for ((up_delay, window, seconds), error) in NS3.iter().zip(errors(Mends::ALL)) {
        println!(
            "uplink {up_delay:3} ms, window {window:3} KiB: ns-3 {seconds:10.6} s, all mends {:+.4} %",
            error * 100.0
        );
    }
    assert!(published.0 > terms.0 && queueing.0 <= terms.0 && terms.0 > 10.0 * all.0, "each step comes closer");
    assert!(all.0 < 0.0005 && all.1 < 0.003, "mean {}, largest {}", all.0, all.1);
}

#[test]
fn no_mend_is_the_published_formula() {
    for (up_delay, window, _) in NS3 {
        let path = fig5(up_delay, Bytes::kib(window));
        let start = Transfer {
            window: Segments::ONE,
            first_ack_delay: crate::obata_2001::FIRST_ACK_DELAY,
            redundancy: Redundancy::NONE,
            ending: Ending::Paper2001,
        };
        for size in [1, 1448, 8 * 1448, 100_000, 1 << 20] {
            let ours = windows::transfer(&path, Bytes::new(size), &start, Mends::NONE).time;
            let published = crate::obata_2001::transfer_time(&path, Bytes::new(size), &Readings::default()).unwrap();
            assert!(ours.abs_diff(published) < Duration::from_micros(1), "{size} B: {ours:?}, published {published:?}");
        }
    }
}

fn table1() -> Path {
    Path::new(crate::obata_2002::table_1(Bytes::kib(16))).unwrap()
}

fn data_sets(count: usize, size: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::repeat_n(size, count)
}

fn small(count: usize) -> impl Iterator<Item = Bytes> {
    data_sets(count, Bytes::kb(5))
}

#[test]
fn no_mend_is_the_published_formula_for_pages_too() {
    let (path, none) = (table1(), Mends::NONE);
    let near = |ours: Result<Duration, _>, published: Result<Duration, crate::ModelError>| {
        let (ours, published): (Duration, Duration) = (ours.unwrap(), published.unwrap());
        assert!(ours.abs_diff(published) < Duration::from_micros(1), "{ours:?}, published {published:?}");
    };
    use crate::obata_2002 as paper;
    near(obata_2002::eq9_http10(&path, small(10), P_CONNECT, none), paper::eq9_http10(&path, small(10), P_CONNECT));
    near(
        obata_2002::eq13_http11_revised(&path, small(10), P_CONNECT, none),
        paper::eq13_http11_revised(&path, small(10), P_CONNECT),
    );
    near(
        obata_2002::eq15_http11_pipelined(&path, small(100), P_CONNECT, none),
        paper::eq15_http11_pipelined(&path, small(100), P_CONNECT),
    );
}

#[test]
fn a_window_that_is_not_full_yet_costs_a_pipeline_most() {
    let path = table1();
    let kept = Mends { kept_window: true, ..Mends::NONE };
    let longer = |time: &dyn Fn(Mends) -> Result<Duration, crate::ModelError>| {
        time(kept).unwrap().as_secs_f64() / time(Mends::NONE).unwrap().as_secs_f64()
    };
    let most = (2..100).map(|n| longer(&|mends| obata_2002::eq15_http11_pipelined(&path, small(n), P_CONNECT, mends)));
    let most = most.fold(0.0, f64::max);
    assert!((1.34..1.36).contains(&most), "{most}");
    for (size, pipelined, one_by_one) in [(5, 1.26, 1.0), (20, 1.047, 1.001)] {
        let sets = || data_sets(10, Bytes::kb(size));
        let pipeline = longer(&|mends| obata_2002::eq15_http11_pipelined(&path, sets(), P_CONNECT, mends));
        let revised = longer(&|mends| obata_2002::eq13_http11_revised(&path, sets(), P_CONNECT, mends));
        println!("10 · {size} kB: pipelined {pipeline:.3}, one by one {revised:.3} of the published time");
        assert!((pipeline - pipelined).abs() < 0.01 && (revised - one_by_one).abs() < 0.01, "{pipeline} {revised}");
    }
}

#[test]
fn thin_uplinks_queue_acks() {
    let (mut shorter, mut longer) = (1.0_f64, 1.0_f64);
    for (kbps, window) in [4, 16].into_iter().flat_map(|kbps| [8, 16, 32, 64, 128].map(|window| (kbps, window))) {
        let fig6 = Symbols { up_rate: Some(Rate::kbps(kbps)), ..*fig5(125, Bytes::kib(window)).symbols() };
        let path = Path::new(fig6).unwrap();
        let time = |mends| obata_2001::transfer_time(&path, Bytes::kib(1024), &AT_ONCE, mends).unwrap().as_secs_f64();
        let ratio = time(Mends { ack_queueing: true, ..Mends::NONE }) / time(Mends::NONE);
        println!("uplink {kbps} kbit/s, window {window} KiB: ACK queueing {:+.1} %", (ratio - 1.0) * 100.0);
        (shorter, longer) = (shorter.min(ratio), longer.max(ratio));
        // Two segments for each ACK, but for those of the last window: nothing is faster than the uplink.
        let acks = (724 - window * 1024 / 1448) / 2;
        let least = Rate::kbps(kbps).transmission_time(Bytes::new(52) * acks).as_secs_f64();
        assert!(time(Mends::ALL) > least, "{kbps} kbit/s, {window} KiB");
    }
    assert!((0.92..0.97).contains(&shorter) && (1.05..1.08).contains(&longer), "{shorter} {longer}");
}

#[test]
fn the_jump_at_a_zero_remainder_is_gone() {
    let path = fig5(125, Bytes::kib(64));
    let full = crate::obata_2001::eq7_slow_start_size(&path, &AT_ONCE).unwrap() + Bytes::kib(64) * 10;
    for mends in [Mends { no_jump: true, ..Mends::NONE }, Mends { ack_queueing: true, no_jump: true, ..Mends::NONE }] {
        let time = |size: Bytes| obata_2001::transfer_time(&path, size, &AT_ONCE, mends).unwrap();
        let (less, exact) = (time(full - Bytes::new(1)), time(full));
        assert!(exact - less < Duration::from_micros(10), "{less:?}, {exact:?}");
    }
}

#[test]
fn cycles_that_are_skipped_are_those_that_would_be_sent() {
    for (up_delay, window, _) in NS3 {
        let path = fig5(up_delay, Bytes::kib(window));
        let time = |segments: u64| {
            obata_2001::transfer_time(&path, Bytes::new(1448) * segments, &AT_ONCE, Mends::ALL).unwrap().as_secs_f64()
        };
        let (short, long) = (time(20_000) - time(10_000), time(2_000_000_000) - time(1_000_000_000));
        assert!((long / 100_000.0 - short).abs() < 0.6, "apart by more than the place in a round: {short} {long}");
    }
}

proptest! {
    #[test]
    fn any_parameters_give_an_answer(
        path in any_path(),
        sizes in prop::collection::vec(any::<u64>(), 1..4),
        which in 0_u8..64,
        delay: u64,
    ) {
        let bit = |n: u8| which & (1 << n) != 0;
        let mends = Mends {
            whole_segments: bit(0),
            headers: bit(1),
            no_jump: bit(2),
            ack_queueing: bit(3),
            odd_windows: bit(4),
            kept_window: bit(5),
        };
        let sizes = || sizes.iter().copied().map(Bytes::new);
        let readings = Readings { first_ack_delay: Duration::from_nanos(delay), ..AT_ONCE };
        for size in sizes() {
            let time = obata_2001::transfer_time(&path, size, &readings, mends).unwrap();
            prop_assert!(size == Bytes::ZERO || !mends.no_jump || time >= path.symbols().down_delay.mul_f64(1.0 - 1e-12));
            let _ = obata_2001::throughput(&path, size, &readings, mends);
        }
        prop_assert!(obata_2002::eq9_http10(&path, sizes(), P_CONNECT, mends).is_ok());
        prop_assert!(obata_2002::eq13_http11_revised(&path, sizes(), P_CONNECT, mends).is_ok());
        prop_assert!(obata_2002::eq15_http11_pipelined(&path, sizes(), P_CONNECT, mends).is_ok());
    }

    #[test]
    fn more_data_never_take_less_time(
        small in 1_u64..3_000_000, more in 0_u64..3_000_000, window in 2_u64..100, up_delay in 0_u64..1000,
    ) {
        let path = fig5(up_delay, Bytes::new(1448 * window));
        let time = |size| obata_2001::transfer_time(&path, Bytes::new(size), &AT_ONCE, Mends::ALL).unwrap();
        prop_assert!(time(small + more) + Duration::from_nanos(100) >= time(small));
    }
}
