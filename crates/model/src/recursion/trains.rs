//! Trains: packets of one connection one behind the other of which nothing comes but acknowledgements, or with those nothing at all.
//!
//! Client and server know of each other by packets alone, which come in the order in which they were sent. So what one side does with
//! a train may be done at once, ahead of what happens on the other side in the meantime, as long as nothing else is due on its own:
//! no timer, no plan of the browser, no answer that is ready. Only where rounds may repeat ([`super::skip`]) both sides stay at one time.

use super::connection::{Chunk, Connection, Content, Kind, Packet, Side, Turns};
use super::load::{Buffers, HEADERS, Load, Mode};
use super::receiver::{Ack, Arrival};
use super::skip::LEAST_SKIP;
use super::ticks::Ticks;
use super::way::Story;
use super::wire::small;

/// Segments that leave before it is seen whether there are too many.
const LONGEST: u64 = 1 << 10;

impl Packet {
    /// Whether it is one more segment of the connection at `place`, which is its `generation`'s.
    fn continues(&self, place: usize, generation: u32) -> bool {
        self.kind == Kind::Segment && self.place() == place && self.generation == generation
    }
}

impl Load<'_> {
    /// The server sends whole segments of one response that are alike, as many as may leave now.
    #[inline(always)]
    pub(crate) fn send_train(&mut self, place: usize) {
        if self.has_trains && !self.gave_up && !matches!(self.turns, Turns::Segments { .. }) {
            let connection = &mut self.buffers.connections[place];
            let count = connection.server.sender.alike(connection.left_of_turn());
            if count > 0 {
                self.send_alike(place, count.min(LONGEST));
            }
        }
    }

    #[inline(never)]
    fn send_alike(&mut self, place: usize, count: u64) {
        let (now, mss) = (self.now, self.mss);
        let connection = &mut self.buffers.connections[place];
        let (mut leaving, mut every) = connection.server.sender.leave(now, count);
        if leaving == 0 {
            return;
        }
        let (generation, hold) = (connection.generation, connection.server.sender.hold);
        let ack = connection.server.acknowledge(now, true);
        let packet = Packet { payload: small(mss), generation, ack, ..Packet::bare(place, now) };
        // The acknowledgement that lets them leave was late for the first one only.
        let mut late = core::mem::take(&mut connection.late);
        let (mut sent, mut found_idle) = (0, false);
        let mut start = connection.server.sender.next - leaving * mss;
        while leaving > 0 {
            let (queue, mut to_push) = (&mut self.buffers.down, every);
            let together = self.down.pass_together(now, leaving, mss + HEADERS, |passage| {
                to_push -= 1;
                let next = Packet { start, push: to_push == 0, arrival: passage.arrival, ..packet };
                queue.push(next, || Story { hold, late: core::mem::take(&mut late), ..Story::of(&passage) });
                to_push = if to_push == 0 { every } else { to_push };
                start += mss;
            });
            found_idle |= together.found_idle;
            self.gave_up |= together.is_dropped && self.mode == Mode::Wary;
            sent += leaving;
            if sent == count || self.gave_up {
                break;
            }
            (leaving, every) = self.buffers.connections[place].server.sender.leave(now, count - sent);
        }
        self.skipping.note_train(sent, found_idle);
        let connection = &mut self.buffers.connections[place];
        connection.server.sender.note_departure(now);
        connection.take_more(sent * mss);
    }

    /// The client takes in the data that comes next on a connection, as far as the browser makes nothing of it; whether it did.
    #[inline(always)]
    pub(crate) fn take_in_train(&mut self) -> bool {
        let Some(packet) = self.buffers.down.front().filter(|_| self.has_trains) else { return false };
        let Some(connection) = self.buffers.connections.get(packet.place()) else { return false };
        if packet.payload == 0 || !connection.open || !connection.client_only_listens() {
            return false;
        }
        let (place, payload) = (packet.place(), packet.payload());
        let Some((object, bytes)) = connection.first_of_stream() else { return false };
        let quiet = if self.near.is_some() { self.quiet_near(object) } else { self.buffers.browser.quiet(object) };
        let quiet = quiet.min(bytes.saturating_sub(1));
        payload <= quiet && self.take_in_data(place, object, quiet)
    }

    #[inline(never)]
    fn take_in_data(&mut self, place: usize, object: usize, quiet: u64) -> bool {
        // What repeats is looked for in the state of both sides at one time.
        let (mut alone, may_repeat) = (self.alone_until(), self.may_repeat());
        let Buffers { down, up, connections, making, .. } = &mut *self.buffers;
        let connection = &mut connections[place];
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
            let Packet { start, push, fin, sent, ack: Ack { up_to, offer, echo, .. }, .. } = *packet;
            if heard != Some((up_to, offer)) {
                // The same again is no news to a client that has nothing to send.
                if now > connection.client.sender.timer_ends() {
                    break;
                }
                let deadlines;
                (timeout, deadlines, hears_more) = connection.client.hear(now, &packet.ack);
                (heard, alone) = (Some((up_to, offer)), alone.min(deadlines));
            }
            (self.now, taken, count) = (now, taken + payload, count + 1);
            let reads = self.programs[Side::Client as usize].reads(now);
            connection.client.listen(start, Arrival { now, reads, payload, push, fin, sent, echo }, timeout);
            if self.explains {
                connection.note_arrival(now, &down.story(count - 1), self.rtt);
            }
            if connection.client.acks_at(now) {
                let passage = self.up.pass(now, HEADERS);
                self.skipping.note(Side::Client, passage.found_idle);
                let held = if self.explains { connection.client.receiver.held(now) } else { Ticks::ZERO };
                let ack = connection.client.acknowledge(now, false);
                if may_repeat && up.front().is_none() {
                    last = making.min(passage.arrival);
                }
                let packet = Packet { generation, arrival: passage.arrival, ack, ..Packet::bare(place, now) };
                up.push(packet, || Story { held, ..Story::of(&passage) });
                if passage.is_dropped && self.mode == Mode::Wary {
                    self.gave_up = true;
                    break;
                }
            }
            if hears_more {
                connection.settle_sender(now);
            } else {
                connection.settle_delay(now);
            }
        }
        if count > 0 {
            let Story { link, .. } = down.story(count - 1);
            down.pass(count);
            connection.read_quietly(taken);
            let ledger = connection.ledger;
            if self.near.is_some() {
                self.hold_near((place, ledger), Content::Object(object), taken, link);
            } else {
                self.buffers.browser.objects[object].come += taken;
            }
            self.set_timer(place, Side::Client);
        }
        count > 0
    }

    /// Whether a server has so much to send that what it does may repeat, or may be given it.
    fn may_repeat(&self) -> bool {
        let Buffers { connections, making, .. } = &*self.buffers;
        let (least, shares) = (LEAST_SKIP * self.mss, self.parameters.shares_connections());
        let mut open = connections.iter().filter(|connection| connection.open);
        (shares && !making.is_empty())
            || open.any(|each| each.server.sender.unsent() >= least || (shares && !each.asked.is_empty()))
    }

    /// Nothing is done before this that no packet asks for.
    fn alone_until(&self) -> Ticks {
        let planned = self.buffers.plans.front().map_or(Ticks::NEVER, |plan| plan.due);
        self.buffers.timers.bound().min(planned)
    }

    /// The server takes in the acknowledgements that come next on a connection on which it has nothing to send; whether there were any.
    #[inline(always)]
    pub(crate) fn take_in_acks(&mut self) -> bool {
        let Some(packet) = self.buffers.up.front().filter(|_| self.has_trains) else { return false };
        let Some(connection) = self.buffers.connections.get(packet.place()) else { return false };
        let is_bare = packet.kind == Kind::Segment && packet.payload == 0;
        is_bare && connection.open && connection.server_only_listens() && self.take_in_acknowledgements(packet.place())
    }

    #[inline(never)]
    fn take_in_acknowledgements(&mut self, place: usize) -> bool {
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
            (self.now, count, punctual) = (now, count + 1, now + least);
        }
        if count > 0 {
            if self.explains {
                let Story { held, waited, .. } = up.story(count - 1);
                connection.late = (held, waited);
            }
            up.pass(count);
            connection.server.sender.restart_timers(self.now);
            self.set_timer(place, Side::Server);
        }
        count > 0
    }
}

impl Connection {
    /// Whether the client has nothing to send.
    fn client_only_listens(&self) -> bool {
        self.client.sender.is_at_rest()
    }

    /// Whether the server has nothing to send.
    fn server_only_listens(&self) -> bool {
        self.server.sender.is_at_rest() && self.server.receiver.due == Ticks::NEVER && self.syn_ack_sent.is_none()
    }

    /// How much comes next of which object.
    fn first_of_stream(&self) -> Option<(usize, u64)> {
        let Chunk { content: Content::Object(object), bytes } = *self.stream.front()? else { return None };
        Some((object, bytes))
    }

    /// So much of it has arrived.
    fn read_quietly(&mut self, bytes: u64) {
        if let Some(chunk) = self.stream.front_mut() {
            chunk.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recursion;
    use super::super::load::Ending;
    use super::super::parameters::{Control, Flow, Parameters};
    use super::super::workload::{Workload, WorkloadObject};
    use super::*;
    use farhop_results::Architecture;
    use farhop_units::{Bytes, Rate};
    use proptest::prelude::*;

    /// When each object began and ended, what the last byte waited for, and how the load ended.
    fn told(parameters: &Parameters, workload: &Workload, mode: Mode, has_trains: bool) -> String {
        let mut recursion = Recursion::new();
        let mut load = Load::new(parameters, workload, &mut recursion.buffers, mode, true);
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

    /// Two loads of a page on links like these, with trains and without: a document of 20 kB that names objects of such sizes there.
    fn both_ways(
        assignments: &[&str],
        (architecture, flow): (Architecture, Option<Flow>),
        sizes: &[(u64, u64)],
    ) -> [String; 2] {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        let scenario = farhop_scenario::open("demo", &assignments).unwrap();
        let mut parameters = Parameters::of_architecture(&scenario, architecture, &Default::default());
        parameters.flow = flow;
        let named = sizes.iter().map(|(bytes, at)| WorkloadObject::new(Bytes::new(*bytes), Some((0, Bytes::new(*at)))));
        let document = WorkloadObject::new(Bytes::new(20_000), None);
        let workload = Workload::new(&core::iter::once(document).chain(named).collect::<Vec<_>>()).unwrap();
        [true, false].map(|has_trains| told(&parameters, &workload, Mode::Tolerant, has_trains))
    }

    #[test]
    fn a_first_window_that_is_less_than_the_first_segment_ends_a_frame() {
        let slow = ["link.down.rate=64 kbit/s", "link.up.rate=32 kbit/s", "link.down.delay=1 ms", "link.up.delay=1 ms"];
        let windows = ["wan.delay=1 ms", "lan.delay=1 ms", "http.version=2", "tcp.max_window=2048 B"];
        let sizes = [(133_120, 644), (6990, 0)];
        let [together, alone] = both_ways(&[slow, windows].concat(), (Architecture::Tunnel, None), &sizes);
        assert_eq!(together, alone);
    }

    /// The end of one response is on its way when rounds of the next begin to repeat.
    #[test]
    fn what_is_left_out_of_a_response_does_not_hold_back_the_one_before() {
        let link = ["link.down.rate=5760 kbit/s", "link.up.rate=512 kbit/s", "link.down.delay=4 ms"];
        let rest = ["link.up.delay=1 ms", "wan.delay=1 ms", "lan.delay=0 ms", "tcp.profile=rfc", "http.connections=4"];
        let flow = Flow { rate: Some(Rate::kbps(11_136)), window: Bytes::kb(11_136), ack_every: 2 };
        let sizes = [(1198, 1635), (69_632, 1635), (1, 1322), (18_176, 0), (868_352, 0), (1, 1635), (65_536, 1635)];
        let [together, alone] = both_ways(&[&link[..], &rest[..]].concat(), (Architecture::Tunnel, Some(flow)), &sizes);
        assert_eq!(together, alone);
    }

    /// What four of the client's connections ask for crosses the link over one.
    #[test]
    fn what_was_asked_for_over_another_of_the_clients_connections_may_repeat() {
        let link = ["link.down.rate=264 kbit/s", "link.up.rate=128 kbit/s", "link.down.delay=1 ms"];
        let rest = ["link.up.delay=8 ms", "wan.delay=13 ms", "lan.delay=0 ms", "http.connections=4"];
        let flow = Flow { rate: Some(Rate::kbps(1376)), window: Bytes::kb(1376), ack_every: 2 };
        let sizes = [(1, 561), (1167, 0), (299_008, 0), (524_288, 1420), (8252, 532), (1, 0), (1, 1420), (11_086, 0)];
        let [together, alone] = both_ways(&[&link[..], &rest[..]].concat(), (Architecture::Tunnel, Some(flow)), &sizes);
        assert_eq!(together, alone);
    }

    #[test]
    fn contents_are_left_out_from_the_same_packet_on_and_never_before_their_beginning_has_come() {
        let slow = ["link.up.rate=32 kbit/s", "link.up.delay=1 ms", "lan.delay=0 ms", "http.connections=1"];
        for (rate, delay, wan, profile, sizes) in
            [(186, 1, 28, "rfc", &[(131_072, 0), (1, 0)][..]), (89, 16, 33, "linux", &[(1_048_576, 0)][..])]
        {
            let own = [
                format!("link.down.rate={rate} kbit/s"),
                format!("link.down.delay={delay} ms"),
                format!("wan.delay={wan} ms"),
                format!("tcp.profile={profile}"),
            ];
            let assignments: Vec<&str> = slow.into_iter().chain(own.iter().map(String::as_str)).collect();
            let [together, alone] = both_ways(&assignments, (Architecture::Prefetch2013, None), sizes);
            assert_eq!(together, alone);
        }
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
