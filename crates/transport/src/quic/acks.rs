//! What has arrived, and when to say so (RFC 9000 §13.2).

use super::QuicConfig;
use super::packet::{Ack, Level, Packet};
use crate::ranges::RangeSet;
use farhop_units::Instant;

/// Ranges that are kept; older ones are taken to be known.
const KEPT_RANGES: usize = 32;

/// The receiver's account of packet numbers.
#[derive(Debug, Default)]
pub(super) struct Acks {
    arrived: RangeSet,
    largest_at: Instant,
    /// Packets that ask for an acknowledgement since the last one.
    waiting: u32,
    due: Option<Instant>,
}

impl Acks {
    /// A packet has arrived and was read.
    pub(super) fn note(&mut self, now: Instant, packet: &Packet, config: &QuicConfig) {
        let number = u64::from(packet.number);
        let before = self.arrived.last().map_or(0, |last| last.end);
        let new = self.arrived.insert(number, number + 1);
        self.arrived.keep_highest(KEPT_RANGES);
        if number >= before {
            self.largest_at = now;
        }
        if !packet.is_eliciting() {
            return;
        }
        self.waiting += 1;
        // §13.2.1: out of order, behind a gap, in the handshake: at once.
        let is_odd = new == 0 || number != before || packet.has(Level::Initial) || packet.has(Level::Handshake);
        let due = if is_odd || self.waiting >= config.ack_every { now } else { now + config.max_ack_delay };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// When an acknowledgement is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether something waits to be acknowledged, due or not.
    pub(super) fn is_waiting(&self) -> bool {
        self.due.is_some()
    }

    pub(super) fn ack(&self, now: Instant) -> Option<Ack> {
        Ack::new(&self.arrived, self.largest_at, now)
    }

    /// The acknowledgement went out.
    pub(super) fn sent(&mut self) {
        (self.waiting, self.due) = (0, None);
    }
}
