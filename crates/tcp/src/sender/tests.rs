//! What the sender's parts tell each other.

use super::*;
use crate::{Profile, Segment};

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
