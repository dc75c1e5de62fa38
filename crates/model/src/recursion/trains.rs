//! Trains: packets of one connection one behind the other of which nothing comes but acknowledgements, or with those nothing at all.
//!
//! Client and server know of each other by packets alone, which come in the order in which they were sent. So what one side does with
//! a train may be done at once, ahead of what happens on the other side in the meantime, as long as nothing else is due on its own:
//! no timer, no plan of the browser, no answer that is ready. Only where rounds may repeat ([`super::skip`]) both sides stay at one time.

use super::browser::Browser;
use super::connection::{Chunk, Connection, Content, Kind, Packet, Side, Turns};
use super::load::{Buffers, HEADERS, Load, Mode};
use super::parameters::Control;
use super::route::Passage;
use super::sender::Piece;
use super::skip::LEAST_SKIP;
use super::ticks::Ticks;

/// Segments that leave before it is seen whether there are too many.
const LONGEST: u64 = 1 << 10;

impl Packet {
    /// Whether it is one more segment of the connection at `place`, which is its `generation`'s.
    fn continues(&self, place: usize, generation: u32) -> bool {
        self.kind == Kind::Segment && self.place() == place && self.generation == generation
    }
}

impl Load<'_> {
    /// The server sends what follows `first` and is like it.
    #[inline(always)]
    pub(crate) fn send_train(&mut self, place: usize, first: &Piece) {
        if self.has_trains && !self.gave_up && first.payload == self.mss && self.turns != Turns::Segments {
            self.send_following(place);
        }
    }

    #[inline(never)]
    fn send_following(&mut self, place: usize) {
        if self.parameters.control == Control::FixedRate {
            self.leave_out_at_set_rate(place);
        }
        let (now, mss) = (self.now, self.mss);
        let connection = &mut self.buffers.connections[place];
        let count = connection.server.sender.following(connection.left_of_turn()).min(LONGEST);
        if count == 0 {
            return;
        }
        // They carry the acknowledgement that the first one does, which was not late for them.
        let Some(first) = self.buffers.down.back() else { return };
        let packet = Packet { late: (Ticks::ZERO, Ticks::ZERO), ..*first };
        let (mut sent, mut found_idle) = (0, false);
        while sent < count && !self.gave_up {
            let mut start = connection.server.sender.next;
            let (leaving, every) = connection.server.sender.follow(now, count - sent);
            if leaving == 0 {
                break;
            }
            sent += leaving;
            let (queue, mut to_push) = (&mut self.buffers.down, every);
            let is_dropped = self.down.pass_behind(now, leaving, mss + HEADERS, |passage| {
                found_idle |= passage.found_idle;
                to_push -= 1;
                let Passage { arrival, waited, served, .. } = passage;
                let link = waited + served.rounded_up();
                queue.push(Packet { start, push: to_push == 0, arrival, waited, link, ..packet });
                to_push = if to_push == 0 { every } else { to_push };
                start += mss;
            });
            self.gave_up = is_dropped && self.mode == Mode::Wary;
        }
        self.skipping.note_followers(sent, found_idle);
        let connection = &mut self.buffers.connections[place];
        connection.server.sender.note_departure(now);
        connection.take_more(sent * mss);
    }

    /// The client takes in the data that follows on a connection, as far as the browser makes nothing of it.
    #[inline(always)]
    pub(crate) fn take_in_train(&mut self, place: usize) {
        if self.has_trains
            && self.near.is_none()
            && self.buffers.down.front().is_some_and(|packet| packet.place() == place)
            && self.buffers.connections[place].client_only_listens()
        {
            self.take_in_data(place);
        }
    }

    #[inline(never)]
    fn take_in_data(&mut self, place: usize) {
        // What repeats is looked for in the state of both sides at one time.
        let (mut alone, may_repeat) = (self.alone_until(), self.may_repeat());
        let Buffers { down, up, connections, making, browser, .. } = &mut *self.buffers;
        let connection = &mut connections[place];
        let Some((object, quiet)) = connection.quietly_read(browser) else { return };
        let (generation, mut timeout) = (connection.generation, connection.client.sender.timeout());
        let making = making.front().map_or(Ticks::NEVER, |making| making.ready);
        let first_up = up.front().map_or(Ticks::NEVER, |packet| packet.arrival);
        let mut last = if may_repeat { making.min(first_up) } else { Ticks::NEVER };
        let (mut taken, mut count, mut heard, mut hears_more) = (0, 0, None, false);
        for packet in down.waiting() {
            let (now, payload) = (packet.arrival, packet.payload());
            let ends = !packet.continues(place, generation) || payload == 0 || taken + payload > quiet;
            if ends || now >= alone || now > last || connection.client.acks_at(now) {
                break;
            }
            let ack = (packet.ack.up_to, packet.ack.offer);
            if heard != Some(ack) {
                // The same again is no news to a client that has nothing to send.
                if now > connection.client.sender.timer_ends() {
                    break;
                }
                connection.client.sender.on_ack(now, &packet.ack);
                let client = &connection.client;
                (heard, timeout) = (Some(ack), client.sender.timeout());
                (hears_more, alone) = (client.sender.in_flight() > 0, alone.min(client.deadlines()));
            }
            (self.now, taken, count) = (now, taken + payload, count + 1);
            connection.client.listen(now, packet, timeout);
            if self.explains {
                connection.note_arrival(now, packet, self.rtt);
            }
            if connection.client.acks_at(now) {
                let passage = self.up.pass(now, HEADERS);
                self.skipping.note(Side::Client, passage.found_idle);
                let ack = connection.client.acknowledge(now, false);
                if may_repeat && up.front().is_none() {
                    last = making.min(passage.arrival);
                }
                let Passage { arrival, waited, .. } = passage;
                up.push(Packet { generation, arrival, waited, ack, ..Packet::bare(place, now) });
                if passage.is_dropped && self.mode == Mode::Wary {
                    self.gave_up = true;
                    break;
                }
            }
            if hears_more {
                connection.settle_timer(Side::Client, now);
            } else {
                connection.settle_delay(now);
            }
        }
        down.pass(count);
        connection.read_quietly(browser, object, taken);
        self.set_timer(place, Side::Client);
    }

    /// Whether a server has so much to send that what it does may repeat, or may be given it.
    fn may_repeat(&self) -> bool {
        let Buffers { connections, making, .. } = &*self.buffers;
        let (least, shares) = (LEAST_SKIP * self.mss, self.parameters.most_on_connection() > 1);
        let mut open = connections.iter().filter(|connection| connection.open);
        (shares && !making.is_empty())
            || open.any(|each| each.server.sender.unsent() >= least || (shares && !each.asked.is_empty()))
    }

    /// Nothing is done before this that no packet asks for.
    fn alone_until(&self) -> Ticks {
        let planned = self.buffers.plans.front().map_or(Ticks::NEVER, |plan| plan.due);
        self.buffers.timers.bound().min(planned)
    }

    /// The server takes in the acknowledgements that follow on a connection on which it has nothing to send.
    #[inline(always)]
    pub(crate) fn take_in_acks(&mut self, place: usize) {
        if self.has_trains
            && self.buffers.up.front().is_some_and(|packet| packet.place() == place)
            && self.buffers.connections[place].server_only_listens()
        {
            self.take_in_acknowledgements(place);
        }
    }

    #[inline(never)]
    fn take_in_acknowledgements(&mut self, place: usize) {
        let alone = self.alone_until();
        let Buffers { up, connections, making, .. } = &mut *self.buffers;
        let connection = &mut connections[place];
        let making = making.front().map_or(Ticks::NEVER, |making| making.ready);
        let (least, mut punctual) = (connection.server.sender.least_timeout(), connection.server.sender.timer_ends());
        let mut count = 0;
        for packet in up.waiting() {
            let now = packet.arrival;
            let ends = !packet.continues(place, connection.generation) || packet.payload > 0 || now >= alone;
            if ends || now > making || now > punctual || !connection.server.hear_more(now, packet) {
                break;
            }
            connection.late = (packet.ack.held, packet.waited);
            (self.now, count, punctual) = (now, count + 1, now + least);
        }
        if count > 0 {
            up.pass(count);
            connection.server.sender.restart_timers(self.now);
            self.set_timer(place, Side::Server);
        }
    }
}

impl Connection {
    /// Whether the client has nothing to send.
    fn client_only_listens(&self) -> bool {
        self.client.sender.is_at_rest()
    }

    /// Whether the server has nothing to send.
    fn server_only_listens(&self) -> bool {
        self.server.sender.is_at_rest() && self.server.receiver.due == Ticks::NEVER
    }

    /// How much of which object may still arrive without anything coming of it.
    fn quietly_read(&self, browser: &Browser) -> Option<(usize, u64)> {
        let Chunk { content: Content::Object(object), bytes } = *self.stream.front()? else { return None };
        Some((object, browser.quiet(object).min(bytes.saturating_sub(1))))
    }

    /// So much of it has arrived.
    fn read_quietly(&mut self, browser: &mut Browser, object: usize, bytes: u64) {
        browser.objects[object].come += bytes;
        if let Some(chunk) = self.stream.front_mut() {
            chunk.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recursion;
    use super::super::load::Ending;
    use super::super::parameters::{Flow, Parameters};
    use super::super::workload::{Workload, WorkloadObject};
    use super::*;
    use farhop_results::Architecture;
    use farhop_units::{Bytes, Rate};
    use proptest::prelude::*;

    /// When each object began and ended, what the last byte waited for, and how the load ended.
    fn told(parameters: &Parameters, workload: &Workload, mode: Mode, has_trains: bool) -> String {
        let mut recursion = Recursion::new();
        let mut load = Load::new(parameters, workload, &mut recursion.buffers, mode);
        load.has_trains &= has_trains;
        let ending = load.run();
        let path = recursion.buffers.browser.critical_path([0; 2]);
        let objects: Vec<_> = recursion.objects().collect();
        if ending == Ending::Complete { format!("{path:?} {objects:?}") } else { format!("{ending:?}") }
    }

    /// From 2ⁿ on, as often in each power of two.
    fn about(powers: core::ops::Range<u32>) -> impl Strategy<Value = u64> {
        (powers, 0..64_u64).prop_map(|(power, part)| (1 << power) + ((part << power) >> 6))
    }

    proptest! {
        #[test]
        fn trains_arrive_when_their_packets_do(
            (rate, up_rate, delay, up_delay) in (about(6..17), about(5..17), about(0..9), about(0..9)),
            (wan, lan) in (0..40_u64, 0..4_u64),
            (profile, congestion, version) in (0..3_usize, 0..4_usize, 0..5_usize),
            (architecture, wary, queue) in (0..Architecture::ALL.len(), any::<bool>(), about(2..12)),
            (window, connections, flow) in (prop::option::of(about(11..20)), 1..8_u64, prop::option::of(about(6..15))),
            sizes in prop::collection::vec((about(0..21), any::<bool>(), 0..4000_u64), 1..12),
        ) {
            let profile = ["linux", "rfc", "bsd-1997"][profile];
            let congestion = ["cubic", "reno", "newreno", "bbr"][congestion];
            let version = ["1.1", "1.0", "1.1-pipelined", "2", "3"][version];
            let mut assignments = vec![
                format!("link.down.rate={rate} kbit/s"),
                format!("link.up.rate={up_rate} kbit/s"),
                format!("link.down.delay={delay} ms"),
                format!("link.up.delay={up_delay} ms"),
                format!("wan.delay={wan} ms"),
                format!("lan.delay={lan} ms"),
                format!("link.down.queue={queue} packets"),
                format!("tcp.profile={profile}"),
                format!("tcp.congestion={congestion}"),
                format!("http.version={version}"),
            ];
            if matches!(version, "1.0" | "1.1") {
                assignments.push(format!("http.connections={connections}"));
            }
            assignments.extend(window.map(|bytes| format!("tcp.max_window={bytes} B")));
            let scenario = farhop_scenario::open("demo", &assignments).unwrap();
            let mut parameters = Parameters::of_architecture(&scenario, Architecture::ALL[architecture], &Default::default());
            let flow = flow.map(|rate| Flow { rate: Some(Rate::kbps(rate)), window: Bytes::kb(rate), ack_every: 2 });
            parameters.flow = flow.filter(|_| parameters.control == Control::FixedRate);
            // Some responses are whole segments.
            let (mss, head) = (parameters.tcp.mss.get(), parameters.response_header_bytes.get());
            let size = |size: u64, whole| if whole { size.next_multiple_of(mss).max(head) - head } else { size };
            let document = WorkloadObject::new(Bytes::new(20_000), None);
            let named = sizes.iter().map(|(bytes, whole, at)| WorkloadObject::new(Bytes::new(size(*bytes, *whole)), Some((0, Bytes::new(*at)))));
            let workload = Workload::new(&core::iter::once(document).chain(named).collect::<Vec<_>>()).unwrap();
            let mode = if wary { Mode::Wary } else { Mode::Tolerant };
            let [together, alone] = [true, false].map(|has_trains| told(&parameters, &workload, mode, has_trains));
            prop_assert_eq!(together, alone);
        }
    }
}
