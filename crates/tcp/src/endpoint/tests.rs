//! Ends that send each other segments, and what hosts take for that.

use super::*;
use crate::{FirstAck, Profile, Sequence};
use core::mem::offset_of;
use farhop_units::Rate;

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn outputs(endpoint: &mut Endpoint) -> Vec<Output> {
    std::iter::from_fn(|| endpoint.poll()).collect()
}

/// When segments left, where programs write on as soon as there is room.
fn transmit_times(endpoint: &mut Endpoint) -> Vec<Instant> {
    let mut times = Vec::new();
    while let Some(output) = endpoint.poll() {
        match output {
            Output::Transmit { at, .. } => times.push(at),
            Output::Room { at } => {
                endpoint.write_on_at(at);
                endpoint.handle_timeout(at);
            }
            _ => {}
        }
    }
    times
}

#[test]
fn what_all_segments_need_begins_lines_of_the_cache() {
    // Its owner keeps what kind of transport it is in the 8 bytes before.
    let of_sender = |offset: usize| offset_of!(Endpoint, sender) + offset;
    let begins = [
        offset_of!(Endpoint, receiver),
        of_sender(offset_of!(Sender, unacknowledged)),
        of_sender(offset_of!(Sender, scoreboard)),
        of_sender(offset_of!(Sender, rtt)),
    ];
    assert_eq!(begins.map(|begin| (8 + begin) % 64), [0; 4]);
}

/// Of all that an end has sent since it was asked last, the segments.
fn segments(endpoint: &mut Endpoint) -> Vec<Segment> {
    let transmitted = |output| match output {
        Output::Transmit { segment, .. } => Some(segment),
        _ => None,
    };
    outputs(endpoint).into_iter().filter_map(transmitted).collect()
}

#[test]
fn the_sender_of_an_end_that_only_receives_rests() {
    let config = TcpConfig::of(Profile::Rfc);
    let mut client = Endpoint::connect(at(0), &config).expect("NewReno is there");
    let mut server = Endpoint::listen(&config).expect("NewReno is there");
    let mut rests = Vec::new();
    for round in 0..7_u64 {
        // Acknowledgements are delayed by less than a round.
        let now = at(round * 300);
        client.handle_timeout(now);
        server.handle_timeout(now);
        for segment in segments(&mut client) {
            server.handle_segment(now, &segment);
        }
        if round == 2 {
            server.write(now, Bytes::new(4000));
        }
        for segment in segments(&mut server) {
            client.handle_segment(now, &segment);
        }
        if round == 4 {
            client.write(now, Bytes::new(100));
        }
        rests.push((client.rests, server.rests));
    }
    // The SYN-ACK is answered in the round after it, as is data; the request leaves in the fifth, and is acknowledged in the sixth.
    let [both, client_alone, server_alone] = [(true, true), (true, false), (false, true)];
    let expected = [client_alone, both, client_alone, both, server_alone, server_alone, both];
    assert_eq!(rests, expected);
    let edge = client.sender.window_edge;
    let update = Segment {
        sequence: server.sender.next,
        acknowledgment: Some(client.sender.next),
        window: client.sender.largest_window + Bytes::new(1),
        ..Segment::default()
    };
    client.handle_segment(at(2100), &update);
    assert!(client.rests && client.sender.window_edge > edge, "the window may open meanwhile");
}

#[test]
fn a_bare_acknowledgement_ends_the_idle_time_that_pacing_gives_back() {
    let config = TcpConfig::of(Profile::Linux);
    let mut server = Endpoint::listen(&config).expect("CUBIC is there");
    let first = Sequence::FIRST_BYTE;
    server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
    let request =
        Segment { sequence: first, acknowledgment: Some(first), payload: config.mss, push: true, ..Segment::default() };
    server.handle_segment(at(500), &request);
    let mut transmitted = outputs(&mut server);
    while let Some(due) = server.next_timeout() {
        server.handle_timeout(due);
        transmitted.extend(outputs(&mut server));
    }
    let acknowledged = transmitted.into_iter().find_map(|output| match output {
        Output::Transmit { at, segment, .. } if segment.is_pure_ack() => Some(at),
        _ => None,
    });
    let acknowledged = acknowledged.expect("the request is acknowledged");
    // A segment that takes a millisecond leaves 0.1 ms later, which is all the time that it may be given.
    let mut pacer = server.sender.pacer.clone();
    let leaves = acknowledged + Duration::from_micros(100);
    pacer.begin(leaves);
    pacer.send(Bytes::new(1250), 9, Rate::mbps(10));
    assert_eq!(pacer.wait(leaves), Some(leaves + Duration::from_micros(900)));
}

#[test]
fn timers_that_are_served_late_act_at_the_time_they_were_due() {
    let config = TcpConfig::of(Profile::Rfc);
    let mut client = Endpoint::connect(at(0), &config).expect("NewReno is there");
    client.handle_timeout(at(10_000));
    assert_eq!(transmit_times(&mut client), [at(0), at(1000), at(3000), at(7000)], "the timer doubles");
}

#[test]
fn memory_for_outputs_is_lent_and_given_back() {
    let mut client = Endpoint::connect(at(0), &TcpConfig::of(Profile::Rfc)).expect("NewReno is there");
    let mut memory = Vec::new();
    client.give_back(&mut memory);
    assert!(memory.is_empty(), "a SYN is still to be told");
    assert_eq!(outputs(&mut client).len(), 1);
    client.give_back(&mut memory);
    client.give_back(&mut memory);
    assert_eq!(memory.len(), 1, "who has none gives none");
    memory.push(VecDeque::with_capacity(1));
    client.lend(&mut memory);
    client.lend(&mut memory);
    assert_eq!(memory.len(), 1, "who has some keeps that");
    client.handle_timeout(at(1000));
    assert_eq!(outputs(&mut client).len(), 1, "the SYN again, told through what was lent");
}

#[test]
fn a_delayed_acknowledgement_is_not_later_for_the_next_segments_arrival() {
    let config = TcpConfig::of(Profile::Rfc);
    let mut server = Endpoint::listen(&config).expect("NewReno is there");
    server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
    let ack =
        Segment { sequence: Sequence::FIRST_BYTE, acknowledgment: Some(Sequence::FIRST_BYTE), ..Segment::default() };
    let data = Segment { payload: config.mss, window: Bytes::kb(64), ..ack };
    server.handle_segment(at(500), &data);
    let later = Segment { sequence: data.end(), ..data };
    server.handle_segment(at(1000), &later);
    assert_eq!(transmit_times(&mut server), [at(0), at(700)], "the SYN-ACK, then the timer's ACK at its own time");
}

#[test]
fn linux_probes_a_tail_of_several_segments_after_two_round_trips_and_two_milliseconds() {
    let config = TcpConfig::of(Profile::Linux);
    let mut server = Endpoint::listen(&config).expect("CUBIC is there");
    let syn = Segment { syn: true, window: Bytes::kb(64), ..Segment::default() };
    server.handle_segment(at(0), &syn);
    let numbers = (Sequence::FIRST_BYTE, Some(Sequence::FIRST_BYTE));
    let ack = Segment { syn: false, sequence: numbers.0, acknowledgment: numbers.1, ..syn };
    server.handle_segment(at(40), &ack);
    server.write(at(40), config.mss * 2);
    // 82 ms are 21 jiffies, of which the first began at 40 ms: the wheel runs out at the next one.
    assert_eq!(server.next_timeout(), Some(at(128)));
}

#[test]
fn after_a_timeout_new_data_shows_whether_it_was_needless() {
    let config = TcpConfig::of(Profile::Linux);
    let mut server = Endpoint::listen(&config).expect("CUBIC is there");
    let segment = |ms: u64, acknowledged: u64, syn| Segment {
        syn,
        sequence: if syn { Sequence::SYN } else { Sequence::FIRST_BYTE },
        acknowledgment: (!syn).then(|| Sequence::FIRST_BYTE + config.mss * acknowledged),
        window: Bytes::kb(64),
        timestamps: crate::Timestamps { value: 0, echo: crate::Timestamps::at(at(ms)) },
        ..Segment::default()
    };
    server.handle_segment(at(0), &segment(0, 0, true));
    server.handle_segment(at(100), &segment(0, 0, false));
    server.write(at(100), config.mss * 30);
    let mut sent = Vec::new();
    let mut collect = |server: &mut Endpoint| {
        let first = sent.len();
        let transmitted = outputs(server).into_iter().filter_map(|output| match output {
            Output::Transmit { segment, .. } => Some((segment.sequence - Sequence::FIRST_BYTE).get() / 1448),
            _ => None,
        });
        sent.extend(transmitted);
        sent[first..].to_vec()
    };
    assert_eq!(collect(&mut server)[1..], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let mut now = at(100);
    while !collect(&mut server).contains(&0) {
        now = server.next_timeout().expect("a timer runs");
        server.handle_timeout(now);
    }
    let (soon, later) = (now + Duration::from_millis(100), now + Duration::from_millis(101));
    // The repetition is acknowledged, and nothing else: RFC 5682 §3.1 step 2b.
    server.handle_segment(soon, &segment(5000, 1, false));
    assert_eq!(collect(&mut server), [], "a host takes a little time");
    server.handle_timeout(soon + Duration::from_micros(100));
    assert_eq!(collect(&mut server), [11, 12], "the probe was segment 10");
    // A duplicate shows that the loss was real (step 3a).
    let mut duplicate = segment(5000, 1, false);
    let start = Sequence::FIRST_BYTE + config.mss * 11;
    duplicate.add_sack_block(crate::SackBlock { start, end: start + config.mss });
    server.handle_segment(later, &duplicate);
    server.handle_timeout(later + Duration::from_micros(100));
    assert_eq!(collect(&mut server)[0], 1);
}

/// The server's end, on a host of this seed's, begins at 100 ms to send 30 segments.
fn sending(profile: Profile, seed: u64, knows_its_kernel: bool) -> (Endpoint, TcpConfig) {
    sending_so_many(30, profile, seed, knows_its_kernel)
}

fn sending_so_many(segments: u64, profile: Profile, seed: u64, knows_its_kernel: bool) -> (Endpoint, TcpConfig) {
    let config = TcpConfig::of(profile);
    let mut server = Endpoint::listen(&config).expect("a controller there is");
    server.set_host(Duration::ZERO, Stream::new(seed, 0));
    if knows_its_kernel {
        server.answer_when_heard();
    }
    server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
    server.handle_segment(at(99), &acknowledging(Bytes::ZERO));
    outputs(&mut server);
    server.run_at(at(100));
    server.write(at(100), config.mss * segments);
    (server, config)
}

/// That so much has arrived.
fn acknowledging(bytes: Bytes) -> Segment {
    Segment {
        sequence: Sequence::FIRST_BYTE,
        acknowledgment: Some(Sequence::FIRST_BYTE + bytes),
        window: Bytes::kb(64),
        ..Segment::default()
    }
}

type Spans = std::collections::BTreeSet<Duration>;

#[test]
fn a_linux_host_behind_boxes_takes_a_little_to_answer_with_data() {
    let reactions = |profile, knows_its_kernel: bool| {
        let answered = |seed: u64| {
            let (mut server, config) = sending(profile, seed, knows_its_kernel);
            server.handle_timeout(at(200));
            outputs(&mut server);
            server.handle_segment(at(200), &acknowledging(config.mss * 2));
            server.handle_timeout(at(201));
            transmit_times(&mut server)[0].since(at(200))
        };
        assert_eq!(answered(7), answered(7));
        (0..20).map(answered).collect::<Spans>()
    };
    let at_once = Spans::from([Duration::ZERO]);
    assert_eq!(reactions(Profile::Rfc, false), at_once);
    let measured = reactions(Profile::Linux, true);
    assert!(measured.len() == 1 && measured.iter().all(|time| time.as_micros() < 10), "only to send: {measured:?}");
    let linux = reactions(Profile::Linux, false);
    assert!(linux.len() > 15 && linux.iter().all(|time| (0..100).contains(&time.as_micros())), "{linux:?}");
}

#[test]
fn a_kernel_takes_a_microsecond_for_each_segment_that_it_is_let_send_and_more_for_each_piece() {
    let spans = [1, 2, 3, 4].map(|segments: u64| {
        let (mut server, config) = sending_so_many(10 + segments, Profile::Linux, 1, true);
        server.handle_timeout(at(200));
        outputs(&mut server);
        server.handle_segment(at(200), &acknowledging(config.mss * 10));
        server.handle_timeout(at(201));
        let sent = transmit_times(&mut server);
        assert_eq!(sent.len() as u64, segments);
        sent[0].since(at(200)).as_nanos()
    });
    assert_eq!(spans, [1700, 2800, 5500, 6600]);
}

#[test]
fn what_arrives_does_not_wake_a_program() {
    let config = TcpConfig::of(Profile::Linux);
    let (mut server, _) = sending(Profile::Linux, 1, true);
    for (ms, segments) in [(150, 10), (200, 30)] {
        server.handle_timeout(at(ms));
        server.handle_segment(at(ms), &acknowledging(config.mss * segments));
    }
    outputs(&mut server);
    let runs = at(300) + Duration::from_micros(100);
    server.run_at(runs);
    server.write(at(300), config.mss);
    server.handle_segment(at(300) + Duration::from_micros(50), &acknowledging(config.mss * 30));
    assert_eq!((transmit_times(&mut server), server.next_timeout()), (vec![], Some(runs)));
    server.handle_timeout(runs);
    assert_eq!(transmit_times(&mut server), [runs]);
}

#[test]
fn after_a_pause_a_burst_comes_in_pieces_of_which_the_first_is_one_segment() {
    let gap = |seed: u64| {
        let (mut server, config) = sending_so_many(60, Profile::Linux, seed, true);
        server.take_everything();
        let first = transmit_times(&mut server);
        let goes_on = server.burst_goes_on().expect("there is more");
        assert_eq!((first, server.next_timeout()), (vec![at(100)], Some(goes_on)));
        server.handle_timeout(goes_on);
        assert_eq!((transmit_times(&mut server), server.burst_goes_on()), (vec![goes_on; 9], None));
        // No more may leave, and what is let go soon after is sent at once.
        let soon = Duration::from_micros(400);
        server.handle_segment(at(100) + soon, &acknowledging(config.mss * 4));
        server.handle_timeout(at(101));
        let sent = transmit_times(&mut server);
        assert!(sent.len() > 2 && sent.iter().all(|time| *time == sent[0]), "{sent:?}");
        // Another pause, and twice the window.
        server.handle_segment(at(200), &acknowledging(config.mss * (10 + sent.len() as u64)));
        let answers = server.next_timeout().expect("there is more");
        server.handle_timeout(answers);
        let together = server.burst_goes_on().expect("the first is alone");
        assert_eq!(transmit_times(&mut server), [answers]);
        server.handle_timeout(together);
        let last = server.burst_goes_on().expect("sixteen leave together");
        assert_eq!(transmit_times(&mut server), [together; 16]);
        assert!((19..56).contains(&last.since(together).as_micros()), "{last:?}");
        server.handle_timeout(last);
        assert!((1..16).contains(&transmit_times(&mut server).len()) && server.burst_goes_on().is_none());
        goes_on.since(at(100))
    };
    let gaps: Spans = (0..20).map(gap).collect();
    assert!(gaps.len() > 15 && gaps.iter().all(|gap| (400..1400).contains(&gap.as_nanos())), "{gaps:?}");
    let (mut server, _) = sending(Profile::Rfc, 1, true);
    assert_eq!((transmit_times(&mut server).len(), server.burst_goes_on()), (10, None));
}

#[test]
fn who_has_waited_for_room_writes_on_when_its_program_runs() {
    // Of 60 segments the first call takes 32. Twenty of them leave when the first ten have arrived, and then there is room.
    let written_on = |profile, knows_its_kernel: bool| {
        let (mut server, config) = sending_so_many(60, profile, 1, knows_its_kernel);
        server.handle_timeout(at(101));
        server.handle_segment(at(200), &acknowledging(config.mss * 10));
        server.handle_timeout(at(201));
        (server, config)
    };
    let rooms = |server: &mut Endpoint| {
        outputs(server).into_iter().filter(|output| matches!(output, Output::Room { .. })).count()
    };
    let (mut server, config) = written_on(Profile::Linux, true);
    assert_eq!((rooms(&mut server), server.unsent()), (1, config.mss * 30));
    server.handle_segment(at(202), &acknowledging(config.mss * 14));
    server.handle_timeout(at(203));
    assert_eq!(
        (rooms(&mut server), server.unsent()),
        (0, config.mss * 28),
        "it is told once, and nothing else lets it write"
    );
    server.write_on_at(at(204));
    assert_eq!(server.next_timeout(), Some(at(204)));
    server.handle_timeout(at(210));
    let sent = transmit_times(&mut server);
    assert!(sent.len() >= 6 && sent[0] == at(204), "{sent:?}");
    // It does not send what was written later any sooner.
    let (mut server, config) = written_on(Profile::Linux, true);
    outputs(&mut server);
    server.write_on_at(at(204));
    server.run_at(at(206));
    server.write(at(203), config.mss);
    server.handle_segment(at(203), &acknowledging(config.mss * 14));
    server.handle_timeout(at(205));
    assert_eq!((transmit_times(&mut server), server.next_timeout()), (vec![], Some(at(206))));
    server.handle_timeout(at(206));
    assert_eq!(transmit_times(&mut server)[0], at(206));
    // Programs of which nobody knows when they run write on at once.
    let (mut server, config) = written_on(Profile::Linux, false);
    assert_eq!(rooms(&mut server), 0);
    server.handle_segment(at(202), &acknowledging(config.mss * 14));
    server.handle_timeout(at(203));
    assert!(server.unsent() < config.mss * 28, "{:?}", server.unsent());
}

#[test]
fn what_arrives_while_a_program_sends_is_heard_when_its_call_is_over() {
    let (mut server, config) = sending(Profile::Linux, 1, true);
    let last = server.burst_goes_on().expect("there is more");
    outputs(&mut server);
    let on_the_way = server.unacknowledged();
    server.handle_segment(at(100) + Duration::from_nanos(200), &acknowledging(config.mss));
    assert_eq!((server.unacknowledged(), transmit_times(&mut server)), (on_the_way, vec![]));
    server.handle_timeout(last);
    assert_eq!(transmit_times(&mut server), [last; 9]);
    assert_eq!(server.unacknowledged(), on_the_way + config.mss * 9 - config.mss);
    // What an acknowledgement lets go is no call, though it is a burst.
    server.handle_segment(last + Duration::from_micros(5), &acknowledging(config.mss * 10));
    let answers = server.next_timeout().expect("there is more to send");
    server.handle_timeout(answers);
    assert!(server.burst_goes_on().is_some_and(|goes_on| goes_on > answers + Duration::from_micros(1)));
    server.handle_segment(answers + Duration::from_micros(1), &acknowledging(config.mss * 11));
    assert_eq!(server.sender_state().unacknowledged, Sequence::FIRST_BYTE + config.mss * 11);
}

#[test]
fn a_segment_that_nothing_follows_is_no_burst() {
    let (mut server, config) = sending(Profile::Linux, 1, true);
    for (ms, segments) in [(200, 10), (250, 30)] {
        server.handle_timeout(at(ms));
        server.handle_segment(at(ms), &acknowledging(config.mss * segments));
    }
    outputs(&mut server);
    server.run_at(at(300));
    server.write(at(300), config.mss);
    assert_eq!((transmit_times(&mut server), server.burst_goes_on()), (vec![at(300)], None));
}

#[test]
fn programs_of_a_linux_host_take_a_little_to_connect_and_each_seeds_programs_another_time() {
    let spans = |profile| {
        let connected = |seed: u64| {
            let mut client = Endpoint::listen(&TcpConfig::of(profile)).expect("a controller there is");
            client.set_host(Duration::ZERO, Stream::new(seed, 0));
            client.open(at(0));
            client.handle_timeout(at(1));
            transmit_times(&mut client)[0].since(at(0))
        };
        (0..20).map(connected).collect::<Spans>()
    };
    assert_eq!(spans(Profile::Rfc).into_iter().collect::<Vec<_>>(), [Duration::ZERO]);
    let linux = spans(Profile::Linux);
    assert!(linux.len() > 15 && linux.iter().all(|time| *time < Duration::from_micros(400)), "{linux:?}");
}

/// A server whose host's times are drawn, with a connection, and what it is asked for next.
fn before_a_request(config: &TcpConfig) -> (Endpoint, Segment) {
    let mut server = Endpoint::listen(config).expect("CUBIC is there");
    server.set_host(Duration::ZERO, Stream::new(1, 0));
    server.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
    outputs(&mut server);
    let (sequence, acknowledgment) = (Sequence::FIRST_BYTE, Some(Sequence::FIRST_BYTE));
    let (payload, window) = (Bytes::new(200), Bytes::kb(64));
    (server, Segment { sequence, acknowledgment, payload, window, push: true, ..Segment::default() })
}

#[test]
fn what_a_program_writes_leaves_when_it_runs_and_what_is_acknowledged_at_once_does_not_wait_for_it() {
    let config = TcpConfig::of(Profile::Linux);
    let (mut server, request) = before_a_request(&config);
    server.handle_segment(at(100), &request);
    server.run_at(at(103));
    server.write(at(100), config.mss);
    assert_eq!(transmit_times(&mut server), [at(100)], "the acknowledgement");
    server.handle_segment(at(102), &Segment { sequence: request.end(), ..request });
    let again = segments(&mut server);
    assert_eq!(again.iter().map(|segment| segment.payload).collect::<Vec<_>>(), [Bytes::ZERO], "of another one");
    server.handle_timeout(at(103));
    assert_eq!(transmit_times(&mut server), [at(103)]);
}

#[test]
fn what_is_pushed_is_acknowledged_when_it_is_read_and_what_is_written_later_leaves_later() {
    let config = TcpConfig { first_ack: FirstAck::Delayed, ..TcpConfig::of(Profile::Linux) };
    let (mut server, request) = before_a_request(&config);
    server.read_at(at(100), at(101));
    server.handle_segment(at(100), &request);
    server.run_at(at(103));
    server.write(at(100), config.mss);
    assert_eq!((transmit_times(&mut server), server.next_timeout()), (vec![], Some(at(101))));
    server.handle_timeout(at(102));
    let payloads: Vec<_> = segments(&mut server).iter().map(|segment| segment.payload).collect();
    assert_eq!((payloads, server.next_timeout()), (vec![Bytes::ZERO], Some(at(103))));
    server.handle_timeout(at(103));
    assert_eq!(transmit_times(&mut server), [at(103)]);
}

#[test]
fn when_a_timer_runs_out_depends_on_how_long_a_linux_host_has_been_up() {
    let config = TcpConfig::of(Profile::Linux);
    let repeated = |uptime: u64| {
        let mut client = Endpoint::listen(&config).expect("CUBIC is there");
        client.set_host(Duration::from_millis(uptime), Stream::new(0, 0));
        client.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
        client.handle_timeout(at(1500));
        transmit_times(&mut client)[1]
    };
    // 1000 ms are 250 jiffies, in slots of eight: 256 jiffies after the start, of which 10 ms are two and a half.
    assert_eq!([repeated(0), repeated(10)], [at(1024), at(1014)]);
}

#[test]
fn nothing_counts_before_a_syn() {
    let mut server = Endpoint::listen(&TcpConfig::of(Profile::Linux)).expect("CUBIC is there");
    let stray = Segment { sequence: Sequence::FIRST_BYTE, payload: Bytes::new(10), ..Segment::default() };
    server.handle_segment(at(0), &stray);
    assert_eq!((outputs(&mut server), server.next_timeout()), (vec![], None));
}

#[test]
fn segments_that_carry_nothing_or_4_gib_are_an_error() {
    let most = Bytes::new(u64::from(u32::MAX));
    let listen = |mss| Endpoint::listen(&TcpConfig { mss, ..TcpConfig::of(Profile::Linux) });
    let error = listen(Bytes::ZERO).expect_err("nothing could be sent");
    assert_eq!(error.to_string(), "a maximum segment size of 0 B; it is 1 B to 4294967295 B");
    assert_eq!([most, most + Bytes::new(1)].map(|mss| listen(mss).is_ok()), [true, false]);
}

/// ns-3's SYNs are no longer than its data's headers.
#[test]
fn both_syns_of_linux_have_more_options_than_what_follows() {
    for (profile, syn) in [(Profile::Linux, 60), (Profile::Rfc, 52), (Profile::Bsd1997, 52)] {
        let config = TcpConfig::of(profile);
        let mut client = Endpoint::connect(at(0), &config).expect("its congestion control is there");
        let mut server = Endpoint::listen(&config).expect("it is there");
        let mut sizes = Vec::new();
        for ms in 0..2 {
            for segment in segments(&mut client) {
                sizes.push(segment.wire_bytes().get());
                server.handle_segment(at(ms), &segment);
            }
            for segment in segments(&mut server) {
                sizes.push(segment.wire_bytes().get());
                client.handle_segment(at(ms), &segment);
            }
        }
        assert_eq!(sizes, [syn, syn, 52], "{profile:?}");
        assert_eq!(config.syn_bytes(), Bytes::new(syn));
    }
}

#[test]
fn what_is_held_back_leaves_by_itself_before_a_third_block() {
    let config =
        TcpConfig { first_ack: FirstAck::Delayed, max_window: Some(Bytes::kb(3)), ..TcpConfig::of(Profile::Linux) };
    let mut receiver = Endpoint::listen(&config).expect("CUBIC is there");
    receiver.handle_segment(at(0), &Segment { syn: true, ..Segment::default() });
    let first = Sequence::FIRST_BYTE;
    let data = |from: u64| Segment {
        sequence: first + Bytes::new(from),
        acknowledgment: Some(first),
        payload: Bytes::new(10),
        ..Segment::default()
    };
    receiver.handle_segment(at(100), &Segment { payload: Bytes::ZERO, ..data(0) });
    segments(&mut receiver);
    // Three are acknowledged at once, and the fourth is held back; what it says is not all that there would be to say after the sixth.
    let mut counts = Vec::new();
    // Beyond it is what answers the arrival of the sixth: that and the seventh wait for the eighth.
    for from in [10, 20, 30, 40, 60, 80, 100, 120] {
        receiver.handle_segment(at(200), &data(from));
        counts.push(segments(&mut receiver).iter().map(|ack| ack.sack_blocks().count()).collect::<Vec<_>>());
    }
    assert_eq!(counts, [vec![1], vec![1], vec![1], vec![], vec![], vec![2], vec![], vec![3]]);
}

/// RFC 9293 leaves open what is said to a SYN that comes again; all systems answer as to the first one.
#[test]
fn who_asks_again_to_connect_is_answered_again() {
    for profile in [Profile::Linux, Profile::Rfc, Profile::Bsd1997] {
        let config = TcpConfig::of(profile);
        let mut client = Endpoint::connect(at(0), &config).expect("NewReno is there");
        let mut server = Endpoint::listen(&config).expect("NewReno is there");
        let syn = segments(&mut client).remove(0);
        server.handle_segment(at(100), &syn);
        assert!(segments(&mut server)[0].syn, "the answer that is lost");
        server.handle_segment(at(600), &syn);
        let again = segments(&mut server);
        assert!(again.iter().all(|segment| segment.syn && segment.acknowledgment.is_some()), "{profile:?}: {again:?}");
        assert_eq!(again.len(), 1, "{profile:?}");
        assert!(server.next_timeout().is_some_and(|due| due > at(1200)), "its timer runs anew");
        client.handle_segment(at(700), &again[0]);
        assert!(!segments(&mut client).is_empty(), "{profile:?}: it acknowledges, and is connected");
    }
}

/// Both ends' timers run in phase where a round trip is longer than the first timeout.
#[test]
fn an_answer_that_its_timer_has_just_repeated_is_not_repeated_again() {
    for (profile, timeout) in [(Profile::Rfc, 1000), (Profile::Bsd1997, 3000)] {
        let config = TcpConfig::of(profile);
        let mut client = Endpoint::connect(at(0), &config).expect("NewReno is there");
        let mut server = Endpoint::listen(&config).expect("NewReno is there");
        let syn = segments(&mut client).remove(0);
        for ms in [2000, 2000 + timeout] {
            server.handle_segment(at(ms), &syn);
            assert_eq!(transmit_times(&mut server), [at(ms)], "{profile:?}");
        }
    }
}

/// RFC 3168 §6.1.1.1: somebody on the way may drop SYNs that ask.
#[test]
fn a_syn_that_linux_repeats_does_not_ask_for_marks() {
    for (profile, asks) in [(Profile::Linux, false), (Profile::Rfc, true), (Profile::Bsd1997, true)] {
        let config = TcpConfig { ecn: true, ..TcpConfig::of(profile) };
        let mut client = Endpoint::connect(at(0), &config).expect("its congestion control is there");
        let mut server = Endpoint::listen(&config).expect("it is there");
        let due = client.next_timeout().expect("a timer runs");
        client.handle_timeout(due);
        let syns = segments(&mut client);
        assert_eq!(syns.iter().map(|syn| syn.ece && syn.cwr).collect::<Vec<_>>(), [true, asks], "{profile:?}");
        server.handle_segment(due, &syns[1]);
        assert_eq!(segments(&mut server)[0].ece, asks, "{profile:?}");
    }
}

/// RFC 7323 §2.2.
#[test]
fn the_window_of_a_syn_is_not_scaled() {
    for profile in [Profile::Linux, Profile::Rfc, Profile::Bsd1997] {
        let config = TcpConfig { max_window: Some(Bytes::kb(1000)), ..TcpConfig::of(profile) };
        let mut client = Endpoint::connect(at(0), &config).expect("its congestion control is there");
        let mut server = Endpoint::listen(&config).expect("it is there");
        let syn = segments(&mut client).remove(0);
        server.handle_segment(at(0), &syn);
        let answer = segments(&mut server).remove(0);
        client.handle_segment(at(0), &answer);
        let next = segments(&mut client).remove(0);
        assert!(syn.window.max(answer.window) <= Bytes::new(65_535), "{profile:?}");
        if profile != Profile::Linux {
            assert_eq!(next.window, Bytes::kb(1000), "{profile:?}");
        }
    }
}
