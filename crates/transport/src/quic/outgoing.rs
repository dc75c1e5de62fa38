//! One direction of a stream at its sender: what is to be sent, what is on the way, what has arrived (RFC 9000 §3.1).

use crate::ranges::RangeSet;

/// Whether the end was written and has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fin {
    Open,
    Due,
    Sent,
    Arrived,
}

/// Bytes that may go into a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Sent before.
    pub(super) again: bool,
}

/// Bytes in order, sent in pieces.
#[derive(Debug)]
pub(super) struct Outgoing {
    written: u64,
    next: u64,
    lost: RangeSet,
    /// What has arrived beyond `arrived_to`.
    arrived: RangeSet,
    arrived_to: u64,
    fin: Fin,
}

impl Outgoing {
    pub(super) const fn new() -> Self {
        Self { written: 0, next: 0, lost: RangeSet::new(), arrived: RangeSet::new(), arrived_to: 0, fin: Fin::Open }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(super) fn close(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::Due;
        }
    }

    /// Nothing will ever be sent, and the other end knows.
    pub(super) fn skip(&mut self) {
        self.fin = Fin::Arrived;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.fin != Fin::Open
    }

    /// Unsent or unacknowledged bytes.
    pub(super) fn held(&self) -> u64 {
        self.written - self.arrived_to
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The first place never sent.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether everything, the end included, has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.fin == Fin::Arrived && self.arrived_to == self.written
    }

    /// What is to be sent next: what is lost, then what is new below `limit`, then an end alone.
    pub(super) fn chunk(&self, limit: u64) -> Option<Chunk> {
        if let Some(lost) = self.lost.first() {
            return Some(Chunk { offset: lost.start, length: lost.end - lost.start, again: true });
        }
        let length = self.written.min(limit).saturating_sub(self.next);
        let end_alone = self.fin == Fin::Due && self.next == self.written;
        (length > 0 || end_alone).then_some(Chunk { offset: self.next, length, again: false })
    }

    /// `length` bytes at the chunk's place are sent; returns whether the end goes with them.
    pub(super) fn send(&mut self, chunk: Chunk, length: u64) -> bool {
        let end = chunk.offset + length;
        if chunk.again {
            self.lost.remove(chunk.offset, end);
        } else {
            self.next = end;
        }
        let fin = matches!(self.fin, Fin::Due | Fin::Sent) && end == self.written;
        if fin {
            self.fin = Fin::Sent;
        }
        fin
    }

    /// A frame has arrived.
    pub(super) fn arrived(&mut self, offset: u64, length: u64, fin: bool) {
        let end = offset + length;
        self.lost.remove(offset, end);
        self.arrived.insert(offset.max(self.arrived_to), end);
        if let Some(first) = self.arrived.first().filter(|first| first.start <= self.arrived_to) {
            self.arrived_to = first.end;
            self.arrived.remove_below(first.end);
        }
        if fin {
            self.fin = Fin::Arrived;
        }
    }

    /// Everything that has not arrived is to be sent again.
    pub(super) fn lose_all(&mut self) {
        self.lose(self.arrived_to, self.next - self.arrived_to, false);
    }

    /// A frame is to be sent again, as far as it has not arrived otherwise.
    pub(super) fn lose(&mut self, offset: u64, length: u64, fin: bool) {
        let end = offset + length;
        self.lost.insert(offset.max(self.arrived_to), end);
        for span in self.arrived.iter().filter(|span| span.start < end && span.end > offset) {
            self.lost.remove(span.start, span.end);
        }
        if fin && self.fin == Fin::Sent {
            self.fin = Fin::Due;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_not_arrived_is_sent_again() {
        let mut outgoing = Outgoing::new();
        outgoing.write(100);
        outgoing.close();
        let chunk = outgoing.chunk(u64::MAX).expect("100 bytes wait");
        assert!(outgoing.send(chunk, 100), "the end goes along");
        assert_eq!(outgoing.chunk(u64::MAX), None);
        outgoing.arrived(20, 30, false);
        outgoing.lose(0, 100, true);
        let again = outgoing.chunk(u64::MAX).expect("the first 20 bytes");
        assert_eq!(again, Chunk { offset: 0, length: 20, again: true });
        assert!(!outgoing.send(again, 20));
        let rest = outgoing.chunk(u64::MAX).expect("the last 50 bytes");
        assert_eq!((rest.offset, rest.length), (50, 50));
        assert!(outgoing.send(rest, 50), "the end again");
        outgoing.arrived(0, 20, false);
        outgoing.arrived(50, 50, true);
        assert!(outgoing.is_finished());
    }

    #[test]
    fn an_end_alone_is_sent_behind_everything_else() {
        let mut outgoing = Outgoing::new();
        outgoing.write(10);
        let chunk = outgoing.chunk(u64::MAX).expect("10 bytes wait");
        assert!(!outgoing.send(chunk, 10));
        outgoing.close();
        let end = outgoing.chunk(0).expect("an end takes no credit");
        assert_eq!((end.offset, end.length), (10, 0));
        assert!(outgoing.send(end, 0));
        outgoing.lose(10, 0, true);
        assert_eq!(outgoing.chunk(0), Some(end));
    }
}
