//! What keeps a sender from sending: marks, a receiver that does not read, a pace. Round trips take 100 ms.

use crate::network::{End, Network, Pipe};
use farhop_tcp::{Congestion, Profile, TcpConfig};
use farhop_units::{Bytes, Rate};
use proptest::prelude::*;
use std::cell::Cell;
use std::time::Duration;

fn network(config: &TcpConfig, up: Pipe, down: Pipe) -> Network {
    let far = |pipe| Pipe { delay: Duration::from_millis(50), ..pipe };
    let mut network = Network::new(config, [far(up), far(down)], 1);
    network.run_until(|network| network.seen(End::Server).connected.is_some());
    network
}

fn send(network: &mut Network, bytes: Bytes) {
    network.write(End::Server, bytes);
    assert!(network.run_until(|network| network.seen(End::Client).received == bytes));
    network.run_until(|_| false);
}

#[test]
fn a_mark_halves_the_window_once_and_repeats_nothing() {
    for (profile, sack) in
        [(Profile::Linux, true), (Profile::Linux, false), (Profile::Rfc, true), (Profile::Rfc, false)]
    {
        let config = TcpConfig { ecn: true, sack, congestion: Congestion::NewReno, ..TcpConfig::of(profile) };
        let end = |config: &TcpConfig, marked: Vec<u64>| {
            let mut network = network(config, Pipe::default(), Pipe { marked, ..Pipe::default() });
            send(&mut network, config.mss * 150);
            assert_eq!(network.seen(End::Server).data_segments_sent, 150);
            (network.marks, network.congestion_window(End::Server).get() / 1448)
        };
        let (_, unmarked) = end(&config, Vec::new());
        // Three marks in one flight are one sign of congestion.
        let (marks, window) = end(&config, vec![75, 80, 85]);
        assert_eq!(marks, 3, "{profile:?}");
        assert!(window * 10 <= unmarked * 6 && window * 4 >= unmarked, "{profile:?}: {window} after {unmarked}");
        let (marks, window) = end(&TcpConfig { ecn: false, ..config }, vec![75]);
        assert_eq!((marks, window), (0, unmarked), "{profile:?} does not ask for marks");
    }
}

#[test]
fn a_sender_at_rest_hears_that_the_window_has_opened() {
    let config = TcpConfig { max_window: Some(Bytes::kb(20)), ..TcpConfig::of(Profile::Rfc) };
    let mut network = network(&config, Pipe::default(), Pipe::default());
    network.hold(End::Server, Bytes::ZERO);
    network.write(End::Client, Bytes::kb(20));
    network.run_until(|_| false);
    assert_eq!(network.backlog(End::Client), (Bytes::ZERO, Bytes::ZERO), "all of it is there, and was not read");
    network.hold(End::Server, Bytes::ZERO);
    network.run_until(|_| false);
    let start = network.now;
    network.write(End::Client, Bytes::kb(10));
    assert!(network.run_until(|network| network.seen(End::Server).received == Bytes::kb(30)));
    assert_eq!(network.now.since(start), Duration::from_millis(50), "nobody asks for the window first");
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender_until_it_does() {
    let config = TcpConfig { max_window: Some(Bytes::kb(20)), ..TcpConfig::of(Profile::Linux) };
    let mut network = network(&config, Pipe::default(), Pipe::default());
    network.hold(End::Client, Bytes::ZERO);
    network.write(End::Server, Bytes::kb(100));
    network.run_until(|network| network.now.as_secs_f64() > 60.0);
    let stuck = network.seen(End::Client).received;
    assert!(stuck > Bytes::kb(18) && stuck <= Bytes::kb(20), "{stuck}");
    let (unsent, unacknowledged) = network.backlog(End::Server);
    assert_eq!((unsent + stuck, unacknowledged), (Bytes::kb(100), Bytes::ZERO));
    let start = network.now;
    network.hold(End::Client, Bytes::ZERO);
    assert!(network.run_until(|network| network.seen(End::Client).received > stuck));
    let took = network.now.since(start);
    let soon = Duration::from_millis(100)..Duration::from_micros(100_100);
    assert!(soon.contains(&took), "the window is announced at once, and a host takes a little time: {took:?}");
}

#[test]
fn a_lost_announcement_of_the_window_is_asked_for() {
    // The client's segments: SYN, ACK, then ACKs of data; losing everything from the 20th to the 23rd hits the announcement.
    for lost in 5..40 {
        let config = TcpConfig { max_window: Some(Bytes::kb(20)), ..TcpConfig::of(Profile::Linux) };
        let up = Pipe { lost: vec![lost, lost + 1], ..Pipe::default() };
        let mut network = network(&config, up, Pipe::default());
        network.hold(End::Client, Bytes::ZERO);
        network.write(End::Server, Bytes::kb(100));
        let all = |network: &Network| network.seen(End::Client).received == Bytes::kb(100);
        while !all(&network) {
            let received = network.seen(End::Client).received;
            let more = network.run_until(|network| {
                network.seen(End::Client).received > received + Bytes::kb(15)
                    || all(network)
                    || network.now.as_secs_f64() > 300.0
            });
            assert!(more && network.now.as_secs_f64() < 300.0, "stuck after losing {lost}");
            network.hold(End::Client, Bytes::ZERO);
        }
    }
}

#[test]
fn bbr_fills_the_path_without_filling_the_queue() {
    let rate = Rate::mbps(20);
    let run = |congestion| {
        let config = TcpConfig { congestion, ..TcpConfig::of(Profile::Linux) };
        let mut network = network(&config, Pipe::default(), Pipe { rate: Some(rate), ..Pipe::default() });
        network.write(End::Server, Bytes::kb(30_000));
        network.run_until(|network| network.now.as_secs_f64() > 8.0);
        let received = network.seen(End::Client).received;
        let (_, unacknowledged) = network.backlog(End::Server);
        (received.as_f64() / 7.85 / (rate.as_f64() / 8.0), unacknowledged)
    };
    let (share, in_flight) = run(Congestion::Bbr);
    // The path holds 250 kB.
    assert!(share > 0.85, "{share}");
    assert!(in_flight < Bytes::kb(600), "{in_flight}");
    let (_, queued) = run(Congestion::Cubic);
    assert!(queued > Bytes::kb(700), "CUBIC fills any queue: {queued}");
}

#[test]
fn what_is_asked_for_after_a_pause_begins_no_look_at_an_empty_path_with_bbr() {
    let config = TcpConfig { congestion: Congestion::Bbr, ..TcpConfig::of(Profile::Linux) };
    let down = Pipe { rate: Some(Rate::mbps(10)), queue: Some(Bytes::kb(100)), ..Pipe::default() };
    let mut network = network(&config, Pipe::default(), down);
    send(&mut network, Bytes::kb(4000));
    network.run_to(network.now + Duration::from_secs(11));
    network.write(End::Client, Bytes::new(300));
    network.run_until(|network| network.seen(End::Server).received == Bytes::new(300));
    network.write(End::Server, Bytes::kb(4000));
    let least = Cell::new(network.congestion_window(End::Server));
    let done = network.run_until(|network| {
        least.set(least.get().min(network.congestion_window(End::Server)));
        network.seen(End::Client).received == Bytes::kb(8000)
    });
    assert!(done && least.get() > config.mss * 20, "{} of a product of 125 kB", least.get());
}

proptest! {
    #[test]
    fn a_reader_of_any_pace_gets_everything(
        pieces in prop::collection::vec((100_u64..30_000, 1_u64..400), 1..40), loss in prop::collection::vec(3_u64..200, 0..10),
        room in 3000_u64..50_000, linux: bool) {
        let profile = if linux { Profile::Linux } else { Profile::Rfc };
        let config = TcpConfig { max_window: Some(Bytes::new(room)), ..TcpConfig::of(profile) };
        let mut network = network(&config, Pipe { lost: loss.clone(), ..Pipe::default() }, Pipe { lost: loss, ..Pipe::default() });
        network.hold(End::Client, Bytes::ZERO);
        let size = Bytes::kb(150);
        network.write(End::Server, size);
        let mut unread = Bytes::ZERO;
        let mut steps = pieces.iter().cycle();
        while network.seen(End::Client).received < size {
            let (read, wait) = *steps.next().expect("there is one at least");
            let before = network.seen(End::Client).received;
            network.run_to(network.now + Duration::from_millis(wait));
            unread += network.seen(End::Client).received - before;
            prop_assert!(unread <= Bytes::new(room), "{} unread of {}", unread, room);
            unread = unread.saturating_sub(Bytes::new(read));
            network.hold(End::Client, unread);
            prop_assert!(network.now.as_secs_f64() < 3600.0, "an hour is enough");
        }
    }
}
