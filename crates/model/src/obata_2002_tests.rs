//! The numbers in the text of obata-2002.

use super::*;
use proptest::prelude::*;

fn symbols() -> Symbols {
    table_1(Bytes::kib(16))
}

fn path() -> Path {
    Path::new(symbols()).unwrap()
}

fn data_sets(count: usize, size: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::repeat_n(size, count)
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not within {tolerance} of {expected}");
}

/// Two-way propagation alone, the rtt behind the text's 0.41 s.
fn propagation() -> Duration {
    symbols().down_delay + symbols().up_delay
}

#[test]
fn setup_takes_0_294_s_where_the_older_formula_has_0_414_s() {
    assert_near(eq1_connect_time(&path(), P_CONNECT).as_secs_f64(), 0.2943, 5e-5);
    assert_near(hasegawa_setup_time(propagation(), Connection::New).as_secs_f64(), 0.414, 5e-4);
    assert_near(hasegawa_setup_time(propagation(), Connection::Open).as_secs_f64(), 0.138, 5e-4);
}

#[test]
fn http_1_0_and_the_older_formula_are_1_2_s_apart_for_10_data_sets_and_7_2_s_for_60() {
    let apart = |n| {
        let older = hasegawa_http10(&path(), data_sets(n, Bytes::kb(5))).unwrap();
        (older - eq9_http10(&path(), data_sets(n, Bytes::kb(5)), P_CONNECT).unwrap()).as_secs_f64()
    };
    assert_near(apart(10), 1.2, 0.05);
    assert_near(apart(60), 7.2, 0.05);
}

#[test]
fn pipelining_saves_1_8_s_for_10_data_sets_and_20_s_for_100() {
    let saved = |n, size| {
        let revised = eq13_http11_revised(&path(), data_sets(n, size), P_CONNECT).unwrap();
        (revised - eq15_http11_pipelined(&path(), data_sets(n, size), P_CONNECT).unwrap()).as_secs_f64()
    };
    assert_near(saved(10, Bytes::kb(5)), 1.76, 0.01);
    for size in [Bytes::kb(5), Bytes::kib(5)] {
        assert_near(saved(100, size), 20.25, 0.15);
    }
}

#[test]
fn the_older_formula_repeats_slow_start_over_http_1_1_too() {
    let older = hasegawa_http11(&path(), data_sets(20, Bytes::kb(10))).unwrap().as_secs_f64();
    let initial = eq11_http11_initial(&path(), data_sets(20, Bytes::kb(10)), P_CONNECT).unwrap().as_secs_f64();
    // 1.5 and 19 halves of the propagation instead of Eq 1 and 19 of Eq 10.
    let setup = 11.0 * propagation().as_secs_f64();
    let ours = (eq1_connect_time(&path(), P_CONNECT) + 19 * eq10_request_time(&path(), P_CONNECT)).as_secs_f64();
    assert_near(older - initial, setup - ours, 1e-6);
}

#[test]
fn the_initial_1_1_formula_repeats_slow_start_where_the_revised_does_not() {
    let initial = eq11_http11_initial(&path(), data_sets(20, Bytes::kb(10)), P_CONNECT).unwrap();
    let revised = eq13_http11_revised(&path(), data_sets(20, Bytes::kb(10)), P_CONNECT).unwrap();
    let slow_start = eq8_transmit_time(&path(), Bytes::kb(10)) - eq12_later_transmit_time(&path(), Bytes::kb(10));
    assert_near((initial - revised).as_secs_f64(), 19.0 * slow_start.as_secs_f64(), 1e-6);
    assert!(slow_start > propagation());
}

#[test]
fn eq_8_is_eq_3_for_each_whole_window_and_a_rest() {
    // 1 + 2 segments fill whole windows, 656 B are left.
    let rounds = times(eq4_rtt(&path()), 2.0).as_secs_f64();
    let rest = 8.0 * (656.0 + 52.0) / 2_048_000.0 + 0.2586;
    assert_near(eq8_transmit_time(&path(), Bytes::kb(5)).as_secs_f64(), rounds + rest, 1e-8);
    assert_eq!(eq7_threshold(&path(), Bytes::kb(5)), Some(1));
    assert_eq!(eq7_threshold(&path(), Bytes::new(1447)), None);
}

#[test]
fn full_windows_are_counted_without_a_step_each() {
    // Windows 1, 2, 3, 5, 8 and from then on 16 KiB.
    let slow_start = Bytes::new(19 * 1448);
    assert_eq!(eq7_threshold(&path(), slow_start + Bytes::kib(16) * 1_000_000), Some(4 + 1_000_000));
    let more = eq8_transmit_time(&path(), slow_start + Bytes::kib(16) * 1000);
    let once = eq8_transmit_time(&path(), slow_start);
    assert_near((more - once).as_secs_f64(), 1000.0 * eq4_rtt(&path()).as_secs_f64(), 1e-6);
}

#[test]
fn a_thin_uplink_holds_the_sender_back_by_its_acks() {
    let path = Path::new(Symbols { up_rate: Some(Rate::kbps(4)), ..symbols() }).unwrap();
    // Six ACKs of 0.104 s for 16 KiB, 11.3 segments.
    let full = path.full_window();
    assert_eq!(eq3_transmission_period(&path, full.unwrap(), full), Duration::from_millis(624));
    let later = |windows: u64| eq12_later_transmit_time(&path, Bytes::kib(16) * windows);
    assert_eq!(later(11) - later(1), Duration::from_millis(6240));
}

#[test]
fn a_window_stops_growing_at_the_maximum() {
    let full = path().full_window().unwrap();
    assert_eq!(eq2_next_window(&path(), Segments::new(8.0)), full);
    assert_eq!(eq2_next_window(&path(), full), full);
}

#[test]
fn one_data_set_is_the_same_for_every_version() {
    let one = || data_sets(1, Bytes::kb(100));
    let http10 = eq9_http10(&path(), one(), P_CONNECT);
    assert_eq!(http10, eq11_http11_initial(&path(), one(), P_CONNECT));
    assert_eq!(http10, eq13_http11_revised(&path(), one(), P_CONNECT));
    assert_eq!(http10, eq15_http11_pipelined(&path(), one(), P_CONNECT));
}

#[test]
fn no_data_sets_take_no_defined_time() {
    assert_eq!(eq9_http10(&path(), [], P_CONNECT), Err(ModelError::NoDataSets));
    assert_eq!(eq15_http11_pipelined(&path(), [], P_CONNECT), Err(ModelError::NoDataSets));
}

proptest! {
    #[test]
    fn any_parameters_give_an_answer(
        path in crate::path::tests::any_path(),
        sizes in prop::collection::vec(any::<u64>(), 1..5),
        p_connect: u64,
    ) {
        let sizes = || sizes.iter().copied().map(Bytes::new);
        let connect = eq1_connect_time(&path, Bytes::new(p_connect));
        for time in [
            eq9_http10(&path, sizes(), Bytes::new(p_connect)),
            eq11_http11_initial(&path, sizes(), Bytes::new(p_connect)),
            eq13_http11_revised(&path, sizes(), Bytes::new(p_connect)),
            eq15_http11_pipelined(&path, sizes(), Bytes::new(p_connect)),
        ] {
            prop_assert!(time.unwrap() >= connect);
        }
        prop_assert!(hasegawa_http10(&path, sizes()).is_ok() && hasegawa_http11(&path, sizes()).is_ok());
        for size in sizes() {
            let whole = whole_windows(&path, size);
            prop_assert!(whole.data <= size.as_f64() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn more_data_never_take_less_time(small in 0_u64..10_000_000, more in 0_u64..10_000_000) {
        let time = |size| eq8_transmit_time(&path(), Bytes::new(size));
        let rounding = Duration::from_nanos(100);
        prop_assert!(time(small + more) + rounding >= time(small));
    }
}
