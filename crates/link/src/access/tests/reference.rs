//! The same schemes played plainly: every position of every frame in its turn, every plan written out slot by slot.
//!
//! What a terminal asks for and when frames and slots lie is shared with the machine; who owns which slot, what is skipped
//! and how the pointers go on is not.

use super::play::Machine;
use crate::Access;
use crate::access::contention::Contention;
use crate::access::layout::Layout;
use crate::access::plan::Shares;
use crate::access::policy::{Ask, Policy, Setup, View, contention};
use crate::access::{AccessCounters, Action};
use farhop_units::{Bytes, Instant, Rate};
use std::collections::VecDeque;
use std::time::Duration;

pub(super) struct Reference {
    n: usize,
    hop: Duration,
    layout: Layout,
    next_rate: Option<Rate>,
    policy: Policy,
    contention: Option<Contention>,
    is_piggybacked: bool,
    timeout: Duration,
    is_renewed_by_data: bool,
    shares: Shares,
    kept: Shares,
    frame: u64,
    position: u32,
    /// Owner of every slot, and whether it asked for it.
    owners: Vec<Option<(usize, bool)>>,
    backlogged: Vec<bool>,
    promised: Vec<u32>,
    demand: VecDeque<usize>,
    weights: Vec<u32>,
    until: Vec<Instant>,
    ring: (usize, u32),
    free: usize,
    in_flight: VecDeque<(Instant, usize, Ask)>,
    pub(super) counters: AccessCounters,
}

impl Reference {
    pub(super) fn new(text: &str, terminals: u16, rate: Rate, hop: Duration, seed: u64) -> Self {
        let access: Access = text.parse().unwrap();
        let setup = Setup::new(&access, terminals, rate).expect("a scheme with frames");
        let n = usize::from(terminals);
        let mut reference = Self {
            n,
            hop,
            layout: Layout::new(setup.shape, rate),
            next_rate: None,
            contention: contention(&setup, terminals, seed),
            policy: setup.policy,
            is_piggybacked: setup.is_piggybacked,
            timeout: setup.timeout,
            is_renewed_by_data: setup.is_renewed_by_data,
            shares: setup.shares,
            kept: setup.shares,
            frame: 0,
            position: 0,
            owners: Vec::new(),
            backlogged: vec![false; n],
            promised: vec![0; n],
            demand: VecDeque::new(),
            weights: vec![0; n],
            until: vec![Instant::START; n],
            ring: (0, 0),
            free: 0,
            in_flight: VecDeque::new(),
            counters: AccessCounters::default(),
        };
        reference.kept = reference.policy.set_layout(&reference.layout, terminals, reference.shares);
        reference.begin_frame();
        reference
    }

    /// Who owns each slot of the frame being played.
    pub(super) fn owners(&self) -> impl Iterator<Item = Option<usize>> {
        self.owners.iter().map(|owner| owner.map(|(terminal, _)| terminal))
    }

    fn begin_frame(&mut self) {
        let start = self.layout.start(self.frame);
        while let Some((_, terminal, ask)) = self.in_flight.pop_front_if(|(arrival, ..)| *arrival + self.hop <= start) {
            self.demand.extend((0..ask.volume).map(|_| terminal));
            self.policy.takes_effect(terminal as u16);
        }
        self.deal();
    }

    fn deal(&mut self) {
        let list: Vec<usize> = (0..self.n).flat_map(|t| (0..self.weights[t]).map(move |_| t)).collect();
        let slots = self.layout.slots() as usize;
        let fixed = self.kept.fixed as usize;
        self.owners = (0..fixed).map(|slot| Some((slot % self.n, false))).collect();
        let open = slots - fixed - self.kept.free.unwrap_or(0) as usize;
        let streams = open.min(list.len());
        if list.len() > open {
            let before = list.iter().filter(|&&t| t < self.ring.0).count();
            let first = before + self.ring.1.min(self.weights[self.ring.0]) as usize;
            let place = |index: usize| list[(first + index) % list.len()];
            self.owners.extend((0..streams).map(|index| Some((place(index), false))));
            let next = (first + streams) % list.len();
            let before = list.iter().filter(|&&t| t < list[next]).count();
            self.ring = (list[next], (next - before) as u32);
        } else {
            self.owners.extend(list.iter().map(|&t| Some((t, false))));
        }
        for _ in streams..open {
            self.owners.extend(self.demand.pop_front().map(|t| Some((t, true))));
        }
        while self.owners.len() < slots {
            let free = self.kept.free.map(|_| self.free);
            self.owners.push(free.map(|t| (t, false)));
            self.free = free.map_or(self.free, |t| (t + 1) % self.n);
        }
    }

    fn view(&self, terminal: usize, now: Instant, backlog: Bytes) -> View {
        View {
            now,
            backlog,
            payload: self.layout.payload,
            promised: self.promised[terminal],
            weight: self.weights[terminal],
            frame: self.layout.frame(),
            frame_slots: self.layout.slots(),
            two_hops: self.hop * 2,
        }
    }

    fn ask(&mut self, terminal: usize, view: &View) {
        let ask = self.policy.ask(terminal as u16, view);
        self.policy.has_considered(terminal as u16, view, &ask);
        if !ask.is_nothing() {
            self.counters.requests += 1;
            self.promised[terminal] += ask.volume;
            let last = self.in_flight.back().map_or(Instant::START, |request| request.0);
            self.in_flight.push_back((last.max(view.now + self.hop), terminal, ask));
        }
    }

    fn contend(&mut self, terminal: usize) {
        let slots = self.layout.requests();
        let contends = self.policy.contends(terminal as u16, self.weights[terminal]);
        if let Some(contention) = self.contention.as_mut().filter(|_| contends) {
            contention.enter(terminal as u16, (self.frame + 1) * u64::from(slots), slots);
        }
    }

    fn play_request(&mut self, slot: u32, backlog: &dyn Fn(u16) -> Bytes) {
        let end = self.layout.position_start(self.frame, slot + 1);
        let number = self.frame * u64::from(self.layout.requests()) + u64::from(slot);
        let Some(mut contention) = self.contention.take() else {
            let terminal = (number % self.n as u64) as usize;
            if self.backlogged[terminal] {
                self.ask(terminal, &self.view(terminal, end, backlog(terminal as u16)));
            }
            return;
        };
        let mut asking = Vec::new();
        while let Some(terminal) = contention.take(number) {
            let view = self.view(terminal.into(), end, backlog(terminal));
            if view.backlog > Bytes::ZERO && !self.policy.ask(terminal, &view).is_nothing() {
                asking.push(terminal);
            }
        }
        if asking.len() == 1 {
            let terminal = usize::from(asking[0]);
            self.ask(terminal, &self.view(terminal, end, backlog(asking[0])));
        } else if asking.len() > 1 {
            self.counters.collisions += 1;
            let known = self.layout.frame_from(end + self.hop * 2);
            asking.iter().for_each(|&t| contention.retry(t, known * u64::from(self.layout.requests())));
        }
        self.contention = Some(contention);
    }

    fn play_data(&mut self, slot: u32, backlog: &dyn Fn(u16) -> Bytes) -> Option<Action> {
        let (terminal, was_asked_for) = self.owners[slot as usize]?;
        self.promised[terminal] -= u32::from(was_asked_for);
        let waiting = backlog(terminal as u16);
        if !self.backlogged[terminal] {
            return None;
        }
        let bytes = waiting.min(self.layout.payload);
        let left = waiting - bytes;
        self.backlogged[terminal] = left > Bytes::ZERO;
        let end = self.layout.position_start(self.frame, self.layout.requests() + slot + 1);
        let view = self.view(terminal, end, left);
        self.counters.used += 1;
        self.policy.has_sent(terminal as u16, bytes, &view);
        if self.is_renewed_by_data && end + self.hop < self.until[terminal] {
            self.until[terminal] = self.until[terminal].max(end + self.hop + self.timeout);
        }
        if self.is_piggybacked {
            self.ask(terminal, &view);
        }
        if left > Bytes::ZERO {
            self.contend(terminal);
        }
        Some(Action::Send { terminal: terminal as u16, bytes, end })
    }
}

impl Machine for Reference {
    fn handle_arrival(&mut self, _: Instant, terminal: u16) {
        self.backlogged[usize::from(terminal)] = true;
        self.contend(terminal.into());
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.layout.position_start(self.frame, self.position))
    }

    fn step(&mut self, backlog: &dyn Fn(u16) -> Bytes) -> Option<Action> {
        if self.position < self.layout.positions() {
            let position = self.position;
            self.position += 1;
            return match position.checked_sub(self.layout.requests()) {
                Some(slot) => self.play_data(slot, backlog),
                None => {
                    self.play_request(position, backlog);
                    None
                }
            };
        }
        self.counters.offered += self.owners.len() as u64;
        self.counters.granted += self.owners().flatten().count() as u64;
        (self.frame, self.position) = (self.frame + 1, 0);
        if let Some(rate) = self.next_rate.take() {
            self.layout = self.layout.at_rate(rate, self.frame);
            self.kept = self.policy.set_layout(&self.layout, self.n as u16, self.shares);
        }
        self.hear_and_end();
        self.begin_frame();
        None
    }

    fn set_rate(&mut self, _: Instant, rate: Rate) {
        self.next_rate = Some(rate);
    }

    fn set_hop(&mut self, _: Instant, hop: Duration) {
        self.hop = hop;
    }
}

impl Reference {
    /// Streams are opened, changed and ended by what is known for the frame that begins.
    fn hear_and_end(&mut self) {
        let start = self.layout.start(self.frame);
        for &(arrival, terminal, ask) in &self.in_flight {
            if let Some(weight) = ask.stream.filter(|_| arrival + self.hop <= start) {
                let until = if self.is_renewed_by_data {
                    self.layout.start(self.frame + 1) + self.hop + self.timeout
                } else {
                    (arrival + self.timeout).max(start + Duration::from_nanos(1))
                };
                self.weights[terminal] = weight;
                self.until[terminal] = self.until[terminal].max(until);
            }
        }
        let heard: Vec<usize> = self.in_flight.iter().filter(|(at, ..)| *at + self.hop <= start).map(|r| r.1).collect();
        heard.iter().for_each(|&terminal| self.policy.takes_effect(terminal as u16));
        for terminal in 0..self.n {
            let is_over = self.until[terminal] + self.hop <= start;
            if self.weights[terminal] > 0 && is_over {
                self.weights[terminal] = 0;
                if self.backlogged[terminal] {
                    self.contend(terminal);
                }
            }
        }
    }
}
