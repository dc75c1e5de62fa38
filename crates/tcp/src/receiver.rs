//! The receiving half of an endpoint: what has arrived, in order or not, and what to tell the other side (RFC 9293 §3.10.7.4,
//! RFC 2018 for what arrived out of order, RFC 2883 for what arrived twice, RFC 3168 §6.1.3 for marks).
//!
//! Left out: acceptability checks against the window (senders here respect it).

use crate::acknowledger::{Acknowledger, Arrival};
use crate::behavior::Behavior;
use crate::out_of_order::OutOfOrder;
use crate::rtt::RttEstimator;
use crate::sack::MOST_SACK_BLOCKS;
use crate::window::{ReceiveWindow, UNSCALED};
use crate::{Codepoint, SackBlock, Segment, Sequence, TcpConfig, Timestamps};
use farhop_units::{Bytes, Instant, look_at};
use std::time::Duration;

/// tcp_sack_new_ofo_skb(): blocks that an acknowledgement is sure to have room for (TCP_SACK_BLOCKS_EXPECTED).
const EXPECTED: usize = 2;

/// What a segment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Received {
    /// Bytes newly in order.
    pub(crate) bytes: Bytes,
    /// The other side's FIN is newly in order.
    pub(crate) finished: bool,
}

/// Everything one direction's receiver knows.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT; `None` before the SYN.
    expected: Option<Sequence>,
    /// What was last acknowledged.
    told: Sequence,
    mss: Bytes,
    fin: Option<Sequence>,
    /// Arrived beyond `expected`.
    waiting: OutOfOrder,
    /// The timestamp to echo: TS.Recent.
    timestamp: u32,
    sack: bool,
    /// A mark has arrived that the other side has not yet answered.
    marked: bool,
    /// Something has arrived that marks are possible on.
    capable: bool,
    finished: bool,
    pub(crate) acks: Acknowledger,
    /// Arrived twice, not yet told.
    twice: Option<SackBlock>,
    window: ReceiveWindow,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let behavior = Behavior::of(config);
        Self {
            mss: config.mss,
            sack: behavior.sack,
            expected: None,
            told: Sequence::SYN,
            timestamp: 0,
            waiting: OutOfOrder::new(behavior.remembered_blocks),
            twice: None,
            marked: false,
            capable: false,
            fin: None,
            finished: false,
            acks: Acknowledger::new(behavior),
            window: ReceiveWindow::new(config),
        }
    }

    /// The SYN goes out, and is the first.
    pub(crate) fn open_actively(&mut self) {
        self.window.open_actively();
    }

    /// Asks memory for all of it.
    pub(crate) fn look_at(&self) {
        look_at(&self.expected);
        self.acks.look_at();
        self.window.look_at();
    }

    /// Whether the other side's SYN has arrived.
    pub(crate) fn is_open(&self) -> bool {
        self.expected.is_some()
    }

    /// Whether the other side's FIN has arrived in order.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// When an acknowledgement is due.
    pub(crate) fn ack_due(&self) -> Option<Instant> {
        self.acks.due()
    }

    /// The application reads what arrives now at `runs`.
    pub(crate) fn read_at(&mut self, now: Instant, runs: Instant) {
        self.window.read_at(now, runs);
    }

    /// An acknowledgement leaves before a segment is taken in which [crowds](Self::is_crowded_by) it: that counts as its answer.
    pub(crate) fn makes_room(&mut self) {
        self.acks.has_answered();
    }

    /// Whether an acknowledgement is held back that has to leave before this segment is taken in: with that there might be no room for all it has
    /// to say (tcp_sack_compress_send_ack()).
    pub(crate) fn is_crowded_by(&self, segment: &Segment) -> bool {
        let is_beyond = self.expected.is_some_and(|expected| segment.sequence > expected) && !segment.is_pure_ack();
        if !self.acks.holds_back() || !is_beyond {
            return false;
        }
        let named = self.waiting.named();
        let grown = named.iter().position(|block| segment.sequence <= block.end && block.start <= segment.end());
        grown.unwrap_or(named.len()) >= EXPECTED
    }

    /// Takes in a segment; `trip` is what the endpoint's own sender has seen of round trips.
    pub(crate) fn handle_segment(&mut self, now: Instant, segment: &Segment, trip: &RttEstimator) -> Received {
        if segment.syn && self.expected.is_none() {
            self.expected = Some(segment.sequence);
        }
        let Some(expected) = self.expected else { return Received::default() };
        self.note_timestamp(segment);
        let alarms = self.note_mark(now, segment);
        self.window.hear(segment);
        if segment.is_pure_ack() {
            if segment.sequence.next() == expected {
                // RFC 9293 §3.8.6.1: the other side asks for the window.
                self.acks.demand(now);
            }
            return Received::default();
        }
        self.note_duplicate(expected, segment);
        if segment.fin {
            self.fin = Some(segment.sequence + segment.payload + Bytes::new(u64::from(segment.syn)));
        }
        self.window.measure(self.acks.timers.timestamp(now), segment);
        let held = self.waiting.held();
        if segment.sequence > expected {
            self.waiting.add(SackBlock { start: segment.sequence, end: segment.end() });
            // Without, a window that moves would hide that the acknowledgement is a duplicate.
            if self.sack && self.window.data_waits(segment.payload, held, self.waiting_span()) {
                self.acks.window_grew();
            }
        }
        let filling = !self.waiting.is_empty();
        let received = self.accept(expected, segment);
        // RFC 5681 §4.2: out of order, a repetition, or filling a hole; marks are not delayed either.
        if segment.sequence > expected && segment.payload > Bytes::ZERO && !received.finished {
            if alarms {
                self.acks.alarm(self.window.promised(expected), self.mss);
            }
            let rtt = self.window.round_trip().unwrap_or_default();
            self.acks.out_of_order(now, expected, trip.smoothed().map_or(rtt, |smoothed| smoothed.min(rtt)));
        } else if segment.end() <= expected && segment.payload > Bytes::ZERO {
            self.acks.arrived_again(now, self.window.promised(expected), self.mss);
        } else if received.bytes == Bytes::ZERO || received.finished || filling {
            self.acks.demand(now);
        }
        if received.bytes > Bytes::ZERO {
            self.window.note_received(received.bytes);
            self.note_data(now, segment, held, (alarms, trip));
        }
        received
    }

    /// RFC 3168 §6.1.3: a mark is told until the sender says that it has reduced its window. Returns whether that makes Linux quick
    /// ([`Acknowledger::alarm`]).
    fn note_mark(&mut self, now: Instant, segment: &Segment) -> bool {
        if segment.cwr && !segment.syn {
            self.marked = false;
            self.acks.hear_of_reduction(now);
        }
        match segment.codepoint {
            Codepoint::NotCapable => self.capable,
            Codepoint::Capable => {
                self.capable = true;
                false
            }
            Codepoint::Experienced => {
                self.capable = true;
                self.acks.hear_of_mark(now);
                !core::mem::replace(&mut self.marked, true)
            }
        }
    }

    /// RFC 2883 §4: what of the segment has arrived before.
    fn note_duplicate(&mut self, expected: Sequence, segment: &Segment) {
        let range = SackBlock { start: segment.sequence, end: segment.end() };
        if range.start < expected && !segment.syn {
            self.twice = Some(SackBlock { end: range.end.min(expected), ..range });
        } else if self.waiting.contains(&range) {
            self.twice = Some(range);
        }
    }

    /// The application has not read this much of what has arrived. The other side hears of room where it matters.
    pub(crate) fn hold(&mut self, now: Instant, unread: Bytes) {
        self.window.hold(unread);
        if self.expected.is_some_and(|expected| self.window.is_update_due(expected)) {
            self.acks.demand(now);
        }
    }

    /// RFC 7323 §4.3: the timestamp of the earliest segment that the next acknowledgement answers.
    fn note_timestamp(&mut self, segment: &Segment) {
        let value = segment.timestamps.value;
        if segment.sequence <= self.told && !Timestamps::is_before(value, self.timestamp) {
            self.timestamp = value;
        }
    }

    /// Moves RCV.NXT over what is in order now.
    fn accept(&mut self, expected: Sequence, segment: &Segment) -> Received {
        let mut reached = expected;
        if segment.sequence <= expected {
            reached = reached.max(segment.end());
        }
        reached = self.waiting.take_up_to(reached);
        self.expected = Some(reached);
        let finished = self.fin.is_some_and(|fin| expected <= fin && fin < reached);
        self.finished |= finished;
        let opened = expected == Sequence::SYN && reached > expected;
        let marks = u64::from(finished) + u64::from(opened);
        Received { bytes: (reached - expected).saturating_sub(Bytes::new(marks)), finished }
    }

    /// From the next byte expected to the last that has arrived.
    fn waiting_span(&self) -> Bytes {
        self.waiting.furthest().map_or(Bytes::ZERO, |furthest| furthest - self.expected.unwrap_or_default())
    }

    /// Data has arrived in order, when so much was held beyond a hole.
    fn note_data(&mut self, now: Instant, segment: &Segment, held: Bytes, (alarms, trip): (bool, &RttEstimator)) {
        let Some(expected) = self.expected else { return };
        let (push, waiting) = (segment.push, self.waiting_span());
        let window_grew =
            self.window.data_arrived(now, (segment.payload, held), (segment.end().min(expected), expected), waiting);
        let unacknowledged = expected - self.told;
        let (mss, window) = (self.mss, self.window.promised(expected));
        let narrows = self.window.narrows(now, self.told, self.waiting.held());
        let reads = self.window.reads(now);
        let arrival = Arrival { now, unacknowledged, mss, push, window_grew, window, narrows, reads, alarms, trip };
        self.acks.data_arrived(arrival);
    }

    /// The acknowledgement fields of a segment that goes out now with `payload`.
    pub(crate) fn acknowledge(&mut self, now: Instant, segment: &mut Segment) {
        segment.acknowledgment = self.expected;
        let window = self.window.promise(now, self.expected.unwrap_or_default(), self.waiting.held());
        // What there is beyond that the next segment says.
        segment.window = if segment.syn { window.min(UNSCALED) } else { window };
        segment.ece |= self.marked;
        segment.timestamps = Timestamps { value: self.acks.timers.timestamp(now), echo: self.timestamp };
        if self.sack {
            let twice = self.twice.take();
            twice
                .iter()
                .chain(self.waiting.named())
                .take(MOST_SACK_BLOCKS)
                .for_each(|island| segment.add_sack_block(*island));
        }
        if segment.payload > Bytes::ZERO {
            self.acks.data_sent(now);
        }
        if let Some(expected) = self.expected {
            self.told = expected;
            self.acks.acknowledged();
        }
    }

    /// The timer for a delayed acknowledgement ran out.
    pub(crate) fn handle_timer(&mut self, rto: Duration) {
        self.acks.timer_expired(rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::RttSample;
    use crate::{FirstAck, Profile};

    /// None has been measured, and the timeout is a second.
    fn trip() -> RttEstimator {
        RttEstimator::new(&Behavior::of(&TcpConfig::of(Profile::Linux)).rto, false)
    }

    fn open() -> Receiver {
        open_with(&TcpConfig::of(Profile::Linux))
    }

    fn open_with(config: &TcpConfig) -> Receiver {
        let mut receiver = Receiver::new(config);
        let syn = Segment { syn: true, ..Segment::default() };
        assert_eq!(receiver.handle_segment(Instant::START, &syn, &trip()), Received::default());
        receiver
    }

    fn data(from: u64, bytes: u64) -> Segment {
        Segment { sequence: Sequence::FIRST_BYTE + Bytes::new(from), payload: Bytes::new(bytes), ..Segment::default() }
    }

    fn bytes(receiver: &mut Receiver, segment: &Segment) -> u64 {
        receiver.handle_segment(Instant::START, segment, &trip()).bytes.get()
    }

    fn ack(receiver: &mut Receiver) -> Segment {
        let mut segment = Segment::default();
        receiver.acknowledge(Instant::START, &mut segment);
        segment
    }

    #[test]
    fn what_arrives_out_of_order_waits_for_what_is_missing() {
        let mut receiver = open();
        assert_eq!(bytes(&mut receiver, &data(10, 10)), 0);
        assert_eq!(bytes(&mut receiver, &data(30, 10)), 0);
        assert_eq!(bytes(&mut receiver, &data(0, 10)), 20);
        assert_eq!(bytes(&mut receiver, &data(0, 10)), 0, "a repetition brings nothing");
        assert_eq!(bytes(&mut receiver, &data(20, 10)), 20);
    }

    #[test]
    fn selective_acknowledgements_name_the_latest_block_first() {
        let mut receiver = open();
        for from in [10, 30, 50, 70] {
            bytes(&mut receiver, &data(from, 10));
        }
        bytes(&mut receiver, &data(40, 5));
        let starts: Vec<_> = ack(&mut receiver).sack_blocks().map(|block| block.start - Sequence::FIRST_BYTE).collect();
        assert_eq!(starts, [Bytes::new(30), Bytes::new(70), Bytes::new(50)]);
    }

    #[test]
    fn what_arrives_twice_is_named_once_before_everything_else() {
        let mut receiver = open();
        let named = |receiver: &mut Receiver| -> Vec<u64> {
            ack(receiver).sack_blocks().map(|block| (block.start - Sequence::FIRST_BYTE).get()).collect()
        };
        bytes(&mut receiver, &data(0, 20));
        bytes(&mut receiver, &data(40, 10));
        bytes(&mut receiver, &data(10, 10));
        assert_eq!(named(&mut receiver), [10, 40]);
        assert_eq!(named(&mut receiver), [40]);
        bytes(&mut receiver, &data(40, 10));
        assert_eq!(named(&mut receiver), [40, 40], "twice out of order");
    }

    #[test]
    fn a_mark_is_told_until_it_is_answered() {
        let mut receiver = open();
        let marked = Segment { codepoint: Codepoint::Experienced, ..data(0, 10) };
        bytes(&mut receiver, &marked);
        assert!(ack(&mut receiver).ece && ack(&mut receiver).ece);
        bytes(&mut receiver, &Segment { cwr: true, ..data(10, 10) });
        assert!(!ack(&mut receiver).ece);
    }

    #[test]
    fn linux_is_quick_at_a_first_mark_at_a_repetition_and_at_what_tells_of_a_reduction() {
        use Codepoint::{Capable, Experienced, NotCapable};
        let arrivals = [
            (Capable, false),
            (Experienced, false),
            (Capable, false),
            (Capable, false),
            (Experienced, false),
            (Capable, true),
            (Experienced, false),
            (Capable, false),
            (NotCapable, false),
            (Capable, false),
            (Capable, false),
        ];
        // Those of them that are acknowledged at once.
        let quick = |profile| -> Vec<usize> {
            let mut receiver = open_with(&TcpConfig { first_ack: FirstAck::Delayed, ..TcpConfig::of(profile) });
            ack(&mut receiver);
            let mut is_quick = |from: usize| {
                let (codepoint, cwr) = arrivals[from];
                bytes(&mut receiver, &Segment { codepoint, cwr, ..data(from as u64 * 10, 10) });
                let due = receiver.ack_due();
                ack(&mut receiver);
                due == Some(Instant::START)
            };
            (0..arrivals.len()).filter(|from| is_quick(*from)).collect()
        };
        assert_eq!(quick(Profile::Linux), [1, 2, 5, 6, 7, 8, 9]);
        assert_eq!(quick(Profile::Rfc), [1, 4, 6], "each mark");
    }

    #[test]
    fn a_fin_counts_once_all_before_it_has_arrived() {
        let mut receiver = open();
        let fin = Segment { fin: true, ..data(10, 0) };
        assert!(!receiver.handle_segment(Instant::START, &fin, &trip()).finished);
        let received = receiver.handle_segment(Instant::START, &data(0, 10), &trip());
        assert_eq!(received, Received { bytes: Bytes::new(10), finished: true });
        assert!(receiver.is_finished());
        assert_eq!(ack(&mut receiver).acknowledgment, Some(Sequence::FIRST_BYTE + Bytes::new(11)));
    }

    #[test]
    fn what_is_out_of_order_is_acknowledged_at_once() {
        let mut receiver = open();
        ack(&mut receiver);
        assert_eq!(receiver.ack_due(), None);
        bytes(&mut receiver, &data(10, 10));
        assert_eq!(receiver.ack_due(), Some(Instant::START));
    }

    #[test]
    fn what_is_held_back_waits_for_a_share_of_the_shorter_round_trip() {
        let config = TcpConfig {
            first_ack: FirstAck::Delayed,
            max_window: Some(Bytes::new(3000)),
            ..TcpConfig::of(Profile::Linux)
        };
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        // This end's receiver has seen 10 ms, and its sender so many, if any.
        let waits = |sender_ms: Option<u64>| {
            let (mut receiver, mut trip) = (open_with(&config), trip());
            if let Some(rtt) = sender_ms.map(Duration::from_millis) {
                let (unacknowledged, next) = (Sequence::FIRST_BYTE, Sequence::FIRST_BYTE);
                trip.sample(RttSample { now: at(500), rtt, least: rtt, unacknowledged, next });
            }
            let timestamps = Timestamps { value: 0, echo: Timestamps::at(at(990)) };
            receiver.handle_segment(at(1000), &Segment { timestamps, ..data(0, config.mss.get()) }, &trip);
            for segment in 1..=4 {
                ack(&mut receiver);
                receiver.handle_segment(at(1000), &data(config.mss.get() + 10 * segment, 10), &trip);
            }
            receiver.ack_due().expect("it is said at last").since(at(1000)).as_micros()
        };
        assert_eq!(
            [None, Some(4), Some(50)].map(waits),
            [606, 306, 606],
            "a twentieth, a slack, and what a softirq is late"
        );
    }

    #[test]
    fn what_is_held_back_leaves_before_an_acknowledgement_has_no_room_for_it() {
        // A window that does not grow, so that only the first three arrivals out of order are acknowledged at once.
        let config = TcpConfig {
            first_ack: FirstAck::Delayed,
            max_window: Some(Bytes::new(3000)),
            ..TcpConfig::of(Profile::Linux)
        };
        let mut receiver = open_with(&config);
        for from in [10, 20, 30] {
            bytes(&mut receiver, &data(from, 10));
            assert_eq!(receiver.ack_due(), Some(Instant::START));
            ack(&mut receiver);
        }
        let crowding = |receiver: &Receiver, froms: &[u64]| -> Vec<u64> {
            froms.iter().copied().filter(|from| receiver.is_crowded_by(&data(*from, 10))).collect()
        };
        assert_eq!(crowding(&receiver, &[40, 60, 80]), [], "nothing is held back");
        bytes(&mut receiver, &data(60, 10));
        assert_eq!(crowding(&receiver, &[0, 40, 70, 80, 100]), [80, 100], "a third block");
        bytes(&mut receiver, &data(80, 10));
        bytes(&mut receiver, &data(100, 10));
        assert_eq!(crowding(&receiver, &[0, 90, 110, 65]), [65], "the third block");
        let bare = Segment { acknowledgment: Some(Sequence::FIRST_BYTE), ..data(120, 0) };
        assert!(!receiver.is_crowded_by(&bare), "brings none");
        ack(&mut receiver);
        assert_eq!(crowding(&receiver, &[40, 120]), [], "nothing is held back any more");
    }

    #[test]
    fn what_is_out_of_order_and_lets_the_window_grow_is_not_held_back() {
        let mss = TcpConfig::of(Profile::Linux).mss.get();
        let mut receiver = open();
        ack(&mut receiver);
        let mut offers = Vec::new();
        let at_once = (1..30).take_while(|number| {
            bytes(&mut receiver, &data(number * mss, mss));
            let is_now = receiver.ack_due() == Some(Instant::START);
            offers.push(ack(&mut receiver).window);
            is_now
        });
        let count = at_once.count();
        let grown = offers.windows(2).filter(|pair| pair[1] > pair[0]).count();
        // While windows grow each arrival is told of; then the three are that tell of a loss, and the one whose growth the windows do not show.
        assert_eq!((count, grown), (7, 3), "{offers:?}");
    }
}
