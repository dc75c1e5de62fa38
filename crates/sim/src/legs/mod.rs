//! Legs: pairs of transport endpoints, with what their owners send each other over them.
//!
//! Transports carry lengths. What the lengths belong to stands in a list beside each direction: messages in the order in which
//! they were written. What arrives in order at the other end is cut along them, so that a receiver knows whose bytes it has, and
//! a relay can pass on what it has of a message.
//!
//! A leg whose two ends are closed, and of which nothing is on its way any more, makes room for another one.

mod alarm;
mod datagrams;
mod end;
mod hosts;
mod looks;
mod lookup;
mod message;
mod quic;

pub(crate) use datagrams::Said;
pub(crate) use lookup::Datagram;
pub(crate) use message::{Exchange, Message, Owner};

use crate::architecture::Protocol;
use crate::error::{MOST_LEGS, SimError};
use crate::metrics::Occupancy;
use crate::network::{Route, Side};
use crate::packet::Packet;
use crate::slab::Slab;
use crate::trace::SenderSight;
use crate::trunk::{StationId, Trunk};
use alarm::Alarm;
use end::{End, Transport};
use farhop_scenario::Scenario;
use farhop_tcp::{Endpoint, Output, TcpConfig};
use farhop_transport::quic::QuicConfig;
use farhop_units::{Bytes, Instant};
use hosts::Hosts;
use lookup::Lookup;
use quic::QuicEnd;
use std::collections::VecDeque;

/// When a host's program has done something at one end, if it is known.
type Does = fn(&mut Hosts, Instant, Route, Side) -> Option<Instant>;

/// Two ends and the way between them.
#[derive(Debug)]
struct Leg {
    ends: [End; 2],
    /// Its place is free.
    is_over: bool,
    /// How many were opened before it.
    number: u64,
    /// A server is at its far end.
    is_session: bool,
}

/// All legs.
#[derive(Debug)]
pub(crate) struct Legs {
    legs: Slab<Leg>,
    /// When their ends are woken.
    alarms: Vec<[Alarm; 2]>,
    tcp: TcpConfig,
    quic: QuicConfig,
    hosts: Hosts,
    /// What the legs over the far link are flows of, if it is not TCP that they are.
    trunk: Option<Trunk>,
    /// Those for datagrams, which are no connections.
    ways: usize,
    opened: u64,
    /// How many connections there are.
    occupancy: Occupancy,
    /// Legs with a server at the end.
    sessions: usize,
    sessions_over_time: Occupancy,
    /// Memory for what endpoints have to say, lent to those that something happens to.
    memory: Vec<VecDeque<Output>>,
}

/// As many legs are expected at most, and room for them set aside: no list of them is copied as it grows, not even between two looks at how
/// many there are.
const MOST_EXPECTED: usize = MOST_LEGS + (1 << 14);

/// As much memory for outputs is kept for the next endpoints that need some.
const MOST_SPARE: usize = 16;

impl Legs {
    /// For a run with this `seed`, in which time is measured `from` then on, and so many clients.
    pub(crate) fn new(scenario: &Scenario, (seed, from): (u64, Instant), clients: usize, trunk: Option<Trunk>) -> Self {
        let (tcp, quic) = (scenario.tcp.clone(), quic::config(scenario));
        let expected = clients.saturating_mul(scenario.http.connections).min(MOST_EXPECTED);
        let (legs, alarms, memory) = (Slab::expecting(expected), Vec::with_capacity(expected), Vec::new());
        let hosts = Hosts::new(&tcp, seed);
        Self {
            legs,
            alarms,
            tcp,
            quic,
            hosts,
            trunk,
            ways: 0,
            opened: 0,
            occupancy: Occupancy::new(from),
            sessions: 0,
            sessions_over_time: Occupancy::new(from),
            memory,
        }
    }

    /// A leg that is opened at its near end. The owners are those of the near and the far end.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        (route, protocol): (Route, Protocol),
        owners: [Owner; 2],
    ) -> Result<u32, SimError> {
        self.open_with(now, (route, protocol), owners, None)
    }

    /// The same; where it is of TCP, with this configuration, if one is given.
    pub(crate) fn open_with(
        &mut self,
        now: Instant,
        (route, protocol): (Route, Protocol),
        owners: [Owner; 2],
        tcp: Option<&TcpConfig>,
    ) -> Result<u32, SimError> {
        let [near, far] = self.transports(now, (route, protocol), tcp)?;
        let ends = [End::new(route, near, owners[0]), End::new(route, far, owners[1])];
        let is_session = matches!(owners[1], Owner::Origin { .. });
        let leg = self.insert(Leg { ends, is_over: false, number: self.opened, is_session });
        self.opened += 1;
        self.sessions += usize::from(is_session);
        if let (Some(id), Some(trunk)) = (self.station_of(leg, Side::Near), &mut self.trunk)
            && protocol != Protocol::Carrier
        {
            trunk.open(now, leg, id.terminal);
        }
        self.note_occupancy(now);
        Ok(leg)
    }

    fn transports(
        &mut self,
        now: Instant,
        (route, protocol): (Route, Protocol),
        tcp: Option<&TcpConfig>,
    ) -> Result<[Transport; 2], SimError> {
        let (tcp, quic) = (tcp.unwrap_or(&self.tcp), &self.quic);
        let flow = || Transport::Flow { unsent: Bytes::ZERO, closes: false };
        Ok(match protocol {
            Protocol::Tcp => {
                let mut ends = [Endpoint::listen(tcp)?, Endpoint::listen(tcp)?];
                for (side, end) in [Side::Near, Side::Far].into_iter().zip(&mut ends) {
                    self.hosts.put_on_host(self.opened, (route, side), end);
                }
                if let Some(runs) = self.hosts.opens(now, route, Side::Near) {
                    ends[0].run_at(runs);
                }
                ends[0].open(now);
                ends.map(Transport::Tcp)
            }
            Protocol::Rwbp | Protocol::Multiplexed | Protocol::Tunnel | Protocol::Accelerated => [flow(), flow()],
            Protocol::Carrier => [Transport::Carrier, Transport::Carrier],
            Protocol::Quic => {
                [QuicEnd::client(now, quic), QuicEnd::server(quic)].map(|end| Transport::Quic(Box::new(end)))
            }
            Protocol::Dns => [Lookup::client(now), Lookup::resolver()].map(Transport::Lookup),
        })
    }

    /// A way for datagrams, which are nobody's connection; it stays.
    pub(crate) fn open_for_datagrams(&mut self, route: Route) -> u32 {
        let end = || End::new(route, Transport::Flow { unsent: Bytes::ZERO, closes: false }, Owner::Nobody);
        let (ends, number) = ([end(), end()], self.opened);
        self.opened += 1;
        self.ways += 1;
        self.insert(Leg { ends, is_over: false, number, is_session: false })
    }

    /// Finds a place for a leg, whose ends nothing wakes yet.
    fn insert(&mut self, leg: Leg) -> u32 {
        let leg = self.legs.insert(leg);
        if self.alarms.len() <= leg as usize {
            self.alarms.resize(leg as usize + 1, <[Alarm; 2]>::default());
        }
        self.alarms[leg as usize] = <[Alarm; 2]>::default();
        leg
    }

    /// The station of the trunk that is with an end, if the leg is a flow of it or carries it.
    pub(crate) fn station_of(&self, leg: u32, side: Side) -> Option<StationId> {
        let End { route, transport, .. } = &self.legs[leg].ends[side as usize];
        let is_of_trunk = matches!(transport, Transport::Flow { .. } | Transport::Carrier);
        let trunk = self.trunk.as_ref().filter(|_| is_of_trunk)?;
        Some(trunk.station(side, route.line.terminal))
    }

    /// The trunk, where there is one.
    pub(crate) fn trunk(&mut self) -> Option<&mut Trunk> {
        self.trunk.as_mut()
    }

    /// A leg is a connection of the trunk from now on.
    pub(crate) fn give_to_trunk(&mut self, leg: u32, connection: u32) {
        for side in [Side::Near, Side::Far] {
            self.give_to(leg, side, Owner::Trunk { connection });
            // What waits is in the stations' buffers.
            if let Transport::Tcp(endpoint) = &mut self.end(leg, side).transport {
                endpoint.take_everything();
            }
        }
    }

    /// The connection of the trunk that a leg is, and the station with one end of it.
    pub(crate) fn connection_of(&self, leg: u32, side: Side) -> Option<(StationId, u32)> {
        let End { route, owner, .. } = &self.legs[leg].ends[side as usize];
        let Owner::Trunk { connection } = *owner else { return None };
        Some((self.trunk.as_ref()?.station(side, route.line.terminal), connection))
    }

    /// The program at one end of TCP does something, which takes a while.
    fn run_program(&mut self, now: Instant, (leg, side): (u32, Side), does: Does) {
        let End { route, transport, .. } = &mut self.legs[leg].ends[side as usize];
        if let Transport::Tcp(endpoint) = transport
            && let Some(runs) = does(&mut self.hosts, now, *route, side)
        {
            endpoint.run_at(runs);
        }
    }

    /// Writes a message, or more of the last one, at one end.
    pub(crate) fn write(&mut self, now: Instant, leg: u32, side: Side, message: Message) {
        self.end(leg, side.other()).expect(message);
        self.run_program(now, (leg, side), Hosts::answers);
        self.write_bytes(now, leg, side, message.bytes);
    }

    /// There is room in an end's send buffer for what was written before: the program puts it there when it runs.
    pub(crate) fn write_on(&mut self, now: Instant, leg: u32, side: Side) {
        let End { route, transport, .. } = &mut self.legs[leg].ends[side as usize];
        if let Transport::Tcp(endpoint) = transport {
            endpoint.write_on_at(self.hosts.writes_on(now, *route, side).unwrap_or(now));
        }
    }

    /// Writes `bytes` of which it is decided as they are sent what they are ([`Legs::decide`]).
    pub(crate) fn write_undecided(&mut self, now: Instant, leg: u32, side: Side, bytes: Bytes) {
        self.run_program(now, (leg, side), Hosts::answers);
        self.end(leg, side).leave_undecided(bytes);
        self.write_bytes(now, leg, side, bytes);
    }

    /// Gives the transport of an end more to send.
    fn write_bytes(&mut self, now: Instant, leg: u32, side: Side, bytes: Bytes) {
        match &mut self.busy_end(leg, side).transport {
            Transport::Tcp(endpoint) => endpoint.write(now, bytes),
            Transport::Flow { unsent, .. } => {
                *unsent += bytes;
                self.resume(now, leg, side);
            }
            Transport::Quic(_) | Transport::Lookup(_) | Transport::Carrier => {}
        }
    }

    /// Bytes that are sent and of which nobody has decided what they are.
    pub(crate) fn undecided(&self, leg: u32, side: Side) -> Bytes {
        self.legs[leg].ends[side as usize].undecided()
    }

    /// The first bytes of which that was not decided are these.
    pub(crate) fn decide(&mut self, leg: u32, side: Side, message: Message) {
        self.end(leg, side).decide(message.bytes);
        self.end(leg, side.other()).expect(message);
    }

    /// A flow's send buffer may take more.
    pub(crate) fn resume(&mut self, now: Instant, leg: u32, side: Side) {
        let (Some(id), Some(trunk)) = (self.station_of(leg, side), &mut self.trunk) else { return };
        let Transport::Flow { unsent, closes } = &mut self.legs[leg].ends[side as usize].transport else { return };
        if *unsent > Bytes::ZERO {
            *unsent -= trunk.write(now, id, leg, *unsent);
        }
        if *unsent == Bytes::ZERO && *closes {
            trunk.finish(now, id, leg);
        }
    }

    /// Nothing more will be written at one end.
    pub(crate) fn close(&mut self, now: Instant, leg: u32, side: Side) {
        // Nobody is answered by that.
        self.run_program(now, (leg, side), Hosts::reads);
        match &mut self.busy_end(leg, side).transport {
            Transport::Tcp(endpoint) => endpoint.close(now),
            Transport::Flow { closes, .. } => {
                *closes = true;
                self.resume(now, leg, side);
            }
            Transport::Quic(_) | Transport::Lookup(_) => self.let_go(leg),
            Transport::Carrier => {}
        }
    }

    /// One end is nobody's from now on, and is closed.
    pub(crate) fn abandon(&mut self, now: Instant, leg: u32, side: Side) {
        self.give_to(leg, side, Owner::Nobody);
        self.close(now, leg, side);
    }

    /// The far end of one leg and the near end of the next pass on to each other from now on.
    pub(crate) fn join(&mut self, before: u32, after: u32) {
        self.give_to(before, Side::Far, Owner::Relay { peer: after });
        self.give_to(after, Side::Near, Owner::Relay { peer: before });
    }

    /// An end has another owner from now on, who may wait for what it has to say, or not.
    fn give_to(&mut self, leg: u32, side: Side, owner: Owner) {
        let end = self.end(leg, side);
        end.owner = owner;
        let (due, can_rest) = (end.next_timeout(), end.can_rest());
        self.alarm(leg, side).note(due, can_rest);
    }

    pub(crate) fn owner(&self, leg: u32, side: Side) -> Owner {
        self.legs[leg].ends[side as usize].owner
    }

    pub(crate) fn route(&self, leg: u32) -> Route {
        self.legs[leg].ends[Side::Near as usize].route
    }

    /// What tells this leg from those that had or will have its place.
    pub(crate) fn number(&self, leg: u32) -> u64 {
        self.legs[leg].number
    }

    /// What the sender at one end is like, if it is TCP's or QUIC's.
    pub(crate) fn sender(&self, leg: u32, side: Side) -> Option<SenderSight> {
        match &self.legs[leg].ends[side as usize].transport {
            Transport::Tcp(endpoint) => Some(endpoint.sender_state().into()),
            Transport::Quic(quic) => Some(quic.sender()),
            _ => None,
        }
    }

    /// How many legs there are.
    pub(crate) fn len(&self) -> usize {
        self.legs.len() - self.ways
    }

    /// How many there have been.
    #[cfg(test)]
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// How many legs there were over time.
    pub(crate) fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// How many connections to servers there were over time.
    pub(crate) fn sessions(&self) -> &Occupancy {
        &self.sessions_over_time
    }

    /// A packet is on its way from one end, along this route.
    pub(crate) fn sent(&mut self, leg: u32, side: Side) -> Route {
        let end = self.end(leg, side);
        end.in_flight = end.in_flight.wrapping_add(1);
        end.route
    }

    /// A packet has reached an end, or got lost on the way to any.
    pub(crate) fn landed(&mut self, leg: u32, side: Side) {
        let end = self.end(leg, side);
        end.in_flight = end.in_flight.wrapping_sub(1);
    }

    /// When the host of an end gets to a packet that comes now, if that is later.
    #[inline]
    pub(crate) fn hears(
        &mut self,
        now: Instant,
        leg: u32,
        side: Side,
        packet: impl FnOnce() -> Packet,
    ) -> Option<Instant> {
        if !self.hosts.take_time() {
            return None;
        }
        let Packet::Tcp(segment) = packet() else { return None };
        let route = self.legs[leg].ends[side as usize].route;
        self.hosts.hears(now, (route, side), &segment)
    }

    /// A host has got to a packet.
    pub(crate) fn handle_packet(&mut self, now: Instant, leg: u32, side: Side, packet: &Packet) {
        match packet {
            Packet::Tcp(segment) => {
                let route = self.end(leg, side).route;
                let reads = if segment.payload > Bytes::ZERO || segment.syn {
                    self.hosts.reads(now, route, side)
                } else {
                    None
                };
                if let Transport::Tcp(endpoint) = &mut self.busy_end(leg, side).transport {
                    if let Some(reads) = reads {
                        endpoint.read_at(now, reads);
                    }
                    endpoint.handle_segment(now, segment);
                }
            }
            // Datagrams are the boxes' own, and multicast is nobody's here.
            Packet::Paced(_) | Packet::Multicast(_) => {}
            Packet::Rwbp(_) | Packet::Quic(_) if self.station_of(leg, side).is_some() => {
                if let (Some(id), Some(trunk)) = (self.station_of(leg, side), &mut self.trunk) {
                    trunk.handle_packet(now, id, packet);
                }
            }
            Packet::Rwbp(_) => {}
            Packet::Quic(_) | Packet::Dns(_) => self.handle_datagram(now, leg, side, packet),
        }
    }

    /// The wake-up of an end has come. Returns whether it is the one that counts.
    pub(crate) fn wake(&mut self, now: Instant, leg: u32, side: Side) -> bool {
        self.alarm(leg, side).counts(now)
    }

    /// Whether nothing comes of waking an end: its deadline has moved away, and nobody else waits for what it has to say.
    pub(crate) fn sleeps_on(&mut self, now: Instant, leg: u32, side: Side) -> bool {
        let sleeps_on = self.alarm(leg, side).rests(now);
        let end = &self.legs[leg].ends[side as usize];
        debug_assert_eq!(sleeps_on, end.can_rest() && end.next_timeout().is_none_or(|due| due > now));
        sleeps_on
    }

    /// When an end that sleeps on is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn sleep_on(&mut self, leg: u32, side: Side) -> Option<Instant> {
        self.alarm(leg, side).rest_on()
    }

    /// When an end is woken that has to wait for its host.
    pub(crate) fn waits_for_host(&mut self, now: Instant, leg: u32, side: Side) -> Option<Instant> {
        let End { route, transport, .. } = &mut self.legs[leg].ends[side as usize];
        let paced_since = if let Transport::Tcp(endpoint) = transport { endpoint.paced_since(now) } else { None };
        let until = paced_since.and_then(|since| self.hosts.waits_for_kernels(now, since, *route));
        let until = until.or_else(|| self.hosts.waits_for_burst(now, *route, side))?;
        Some(self.alarm(leg, side).move_to(until))
    }

    /// An end does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, leg: u32, side: Side) {
        self.busy_end(leg, side).handle_timeout(now);
    }

    /// What an endpoint of TCP has to say.
    pub(crate) fn poll(&mut self, leg: u32, side: Side) -> Option<Output> {
        let End { transport: Transport::Tcp(endpoint), route, .. } = &mut self.legs[leg].ends[side as usize] else {
            return None;
        };
        let output = endpoint.poll();
        if output.is_none() {
            endpoint.give_back(&mut self.memory);
            self.memory.truncate(MOST_SPARE);
            if let Some(goes_on) = endpoint.burst_goes_on() {
                self.hosts.begins_burst(goes_on, *route, side);
            }
        }
        output
    }

    /// When an end is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, leg: u32, side: Side) -> Option<Instant> {
        let end = &self.legs[leg].ends[side as usize];
        let (due, can_rest) = (end.next_timeout(), end.can_rest());
        self.alarm(leg, side).arm(due, can_rest)
    }

    /// Of `bytes` that arrived at one end, those of the first message that its owner is told of; the rest stays in `bytes`.
    pub(crate) fn next_part(&mut self, leg: u32, side: Side, bytes: &mut Bytes) -> Option<Message> {
        self.end(leg, side).next_part(bytes)
    }

    /// The owner of an end need not be told of what comes next in this exchange until so much has, or all.
    pub(crate) fn awaits(&mut self, leg: u32, side: Side, awaited: Message) {
        self.end(leg, side).awaits(awaited);
    }

    /// What was written at one end and has not begun its way.
    pub(crate) fn backlog(&self, leg: u32, side: Side) -> Bytes {
        self.legs[leg].ends[side as usize].backlog()
    }

    /// What was written at one end and has not been sent, and what has been and is not acknowledged, if it is TCP's.
    pub(crate) fn outstanding(&self, leg: u32, side: Side) -> [Bytes; 2] {
        match &self.legs[leg].ends[side as usize].transport {
            Transport::Tcp(endpoint) => [endpoint.unsent(), endpoint.unacknowledged()],
            _ => [self.backlog(leg, side), Bytes::ZERO],
        }
    }

    /// The owner of an end has not read so much of what has arrived. Returns whether the other end is to hear of it.
    pub(crate) fn hold(&mut self, now: Instant, leg: u32, side: Side, unread: Bytes) -> bool {
        if self.station_of(leg, side).is_some() {
            self.hold_flow(now, leg, side, unread)
        } else {
            self.busy_end(leg, side).hold(now, unread)
        }
    }

    /// `bytes` have arrived on a flow. They are read at once if nothing waits at the next leg.
    pub(crate) fn read_flow(&mut self, now: Instant, leg: u32, side: Side, bytes: Bytes) {
        let waits = match self.owner(leg, side) {
            Owner::Relay { peer } => self.backlog(peer, side.other()) > Bytes::ZERO,
            _ => false,
        };
        let (Some(id), Some(trunk)) = (self.station_of(leg, side), &mut self.trunk) else { return };
        if waits { self.end(leg, side).unread += bytes } else { trunk.read(now, id, leg, bytes) }
    }

    /// Of what was not read at once, all but `unread` is read now.
    fn hold_flow(&mut self, now: Instant, leg: u32, side: Side, unread: Bytes) -> bool {
        let end = self.end(leg, side);
        let read = end.unread.saturating_sub(unread);
        end.unread -= read;
        if let (Some(id), Some(trunk)) = (self.station_of(leg, side), &mut self.trunk)
            && read > Bytes::ZERO
        {
            trunk.read(now, id, leg, read);
        }
        read > Bytes::ZERO
    }

    /// An end has closed.
    pub(crate) fn closed(&mut self, leg: u32, side: Side) {
        self.end(leg, side).is_closed = true;
    }

    /// Makes room if a leg is over, to one end of which something has happened.
    pub(crate) fn reclaim(&mut self, now: Instant, leg: u32, side: Side) {
        // Most ends are not closed, and the other one lies elsewhere in memory.
        if self.end(leg, side).is_closed && self.is_over(leg) {
            let Leg { is_over, is_session, .. } = &mut self.legs[leg];
            *is_over = true;
            self.sessions -= usize::from(*is_session);
            self.alarms[leg as usize] = <[Alarm; 2]>::default();
            for side in [Side::Near, Side::Far] {
                // Its place may soon be another leg's.
                if let Owner::Relay { peer } = self.owner(leg, side) {
                    self.give_to(peer, side.other(), Owner::Nobody);
                }
            }
            if let (Some(id), Some(trunk)) = (self.station_of(leg, Side::Near), &mut self.trunk) {
                trunk.forget(now, leg, id.terminal);
            }
            self.legs.release(leg);
            self.note_occupancy(now);
        }
    }

    fn note_occupancy(&mut self, now: Instant) {
        self.occupancy.set(now, self.len());
        self.sessions_over_time.set(now, self.sessions);
    }

    /// Whether a leg is over, and its place has not been given back.
    fn is_over(&self, leg: u32) -> bool {
        let Leg { ends: [near, far], is_over, .. } = &self.legs[leg];
        near.is_closed && far.is_closed && near.in_flight.wrapping_add(far.in_flight) == 0 && !is_over
    }

    fn alarm(&mut self, leg: u32, side: Side) -> &mut Alarm {
        &mut self.alarms[leg as usize][side as usize]
    }

    fn end(&mut self, leg: u32, side: Side) -> &mut End {
        &mut self.legs[leg].ends[side as usize]
    }

    /// An end that may have something to say now.
    fn busy_end(&mut self, leg: u32, side: Side) -> &mut End {
        let end = &mut self.legs[leg].ends[side as usize];
        if let Transport::Tcp(endpoint) = &mut end.transport {
            endpoint.lend(&mut self.memory);
        }
        end
    }
}
