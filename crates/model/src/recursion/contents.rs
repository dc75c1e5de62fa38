//! Contents: what is pushed apart from all connections (prefetch-2013 §3.4). Each is announced as soon as its name has come; of one whose announcement
//! is dropped the receiver knows nothing, and the client asks for it. Packets of a fixed size leave at a fixed interval, one content after the
//! other, and nothing acknowledges them. When the last one has come the receiver asks for the numbers that are missing; it also asks when
//! nothing has come for 5 s after one that was not the last, or after a content before it (§3.4). Eight ranges fit into a request, and what
//! is asked for goes before what was never sent.

use super::breakdown::Ledger;
use super::connection::{Content, Kind, Packet, Side};
use super::load::{Load, Planned};
use super::ticks::{Pace, Ticks};
use super::way::Story;
use std::collections::VecDeque;

/// prefetch-2013 §4: of each packet 1414 B are content.
pub(super) const CONTENT_BYTES: u64 = 1414;
/// IPv4's and UDP's headers, 28; a content's name and a packet's number, 8.
const CONTENT_HEADERS: u64 = 28 + 8;
/// A longer train of packets is left out where nothing else happens.
const LEAST_TRAIN: u64 = 64;
/// The place of packets that belong to no connection.
const NOWHERE: usize = u32::MAX as usize;

/// prefetch-2013 §4: how long the receiver waits for another packet before it asks.
const WAIT: Ticks = Ticks::from_millis(5000);
/// Ranges of numbers that a request names at most, and what each takes.
const MOST_RANGES: usize = 8;
const RANGE_BYTES: u64 = 8;

/// A packet of a content: its number, from 0, its payload, and whether it is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    number: u64,
    payload: u64,
    is_last: bool,
}

/// What of a content was dropped.
#[derive(Debug)]
struct Missing {
    object: usize,
    /// Its place among all that were announced.
    order: usize,
    /// Not asked for, by number; and asked for.
    lost: VecDeque<Part>,
    asked: Vec<Part>,
    /// The receiver waits since something of it came, or of one before it if nothing has.
    since: Ticks,
    has_begun: bool,
    /// The end of its patience is planned for.
    is_watched: bool,
}

/// What is there to be sent.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Objects, the oldest first, how much of each has not been sent, and how much that was at first.
    queue: VecDeque<(usize, u64, u64)>,
    /// What is sent again, ahead of these.
    again: VecDeque<(usize, Part)>,
    missing: Vec<Missing>,
    /// What documents name and is not announced: by which, so many bytes of its response ahead.
    named: Vec<(usize, u64, usize)>,
    /// How many were announced; and when something of any of them came last.
    announced: usize,
    heard: Ticks,
    /// When the interval allows the next packet.
    free: Ticks,
    /// Packets to be sent before it is tried again to leave some out: trying takes as long as there are packets on the way.
    patience: usize,
}

impl Contents {
    pub(crate) fn reset(&mut self) {
        self.queue.clear();
        self.again.clear();
        self.missing.clear();
        self.named.clear();
        (self.announced, self.heard, self.free, self.patience) = (0, Ticks::ZERO, Ticks::ZERO, 0);
    }

    /// So much of a document's response names an object.
    pub(crate) fn name(&mut self, document: usize, end: u64, object: usize) {
        self.named.push((document, end.max(1), object));
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.again.is_empty()
    }

    /// The next packet, and what it belongs to.
    fn next(&mut self) -> Option<(usize, Part)> {
        if let Some(again) = self.again.pop_front() {
            return Some(again);
        }
        let (object, left, size) = self.queue.front_mut()?;
        let payload = (*left).min(CONTENT_BYTES);
        let part = Part { number: (*size - *left) / CONTENT_BYTES, payload, is_last: *left == payload };
        let object = *object;
        *left -= payload;
        if part.is_last {
            self.queue.pop_front();
        }
        Some((object, part))
    }

    fn missing(&mut self, object: usize) -> Option<&mut Missing> {
        self.missing.iter_mut().find(|missing| missing.object == object)
    }

    /// A packet was dropped of the content with this place.
    fn lose(&mut self, object: usize, order: usize, part: Part) -> &mut Missing {
        let place = self.missing.iter().position(|missing| missing.object == object).unwrap_or_else(|| {
            let (since, has_begun) = (self.heard, part.number > 0);
            let (lost, asked) = (VecDeque::new(), Vec::new());
            self.missing.push(Missing { object, order, lost, asked, since, has_begun, is_watched: false });
            self.missing.len() - 1
        });
        let missing = &mut self.missing[place];
        missing.lose(part);
        missing
    }

    /// Something has come of a content.
    fn hear(&mut self, now: Ticks, object: usize, order: usize) {
        self.heard = self.heard.max(now);
        for missing in &mut self.missing {
            if missing.object == object {
                (missing.since, missing.has_begun) = (now, true);
            } else if !missing.has_begun && missing.order > order {
                missing.since = now;
            }
        }
    }
}

impl Missing {
    fn lose(&mut self, part: Part) {
        let place = self.lost.partition_point(|other| other.number < part.number);
        self.lost.insert(place, part);
    }

    /// Takes what the next request names, and in how many ranges.
    fn ask(&mut self) -> usize {
        let (mut ranges, mut count) = (0, 0);
        for (place, part) in self.lost.iter().enumerate() {
            let follows = place > 0 && self.lost[place - 1].number + 1 == part.number;
            ranges += usize::from(!follows);
            if ranges > MOST_RANGES {
                break;
            }
            count = place + 1;
        }
        self.asked.extend(self.lost.drain(..count));
        ranges.min(MOST_RANGES)
    }
}

impl Load<'_> {
    /// A content of so many bytes is there.
    pub(crate) fn push_content(&mut self, object: usize, bytes: u64) {
        self.send_contents(|contents| contents.queue.push_back((object, bytes, bytes)));
    }

    /// There is more to send.
    fn send_contents(&mut self, more: impl FnOnce(&mut Contents)) {
        let contents = &mut self.buffers.contents;
        let was_idle = contents.is_idle();
        more(contents);
        if was_idle && !contents.is_idle() {
            let due = contents.free.max(self.now);
            self.plan(due, Planned::Content);
        }
    }

    /// Sends the next packet.
    pub(crate) fn send_content(&mut self) {
        self.leave_out_contents();
        let (now, interval) = (self.now, self.interval());
        let Some((object, part)) = self.buffers.contents.next() else { return };
        let passage = self.down.pass(now, part.payload + CONTENT_HEADERS);
        self.skipping.note(Side::Server, passage.found_idle);
        if self.is_lost(&passage) {
            self.content_lost(object, part);
        } else {
            let payload = u32::try_from(part.payload).unwrap_or(u32::MAX);
            let packet = Packet {
                arrival: passage.arrival,
                kind: Kind::Content,
                push: part.is_last,
                payload,
                start: object as u64,
                ..Packet::bare(NOWHERE, now)
            };
            self.buffers.down.push(packet, || Story::of(&passage));
        }
        let contents = &mut self.buffers.contents;
        contents.free = now + interval;
        if !contents.is_idle() {
            self.plan(now + interval, Planned::Content);
        }
    }

    /// How much of a document comes until the packet that names what is to be announced next, or with that; nothing if none is.
    pub(crate) fn until_named(&self, content: Content, packet: u64) -> Option<u64> {
        let (_, ahead, _) = self.buffers.contents.named.iter().find(|(by, ..)| content == Content::Object(*by))?;
        let packets = ahead.saturating_sub(1) / packet;
        Some(packets.max(1) * packet)
    }

    /// So much more of a document's response has come to who announces what it names.
    pub(crate) fn announce_named(&mut self, content: Content, come: u64) {
        let named = &mut self.buffers.contents.named;
        for (_, ahead, _) in named.iter_mut().filter(|(by, ..)| content == Content::Object(*by)) {
            *ahead = ahead.saturating_sub(come);
        }
        let is_due = |(by, ahead, _): &(usize, u64, usize)| content == Content::Object(*by) && *ahead == 0;
        while let Some(first) = self.buffers.contents.named.iter().position(is_due) {
            let (.., object) = self.buffers.contents.named.remove(first);
            self.announce(object);
        }
    }

    /// The receiver is told that a content will come. If it does not hear of it, it waits for nothing, and the client asks.
    fn announce(&mut self, object: usize) {
        let url = self.workload.object(object).url.get();
        let passage = self.down.pass(self.now, CONTENT_HEADERS + url);
        if self.is_lost(&passage) {
            return self.buffers.browser.forget_pushed(object);
        }
        let contents = &mut self.buffers.contents;
        (contents.announced, contents.heard) = (contents.announced + 1, contents.heard.max(passage.arrival));
        self.buffers.browser.objects[object].push_order = contents.announced;
    }

    /// Its place among those that were announced, if it was.
    fn announced(&self, object: usize) -> Option<usize> {
        let progress = &self.buffers.browser.objects[object];
        progress.pushed_by.map(|_| progress.push_order)
    }

    /// Of a content that was announced a packet is dropped.
    fn content_lost(&mut self, object: usize, part: Part) {
        let Some(order) = self.announced(object) else { return };
        let missing = self.buffers.contents.lose(object, order, part);
        if !core::mem::replace(&mut missing.is_watched, true) {
            let due = missing.since + WAIT;
            self.plan(due.max(self.now), Planned::Missing { object });
        }
    }

    /// A packet of a content has arrived.
    pub(crate) fn content_arrived(&mut self, packet: &Packet) {
        let (object, bytes) = (usize::try_from(packet.start).unwrap_or(usize::MAX), packet.payload());
        let Some(order) = self.announced(object) else { return };
        self.buffers.contents.hear(self.now, object, order);
        if packet.push {
            self.ask_for_missing(object);
        }
        if self.near.is_some() {
            let ledger = self.content_ledger(object);
            self.come_near((NOWHERE, ledger), Content::Object(object), bytes, self.story.link);
        } else if !self.buffers.browser.takes_quietly(object, bytes) {
            let ledger = self.content_ledger(object);
            self.read_response((NOWHERE, ledger), object, bytes, self.story.link);
        }
        self.act();
    }

    /// The receiver has waited for more of a content, if not less than it does.
    pub(crate) fn await_missing(&mut self, object: usize) {
        let now = self.now;
        let Some(missing) = self.buffers.contents.missing(object) else { return };
        if missing.lost.is_empty() && missing.asked.is_empty() {
            missing.is_watched = false;
            return;
        }
        let mut due = missing.since + WAIT;
        if due <= now {
            (missing.since, missing.has_begun) = (now, true);
            due = now + WAIT;
            self.ask_for_missing(object);
        }
        self.plan(due, Planned::Missing { object });
    }

    /// The receiver asks for what it misses of a content.
    fn ask_for_missing(&mut self, object: usize) {
        let Some(missing) = self.buffers.contents.missing(object).filter(|missing| !missing.lost.is_empty()) else {
            return;
        };
        let ranges = missing.ask() as u64;
        let passage = self.up.pass(self.now, CONTENT_HEADERS + RANGE_BYTES * ranges);
        if !self.is_lost(&passage) {
            self.plan(passage.arrival, Planned::Again { object });
        } else if let Some(missing) = self.buffers.contents.missing(object) {
            core::mem::take(&mut missing.asked).into_iter().for_each(|part| missing.lose(part));
        }
    }

    /// The sender has been asked for parts of a content.
    pub(crate) fn send_again(&mut self, object: usize) {
        let asked = self.buffers.contents.missing(object).map(|missing| core::mem::take(&mut missing.asked));
        let again = asked.into_iter().flatten().map(|part| (object, part));
        self.send_contents(|contents| contents.again.extend(again));
    }

    /// What a content waited for so far: that nothing was there to be sent, or its turn, since what it was pushed for began to arrive.
    fn content_ledger(&self, object: usize) -> Ledger {
        let objects = &self.buffers.browser.objects;
        let mut root = object;
        while let Some(by) = objects[root].pushed_by {
            root = by;
        }
        let Some(start) = objects[root].start else { return Ledger::default() };
        let span = self.clock().since(start.at);
        let transmission = self.interval().times(objects[object].come / CONTENT_BYTES + 1).min(span);
        let mut ledger = start.ledger;
        ledger += Ledger { transmission, nothing: span.since(transmission), ..Ledger::default() };
        ledger
    }

    /// From one packet to the next: as it is set, but no less than the link takes.
    fn interval(&self) -> Ticks {
        let set = Pace::of(self.parameters.pushed_rate, (1, 1)).time(CONTENT_BYTES);
        set.max(self.down.slowest_service(1, CONTENT_BYTES + CONTENT_HEADERS))
    }

    /// Leaves out packets during which nothing else happens.
    fn leave_out_contents(&mut self) {
        let Some(&(object, left, size)) = self.buffers.contents.queue.front() else { return };
        let is_awaited = self.buffers.contents.again.is_empty() && self.announced(object).is_some();
        if !is_awaited || left < LEAST_TRAIN * CONTENT_BYTES {
            return;
        }
        if self.buffers.contents.patience > 0 {
            self.buffers.contents.patience -= 1;
            return;
        }
        let packets = self.buffers.down.waiting().iter().filter(|packet| packet.kind == Kind::Content);
        // Of connections there may be fewer on the way than there are: of some both ends have been told already.
        self.buffers.contents.patience = packets.clone().count() / 4;
        let of_it = packets.filter(|packet| packet.start == object as u64);
        let on_the_way: u64 = of_it.map(Packet::payload).sum();
        // When its beginning comes is told.
        let has_begun = size - left > on_the_way;
        if !has_begun || !self.is_alone(NOWHERE) {
            return;
        }
        let room = self.buffers.browser.uneventful(object, self.workload).saturating_sub(on_the_way).min(left - 1);
        let packets = room / CONTENT_BYTES;
        if packets >= LEAST_TRAIN {
            self.buffers.contents.queue[0].1 -= packets * CONTENT_BYTES;
            self.buffers.browser.leave_out(object, packets * CONTENT_BYTES);
            self.pass(self.interval().times(packets));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recursion;
    use super::super::load::{Load, Mode};
    use super::super::parameters::Parameters;
    use super::super::workload::{Workload, WorkloadObject};
    use farhop_results::Architecture;
    use farhop_units::Bytes;
    use std::time::Duration;

    /// Though most of its packets are left out.
    #[test]
    fn a_long_content_begins_when_its_first_packet_comes() {
        let slow =
            ["link.down.rate=89 kbit/s", "link.up.rate=32 kbit/s", "link.down.delay=16 ms", "link.up.delay=1 ms"];
        let rest = ["wan.delay=33 ms", "lan.delay=0 ms", "http.connections=1"];
        let assignments: Vec<String> = slow.into_iter().chain(rest).map(String::from).collect();
        let scenario = farhop_scenario::open("demo", &assignments).unwrap();
        let parameters = Parameters::of_architecture(&scenario, Architecture::Prefetch2013, &Default::default());
        let document = WorkloadObject::new(Bytes::new(20_000), None);
        let named = WorkloadObject::new(Bytes::new(1 << 20), Some((0, Bytes::ZERO)));
        let mut recursion = Recursion::new();
        let workload = Workload::new(&[document, named]).unwrap();
        // There is room for all.
        Load::new(&parameters, &workload, &mut recursion.buffers, Mode::Tolerant, true).run();
        let ends: Vec<_> =
            recursion.objects().map(|object| (object.first_byte.unwrap(), object.end.unwrap())).collect();
        let packet = Duration::from_secs_f64((1414.0 + 36.0) * 8.0 / 89e3);
        assert!(ends[1].0 < ends[0].1 + 2 * packet, "it is the next to leave: {ends:?}");
        assert!(ends[1].1 > Duration::from_secs(90), "{ends:?}");
    }

    /// When each object of a page has come to the client, of 20 kB of a document and parts of 1 kB each at these hosts, which its beginning
    /// names; from the end of the first.
    fn parts_come(connections: usize, hosts: &[usize]) -> Vec<f64> {
        let assignments = [&format!("http.connections={connections}"), "http.version=1.0", "wan.delay=50 ms"];
        let assignments: Vec<String> = assignments.map(String::from).into();
        let scenario = farhop_scenario::open("demo", &assignments).unwrap();
        let parameters = Parameters::of_architecture(&scenario, Architecture::Prefetch2013, &Default::default());
        let part = |host: &usize| WorkloadObject {
            host: *host,
            ..WorkloadObject::new(Bytes::new(1000), Some((0, Bytes::new(100))))
        };
        let document = WorkloadObject::new(Bytes::new(20_000), None);
        let workload: Vec<_> = core::iter::once(document).chain(hosts.iter().map(part)).collect();
        let mut recursion = Recursion::new();
        recursion.load(&parameters, &Workload::new(&workload).unwrap()).unwrap();
        let ends: Vec<f64> = recursion.objects().map(|object| object.end.unwrap().as_secs_f64()).collect();
        ends[2..].iter().map(|end| end - ends[1]).collect()
    }

    #[test]
    fn a_document_that_still_comes_takes_one_of_the_connections() {
        // Each part takes two round trips of 100 ms behind the gateway: with a document that takes one, two at once and then the last.
        assert!((0.09..0.12).contains(&parts_come(2, &[0, 0])[0]), "{:?}", parts_come(2, &[0, 0]));
        assert!(parts_come(3, &[0, 0])[0] < 0.01);
    }

    #[test]
    fn what_a_packet_names_is_asked_for_host_by_host() {
        let ends = parts_come(6, &[0, 2, 1]);
        assert!(ends[1] < ends[0], "{ends:?}");
    }
}
