//! What the sender's parts tell each other.

use super::*;
use crate::{Profile, SackBlock, Segment};

const WINDOW: Bytes = Bytes::new(64_512);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Connected at 100 ms, with much to send.
fn connected(congestion: Congestion) -> Sender {
    let mut sender = Sender::new(&TcpConfig { congestion, ..TcpConfig::of(Profile::Linux) }).expect("there is one");
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
    let number = |segment: u64| Sequence::FIRST_BYTE + sender.mss * segment;
    let timestamps = Timestamps { value: Timestamps::at(now), echo: Timestamps::at(now) };
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
    let mut sender = connected(Congestion::Reno);
    sent(&mut sender, at(100));
    acknowledge(&mut sender, at(190), 0, Some((2, 6)));
    assert_eq!(sent(&mut sender, at(190)).first(), Some(&0));
    acknowledge(&mut sender, at(191), 0, Some((2, 9)));
    assert!(sent(&mut sender, at(191)).contains(&1));
    acknowledge(&mut sender, at(286), 0, Some((1, 9)));
    assert_eq!(sent(&mut sender, at(286)).first(), Some(&0), "what was repeated before is lost again");
}
