//! Reading: what the client makes of bytes that arrive, and how the browser goes on.

use super::breakdown::Ledger;
use super::connection::{Chunk, Content, Side};
use super::load::{Load, Planned};
use super::progress::{Start, Trigger};
use super::ticks::Ticks;

impl Load<'_> {
    /// `payload` bytes arrived on a connection, in a packet that spent `link` at the serializers; they may end one response and
    /// begin the next.
    #[inline(always)]
    pub(crate) fn read(&mut self, place: usize, payload: u64, link: Ticks) {
        let mut left = payload;
        while left > 0 {
            let Some(chunk) = self.buffers.connections[place].stream.front_mut() else { return };
            let bytes = chunk.bytes.min(left);
            (chunk.bytes, left) = (chunk.bytes - bytes, left - bytes);
            let Chunk { content, bytes: rest } = *chunk;
            if rest == 0 {
                self.buffers.connections[place].stream.pop_front();
            }
            self.note_crossed(content, Side::Server, bytes);
            match content {
                content if self.near.is_some() => {
                    let ledger = self.buffers.connections[place].ledger;
                    self.come_near((place, ledger), content, bytes, link);
                }
                Content::Object(object) if self.buffers.browser.takes_quietly(object, bytes) => {}
                Content::Object(object) => {
                    let ledger = self.buffers.connections[place].ledger;
                    self.read_response((place, ledger), object, bytes, link);
                }
                Content::Keys { call } => self.read_keys(call, bytes),
            }
        }
    }

    /// Bytes of a response have come, at a place for which time went as its ledger says.
    #[inline(never)]
    pub(crate) fn read_response(&mut self, (place, ledger): (usize, Ledger), object: usize, bytes: u64, link: Ticks) {
        let (clock, size) = (self.clock(), self.workload.size(object));
        let progress = &mut self.buffers.browser.objects[object];
        let start = *progress.start.get_or_insert(Start { at: clock, place, ledger, link });
        let ledger = start.ledger_at(clock, place, ledger);
        if !self.buffers.browser.take(object, bytes, self.workload) {
            return self.buffers.browser.note_events(object, self.workload);
        }
        let progress = &mut self.buffers.browser.objects[object];
        let complete = progress.body >= size && progress.end.is_none();
        if progress.body > 0 || complete {
            progress.first_byte.get_or_insert(clock);
        }
        if complete {
            progress.end = Some((clock, ledger));
        }
        if self.buffers.browser.has_named(object, self.workload) {
            self.read_names(object, Trigger::Named { by: object, ledger, delay: Ticks::ZERO });
        }
        self.buffers.browser.note_events(object, self.workload);
        if complete {
            self.response_ended(place, object);
        }
    }

    /// Reads the names in what has arrived of a body, because of `trigger`.
    fn read_names(&mut self, by: usize, trigger: Trigger) {
        let Trigger::Named { by: from, ledger, delay: before } = trigger else { return };
        if self.buffers.browser.objects[by].withheld {
            return;
        }
        let clock = self.clock();
        while let Some(object) = self.buffers.browser.next_named(by, self.workload) {
            let delay = Ticks::of(self.workload.object(object).delay);
            let trigger = Trigger::Named { by: from, ledger, delay: before + delay };
            let progress = &mut self.buffers.browser.objects[object];
            progress.named = Some((clock, from, ledger));
            progress.waits = before + delay;
            let is_fetched = self.workload.object(by).is_document && !self.workload.object(object).is_clients;
            if delay > Ticks::ZERO && self.parameters.asks_ahead && is_fetched {
                progress.withheld = true;
                self.trigger = Trigger::Named { by: from, ledger, delay: before };
                self.buffers.browser.discover(object);
                self.may_act = true;
                self.plan(self.now + delay, Planned::Ask { object, trigger });
            } else if delay > Ticks::ZERO || progress.withheld || self.answers_near() {
                // In the order in which it is named, be it asked for at once or not.
                self.plan(self.now + delay, Planned::Ask { object, trigger });
            } else if is_fetched {
                self.ask_in_passing(object);
                self.ask(object, trigger);
            } else {
                self.ask_from_afar(object, trigger);
            }
        }
    }

    /// The browser asks for an object; of one that has come unasked it now has what has arrived.
    pub(crate) fn ask(&mut self, object: usize, trigger: Trigger) {
        let clock = self.clock();
        if self.answers_near() {
            self.trigger = trigger;
            return self.ask_near(object);
        }
        self.buffers.browser.await_pushed(object);
        let progress = &mut self.buffers.browser.objects[object];
        if !core::mem::replace(&mut progress.withheld, false) {
            self.trigger = trigger;
            self.buffers.browser.discover(object);
            self.may_act = true;
            return;
        }
        if progress.first_byte.is_none() {
            return;
        }
        progress.first_byte = Some(clock);
        if let Some((end, _)) = &mut progress.end {
            *end = clock;
            progress.held = Some(trigger);
        }
        self.read_names(object, trigger);
    }

    fn response_ended(&mut self, place: usize, object: usize) {
        self.rest(self.buffers.browser.objects[object].asked_at.unwrap_or(place));
        let close = self.buffers.browser.response_ended(place, object, self.parameters.http);
        self.trigger = Trigger::Ended { object };
        self.may_act = true;
        self.ended_near(object);
        self.ended_at_box(object);
        if close {
            self.close_client(place);
        }
    }
}
