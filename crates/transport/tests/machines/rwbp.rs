//! RWBP over clean, slow and bad links.

use crate::network::{Network, Pipe, machine};
use farhop_transport::rwbp::{Kind, Packet, Proxy, RwbpConfig};
use farhop_transport::{Output, QueueRoom, Room, StreamId};
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Instant, Rate};
use proptest::prelude::*;
use std::time::Duration;

const MS: fn(u64) -> Duration = Duration::from_millis;

machine!(Proxy, Packet, read(stream: StreamId, bytes: Bytes), set_link_room(room: Room));

const UP: usize = 0;
const DOWN: usize = 1;

fn config() -> RwbpConfig {
    RwbpConfig::zhou_2004(MS(500))
}

/// The paper's satellite: 4 Mbit/s to the terminals, 400 kbit/s back, 250 ms each way.
fn satellite() -> [Pipe; 2] {
    let pipe = |rate| Pipe { rate: Some(rate), delay: MS(250), ..Pipe::default() };
    [pipe(Rate::mbps(4)), pipe(Rate::kbps(400))]
}

fn network(config: &RwbpConfig, pipes: [Pipe; 2], seed: u64) -> Network<Proxy> {
    let ends = [Proxy::new(config.clone()), Proxy::new(config.clone())];
    Network::new(ends, pipes, Dice::new(Stream::new(seed, 0)))
}

/// Opens a flow from the upstream proxy.
fn open(network: &mut Network<Proxy>, flow: u32) {
    network.at(DOWN, |proxy, now| proxy.listen(now, StreamId(flow)));
    network.at(UP, |proxy, now| proxy.connect(now, StreamId(flow)));
}

/// Keeps the send buffer of every flow full until all is written, and runs until all has arrived.
fn transfer(network: &mut Network<Proxy>, flows: u32, bytes: Bytes) -> bool {
    transfer_watched(network, flows, bytes, |_| {})
}

/// The same, and looks at the network after every step.
fn transfer_watched(network: &mut Network<Proxy>, flows: u32, bytes: Bytes, watch: impl Fn(&Network<Proxy>)) -> bool {
    let mut left = vec![bytes; flows as usize];
    loop {
        for (flow, rest) in (0..flows).map(StreamId).zip(&mut left) {
            if *rest > Bytes::ZERO {
                *rest -= network.at(UP, |proxy, now| proxy.write(now, flow, *rest));
                if *rest == Bytes::ZERO {
                    network.at(UP, |proxy, now| proxy.finish(now, flow));
                }
            }
        }
        let seen = network.seen[UP].room.len();
        let arrived = |network: &Network<Proxy>| (0..flows).all(|flow| network.stream(DOWN, flow).finished);
        let goes_on = network.run_until(|network| {
            watch(network);
            network.seen[UP].room.len() > seen || arrived(network)
        });
        if !goes_on {
            return false;
        }
        if arrived(network) {
            return true;
        }
    }
}

/// Payload rate of one flow between the first byte and the last.
fn payload_rate(network: &Network<Proxy>, flow: u32) -> f64 {
    let stream = network.stream(DOWN, flow);
    let span = stream.last.expect("it has arrived").since(stream.first.expect("it has arrived"));
    (stream.bytes - config().mss).bits_f64() / span.as_secs_f64()
}

/// What is left of the peak rate without headers.
fn peak_payload_rate() -> f64 {
    900e3 * 512.0 / 552.0
}

#[test]
fn one_flow_reaches_the_peak_rate_and_no_more() {
    let mut network = network(&config(), satellite(), 1);
    open(&mut network, 0);
    assert!(transfer(&mut network, 1, Bytes::kb(1000)));
    let share = payload_rate(&network, 0) / peak_payload_rate();
    assert!((0.99..=1.0001).contains(&share), "{share}");
}

#[test]
fn rare_acknowledgements_cost_rate_when_the_buffer_is_just_the_peak_rates() {
    let spacing = Rate::kbps(900).transmission_time(Bytes::new(552)).as_secs_f64();
    for ack_every in [4, 8, 16] {
        let config = RwbpConfig { ack_every, ..config() };
        let mut network = network(&config, satellite(), 1);
        open(&mut network, 0);
        assert!(transfer(&mut network, 1, Bytes::kb(2000)));
        // The window goes round once in the round trip, the time that N packets take, and the two transmissions.
        let window = Bytes::new(config.buffer.get() / 512 * 512).bits_f64();
        let ideal = window / (0.5 + spacing * f64::from(ack_every - 1) + 552.0 * 8.0 / 4e6 + 40.0 * 8.0 / 400e3);
        let share = payload_rate(&network, 0) / ideal.min(peak_payload_rate());
        assert!((share - 1.0).abs() < 0.02, "N = {ack_every}: {share}");
    }
}

#[test]
fn a_page_takes_as_many_acknowledgements_as_table_1_counts() {
    for (ack_every, counted) in [(2, 61), (4, 31), (8, 16), (16, 8)] {
        let mut network = network(&RwbpConfig { ack_every, ..config() }, satellite(), 1);
        open(&mut network, 0);
        assert!(transfer(&mut network, 1, Bytes::new(122 * 512)));
        network.run_until(|_| false);
        let seen = &network.seen[DOWN];
        assert_eq!((seen.packets_sent, seen.bytes_sent), (counted, Bytes::new(40 * counted)), "N = {ack_every}");
    }
}

#[test]
fn the_first_byte_takes_one_way_and_a_handshake_a_round_trip_more() {
    let first = |handshake| {
        let mut network = network(&RwbpConfig { handshake, ..config() }, satellite(), 1);
        open(&mut network, 0);
        assert!(transfer(&mut network, 1, Bytes::new(10)));
        network.stream(DOWN, 0).first.unwrap().since(Instant::START)
    };
    let data = Rate::mbps(4).transmission_time(Bytes::new(50));
    let opening = Rate::mbps(4).transmission_time(Bytes::new(40)) + Rate::kbps(400).transmission_time(Bytes::new(40));
    assert_eq!(first(false), MS(250) + data);
    assert_eq!(first(true), MS(750) + opening + data);
}

#[test]
fn flows_share_a_full_link_equally_and_its_queue_never_overflows() {
    let flows = 12;
    let [down, up] = satellite();
    let mut network = network(&config(), [Pipe { queue: Some(Bytes::kb(20)), ..down }, up], 1);
    (0..flows).for_each(|flow| open(&mut network, flow));
    assert!(transfer(&mut network, flows, Bytes::kb(200)));
    let rates: Vec<f64> = (0..flows).map(|flow| payload_rate(&network, flow)).collect();
    let (least, most) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    assert!(most / least < 1.01, "{rates:?}");
    // The link is full throughout: 12 × 200 kB with their headers at 4 Mbit/s.
    let ideal = 12.0 * 200e3 * 8.0 * (552.0 / 512.0) / 4e6 + 0.25;
    let last = (0..flows).filter_map(|flow| network.stream(DOWN, flow).last).max().unwrap().as_secs_f64();
    assert!((last / ideal - 1.0).abs() < 0.01, "{last} s, {ideal} s");
    assert_eq!(network.seen[UP].packets_sent, 12 * 391, "nothing is sent twice");
}

#[test]
fn a_reader_that_stops_stops_the_writer_and_one_that_goes_on_is_asked() {
    let second = |s| Instant::START + Duration::from_secs(s);
    let [down, up] = satellite();
    // The word that the window opens again is lost.
    let mut network = network(&config(), [down, Pipe { cut: Some((second(100), second(101))), ..up }], 1);
    open(&mut network, 0);
    network.reads[DOWN] = false;
    let first = network.at(UP, |proxy, now| proxy.write(now, StreamId(0), Bytes::kb(1000)));
    assert_eq!(first, config().buffer, "what the send buffer holds");
    network.run_to(second(50));
    // The receive buffer is full; the send buffer takes as much again and keeps it.
    let then = network.at(UP, |proxy, now| proxy.write(now, StreamId(0), Bytes::kb(1000)));
    network.run_to(second(100));
    let segments = Bytes::new(config().buffer.get() / 512 * 512);
    assert_eq!((network.stream(DOWN, 0).bytes, network.ends[DOWN].unread(StreamId(0))), (segments, segments));
    assert_eq!((then, network.ends[UP].room(StreamId(0))), (segments, Bytes::ZERO));
    network.reads[DOWN] = true;
    network.at(DOWN, |proxy, now| proxy.read(now, StreamId(0), segments));
    assert!(network.run_until(|network| network.stream(DOWN, 0).bytes == first + then));
    assert!(network.now < second(165), "{}", network.now);
}

#[test]
fn a_slow_reader_is_served_at_its_own_pace_whatever_is_lost() {
    let [down, up] = satellite();
    let mut network = network(&config(), [Pipe { lost: 50, ..down }, Pipe { lost: 50, ..up }], 7);
    open(&mut network, 0);
    network.reads[DOWN] = false;
    // 20 kB/s of the peak rate's 104 kB/s.
    let (mut left, mut read) = (Bytes::kb(1000), Bytes::ZERO);
    while read < Bytes::kb(1000) {
        left -= network.at(UP, |proxy, now| proxy.write(now, StreamId(0), left));
        network.run_to(network.now + MS(100));
        let unread = network.ends[DOWN].unread(StreamId(0));
        assert!(unread <= config().buffer, "{unread}");
        let portion = (network.stream(DOWN, 0).bytes - read).min(Bytes::kb(2));
        network.at(DOWN, |proxy, now| proxy.read(now, StreamId(0), portion));
        read += portion;
    }
    let seconds = network.now.as_secs_f64();
    assert!((50.0..54.0).contains(&seconds), "{seconds} s");
}

#[test]
fn what_is_read_at_once_does_not_close_the_window() {
    let (now, flow) = (Instant::START, StreamId(0));
    let config = RwbpConfig { ack_every: 1, ..config() };
    let [mut sender, mut receiver] = [Proxy::new(config.clone()), Proxy::new(config.clone())];
    sender.connect(now, flow);
    receiver.listen(now, flow);
    sender.write(now, flow, Bytes::new(512));
    while let Some(output) = sender.poll() {
        if let Output::Transmit { packet, .. } = output {
            receiver.handle_packet(now, &packet);
        }
    }
    let mut windows = Vec::new();
    while let Some(output) = receiver.poll() {
        match output {
            Output::Received { bytes, .. } => receiver.read(now, flow, bytes),
            Output::Transmit { packet: Packet { kind: Kind::Acknowledgment { window, .. }, .. }, .. } => {
                windows.push(u64::from(window));
            }
            _ => {}
        }
    }
    assert_eq!(windows, [config.buffer.get() / 512]);
}

#[test]
fn nothing_leaves_in_the_name_of_a_flow_that_is_forgotten() {
    let (now, flow) = (Instant::START, StreamId(0));
    let config = RwbpConfig { ack_every: 1, ..config() };
    let [mut sender, mut receiver] = [Proxy::new(config.clone()), Proxy::new(config)];
    sender.connect(now, flow);
    receiver.listen(now, flow);
    sender.write(now, flow, Bytes::new(512));
    receiver.set_link_room(now, Room::from(QueueRoom::Packets(0)));
    while let Some(output) = sender.poll() {
        if let Output::Transmit { packet, .. } = output {
            receiver.handle_packet(now, &packet);
        }
    }
    assert!(std::iter::from_fn(|| receiver.poll()).all(|output| !matches!(output, Output::Transmit { .. })));
    assert!(receiver.output_queue() > Bytes::ZERO, "an acknowledgement waits");
    receiver.forget(now, flow);
    assert_eq!((receiver.output_queue(), receiver.awaited_link_room()), (Bytes::ZERO, None));
    // Another flow has its name now.
    receiver.connect(now, flow);
    receiver.set_link_room(now, Room::default());
    let sent = std::iter::from_fn(|| receiver.poll()).filter(|output| matches!(output, Output::Transmit { .. }));
    assert_eq!(sent.count(), 0);
}

#[test]
fn a_loss_is_mended_one_round_trip_after_the_next_packet_and_nothing_else_is_repeated() {
    let [down, up] = satellite();
    let lossy = Pipe { lost_packets: vec![10, 11, 30], ..down };
    let mut network = network(&config(), [lossy, up], 1);
    open(&mut network, 0);
    assert!(transfer(&mut network, 1, Bytes::new(512 * 60)));
    assert_eq!(network.seen[UP].packets_sent, 63);
    // Packet 30 is missed when 31 arrives; its repetition waits for its turn at most.
    let spacing = Rate::kbps(900).transmission_time(Bytes::new(552)).as_secs_f64();
    let transmissions = 2.0 * 552.0 * 8.0 / 4e6 + 56.0 * 8.0 / 400e3;
    let ideal = 31.0 * spacing + 0.75 + transmissions;
    let last = network.stream(DOWN, 0).last.unwrap().as_secs_f64();
    assert!((ideal..=ideal + spacing).contains(&last), "{last} s, {ideal} s");
}

#[test]
fn a_loss_costs_a_round_trip_of_window_unless_the_buffers_have_room_for_it() {
    let span = |round_trips: u64, lost_packets| {
        let buffer = Bytes::new(config().buffer.get() * round_trips);
        let [down, up] = satellite();
        let config = RwbpConfig { buffer, ..config() };
        let mut network = network(&config, [Pipe { lost_packets, ..down }, up], 1);
        open(&mut network, 0);
        assert!(transfer(&mut network, 1, Bytes::new(512 * 600)));
        network.stream(DOWN, 0).last.expect("it has arrived").as_secs_f64()
    };
    let cost = |round_trips| span(round_trips, vec![200]) - span(round_trips, vec![]);
    assert!((0.4..0.55).contains(&cost(1)), "{} s", cost(1));
    assert!(cost(2) < 0.03, "{} s", cost(2));
}

#[test]
fn a_lost_repetition_is_repeated_without_a_timer() {
    let [down, up] = satellite();
    // The repetition of packet 5 is among the packets a round trip behind it, about number 5 + 102 + 2.
    let lossy = Pipe { lost_packets: vec![5, 107, 108, 109, 110, 111], ..down };
    let mut network = network(&config(), [lossy, up], 1);
    open(&mut network, 0);
    assert!(transfer(&mut network, 1, Bytes::new(512 * 400)));
    // The window closes over what is missing: each of the two repetitions costs a round trip at most.
    let clean = 399.0 * Rate::kbps(900).transmission_time(Bytes::new(552)).as_secs_f64() + 0.25;
    let last = network.stream(DOWN, 0).last.unwrap().as_secs_f64();
    assert!((clean + 0.5..clean + 1.2).contains(&last), "{last} s, {clean} s without loss");
}

#[test]
fn a_lost_end_is_mended_by_the_timer() {
    let [down, up] = satellite();
    let mut network = network(&config(), [Pipe { lost_packets: vec![9], ..down }, up], 1);
    open(&mut network, 0);
    assert!(transfer(&mut network, 1, Bytes::new(512 * 10)));
    let last = network.stream(DOWN, 0).last.unwrap().as_secs_f64();
    assert!((1.25..3.6).contains(&last), "{last} s");
}

/// A link whose answers take so long.
fn far_away(answers: Duration) -> [Pipe; 2] {
    let [down, up] = satellite();
    [down, Pipe { delay: answers, ..up }]
}

#[test]
fn a_late_answer_is_measured_whatever_was_sent_again_meanwhile() {
    let mut network = network(&config(), far_away(Duration::from_secs(10)), 1);
    open(&mut network, 0);
    let mut sent = Vec::new();
    for _ in 0..3 {
        network.at(UP, |proxy, now| proxy.write(now, StreamId(0), Bytes::new(400)));
        network.run_until(|_| false);
        sent.push(network.seen[UP].packets_sent);
    }
    // Nothing is known of the link: it is asked for after 3 s and 6 more. A packet that comes alone is answered late, which is known.
    assert_eq!(sent, [3, 4, 5]);
}

#[test]
fn a_new_flow_knows_how_long_others_have_waited() {
    let mut network = network(&config(), far_away(Duration::from_secs(10)), 1);
    let mut sent = Vec::new();
    for flow in 0..3 {
        open(&mut network, flow);
        network.at(UP, |proxy, now| proxy.write(now, StreamId(flow), Bytes::new(400)));
        network.run_until(|_| false);
        sent.push(network.seen[UP].packets_sent);
    }
    assert_eq!(sent, [3, 4, 5]);
}

#[test]
fn waits_grow_until_a_packet_is_answered_whatever_else_is_heard() {
    let second = |s| Instant::START + Duration::from_secs(s);
    let [down, up] = satellite();
    let mut network = network(&config(), [Pipe { cut: Some((second(3), second(90))), ..down }, up], 1);
    open(&mut network, 0);
    network.reads[DOWN] = false;
    network.at(UP, |proxy, now| proxy.write(now, StreamId(0), Bytes::kb(50)));
    network.run_to(second(3));
    network.at(UP, |proxy, now| proxy.write(now, StreamId(0), Bytes::new(400)));
    let before = network.seen[UP].packets_sent;
    // Each of these opens the window, which is told of; of what was sent nothing new is.
    for at in [10, 30, 60] {
        network.run_to(second(at));
        network.at(DOWN, |proxy, now| proxy.read(now, StreamId(0), Bytes::kb(15)));
    }
    network.run_to(second(90));
    // A second and some, twice that and so on, each time anew from when the window opens.
    let repeated = network.seen[UP].packets_sent - before - 1;
    assert!((3..=6).contains(&repeated), "{repeated} times");
    assert!(network.run_until(|network| network.stream(DOWN, 0).bytes == Bytes::new(50_400)));
}

#[test]
fn an_acknowledgement_that_waits_says_what_came_meanwhile() {
    // Of 100 packets every second would be acknowledged, but only some of them fit into what the way back takes.
    let [down, up] = satellite();
    let mut network =
        network(&config(), [down, Pipe { rate: Some(Rate::kbps(4)), queue: Some(Bytes::new(200)), ..up }], 1);
    open(&mut network, 0);
    assert!(transfer(&mut network, 1, Bytes::new(512 * 100)));
    assert!(network.ends[DOWN].output_queue() <= Bytes::new(80), "one waits for the link");
    network.run_until(|network| network.ends[UP].unacknowledged(StreamId(0)) == Bytes::ZERO);
    let arrived = network.stream(DOWN, 0).last.expect("it has arrived");
    // Those in the link's queue, one in service, and the one that says it all: 80 ms each.
    assert!(network.now.since(arrived) < MS(250 + 80 * 8), "{} after {arrived}", network.now);
    assert_eq!(network.seen[UP].packets_sent, 100, "nothing is sent twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whatever_the_link_does_every_byte_arrives_once_in_order_and_no_queue_overflows(
        seed: u64, lost in 0_u64..300, doubled in 0_u64..300, spread in 0_u64..400,
        flows in 1_u32..5, bytes in 1_u64..60_000, handshake: bool, ack_every in 1_u32..17,
        buffer in 1000_u64..60_000, link_queue in 700_u64..20_000, output_queue in 0_u64..20_000,
    ) {
        let bad = |rate, queue| {
            let (queue, delay, spread) = (Some(Bytes::new(queue)), MS(250), MS(spread));
            Pipe { rate: Some(rate), queue, delay, spread, lost, doubled, ..Pipe::default() }
        };
        let (buffer, output_queue) = (Bytes::new(buffer), Bytes::new(output_queue));
        let config = RwbpConfig { handshake, ack_every, buffer, output_queue, ..config() };
        let mut network = network(&config, [bad(Rate::mbps(1), link_queue), bad(Rate::kbps(400), 800)], seed);
        (0..flows).for_each(|flow| open(&mut network, flow));
        for flow in (0..flows).map(StreamId) {
            // The other direction as well, as much as its buffer takes at once.
            network.at(DOWN, |proxy, now| proxy.write(now, flow, Bytes::new(700)));
            network.at(DOWN, |proxy, now| proxy.finish(now, flow));
        }
        let limit = output_queue.max(Bytes::new(632));
        let watch = |network: &Network<Proxy>| {
            assert!(network.ends.iter().all(|end| end.output_queue() <= limit));
            assert!((0..flows).all(|flow| network.ends[DOWN].unread(StreamId(flow)) <= buffer));
        };
        prop_assert!(transfer_watched(&mut network, flows, Bytes::new(bytes), watch));
        let closed = |end: usize, flow: u32, network: &Network<Proxy>| network.stream(end, flow).closed;
        let watched = network.run_until(|network| {
            watch(network);
            (0..flows).all(|flow| closed(UP, flow, network) && closed(DOWN, flow, network))
        });
        prop_assert!(watched, "every flow closes at both ends");
        for flow in 0..flows {
            prop_assert_eq!(network.stream(DOWN, flow).bytes, Bytes::new(bytes));
            prop_assert_eq!(network.stream(UP, flow).bytes, Bytes::new(700));
        }
        prop_assert!(!network.run_until(|_| false), "nothing is left to happen");
        prop_assert!(network.now < Instant::START + Duration::from_secs(100_000));
    }
}
