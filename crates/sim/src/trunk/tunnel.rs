//! farhop's tunnel without any knowledge of what it carries: what a client sends after `CONNECT`.
//!
//! The terminal says yes at once, and the request to connect crosses the link ahead of the client's first bytes. Each leg over the
//! link is a flow of its terminal's [`Tube`].

use super::tube::{Heard, Limits, Mark, Tube};
use super::{Said, StationId};
use crate::network::Side;
use crate::packet::Packet;
use farhop_accel::planning::priority::Content;
use farhop_accel::wire::varint_bytes;
use farhop_scenario::Scenario;
use farhop_transport::{Room, quic};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};

/// The length of `server:80` before it, as when farhop measures.
const AUTHORITY: u64 = 1 + 9;

/// The tunnels of all terminals.
#[derive(Debug)]
pub(crate) struct Tunnels {
    limits: Limits,
    terminals: Vec<Option<Tunnel>>,
}

/// One terminal's.
#[derive(Debug)]
struct Tunnel {
    leg: u32,
    tube: Tube,
    is_up: [bool; 2],
    said: [VecDeque<Said>; 2],
    flows: BTreeMap<u32, Flow>,
    /// The leg of each flow.
    legs: BTreeMap<u32, u32>,
}

/// A leg's flow.
#[derive(Debug)]
struct Flow {
    number: u32,
    written: [Bytes; 2],
    /// What each end has said, and heard.
    is_finished: [bool; 2],
    has_heard: [bool; 2],
    is_closed: [bool; 2],
}

impl Tunnels {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let terminals = (0..scenario.link.terminals.max(1)).map(|_| None).collect();
        Self { limits: Tube::limits(scenario), terminals }
    }

    /// A terminal's tunnel is opened; its packets belong to this leg.
    pub(crate) fn add_connection(&mut self, now: Instant, terminal: u16, leg: u32) {
        self.terminals[usize::from(terminal)] = Some(Tunnel {
            leg,
            tube: Tube::open(now, &self.limits),
            is_up: [false; 2],
            said: Default::default(),
            flows: BTreeMap::new(),
            legs: BTreeMap::new(),
        });
    }

    /// Whether all tunnels are there.
    pub(crate) fn is_up(&self) -> bool {
        self.terminals.iter().flatten().all(|tunnel| tunnel.is_up == [true; 2])
    }

    pub(crate) fn open(&mut self, now: Instant, leg: u32, terminal: u16) {
        let Some(Tunnel { tube, flows, legs, .. }) = self.tunnel(terminal) else { return };
        let number = tube.open_flow(now, Side::Near, Content::Requested);
        tube.send(now, Side::Near, number, Mark::Connect, AUTHORITY);
        tube.consumed(now, Side::Near, number, Bytes::ZERO);
        legs.insert(number, leg);
        flows.insert(leg, Flow::new(number));
    }

    pub(crate) fn forget(&mut self, leg: u32, terminal: u16) {
        let Some(Tunnel { tube, flows, legs, .. }) = self.tunnel(terminal) else { return };
        if let Some(flow) = flows.remove(&leg) {
            legs.remove(&flow.number);
            tube.forget(flow.number);
        }
    }

    pub(crate) fn write(&mut self, id: StationId, leg: u32, bytes: Bytes) -> Bytes {
        let Some(Tunnel { tube, flows, .. }) = self.tunnel(id.terminal) else { return Bytes::ZERO };
        let Some(flow) = flows.get_mut(&leg) else { return Bytes::ZERO };
        let taken = tube.write(id.side, flow.number, bytes);
        flow.written[id.side as usize] += taken;
        taken
    }

    /// Says that nothing follows, once.
    pub(crate) fn finish(&mut self, now: Instant, id: StationId, leg: u32) {
        let Some(Tunnel { tube, flows, said, .. }) = self.tunnel(id.terminal) else { return };
        let Some(flow) = flows.get_mut(&leg) else { return };
        if !core::mem::replace(&mut flow.is_finished[id.side as usize], true) {
            let length = varint_bytes(flow.written[id.side as usize].get());
            tube.send(now, id.side, flow.number, Mark::End, length);
            flow.see_to_close(leg, id.side, said);
        }
    }

    pub(crate) fn read(&mut self, now: Instant, id: StationId, leg: u32, bytes: Bytes) {
        let Some(Tunnel { tube, flows, .. }) = self.tunnel(id.terminal) else { return };
        if let Some(flow) = flows.get(&leg) {
            tube.consumed(now, id.side, flow.number, bytes);
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, id: StationId, packet: &quic::Packet) {
        if let Some(tunnel) = self.tunnel(id.terminal) {
            tunnel.tube.handle_packet(now, id.side, packet);
        }
    }

    pub(crate) fn set_link_room(&mut self, now: Instant, id: StationId, room: Room) {
        if let Some(tunnel) = self.tunnel(id.terminal) {
            tunnel.tube.set_link_room(now, id.side, room);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, id: StationId) -> bool {
        self.tunnel(id.terminal).is_some_and(|tunnel| tunnel.tube.handle_timeout(now, id.side))
    }

    pub(crate) fn rearm(&mut self, now: Instant, id: StationId) -> Option<Instant> {
        self.tunnel(id.terminal)?.tube.rearm(now, id.side)
    }

    pub(crate) fn poll(&mut self, now: Instant, id: StationId) -> Option<Said> {
        self.tunnel(id.terminal)?.poll(now, id.side)
    }

    fn tunnel(&mut self, terminal: u16) -> Option<&mut Tunnel> {
        self.terminals[usize::from(terminal)].as_mut()
    }
}

impl Tunnel {
    fn poll(&mut self, now: Instant, side: Side) -> Option<Said> {
        loop {
            if let Some(said) = self.said[side as usize].pop_front() {
                return Some(said);
            }
            match self.tube.poll(now, side)? {
                Heard::Transmit(packet) => return Some(Said::Transmit { leg: self.leg, packet: Packet::Quic(packet) }),
                Heard::Up => {
                    self.is_up[side as usize] = true;
                    return Some(Said::Up);
                }
                Heard::Room { flow } => {
                    if let Some(&flow) = self.legs.get(&flow) {
                        return Some(Said::Room { flow });
                    }
                }
                Heard::Frame { flow, mark } => self.hear(now, side, flow, mark),
            }
        }
    }

    fn hear(&mut self, now: Instant, side: Side, number: u32, mark: Mark) {
        let Some(&leg) = self.legs.get(&number) else { return };
        let said = &mut self.said[side as usize];
        match mark {
            Mark::Connect => {
                self.tube.consumed(now, side, number, Bytes::ZERO);
                said.push_back(Said::Connected { flow: leg });
            }
            Mark::Data(bytes) => said.push_back(Said::Received { flow: leg, bytes, finished: false }),
            Mark::End => {
                said.push_back(Said::Received { flow: leg, bytes: Bytes::ZERO, finished: true });
                if let Some(flow) = self.flows.get_mut(&leg) {
                    flow.has_heard[side as usize] = true;
                    flow.see_to_close(leg, side, &mut self.said);
                }
            }
            Mark::Head(_) | Mark::Credit(_) | Mark::Reset => {}
        }
    }
}

impl Flow {
    fn new(number: u32) -> Self {
        let [is_finished, has_heard, is_closed] = [[false; 2]; 3];
        Self { number, written: [Bytes::ZERO; 2], is_finished, has_heard, is_closed }
    }

    /// An end is closed when it has said that it is finished and heard so.
    fn see_to_close(&mut self, leg: u32, side: Side, said: &mut [VecDeque<Said>; 2]) {
        let is_over = self.is_finished[side as usize] && self.has_heard[side as usize];
        if is_over && !core::mem::replace(&mut self.is_closed[side as usize], true) {
            said[side as usize].push_back(Said::Closed { flow: leg });
        }
    }
}
