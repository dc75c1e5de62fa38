//! What distinguishes the schemes that share one frame structure: how terminals ask, and for what.

use super::cfdama::{self, Cfdama, Requests};
use super::contention::Contention;
use super::dama::{Dama, Measuring};
use super::format::Backoff;
use super::layout::{Layout, Shape};
use super::periodic::{AlohaPeriodic, Streaming};
use super::plan::Shares;
use crate::Access;
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// What a terminal asks for; the default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ask {
    /// Slots, once and more than asked for before.
    pub(super) volume: u32,
    /// Slots in every frame, in all.
    pub(super) stream: Option<u32>,
}

impl Ask {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a terminal sees when it may ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) now: Instant,
    /// What waits, without the burst in which the request goes.
    pub(super) backlog: Bytes,
    /// Bytes in a slot.
    pub(super) payload: Bytes,
    /// Slots asked for that have not come yet.
    pub(super) promised: u32,
    /// Slots of its stream in every frame.
    pub(super) weight: u32,
    pub(super) frame: Duration,
    /// Data slots of a frame.
    pub(super) frame_slots: u32,
    /// From a request to its effect, at least.
    pub(super) two_hops: Duration,
}

impl View {
    /// Slots that carry `bytes`.
    pub(super) fn slots(&self, bytes: Bytes) -> u32 {
        u32::try_from(bytes.get().div_ceil(self.payload.get().max(1))).unwrap_or(u32::MAX)
    }

    /// Whole slots that `rate` fills per frame.
    pub(super) fn whole_slots(&self, rate: Rate) -> u32 {
        u32::try_from(rate.bytes_in(self.frame).get() / self.payload.get().max(1)).unwrap_or(u32::MAX)
    }

    /// Slots per frame that `rate` comes closest to.
    pub(super) fn nearest_slots(&self, rate: Rate) -> u32 {
        let payload = self.payload.get().max(1);
        u32::try_from(rate.bytes_in(self.frame).get().saturating_add(payload / 2) / payload).unwrap_or(u32::MAX)
    }

    /// Frames in which `span` ends.
    pub(super) fn frames(&self, span: Duration) -> u64 {
        let frames = span.as_nanos().div_ceil(self.frame.as_nanos().max(1));
        u64::try_from(frames).unwrap_or(u64::MAX)
    }
}

/// What terminals remember to ask by.
#[derive(Debug)]
pub(super) enum Policy {
    /// Fixed TDMA: nobody asks.
    Fixed,
    /// CFDAMA: the backlog says it all.
    Demand,
    /// Aloha periodic stream.
    Streaming(Streaming),
    /// DVB-RCS2-like.
    Measuring(Measuring),
}

/// The frame structure of a scheme and where requests go in it.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) shape: Shape,
    pub(super) policy: Policy,
    pub(super) shares: Shares,
    /// Whether bursts carry requests.
    pub(super) is_piggybacked: bool,
    /// Request slots that are contended for, rather than the terminals' in turn.
    pub(super) contention: Option<Backoff>,
    /// How long a stream lasts, and whether every burst renews it.
    pub(super) timeout: Duration,
    pub(super) is_renewed_by_data: bool,
}

impl Setup {
    /// `None` for schemes without this structure and for what the checks refuse.
    pub(super) fn new(access: &Access, terminals: u16, rate: Rate) -> Option<Self> {
        let plain = |shape, policy| Self {
            shape,
            policy,
            shares: Shares::default(),
            is_piggybacked: false,
            contention: None,
            timeout: Duration::ZERO,
            is_renewed_by_data: false,
        };
        let usual = Backoff::usual(terminals);
        let setup = match access {
            Access::Dedicated | Access::SlottedAloha(_) => return None,
            Access::FixedTdma(tdma) => {
                let shape = tdma.shape(terminals, rate).ok()?;
                Self { shares: Shares { fixed: shape.slots, free: None }, ..plain(shape, Policy::Fixed) }
            }
            Access::Cfdama(cfdama) => {
                Self::cfdama(plain(cfdama.shape(terminals, rate).ok()?, Policy::Demand), cfdama, usual)
            }
            Access::AlohaPeriodic(periodic) => {
                let policy = Policy::Streaming(Streaming::new(*periodic, terminals));
                Self::periodic(plain(periodic.shape(terminals, rate).ok()?, policy), periodic, usual)
            }
            Access::Dama(dama) => {
                let policy = Policy::Measuring(Measuring::new(*dama, terminals));
                Self::dama(plain(dama.shape(terminals, rate).ok()?, policy), dama)
            }
        };
        Some(setup)
    }

    fn cfdama(plain: Self, cfdama: &Cfdama, usual: Backoff) -> Self {
        let shares = Shares { fixed: 0, free: Some(cfdama.free_slots()) };
        let (is_piggybacked, contention) = match cfdama.requests {
            Requests::Piggyback { .. } => (true, None),
            Requests::PreAssigned(_) => (false, None),
            Requests::Random { backoff, .. } => (false, Some(backoff.unwrap_or(usual))),
        };
        Self { shares, is_piggybacked, contention, ..plain }
    }

    fn periodic(plain: Self, periodic: &AlohaPeriodic, usual: Backoff) -> Self {
        let (contention, timeout) = (Some(periodic.backoff.unwrap_or(usual)), periodic.timeout);
        Self { is_piggybacked: true, contention, timeout, is_renewed_by_data: true, ..plain }
    }

    fn dama(plain: Self, dama: &Dama) -> Self {
        let shares = Shares { fixed: 0, free: Some(dama.free) };
        Self { shares, is_piggybacked: true, timeout: dama.timeout, ..plain }
    }
}

impl Policy {
    /// What `terminal` asks for if it may.
    pub(super) fn ask(&self, terminal: u16, view: &View) -> Ask {
        match self {
            Self::Fixed => Ask::default(),
            Self::Demand => cfdama::ask(view),
            Self::Streaming(streaming) => streaming.ask(terminal, view),
            Self::Measuring(measuring) => measuring.ask(terminal, view),
        }
    }

    /// `terminal` had an occasion to ask and, if it was not nothing, did.
    pub(super) fn has_considered(&mut self, terminal: u16, view: &View, ask: &Ask) {
        match self {
            Self::Streaming(streaming) if !ask.is_nothing() => streaming.has_asked(terminal, view),
            Self::Measuring(measuring) => measuring.has_considered(terminal, view),
            Self::Fixed | Self::Demand | Self::Streaming(_) => {}
        }
    }

    /// Whether `terminal`, which has something to send, contends for a request slot.
    pub(super) fn contends(&self, terminal: u16, weight: u32) -> bool {
        match self {
            Self::Streaming(streaming) => weight == 0 && !streaming.is_asking(terminal),
            Self::Fixed | Self::Demand | Self::Measuring(_) => true,
        }
    }

    /// A request of `terminal` has taken effect.
    pub(super) fn takes_effect(&mut self, terminal: u16) {
        if let Self::Streaming(streaming) = self {
            streaming.takes_effect(terminal);
        }
    }

    /// `terminal` has sent a burst of `bytes`.
    pub(super) fn has_sent(&mut self, terminal: u16, bytes: Bytes, view: &View) {
        match self {
            Self::Streaming(streaming) => streaming.has_sent(terminal, view),
            Self::Measuring(measuring) => measuring.has_sent(terminal, bytes),
            Self::Fixed | Self::Demand => {}
        }
    }

    /// The fixed slots of all terminals together, once the frame has changed.
    pub(super) fn set_layout(&mut self, layout: &Layout, terminals: u16, shares: Shares) -> Shares {
        match self {
            Self::Measuring(measuring) => {
                let most = layout.slots().saturating_sub(shares.free.unwrap_or(0)) / u32::from(terminals);
                Shares { fixed: measuring.set_layout(layout, most) * u32::from(terminals), ..shares }
            }
            Self::Fixed | Self::Demand | Self::Streaming(_) => shares,
        }
    }
}

/// The contention of a setup, if it has one.
pub(super) fn contention(setup: &Setup, terminals: u16, seed: u64) -> Option<Contention> {
    setup.contention.map(|backoff| Contention::new(backoff, terminals, seed))
}
