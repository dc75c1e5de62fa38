//! farhop's own connection between one terminal and the gateway, with flows in it, as `crates/proxy` runs it.
//!
//! One QUIC connection at a set rate, up from the start; a stream for each flow, which carries the frames of `accel::wire` in their
//! real sizes and takes effect frame by frame, a whole frame at a time. Each flow has credit of its own (`accel::credit`); what all
//! flows have on the way or unsent is bounded by the connection's send buffer, for whose room flows wait, the urgent before the rest and equals
//! in turn, a frame each.
//! Bytes that come within one instant go into frames together, as a box reads all there is when it wakes.
//!
//! On a way up that terminals share no rate is any one's own. There a terminal's end keeps to the whole rate as before, and to the queue of its
//! modem, which takes no packet that it has no room for: what waits, waits in the box, the urgent before the rest.
//!
//! What differs from the proxies: a flow stays on one stream, where they change streams every 512 KiB (19 B); both ends count their flows
//! together; no keep-alives, no search for the path's MTU: 1452 B from the start.

use crate::network::Side;
use crate::wake::Wake;
use farhop_accel::credit::{INITIAL, ReceiveCredit, SendCredit, window};
use farhop_accel::planning::priority::{Content, priority};
use farhop_accel::planning::turns::Turns;
use farhop_accel::share::SharedRate;
use farhop_accel::tunnel::{ACK_EVERY, FLOW_MEMORY, FLOW_WINDOW, send_buffer};
use farhop_accel::wire::{MAX_DATA_BYTES, varint_bytes};
use farhop_scenario::{Access, QueueLimit, Scenario};
use farhop_transport::quic::{Connection, Order, Packet, QuicConfig, Sending};
use farhop_transport::{Output, Room, StreamId};
use farhop_units::{Bytes, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Rate of boxes where the link has none, as when farhop measures.
pub(super) const UNLIMITED: Rate = Rate::mbps(1000);
/// No stream and no connection is held back by QUIC's own windows.
const WIDE: Bytes = Bytes::new(1 << 50);
/// The priority of a stream that has been given none: urgency 3 (RFC 9218 §4.1).
const USUAL: i32 = -3;
const MAX_DATA: Bytes = Bytes::new(MAX_DATA_BYTES as u64);
/// A full packet with the headers of UDP and IPv4.
const FULL_PACKET: Bytes = Bytes::new(1480);

/// What limits the ends of every terminal's tube.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    sending: [Sending; 2],
    /// How long the way up takes for a packet, where the near end asks for room in the modem's queue.
    modem: Option<Duration>,
}

/// What a frame is, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Opens a connection to a server.
    Connect,
    /// A request, a response or an announcement, which its sender keeps in this place.
    Head(u32),
    /// Bytes of a body or a connection.
    Data(Bytes),
    /// The sender's bytes are complete.
    End,
    /// The receiver takes so much.
    Credit(u64),
    /// Nobody wants the rest.
    Reset,
}

/// What one end tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Carry this to the other end.
    Transmit(Packet),
    /// This end may send.
    Up,
    /// A frame of a flow has arrived whole.
    Frame { flow: u32, mark: Mark },
    /// A write that was not taken whole may go on.
    Room { flow: u32 },
}

/// The connection with both its ends.
#[derive(Debug)]
pub(crate) struct Tube {
    ends: [End; 2],
    flows: BTreeMap<u32, Flow>,
    /// The number of the next flow, whoever opens it.
    next: u32,
    modem: Option<Duration>,
}

#[derive(Debug)]
struct End {
    connection: Connection,
    heard: VecDeque<Heard>,
    /// When a wake-up is scheduled, if one is.
    wake: Wake,
    /// Flows with bytes that are not in frames yet, and how many these are.
    dirty: VecDeque<u32>,
    gathered: Bytes,
    /// Flows that wait for room, and the one that may write now.
    queue: Turns<u32>,
    turn: Option<u32>,
    /// Flows whose receiver this is.
    active: u64,
}

#[derive(Debug)]
struct Flow {
    ways: [Way; 2],
}

/// One direction of a flow.
#[derive(Debug)]
struct Way {
    content: Content,
    priority: i32,
    send: SendCredit,
    receive: ReceiveCredit,
    /// Taken and not in frames yet.
    gathered: Bytes,
    waits_for_credit: bool,
    /// It is among the flows whose bytes are to be put into frames; and among those that wait for room.
    is_dirty: bool,
    is_queued: bool,
    /// Frames under way, each with the bytes that it takes.
    frames: VecDeque<(Bytes, Mark)>,
    /// Bytes of them that have arrived.
    arrived: Bytes,
    /// Of data, in whole frames.
    delivered: u64,
    /// Its sender has said that it is complete, and its receiver has heard so.
    has_ended: bool,
    is_whole: bool,
}

impl Tube {
    /// What limits the near and the far end of every terminal's: each its own rate, and one that the gateway has for all of them.
    pub(crate) fn limits(scenario: &Scenario) -> Limits {
        let [up, down] =
            [&scenario.link.up, &scenario.link.down].map(|direction| direction.told_rate().unwrap_or(UNLIMITED));
        let down = scenario.multicast.map_or(down, |multicast| multicast.left_of(down));
        let sending = [Sending::Rate(up), Sending::Shared(SharedRate::new(down, Duration::ZERO))];
        let has_room = match scenario.link.up.queue {
            QueueLimit::Bytes(limit) => limit >= FULL_PACKET,
            QueueLimit::Packets(limit) => limit > 0,
            QueueLimit::Unlimited => false,
        };
        let is_asked = has_room && scenario.link.access != Access::Dedicated;
        Limits { sending, modem: is_asked.then(|| up.transmission_time(FULL_PACKET)) }
    }

    /// A connection that its near end opens at `now`, with the limits of its ends.
    pub(crate) fn open(now: Instant, limits: &Limits) -> Self {
        let config = |side: Side| QuicConfig {
            ack_every: ACK_EVERY,
            stream_window: WIDE,
            connection_window: WIDE,
            send_buffer: WIDE,
            sending: limits.sending[side as usize].clone(),
            order: Order::FirstCome,
            ..QuicConfig::default()
        };
        let near = End::new(Connection::client(now, &config(Side::Near)));
        let far = End::new(Connection::server(&config(Side::Far)));
        Self { ends: [near, far], flows: BTreeMap::new(), next: 0, modem: limits.modem }
    }

    /// Opens a flow at one end, to carry this.
    pub(crate) fn open_flow(&mut self, now: Instant, side: Side, content: Content) -> u32 {
        let number = self.next;
        self.next += 1;
        let ways = [Side::Near, Side::Far].map(|sender| {
            let receiver = &mut self.ends[sender.other() as usize];
            let size = window(FLOW_MEMORY, receiver.active, FLOW_WINDOW);
            receiver.active += 1;
            Way::new(if sender == side { content } else { Content::Requested }, size)
        });
        self.flows.insert(number, Flow { ways });
        [Side::Near, Side::Far].into_iter().for_each(|sender| self.prioritise(now, sender, number));
        number
    }

    /// Says what an end sends on a flow that the other one has opened.
    pub(crate) fn set_content(&mut self, now: Instant, side: Side, flow: u32, content: Content) {
        if let Some(known) = self.flows.get_mut(&flow) {
            known.ways[side as usize].content = content;
            self.prioritise(now, side, flow);
        }
    }

    /// Nobody asks for a flow any more.
    pub(crate) fn forget(&mut self, flow: u32) {
        if let Some(flow) = self.flows.remove(&flow) {
            for (way, side) in flow.ways.iter().zip([Side::Near, Side::Far]) {
                self.ends[side as usize].gathered -= way.gathered;
                self.ends[side.other() as usize].active -= 1;
            }
        }
    }

    /// Sends a frame that is no data and takes so many bytes beside kind, length and flow.
    pub(crate) fn send(&mut self, now: Instant, side: Side, flow: u32, mark: Mark, fields: u64) {
        self.flush(now, side, flow);
        self.push(now, side, flow, mark, fields, Bytes::ZERO);
        if mark == Mark::End {
            self.see_to_finish(now, side, flow);
        }
    }

    /// Sends a frame that takes so many bytes in all.
    pub(crate) fn send_whole(&mut self, now: Instant, side: Side, flow: u32, mark: Mark, size: Bytes) {
        self.flush(now, side, flow);
        self.push_whole(now, side, flow, mark, size);
    }

    /// An end will say nothing more on a flow's stream, not even what it takes.
    pub(crate) fn close(&mut self, now: Instant, side: Side, flow: u32) {
        self.ends[side as usize].connection.finish(now, StreamId(flow));
    }

    /// Takes what there is room for of `bytes`; returns how much that was. [`Heard::Room`] says when there is more.
    pub(crate) fn write(&mut self, side: Side, number: u32, bytes: Bytes) -> Bytes {
        let Some(flow) = self.flows.get_mut(&number) else { return Bytes::ZERO };
        let (end, way) = (&mut self.ends[side as usize], &mut flow.ways[side as usize]);
        let granted = way.send.available() - way.gathered;
        let taken = bytes.min(granted).min(end.room_for(number));
        end.turn.take_if(|turn| *turn == number);
        way.gathered += taken;
        end.gathered += taken;
        if taken > Bytes::ZERO && !core::mem::replace(&mut way.is_dirty, true) {
            end.dirty.push_back(number);
        }
        way.waits_for_credit = taken < bytes && taken == granted;
        if taken < bytes && !way.waits_for_credit && !core::mem::replace(&mut way.is_queued, true) {
            end.queue.wait(way.priority, number);
        }
        taken
    }

    /// Of the data that has arrived at `side`, so much was passed on; of nothing, too, the flow's window is granted.
    pub(crate) fn consumed(&mut self, now: Instant, side: Side, number: u32, bytes: Bytes) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let has_ended = flow.ways[side as usize].has_ended && flow.ways[side.other() as usize].has_ended;
        if let Some(limit) = flow.ways[side.other() as usize].receive.consume(bytes)
            && !has_ended
        {
            self.push(now, side, number, Mark::Credit(limit), varint_bytes(limit), Bytes::ZERO);
        }
    }

    /// Whether what a flow's sender has written is all that it was granted.
    pub(crate) fn lacks_credit(&self, side: Side, flow: u32) -> bool {
        self.flows.get(&flow).is_some_and(|flow| flow.ways[side as usize].waits_for_credit)
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, side: Side, packet: &Packet) {
        self.ends[side as usize].connection.handle_packet(now, packet);
    }

    /// The queue that an end's packets go to has so much room.
    pub(crate) fn set_link_room(&mut self, now: Instant, side: Side, room: Room) {
        if side == Side::Near && self.modem.is_some() {
            self.ends[side as usize].connection.set_room(now, room);
        }
    }

    /// The wake-up of an end has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, side: Side) -> bool {
        let counts = self.ends[side as usize].wake.counts(now);
        if counts {
            while let Some(number) = self.ends[side as usize].dirty.pop_front() {
                if let Some(flow) = self.flows.get_mut(&number) {
                    flow.ways[side as usize].is_dirty = false;
                }
                self.flush(now, side, number);
            }
            self.ends[side as usize].connection.handle_timeout(now);
        }
        counts
    }

    /// When an end is to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self, now: Instant, side: Side) -> Option<Instant> {
        self.rearm_with(now, side, None)
    }

    /// The same if the box at that end has something to do at `own`.
    pub(crate) fn rearm_with(&mut self, now: Instant, side: Side, own: Option<Instant>) -> Option<Instant> {
        let end = &mut self.ends[side as usize];
        let gathered = (!end.dirty.is_empty()).then_some(now);
        // By then the modem can have sent a packet.
        let room = self.modem.filter(|_| end.connection.awaits_room()).map(|wait| now + wait);
        // While its modem takes nothing no timer of a connection runs: what would have been due meanwhile is due at once.
        let timeout = end.connection.next_timeout();
        end.wake.arm(gathered.into_iter().chain(own).chain(room).chain(timeout).min())
    }

    /// The next thing that an end has to tell.
    pub(crate) fn poll(&mut self, now: Instant, side: Side) -> Option<Heard> {
        loop {
            let end = &mut self.ends[side as usize];
            if let Some(heard) = end.heard.pop_front() {
                return Some(heard);
            }
            match end.connection.poll() {
                Some(Output::Transmit { packet, .. }) => return Some(Heard::Transmit(packet)),
                Some(Output::Connected { stream: None, .. }) => return Some(Heard::Up),
                Some(Output::Received { stream, bytes, .. }) => self.receive(now, side, stream.0, bytes),
                Some(_) => {}
                None => return self.next_turn(side),
            }
        }
    }

    /// Lets the next flow write at an end, if there is room for it.
    fn next_turn(&mut self, side: Side) -> Option<Heard> {
        let number = self.ends[side as usize].next_turn()?;
        if let Some(flow) = self.flows.get_mut(&number) {
            flow.ways[side as usize].is_queued = false;
        }
        Some(Heard::Room { flow: number })
    }

    /// Puts what has been gathered of a flow into frames.
    fn flush(&mut self, now: Instant, side: Side, number: u32) {
        while let Some(way) = self.flows.get_mut(&number).map(|flow| &mut flow.ways[side as usize])
            && way.gathered > Bytes::ZERO
        {
            let bytes = way.gathered.min(MAX_DATA);
            let offset = way.send.take(bytes);
            way.gathered -= bytes;
            self.ends[side as usize].gathered -= bytes;
            self.push(now, side, number, Mark::Data(bytes), varint_bytes(offset), bytes);
            self.prioritise(now, side, number);
        }
    }

    fn push(&mut self, now: Instant, side: Side, number: u32, mark: Mark, fields: u64, payload: Bytes) {
        let rest = varint_bytes(number.into()) + fields + payload.get();
        self.push_whole(now, side, number, mark, Bytes::new(1 + varint_bytes(rest) + rest));
    }

    fn push_whole(&mut self, now: Instant, side: Side, number: u32, mark: Mark, size: Bytes) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let way = &mut flow.ways[side as usize];
        way.has_ended |= mark == Mark::End;
        way.frames.push_back((size, mark));
        self.ends[side as usize].connection.write(now, StreamId(number), size);
    }

    /// An end finishes a stream when it has said all and heard all; until then there may be credit to be told. It does so itself: whose
    /// connection is made to do something is to be polled in the same instant, or deadlines pass unseen.
    fn see_to_finish(&mut self, now: Instant, side: Side, number: u32) {
        let Some(Flow { ways }) = self.flows.get(&number) else { return };
        if ways[side as usize].has_ended && ways[side.other() as usize].is_whole {
            self.ends[side as usize].connection.finish(now, StreamId(number));
        }
    }

    fn prioritise(&mut self, now: Instant, side: Side, number: u32) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let way = &mut flow.ways[side as usize];
        let wanted = priority(way.content, way.send.sent());
        if core::mem::replace(&mut way.priority, wanted) != wanted {
            let urgency = u8::try_from(wanted.unsigned_abs()).unwrap_or(u8::MAX);
            self.ends[side as usize].connection.set_priority(now, StreamId(number), urgency, false);
        }
    }

    /// Bytes of a flow's stream have arrived: the frames that are whole with them.
    fn receive(&mut self, now: Instant, side: Side, number: u32, bytes: Bytes) {
        let end = &mut self.ends[side as usize];
        end.connection.read(now, StreamId(number), bytes);
        let Some(Flow { ways }) = self.flows.get_mut(&number) else { return };
        ways[side.other() as usize].arrived += bytes;
        while let Some(mark) = ways[side.other() as usize].next_whole() {
            match mark {
                Mark::Credit(limit) => {
                    let way = &mut ways[side as usize];
                    way.send.grant(limit);
                    if core::mem::take(&mut way.waits_for_credit) {
                        end.heard.push_back(Heard::Room { flow: number });
                    }
                }
                mark => end.heard.push_back(Heard::Frame { flow: number, mark }),
            }
        }
        self.see_to_finish(now, side, number);
    }
}

impl End {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            heard: VecDeque::new(),
            wake: Wake::default(),
            dirty: VecDeque::new(),
            gathered: Bytes::ZERO,
            queue: Turns::default(),
            turn: None,
            active: 0,
        }
    }

    fn room(&self) -> Bytes {
        let buffer = send_buffer(self.connection.congestion_window());
        buffer.saturating_sub(self.connection.held() + self.gathered)
    }

    /// What a flow may write now: while others wait, when it is its turn, one frame; a frame that is begun is taken whole.
    fn room_for(&self, flow: u32) -> Bytes {
        let room = self.room();
        match self.turn {
            _ if room == Bytes::ZERO => Bytes::ZERO,
            Some(turn) if turn == flow && !self.queue.is_empty() => MAX_DATA,
            Some(turn) if turn == flow => room.max(MAX_DATA),
            None if self.queue.is_empty() => room.max(MAX_DATA),
            _ => Bytes::ZERO,
        }
    }

    /// The flow that may write next, if there is room for it.
    fn next_turn(&mut self) -> Option<u32> {
        if self.room() == Bytes::ZERO {
            return None;
        }
        let flow = self.queue.take_next()?;
        self.turn = Some(flow);
        Some(flow)
    }
}

impl Way {
    fn new(content: Content, size: Bytes) -> Self {
        Self {
            content,
            priority: USUAL,
            send: SendCredit::new(INITIAL),
            receive: ReceiveCredit::new(INITIAL, size),
            gathered: Bytes::ZERO,
            waits_for_credit: false,
            is_dirty: false,
            is_queued: false,
            frames: VecDeque::new(),
            arrived: Bytes::ZERO,
            delivered: 0,
            has_ended: false,
            is_whole: false,
        }
    }

    /// The next frame that has arrived whole.
    fn next_whole(&mut self) -> Option<Mark> {
        let (size, mark) = *self.frames.front().filter(|(size, _)| *size <= self.arrived)?;
        self.arrived -= size;
        self.frames.pop_front();
        self.is_whole |= mark == Mark::End;
        if let Mark::Data(bytes) = mark {
            let kept = self.receive.receive(self.delivered, bytes);
            debug_assert!(kept.is_ok(), "more than was granted");
            self.delivered += bytes.get();
        }
        Some(mark)
    }
}

#[cfg(test)]
mod tests;
