//! The transmitter: one packet at a time, bits leave as fast as the link can.
//!
//! What a packet costs is `(size + overhead) × redundancy` bytes ([`Framing`]). How fast they leave is one of:
//!
//! - unlimited: in no time;
//! - a constant rate `R` (bit/s): `8·B/R` seconds for `B` bytes ([`tally`]);
//! - recorded steps of rate, by the run's clock ([`steps`]);
//! - recorded delivery opportunities, by the run's clock ([`opportunities`]).
//!
//! During an orbit's pauses the transmitter stands still ([`metered`]); at an unlimited rate, what would be sent in a
//! pause leaves at its end.
//!
//! All of it is exact: service times are in general no whole number of nanoseconds, nor framed packets of bytes, so the
//! end of service is kept as a whole number and a fraction, and the next packet of a busy period starts there; only the
//! event is rounded up to the next nanosecond. So `n` packets back to back end when one packet of their total cost
//! would, whatever `n`.
//!
//! A change of a setting takes effect with the next packet: a modem changes its modulation between frames, not within
//! one. A started nanosecond, byte or opportunity is given up, once per change. Left out: a token bucket's burst, a
//! transmitter that idles between frames of fixed length.

mod metered;
mod opportunities;
mod steps;
mod tally;

use crate::orbit::Pauses;
use crate::packet::Slot;
use crate::{Count, DirectionConfig, Framing, Trace, TraceRecord};
use farhop_units::{Bytes, Instant, Rate};
use metered::Metered;
use opportunities::Opportunities;
use std::sync::Arc;
pub(crate) use steps::Step;
use steps::Steps;
use tally::Tally;

/// The end of time, 584 years after the run's beginning: what never happens is due then.
const NEVER: Instant = Instant::from_nanos(u64::MAX);
const BIT_NANOS_PER_BYTE: u64 = 8 * 1_000_000_000;

/// A transmitter and the packet that it sends.
#[derive(Debug)]
pub(crate) struct Serializer<P> {
    /// Looked at when settings change, and no sooner.
    setting: Box<Setting>,
    service: Service,
    in_service: Option<Slot<P>>,
    /// When service ends, rounded up.
    finish: Instant,
}

/// What the speed of the transmitter follows from.
#[derive(Debug, PartialEq)]
struct Setting {
    rate: Option<Rate>,
    framing: Framing,
    trace: Option<Trace>,
    pauses: Option<Pauses>,
}

/// How far the transmitter is, by the kind of its speed.
#[derive(Debug)]
enum Service {
    /// In no time, but not in a pause.
    Unlimited(Option<Pauses>),
    /// The tally counts nanoseconds.
    Constant(Tally),
    Steps(Box<Metered<Steps>>),
    Opportunities(Box<Metered<Opportunities>>),
}

impl<P> Serializer<P> {
    /// An idle transmitter.
    pub(crate) fn new(config: &DirectionConfig) -> Self {
        let setting = Box::new(Setting::new(config));
        Self { service: setting.service(), setting, in_service: None, finish: Instant::START }
    }

    /// Whether no packet is in service.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_service.is_none()
    }

    /// Begins a busy period at `now`.
    pub(crate) fn start(&mut self, now: Instant, slot: Slot<P>) {
        debug_assert!(self.is_idle(), "one packet at a time");
        self.finish = self.service.begin(now);
        self.serve(slot);
    }

    /// Ends the service in progress and goes on with `next` without a gap, or rests.
    pub(crate) fn finish(&mut self, next: Option<Slot<P>>) -> Option<Slot<P>> {
        let done = self.in_service.take();
        if let Some(slot) = next {
            self.serve(slot);
        }
        done
    }

    /// When the packet in service will be done, and its number.
    pub(crate) fn next_finish(&self) -> Option<(Instant, u64)> {
        self.in_service.as_ref().map(|slot| (self.finish, slot.number))
    }

    /// Changes the settings from the next packet on; recorded rates and handovers stay by the run's clock. What changes
    /// nothing here disturbs nothing. A packet that would never be done is served anew from `now`: a link that stands still
    /// for ever could not be brought back otherwise.
    pub(crate) fn set(&mut self, now: Instant, config: &DirectionConfig) {
        let setting = Setting::new(config);
        if setting == *self.setting {
            return;
        }
        self.service = setting.service();
        *self.setting = setting;
        // Of no effect on an idle transmitter, whose next packet begins anew in any case.
        self.service.begin(self.finish);
        if self.finish == NEVER
            && let Some(slot) = self.in_service.take()
        {
            self.start(now, slot);
        }
    }

    /// What is in service.
    pub(crate) fn count(&self) -> Count {
        self.in_service.as_ref().map_or(Count::default(), |slot| Count { packets: 1, bytes: slot.bytes })
    }

    /// Puts `slot` into service at the exact end of the last one.
    fn serve(&mut self, slot: Slot<P>) {
        self.finish = self.service.end(self.finish, slot.bytes);
        self.in_service = Some(slot);
    }
}

impl Setting {
    /// What matters here: of an orbit its pauses alone, and no rate where a trace takes its place.
    fn new(config: &DirectionConfig) -> Self {
        Self {
            rate: config.rate.filter(|_| config.trace.is_none()),
            framing: config.framing,
            trace: config.trace.clone(),
            pauses: config.orbit.and_then(|orbit| orbit.pauses()),
        }
    }

    /// A transmitter at rest.
    fn service(&self) -> Service {
        let Some(trace) = &self.trace else { return self.constant() };
        let tally = |units, bytes| Tally::new(self.framing, units, bytes);
        match &*trace.record {
            TraceRecord::Steps { steps, length } => {
                let capacity = Steps::new(trace.carried(|| Step::list(steps)), *length, trace.end);
                Service::Steps(Box::new(Metered::new(capacity, tally(BIT_NANOS_PER_BYTE, 1), self.pauses)))
            }
            TraceRecord::Opportunities { .. } => {
                let capacity = Opportunities::new(Arc::clone(&trace.record), trace.end);
                let tally = tally(1, crate::trace::OPPORTUNITY_BYTES);
                Service::Opportunities(Box::new(Metered::new(capacity, tally, self.pauses)))
            }
        }
    }

    fn constant(&self) -> Service {
        match (self.rate, self.pauses) {
            (None, pauses) => Service::Unlimited(pauses),
            (Some(rate), None) => {
                Service::Constant(Tally::new(self.framing, BIT_NANOS_PER_BYTE, rate.bits_per_second()))
            }
            // One step, for ever.
            (Some(rate), pauses) => {
                let tally = Tally::new(self.framing, BIT_NANOS_PER_BYTE, 1);
                Service::Steps(Box::new(Metered::new(Steps::constant(rate), tally, pauses)))
            }
        }
    }
}

/// What a byte of a packet takes in ns at `rate`, as a fraction in lowest terms.
pub(crate) fn nanos_per_byte(framing: Framing, rate: Rate) -> (u128, u128) {
    tally::units_per_byte(framing, BIT_NANOS_PER_BYTE, rate.bits_per_second())
}

impl Service {
    /// A busy period begins at `now`: returns when sending can begin.
    fn begin(&mut self, now: Instant) -> Instant {
        match self {
            Self::Unlimited(_) => now,
            Self::Constant(tally) => {
                tally.restart(u128::from(now.as_nanos()));
                now
            }
            Self::Steps(metered) => metered.begin(now),
            Self::Opportunities(metered) => metered.begin(now),
        }
    }

    /// The end of a packet of so many bytes after what was sent so far, which was over at `start`.
    fn end(&mut self, start: Instant, bytes: Bytes) -> Instant {
        match self {
            Self::Unlimited(None) => start,
            Self::Unlimited(Some(pauses)) => pauses.resume(start),
            Self::Constant(tally) => Instant::from_nanos(u64::try_from(tally.add(bytes)).unwrap_or(u64::MAX)),
            // Without a byte, service ends as it begins, even if that is long after its capacity was there.
            Self::Steps(metered) => metered.end(bytes).max(start),
            Self::Opportunities(metered) => metered.end(bytes).max(start),
        }
    }
}

#[cfg(test)]
mod tests;
