//! What happens while a log is replayed.

use super::connection::{Connection, Parcel, Use};
use super::{ReplayConfig, Replayed};
use crate::engine::EventQueue;
use crate::error::{MOST_LEGS, PATIENCE, SimError};
use crate::metrics::Histogram;
use crate::network::Side;
use crate::slab::Slab;
use farhop_link::{Channel, Direction, Output as Outcome};
use farhop_tcp::{Output, TcpConfig};
use farhop_transport::StreamId;
use farhop_transport::multiplex::pick;
use farhop_units::{Bytes, Instant};
use farhop_web::logs::{Host, Hosts, LogRecord};
use std::collections::BTreeMap;
use std::time::Duration;

/// The log begins when connections between proxies have long been there.
const HEAD_START: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
enum Event {
    Link,
    End {
        connection: u32,
        side: Side,
    },
    /// A request of the log arrives.
    Request(u32),
    /// A server releases the next segment of a reply.
    Reply(u32),
    /// A connection has been idle since the moment of this number.
    Idle {
        connection: u32,
        moment: u64,
    },
    /// So has a server's connection with the fast end's proxy.
    IdleSession {
        host: u32,
        moment: u64,
    },
}

/// A request of the log.
#[derive(Debug)]
struct Request {
    at: Instant,
    host: u32,
    is_sample: bool,
    size: Bytes,
    reply: Bytes,
    /// The recorded time.
    takes: Duration,
    /// Bytes of the request that have not reached the server.
    unread: Bytes,
    /// When the server had the request.
    asked: Instant,
    released: Bytes,
    received: Bytes,
    /// The connection over which it goes, later that of the reply.
    connection: Option<u32>,
}

/// A server, as the host file has it.
#[derive(Debug)]
struct Server {
    tcp: TcpConfig,
    segment: Bytes,
    /// Idle connections, or with a proxy at the fast end idle sessions of it, by the moment since which they are.
    idle: Vec<(u64, u32)>,
}

/// The link, the connections over it, and what is asked.
pub(super) struct World<'a> {
    config: &'a ReplayConfig,
    now: Instant,
    events: EventQueue<Event>,
    link: Channel<Parcel>,
    link_wake: Option<Instant>,
    connections: Slab<Connection>,
    /// Between the proxies.
    shared: Vec<u32>,
    requests: Vec<Request>,
    servers: Vec<Server>,
    touched: Vec<(u32, Side)>,
    moments: u64,
    sessions: usize,
    latencies: Histogram,
    answered: u64,
    peak_buffer: Bytes,
    peak_sessions: usize,
}

impl<'a> World<'a> {
    pub(super) fn new(config: &'a ReplayConfig, records: &[LogRecord], hosts: &Hosts) -> Self {
        let mut world = Self {
            config,
            now: Instant::START,
            events: EventQueue::new(),
            link: Channel::new(config.link.clone(), config.seed),
            link_wake: None,
            connections: Slab::new(),
            shared: Vec::new(),
            requests: Vec::new(),
            servers: Vec::new(),
            touched: Vec::new(),
            moments: 0,
            sessions: 0,
            latencies: Histogram::default(),
            answered: 0,
            peak_buffer: Bytes::ZERO,
            peak_sessions: 0,
        };
        let begin = records.iter().map(|record| record.at).min().unwrap_or_default();
        let mut places = BTreeMap::new();
        for record in records {
            let name = record.host().unwrap_or_default();
            let host = *places.entry(name).or_insert_with(|| world.add_server(hosts.named(name)));
            world.add_request(record, host, begin);
        }
        world
    }

    fn add_server(&mut self, host: Option<&Host>) -> u32 {
        let (window, segment) =
            host.map_or((Hosts::COMMON_WINDOW, Hosts::COMMON_MSS), |host| (host.max_window, host.mss));
        let own = self.config.tcp.max_window;
        // A window holds a segment at least.
        let window = own.map_or(window, |own| own.min(window)).max(segment);
        let tcp = TcpConfig { max_window: Some(window), mss: segment, ..self.config.tcp };
        self.servers.push(Server { tcp, segment, idle: Vec::new() });
        u32::try_from(self.servers.len() - 1).expect("memory is full before")
    }

    fn add_request(&mut self, record: &LogRecord, host: u32, begin: Duration) {
        let number = u32::try_from(self.requests.len()).expect("memory is full before");
        let at = Instant::START + HEAD_START + (record.at - begin);
        let size = record.request_bytes.unwrap_or(Bytes::ZERO).max(Bytes::new(1));
        self.requests.push(Request {
            at,
            host,
            is_sample: record.layer == 0,
            size,
            reply: record.reply_bytes.max(Bytes::new(1)),
            takes: record.duration.unwrap_or_default().mul_f64(self.config.server_time.max(0.0)),
            unread: size,
            asked: at,
            released: Bytes::ZERO,
            received: Bytes::ZERO,
            connection: None,
        });
        self.events.push(at, Event::Request(number));
    }

    /// Replays it all.
    pub(super) fn run(mut self) -> Result<Replayed, SimError> {
        for _ in 0..self.config.proxies.unwrap_or(0) {
            let connection = Connection::open(self.now, &self.config.tcp, 0, Connection::shared())?;
            let place = self.connections.insert(connection);
            self.shared.push(place);
            self.touched.push((place, Side::Near));
            self.settle();
        }
        let last = self.requests.iter().map(|request| request.at).max().unwrap_or(self.now);
        let mut carried = None;
        while let Some((at, event)) = self.events.pop() {
            if at > last && carried.is_none() {
                carried = Some(self.link.counters(Direction::Down).delivered.bytes);
            }
            if at > last + PATIENCE || self.answered == self.requests.len() as u64 {
                break;
            }
            self.now = at;
            self.handle(event)?;
            self.settle();
        }
        Ok(self.conclude(last, carried))
    }

    fn conclude(&mut self, last: Instant, carried: Option<Bytes>) -> Replayed {
        let counters = self.link.counters(Direction::Down);
        let carried = carried.unwrap_or(counters.delivered.bytes);
        let span = last - (Instant::START + HEAD_START);
        let used = self.config.link.down.rate.map(|rate| carried.bits_f64() / (rate.as_f64() * span.as_secs_f64()));
        Replayed {
            latencies: core::mem::take(&mut self.latencies),
            answered: self.answered,
            unanswered: self.requests.len() as u64 - self.answered,
            peak_buffer: self.peak_buffer,
            dropped: counters.dropped.packets + self.link.counters(Direction::Up).dropped.packets,
            peak_sessions: self.peak_sessions,
            used: used.filter(|used| used.is_finite()),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), SimError> {
        match event {
            Event::Link => {
                if self.link_wake.take_if(|wake| *wake == self.now).is_some() {
                    self.link.handle_timeout(self.now);
                }
            }
            Event::End { connection, side } => {
                if self.connections[connection].handle_timeout(self.now, side) {
                    self.touched.push((connection, side));
                }
            }
            Event::Request(number) if self.shared.is_empty() => self.ask_server(number)?,
            Event::Request(number) => self.ask_proxy(number),
            Event::Reply(number) => self.release(number),
            Event::Idle { connection, moment } => self.idle_out(connection, moment),
            Event::IdleSession { host, moment } => {
                if forget(&mut self.servers[host as usize].idle, moment) {
                    self.sessions -= 1;
                }
            }
        }
        Ok(())
    }

    /// Does everything that can be done now.
    fn settle(&mut self) {
        loop {
            if let Some((connection, side)) = self.touched.pop() {
                self.drain(connection, side);
            } else if let Some(outcome) = self.link.poll() {
                self.arrive(outcome);
            } else {
                break;
            }
        }
        let due = self.link.next_timeout().filter(|due| self.link_wake.is_none_or(|wake| *due < wake));
        if let Some(due) = due {
            self.link_wake = Some(due);
            self.events.push(due, Event::Link);
        }
    }

    fn arrive(&mut self, outcome: Outcome<Parcel>) {
        let (parcel, is_there) = match outcome {
            Outcome::Deliver { packet, .. } => (packet, true),
            Outcome::Drop { packet, .. } => (packet, false),
        };
        let (connection, side) = (&mut self.connections[parcel.connection], parcel.from.other());
        connection.landed();
        if is_there {
            connection.handle_segment(self.now, side, &parcel.segment);
        }
        self.touched.push((parcel.connection, side));
    }

    /// Takes in all that an end has to say, then sees to its timer.
    fn drain(&mut self, place: u32, side: Side) {
        while let Some(output) = self.connections[place].poll(side) {
            match output {
                Output::Transmit { segment, .. } => {
                    self.connections[place].sent();
                    let parcel = Parcel { connection: place, from: side, segment };
                    self.link.handle_packet(self.now, parcel.port(), parcel);
                    if side == Side::Far {
                        let queued = self.link.counters(Direction::Down).queued.bytes;
                        self.peak_buffer = self.peak_buffer.max(queued);
                    }
                }
                Output::Connected { .. } => self.connected(place, side),
                Output::Received { bytes, .. } => self.received(place, side, bytes),
                Output::Finished { .. } => {
                    self.connections[place].close(self.now, side);
                }
                Output::Closed { .. } => self.connections[place].closed(side),
            }
        }
        if let Some(due) = self.connections[place].rearm(side) {
            self.events.push(due, Event::End { connection: place, side });
        }
        if self.connections[place].ends_now() {
            self.connections.release(place);
            self.sessions -= 1;
        }
    }

    /// A request goes to its server: over an idle connection, or a new one.
    fn ask_server(&mut self, number: u32) -> Result<(), SimError> {
        let host = self.requests[number as usize].host;
        let server = &mut self.servers[host as usize];
        let place = if let Some((_, idle)) = server.idle.pop() {
            self.connections[idle].used_by = Use::Request(number);
            self.send_request(idle, number);
            idle
        } else {
            if self.connections.len() >= MOST_LEGS {
                return Err(SimError::TooManyLegs(self.now - Instant::START));
            }
            let connection = Connection::open(self.now, &server.tcp, host, Use::Request(number))?;
            self.add_session();
            self.connections.insert(connection)
        };
        self.requests[number as usize].connection = Some(place);
        self.touched.push((place, Side::Near));
        Ok(())
    }

    fn connected(&mut self, place: u32, side: Side) {
        if let (Side::Near, Use::Request(number)) = (side, &self.connections[place].used_by) {
            self.send_request(place, *number);
        }
    }

    fn send_request(&mut self, place: u32, number: u32) {
        let size = self.requests[number as usize].size;
        self.connections[place].write(self.now, Side::Near, size);
    }

    /// A request goes to the proxy at the fast end.
    fn ask_proxy(&mut self, number: u32) {
        let Some(place) = self.least_burdened(Side::Near) else { return };
        let size = self.requests[number as usize].size;
        let connection = &mut self.connections[place];
        if let Use::Shared { up, .. } = &mut connection.used_by {
            let bytes = up.push(StreamId(number), size, true);
            connection.write(self.now, Side::Near, bytes);
            self.touched.push((place, Side::Near));
        }
    }

    /// The connection between the proxies with the fewest bytes waiting or unacknowledged at one end.
    fn least_burdened(&self, side: Side) -> Option<u32> {
        let burdens: Vec<Bytes> = self.shared.iter().map(|place| self.connections[*place].outstanding(side)).collect();
        pick(&burdens).map(|index| self.shared[index])
    }

    fn received(&mut self, place: u32, side: Side, bytes: Bytes) {
        match &mut self.connections[place].used_by {
            Use::Request(number) => {
                let number = *number;
                self.took(number, side, bytes);
            }
            Use::Shared { up, down } => {
                let lane = if side == Side::Far { up } else { down };
                lane.receive(bytes);
                let pieces: Vec<_> = std::iter::from_fn(|| lane.next_piece()).collect();
                pieces.into_iter().for_each(|piece| self.took(piece.exchange.0, side, piece.bytes));
            }
            Use::Idle(_) | Use::Over => {}
        }
    }

    /// A part of a request has reached the far side, or of a reply the near one.
    fn took(&mut self, number: u32, side: Side, bytes: Bytes) {
        let request = &mut self.requests[number as usize];
        if side == Side::Near {
            request.received += bytes;
            if request.received >= request.reply {
                self.finish(number);
            }
            return;
        }
        request.unread -= bytes.min(request.unread);
        if request.unread == Bytes::ZERO {
            request.asked = self.now;
            let host = request.host as usize;
            if !self.shared.is_empty() && self.servers[host].idle.pop().is_none() {
                self.add_session();
            }
            self.schedule_release(number);
        }
    }

    /// Schedules the next segment of a reply, so that the last one is released when the recorded time is over.
    fn schedule_release(&mut self, number: u32) {
        let request = &self.requests[number as usize];
        let segment = self.servers[request.host as usize].segment;
        let until = (request.released + segment).min(request.reply);
        let due = request.asked + request.takes.mul_f64(until.as_f64() / request.reply.as_f64());
        self.events.push(due.max(self.now), Event::Reply(number));
    }

    fn release(&mut self, number: u32) {
        let burdens = !self.shared.is_empty();
        if burdens && self.requests[number as usize].connection.is_none() {
            self.requests[number as usize].connection = self.least_burdened(Side::Far);
        }
        let request = &mut self.requests[number as usize];
        let Some(place) = request.connection else { return };
        let bytes = self.servers[request.host as usize].segment.min(request.reply - request.released);
        request.released += bytes;
        let is_last = request.released == request.reply;
        let connection = &mut self.connections[place];
        let written = match &mut connection.used_by {
            Use::Shared { down, .. } => down.push(StreamId(number), bytes, is_last),
            _ => bytes,
        };
        connection.write(self.now, Side::Far, written);
        if is_last && !burdens && self.config.persistence.is_none() {
            connection.close(self.now, Side::Far);
        }
        self.touched.push((place, Side::Far));
        if !is_last {
            self.schedule_release(number);
        } else if burdens {
            self.end_session(number);
        }
    }

    /// The server has answered the fast end's proxy.
    fn end_session(&mut self, number: u32) {
        let host = self.requests[number as usize].host;
        match self.config.persistence {
            None => self.sessions -= 1,
            Some(persistence) => {
                let moment = self.next_moment();
                self.servers[host as usize].idle.push((moment, 0));
                self.events.push(self.now + persistence, Event::IdleSession { host, moment });
            }
        }
    }

    /// The reply is there.
    fn finish(&mut self, number: u32) {
        let request = &self.requests[number as usize];
        self.answered += 1;
        if request.is_sample {
            self.latencies.add(self.now - request.at);
        }
        let (Some(place), Some(persistence), true) =
            (request.connection, self.config.persistence, self.shared.is_empty())
        else {
            return;
        };
        let (host, moment) = (request.host, self.next_moment());
        self.connections[place].used_by = Use::Idle(moment);
        self.servers[host as usize].idle.push((moment, place));
        self.events.push(self.now + persistence, Event::Idle { connection: place, moment });
    }

    /// Closes a connection that is still idle.
    fn idle_out(&mut self, place: u32, moment: u64) {
        let connection = &mut self.connections[place];
        if matches!(connection.used_by, Use::Idle(since) if since == moment) {
            forget(&mut self.servers[connection.host as usize].idle, moment);
            connection.close(self.now, Side::Near);
            self.touched.push((place, Side::Near));
        }
    }

    fn next_moment(&mut self) -> u64 {
        self.moments += 1;
        self.moments
    }

    fn add_session(&mut self) {
        self.sessions += 1;
        self.peak_sessions = self.peak_sessions.max(self.sessions);
    }
}

/// Forgets what has been idle since this moment; returns whether it was there.
fn forget(idle: &mut Vec<(u64, u32)>, moment: u64) -> bool {
    let place = idle.iter().position(|(since, _)| *since == moment);
    place.map(|place| idle.remove(place)).is_some()
}
