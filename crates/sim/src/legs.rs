//! Legs: pairs of transport endpoints, with what their owners send each other over them.
//!
//! Transports carry lengths. What the lengths belong to stands in a list beside each direction: messages in the order in which
//! they were written. What arrives in order at the other end is cut along them, so that a receiver knows whose bytes it has, and
//! a relay can pass on what it has of a message.
//!
//! A leg whose two ends are closed, and of which nothing is on its way any more, makes room for another one.

use crate::network::{Route, Side};
use crate::slab::Slab;
use farhop_tcp::{Endpoint, Output, Segment, TcpConfig, TcpError};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;

/// What two ends of a leg tell each other, in part or as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    /// The request that it is, or whose response: the object that is asked for.
    pub(crate) exchange: u32,
    pub(crate) bytes: Bytes,
}

/// Who uses one end of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A client's browser.
    Browser {
        client: u32,
        /// What the browser calls it.
        connection: u32,
    },
    /// A server that has what this client wants.
    Origin { client: u32 },
    /// A proxy that opens the next leg of the client's chain, of this number, when this one is there.
    Opener { client: u32, next: u8 },
    /// A proxy that passes on what comes to the end of another leg that is with it.
    Relay { peer: u32 },
    /// Nobody any more.
    Nobody,
}

/// One end.
#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    /// When a wake-up is scheduled, if one is.
    wake: Option<Instant>,
    owner: Owner,
    is_closed: bool,
    /// What is coming, less what has arrived.
    incoming: VecDeque<Message>,
}

/// Two ends and the way between them.
#[derive(Debug)]
struct Leg {
    route: Route,
    ends: [End; 2],
    in_flight: u32,
    /// Its place is free.
    is_over: bool,
}

/// All legs.
#[derive(Debug)]
pub(crate) struct Legs {
    legs: Slab<Leg>,
    peak: usize,
}

impl Legs {
    pub(crate) const fn new() -> Self {
        Self { legs: Slab::new(), peak: 0 }
    }

    /// A leg that is opened at its near end. The owners are those of the near and the far end.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        route: Route,
        config: &TcpConfig,
        owners: [Owner; 2],
    ) -> Result<u32, TcpError> {
        let end = |endpoint, owner| End { endpoint, wake: None, owner, is_closed: false, incoming: VecDeque::new() };
        let ends = [end(Endpoint::connect(now, config)?, owners[0]), end(Endpoint::listen(config)?, owners[1])];
        let leg = self.legs.insert(Leg { route, ends, in_flight: 0, is_over: false });
        self.peak = self.peak.max(self.legs.len());
        Ok(leg)
    }

    /// Writes a message, or more of the last one, at one end.
    pub(crate) fn write(&mut self, now: Instant, leg: u32, side: Side, message: Message) {
        let incoming = &mut self.end(leg, side.other()).incoming;
        match incoming.back_mut() {
            Some(last) if last.exchange == message.exchange => last.bytes += message.bytes,
            _ => incoming.push_back(message),
        }
        self.end(leg, side).endpoint.write(now, message.bytes);
    }

    /// Nothing more will be written at one end.
    pub(crate) fn close(&mut self, now: Instant, leg: u32, side: Side) {
        self.end(leg, side).endpoint.close(now);
    }

    /// One end is nobody's from now on, and is closed.
    pub(crate) fn abandon(&mut self, now: Instant, leg: u32, side: Side) {
        self.end(leg, side).owner = Owner::Nobody;
        self.close(now, leg, side);
    }

    /// The far end of one leg and the near end of the next pass on to each other from now on.
    pub(crate) fn join(&mut self, before: u32, after: u32) {
        self.end(before, Side::Far).owner = Owner::Relay { peer: after };
        self.end(after, Side::Near).owner = Owner::Relay { peer: before };
    }

    pub(crate) fn owner(&self, leg: u32, side: Side) -> Owner {
        self.legs[leg].ends[side as usize].owner
    }

    pub(crate) fn route(&self, leg: u32) -> Route {
        self.legs[leg].route
    }

    /// How many legs there are.
    pub(crate) fn len(&self) -> usize {
        self.legs.len()
    }

    /// Most legs that there were at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// A packet is on its way.
    pub(crate) fn sent(&mut self, leg: u32) {
        self.legs[leg].in_flight += 1;
    }

    /// A packet has reached an end, or got lost.
    pub(crate) fn landed(&mut self, leg: u32) {
        self.legs[leg].in_flight -= 1;
    }

    /// A packet arrived.
    pub(crate) fn handle_packet(&mut self, now: Instant, leg: u32, side: Side, segment: &Segment) {
        self.end(leg, side).endpoint.handle_segment(now, segment);
    }

    /// The wake-up of an end has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, leg: u32, side: Side) -> bool {
        let end = self.end(leg, side);
        let counts = end.wake == Some(now);
        if counts {
            end.wake = None;
            end.endpoint.handle_timeout(now);
        }
        counts
    }

    /// What an endpoint has to say.
    pub(crate) fn poll(&mut self, leg: u32, side: Side) -> Option<Output> {
        self.end(leg, side).endpoint.poll()
    }

    /// When an end is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, leg: u32, side: Side) -> Option<Instant> {
        let end = self.end(leg, side);
        let due = end.endpoint.next_timeout().filter(|due| end.wake.is_none_or(|wake| *due < wake))?;
        end.wake = Some(due);
        Some(due)
    }

    /// Of `bytes` that arrived at one end, those of the first message; the rest stays in `bytes`.
    pub(crate) fn next_part(&mut self, leg: u32, side: Side, bytes: &mut Bytes) -> Option<Message> {
        if *bytes == Bytes::ZERO {
            return None;
        }
        let incoming = &mut self.end(leg, side).incoming;
        let first = incoming.front_mut()?;
        let part = Message { bytes: first.bytes.min(*bytes), ..*first };
        *bytes -= part.bytes;
        first.bytes -= part.bytes;
        if first.bytes == Bytes::ZERO {
            incoming.pop_front();
        }
        Some(part)
    }

    /// An end has closed.
    pub(crate) fn closed(&mut self, leg: u32, side: Side) {
        self.end(leg, side).is_closed = true;
    }

    /// Makes room if a leg is over.
    pub(crate) fn reclaim(&mut self, leg: u32) {
        let Leg { in_flight, is_over, .. } = self.legs[leg];
        if in_flight == 0 && !is_over && self.is_closed(leg) {
            self.legs[leg].is_over = true;
            self.legs[leg].ends.iter_mut().for_each(|end| end.wake = None);
            for side in [Side::Near, Side::Far] {
                // Its place may soon be another leg's.
                if let Owner::Relay { peer } = self.owner(leg, side) {
                    self.end(peer, side.other()).owner = Owner::Nobody;
                }
            }
            self.legs.release(leg);
        }
    }

    fn is_closed(&self, leg: u32) -> bool {
        self.legs[leg].ends.iter().all(|end| end.is_closed)
    }

    fn end(&mut self, leg: u32, side: Side) -> &mut End {
        &mut self.legs[leg].ends[side as usize]
    }
}
