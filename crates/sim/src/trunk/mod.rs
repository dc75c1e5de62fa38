//! What lies between the proxies at the two ends of the far link instead of a TCP connection for each of the clients'.
//!
//! A leg over the link is a flow of the trunk. The state of flows and of what carries them is with stations: the two ends of the
//! trunk at each terminal, or one at the gateway for all of them. A station takes of a flow what its send buffers take; the rest
//! waits at the leg's end and counts as unread at the leg before, so that congestion reaches the source as a window that closes.

mod accelerated;
mod multiplexed;
pub(crate) mod rwbp;
mod tube;
mod tunnel;

pub(crate) use accelerated::{Accelerators, Want};

use crate::architecture::Protocol;
use crate::network::Side;
use crate::packet::Packet;
use farhop_scenario::Scenario;
use farhop_transport::Room;
use farhop_units::{Bytes, Instant};
use multiplexed::Lanes;
use rwbp::Proxies;
use tunnel::Tunnels;

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
    /// Of what has come to an end of a leg, so much has not been read.
    Hold { leg: u32, side: Side, unread: Bytes },
    /// Bytes of the response with an object go to the client at a leg.
    Reply { leg: u32, object: u32, bytes: Bytes },
    /// A client's connection ends with its response.
    CloseClient { leg: u32 },
    /// A server is to be asked: one of the client's, that with this host of its page.
    Fetch { fetch: u32, client: u32, host: usize },
    /// What carries flows is there at this end.
    Up,
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
    /// farhop's tunnel.
    Tunnel(Tunnels),
    /// farhop's accelerator.
    Accelerated(Accelerators),
}

impl Trunk {
    /// The trunk of an architecture whose legs over the link have this protocol, if that has one.
    pub(crate) fn of(scenario: &Scenario, protocol: Protocol) -> Option<Self> {
        match protocol {
            Protocol::Tcp | Protocol::Quic | Protocol::Dns | Protocol::Carrier => None,
            Protocol::Rwbp => Some(Self::Rwbp(Box::new(Proxies::new(scenario)))),
            Protocol::Multiplexed => Some(Self::Multiplexed(Lanes::new(scenario))),
            Protocol::Tunnel => Some(Self::Tunnel(Tunnels::new(scenario))),
            Protocol::Accelerated => Some(Self::Accelerated(Accelerators::new(scenario))),
        }
    }

    /// The boxes, if that is what it is.
    pub(crate) fn boxes(&mut self) -> Option<&mut Accelerators> {
        match self {
            Self::Accelerated(boxes) => Some(boxes),
            Self::Rwbp(_) | Self::Multiplexed(_) | Self::Tunnel(_) => None,
        }
    }

    /// What its connections are.
    pub(crate) fn carrier(&self) -> Protocol {
        match self {
            Self::Rwbp(_) | Self::Multiplexed(_) => Protocol::Tcp,
            Self::Tunnel(_) | Self::Accelerated(_) => Protocol::Carrier,
        }
    }

    /// How many connections each terminal is to have before anybody uses the trunk.
    pub(crate) fn connections(&self) -> usize {
        match self {
            Self::Rwbp(_) => 0,
            Self::Multiplexed(lanes) => lanes.per_terminal(),
            Self::Tunnel(_) | Self::Accelerated(_) => 1,
        }
    }

    /// The same of the trunk that there would be, before there is one.
    pub(crate) fn connections_of(scenario: &Scenario, protocol: Protocol) -> usize {
        match protocol {
            Protocol::Multiplexed => scenario.multiplexed_connections,
            Protocol::Tunnel | Protocol::Accelerated => 1,
            Protocol::Tcp | Protocol::Rwbp | Protocol::Quic | Protocol::Dns | Protocol::Carrier => 0,
        }
    }

    /// A terminal has one more connection: this leg. Returns its number.
    pub(crate) fn add_connection(&mut self, now: Instant, terminal: u16, leg: u32) -> u32 {
        match self {
            Self::Rwbp(_) => 0,
            Self::Multiplexed(lanes) => lanes.add_connection(terminal, leg),
            Self::Tunnel(tunnels) => {
                tunnels.add_connection(now, terminal, leg);
                0
            }
            Self::Accelerated(boxes) => {
                boxes.add_connection(now, terminal, leg);
                0
            }
        }
    }

    /// One end of a connection is there.
    pub(crate) fn connected(&mut self, id: StationId, connection: u32) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.connected(id, connection),
            Self::Tunnel(_) | Self::Accelerated(_) => {}
        }
    }

    /// Whether all connections that were added are there.
    pub(crate) fn is_up(&self) -> bool {
        match self {
            Self::Rwbp(_) => true,
            Self::Multiplexed(lanes) => lanes.is_up(),
            Self::Tunnel(tunnels) => tunnels.is_up(),
            Self::Accelerated(boxes) => boxes.is_up(),
        }
    }

    /// So many bytes have come over a connection.
    pub(crate) fn carried(&mut self, id: StationId, connection: u32, bytes: Bytes) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.carried(id, connection, bytes),
            Self::Tunnel(_) | Self::Accelerated(_) => {}
        }
    }

    /// What an end of a connection has not sent yet, and what is not acknowledged.
    pub(crate) fn set_outstanding(&mut self, id: StationId, connection: u32, [unsent, unacknowledged]: [Bytes; 2]) {
        match self {
            Self::Rwbp(_) => {}
            Self::Multiplexed(lanes) => lanes.set_outstanding(id, connection, unsent, unacknowledged),
            Self::Tunnel(_) | Self::Accelerated(_) => {}
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
            Self::Tunnel(tunnels) => tunnels.open(now, flow, terminal),
            // Its legs end at the boxes.
            Self::Accelerated(_) => {}
        }
    }

    /// What the segments of the server carry that a flow brings the replies of: nz-us-2000's proxies give each a head of its own.
    pub(crate) fn cut_by(&mut self, flow: u32, terminal: u16, segment: Bytes) {
        if let Self::Multiplexed(lanes) = self {
            lanes.cut_by(flow, terminal, segment);
        }
    }

    /// Both ends of a flow are closed.
    pub(crate) fn forget(&mut self, now: Instant, flow: u32, terminal: u16) {
        match self {
            Self::Rwbp(proxies) => proxies.forget(now, flow, terminal),
            Self::Multiplexed(lanes) => lanes.forget(flow, terminal),
            Self::Tunnel(tunnels) => tunnels.forget(flow, terminal),
            // Its legs end at the boxes.
            Self::Accelerated(_) => {}
        }
    }

    /// Of `bytes` that wait at an end of a flow, takes what there is room for; returns how much that was.
    pub(crate) fn write(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) -> Bytes {
        match self {
            Self::Rwbp(proxies) => proxies.write(now, id, flow, bytes),
            Self::Multiplexed(lanes) => lanes.write(id, flow, bytes),
            Self::Tunnel(tunnels) => tunnels.write(id, flow, bytes),
            // Its legs end at the boxes.
            Self::Accelerated(_) => Bytes::ZERO,
        }
    }

    /// Nothing more will be written at this end of a flow; may be said again.
    pub(crate) fn finish(&mut self, now: Instant, id: StationId, flow: u32) {
        match self {
            Self::Rwbp(proxies) => proxies.finish(now, id, flow),
            Self::Multiplexed(lanes) => lanes.finish(id, flow),
            Self::Tunnel(tunnels) => tunnels.finish(now, id, flow),
            // Its legs end at the boxes.
            Self::Accelerated(_) => {}
        }
    }

    /// So much of what has arrived was passed on.
    pub(crate) fn read(&mut self, now: Instant, id: StationId, flow: u32, bytes: Bytes) {
        match self {
            Self::Rwbp(proxies) => proxies.read(now, id, flow, bytes),
            Self::Multiplexed(lanes) => lanes.read(id, flow, bytes),
            Self::Tunnel(tunnels) => tunnels.read(now, id, flow, bytes),
            // Its legs end at the boxes.
            Self::Accelerated(_) => {}
        }
    }

    /// A packet has come to a station.
    pub(crate) fn handle_packet(&mut self, now: Instant, id: StationId, packet: &Packet) {
        match (self, packet) {
            (Self::Rwbp(proxies), Packet::Rwbp(packet)) => proxies.handle_packet(now, id, packet),
            (Self::Tunnel(tunnels), Packet::Quic(packet)) => tunnels.handle_packet(now, id, packet),
            (Self::Accelerated(boxes), Packet::Quic(packet)) => boxes.handle_packet(now, id, packet),
            _ => debug_assert!(false, "a packet of another transport"),
        }
    }

    /// The wake-up of a station has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        match self {
            Self::Rwbp(proxies) => proxies.handle_timeout(now, id),
            Self::Multiplexed(lanes) => lanes.handle_timeout(now, id),
            Self::Tunnel(tunnels) => tunnels.handle_timeout(now, id),
            Self::Accelerated(boxes) => boxes.handle_timeout(now, id),
        }
    }

    /// The link's queue has so much room.
    pub(crate) fn set_link_room(&mut self, now: Instant, id: StationId, room: Room) {
        match self {
            Self::Rwbp(proxies) => proxies.set_link_room(now, id, room),
            Self::Tunnel(tunnels) => tunnels.set_link_room(now, id, room),
            Self::Accelerated(boxes) => boxes.set_link_room(now, id, room),
            Self::Multiplexed(_) => {}
        }
    }

    /// The next thing that a station has to tell.
    pub(crate) fn poll(&mut self, now: Instant, id: StationId) -> Option<Said> {
        match self {
            Self::Rwbp(proxies) => proxies.poll(id),
            Self::Multiplexed(lanes) => lanes.poll(id),
            Self::Tunnel(tunnels) => tunnels.poll(now, id),
            Self::Accelerated(boxes) => boxes.poll(now, id),
        }
    }

    /// When a station is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        match self {
            Self::Rwbp(proxies) => proxies.rearm(now, id),
            Self::Multiplexed(lanes) => lanes.rearm(now, id),
            Self::Tunnel(tunnels) => tunnels.rearm(now, id),
            Self::Accelerated(boxes) => boxes.rearm(now, id),
        }
    }
}
