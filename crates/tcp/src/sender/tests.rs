//! What the sender's parts tell each other.

mod marks;
mod without_sack;

use super::*;
use crate::behavior::Timers;
use crate::recovery::News;
use crate::sent::Covered;
use crate::{Profile, SackBlock, Segment, Timestamps};

const WINDOW: Bytes = Bytes::new(64_512);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Linux, connected at 100 ms, with much to send.
fn connected(congestion: Congestion, sack: bool) -> Sender {
    open(&TcpConfig { congestion, sack, ..TcpConfig::of(Profile::Linux) })
}

fn open(config: &TcpConfig) -> Sender {
    let mut sender = Sender::new(config).expect("there is one");
    sender.buffer = None;
    sender.open();
    assert!(sender.transmit(Instant::START).is_some_and(|piece| piece.syn));
    let answer =
        Segment { syn: true, acknowledgment: Some(Sequence::FIRST_BYTE), window: WINDOW, ..Segment::default() };
    sender.handle_acknowledgment(at(100), &answer, Sequence::FIRST_BYTE);
    sender.write(sender.mss * 100);
    sender
}

/// Sends all that may leave at `now`; the numbers of the segments.
fn sent(sender: &mut Sender, now: Instant) -> Vec<u64> {
    let mss = sender.mss.get();
    core::iter::from_fn(|| sender.transmit(now))
        .map(|piece| (piece.sequence - Sequence::FIRST_BYTE).get() / mss)
        .collect()
}

/// Everything before this segment has arrived, and what `selectively` says.
fn acknowledge(sender: &mut Sender, now: Instant, segment: u64, selectively: Option<(u64, u64)>) {
    acknowledge_of(sender, (now, now), segment, selectively);
}

/// The same in answer to what was sent at another time.
fn acknowledge_of(sender: &mut Sender, (now, echo): (Instant, Instant), segment: u64, selectively: Option<(u64, u64)>) {
    let number = |segment: u64| Sequence::FIRST_BYTE + sender.mss * segment;
    let timestamps = Timestamps { value: Timestamps::at(now), echo: Timestamps::at(echo) };
    let mut answer =
        Segment { acknowledgment: Some(number(segment)), window: WINDOW, timestamps, ..Segment::default() };
    if let Some((start, end)) = selectively {
        answer.sack.push(number(segment), SackBlock { start: number(start), end: number(end) });
    }
    let acknowledgment = number(segment);
    sender.handle_acknowledgment(now, &answer, acknowledgment);
}

#[test]
fn batches_that_leave_are_packets_that_count_in_the_send_buffer() {
    let now = Instant::START + Duration::from_millis(100);
    let mut sender = Sender::new(&TcpConfig::of(Profile::Linux)).expect("CUBIC is there");
    sender.open();
    assert!(sender.transmit(Instant::START).is_some_and(|piece| piece.syn));
    let window = Bytes::new(64_512);
    let answer = Segment { syn: true, acknowledgment: Some(Sequence::FIRST_BYTE), window, ..Segment::default() };
    sender.handle_acknowledgment(now, &answer, Sequence::FIRST_BYTE);
    sender.write(Bytes::new(122_329));
    let segments = core::iter::from_fn(|| sender.transmit(now)).count();
    // As many as Linux was seen to take: ten leave in five packets, and 22 wait.
    assert_eq!((segments, sender.scoreboard.packets(), sender.filling().sent), (10, 5, 5));
    assert_eq!(sender.accepted - sender.next, sender.mss * 22);
}

#[test]
fn a_repetition_that_is_answered_as_fast_as_any_round_trip_tells_of_those_before_it() {
    // The handshake has waited: it took 100 ms, and data arrives out of order in 90.
    let mut sender = connected(Congestion::Reno, true);
    sent(&mut sender, at(100));
    acknowledge(&mut sender, at(190), 0, Some((2, 6)));
    assert_eq!(sent(&mut sender, at(190)).first(), Some(&0));
    acknowledge(&mut sender, at(191), 0, Some((2, 9)));
    assert!(sent(&mut sender, at(191)).contains(&1));
    acknowledge(&mut sender, at(286), 0, Some((1, 9)));
    assert_eq!(sent(&mut sender, at(286)).first(), Some(&0), "what was repeated before is lost again");
}

/// What leaves on each of so many duplicates of the acknowledgement of all before `segment`, so far apart that none waits for the next.
fn duplicates(sender: &mut Sender, from: u64, segment: u64, count: u64) -> Vec<Vec<u64>> {
    let one = |ms| {
        acknowledge(sender, at(ms), segment, None);
        sent(sender, at(ms))
    };
    (0..count).map(|n| from + 2 * n).map(one).collect()
}

/// Connected, ten segments sent, and the timeout; when that was.
fn timed_out() -> (Sender, Instant) {
    let mut sender = connected(Congestion::Reno, false);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    let due = sender.next_timeout().expect("a timer runs");
    sender.handle_timer(due);
    assert_eq!(sent(&mut sender, due), [0]);
    (sender, due)
}

#[test]
fn with_sack_duplicates_that_name_nothing_say_nothing() {
    let mut sender = connected(Congestion::Reno, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    assert_eq!(duplicates(&mut sender, 200, 0, 4).concat(), []);
    assert_eq!((sender.phase, sender.duplicates, sender.in_network()), (Phase::Open, 0, sender.mss * 10));
}

#[test]
fn what_arrives_twice_after_a_timeout_does_not_show_that_it_was_needed() {
    let mut sender = connected(Congestion::Reno, true);
    sent(&mut sender, at(100));
    (sender.phase, sender.recover) = (Phase::Loss, Sequence::FIRST_BYTE + sender.mss);
    let twice = SackBlock { start: Sequence::SYN, end: Sequence::FIRST_BYTE };
    let mut frto = |twice: Option<SackBlock>| {
        sender.needless.frto = true;
        sender.judge_timeout(&mut News { duplicate: true, twice, ..News::default() });
        sender.needless.frto
    };
    assert_eq!((frto(Some(twice)), frto(None)), (true, false));
}

#[test]
fn what_is_sent_again_ends_idle_time() {
    let (sender, due) = timed_out();
    assert_eq!(sender.usage.idle(due), Duration::ZERO);
}

#[test]
fn late_originals_that_are_acknowledged_one_by_one_make_nothing_lost() {
    let mut sender = connected(Congestion::Reno, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    let mut now = until_timeout(&mut sender);
    for segment in 1..10 {
        now += Duration::from_millis(200);
        acknowledge_of(&mut sender, (now, at(100)), segment, None);
        let leaves = sent(&mut sender, now);
        assert!(leaves.iter().all(|sent| *sent >= 10), "{leaves:?} after {segment}");
        assert_eq!(sender.phase, Phase::Open, "{segment}");
    }
}

/// Runs timers until one is the timeout; when that was.
fn until_timeout(sender: &mut Sender) -> Instant {
    loop {
        let now = sender.next_timeout().expect("a timer runs");
        sender.handle_timer(now);
        sent(sender, now);
        if sender.phase == Phase::Loss {
            return now;
        }
    }
}

#[test]
fn an_earlier_repair_does_not_hide_that_a_timeout_was_needless() {
    let mut sender = connected(Congestion::Reno, true);
    sent(&mut sender, at(100));
    acknowledge(&mut sender, at(200), 0, Some((1, 6)));
    assert!(sent(&mut sender, at(200)).contains(&0));
    acknowledge(&mut sender, at(300), 10, None);
    assert_eq!(sender.phase, Phase::Open);
    assert!(sent(&mut sender, at(300)).len() > 1);
    let later = until_timeout(&mut sender) + Duration::from_millis(50);
    acknowledge_of(&mut sender, (later, at(300)), 11, None);
    assert_eq!(sender.phase, Phase::Open, "the echo is older than what the timeout repeated");
}

#[test]
fn a_needless_timeout_of_the_syn_does_not_cost_the_first_window() {
    for (echo, segments) in [(0, 10), (1100, 1)] {
        let config = TcpConfig { congestion: Congestion::Reno, ..TcpConfig::of(Profile::Linux) };
        let mut sender = Sender::new(&config).expect("there is one");
        sender.open_actively();
        assert!(sender.transmit(Instant::START).is_some_and(|piece| piece.syn));
        while sender.handshake_losses < 2 {
            let due = sender.next_timeout().expect("a timer runs");
            sender.handle_timer(due);
            assert!(sender.transmit(due).is_some_and(|piece| piece.syn));
        }
        let timestamps = Timestamps { value: 1, echo: Timestamps::at(at(echo)) };
        let first = Sequence::FIRST_BYTE;
        let answer =
            Segment { syn: true, acknowledgment: Some(first), window: WINDOW, timestamps, ..Segment::default() };
        sender.handle_acknowledgment(at(2500), &answer, first);
        assert_eq!(sender.congestion.window(), sender.mss * segments, "{echo}");
    }
}

#[test]
fn a_window_that_was_halved_for_idle_time_is_not_reduced_again_at_once() {
    let mut sender = connected(Congestion::Reno, true);
    sender.written = sender.next;
    sender.congestion.set_window(sender.mss * 100);
    sender.usage.active(at(100));
    let rto = sender.rtt.rto();
    // Longer than one timeout, and shorter than two: half of it. What leaves then does not use that.
    let now = at(100) + rto * 3 / 2;
    sender.next = Sequence::FIRST_BYTE + sender.mss;
    (sender.unacknowledged, sender.written) = (sender.next, sender.next);
    sender.accepted = sender.written;
    sender.write(sender.mss);
    assert_eq!(sent(&mut sender, now), [1]);
    assert_eq!(sender.congestion.window(), sender.mss * 50);
}

/// RFC 5681 §4.1 knows of the window alone, RFC 2861 §3 of the threshold, too.
#[test]
fn idle_time_raises_the_threshold_on_linux_alone() {
    for (profile, segments) in [(Profile::Linux, 75), (Profile::Rfc, 20), (Profile::Bsd1997, 20)] {
        for congestion in [Congestion::Reno, Congestion::Cubic] {
            let mut sender = of_profile(profile, congestion);
            sender.congestion.on_loss(sender.mss * 40);
            sender.congestion.undo(sender.mss * 100, Some(sender.mss * 20));
            let threshold = sender.congestion.threshold();
            sender.next = Sequence::FIRST_BYTE + sender.mss;
            (sender.unacknowledged, sender.written, sender.accepted) = (sender.next, sender.next, sender.next);
            sender.usage.active(at(100));
            sender.write(sender.mss);
            let later = at(100) + sender.rtt.rto() * 3 / 2;
            sent(&mut sender, later);
            let expected = threshold.map(|threshold| threshold.max(sender.mss * segments));
            assert_eq!(sender.congestion.threshold(), expected, "{profile:?} {congestion:?}");
            assert!(sender.congestion.window() < sender.mss * 100);
        }
    }
}

/// The same with another profile, and with SACK.
fn of_profile(profile: Profile, congestion: Congestion) -> Sender {
    open(&TcpConfig { congestion, sack: true, ..TcpConfig::of(profile) })
}

#[test]
fn a_timeout_spares_what_was_sent_lately_where_losses_are_told_by_time() {
    for (profile, spares) in [(Profile::Linux, true), (Profile::Rfc, false)] {
        let mut sender = of_profile(profile, Congestion::Reno);
        sender.congestion.set_window(sender.mss * 4);
        assert_eq!(sent(&mut sender, at(100)).len(), 4);
        acknowledge(&mut sender, at(200), 0, Some((1, 2)));
        sender.congestion.set_window(sender.mss * 6);
        let lately = sent(&mut sender, at(1150)).len();
        assert!(lately > 0);
        sender.time_out(at(1200));
        assert_eq!(sender.scoreboard.lost(), 3 + if spares { 0 } else { lately }, "{profile:?}");
    }
}

#[test]
fn after_a_timeout_only_a_lost_repetition_begins_another_repair() {
    let mut sender = connected(Congestion::Reno, true);
    sender.congestion.set_window(sender.mss * 6);
    assert_eq!(sent(&mut sender, at(100)).len(), 6);
    sender.time_out(at(400));
    assert_eq!(sent(&mut sender, at(400)), [0]);
    // An original that the timeout had spared.
    sender.scoreboard.find_all();
    sender.needless.frto = false;
    acknowledge(&mut sender, at(500), 1, Some((3, 5)));
    assert_eq!((sender.phase, sender.scoreboard.lost()), (Phase::Loss, 3), "the repetition has overtaken the rest");
    assert_eq!(sent(&mut sender, at(500)), [1, 2, 5]);
    acknowledge(&mut sender, at(590), 1, Some((3, 6)));
    sender.congestion.set_window(sender.mss * 10);
    assert!(sent(&mut sender, at(595)).contains(&6));
    acknowledge(&mut sender, at(700), 1, Some((3, 7)));
    assert_eq!(sender.phase, Phase::Recovery, "what was sent before the seventh is lost again");
}

#[test]
fn a_reordering_timer_that_finds_nothing_begins_no_repair() {
    let mut sender = connected(Congestion::Reno, true);
    sent(&mut sender, at(100));
    sender.time_out(at(400));
    assert!(sender.scoreboard.lost() > 0);
    sender.handle_reordering_timer(at(410));
    assert_eq!(sender.phase, Phase::Loss);
}

#[test]
fn a_hole_that_a_late_original_fills_shows_by_how_much_it_was_overtaken() {
    let mut sender = connected(Congestion::Reno, true);
    sent(&mut sender, at(100));
    acknowledge(&mut sender, at(200), 0, Some((1, 5)));
    assert!(sent(&mut sender, at(200)).contains(&0));
    assert_eq!(sender.phase, Phase::Recovery);
    acknowledge_of(&mut sender, (at(210), at(100)), 5, None);
    assert_eq!((sender.phase, sender.scoreboard.displacement()), (Phase::Open, sender.mss * 5));
    let mut sender = connected(Congestion::Reno, false);
    sent(&mut sender, at(100));
    duplicates(&mut sender, 200, 0, 4);
    assert_eq!(sender.phase, Phase::Recovery);
    acknowledge_of(&mut sender, (at(210), at(100)), 5, None);
    assert_eq!(sender.reordering.degree(), 5);
    let mut sender = connected(Congestion::Reno, false);
    sent(&mut sender, at(100));
    duplicates(&mut sender, 200, 0, 4);
    sender.reordering.overtake(9);
    acknowledge_of(&mut sender, (at(210), at(100)), 5, None);
    assert_eq!(sender.reordering.degree(), 9, "it had been more before");
}

/// All that there was, so many segments, has been sent at 100 ms, and at 320 ms the last one again as a probe.
fn probed(segments: u64) -> Sender {
    let mut sender = connected(Congestion::Reno, true);
    sender.written = Sequence::FIRST_BYTE + sender.mss * segments;
    sender.accepted = sender.written;
    assert_eq!(sent(&mut sender, at(100)).len() as u64, segments);
    sender.send_probe(at(320));
    assert_eq!(sent(&mut sender, at(320)), [segments - 1]);
    sender
}

#[test]
fn a_probe_that_arrives_twice_does_not_make_a_repair_needless() {
    let mut sender = probed(6);
    acknowledge(&mut sender, at(420), 0, Some((4, 6)));
    let repeated = sent(&mut sender, at(420));
    assert!(repeated.contains(&0), "{repeated:?}");
    // Its original had only been late.
    let twice = SackBlock { start: Sequence::FIRST_BYTE + sender.mss * 5, end: sender.next };
    let number = Sequence::FIRST_BYTE;
    let mut answer = Segment { acknowledgment: Some(number), window: WINDOW, ..Segment::default() };
    answer.add_sack_block(twice);
    answer.add_sack_block(SackBlock { start: number + sender.mss * 4, end: sender.next });
    (0..repeated.len()).for_each(|_| sender.handle_acknowledgment(at(425), &answer, number));
    assert_eq!(sender.phase, Phase::Recovery);
}

#[test]
fn whether_a_probe_is_outstanding_is_looked_at_when_the_next_ones_time_has_come() {
    for is_answered in [false, true] {
        let mut sender = probed(6);
        acknowledge(&mut sender, at(330), 6, None);
        sender.write(sender.mss * 2);
        assert_eq!(sent(&mut sender, at(340)), [6, 7]);
        if is_answered {
            // The probe has arrived twice.
            acknowledge(&mut sender, at(420), 6, Some((5, 6)));
        }
        let due = sender.probe_due().expect("one is");
        sender.handle_timer(due);
        assert_eq!(sent(&mut sender, due), if is_answered { vec![7] } else { Vec::new() });
        assert!(sender.probe_due().is_none());
    }
}

#[test]
fn what_has_arrived_twice_is_heard_when_nothing_is_out() {
    let mut sender = connected(Congestion::Reno, true);
    sender.written = Sequence::FIRST_BYTE + sender.mss * 10;
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    let before = sender.congestion.window();
    acknowledge(&mut sender, at(200), 0, Some((1, 5)));
    assert_eq!(sent(&mut sender, at(200)), [0]);
    acknowledge(&mut sender, at(210), 10, None);
    assert!(sender.scoreboard.is_empty() && sender.congestion.window() < before);
    acknowledge(&mut sender, at(300), 10, Some((0, 1)));
    assert_eq!(sender.congestion.window(), before, "the repair was needless");

    let mut sender = probed(6);
    acknowledge(&mut sender, at(330), 6, None);
    assert!(sender.scoreboard.is_empty() && sender.probe.is_some());
    acknowledge(&mut sender, at(420), 6, Some((5, 6)));
    assert_eq!(sender.probe, None, "nor was the probe's segment lost");
}

#[test]
fn a_reduction_goes_where_the_threshold_is_by_then() {
    let mut sender = connected(Congestion::Cubic, true);
    sender.congestion.set_window(sender.mss * 20);
    assert_eq!(sent(&mut sender, at(100)).len(), 20);
    acknowledge(&mut sender, at(200), 0, Some((1, 4)));
    let target = |sender: &Sender| sender.reduction.as_ref().map(RateReduction::target);
    assert_eq!(target(&sender), Some(sender.mss * 14));
    sender.congestion.on_loss(sender.mss * 10);
    acknowledge(&mut sender, at(210), 0, Some((1, 6)));
    assert_eq!(target(&sender), sender.congestion.threshold());
    assert!(target(&sender) < Some(sender.mss * 14));
}

#[test]
fn while_something_lost_is_repaired_one_recovery_is_followed_by_another() {
    let mut sender = connected(Congestion::Reno, true);
    sender.congestion.set_window(sender.mss * 20);
    assert_eq!(sent(&mut sender, at(100)).len(), 20);
    acknowledge(&mut sender, at(200), 0, Some((1, 12)));
    assert_eq!(sent(&mut sender, at(200)), [0, 20]);
    acknowledge(&mut sender, at(205), 0, Some((1, 20)));
    let end = 21 + sent(&mut sender, at(205)).len() as u64;
    assert!(end > 23, "{end}");
    // What was sent at first is lost again and goes once more, with the first that the repair has let go.
    acknowledge(&mut sender, at(306), 0, Some((21, end)));
    assert!(sent(&mut sender, at(306)).starts_with(&[0, 20]));
    assert_eq!(sender.congestion.threshold(), Some(sender.mss * 10));
    acknowledge_of(&mut sender, (at(406), at(306)), 20, Some((21, end)));
    assert_eq!((sender.phase, sender.scoreboard.lost(), sender.scoreboard.holes()), (Phase::Recovery, 0, 1));
    assert_eq!(sender.congestion.threshold(), Some(sender.mss * 5), "half of half of twenty");
    acknowledge_of(&mut sender, (at(407), at(306)), end, None);
    assert_eq!(sender.scoreboard.holes(), 0);
}

#[test]
fn by_the_rfcs_the_flight_is_reduced_in_proportion_however_large_the_window() {
    for (congestion, kept) in [(Congestion::NewReno, 0.5), (Congestion::Cubic, 0.7)] {
        let mut sender = of_profile(Profile::Rfc, congestion);
        sender.congestion.set_window(sender.mss * 60);
        assert_eq!(sent(&mut sender, at(100)).len(), 44, "what the receiver's window holds");
        let flight = 44.0;
        let mss = sender.mss.as_f64();
        let segments = |bytes: Bytes| bytes.as_f64() / mss;
        acknowledge(&mut sender, at(200), 0, Some((1, 4)));
        let target = sender.reduction.as_ref().expect("a repair has begun").target();
        assert!((segments(target) / (flight * kept) - 1.0).abs() < 1e-3, "{congestion:?}: {target}");
        assert_eq!(sent(&mut sender, at(200)), [0]);
        acknowledge(&mut sender, at(201), 0, Some((1, 13)));
        // Twelve have arrived, and one was sent again.
        let expected = flight - 12.0 + 12.0 * kept - 1.0;
        let window = segments(sender.congestion.window());
        assert!((window - expected).abs() < 1e-2, "{congestion:?}: {window} and {expected}");
    }
}

#[test]
fn cubic_does_not_grow_a_window_that_is_not_used() {
    for (congestion, grows) in [(Congestion::Cubic, false), (Congestion::NewReno, true)] {
        let mut sender = of_profile(Profile::Rfc, congestion);
        sender.written = Sequence::FIRST_BYTE + sender.mss * 4;
        sender.accepted = sender.written;
        let before = sender.mss * 20;
        sender.congestion.set_window(before);
        assert_eq!(sent(&mut sender, at(100)).len(), 4);
        acknowledge(&mut sender, at(200), 4, None);
        assert_eq!(sender.congestion.window() > before, grows, "{congestion:?}");
    }
}

#[test]
fn what_was_paced_counts_as_sent_until_the_next_may_leave() {
    let mut sender = connected(Congestion::Bbr, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    sender.congestion.set_window(sender.mss * 11);
    let waiting = sender.mss * 50;
    assert!(!sender.defers(at(205), waiting), "105 ms after the last, 70 after the next might have left");
    sender.pacer.begin(at(205));
    assert!(sender.defers(at(205), waiting));
}

/// A connection over 100 ms paces ten segments with 2.885 windows a round trip, so that the last two take 6.9 ms: one jiffy.
#[test]
fn timers_run_from_when_the_pace_lets_the_next_segment_leave() {
    let timers = |congestion| {
        let mut sender = connected(congestion, true);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        (sender.held_back(at(100)), sender.probe_due().expect("one is"), sender.timer.expect("it runs"))
    };
    let [(none, probe, timeout), (held_back, later_probe, later_timeout)] =
        [Congestion::Reno, Congestion::Bbr].map(timers);
    assert!(none == Duration::ZERO && (6800..7000).contains(&held_back.as_micros()), "{held_back:?}");
    // A probe waits in slots of a jiffy here, 202 ms and a jiffy of 4; the timer was set with the first segment, which nothing is behind.
    assert_eq!((later_probe.since(probe), later_timeout), (Duration::from_millis(4), timeout));
}

#[test]
fn a_timer_that_runs_out_is_set_again_without_the_pace_and_a_probes_with_it() {
    let mut sender = connected(Congestion::Bbr, true);
    // Slots of eight jiffies would hide it.
    sender.timers = Timers::Exact;
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    let probe = sender.probe_due().expect("one is");
    sender.handle_timer(probe);
    assert_eq!(sent(&mut sender, probe).len(), 1);
    let held_back = sender.held_back(probe);
    assert!(held_back > Duration::ZERO);
    assert_eq!(sender.timer, Some(probe + sender.rtt.rto() + held_back));
    let timeout = sender.timer.expect("it runs");
    sender.handle_timer(timeout);
    assert_eq!(sent(&mut sender, timeout).len(), 1);
    assert!(sender.held_back(timeout) > Duration::ZERO);
    assert_eq!(sender.timer, Some(timeout + sender.rtt.rto()));
}

/// Seen of Linux 6.18 with strace: of 120,877 B that a server writes to a new connection with BBR, 78,192 are taken at once, and the rest when the buffer has
/// grown and all of those have been sent: from then on the application is taken to have had too little to send.
#[test]
fn a_new_connections_first_ten_segments_make_room_at_once_and_who_goes_on_was_starved() {
    let mut sender =
        Sender::new(&TcpConfig { congestion: Congestion::Bbr, ..TcpConfig::of(Profile::Linux) }).expect("there is one");
    sender.open();
    assert!(sender.transmit(Instant::START).is_some_and(|piece| piece.syn));
    let answer =
        Segment { syn: true, acknowledgment: Some(Sequence::FIRST_BYTE), window: WINDOW, ..Segment::default() };
    sender.handle_acknowledgment(at(100), &answer, Sequence::FIRST_BYTE);
    sender.write(Bytes::new(120_877));
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    assert_eq!(sender.accepted - sender.next, sender.mss * 44);
    // The windows let all of them go before the buffer is looked at again.
    let starved = |sender: &Sender| sender.scoreboard.rate.as_ref().is_some_and(|rate| rate.is_starved());
    sender.congestion.set_window(sender.mss * 80);
    sender.window_edge = sender.window_edge + sender.mss * 80;
    let now = at(100) + Duration::from_secs(1);
    (0..22).for_each(|batch| _ = sent(&mut sender, now + Duration::from_millis(10) * batch));
    assert_eq!(sender.next - Sequence::FIRST_BYTE, sender.mss * 54);
    acknowledge(&mut sender, now + Duration::from_secs(1), 2, None);
    sent(&mut sender, now + Duration::from_secs(1));
    assert!(starved(&sender) && sender.accepted == sender.written);
}

#[test]
fn what_bbr_repeats_is_paced() {
    let mut sender = connected(Congestion::Bbr, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    sender.pacer.begin(at(230));
    acknowledge(&mut sender, at(200), 0, Some((1, 5)));
    assert_eq!(sender.phase, Phase::Recovery);
    assert_eq!(sent(&mut sender, at(200)), []);
    assert_eq!(sent(&mut sender, at(230)).first(), Some(&0));
}

#[test]
fn what_bbr_repeats_leaves_as_the_packets_that_it_was() {
    let lossy = || {
        let mut sender = connected(Congestion::Bbr, true);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        sender.pacer.begin(at(230));
        sender
    };
    // Ten segments are five packets, and four of ten have arrived.
    let mut sender = lossy();
    acknowledge(&mut sender, at(200), 0, Some((6, 10)));
    assert_eq!(sent(&mut sender, at(230)), [0, 1]);
    let next = sender.next_timeout().expect("the pace");
    assert!(next > at(230) && next < at(250), "{next:?}");
    assert_eq!(sent(&mut sender, next), [2, 3]);
    // What has arrived is cut off the packet.
    let mut sender = lossy();
    acknowledge(&mut sender, at(200), 0, Some((1, 3)));
    acknowledge(&mut sender, at(200), 0, Some((5, 10)));
    assert_eq!(sent(&mut sender, at(230)), [0]);
    let next = sender.next_timeout().expect("the pace");
    assert_eq!(sent(&mut sender, next), [3]);
}

#[test]
fn what_is_new_does_not_go_on_with_what_was_repeated() {
    let repeating = || {
        let mut sender = connected(Congestion::Bbr, true);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        sender.pacer.begin(at(230));
        acknowledge(&mut sender, at(200), 0, Some((6, 10)));
        assert!(sender.transmit(at(230)).is_some_and(|piece| piece.again));
        assert!(sender.batch.is_under_way(), "the second segment of a packet");
        sender
    };
    // Meanwhile all turns out to have arrived: what is new has the pace's time.
    let mut sender = repeating();
    acknowledge(&mut sender, at(230), 10, None);
    assert_eq!(sender.transmit(at(230)).map(|piece| piece.sequence), None);
    let next = sender.next_timeout().expect("the pace");
    assert!(next > at(230) && sent(&mut sender, next).first() == Some(&10), "{next:?}");
    // Or a timer runs out: that is one segment.
    let mut sender = repeating();
    sender.repeat_now = true;
    assert!(sender.transmit(at(230)).is_some());
    assert!(!sender.batch.is_under_way());
    assert_eq!(sent(&mut sender, at(230)), []);
}

#[test]
fn what_a_timer_repeats_is_one_segment_and_cut_off_its_packet() {
    let mut sender = connected(Congestion::Bbr, true);
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    sender.pacer.begin(at(230));
    acknowledge(&mut sender, at(200), 0, Some((6, 10)));
    let packets = sender.scoreboard.packets();
    sender.repeat_now = true;
    assert_eq!(sent(&mut sender, at(200)), [0]);
    assert_eq!(sender.scoreboard.packets(), packets + 1);
}

#[test]
fn a_probe_on_the_way_counts_once_among_what_a_repair_may_have_repeated_in_vain() {
    let mut sender = probed(5);
    acknowledge(&mut sender, at(350), 0, Some((1, 4)));
    assert_eq!((sender.phase, sent(&mut sender, at(350))), (Phase::Recovery, vec![0]));
    let number = |segment: u64| Sequence::FIRST_BYTE + Bytes::new(1448) * segment;
    let timestamps = Timestamps { value: 0, echo: Timestamps::at(at(350)) };
    let mut answer = Segment { acknowledgment: Some(number(4)), window: WINDOW, timestamps, ..Segment::default() };
    answer.add_sack_block(SackBlock { start: number(0), end: number(1) });
    sender.handle_acknowledgment(at(450), &answer, number(4));
    assert_eq!(sender.phase, Phase::Recovery, "the probe may have been needed");
    let mut answer = Segment { acknowledgment: Some(number(4)), window: WINDOW, timestamps, ..Segment::default() };
    answer.add_sack_block(SackBlock { start: number(4), end: number(5) });
    answer.add_sack_block(SackBlock { start: number(4), end: number(5) });
    sender.handle_acknowledgment(at(460), &answer, number(4));
    assert_eq!(sender.phase, Phase::Open);
}

#[test]
fn by_the_rfcs_a_window_that_is_not_used_does_not_decay() {
    let mut sender = of_profile(Profile::Rfc, Congestion::Cubic);
    sender.written = Sequence::FIRST_BYTE;
    sender.accepted = sender.written;
    let before = sender.mss * 30;
    sender.congestion.set_window(before);
    for round in 1..=30 {
        sender.write(sender.mss);
        assert_eq!(sent(&mut sender, at(100 * round)), [round - 1]);
        acknowledge(&mut sender, at(100 * round + 90), round, None);
    }
    sender.note_usage(at(60_000));
    assert_eq!(sender.congestion.window(), before);
}

#[test]
fn a_hole_that_is_filled_before_it_is_repeated_was_late() {
    for sack in [true, false] {
        let mut sender = connected(Congestion::Bbr, sack);
        assert_eq!(sent(&mut sender, at(100)).len(), 10);
        sender.pacer.begin(at(230));
        match sack {
            true => acknowledge(&mut sender, at(200), 0, Some((1, 5))),
            false => assert_eq!(duplicates(&mut sender, 200, 0, 4).concat(), []),
        }
        assert_eq!(sender.phase, Phase::Recovery);
        acknowledge(&mut sender, at(220), 5, None);
        assert_eq!(sender.phase, Phase::Open, "sack: {sack}");
    }
}

#[test]
fn a_request_ends_the_idle_time_of_4_4bsd_alone() {
    for (profile, segments) in [(Profile::Bsd1997, 20), (Profile::Rfc, 1)] {
        let mut sender = open(&TcpConfig { initial_window: 1, ..TcpConfig::of(profile) });
        sender.congestion.set_window(sender.mss * 20);
        sender.next = Sequence::FIRST_BYTE + sender.mss;
        (sender.unacknowledged, sender.written, sender.accepted) = (sender.next, sender.next, sender.next);
        sender.usage.active(at(100));
        sender.heard(at(60_000));
        sender.write(sender.mss * 30);
        assert_eq!(sent(&mut sender, at(60_000)).len(), segments, "{profile:?}");
    }
}

/// tcp_push_one() does not ask tcp_tso_should_defer().
#[test]
fn what_fills_the_only_unsent_piece_does_not_wait_for_company() {
    let sent_on_a_duplicate = |fills: bool| {
        let mut sender = connected(Congestion::Reno, true);
        sent(&mut sender, at(100));
        acknowledge(&mut sender, at(250), 1, None);
        assert_eq!(sent(&mut sender, at(250)), [10, 11]);
        if fills {
            sender.accepted = sender.next;
            sender.buffer = Some(SendBuffer::new(sender.mss * 60, sender.mss, false));
        }
        acknowledge(&mut sender, at(250), 1, Some((3, 4)));
        sent(&mut sender, at(250))
    };
    assert_eq!(sent_on_a_duplicate(false), [], "it waits for the next acknowledgement");
    assert_eq!(sent_on_a_duplicate(true), [12]);
}
