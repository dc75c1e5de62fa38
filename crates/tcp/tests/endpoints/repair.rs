//! Repetitions that were not needed: sudden delays and reordering. Round trips take 500 ms.

use crate::network::{End, Network, Pipe};
use farhop_tcp::{Congestion, Profile, TcpConfig};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

fn config(profile: Profile) -> TcpConfig {
    TcpConfig { congestion: Congestion::NewReno, ..TcpConfig::of(profile) }
}

/// The server sends `segments`; gives the seconds that takes, needless segments, and the server's window at the end, in segments.
fn transfer(config: &TcpConfig, down: Pipe, segments: u64) -> (f64, u64, u64) {
    let up = Pipe { delay: Duration::from_millis(250), ..Pipe::default() };
    let mut network = Network::new(config, [up, Pipe { delay: Duration::from_millis(250), ..down }], 1);
    network.run_until(|network| network.seen(End::Server).connected.is_some());
    let (start, size) = (network.now, config.mss * segments);
    network.write(End::Server, size);
    assert!(network.run_until(|network| network.seen(End::Client).received == size));
    let seconds = network.now.since(start).as_secs_f64();
    network.run_until(|_| false);
    let needless = u64::from(network.seen(End::Server).data_segments_sent) - segments;
    (seconds, needless, network.congestion_window(End::Server).get() / config.mss.get())
}

#[test]
fn a_sudden_delay_costs_linux_neither_window_nor_many_repetitions() {
    // 2000 segments take flights of 10, 20, 40, 80, 160, …; everything from the fifth on is held up for 4 s.
    let late = |profile| {
        let down = Pipe { late: (151..152, Duration::from_secs(4)), keeps_order: true, ..Pipe::default() };
        transfer(&config(profile), down, 2000)
    };
    let (seconds, needless, window) = late(Profile::Linux);
    let (rfc_seconds, rfc_needless, rfc_window) = late(Profile::Rfc);
    println!(
        "Linux {seconds:.2} s, {needless} needless, window {window}; RFC {rfc_seconds:.2} s, {rfc_needless}, {rfc_window}"
    );
    assert!(window >= 320 && needless <= 10, "{window} segments, {needless} needless");
    assert!(rfc_window < 320 && rfc_needless > 50, "{rfc_window} segments, {rfc_needless} needless");
    assert!(seconds < rfc_seconds, "{seconds} {rfc_seconds}");
}

#[test]
fn one_late_segment_is_repeated_and_the_window_restored() {
    // The twentieth of a flight of 40 arrives 60 ms after the others, when it has been repeated.
    let late = |profile| {
        let down = Pipe { late: (51..52, Duration::from_millis(60)), rate: Some(Rate::mbps(100)), ..Pipe::default() };
        transfer(&config(profile), down, 70)
    };
    let (_, needless, window) = late(Profile::Linux);
    assert_eq!(needless, 1);
    assert!(window >= 55, "{window}");
    let (_, _, window) = late(Profile::Rfc);
    assert!(window < 40, "{window}");
}

#[test]
fn constant_reordering_does_not_slow_linux_down() {
    let spread = |ms| Pipe { spread: Duration::from_millis(ms), ..Pipe::default() };
    let time = |profile, ms| transfer(&config(profile), spread(ms), 3000);
    let (ordered, ..) = time(Profile::Linux, 0);
    let (seconds, needless, _) = time(Profile::Linux, 100);
    let (rfc_seconds, rfc_needless, _) = time(Profile::Rfc, 100);
    println!(
        "Linux {ordered:.2} s, reordered {seconds:.2} s, {needless} needless; RFC {rfc_seconds:.2} s, {rfc_needless}"
    );
    assert!(seconds < ordered * 2.0, "{seconds} s instead of {ordered} s");
    assert!(needless < 150, "{needless}");
    assert!(rfc_seconds > 2.0 * seconds, "three arrivals are no loss here: {rfc_seconds} s");
}

#[test]
fn a_burst_of_losses_is_repaired_in_proportion() {
    // Half of a flight of 160 is lost: PRR sends as data is delivered, so all is there two round trips later.
    let config = config(Profile::Linux);
    let lost = Pipe { lost: (171..251).collect(), ..Pipe::default() };
    let (clean, ..) = transfer(&config, Pipe::default(), 310);
    let (seconds, needless, _) = transfer(&config, lost, 310);
    assert_eq!(needless, 80);
    assert!(seconds <= clean + 1.1, "{seconds} s instead of {clean} s");
}

#[test]
fn a_lost_repetition_is_found_without_a_timeout() {
    // Segment 53 of the server is lost, and its repetition, which is the first thing sent after the arrivals of that flight.
    let config = config(Profile::Linux);
    let lose = |lost: Vec<u64>| transfer(&config, Pipe { lost, ..Pipe::default() }, 400);
    let (once, one, _) = lose(vec![53]);
    let repeated = (54..200).find(|number| lose(vec![53, *number]).1 == 2);
    let (twice, two, _) = lose(vec![53, repeated.expect("the repetition is among them")]);
    assert_eq!((one, two), (1, 2));
    assert!(twice < once + 1.1, "{twice} s instead of {once} s");
}

#[test]
fn nothing_is_lost_to_accounting_where_data_is_small() {
    // Segments of one byte count in full on Linux: a window of ten of them.
    let config = TcpConfig { mss: Bytes::new(1448), ..config(Profile::Linux) };
    let pipe = || Pipe { delay: Duration::from_millis(250), ..Pipe::default() };
    let mut network = Network::new(&config, [pipe(), pipe()], 1);
    network.run_until(|network| network.seen(End::Server).connected.is_some());
    (0..25).for_each(|_| network.write(End::Server, Bytes::new(1)));
    assert_eq!(network.seen(End::Server).data_segments_sent, 10);
    assert_eq!(network.backlog(End::Server), (Bytes::new(15), Bytes::new(10)));
    assert!(network.run_until(|network| network.seen(End::Client).received == Bytes::new(25)));
}
