//! What happens at one position of a frame: a burst, a request in a terminal's own slot, or a contention for one.

use super::{Frames, Request};
use crate::access::Action;
use crate::access::plan::Part;
use crate::access::policy::View;
use farhop_units::{Bytes, Instant};

impl Frames {
    /// Plays `position` of the present frame.
    pub(super) fn play(&mut self, position: u32, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        let requests = self.layout.requests();
        let action = match position.checked_sub(requests) {
            Some(slot) => self.play_data(position, slot, backlog),
            None => {
                match self.contention {
                    Some(_) => self.play_contention(position, backlog),
                    None => self.play_turn(position, backlog),
                }
                None
            }
        };
        self.pass_to(position + 1);
        action
    }

    /// A terminal asks in its own request slot.
    fn play_turn(&mut self, position: u32, backlog: &mut impl FnMut(u16) -> Bytes) {
        let Ok(terminal) = u16::try_from(self.turn(position)) else { return };
        let end = self.layout.position_start(self.frame, position + 1);
        let view = self.view(terminal, end, backlog(terminal), 0);
        self.ask(terminal, &view);
    }

    /// Terminals ask in a slot for which they contend.
    fn play_contention(&mut self, position: u32, backlog: &mut impl FnMut(u16) -> Bytes) {
        let Some(mut contention) = self.contention.take() else { return };
        let slot = self.frame * u64::from(self.layout.requests()) + u64::from(position);
        let end = self.layout.position_start(self.frame, position + 1);
        let mut asking = core::mem::take(&mut self.asking);
        while let Some(terminal) = contention.take(slot) {
            let view = self.view(terminal, end, backlog(terminal), 0);
            if view.backlog > Bytes::ZERO && !self.policy.ask(terminal, &view).is_nothing() {
                asking.push(terminal);
            }
        }
        if let &[alone] = asking.as_slice() {
            let view = self.view(alone, end, backlog(alone), 0);
            self.ask(alone, &view);
        } else if !asking.is_empty() {
            self.counters.collisions += 1;
            let known = self.layout.frame_from(end + self.two_hops());
            let first = known * u64::from(self.layout.requests());
            asking.iter().for_each(|&terminal| contention.retry(terminal, first));
        }
        asking.clear();
        self.asking = asking;
        self.contention = Some(contention);
    }

    /// The owner of a data slot sends, if it has something.
    fn play_data(&mut self, position: u32, slot: u32, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        let (terminal, part) = self.plan.owner(slot)?;
        if !self.plan.is_backlogged(terminal) {
            return None;
        }
        let waiting = backlog(terminal);
        let bytes = waiting.min(self.layout.payload);
        let left = waiting.saturating_sub(bytes);
        self.plan.set_backlogged(terminal, left > Bytes::ZERO);
        if bytes == Bytes::ZERO {
            return None;
        }
        self.counters.used += 1;
        let end = self.layout.position_start(self.frame, position + 1);
        let view = self.view(terminal, end, left, u32::from(part == Part::Demand));
        self.policy.has_sent(terminal, bytes, &view);
        if self.is_renewed_by_data {
            self.plan.streams.hear(terminal, end + self.up_delay, self.timeout);
        }
        if self.is_piggybacked {
            self.ask(terminal, &view);
        }
        if left > Bytes::ZERO {
            self.contend(terminal);
        }
        Some(Action::Send { terminal, bytes, end })
    }

    /// `terminal` enters the contention for a request slot of the next frame, if there is one and it needs to. Says
    /// whether it did.
    pub(super) fn contend(&mut self, terminal: u16) -> bool {
        let Some(contention) = &mut self.contention else { return false };
        let weight = self.plan.streams.ring.weight(terminal);
        if contention.is_waiting(terminal) || !self.policy.contends(terminal, weight) {
            return false;
        }
        let slots = self.layout.requests();
        contention.enter(terminal, (self.frame + 1) * u64::from(slots), slots);
        true
    }

    /// `terminal` asks for what it needs, in a burst or request slot that ends at `view.now`.
    fn ask(&mut self, terminal: u16, view: &View) {
        let ask = self.policy.ask(terminal, view);
        self.policy.has_considered(terminal, view, &ask);
        if ask.is_nothing() {
            return;
        }
        self.counters.requests += 1;
        self.plan.promise(terminal, ask.volume);
        let arrival = view.now + self.up_delay;
        let last = self.in_flight.back().map_or(arrival, |request| request.arrival);
        // Requests do not overtake each other after the delay was shortened, as packets do not.
        self.in_flight.push_back(Request { arrival: arrival.max(last), terminal, ask });
    }

    /// What `terminal` sees at `now` with `backlog`, when `passing` of its promised slots are being used.
    fn view(&self, terminal: u16, now: Instant, backlog: Bytes, passing: u32) -> View {
        View {
            now,
            backlog,
            payload: self.layout.payload,
            promised: self.plan.promised(terminal).saturating_sub(passing),
            weight: self.plan.streams.ring.weight(terminal),
            frame: self.layout.frame(),
            frame_slots: self.layout.slots(),
            two_hops: self.two_hops(),
        }
    }
}
