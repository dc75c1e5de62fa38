//! One proxy's RWBP: its flows, whose turn it is, and the output queue that never overflows.

use super::RwbpConfig;
use super::flow::Flow;
use super::packet::{Kind, Packet, data_bytes};
use super::receiver::Arrived;
use crate::agenda::Agenda;
use crate::rtt::RttEstimator;
use crate::{Output, Room, StreamId};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// All flows of one proxy. The upstream proxy has those of all terminals, a terminal's proxy its own.
#[derive(Debug)]
pub struct Proxy {
    config: RwbpConfig,
    now: Instant,
    flows: Vec<Option<Flow>>,
    vacant: Vec<u32>,
    index: BTreeMap<StreamId, u32>,
    /// Flows that may send data, in the order of their turns.
    turns: VecDeque<u32>,
    /// Flows with an acknowledgement to send: these go first, for they are small and open windows.
    owing: VecDeque<u32>,
    /// The IP output queue: what waits, with its flow's place.
    queue: VecDeque<(u32, Waiting)>,
    queued: Bytes,
    /// Of all flows.
    rtt: RttEstimator,
    link_room: Room,
    agenda: Agenda,
    outputs: VecDeque<Output<Packet>>,
}

/// What waits in the output queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Data(Packet),
    /// What its flow owes: the packet is made when it leaves, so that it says what is so then, and whatever came meanwhile has no other one.
    Debt,
}

impl Waiting {
    /// The room that is kept for it in the output queue.
    fn wire_bytes(self) -> Bytes {
        match self {
            Self::Data(packet) => packet.wire_bytes(),
            Self::Debt => Packet::largest_acknowledgment(),
        }
    }
}

impl Proxy {
    /// A proxy without flows; the link has room until told otherwise.
    pub fn new(config: RwbpConfig) -> Self {
        Self {
            config,
            now: Instant::START,
            flows: Vec::new(),
            vacant: Vec::new(),
            index: BTreeMap::new(),
            turns: VecDeque::new(),
            owing: VecDeque::new(),
            queue: VecDeque::new(),
            queued: Bytes::ZERO,
            rtt: RttEstimator::default(),
            link_room: Room::default(),
            agenda: Agenda::default(),
            outputs: VecDeque::new(),
        }
    }

    /// Opens a flow from this side. If the number was used before, both sides have forgotten that flow, and nothing of it is on its way.
    pub fn connect(&mut self, now: Instant, flow: StreamId) {
        self.advance(now);
        let flow = Flow::new(now, flow, &self.config, true, self.rtt.clone());
        if flow.is_open() {
            self.outputs.push_back(Output::Connected { at: now, stream: Some(flow.id) });
        }
        self.insert(flow);
    }

    /// Waits for the other side to open a flow.
    pub fn listen(&mut self, now: Instant, flow: StreamId) {
        self.advance(now);
        self.insert(Flow::new(now, flow, &self.config, false, self.rtt.clone()));
    }

    /// Forgets a flow and what of it has not left: after [`Output::Closed`] at both ends, or to give it up. Another one may have its name.
    pub fn forget(&mut self, now: Instant, flow: StreamId) {
        self.advance(now);
        let Some(slot) = self.index.remove(&flow) else { return };
        self.flows[slot as usize] = None;
        self.turns.retain(|turn| *turn != slot);
        self.owing.retain(|turn| *turn != slot);
        self.agenda.set(slot, None);
        self.vacant.push(slot);
        self.queue.retain(|(owner, waiting)| {
            if *owner == slot {
                self.queued -= waiting.wire_bytes();
            }
            *owner != slot
        });
        self.outputs.retain(|output| !matches!(output, Output::Transmit { packet, .. } if packet.flow == flow));
    }

    /// The relay has `bytes` more to send; returns how many the send buffer took. [`Output::Room`] says when it takes more.
    pub fn write(&mut self, now: Instant, flow: StreamId, bytes: Bytes) -> Bytes {
        self.change(now, flow, |flow, now, config| flow.sender.write(now, config, bytes)).unwrap_or_default()
    }

    /// The relay will send no more.
    pub fn finish(&mut self, now: Instant, flow: StreamId) {
        self.change(now, flow, |flow, now, _| flow.sender.close(now));
    }

    /// The relay has passed on `bytes` of what was received. Read before polling on, they already count in the acknowledgement of
    /// the packet that brought them.
    pub fn read(&mut self, now: Instant, flow: StreamId, bytes: Bytes) {
        self.change(now, flow, |flow, _, config| flow.receiver.read(config, bytes));
    }

    /// The link-layer queue has so much room now, every packet that was polled being in it or past it. To be told whenever room is
    /// gained; what is sent is accounted for here.
    pub fn set_link_room(&mut self, now: Instant, room: Room) {
        self.advance(now);
        self.link_room = room.without_all(&self.outputs, Packet::wire_bytes);
    }

    /// A packet from the other side arrived. One of an unknown flow is ignored.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        let arrived = self.change(now, packet.flow, |flow, now, config| {
            let opens = flow.handle_opening(&packet.kind);
            let (data, sample) = handle_kind(flow, now, config, &packet.kind);
            (Arrival { opens, data, room: flow.sender.take_room(config), closes: flow.take_closed() }, sample)
        });
        if let Some((arrival, sample)) = arrived {
            if let Some((rtt, delay)) = sample {
                self.rtt.sample(rtt, delay);
            }
            self.report(packet.flow, arrival);
        }
    }

    /// Runs every timer that is due at or before `now`, at the time it was due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// When [`Proxy::handle_timeout`] is to be called next; true once everything has been polled.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.agenda.first().map(|(due, _)| due)
    }

    /// The next thing to tell the owner.
    pub fn poll(&mut self) -> Option<Output<Packet>> {
        if self.outputs.is_empty() {
            self.pump();
        }
        self.outputs.pop_front()
    }

    /// How much a flow's send buffer takes now.
    pub fn room(&self, flow: StreamId) -> Bytes {
        self.get(flow).map_or(Bytes::ZERO, |flow| flow.sender.room(&self.config))
    }

    /// What a flow's send buffer holds, unsent or unacknowledged.
    pub fn unacknowledged(&self, flow: StreamId) -> Bytes {
        self.get(flow).map_or(Bytes::ZERO, |flow| flow.sender.held())
    }

    /// What a flow's receive buffer holds, unread or out of order.
    pub fn unread(&self, flow: StreamId) -> Bytes {
        self.get(flow).map_or(Bytes::ZERO, |flow| flow.receiver.held())
    }

    /// What the IP output queue holds.
    pub fn output_queue(&self) -> Bytes {
        self.queued
    }

    /// How much room the link's queue must have for the next packet; `None` if none waits for it.
    pub fn awaited_link_room(&self) -> Option<Bytes> {
        self.first().map(|(_, packet)| packet.wire_bytes())
    }

    fn get(&self, flow: StreamId) -> Option<&Flow> {
        let slot = self.index.get(&flow)?;
        self.flows[*slot as usize].as_ref()
    }

    fn insert(&mut self, flow: Flow) {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(None);
            u32::try_from(self.flows.len() - 1).expect("every flow has a number of 32 bits")
        });
        self.index.insert(flow.id, slot);
        self.flows[slot as usize] = Some(flow);
        self.update(slot);
    }

    /// Runs the clock up to `now`. What happens at one instant is sent together, when it is polled: others may have taken room in the
    /// link's queue since this was told of it.
    fn advance(&mut self, now: Instant) {
        while let Some((due, slot)) = self.agenda.first().filter(|(due, _)| *due <= now) {
            self.pass_to(due);
            if let Some(flow) = &mut self.flows[slot as usize] {
                flow.handle_timer(self.now, &self.config);
            }
            self.update(slot);
        }
        self.pass_to(now);
    }

    /// What has happened so far is sent before anything else happens.
    fn pass_to(&mut self, now: Instant) {
        if now > self.now {
            self.pump();
            self.now = now;
        }
    }

    fn change<T>(
        &mut self,
        now: Instant,
        flow: StreamId,
        change: impl FnOnce(&mut Flow, Instant, &RwbpConfig) -> T,
    ) -> Option<T> {
        self.advance(now);
        let slot = *self.index.get(&flow)?;
        let changed = change(self.flows[slot as usize].as_mut()?, self.now, &self.config);
        self.update(slot);
        Some(changed)
    }

    /// Gives a flow its place in the queues and on the agenda.
    fn update(&mut self, slot: u32) {
        let Some(flow) = &mut self.flows[slot as usize] else { return };
        if flow.owes() && !flow.is_owing {
            flow.is_owing = true;
            self.owing.push_back(slot);
        }
        if flow.is_ready(self.now) && !flow.is_in_turn {
            flow.is_in_turn = true;
            self.turns.push_back(slot);
        }
        self.agenda.set(slot, flow.due(self.now, &self.config));
    }

    fn report(&mut self, flow: StreamId, arrival: Arrival) {
        let (at, stream) = (self.now, flow);
        let Arrived { bytes, finished } = arrival.data;
        if arrival.opens {
            self.outputs.push_back(Output::Connected { at, stream: Some(stream) });
        }
        if bytes > Bytes::ZERO || finished {
            self.outputs.push_back(Output::Received { at, stream, bytes, finished });
        }
        if let Some(room) = arrival.room {
            self.outputs.push_back(Output::Room { at, stream, room });
        }
        if arrival.closes {
            self.outputs.push_back(Output::Closed { at, stream });
        }
    }

    /// Fills the output queue in turn and empties it into the link, as far as there is room.
    fn pump(&mut self) {
        loop {
            self.drain();
            if !self.pay_next() && !self.serve_next() {
                return;
            }
        }
    }

    /// What leaves the output queue next, with its flow's place.
    fn first(&self) -> Option<(u32, Packet)> {
        let &(slot, waiting) = self.queue.front()?;
        let debt = |flow: &Flow| Packet { flow: flow.id, kind: flow.debt(&self.config) };
        Some(match waiting {
            Waiting::Data(packet) => (slot, packet),
            Waiting::Debt => (slot, self.flows[slot as usize].as_ref().map(debt)?),
        })
    }

    fn drain(&mut self) {
        while let Some((slot, packet)) = self.first() {
            let wire = packet.wire_bytes();
            if !self.link_room.takes(wire) {
                return;
            }
            if let Some((_, waiting)) = self.queue.pop_front() {
                self.queued -= waiting.wire_bytes();
            }
            self.link_room = self.link_room.without(wire);
            self.leave(slot, packet);
        }
    }

    fn leave(&mut self, slot: u32, packet: Packet) {
        if let Some(flow) = &mut self.flows[slot as usize] {
            if let Kind::Data { number, .. } = packet.kind {
                flow.sender.left(self.now, number);
            } else {
                flow.pay(self.now, &self.config);
                flow.is_owing = false;
            }
        }
        self.update(slot);
        self.outputs.push_back(Output::Transmit { at: self.now, packet });
    }

    fn has_room(&self, wire: Bytes) -> bool {
        let least = data_bytes(self.config.mss) + Packet::largest_acknowledgment();
        self.queued + wire <= self.config.output_queue.max(least)
    }

    fn enqueue(&mut self, slot: u32, waiting: Waiting) {
        self.queued += waiting.wire_bytes();
        self.queue.push_back((slot, waiting));
    }

    /// The next flow with an acknowledgement to send has a place for it in the queue; false if there is none or no room.
    fn pay_next(&mut self) -> bool {
        let Some(&slot) = self.owing.front() else { return false };
        if !self.has_room(Waiting::Debt.wire_bytes()) {
            return false;
        }
        self.owing.pop_front();
        self.enqueue(slot, Waiting::Debt);
        true
    }

    /// The flow whose turn it is enqueues one packet; false if there is none or no room.
    fn serve_next(&mut self) -> bool {
        let Some(&slot) = self.turns.front() else { return false };
        let payload =
            self.flows[slot as usize].as_ref().map_or(Bytes::ZERO, |flow| flow.sender.next_payload(&self.config));
        if !self.has_room(data_bytes(payload)) {
            return false;
        }
        self.turns.pop_front();
        let rate = self.config.peak_rate;
        let spacing = |payload| rate.transmission_time(data_bytes(payload));
        if let Some(flow) = &mut self.flows[slot as usize] {
            flow.is_in_turn = false;
            let id = flow.id;
            if let Some(kind) = flow.sender.send(self.now, &self.config, spacing) {
                self.enqueue(slot, Waiting::Data(Packet { flow: id, kind }));
            }
        }
        self.update(slot);
        true
    }
}

/// What a packet has brought about.
struct Arrival {
    opens: bool,
    data: Arrived,
    room: Option<Bytes>,
    closes: bool,
}

/// Also how long an answer took, and how much of that the receiver waited.
fn handle_kind(
    flow: &mut Flow,
    now: Instant,
    config: &RwbpConfig,
    kind: &Kind,
) -> (Arrived, Option<(Duration, Duration)>) {
    match kind {
        Kind::Open { .. } => (Arrived::default(), None),
        Kind::Data { number, offset, payload, fin } => {
            (flow.receiver.handle_data(now, config, *number, *offset, *payload, *fin), None)
        }
        Kind::Acknowledgment { cumulative, newest, window, delayed, missing } => {
            let places = (*cumulative, *newest);
            let sample = flow.sender.handle_acknowledgment(now, config, places, *window, *delayed, missing);
            (Arrived::default(), sample)
        }
    }
}
