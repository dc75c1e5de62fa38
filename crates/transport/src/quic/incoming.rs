//! One direction of a stream at its receiver: what is in order (RFC 9000 §3.2).

use crate::ranges::RangeSet;

/// Bytes in order, arriving in pieces.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Everything before this place has arrived.
    expected: u64,
    beyond: RangeSet,
    end: Option<u64>,
    finished: bool,
}

impl Incoming {
    pub(super) const fn new() -> Self {
        Self { expected: 0, beyond: RangeSet::new(), end: None, finished: false }
    }

    /// Nothing will ever arrive, and this end knows.
    pub(super) fn skip(&mut self) {
        (self.end, self.finished) = (Some(self.expected), true);
    }

    /// A frame has arrived; returns how many bytes are newly in order, and whether the end is.
    pub(super) fn receive(&mut self, offset: u64, length: u64, fin: bool) -> (u64, bool) {
        let end = offset + length;
        if fin {
            self.end = Some(end);
        }
        self.beyond.insert(offset.max(self.expected), end);
        let before = self.expected;
        if let Some(first) = self.beyond.first().filter(|first| first.start <= self.expected) {
            self.expected = first.end;
            self.beyond.remove_below(first.end);
        }
        let finished = !self.finished && self.end == Some(self.expected);
        self.finished |= finished;
        (self.expected - before, finished)
    }

    /// Everything before this place has arrived.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Whether everything up to the end has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether it is known where the end is.
    pub(super) fn knows_end(&self) -> bool {
        self.end.is_some()
    }
}
