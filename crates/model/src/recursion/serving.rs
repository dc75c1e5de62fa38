//! Serving: what the server, or whatever stands at the far end, makes of requests.

use super::behind::Behind;
use super::connection::{Answer, Content, Exchange, Side};
use super::load::{Load, Making};
use super::parameters::{Http, Parameters};
use super::ticks::Ticks;
use super::workload::WorkloadObject;

impl Load<'_> {
    /// Bytes of requests arrived.
    pub(crate) fn serve(&mut self, place: usize, bytes: u64) {
        self.buffers.connections[place].request_bytes += bytes;
        loop {
            let connection = &mut self.buffers.connections[place];
            let Some(exchange) = connection.asked.front().copied() else { return };
            if exchange.request > connection.request_bytes {
                return;
            }
            connection.request_bytes -= exchange.request;
            connection.asked.pop_front();
            let generation = connection.generation;
            if let Exchange { content: Content::Keys { call }, response: 0, .. } = exchange {
                self.buffers.calls[call].reached = Some(self.clock() + Ticks::of(self.parameters.delays.connection));
                continue;
            }
            self.note_crossed(exchange.content, Side::Client, exchange.request);
            self.speak_behind(self.call_of(exchange.content).unwrap_or(place));
            let delay = match exchange.content {
                Content::Object(object) => self.delay(place, object),
                Content::Keys { call } => self.keys_delay(call),
            };
            let ready = self.now + delay;
            let making = Making { ready, connection: place, generation, exchange, is_begun: false };
            if delay == Ticks::ZERO {
                self.made(making);
            } else {
                self.make(making);
            }
        }
    }

    /// The gateway passes a request on: what its acknowledgement brings earlier will be there then.
    fn speak_behind(&mut self, call: usize) {
        let Some(behind) = self.buffers.calls.get_mut(call).map(|call| &mut call.behind) else { return };
        let Some([before, back]) = behind.speak(self.now, self.parameters) else { return };
        let waits = |making: &Making| making.ready == before && self.call_of(making.exchange.content) == Some(call);
        let waiting: Vec<Making> = self.buffers.making.iter().copied().filter(waits).collect();
        self.buffers.making.retain(|making| !waiting.contains(making));
        for making in waiting {
            let making = Making { ready: back, ..making };
            // At once it comes ahead of the answer to this request.
            if back > self.now { self.make(making) } else { self.made(making) }
        }
    }

    /// How long the answer to a flight of TLS is.
    fn keys_delay(&mut self, call: usize) -> Ticks {
        let delays = &self.parameters.delays;
        let was_used = core::mem::replace(&mut self.buffers.calls[call].has_answered, true);
        Ticks::of(delays.tls) + if was_used { Ticks::ZERO } else { self.connecting(call) }
    }

    /// How long the response of `object` is in the making; those of one call come in the order of their requests, unless they take
    /// turns.
    fn delay(&mut self, place: usize, object: usize) -> Ticks {
        if self.buffers.browser.objects[object].fetched.is_some() {
            return self.fetched(object);
        }
        if let Some(delay) = self.fetch_asked(object) {
            self.buffers.browser.objects[object].delay = delay;
            return delay;
        }
        let delays = &self.parameters.delays;
        let mut delay = Ticks::of(delays.response) + self.workload.think(object);
        let call = self.call_of(Content::Object(object)).unwrap_or(place);
        let connecting = self.connecting(call);
        let call = &mut self.buffers.calls[call];
        let was_used = core::mem::replace(&mut call.has_answered, true);
        let is_read = self.parameters.reads_requests();
        let is_first = if is_read { self.buffers.browser.objects[object].is_first } else { !was_used };
        if is_first {
            delay += connecting;
        }
        if object == 0 {
            delay += Ticks::of(delays.document);
        }
        let in_turn = if self.parameters.http.is_multiplexed() { self.now } else { call.last_ready };
        let ready = (self.now + delay).max(in_turn);
        call.last_ready = ready;
        self.buffers.browser.objects[object].delay = ready.since(self.now);
        ready.since(self.now)
    }

    /// How long a response takes that a box has asked for before, and how much of it is there.
    fn fetched(&mut self, object: usize) -> Ticks {
        let (now, skipped, parameters) = (self.now, self.skipped, self.parameters);
        let bytes = parameters.response(self.workload, object);
        let progress = &mut self.buffers.browser.objects[object];
        let (Some(mut at), Some(behind)) = (progress.fetched.take(), &mut progress.behind) else { return Ticks::ZERO };
        let delay = at.since(now);
        while at < now && progress.there < bytes {
            let (comes, next) = behind.bring(at, skipped, bytes - progress.there, parameters);
            progress.there += comes;
            at = next;
        }
        progress.delay = delay;
        delay
    }

    /// A response will be there later, after those that are there before it.
    fn make(&mut self, making: Making) {
        let queue = &mut self.buffers.making;
        let after = queue.iter().rposition(|other| other.ready <= making.ready).map_or(0, |index| index + 1);
        queue.insert(after, making);
    }

    /// A response is there to be sent, or a window's worth of it; the rest follows.
    pub(crate) fn made(&mut self, making: Making) {
        if let Exchange { content: Content::Object(object), request: 0, response } = making.exchange
            && self.parameters.pushed_rate.is_some()
        {
            let progress = &self.buffers.browser.objects[object];
            if progress.pushed_by.is_none() && progress.fetched.is_none() {
                // It was asked for before all of it was there.
                return;
            }
            self.push_content(object, response);
            self.push_named(making, object, None);
            return self.announce_named(Content::Object(object), response);
        }
        if self.buffers.connections[making.connection].generation != making.generation {
            return;
        }
        let Exchange { content, response: bytes, .. } = making.exchange;
        let call = self.call_of(content);
        let (now, skipped, parameters) = (self.now, self.skipped, self.parameters);
        let course = self.behind(content).copied().or_else(|| call.map(|call| self.buffers.calls[call].behind));
        let there = self.take_fetched(content);
        let (comes, next) = match (self.behind(content), call) {
            (Some(behind), _) => behind.bring(now, skipped, bytes - there, parameters),
            (None, Some(call)) => self.buffers.calls[call].behind.bring(now, skipped, bytes, parameters),
            (None, None) => (bytes, now),
        };
        let comes = comes + there;
        let named = match content {
            Content::Object(object) if !making.is_begun => Some(object),
            Content::Object(_) | Content::Keys { .. } => None,
        };
        // What is announced goes ahead of what names it.
        let announces = parameters.pushed_rate.is_some();
        named.filter(|_| announces).into_iter().for_each(|object| self.push_named(making, object, course));
        if comes > 0 || bytes == 0 {
            self.send_response(making, call, comes);
        }
        if comes < bytes {
            let exchange = Exchange { response: bytes - comes, ..making.exchange };
            self.make(Making { ready: next, exchange, is_begun: true, ..making });
        }
        named.filter(|_| !announces).into_iter().for_each(|object| self.push_named(making, object, course));
        if let (Some(object), Some(call)) = (named, call)
            && self.asks_on(object, comes)
        {
            self.speak_behind(call);
        }
        if comes == bytes && matches!(content, Content::Object(_)) {
            self.close_server(making.connection);
        }
    }

    /// Whether a box asks for what so much of a document names over the connection on which that comes.
    fn asks_on(&self, document: usize, come: u64) -> bool {
        let Parameters { http, fetches_ahead, pushed_rate, .. } = self.parameters;
        let asks = *http == Http::Http11Pipelined && (*fetches_ahead || pushed_rate.is_some());
        let first = self.workload.fetched_of(document).next();
        asks && first.is_some_and(|(end, _)| self.buffers.browser.objects[document].header + end <= come)
    }

    /// How much of it had come to a box before it was asked for.
    fn take_fetched(&mut self, content: Content) -> u64 {
        let Content::Object(object) = content else { return 0 };
        core::mem::take(&mut self.buffers.browser.objects[object].there)
    }

    /// The connection over which a box fetches what it pushes.
    fn behind(&mut self, content: Content) -> Option<&mut Behind> {
        let Content::Object(object) = content else { return None };
        self.buffers.browser.objects[object].behind.as_mut()
    }

    /// `bytes` of a response leave, over the connection that the call takes.
    fn send_response(&mut self, making: Making, call: Option<usize>, bytes: u64) {
        let content = making.exchange.content;
        self.note_window(content, bytes);
        let call = call.filter(|_| self.parameters.carriers() > 0);
        let place = call.map_or(making.connection, |call| self.carrier(call, Side::Server, bytes));
        let connection = &mut self.buffers.connections[place];
        let (urgency, in_turns) = match content {
            Content::Keys { .. } => (0, false),
            Content::Object(object) => {
                let object = self.workload.object(object);
                (object.urgency, object.in_turns)
            }
        };
        let call = call.unwrap_or(place);
        let answer = Answer { content, call, bytes, urgency, in_turns };
        if self.parameters.has_frames() {
            self.join_flow(place, answer);
        } else {
            connection.answering.push_back(answer);
        }
        self.buffers.connections[place].fill_buffer(self.turns);
        let mss = self.parameters.tcp.mss.get();
        let mut left = bytes;
        loop {
            // What comes to it over another connection comes packet by packet.
            let is_first = self.parameters.is_relayed && left == bytes;
            let at_once = if is_first { Some(mss) } else { self.until_named(content, mss) };
            let comes = at_once.map_or(left, |at_once| at_once.min(left));
            left -= comes;
            self.announce_named(content, comes);
            self.buffers.connections[place].server.write(comes);
            self.run_program(place, Side::Server);
            if left == 0 {
                return;
            }
        }
    }

    /// Farhop's boxes send the most urgent flow first, of these the one that first had something to send, until it has no more.
    fn join_flow(&mut self, place: usize, answer: Answer) {
        let reads = self.parameters.reads_requests();
        let flow = |answer: &Answer| match answer.content {
            Content::Object(object) if reads => (self.order(answer.content), object),
            _ => (0, answer.call),
        };
        let (own, answering) = (flow(&answer), &self.buffers.connections[place].answering);
        let same = answering.iter().rposition(|other| flow(other) == own);
        let before = || answering.iter().position(|other| flow(other).0 > own.0);
        let at = same.map(|index| index + 1).or_else(before).unwrap_or(answering.len());
        self.buffers.connections[place].answering.insert(at, answer);
    }

    /// The place of a response in the order of urgency, where boxes read what is asked for: before everything what is asked for, then what is
    /// pushed, in the order of the page.
    pub(crate) fn order(&self, content: Content) -> usize {
        match content {
            Content::Object(object) => self.buffers.browser.objects[object].push_order,
            Content::Keys { .. } => 0,
        }
    }

    /// The server sends what a document names without being asked.
    fn push_named(&mut self, making: Making, by: usize, behind: Option<Behind>) {
        let (waits, is_apart) = (self.parameters.fetches_ahead, self.parameters.pushed_rate.is_some());
        let most = if waits { usize::MAX } else { self.parameters.pushed };
        let Some((first, _)) = self.workload.fetched_of(by).next().filter(|_| most > 0) else { return };
        let (size, header) = (making.exchange.response, self.buffers.browser.objects[by].header);
        let mut course = Course { now: self.now, skipped: self.skipped, come: 0, size, behind };
        if self.asks_on(by, size) {
            course.first_named(header + first, self.parameters);
        }
        let mut fetches =
            Fetches::new((self.now, self.skipped), self.workload.object(by).host, course, self.parameters);
        let mut named: Vec<(usize, (u64, usize))> = self.workload.fetched_of(by).take(most).enumerate().collect();
        if is_apart {
            named.iter().for_each(|(_, (at, object))| self.buffers.contents.name(by, header + at, *object));
        }
        if is_like_a_browser(self.parameters) {
            // Of what a packet of the document names it asks host by host, as browsers do.
            let packet = |at: u64| (header + at).saturating_sub(1) / self.parameters.tcp.mss.get().max(1);
            named.sort_by_key(|(_, (at, object))| (packet(*at), self.workload.object(*object).host));
        }
        for (order, (at, object)) in named {
            fetches.now = course.reaches(header + at, self.parameters);
            let (content, response) = (Content::Object(object), self.parameters.response(self.workload, object));
            let (ready, whole, behind) = fetches.next(self.parameters, self.workload.object(object), response);
            let progress = &mut self.buffers.browser.objects[object];
            if waits || is_apart {
                // Who asks for it is answered with what has come of it.
                progress.fetched = Some(ready);
            }
            progress.behind = Some(behind);
            if waits {
                continue;
            }
            progress.header = self.workload.header(object, self.parameters.response_header_bytes);
            progress.push_order = order + 1;
            let is_withheld = self.workload.has_delays() || self.answers_near();
            self.buffers.browser.expect(object, by, is_withheld);
            let exchange = Exchange { content, request: 0, response };
            self.make(Making { ready: if is_apart { whole } else { ready }, exchange, ..making });
        }
        if is_like_a_browser(self.parameters) {
            // A frame has come over one of them.
            let is_known = self.buffers.browser.objects[by].behind.is_some();
            self.buffers.fetching.extend(fetches.connections.drain(usize::from(is_known)..));
        }
    }

    /// What a box that prefetches asks for because the client does goes over a connection that it has, if one is free: how long that takes it
    /// to have the first of it.
    fn fetch_asked(&mut self, object: usize) -> Option<Ticks> {
        let (now, skipped, parameters) = (self.now, self.skipped, self.parameters);
        let stays = matches!(parameters.http, Http::Http11) && is_like_a_browser(parameters);
        let host = self.workload.object(object).host;
        let is_free = |(other, free, _): &&mut (usize, Ticks, Behind)| *other == host && *free <= now;
        let (_, free, behind) = self.buffers.fetching.iter_mut().filter(|_| stays).find(is_free)?;
        let delay = Ticks::of(parameters.delays.response) + self.workload.think(object);
        self.buffers.browser.objects[object].behind = Some(*behind);
        *free = behind.bring_all(now + delay, skipped, parameters.response(self.workload, object), parameters);
        Some(delay)
    }

    /// HTTP/1.0: a FIN follows the response, with its last segment if that has not left yet.
    fn close_server(&mut self, place: usize) {
        if self.parameters.http != Http::Http10 || self.parameters.carriers() > 0 {
            return;
        }
        let connection = &mut self.buffers.connections[place];
        connection.closing = true;
        if connection.server.sender.next == connection.server.sender.written {
            self.send_fin(place, Side::Server);
        }
    }
}

/// How a document comes to the box that reads it.
#[derive(Debug, Clone, Copy)]
struct Course {
    now: Ticks,
    skipped: Ticks,
    come: u64,
    size: u64,
    /// Absent where all of it is there.
    behind: Option<Behind>,
}

impl Course {
    /// So much of it names what is asked for over its connection.
    fn first_named(&mut self, end: u64, parameters: &Parameters) {
        let at = self.reaches(end, parameters);
        self.behind.as_mut().map(|behind| behind.speak(at, parameters));
    }

    /// When so much of it has come.
    fn reaches(&mut self, bytes: u64, parameters: &Parameters) -> Ticks {
        let Some(behind) = &mut self.behind else { return self.now };
        loop {
            let (comes, next) = behind.bring(self.now, self.skipped, self.size - self.come, parameters);
            self.come += comes;
            if self.come >= bytes.min(self.size) {
                return self.now;
            }
            self.now = next;
        }
    }
}

/// What a box asks for at servers by itself, in order and so much at once, over connections that it opens as it needs them.
struct Fetches {
    now: Ticks,
    skipped: Ticks,
    /// At which host something is being asked for, and when it will be there.
    under_way: Vec<(usize, Ticks)>,
    /// Connections: to which host, when they are free, and what comes over them.
    connections: Vec<(usize, Ticks, Behind)>,
}

impl Fetches {
    /// The document has come from this host.
    fn new((now, skipped): (Ticks, Ticks), host: usize, mut document: Course, parameters: &Parameters) -> Self {
        let free = document.reaches(document.size, parameters);
        let behind = document.behind.unwrap_or_else(|| Behind::new(parameters));
        // The document is one of what it asks for at once if it is under way as long as its parts are named.
        let under_way = if is_like_a_browser(parameters) { vec![(host, free)] } else { Vec::new() };
        Self { now, skipped, under_way, connections: vec![(host, free, behind)] }
    }

    /// When the next object will be there, of which so many bytes come: their beginning, all of them, and what brings them.
    fn next(&mut self, parameters: &Parameters, object: &WorkloadObject, bytes: u64) -> (Ticks, Ticks, Behind) {
        let start = self.turn(parameters, object.host);
        let (stays, waits) = (parameters.http != Http::Http10, parameters.http != Http::Http11Pipelined);
        let mut ready = start + Ticks::of(parameters.delays.response) + Ticks::of(object.think);
        let carries =
            |(host, free, _): &(usize, Ticks, Behind)| stays && *host == object.host && (!waits || *free <= start);
        let place = self.connections.iter().position(carries).unwrap_or_else(|| {
            ready += Ticks::of(parameters.delays.connection);
            self.connections.push((object.host, ready, Behind::new(parameters)));
            self.connections.len() - 1
        });
        let (_, free, behind) = &mut self.connections[place];
        ready = ready.max(*free);
        let beginning = *behind;
        let end = behind.bring_all(ready, self.skipped, bytes, parameters);
        *free = end;
        self.under_way.push((object.host, end));
        (ready, end, beginning)
    }

    /// When the next request to `host` can go: there is a limit for all hosts, or for each where the box asks as the browser does.
    fn turn(&mut self, parameters: &Parameters, host: usize) -> Ticks {
        if parameters.http == Http::Http11Pipelined {
            return self.now;
        }
        let counts = |other: usize| !is_like_a_browser(parameters) || other == host;
        let own = self.under_way.iter().enumerate().filter(|(_, (other, _))| counts(*other));
        if own.clone().count() < parameters.fetches.max(1) {
            return self.now;
        }
        let first = own.min_by_key(|(_, (_, ready))| *ready).map_or(0, |(place, _)| place);
        self.under_way.swap_remove(first).1.max(self.now)
    }
}

/// A box that prefetches has as many connections to each host as a browser.
fn is_like_a_browser(parameters: &Parameters) -> bool {
    parameters.pushed_rate.is_some() || parameters.fetches_ahead
}
