//! Serving: what the server, or whatever stands at the far end, makes of requests.

use super::connection::{Answer, Exchange, Side};
use super::load::{Load, Making};
use super::parameters::Http;
use super::ticks::Ticks;

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
            let delay = exchange.object.map_or(Ticks::ZERO, |object| self.delay(place, object));
            let making = Making { ready: self.now + delay, connection: place, generation, exchange };
            if delay == Ticks::ZERO {
                self.made(making);
            } else {
                self.make(making);
            }
        }
    }

    /// How long the response of `object` is in the making; those of one connection come in the order of their requests, unless they
    /// take turns.
    fn delay(&mut self, place: usize, object: usize) -> Ticks {
        let delays = &self.parameters.delays;
        let mut delay = Ticks::of(delays.response) + self.workload.think(object);
        let connection = &mut self.buffers.connections[place];
        if !core::mem::replace(&mut connection.has_answered, true) {
            delay += Ticks::of(delays.connection);
        }
        if object == 0 {
            delay += Ticks::of(delays.document);
        }
        let in_turn = if self.parameters.http.is_multiplexed() { self.now } else { connection.last_ready };
        let ready = (self.now + delay).max(in_turn);
        connection.last_ready = ready;
        self.buffers.browser.objects[object].delay = ready.since(self.now);
        ready.since(self.now)
    }

    /// A response will be there later, after those that are there before it.
    fn make(&mut self, making: Making) {
        let queue = &mut self.buffers.making;
        let after = queue.iter().rposition(|other| other.ready <= making.ready).map_or(0, |index| index + 1);
        queue.insert(after, making);
    }

    /// A response is there to be sent.
    pub(crate) fn made(&mut self, making: Making) {
        let place = making.connection;
        let connection = &mut self.buffers.connections[place];
        if connection.generation != making.generation {
            return;
        }
        let Exchange { object, response: bytes, .. } = making.exchange;
        let (urgency, in_turns) = object.map_or((0, false), |object| {
            let object = self.workload.object(object);
            (object.urgency, object.in_turns || self.parameters.is_established)
        });
        connection.answering.push_back(Answer { object, bytes, urgency, in_turns });
        connection.server.write(bytes);
        self.flush(place, Side::Server);
        if let Some(object) = object {
            self.push_named(making, object);
            self.close_server(place);
        }
    }

    /// The server sends what the body names without being asked.
    fn push_named(&mut self, making: Making, by: usize) {
        if !self.parameters.pushes {
            return;
        }
        for &(_, object) in self.workload.named_by(by) {
            let header = self.workload.header(object, self.parameters.response_header_bytes);
            self.buffers.browser.expect(object, by, self.workload.has_delays());
            let exchange = Exchange { object: Some(object), request: 0, response: header + self.workload.size(object) };
            let ready = self.now + Ticks::of(self.parameters.delays.response) + self.workload.think(object);
            self.buffers.browser.objects[object].header = header;
            self.make(Making { ready, exchange, ..making });
        }
    }

    /// HTTP/1.0: a FIN follows the response, with its last segment if that has not left yet.
    fn close_server(&mut self, place: usize) {
        if self.parameters.http != Http::Http10 {
            return;
        }
        let connection = &mut self.buffers.connections[place];
        connection.closing = true;
        if connection.server.sender.next == connection.server.sender.written {
            self.send_fin(place, Side::Server);
        }
    }
}
