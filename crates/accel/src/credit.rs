//! How much of a flow may be under way: the receiver grants, the sender stays below.
//!
//! Each flow has credit of its own, in offsets of the flow's bytes, whatever carries the frames; the receiver's memory for a flow is
//! bounded by its window. Same scheme as QUIC's MAX_STREAM_DATA (RFC 9000 §4.1), one layer up, because a flow takes several streams one
//! after the other (see [`crate::wire::SEGMENT_BYTES`]), which therefore cannot hold a sender back.

use farhop_units::Bytes;
use thiserror::Error;

/// What every flow may send in each direction before anything is granted. Design point: larger than nearly every part of a page (Web
/// Almanac 2025: p90 of images is 130 kB), so that a push never waits a round trip for its grant.
pub const INITIAL: Bytes = Bytes::kib(1024);

/// The window of one more flow when `active` are there already: an equal share of `memory`, within `INITIAL` and `largest`. The first
/// flows get the most, because they may be all there will be; many get little each, because together they fill the link.
pub fn window(memory: Bytes, active: u64, largest: Bytes) -> Bytes {
    Bytes::new(memory.get() / active.saturating_add(1)).min(largest).max(INITIAL)
}

/// What the sender of a flow may still send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendCredit {
    sent: u64,
    limit: u64,
}

impl SendCredit {
    /// Nothing sent, `initial` granted.
    pub fn new(initial: Bytes) -> Self {
        Self { sent: 0, limit: initial.get() }
    }

    /// The receiver granted bytes up to the offset `limit`; older grants that arrive late change nothing.
    pub fn grant(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// How many bytes may be sent now.
    pub fn available(&self) -> Bytes {
        Bytes::new(self.limit - self.sent)
    }

    /// Takes credit for `count` bytes, at most what is available, and returns their offset.
    pub fn take(&mut self, count: Bytes) -> u64 {
        let offset = self.sent;
        self.sent = offset.saturating_add(count.get()).min(self.limit);
        offset
    }

    /// How many bytes have been sent.
    pub fn sent(&self) -> Bytes {
        Bytes::new(self.sent)
    }
}

/// What the receiver of a flow has granted and used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveCredit {
    window: u64,
    received: u64,
    consumed: u64,
    granted: u64,
}

/// A peer that does not keep to the protocol of a flow's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CreditError {
    /// More bytes than were granted.
    #[error("flow reached offset {end}; at most {granted} was granted")]
    Exceeded {
        /// Offset after the last byte.
        end: u64,
        /// Offset up to which bytes were granted.
        granted: u64,
    },
    /// Bytes that do not follow those before.
    #[error("flow goes on at offset {offset}; expected {expected}")]
    OutOfPlace {
        /// Offset of the first byte.
        offset: u64,
        /// Offset that would have followed.
        expected: u64,
    },
}

impl ReceiveCredit {
    /// `initial` granted without a word; from now on up to `window` beyond what is consumed.
    pub fn new(initial: Bytes, window: Bytes) -> Self {
        Self { window: window.get(), received: 0, consumed: 0, granted: initial.get() }
    }

    /// `count` bytes arrived at `offset`.
    ///
    /// # Errors
    /// They do not follow those before, or exceed what was granted.
    pub fn receive(&mut self, offset: u64, count: Bytes) -> Result<(), CreditError> {
        if offset != self.received {
            return Err(CreditError::OutOfPlace { offset, expected: self.received });
        }
        let end = offset.saturating_add(count.get());
        if end > self.granted {
            return Err(CreditError::Exceeded { end, granted: self.granted });
        }
        self.received = end;
        Ok(())
    }

    /// `count` bytes were passed on; returns a new limit if it is time to tell the sender one.
    pub fn consume(&mut self, count: Bytes) -> Option<u64> {
        self.consumed = self.consumed.saturating_add(count.get()).min(self.received);
        let limit = self.consumed.saturating_add(self.window);
        // A grant per quarter window keeps the frames few and the sender far from the end.
        let is_due = limit.saturating_sub(self.granted) >= (self.window / 4).max(1);
        is_due.then(|| {
            self.granted = limit;
            limit
        })
    }

    /// Bytes received and not consumed.
    pub fn held(&self) -> Bytes {
        Bytes::new(self.received - self.consumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn more_than_granted_is_refused() {
        let mut credit = ReceiveCredit::new(Bytes::new(5), Bytes::new(5));
        assert_eq!(credit.receive(0, Bytes::new(5)), Ok(()));
        assert_eq!(credit.receive(5, Bytes::new(1)), Err(CreditError::Exceeded { end: 6, granted: 5 }));
        assert_eq!(credit.receive(4, Bytes::new(1)), Err(CreditError::OutOfPlace { offset: 4, expected: 5 }));
        assert!(credit.receive(5, Bytes::new(u64::MAX)).is_err());
    }

    #[test]
    fn many_flows_share_the_memory() {
        let (memory, largest) = (INITIAL * 64, INITIAL * 16);
        assert_eq!(window(memory, 0, largest), largest);
        assert_eq!(window(memory, 7, largest), INITIAL * 8);
        assert_eq!(window(memory, u64::MAX, largest), INITIAL);
        // A thousand readers that never read hold what was granted to each; the harmonic sum keeps that near the memory.
        let held: Bytes = (0..60).map(|active| window(memory, active, largest)).sum();
        assert!(held < memory * 5, "{held}");
    }

    #[test]
    fn a_late_grant_changes_nothing() {
        let mut credit = SendCredit::new(Bytes::new(10));
        credit.grant(5);
        assert_eq!(credit.available(), Bytes::new(10));
    }

    proptest! {
        #[test]
        fn a_flow_goes_on_for_ever_within_its_window(
            window in 1_u64..100, initial in 1_u64..100, steps in prop::collection::vec(1_u64..50, 1..200),
        ) {
            let mut sender = SendCredit::new(Bytes::new(initial));
            let mut receiver = ReceiveCredit::new(Bytes::new(initial), Bytes::new(window));
            for step in steps {
                let count = sender.available().min(Bytes::new(step));
                prop_assert!(count > Bytes::ZERO, "a receiver that has consumed everything never blocks the sender");
                let offset = sender.take(count);
                receiver.receive(offset, count).unwrap();
                prop_assert!(receiver.held() <= Bytes::new(window.max(initial)));
                if let Some(limit) = receiver.consume(count) {
                    sender.grant(limit);
                }
            }
        }
    }
}
