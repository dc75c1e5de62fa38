//! Many exchanges over k persistent connections between two proxies (nz-us-2000: the trace-driven simulation of satellite and
//! terrestrial links between New Zealand and the USA).
//!
//! From the paper: when the first packet of a reply arrives, the connection is chosen "with the smallest number of bytes awaiting
//! transmission or transmitted but not acknowledged"; all of the reply goes over it; replies share a connection packet by packet as
//! they arrive; multiplexing costs 20 bytes for each segment of a reply received from the server. Boundaries are lost in TCP, so a
//! segment's bytes may be repackaged.
//!
//! A [`Lane`] is what one direction of one connection carries, as the frames that its bytes would show: the sending proxy pushes
//! what it writes into the connection, the receiving one takes out what so many bytes of the connection's stream hold. The
//! connections themselves are TCP's. Ours: the first of several equal connections is chosen, and a frame's header arrives before
//! any of its payload.

use crate::StreamId;
use farhop_units::Bytes;
use std::collections::VecDeque;

/// What multiplexing adds to each reply segment on average (nz-us-2000).
pub const REPLY_OVERHEAD: Bytes = Bytes::new(20);

/// The connection with the fewest bytes waiting or unacknowledged, the first of several; `None` of no connections.
pub fn pick(outstanding: &[Bytes]) -> Option<usize> {
    (0..outstanding.len()).min_by_key(|index| outstanding[*index])
}

/// What of one exchange came out of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The exchange.
    pub exchange: StreamId,
    /// How many of its bytes.
    pub bytes: Bytes,
    /// They are its last.
    pub finished: bool,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    exchange: StreamId,
    /// Bytes of the header, then of the payload, that have not arrived.
    header: Bytes,
    payload: Bytes,
    finished: bool,
}

/// One direction of a connection that exchanges share.
#[derive(Debug, Clone)]
pub struct Lane {
    overhead: Bytes,
    frames: VecDeque<Frame>,
    /// Arrived in the connection and not taken out.
    arrived: Bytes,
    held: Bytes,
}

impl Lane {
    /// A lane whose frames have headers of `overhead`: [`REPLY_OVERHEAD`] towards the clients, none for requests.
    pub fn new(overhead: Bytes) -> Self {
        Self { overhead, frames: VecDeque::new(), arrived: Bytes::ZERO, held: Bytes::ZERO }
    }

    /// Appends one segment of `exchange`, its last if `finished`; returns how many bytes are to be written into the connection.
    pub fn push(&mut self, exchange: StreamId, bytes: Bytes, finished: bool) -> Bytes {
        self.frames.push_back(Frame { exchange, header: self.overhead, payload: bytes, finished });
        self.held += self.overhead + bytes;
        self.overhead + bytes
    }

    /// Says that `exchange` is over, in a frame of its own that holds nothing else; returns how many bytes are to be written.
    pub fn push_end(&mut self, exchange: StreamId) -> Bytes {
        self.frames.push_back(Frame { exchange, header: REPLY_OVERHEAD, payload: Bytes::ZERO, finished: true });
        self.held += REPLY_OVERHEAD;
        REPLY_OVERHEAD
    }

    /// So many more bytes of the connection have arrived in order; [`Lane::next_piece`] takes out what they hold.
    pub fn receive(&mut self, bytes: Bytes) {
        self.arrived += bytes;
    }

    /// The next piece that has arrived.
    pub fn next_piece(&mut self) -> Option<Piece> {
        loop {
            let frame = self.frames.front_mut()?;
            let header = frame.header.min(self.arrived);
            let bytes = frame.payload.min(self.arrived - header);
            frame.header -= header;
            frame.payload -= bytes;
            let is_complete = frame.header + frame.payload == Bytes::ZERO;
            let piece = Piece { exchange: frame.exchange, bytes, finished: frame.finished && is_complete };
            self.arrived -= header + bytes;
            self.held -= header + bytes;
            if is_complete {
                self.frames.pop_front();
            }
            if piece.bytes > Bytes::ZERO || piece.finished {
                return Some(piece);
            }
            if !is_complete {
                return None;
            }
        }
    }

    /// Bytes pushed and not taken out.
    pub fn held(&self) -> Bytes {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_burdened_connection_is_picked_and_the_first_of_equals() {
        let sizes = |sizes: &[u64]| sizes.iter().copied().map(Bytes::new).collect::<Vec<_>>();
        assert_eq!(pick(&sizes(&[3, 1, 2, 1])), Some(1));
        assert_eq!(pick(&sizes(&[0, 0])), Some(0));
        assert_eq!(pick(&[]), None);
    }

    #[test]
    fn a_header_arrives_before_the_payload_it_announces() {
        let mut lane = Lane::new(REPLY_OVERHEAD);
        assert_eq!(lane.push(StreamId(7), Bytes::new(100), true), Bytes::new(120));
        lane.receive(Bytes::new(20));
        assert_eq!(lane.next_piece(), None);
        lane.receive(Bytes::new(60));
        let piece = |bytes, finished| Some(Piece { exchange: StreamId(7), bytes: Bytes::new(bytes), finished });
        assert_eq!((lane.next_piece(), lane.next_piece()), (piece(60, false), None));
        lane.receive(Bytes::new(40));
        assert_eq!((lane.next_piece(), lane.held()), (piece(40, true), Bytes::ZERO));
    }

    #[test]
    fn an_end_arrives_by_itself() {
        let mut lane = Lane::new(Bytes::ZERO);
        assert_eq!(
            (lane.push(StreamId(1), Bytes::new(5), false), lane.push_end(StreamId(1))),
            (Bytes::new(5), REPLY_OVERHEAD)
        );
        let piece = |bytes, finished| Some(Piece { exchange: StreamId(1), bytes: Bytes::new(bytes), finished });
        lane.receive(Bytes::new(24));
        assert_eq!((lane.next_piece(), lane.next_piece()), (piece(5, false), None));
        lane.receive(Bytes::new(1));
        assert_eq!((lane.next_piece(), lane.next_piece(), lane.held()), (piece(0, true), None, Bytes::ZERO));
    }

    proptest! {
        #[test]
        fn every_exchange_gets_its_own_bytes_however_the_connection_cuts_them(
            segments in prop::collection::vec((0_u32..4, 0_u64..300), 1..40), cut in 1_u64..500, overhead in 0_u64..30,
        ) {
            let mut lane = Lane::new(Bytes::new(overhead));
            let mut left = Bytes::ZERO;
            for (exchange, bytes) in &segments {
                left += lane.push(StreamId(*exchange), Bytes::new(*bytes), false);
            }
            for exchange in 0..4 {
                left += lane.push(StreamId(exchange), Bytes::ZERO, true);
            }
            let (mut received, mut finished) = ([0; 4], [false; 4]);
            loop {
                while let Some(piece) = lane.next_piece() {
                    let exchange = piece.exchange.0 as usize;
                    prop_assert!(!finished[exchange]);
                    received[exchange] += piece.bytes.get();
                    finished[exchange] = piece.finished;
                }
                if left == Bytes::ZERO {
                    break;
                }
                let arriving = left.min(Bytes::new(cut));
                left -= arriving;
                lane.receive(arriving);
            }
            let of = |exchange| segments.iter().filter(move |(of, _)| *of == exchange).map(|(_, bytes)| bytes);
            let written = [0, 1, 2, 3].map(|exchange| of(exchange).sum::<u64>());
            prop_assert_eq!((received, finished), (written, [true; 4]));
            prop_assert_eq!(lane.held(), Bytes::ZERO);
        }
    }
}
