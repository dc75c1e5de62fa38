//! One TCP connection over the far link, and who uses it.

use crate::network::Side;
use farhop_link::{Packet, Port};
use farhop_tcp::{Endpoint, Output, Segment, TcpConfig, TcpError};
use farhop_transport::multiplex::{Lane, REPLY_OVERHEAD};
use farhop_units::{Bytes, Instant};

/// Who uses a connection.
#[derive(Debug)]
pub(super) enum Use {
    /// The request of this number, on its way to a server or being answered.
    Request(u32),
    /// Nobody at present, since the moment of this number.
    Idle(u64),
    /// All: it is one of those between the proxies, with what its two directions carry, up and down.
    Shared { up: Box<Lane>, down: Box<Lane> },
    /// Nobody any more.
    Over,
}

/// Two ends, the slow one first.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) host: u32,
    pub(super) used_by: Use,
    ends: [End; 2],
    in_flight: u32,
}

#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    wake: Option<Instant>,
    is_closed: bool,
}

impl Connection {
    pub(super) fn open(now: Instant, config: &TcpConfig, host: u32, used_by: Use) -> Result<Self, TcpError> {
        let end = |endpoint| End { endpoint, wake: None, is_closed: false };
        let ends = [end(Endpoint::connect(now, config)?), end(Endpoint::listen(config)?)];
        Ok(Self { host, used_by, ends, in_flight: 0 })
    }

    /// What shares a connection between two proxies.
    pub(super) fn shared() -> Use {
        let lane = |overhead| Box::new(Lane::new(overhead));
        Use::Shared { up: lane(Bytes::ZERO), down: lane(REPLY_OVERHEAD) }
    }

    pub(super) fn write(&mut self, now: Instant, side: Side, bytes: Bytes) {
        self.end(side).endpoint.write(now, bytes);
    }

    pub(super) fn close(&mut self, now: Instant, side: Side) {
        self.end(side).endpoint.close(now);
    }

    /// Bytes that one end has and the other has not acknowledged.
    pub(super) fn outstanding(&self, side: Side) -> Bytes {
        let endpoint = &self.ends[side as usize].endpoint;
        endpoint.unsent() + endpoint.unacknowledged()
    }

    pub(super) fn handle_segment(&mut self, now: Instant, side: Side, segment: &Segment) {
        self.end(side).endpoint.handle_segment(now, segment);
    }

    /// The wake-up of an end has come. Returns whether it is the one that counts.
    pub(super) fn handle_timeout(&mut self, now: Instant, side: Side) -> bool {
        let end = self.end(side);
        let counts = end.wake.take_if(|wake| *wake == now).is_some();
        if counts {
            end.endpoint.handle_timeout(now);
        }
        counts
    }

    pub(super) fn poll(&mut self, side: Side) -> Option<Output> {
        self.end(side).endpoint.poll()
    }

    /// When an end is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(super) fn rearm(&mut self, side: Side) -> Option<Instant> {
        let end = self.end(side);
        let due = end.endpoint.next_timeout().filter(|due| end.wake.is_none_or(|wake| *due < wake))?;
        end.wake = Some(due);
        Some(due)
    }

    pub(super) fn sent(&mut self) {
        self.in_flight += 1;
    }

    pub(super) fn landed(&mut self) {
        self.in_flight -= 1;
    }

    pub(super) fn closed(&mut self, side: Side) {
        self.end(side).is_closed = true;
    }

    /// Both ends are closed and nothing is on its way; true once.
    pub(super) fn ends_now(&mut self) -> bool {
        let is_over = self.in_flight == 0 && self.ends.iter().all(|end| end.is_closed);
        let ends_now = is_over && !matches!(self.used_by, Use::Over);
        if ends_now {
            self.used_by = Use::Over;
            self.ends.iter_mut().for_each(|end| end.wake = None);
        }
        ends_now
    }

    fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }
}

/// A segment on the far link.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    pub(super) connection: u32,
    /// The end that sent it.
    pub(super) from: Side,
    pub(super) segment: Segment,
}

impl Parcel {
    /// Where it enters the link.
    pub(super) const fn port(&self) -> Port {
        match self.from {
            Side::Near => Port::Terminal(0),
            Side::Far => Port::Gateway,
        }
    }
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> Bytes {
        self.segment.wire_bytes()
    }

    fn flow(&self) -> u64 {
        u64::from(self.connection)
    }
}
