//! Both directions between a gateway and its terminals, run as one machine on the caller's time.

use crate::access::{AccessCounters, Action, Scheduler};
use crate::agenda::{Agenda, Event};
use crate::packet::Slot;
use crate::path::{Path, earlier};
use crate::{
    Access, Change, ChannelConfig, Class, Counters, Destination, Direction, Outages, Output, Packet, Port, QueueLimit,
    Setting,
};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// A link between a gateway and its terminals: one way down for all of them, one way up for each.
///
/// Every call with `now` first runs what was due until then, at the time it was due. A `now` before an earlier call's
/// counts as that earlier time ([`Channel::now`]): what has happened is not taken back.
#[derive(Debug)]
pub struct Channel<P> {
    config: ChannelConfig,
    /// The way down, then every terminal's way up.
    paths: Vec<Path<P>>,
    /// Who sends when on a shared way up.
    scheduler: Option<Scheduler>,
    /// Terminals that have met an outage in the slot that is played.
    silenced: Vec<u16>,
    /// When what is due at the paths.
    agenda: Agenda,
    /// From what a transmitter does to the first output that comes of it, at least: down, up.
    reach: [Duration; 2],
    outputs: VecDeque<Output<P>>,
    now: Instant,
    arrivals: u64,
}

/// The place of the way down among the paths; terminal t's way up comes t + 1 places later.
const DOWN: usize = 0;

impl<P: Packet> Channel<P> {
    /// An empty channel at the beginning of the run. The seed decides every random number it will ever use.
    ///
    /// A configuration that contradicts itself ([`ChannelConfig::check`]) gives a channel that does what it can: shared
    /// access that cannot work is dedicated, and there is at least one terminal.
    pub fn new(config: ChannelConfig, seed: u64) -> Self {
        let config = ChannelConfig { terminals: config.terminals.max(1), ..config };
        let scheduler = scheduler_of(&config, seed);
        let entries = core::iter::once(Port::Gateway).chain((0..config.terminals).map(Port::Terminal));
        let paths: Vec<_> = entries.map(|entry| Path::new(&config, seed, entry, scheduler.is_some())).collect();
        Self {
            scheduler,
            silenced: Vec::new(),
            agenda: Agenda::new(paths.len()),
            paths,
            reach: Direction::BOTH.map(|direction| reach(&config, direction)),
            config,
            outputs: VecDeque::new(),
            now: Instant::START,
            arrivals: 0,
        }
    }

    /// A packet enters at `port`.
    pub fn handle_packet(&mut self, now: Instant, port: Port, packet: P) {
        self.run_until(now);
        let slot = Slot { number: self.arrivals, bytes: packet.wire_bytes(), entered: port, packet };
        self.arrivals += 1;
        match self.place_of(port) {
            Some(DOWN) if !self.has_destination(&slot.packet) => {
                self.paths[DOWN].refuse(self.now, slot, &mut self.outputs);
            }
            Some(place) => self.enter(place, slot),
            // The books of a terminal that does not exist are kept with the first one's.
            None => self.paths[DOWN + 1].refuse(self.now, slot, &mut self.outputs),
        }
        // Without rate and delay the packet is through at once.
        self.run_until(self.now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.run_until(now);
    }

    /// Changes one setting of one direction from `now` on, without touching its random streams. The packet in service
    /// finishes at its old rate, packets in flight keep their delay, and the queue keeps what it holds. A change that
    /// contradicts other settings is for the caller to refuse ([`ChannelConfig::check`]).
    pub fn reconfigure(&mut self, now: Instant, change: Change) {
        self.catch_up(now);
        let Change { direction, setting } = change;
        self.config.apply(Change { direction, setting: setting.clone() });
        self.reach = Direction::BOTH.map(|direction| reach(&self.config, direction));
        let places = match direction {
            Direction::Down => DOWN..DOWN + 1,
            Direction::Up => DOWN + 1..self.paths.len(),
        };
        for place in places {
            self.paths[place].set(self.now, &setting, direction.of(&self.config));
            self.update(place);
        }
        self.reconfigure_access(&setting);
        self.run_until(self.now);
    }

    /// Medium access knows the shared rate and how far away its scheduler is.
    fn reconfigure_access(&mut self, setting: &Setting) {
        let Some(scheduler) = &mut self.scheduler else { return };
        match setting {
            Setting::Rate(Some(rate)) => scheduler.set_rate(self.now, *rate),
            Setting::Delay(_) | Setting::Orbit(_) | Setting::Trace(_) => {
                scheduler.set_delays(self.now, self.config.up.least_delay(), self.config.down.least_delay());
            }
            Setting::Framing(_) => {
                // What waits has another size on the wire now.
                for terminal in 0..self.config.terminals {
                    if self.paths[place_of_terminal(terminal)].backlog() > Bytes::ZERO {
                        scheduler.handle_arrival(self.now, terminal);
                    }
                }
            }
            _ => {}
        }
    }

    /// The next output, in order of time; `None` until something more has happened.
    pub fn poll(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When [`Channel::handle_timeout`] may have something to put out next. Ends of service and slots on the way, of which
    /// nothing can be seen yet, need no call of their own: the next call does all of them at their times.
    pub fn next_timeout(&self) -> Option<Instant> {
        let [down, up] = self.reach;
        let transmission = earlier(self.agenda.next_transmitter(), self.next_slot()).map(|at| at + up);
        earlier(earlier(self.paths[DOWN].next_output(down), self.agenda.next_exit()), transmission)
    }

    /// The channel's time: the latest `now` of any call. A log of its inputs notes this time, after the call.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What the channel is made of, with all changes so far.
    pub fn config(&self) -> &ChannelConfig {
        &self.config
    }

    /// Bytes of one direction that are queued, in service or in flight.
    pub fn held(&mut self, direction: Direction) -> Bytes {
        self.counters(direction).held().bytes
    }

    /// The books of one direction, of all terminals together. A packet counts as delivered as soon as its output can be
    /// polled.
    pub fn counters(&mut self, direction: Direction) -> Counters {
        self.catch_up(self.now);
        match direction {
            Direction::Down => self.paths[DOWN].counters(),
            Direction::Up => self.paths[DOWN + 1..].iter().map(Path::counters).sum(),
        }
    }

    /// The books of the path that begins at `port`; `None` if there is no such terminal.
    pub fn counters_of(&mut self, port: Port) -> Option<Counters> {
        self.catch_up(self.now);
        self.place_of(port).map(|place| self.paths[place].counters())
    }

    /// What waits in the queue behind `port`, as of the last call; nothing if there is no such terminal.
    pub fn queued(&self, port: Port) -> Bytes {
        self.place_of(port).map_or(Bytes::ZERO, |place| self.paths[place].queued())
    }

    /// What the queue behind `port` takes of a class at `now`; whatever comes if there is no such terminal.
    pub fn queue_room(&mut self, now: Instant, port: Port, class: Class) -> QueueLimit {
        let Some(place) = self.place_of(port) else { return QueueLimit::Unlimited };
        self.run_until(now);
        self.paths[place].catch_up(self.now, &mut self.outputs);
        self.paths[place].queue_room(class)
    }

    /// Whether a packet that came to `port` at `now` would be served at once, whatever its size and the queue's.
    pub fn is_free(&mut self, now: Instant, port: Port) -> bool {
        let Some(place) = self.place_of(port) else { return true };
        self.run_until(now);
        self.paths[place].catch_up(self.now, &mut self.outputs);
        self.paths[place].is_free(self.now)
    }

    /// What became of the slots of a shared way up so far.
    pub fn access_counters(&mut self) -> Option<AccessCounters> {
        let now = self.now;
        self.scheduler.as_mut().map(|scheduler| scheduler.counters(now))
    }

    /// Runs everything due at or before `now`, ends of services included that are otherwise made up later.
    fn catch_up(&mut self, now: Instant) {
        self.run_until(now);
        for path in &mut self.paths {
            path.catch_up(self.now, &mut self.outputs);
        }
    }

    fn enter(&mut self, place: usize, slot: Slot<P>) {
        let (now, entered) = (self.now, slot.entered);
        self.paths[place].arrive(now, slot, &mut self.outputs);
        self.update(place);
        if let (Some(scheduler), Port::Terminal(terminal)) = (&mut self.scheduler, entered)
            && self.paths[place].backlog() > Bytes::ZERO
        {
            scheduler.handle_arrival(now, terminal);
        }
    }

    /// Runs everything due at or before `now`, in order of time and, within an instant, of arrival.
    fn run_until(&mut self, now: Instant) {
        self.now = self.now.max(now);
        loop {
            // Of one instant, slots come before packets.
            if let Some(slot) = self.next_slot().filter(|slot| *slot <= self.now)
                && self.agenda.next().is_none_or(|at| slot <= at)
            {
                self.run_slot(slot);
                continue;
            }
            match self.agenda.take(self.now) {
                Some((at, Event::Gateway)) => {
                    self.paths[DOWN].step(at, &mut self.outputs);
                    self.update(DOWN);
                }
                Some((at, Event::Transmitter(place))) => self.transmit(at, place),
                Some((_, Event::Exit(place))) => self.paths[place].leave_pipe(&mut self.outputs),
                None => return,
            }
        }
    }

    /// Lets the transmitter of a terminal do what is due at `at`.
    fn transmit(&mut self, at: Instant, place: usize) {
        if let Some(exit) = self.paths[place].transmit(at, &mut self.outputs) {
            self.agenda.add_exit(place, exit);
        }
        self.update(place);
        self.resume(place);
    }

    /// Tells medium access of what a terminal has kept through an outage that is over.
    fn resume(&mut self, place: usize) {
        if let Some(scheduler) = &mut self.scheduler
            && let Some(at) = self.paths[place].take_resumed()
            && let Ok(terminal) = u16::try_from(place - place_of_terminal(0))
        {
            scheduler.handle_resumption(at, terminal);
        }
    }

    /// When medium access has something to do next.
    fn next_slot(&self) -> Option<Instant> {
        self.scheduler.as_ref()?.next_timeout()
    }

    /// Lets medium access do what is due at `at`.
    fn run_slot(&mut self, at: Instant) {
        let Some(scheduler) = &mut self.scheduler else { return };
        let (paths, silenced) = (&mut self.paths, &mut self.silenced);
        let action = scheduler.step(&mut |terminal| {
            let (bytes, falls_silent) = paths[place_of_terminal(terminal)].offer(at);
            silenced.extend(falls_silent.then_some(terminal));
            bytes
        });
        while let Some(terminal) = self.silenced.pop() {
            self.update(place_of_terminal(terminal));
        }
        let Some(action) = action else { return };
        let (Action::Send { terminal, .. } | Action::GiveUp { terminal }) = action;
        let place = place_of_terminal(terminal);
        match action {
            Action::Send { bytes, end, .. } => self.paths[place].send(at, bytes, end, &mut self.outputs),
            Action::GiveUp { .. } => self.paths[place].give_up(at, &mut self.outputs),
        }
        self.update(place);
    }

    /// Notes when a path is due.
    fn update(&mut self, place: usize) {
        match place {
            DOWN => self.agenda.set_gateway(self.paths[DOWN].next_due()),
            terminal => self.agenda.set_transmitter(terminal, self.paths[terminal].next_transmission()),
        }
    }

    /// Where packets that enter at `port` go.
    fn place_of(&self, port: Port) -> Option<usize> {
        let place = match port {
            Port::Gateway => DOWN,
            Port::Terminal(number) => place_of_terminal(number),
        };
        (place < self.paths.len()).then_some(place)
    }

    fn has_destination(&self, packet: &P) -> bool {
        match packet.destination() {
            Destination::All => true,
            Destination::Terminal(number) => self.place_of(Port::Terminal(number)).is_some(),
        }
    }
}

/// The place of a terminal's way up among the paths.
fn place_of_terminal(number: u16) -> usize {
    DOWN + 1 + usize::from(number)
}

/// The time that everything takes from the transmitter to the end of a direction, unless it is dropped there.
fn reach(config: &ChannelConfig, direction: Direction) -> Duration {
    let way = direction.of(config);
    let drops_at_once = way.discipline.drops_early()
        || way.outages != Outages::None
        || (direction == Direction::Up && matches!(config.access, Access::SlottedAloha(_)));
    if drops_at_once { Duration::ZERO } else { way.least_delay() }
}

/// The scheduler of a shared way up; `None` where access is dedicated, or cannot be shared for want of a rate.
fn scheduler_of(config: &ChannelConfig, seed: u64) -> Option<Scheduler> {
    let (up, down) = (config.up.least_delay(), config.down.least_delay());
    Scheduler::new(&config.access, config.terminals, config.up.rate?, up, down, seed)
}

#[cfg(test)]
mod tests;
