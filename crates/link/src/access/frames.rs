//! Frames played in time: plans, bursts and requests of every scheme but slotted Aloha for data.
//!
//! The plan of frame k leaves the scheduler a down delay before the frame starts, made from the requests that had arrived
//! by then. Nothing else decides it, so here it is made at the frame's start, from the requests with arrival + down delay at
//! or before it: a request sent at s takes effect in the first frame that starts at or after s + up delay + down delay.
//! A request is sent when the burst or request slot it goes in ends.
//!
//! Time without backlog costs nothing: the machine rests, and the frames it has missed are made up when the next packet
//! arrives, one by one as long as a demand is being served, and all at once, by arithmetic, between changes.

mod play;

use super::contention::Contention;
use super::layout::Layout;
use super::plan::{Plan, Shares};
use super::policy::{Ask, Policy, Setup, contention};
use super::{AccessCounters, Action};
use farhop_units::{Bytes, Instant, Rate};
use std::collections::VecDeque;
use std::time::Duration;

/// The state of a shared channel with frames.
#[derive(Debug)]
pub(super) struct Frames {
    terminals: u16,
    policy: Policy,
    contention: Option<Contention>,
    is_piggybacked: bool,
    timeout: Duration,
    is_renewed_by_data: bool,
    shares: Shares,
    up_delay: Duration,
    down_delay: Duration,
    layout: Layout,
    /// The rate from the next frame on.
    next_rate: Option<Rate>,
    /// The frame being played, dealt in `plan`.
    frame: u64,
    /// The first position of it that is still to come.
    position: u32,
    plan: Plan,
    /// What is due next, and when.
    due: Option<(Due, Instant)>,
    in_flight: VecDeque<Request>,
    /// Terminals that ask in the request slot being played.
    asking: Vec<u16>,
    counters: AccessCounters,
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Due {
    Position(u32),
    NextFrame,
}

/// A request on its way to the scheduler.
#[derive(Debug, Clone, Copy)]
struct Request {
    arrival: Instant,
    terminal: u16,
    ask: Ask,
}

impl Frames {
    /// Frame 0 starts at the beginning of the run.
    pub(super) fn new(setup: Setup, terminals: u16, rate: Rate, delays: (Duration, Duration), seed: u64) -> Self {
        let contention = contention(&setup, terminals, seed);
        let layout = Layout::new(setup.shape, rate);
        let Setup { mut policy, is_piggybacked, timeout, is_renewed_by_data, shares, .. } = setup;
        let dealt = policy.set_layout(&layout, terminals, shares);
        let mut frames = Self {
            terminals,
            plan: Plan::new(terminals, layout.slots(), dealt),
            policy,
            contention,
            is_piggybacked,
            timeout,
            is_renewed_by_data,
            shares,
            up_delay: delays.0,
            down_delay: delays.1,
            layout,
            next_rate: None,
            frame: 0,
            position: 0,
            due: None,
            in_flight: VecDeque::new(),
            asking: Vec::new(),
            counters: AccessCounters::default(),
        };
        frames.plan.deal();
        frames
    }

    /// What [`Frames::step`] does next is due then.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.due.map(|(_, at)| at)
    }

    /// Something more waits at `terminal`.
    pub(super) fn handle_arrival(&mut self, now: Instant, terminal: u16) {
        self.catch_up(now);
        let is_new = !self.plan.is_backlogged(terminal);
        if is_new {
            self.plan.set_backlogged(terminal, true);
        }
        let contends = self.contend(terminal);
        if is_new || contends {
            self.find_due();
        }
    }

    /// Does what is due.
    pub(super) fn step(&mut self, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        let action = match self.due?.0 {
            Due::NextFrame => {
                self.next_frame();
                None
            }
            Due::Position(position) => {
                self.pass_to(position);
                self.play(position, backlog)
            }
        };
        self.find_due();
        action
    }

    /// Another rate from the next frame on.
    pub(super) fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.catch_up(now);
        self.next_rate = Some(rate);
    }

    /// Other delays for requests that leave from now on and for plans from the next frame on.
    pub(super) fn set_delays(&mut self, now: Instant, up_delay: Duration, down_delay: Duration) {
        self.catch_up(now);
        self.up_delay = up_delay;
        self.down_delay = down_delay;
    }

    /// Makes up what was missed while nothing was due. Whoever calls has done what was due until `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
        let is_idle = self.due.is_none();
        if is_idle {
            self.skip_until(now);
        }
        let position = self.layout.position_after(self.frame, now);
        // What is due and was not done stays.
        let bound = if let Some((Due::Position(due), _)) = self.due { due } else { self.layout.positions() };
        self.pass_to(position.min(bound));
        if is_idle {
            self.leave_contention();
        }
    }

    /// The books up to now.
    pub(super) fn counters(&self) -> AccessCounters {
        self.counters
    }

    /// Goes on to the frame of `now` without a backlog on the way.
    fn skip_until(&mut self, now: Instant) {
        while self.frame < self.layout.frame_at(now) {
            self.next_frame();
            let target = self.layout.frame_at(now);
            let change = self.next_change().unwrap_or(target);
            // This frame and those before the next change and the target are alike.
            let alike = change.min(target).saturating_sub(self.frame);
            if alike > 0 && self.plan.is_steady() {
                self.plan.finish(alike);
                self.count_frames(alike);
                self.frame += alike;
                self.begin_frame();
            }
        }
    }

    /// Those who had an attempt in a request slot that has passed had nothing to send any more.
    fn leave_contention(&mut self) {
        let requests = self.layout.requests();
        let Some(contention) = &mut self.contention else { return };
        let next = self.frame * u64::from(requests) + u64::from(self.position.min(requests));
        while next.checked_sub(1).and_then(|passed| contention.take(passed)).is_some() {}
    }

    /// The next frame of which it is known that something changes in it.
    fn next_change(&self) -> Option<u64> {
        let effect = self.in_flight.front().map(|request| request.arrival);
        let end = self.plan.streams.next_end();
        let first = effect.into_iter().chain(end).min()?;
        Some(self.layout.frame_from(first + self.down_delay))
    }

    /// Ends the frame and begins the next.
    fn next_frame(&mut self) {
        self.pass_to(self.layout.positions());
        self.plan.finish(1);
        self.count_frames(1);
        self.frame += 1;
        if let Some(rate) = self.next_rate.take() {
            self.layout = self.layout.at_rate(rate, self.frame);
            let shares = self.policy.set_layout(&self.layout, self.terminals, self.shares);
            self.plan.set_shares(shares);
        }
        self.begin_frame();
    }

    /// Counts frames like this one.
    fn count_frames(&mut self, frames: u64) {
        self.counters.offered += u64::from(self.layout.slots()) * frames;
        self.counters.granted += u64::from(self.plan.granted()) * frames;
    }

    /// Plans the frame from what the scheduler knew in time.
    fn begin_frame(&mut self) {
        self.position = 0;
        self.hear_requests();
        self.end_streams();
        self.plan.deal();
    }

    fn hear_requests(&mut self) {
        let start = self.layout.start(self.frame);
        while let Some(&Request { arrival, terminal, ask }) = self.in_flight.front() {
            if arrival + self.down_delay > start {
                break;
            }
            self.in_flight.pop_front();
            self.plan.demand(terminal, ask.volume);
            if let Some(weight) = ask.stream {
                self.plan.open_stream(terminal, weight, self.until(start, arrival));
            }
            self.policy.takes_effect(terminal);
        }
    }

    /// When a stream ends that begins with the frame of `start`. However short the timeout, not before that frame is over:
    /// a terminal would ask again for ever.
    fn until(&self, start: Instant, arrival: Instant) -> Instant {
        if self.is_renewed_by_data {
            // The last of its bursts in this frame is heard a hop after the frame.
            return self.layout.start(self.frame + 1) + self.up_delay + self.timeout;
        }
        (arrival + self.timeout).max(start + Duration::from_nanos(1))
    }

    fn end_streams(&mut self) {
        let known = self.layout.start(self.frame).as_nanos().checked_sub(nanos(self.down_delay));
        let Some(known) = known.map(Instant::from_nanos) else { return };
        while let Some(terminal) = self.plan.end_stream(known) {
            if self.plan.is_backlogged(terminal) {
                self.contend(terminal);
            }
        }
    }

    /// Positions before `position` pass unplayed.
    fn pass_to(&mut self, position: u32) {
        if position > self.position {
            let slot = |position: u32| position.saturating_sub(self.layout.requests());
            self.plan.pass(slot(self.position), slot(position));
            self.position = position;
        }
    }

    fn find_due(&mut self) {
        self.due = match self.next_position() {
            Some(position) => Some((Due::Position(position), self.layout.position_start(self.frame, position))),
            None if self.plan.is_idle() => None,
            None => Some((Due::NextFrame, self.layout.start(self.frame + 1))),
        };
    }

    /// The next position of this frame at which something happens.
    fn next_position(&self) -> Option<u32> {
        if self.plan.is_idle() {
            return None;
        }
        let requests = self.layout.requests();
        let request = (self.position < requests).then(|| self.next_request_slot()).flatten();
        request.or_else(|| {
            let slot = self.plan.next_of_interest(self.position.saturating_sub(requests))?;
            Some(requests + slot)
        })
    }

    /// The next request slot of this frame that is used.
    fn next_request_slot(&self) -> Option<u32> {
        let requests = self.layout.requests();
        if let Some(contention) = &self.contention {
            let slot = contention.next_slot()?.checked_sub(self.frame * u64::from(requests))?;
            return u32::try_from(slot).ok().filter(|&slot| slot < requests);
        }
        let n = u32::from(self.terminals);
        let turn = self.turn(self.position);
        let next = u32::from(self.plan.next_backlogged(turn)?);
        let wait = if next >= turn { next - turn } else { next + n - turn };
        Some(self.position + wait).filter(|&slot| slot < requests)
    }

    /// Whose request slot number `slot` of this frame is, where they are had in turn.
    fn turn(&self, slot: u32) -> u32 {
        let n = u64::from(self.terminals);
        let turn = (self.frame % n * u64::from(self.layout.requests()) + u64::from(slot)) % n;
        u32::try_from(turn).expect("below a number of terminals")
    }

    fn two_hops(&self) -> Duration {
        self.up_delay.saturating_add(self.down_delay)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
