//! Medium access: who of N terminals may send when on a shared return channel.
//!
//! The channel is cut into slots, and the scheduler that deals them out sits at the far end: what a terminal asks for, it
//! has two hops later. A terminal's packets are cut into bursts that fill slots; a packet leaves into the pipe when the slot
//! that carries its last byte ends. A packet counts for a slot if it arrived before the slot begins. All terminals keep
//! the scheduler's time: frame k starts at k·F at every terminal, whatever its distance.
//!
//! | scheme | a packet waits for | requests | longest wait for a slot | file |
//! |---|---|---|---|---|
//! | fixed TDMA | its slot | none | F | `tdma` |
//! | CFDAMA | a free slot, or two hops | piggyback, pre-assigned or random | ⌈N/free⌉ + 1 frames | `cfdama` |
//! | Aloha periodic stream | a request, two hops, its slot | random, then piggyback | with a stream, ⌈W/S⌉ frames | `periodic` |
//! | slotted Aloha | nothing, but collides | none | none | `aloha` |
//! | DVB-RCS2-like | a free slot, or two hops | control slots and piggyback | ⌈N/free⌉ + 1 frames | `dama` |
//!
//! F is the frame, N the number of terminals, S the data slots of a frame, W the slots per frame of all streams together.
//!
//! Hops are the least delays of the two directions, also where a trace or an orbit makes them longer at times.
//!
//! Left out in all of them: errors on the signalling, guard times (but as bytes), several carriers, log-on, handovers that
//! pause (refused), and outages of the way down, on which grants travel.

mod aloha;
mod cfdama;
mod config;
mod contention;
mod dama;
mod format;
mod frames;
mod layout;
mod members;
mod periodic;
mod plan;
mod policy;
mod ring;
mod streams;
mod tdma;

pub use aloha::SlottedAloha;
pub use cfdama::{Cfdama, Requests};
pub use config::Access;
pub use dama::Dama;
pub use format::{Backoff, FrameFormat, RequestSlots};
pub use layout::Frame;
pub use periodic::AlohaPeriodic;
pub use tdma::FixedTdma;

use aloha::Aloha;
use farhop_units::{Bytes, Instant, Rate};
use frames::Frames;
use policy::Setup;
use std::time::Duration;

/// The scheduler of a shared channel, and what its terminals do.
///
/// The owner keeps the queues. It tells of arrivals, calls [`Scheduler::step`] when [`Scheduler::next_timeout`] has come, in
/// order of time, and does what it says. To hold a terminal back (in an outage), it says that nothing waits there, and calls
/// [`Scheduler::handle_resumption`] when the terminal may send again.
#[derive(Debug)]
pub(crate) struct Scheduler(Kind);

#[derive(Debug)]
enum Kind {
    Frames(Box<Frames>),
    Aloha(Box<Aloha>),
}

/// What a terminal does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// So many bytes leave the front of the terminal's queue. A packet whose last byte is among them leaves into the pipe
    /// at `end`.
    Send {
        /// Who.
        terminal: u16,
        /// At most what was waiting.
        bytes: Bytes,
        /// When the slot ends.
        end: Instant,
    },
    /// The packet at the front of the terminal's queue is dropped: it has met too many collisions.
    GiveUp {
        /// Whose.
        terminal: u16,
    },
}

/// What became of the slots. With slotted Aloha nothing is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessCounters {
    /// Data slots of the frames that are over.
    pub offered: u64,
    /// Those of them that had an owner.
    pub granted: u64,
    /// Data slots that carried at least a byte.
    pub used: u64,
    /// Slots, for data or requests, in which bursts collided.
    pub collisions: u64,
    /// Requests that got through.
    pub requests: u64,
    /// Packets given up after too many collisions.
    pub given_up: u64,
}

impl AccessCounters {
    /// Granted slots that carried nothing. Those of the present frame may count as used already.
    pub fn wasted(&self) -> u64 {
        self.granted.saturating_sub(self.used)
    }
}

impl Scheduler {
    /// The scheduler of `access`, at the beginning of the run; `None` if every terminal has a channel of its own or if the
    /// scheme cannot work at this rate with so many terminals.
    pub(crate) fn new(
        access: &Access,
        terminals: u16,
        rate: Rate,
        up_delay: Duration,
        down_delay: Duration,
        seed: u64,
    ) -> Option<Self> {
        let terminals = terminals.max(1);
        let delays = (up_delay, down_delay);
        if let Access::SlottedAloha(aloha) = access {
            return Aloha::new(*aloha, terminals, rate, delays, seed).map(|aloha| Self(Kind::Aloha(Box::new(aloha))));
        }
        let setup = Setup::new(access, terminals, rate)?;
        Some(Self(Kind::Frames(Box::new(Frames::new(setup, terminals, rate, delays, seed)))))
    }

    /// The queue of `terminal` has grown. Called after the packet is in it, and after the steps due until `now`.
    pub(crate) fn handle_arrival(&mut self, now: Instant, terminal: u16) {
        match &mut self.0 {
            Kind::Frames(frames) => frames.handle_arrival(now, terminal),
            Kind::Aloha(aloha) => aloha.handle_arrival(now, terminal),
        }
    }

    /// What has waited at `terminal` while the owner denied it may be sent again.
    pub(crate) fn handle_resumption(&mut self, now: Instant, terminal: u16) {
        match &mut self.0 {
            Kind::Frames(frames) => frames.handle_arrival(now, terminal),
            Kind::Aloha(aloha) => aloha.handle_resumption(now, terminal),
        }
    }

    /// When [`Scheduler::step`] has something to do; `None` while nothing waits anywhere.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let due = match &self.0 {
            Kind::Frames(frames) => frames.next_timeout(),
            Kind::Aloha(aloha) => aloha.next_timeout(),
        };
        // Time ends after 584 years; frames would follow each other for ever at its end.
        due.filter(|due| due.as_nanos() < u64::MAX)
    }

    /// Does what is due at [`Scheduler::next_timeout`], which may concern nobody's queue. `backlog` tells what can be sent
    /// by a terminal now, in bytes on the wire.
    pub(crate) fn step(&mut self, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        match &mut self.0 {
            Kind::Frames(frames) => frames.step(backlog),
            Kind::Aloha(aloha) => aloha.step(backlog),
        }
    }

    /// Another rate from the next frame on. Frames and slots that the scheme gives stay; what followed from the rate follows
    /// from the new one, but for the number of slots. Who waits for a slot after a collision waits for as many as before, of
    /// the new length.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Rate) {
        match &mut self.0 {
            Kind::Frames(frames) => frames.set_rate(now, rate),
            Kind::Aloha(aloha) => aloha.set_rate(now, rate),
        }
    }

    /// Other delays: for requests sent from now on, and for plans from the next frame on.
    pub(crate) fn set_delays(&mut self, now: Instant, up_delay: Duration, down_delay: Duration) {
        match &mut self.0 {
            Kind::Frames(frames) => frames.set_delays(now, up_delay, down_delay),
            Kind::Aloha(aloha) => aloha.set_delays(up_delay, down_delay),
        }
    }

    /// The books, after everything due until `now` was done.
    pub(crate) fn counters(&mut self, now: Instant) -> AccessCounters {
        match &mut self.0 {
            Kind::Frames(frames) => {
                frames.catch_up(now);
                frames.counters()
            }
            Kind::Aloha(aloha) => aloha.counters(now),
        }
    }
}

#[cfg(test)]
mod tests;
