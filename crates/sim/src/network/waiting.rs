//! Where RWBP has the far link, what asks for names and answers waits for room in its queues as well.
//!
//! RWBP is told how much room there is, and takes all of it (zhou-2004 §IV: whoever is before a full queue waits, back to the source, and nothing is
//! dropped). A datagram that entered unasked would find no room, or push out of a fair queue who has most there. So it waits in front of the
//! link, and before RWBP, which has no room to fill meanwhile. Who waits asks again when the link can have sent as much.

use super::parcel::{Parcel, Place, Side, Standing};
use super::{Content, Network};
use crate::world::{Event, Events};
use farhop_scenario::Scenario;
use farhop_units::{Bytes, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What waits, by the port at which it does.
#[derive(Debug)]
pub(super) struct Waiting {
    ports: BTreeMap<(bool, u16), Queue>,
    /// Of the link up and down.
    rates: [Option<Rate>; 2],
}

#[derive(Debug)]
struct Queue {
    /// One at least.
    parcels: VecDeque<Parcel>,
    /// When the first one asks again.
    asks: Instant,
}

impl Waiting {
    /// At a link of this scenario.
    pub(super) fn at(scenario: &Scenario) -> Self {
        let rates = [Side::Near, Side::Far].map(|side| side.direction().of(&scenario.link).peak_rate());
        Self { ports: BTreeMap::new(), rates }
    }

    /// Whether something waits at a port.
    pub(super) fn is_at(&self, from: Side, terminal: u16) -> bool {
        self.ports.contains_key(&port(from, terminal))
    }

    /// How long the link is at work with a parcel; without a rate it has no queue.
    fn time_of(&self, parcel: &Parcel) -> Option<Duration> {
        let rate = self.rates[parcel.from as usize]?;
        Some(rate.transmission_time(bytes(parcel)).max(Duration::from_nanos(1)))
    }

    /// It waits behind those that do, or asks again at that time.
    fn push(&mut self, parcel: Parcel, asks: Instant) {
        let queue = self.ports.entry(port(parcel.from, parcel.terminal));
        queue.or_insert_with(|| Queue { parcels: VecDeque::new(), asks }).parcels.push_back(parcel);
    }

    /// The first one that waits at a port, if it is to ask by now.
    fn asking(&self, now: Instant, from: Side, terminal: u16) -> Option<&Parcel> {
        self.ports.get(&port(from, terminal)).filter(|queue| queue.asks <= now)?.parcels.front()
    }

    /// The first one at a port asks again at that time.
    fn put_off(&mut self, from: Side, terminal: u16, asks: Instant) {
        if let Some(queue) = self.ports.get_mut(&port(from, terminal)) {
            queue.asks = asks;
        }
    }

    fn pop(&mut self, from: Side, terminal: u16) -> Option<Parcel> {
        let key = port(from, terminal);
        let queue = self.ports.get_mut(&key)?;
        let first = queue.parcels.pop_front();
        if queue.parcels.is_empty() {
            self.ports.remove(&key);
        }
        first
    }
}

fn bytes(parcel: &Parcel) -> Bytes {
    Bytes::new(parcel.bytes.into())
}

/// All terminals have one way down.
const fn port(from: Side, terminal: u16) -> (bool, u16) {
    match from {
        Side::Near => (false, terminal),
        Side::Far => (true, 0),
    }
}

impl<P: Content> Network<P> {
    /// From now on what asks for names and answers waits for room in the far link's queues.
    pub(crate) fn let_names_wait(&mut self, scenario: &Scenario) {
        self.waiting = Some(Waiting::at(scenario));
    }

    /// A patient parcel is before the far link. Returns whether it waits there.
    pub(super) fn has_to_wait(&mut self, now: Instant, parcel: &Parcel, events: &mut Events) -> bool {
        let &Parcel { from, terminal, .. } = parcel;
        let Some(waiting) = &self.waiting else { return false };
        let Some(time) = waiting.time_of(parcel) else { return false };
        if !waiting.is_at(from, terminal) {
            if self.free_room(now, from, terminal).takes(bytes(parcel)) {
                return false;
            }
            events.push(now + time, Event::Station { side: from, terminal });
        }
        self.waiting.iter_mut().for_each(|waiting| waiting.push(parcel.moved(), now + time));
        true
    }

    /// What waits at a side of the far link enters, as far as there is room.
    pub(crate) fn let_in(&mut self, now: Instant, from: Side, terminal: u16, events: &mut Events) {
        while let Some((first, time)) = self.waiting.as_ref().and_then(|waiting| {
            let first = waiting.asking(now, from, terminal)?;
            Some((bytes(first), waiting.time_of(first)?))
        }) {
            if !self.free_room(now, from, terminal).takes(first) {
                self.waiting.iter_mut().for_each(|waiting| waiting.put_off(from, terminal, now + time));
                return events.push(now + time, Event::Station { side: from, terminal });
            }
            let Some(mut parcel) = self.waiting.as_mut().and_then(|waiting| waiting.pop(from, terminal)) else {
                return;
            };
            parcel.standing = Standing::Usual;
            let place = if from == Side::Near { Place::Terminal } else { Place::Gateway };
            self.enter(now, place, &mut parcel, events);
        }
    }
}
