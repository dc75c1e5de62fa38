//! What lies between the proxies at the two ends of the far link instead of a TCP connection for each of the clients'.
//!
//! A leg over the link is a flow of the trunk. The state of flows and of what carries them is with stations: the two ends of the
//! trunk at each terminal, or one at the gateway for all of them. A station takes of a flow what its send buffers take; the rest
//! waits at the leg's end and counts as unread at the leg before, so that congestion reaches the source as a window that closes.

mod multiplexed;
mod rwbp;

use crate::architecture::Protocol;
use crate::network::Side;
use crate::packet::Packet;
use farhop_scenario::Scenario;
use farhop_units::{Bytes, Instant};
use multiplexed::Lanes;
use rwbp::Proxies;

/// One end of the trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StationId {
    /// The end of the link's legs that is with it.
    pub(crate) side: Side,
    /// Of a station that the gateway has for all terminals, zero.
    pub(crate) terminal: u16,
}

/// What a station has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// Carry this packet to the other end of a leg.
    Transmit { leg: u32, packet: Packet },
    /// Write so much into a connection of the trunk.
    Carry { leg: u32, bytes: Bytes },
    /// Of what has come over a connection of the trunk, so much has not been read.
    Hold { leg: u32, unread: Bytes },
    /// Both ends know of this flow.
    Connected { flow: u32 },
    /// Bytes of a flow have arrived in order.
    Received { flow: u32, bytes: Bytes, finished: bool },
    /// A flow's send buffer takes more.
    Room { flow: u32 },
    /// This end of a flow is closed.
    Closed { flow: u32 },
}

/// All stations.
#[derive(Debug)]
pub(crate) enum Trunk {
    /// Flows of RWBP.
    Rwbp(Box<Proxies>),
    /// TCP connections that flows share.
    Multiplexed(Lanes),
}

impl Trunk {
    /// The trunk of an architecture whose legs over the link have this protocol, if that has one.
    pub(crate) fn of(scenario: &Scenario, protocol: Protocol) -> Option<Self> {
        match protocol {
            Protocol::Tcp | Protocol::Quic | Protocol::Dns => None,
            Protocol::Rwbp => Some(Self::Rwbp(Box::new(Proxies::new(scenario)))),
            Protocol::Multiplexed => Some(Self::Multiplexed(Lanes::new(scenario))),
        }
    }

    /// How many connections each terminal is to have before anybody uses the trunk.
    pub(crate) fn connections(&self) -> usize {
        match self {
            Self::Rwbp(_) => 0,
            Self::Multiplexed(lanes) => lanes.per_terminal(),
        }
    }

    /// A terminal has one more connection: this leg. Returns its number.
    pub(crate) fn add_connection(&mut self, terminal: u16, leg: u32) -> u32 {
        match self {
            Self::Rwbp(_) => 0,
            Self::Multiplexed(lanes) => lanes.add_connection(terminal, leg),
        }
    }

    /// One end of a connection is there.
    pub(crate) fn connected(&mut self, id: StationId, connection: u32) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.connected(id, connection),
        }
    }

    /// Whether all connections that were added are there.
    pub(crate) fn is_up(&self) -> bool {
        match self {
            Self::Rwbp(_) => true,
            Self::Multiplexed(lanes) => lanes.is_up(),
        }
    }

    /// So many bytes have come over a connection.
    pub(crate) fn carried(&mut self, id: StationId, connection: u32, bytes: Bytes) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.carried(id, connection, bytes),
        }
    }

    /// What an end of a connection has not sent yet, and what is not acknowledged.
    pub(crate) fn set_outstanding(&mut self, id: StationId, connection: u32, [unsent, unacknowledged]: [Bytes; 2]) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.set_outstanding(id, connection, unsent, unacknowledged),
        }
    }

    /// The station at one end of the link that has a terminal's flows.
    pub(crate) fn station(&self, side: Side, terminal: u16) -> StationId {
        let terminal = match (self, side) {
            (Self::Rwbp(_), Side::Far) => 0,
            _ => terminal,
        };
        StationId { side, terminal }
    }

    /// A flow is opened at a terminal.
    pub(crate) fn open(&mut self, now: Instant, flow: u32, terminal: u16) {
        match self {
            Self::Rwbp(proxies) => proxies.open(now, flow, terminal),
            Self::Multiplexed(lanes) => lanes.open(flow, terminal),
        }
    }

    /// Both ends of a flow are closed.
    pub(crate) fn forget(&mut self, now: Instant, flow: u32, terminal: u16) {
        match self {
            Self::Rwbp(proxies) => proxies.forget(now, flow, terminal),
            Self::Multiplexed(lanes) => lanes.forget(flow, terminal),
        }
    }

    /// Of `bytes` that wait at an end of a flow, takes what there is room for; returns how much that was.
    pub(crate) fn write(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) -> Bytes {
        match self {
            Self::Rwbp(proxies) => proxies.write(now, id, flow, bytes),
            Self::Multiplexed(lanes) => lanes.write(id, flow, bytes),
        }
    }

    /// Nothing more will be written at this end of a flow; may be said again.
    pub(crate) fn finish(&mut self, now: Instant, id: StationId, flow: u32) {
        match self {
            Self::Rwbp(proxies) => proxies.finish(now, id, flow),
            Self::Multiplexed(lanes) => lanes.finish(id, flow),
        }
    }

    /// So much of what has arrived was passed on.
    pub(crate) fn read(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) {
        match self {
            Self::Rwbp(proxies) => proxies.read(now, id, flow, bytes),
            Self::Multiplexed(lanes) => lanes.read(id, flow, bytes),
        }
    }

    /// A packet has come to a station.
    pub(crate) fn handle_packet(&mut self, now: Instant, id: StationId, packet: &Packet) {
        match (self, packet) {
            (Self::Rwbp(proxies), Packet::Rwbp(packet)) => proxies.handle_packet(now, id, packet),
            _ => debug_assert!(false, "a packet of another transport"),
        }
    }

    /// The wake-up of a station has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        match self {
            Self::Rwbp(proxies) => proxies.handle_timeout(now, id),
            Self::Multiplexed(_) => false,
        }
    }

    /// The link's queue has so much room, if it has a bound.
    pub(crate) fn set_link_room(&mut self, now: Instant, id: StationId, room: Option<Bytes>) {
        match self {
            Self::Rwbp(proxies) => proxies.set_link_room(now, id, room),
            Self::Multiplexed(_) => {}
        }
    }

    /// The next thing that a station has to tell.
    pub(crate) fn poll(&mut self, id: StationId) -> Option<Said> {
        match self {
            Self::Rwbp(proxies) => proxies.poll(id),
            Self::Multiplexed(lanes) => lanes.poll(id),
        }
    }

    /// When a station is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        match self {
            Self::Rwbp(proxies) => proxies.rearm(now, id),
            Self::Multiplexed(_) => None,
        }
    }
}
