//! One end of a connection: what arrives, what leaves, and the timers between.

use super::acks::Acks;
use super::config::{MIN_DATAGRAM, QuicConfig};
use super::content::Content;
use super::control::{self, Control};
use super::flight::{Covered, Flight};
use super::handshake::Role;
use super::packet::{Ack, Draft, Frame, Level, Packet};
use crate::{Output, Room, StreamId};
use farhop_tcp::congestion::{DeliveryRate, RateSample};
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// RFC 9000 §8.1: a server sends at most so many times what it has received, until it knows the client's address.
const AMPLIFICATION: u64 = 3;

/// One end of a QUIC connection. Streams are opened by what is written into them, at either end.
#[derive(Debug)]
pub struct Connection {
    config: QuicConfig,
    now: Instant,
    /// When the next timer runs out, as of the last time that everything was sent.
    due: Option<Instant>,
    content: Content,
    acks: Acks,
    flight: Flight,
    control: Control,
    /// What may still be sent before the client's address is known; `None` once it is.
    allowance: Option<u64>,
    /// How much room what takes its packets has.
    room: Room,
}

impl Connection {
    /// The end that opens the connection: its first flight leaves when it is polled, with early data if that was written before.
    pub fn client(now: Instant, config: &QuicConfig) -> Self {
        Self { now, ..Self::new(Role::Client, config) }
    }

    /// The end that waits for a client.
    pub fn server(config: &QuicConfig) -> Self {
        Self::new(Role::Server, config)
    }

    fn new(role: Role, config: &QuicConfig) -> Self {
        let is_unknown = role == Role::Server && !config.address_token;
        let control = Control::new(config);
        Self {
            now: Instant::START,
            due: None,
            content: Content::new(role, config),
            acks: Acks::default(),
            flight: Flight::new(control.models_the_path()),
            control,
            allowance: is_unknown.then_some(0),
            room: Room::default(),
            config: config.clone(),
        }
    }

    /// The application has `bytes` more to send on `stream`; returns how many the send buffer took. [`Output::Room`] says when it
    /// takes more.
    pub fn write(&mut self, now: Instant, stream: StreamId, bytes: Bytes) -> Bytes {
        self.advance(now);
        self.note_starvation();
        self.content.streams.write(stream, bytes)
    }

    /// The application will send no more on `stream`.
    pub fn finish(&mut self, now: Instant, stream: StreamId) {
        self.advance(now);
        self.content.streams.finish(stream);
    }

    /// The application has read `bytes` of what was received on `stream`.
    pub fn read(&mut self, now: Instant, stream: StreamId, bytes: Bytes) {
        self.advance(now);
        self.content.streams.read(stream, bytes);
    }

    /// Only this end sends on `stream` (RFC 9000 §2.1); [`Connection::receive_only`] is for the other end, before anything passes.
    pub fn send_only(&mut self, now: Instant, stream: StreamId) {
        self.advance(now);
        self.content.streams.set_one_way(stream, true);
    }

    /// Only the other end sends on `stream`.
    pub fn receive_only(&mut self, now: Instant, stream: StreamId) {
        self.advance(now);
        self.content.streams.set_one_way(stream, false);
    }

    /// From now on `stream` has this urgency, 0 the most urgent, 3 unless set, and is `incremental` if its parts are of use before the
    /// whole is there (RFC 9218 §4); both count under [`super::Order::Urgency`].
    pub fn set_priority(&mut self, now: Instant, stream: StreamId, urgency: u8, incremental: bool) {
        self.advance(now);
        self.content.streams.set_priority(stream, urgency, incremental);
    }

    /// What takes this end's packets has so much room for those that have not been polled. Nothing leaves while a full packet does not
    /// fit: what waits, waits here, in the order of its urgency, and no timer runs for it.
    pub fn set_room(&mut self, now: Instant, room: Room) {
        self.advance(now);
        self.room = room.without_all(&self.content.outputs, Packet::wire_bytes);
    }

    /// Whether nothing leaves for want of room.
    pub fn awaits_room(&self) -> bool {
        !self.room.takes(Bytes::new(self.config.datagram_bytes()) + control::ENCAPSULATION.header_bytes())
    }

    /// A datagram from the other end arrived.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.advance(now);
        if packet.has(Level::Handshake) {
            self.allowance = None;
        }
        self.allowance = self.allowance.map(|allowance| allowance + AMPLIFICATION * u64::from(packet.size));
        self.content.handshake.speed_up(packet);
        self.receive_messages(packet);
        let levels = [Level::Initial, Level::ZeroRtt, Level::Handshake, Level::OneRtt];
        if levels.iter().any(|level| packet.has(*level) && !self.content.handshake.can_read(*level)) {
            return;
        }
        self.acks.note(self.now, packet, &self.config);
        if let Some(ack) = packet.ack() {
            self.handle_ack(ack);
        }
        for frame in packet.frames() {
            self.content.receive(self.now, frame);
        }
    }

    fn receive_messages(&mut self, packet: &Packet) {
        for frame in packet.frames() {
            if let Frame::Crypto { offset, length } = *frame
                && self.content.handshake.receive(offset, length.into())
            {
                self.content.outputs.push_back(Output::Connected { at: self.now, stream: None });
            }
        }
    }

    fn handle_ack(&mut self, ack: &Ack) {
        let (now, since) = (self.now, self.control.counts_from());
        let before = (self.flight.in_flight(), self.flight.lost());
        let content = &mut self.content;
        let delay = self.config.max_ack_delay;
        let covered = self.flight.acknowledge(now, ack, delay, since, |frame| content.arrived(now, frame));
        if covered.is_new {
            let (next, rtt) = (self.flight.next_number(), self.flight.rtt.smoothed());
            self.control.handle_acknowledged(now, &covered, ack.largest(), next, rtt);
            self.detect_lost();
            self.follow_sample(&covered, before);
        }
    }

    /// The controller sees how fast data is delivered, if it asks. `before` the acknowledgement so much was on the way, and had been lost.
    fn follow_sample(&mut self, covered: &Covered, before: (u64, u64)) {
        let Flight { rate: Some(rate), rtt, .. } = &mut self.flight else { return };
        let sample = rate.sample(self.now, Bytes::new(covered.delivered), rtt.min().unwrap_or_default());
        let (in_flight, lost) = (self.flight.in_flight(), self.flight.lost());
        let sample = RateSample {
            rtt: covered.path_rtt,
            total_lost: Bytes::new(lost),
            newly_lost: Bytes::new(lost - before.1),
            prior_in_flight: Bytes::new(before.0),
            in_flight: Bytes::new(in_flight),
            smoothed_rtt: self.flight.rtt.smoothed(),
            ..sample
        };
        if self.control.follow_sample(&sample) {
            self.starve();
        }
    }

    /// Until what is on the way now has arrived, rates say little.
    fn starve(&mut self) {
        let in_flight = Bytes::new(self.flight.in_flight());
        if let Some(rate) = &mut self.flight.rate {
            rate.starve(in_flight);
        }
    }

    /// Until now the application had nothing to send that the window would have let out.
    fn note_starvation(&mut self) {
        let asks = self.flight.rate.is_some();
        if asks && !self.content.wants() && self.control.has_room(self.flight.in_flight()) {
            self.starve();
        }
    }

    fn detect_lost(&mut self) {
        let content = &mut self.content;
        let max_delay = self.config.max_ack_delay;
        let losses = self.flight.detect_lost(self.now, max_delay, |frame| content.lose(frame));
        self.control.handle_lost(losses, self.flight.next_number(), self.flight.rtt.smoothed());
    }

    /// Runs every timer that is due at or before `now`, at the time it was due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// When [`Connection::handle_timeout`] is to be called next; true once everything has been polled.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// The next thing to tell the owner.
    pub fn poll(&mut self) -> Option<Output<Packet>> {
        if self.content.outputs.is_empty() {
            self.flush();
        }
        self.content.outputs.pop_front()
    }

    /// How much a stream's send buffer takes now.
    pub fn room(&self, stream: StreamId) -> Bytes {
        self.content.streams.room(stream)
    }

    /// What a stream's send buffer holds, unsent or unacknowledged.
    pub fn unacknowledged(&self, stream: StreamId) -> Bytes {
        self.content.streams.unacknowledged(stream)
    }

    /// What the send buffers of all streams hold, unsent or unacknowledged.
    pub fn held(&self) -> Bytes {
        self.content.streams.held()
    }

    /// What may be on the way at once.
    pub fn congestion_window(&self) -> Bytes {
        self.control.window()
    }

    /// Where slow start ends (RFC 9002 §7.3: ssthresh); `None` until that is known.
    pub fn threshold(&self) -> Option<Bytes> {
        self.control.threshold()
    }

    /// The smoothed round-trip time (RFC 9002 §5.3: smoothed_rtt); `None` until one was measured.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.flight.rtt.smoothed()
    }

    /// Bytes of datagrams on the way, IP and UDP headers excluded.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.flight.in_flight())
    }

    fn next_due(&self) -> Option<Instant> {
        let ack_due = self.acks.due().filter(|_| !self.is_gagged());
        [self.flight_due(), ack_due, self.pace_due()].into_iter().flatten().min()
    }

    fn flight_due(&self) -> Option<Instant> {
        if self.is_gagged() {
            return None;
        }
        let handshake = &self.content.handshake;
        // RFC 9002 §6.2.2.1: a server that may not send waits for the client to go on.
        let waits = handshake.role == Role::Client && !handshake.is_confirmed;
        let delay = if handshake.is_complete() { self.config.max_ack_delay } else { Default::default() };
        self.flight.due(waits, delay)
    }

    /// When the pace lets out what the window does.
    fn pace_due(&self) -> Option<Instant> {
        let paced = Some(self.control.paced()).filter(|paced| *paced > self.now)?;
        let has_room = self.control.has_room(self.flight.in_flight()) || self.all_fits();
        (has_room && self.content.wants() && !self.is_gagged()).then_some(paced)
    }

    /// Whether nothing may leave: there is no room for it, or the client's address is not known and all is sent that may be before.
    fn is_gagged(&self) -> bool {
        // Less than the smallest packets is not worth sending.
        self.awaits_room() || self.allowance.is_some_and(|allowance| allowance < MIN_DATAGRAM / 10)
    }

    /// Runs the clock up to `now`. What happens at one instant is sent together, when it is polled.
    fn advance(&mut self, now: Instant) {
        if now > self.now {
            self.flush();
        }
        while let Some(due) = self.due.filter(|due| *due <= now) {
            self.now = self.now.max(due);
            if self.flight_due().is_some_and(|due| due <= self.now) {
                self.handle_silence();
            }
            self.flush();
        }
        self.now = self.now.max(now);
    }

    fn handle_silence(&mut self) {
        if self.flight.is_losing() {
            self.detect_lost();
            return;
        }
        let content = &mut self.content;
        if !content.handshake.is_confirmed {
            content.handshake.outgoing.lose_all();
        }
        self.flight.handle_timeout(self.now, |frame| content.lose(frame));
    }

    fn flush(&mut self) {
        while let Some(packet) = self.next_packet() {
            self.content.outputs.push_back(Output::Transmit { at: self.now, packet });
        }
        self.due = self.next_due();
    }

    /// The next datagram that may leave now.
    fn next_packet(&mut self) -> Option<Packet> {
        let may_send = self.may_send_data();
        let ack_due = self.acks.due().is_some_and(|due| due <= self.now);
        if self.is_gagged() || !(may_send || ack_due) {
            return None;
        }
        let full = self.config.datagram_bytes();
        let number = u32::try_from(self.flight.next_number()).unwrap_or(u32::MAX);
        let mut draft = Draft::new(number, self.allowance.map_or(full, |allowance| allowance.min(full)));
        self.add_ack(&mut draft);
        if may_send {
            self.content.fill(&mut draft);
            if self.flight.is_probing() && !draft.is_eliciting() {
                draft.add(self.content.handshake.control_level(), Frame::Ping, 0);
                self.flight.end_probing();
            }
        }
        if draft.is_empty() {
            return None;
        }
        // RFC 9000 §14.1: datagrams with Initial packets that ask for an answer, and all of a client's, are of full size.
        let packet = draft.finish(MIN_DATAGRAM);
        self.note_sent(&packet);
        Some(packet)
    }

    /// Whether there may be data that window and pace let out, or silence asks for some.
    fn may_send_data(&mut self) -> bool {
        if self.flight.is_probing() {
            return true;
        }
        let (wants, fits) = (self.content.wants(), self.all_fits());
        wants && self.control.may_send(self.now, self.flight.in_flight(), fits)
    }

    /// Whether the window has room for all that is to be sent, though not for a full packet: then that waits for no company. With more it does, lest
    /// packets become ever smaller.
    fn all_fits(&self) -> bool {
        let room = self.control.room(self.flight.in_flight());
        // Before, datagrams are filled up.
        if room >= self.config.datagram_bytes() || !self.content.handshake.is_complete() {
            return false;
        }
        let ack = Some(&self.acks).filter(|acks| acks.is_waiting()).and_then(|acks| acks.ack(self.now));
        let beside = Level::OneRtt.overhead() + ack.map_or(0, |ack| ack.bytes());
        room.checked_sub(beside).is_some_and(|room| self.content.fits(room))
    }

    fn add_ack(&mut self, draft: &mut Draft) {
        if !self.acks.is_waiting() {
            return;
        }
        let Some(ack) = self.acks.ack(self.now) else { return };
        let handshake = &mut self.content.handshake;
        let level = handshake.control_level();
        if level == Level::Handshake && handshake.leave_initial() {
            draft.add_level(Level::Initial);
        }
        if draft.add_ack(level, ack) {
            self.acks.sent();
        }
    }

    fn note_sent(&mut self, packet: &Packet) {
        if packet.is_eliciting() && self.flight.in_flight() == 0 {
            let starved = self.flight.rate.as_ref().is_some_and(DeliveryRate::is_starved);
            let idle = self.flight.idle(self.now);
            self.control.restart((self.now, idle), starved, self.flight.rtt.smoothed());
        }
        self.flight.sent(self.now, packet);
        self.control.sent(self.now, Bytes::new(packet.size.into()), packet.is_eliciting());
        self.allowance = self.allowance.map(|allowance| allowance.saturating_sub(packet.size.into()));
        self.room = self.room.without(packet.wire_bytes());
    }
}
