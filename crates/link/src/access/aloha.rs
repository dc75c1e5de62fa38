//! Slotted Aloha for data (Abramson 1970, Roberts 1975): whoever has something to send sends it in the next slot.
//!
//! A burst that is alone in its slot gets through, others are lost; their senders learn of it from the far end two hops later
//! and send again after a backoff. With bursts at random times from many terminals, G per slot on average, G·e^−G per slot
//! get through, at most 1/e at G = 1 (Roberts 1975). After `attempts` collisions of one burst its packet is given up.
//!
//! A terminal sends one burst at a time and waits for what becomes of it, as a station of Kleinrock and Lam's model does
//! ("Packet switching in a slotted satellite channel", 1973): otherwise fragments would arrive out of order or in vain. A
//! slot carries a full packet by default; a larger packet takes several slots and a small one shares its slot with those that
//! wait behind it.
//!
//! Left out: capture, spread or diversity of copies (DSA, CRDSA), control of the retransmissions by the scheduler. Random
//! access has no bound on waiting times, and past its maximum less and less gets through.

use super::contention::Contention;
use super::format::{Backoff, some_time, time, write_backoff};
use super::layout::{Layout, Need, SHORTEST_FRAME, Shape};
use super::{AccessCounters, Action, FrameFormat};
use core::fmt;
use core::num::{NonZeroU16, NonZeroU32};
use farhop_units::terms::Terms;
use farhop_units::{Bytes, Instant, ParseError, Rate};
use std::time::Duration;

/// Slotted Aloha: `slotted-aloha backoff=8..1024 attempts=16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlottedAloha {
    /// Length of a slot; by default a packet of 1500 B fits.
    pub slot: Option<Duration>,
    /// What follows a collision, counted in slots; if not given, windows from 8 to 1024 slots, or as many as terminals.
    pub backoff: Option<Backoff>,
    /// Collisions of one burst after which its packet is given up.
    pub attempts: NonZeroU16,
}

/// 16 attempts, as in Ethernet (IEEE 802.3 §4.2.3.2.5).
impl Default for SlottedAloha {
    fn default() -> Self {
        Self { slot: None, backoff: None, attempts: NonZeroU16::MIN.saturating_add(15) }
    }
}

const FULL_PACKET: Bytes = Bytes::new(1500);

impl SlottedAloha {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        let usual = Self::default();
        Ok(Self {
            slot: terms.get("slot", some_time)?,
            backoff: terms.get("backoff", str::parse)?,
            attempts: terms.get("attempts", attempts)?.unwrap_or(usual.attempts),
        })
    }

    /// A frame of one slot.
    pub(super) fn shape(&self, rate: Rate) -> Result<Shape, ParseError> {
        let frame = self.slot.unwrap_or_else(|| rate.transmission_time(FULL_PACKET).max(SHORTEST_FRAME));
        let format = FrameFormat { frame: Some(frame), slots: Some(NonZeroU32::MIN) };
        // What is a frame there is a slot here.
        let named = |error: ParseError| ParseError { problem: error.problem.replacen("frame:", "slot:", 1), ..error };
        Shape::resolve(format, Need::data(1), rate).map_err(named)
    }
}

fn attempts(text: &str) -> Result<NonZeroU16, ParseError> {
    text.parse().map_err(|_| ParseError::new(format!("\"{text}\""), "a whole number from 1 to 65535"))
}

impl fmt::Display for SlottedAloha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(slot) = self.slot {
            write!(f, " slot={}", time(slot))?;
        }
        write_backoff(f, self.backoff)?;
        write!(f, " attempts={}", self.attempts)
    }
}

/// The state of a channel under slotted Aloha.
#[derive(Debug)]
pub(super) struct Aloha {
    config: SlottedAloha,
    layout: Layout,
    up_delay: Duration,
    down_delay: Duration,
    contention: Contention,
    /// The first slot in which each terminal may send, knowing what became of its last burst.
    ready: Vec<u64>,
    /// Terminals with a burst in the slot being played.
    sending: Vec<u16>,
    /// That slot, if a packet was given up in the midst of it.
    playing: Option<u64>,
    counters: AccessCounters,
}

impl Aloha {
    /// Slot 0 starts at the beginning of the run; `None` if the checks refuse it.
    pub(super) fn new(
        config: SlottedAloha,
        terminals: u16,
        rate: Rate,
        (up_delay, down_delay): (Duration, Duration),
        seed: u64,
    ) -> Option<Self> {
        let layout = Layout::new(config.shape(rate).ok()?, rate);
        let backoff = config.backoff.unwrap_or_else(|| Backoff::usual(terminals));
        let contention = Contention::new(backoff, terminals, seed);
        let ready = vec![0; terminals.into()];
        let counters = AccessCounters::default();
        Some(Self {
            config,
            layout,
            up_delay,
            down_delay,
            contention,
            ready,
            sending: Vec::new(),
            playing: None,
            counters,
        })
    }

    /// When the next slot with a burst begins.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.next_slot().map(|slot| self.layout.start(slot))
    }

    /// Something more waits at `terminal`.
    pub(super) fn handle_arrival(&mut self, now: Instant, terminal: u16) {
        let next = self.layout.next_frame(now);
        self.contention.enter(terminal, next.max(self.ready[usize::from(terminal)]), 1);
    }

    /// The outage in which `terminal` kept silent is over. Others may have waited for its end as well, so that all of them would
    /// collide in the next slot.
    pub(super) fn handle_resumption(&mut self, now: Instant, terminal: u16) {
        let next = self.layout.next_frame(now);
        self.contention.resume(terminal, next.max(self.ready[usize::from(terminal)]));
    }

    /// Plays the next slot with bursts, up to the first packet that is given up in it.
    pub(super) fn step(&mut self, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        let slot = self.next_slot()?;
        while let Some(terminal) = self.contention.take(slot) {
            if backlog(terminal) == Bytes::ZERO {
                continue;
            }
            if self.contention.attempts(terminal) < self.config.attempts.get() {
                self.sending.push(terminal);
                continue;
            }
            self.counters.given_up += 1;
            self.contention.enter(terminal, slot + 1, 1);
            self.playing = Some(slot).filter(|_| !self.sending.is_empty());
            return Some(Action::GiveUp { terminal });
        }
        self.playing = None;
        self.resolve(slot, backlog)
    }

    /// Another rate from the next slot on.
    pub(super) fn set_rate(&mut self, now: Instant, rate: Rate) {
        // A slot that is not given is as long as a full packet at the new rate.
        let layout = self.config.shape(rate).map_or(self.layout, |shape| self.layout.with_shape(shape));
        self.layout = layout.at_rate(rate, self.layout.next_frame(now));
    }

    /// Other delays from the next slot on.
    pub(super) fn set_delays(&mut self, up_delay: Duration, down_delay: Duration) {
        self.up_delay = up_delay;
        self.down_delay = down_delay;
    }

    /// The books; `now` says how many slots there were.
    pub(super) fn counters(&self, now: Instant) -> AccessCounters {
        AccessCounters { offered: self.layout.frame_at(now), ..self.counters }
    }

    fn next_slot(&self) -> Option<u64> {
        self.playing.or_else(|| self.contention.next_slot())
    }

    /// What becomes of the bursts in `slot`.
    fn resolve(&mut self, slot: u64, backlog: &mut impl FnMut(u16) -> Bytes) -> Option<Action> {
        let mut sending = core::mem::take(&mut self.sending);
        let end = self.layout.start(slot + 1);
        let known = self.layout.frame_from(end + self.up_delay + self.down_delay);
        sending.iter().for_each(|&terminal| self.ready[usize::from(terminal)] = known);
        let action = if let &[alone] = sending.as_slice() {
            Some(self.send(alone, backlog(alone), end))
        } else {
            self.counters.collisions += u64::from(!sending.is_empty());
            sending.iter().for_each(|&terminal| self.collide(terminal));
            None
        };
        sending.clear();
        self.sending = sending;
        action
    }

    fn send(&mut self, terminal: u16, waiting: Bytes, end: Instant) -> Action {
        let bytes = waiting.min(self.layout.payload);
        self.counters.used += 1;
        if waiting > bytes {
            self.contention.enter(terminal, self.ready[usize::from(terminal)], 1);
        }
        Action::Send { terminal, bytes, end }
    }

    fn collide(&mut self, terminal: u16) {
        let known = self.ready[usize::from(terminal)];
        if self.contention.attempts(terminal) + 1 < self.config.attempts.get() {
            self.contention.retry(terminal, known);
        } else {
            self.contention.give_up(terminal, known);
        }
    }
}
