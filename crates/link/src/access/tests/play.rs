//! Queues of packets at terminals, played against a scheduler.

use crate::Access;
use crate::Port;
use crate::access::{Action, Scheduler};
use crate::random::{self, Impairment};
use farhop_units::{Bytes, Instant, Rate};
use std::collections::VecDeque;
use std::time::Duration;

/// A geostationary hop.
pub(super) const HOP: Duration = Duration::from_millis(250);

/// What a terminal was allowed to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) terminal: u16,
    pub(super) bytes: u64,
    /// What waits after it.
    pub(super) left: u64,
    pub(super) end: Instant,
}

/// A packet that left, or was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) terminal: u16,
    pub(super) arrived: Instant,
    /// `None`: given up.
    pub(super) left: Option<Instant>,
}

/// What can be played: the machine, and the reference it is compared with.
pub(super) trait Machine {
    fn handle_arrival(&mut self, now: Instant, terminal: u16);
    fn next_timeout(&self) -> Option<Instant>;
    fn step(&mut self, backlog: &dyn Fn(u16) -> Bytes) -> Option<Action>;
    fn set_rate(&mut self, now: Instant, rate: Rate);
    fn set_hop(&mut self, now: Instant, hop: Duration);
}

impl Machine for Scheduler {
    fn handle_arrival(&mut self, now: Instant, terminal: u16) {
        self.handle_arrival(now, terminal);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next_timeout()
    }

    fn step(&mut self, backlog: &dyn Fn(u16) -> Bytes) -> Option<Action> {
        self.step(&mut |terminal| backlog(terminal))
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.set_rate(now, rate);
    }

    fn set_hop(&mut self, now: Instant, hop: Duration) {
        self.set_delays(now, hop, hop);
    }
}

/// A scheduler and its terminals' queues.
pub(super) struct Play<M = Scheduler> {
    pub(super) scheduler: M,
    queues: Vec<VecDeque<(Instant, u64)>>,
    backlogs: Vec<u64>,
    pub(super) arrived: u64,
    pub(super) sent: Vec<Sent>,
    pub(super) done: Vec<Done>,
    pub(super) given_up: u64,
    pub(super) steps: u64,
}

impl Play {
    pub(super) fn new(text: &str, terminals: u16, rate: Rate, hop: Duration, seed: u64) -> Self {
        let access: Access = text.parse().unwrap();
        let scheduler = Scheduler::new(&access, terminals, rate, hop, hop, seed).expect("a shared channel");
        Self::of(scheduler, terminals)
    }
}

impl<M: Machine> Play<M> {
    pub(super) fn of(scheduler: M, terminals: u16) -> Self {
        Self {
            scheduler,
            queues: vec![VecDeque::new(); terminals.into()],
            backlogs: vec![0; terminals.into()],
            arrived: 0,
            sent: Vec::new(),
            done: Vec::new(),
            given_up: 0,
            steps: 0,
        }
    }

    pub(super) fn backlog(&self, terminal: u16) -> u64 {
        self.backlogs[usize::from(terminal)]
    }

    pub(super) fn backlogs(&self) -> impl Iterator<Item = u64> {
        self.backlogs.iter().copied()
    }

    /// A packet arrives after everything that was due.
    pub(super) fn arrive(&mut self, now: Instant, terminal: u16, bytes: u64) {
        self.run_until(now);
        self.arrived += bytes;
        self.queues[usize::from(terminal)].push_back((now, bytes));
        self.backlogs[usize::from(terminal)] += bytes;
        self.scheduler.handle_arrival(now, terminal);
    }

    /// Everything due until `now`.
    pub(super) fn run_until(&mut self, now: Instant) {
        let mut last = Instant::START;
        while let Some(due) = self.scheduler.next_timeout().filter(|&due| due <= now) {
            assert!(due >= last, "time runs back");
            last = due;
            self.step();
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        let backlogs = &self.backlogs;
        match self.scheduler.step(&|terminal: u16| Bytes::new(backlogs[usize::from(terminal)])) {
            None => {}
            Some(Action::Send { terminal, bytes, end }) => self.send(terminal, bytes.get(), end),
            Some(Action::GiveUp { terminal }) => {
                let (arrived, bytes) = self.queues[usize::from(terminal)].pop_front().expect("something to give up");
                self.backlogs[usize::from(terminal)] -= bytes;
                self.given_up += bytes;
                self.done.push(Done { terminal, arrived, left: None });
            }
        }
    }

    fn send(&mut self, terminal: u16, bytes: u64, end: Instant) {
        let place = usize::from(terminal);
        assert!(bytes > 0 && bytes <= self.backlogs[place], "{bytes} of {}", self.backlogs[place]);
        self.backlogs[place] -= bytes;
        self.sent.push(Sent { terminal, bytes, left: self.backlogs[place], end });
        let mut left = bytes;
        while left > 0 {
            let (arrived, rest) = self.queues[place].front_mut().expect("bytes are of packets");
            let taken = left.min(*rest);
            *rest -= taken;
            left -= taken;
            if *rest == 0 {
                self.done.push(Done { terminal, arrived: *arrived, left: Some(end) });
                self.queues[place].pop_front();
            }
        }
    }

    /// Mean time from arrival to the end of the last slot.
    pub(super) fn mean_delay(&self) -> Duration {
        let delays: Vec<Duration> = self.done.iter().filter_map(|done| Some(done.left? - done.arrived)).collect();
        delays.iter().sum::<Duration>() / u32::try_from(delays.len()).unwrap()
    }
}

/// Poisson arrivals: times of mean distance `mean`, each at a terminal drawn uniformly.
pub(super) fn poisson(mean: Duration, terminals: u16, seed: u64) -> impl Iterator<Item = (Instant, u16)> {
    let times = random::stream(seed, Impairment::Jitter, Port::Gateway);
    let places = random::stream(seed, Impairment::Loss, Port::Gateway);
    (0..).scan(Instant::START, move |now, index| {
        *now += mean.mul_f64(-libm::log(1.0 - times.uniform(index)));
        Some((*now, u16::try_from(places.below(index, terminals.into())).unwrap()))
    })
}

pub(super) fn seconds(count: u64) -> Instant {
    Instant::START + Duration::from_secs(count)
}
