//! Where the time went: the spans between the events that the last byte depended on, one after the other.
//!
//! The last byte of the last object was in a response; the response began a round trip after its request; the request was sent when
//! something let it go: a connection came up, the response before it on its connection ended, or a body named the object. From
//! there it goes on backwards to the first action, so that the spans add up to the page's load time without gap or overlap.
//!
//! Within a response the time between two arrivals is *transmission* as far as the link was busy with this page, then *delayed
//! ACK* as far as the acknowledgement that released the segment was held back by its receiver and made the round longer than a
//! round trip, then *queueing* as far as that acknowledgement waited for the way up, and what is left is the wait for
//! acknowledgements: *slow start* if the congestion window was shut, *receive window* if the receiver's offer (or the sender's
//! buffer) was; *loss* if what arrives had been lost before. However many waits a round trip has, it counts once.

use super::sender::Hold;
use super::ticks::Ticks;
use core::ops::AddAssign;
use std::time::Duration;

/// Time by what it was spent on. The fields add up to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breakdown {
    /// Resolving hosts' names.
    pub lookup: Duration,
    /// Opening connections.
    pub handshake: Duration,
    /// Agreeing on keys.
    pub tls: Duration,
    /// From a request to its response, for what was known before it could be asked for.
    pub request: Duration,
    /// From a request to its response, for what was asked for as soon as a body had named it.
    pub discovery: Duration,
    /// Waiting for acknowledgements with a small congestion window.
    pub slow_start: Duration,
    /// Waiting for acknowledgements with a full receive window or send buffer.
    pub receive_window: Duration,
    /// Waiting for acknowledgements that the receiver held back.
    pub delayed_ack: Duration,
    /// Waiting behind other packets on the way up.
    pub queueing: Duration,
    /// The link carries the page.
    pub transmission: Duration,
    /// Servers think, and the browser does.
    pub server: Duration,
    /// Repairing what queues drop, and expected losses.
    pub loss: Duration,
}

impl Breakdown {
    /// All of it.
    pub fn total(&self) -> Duration {
        let parts = [
            self.lookup,
            self.handshake,
            self.tls,
            self.request,
            self.discovery,
            self.slow_start,
            self.receive_window,
            self.delayed_ack,
            self.queueing,
            self.transmission,
            self.server,
            self.loss,
        ];
        parts.into_iter().fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// Round trips that the last byte waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrips {
    /// Resolving hosts' names.
    pub lookup: u32,
    /// Opening connections.
    pub handshake: u32,
    /// Agreeing on keys.
    pub tls: u32,
    /// Asking for what was known.
    pub request: u32,
    /// Asking for what had just been named.
    pub discovery: u32,
    /// Waiting for acknowledgements with a small congestion window.
    pub slow_start: u64,
    /// Waiting for acknowledgements with a full receive window or send buffer.
    pub receive_window: u64,
}

impl RoundTrips {
    /// All of them.
    pub fn total(&self) -> u64 {
        let asked = [self.lookup, self.handshake, self.tls, self.request, self.discovery].map(u64::from);
        asked.iter().sum::<u64>().saturating_add(self.slow_start).saturating_add(self.receive_window)
    }
}

/// What the arrivals on one connection waited for so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ledger {
    pub(crate) transmission: Ticks,
    pub(crate) delayed_ack: Ticks,
    pub(crate) queueing: Ticks,
    pub(crate) slow_start: Ticks,
    pub(crate) receive_window: Ticks,
    /// Something was lost and is sent again.
    pub(crate) repair: Ticks,
    /// The server had nothing to send.
    pub(crate) nothing: Ticks,
    pub(crate) slow_start_rounds: u64,
    pub(crate) receive_window_rounds: u64,
}

/// Time between two arrivals, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    pub(crate) span: Ticks,
    /// Time on the serializers, and in the queues before them.
    pub(crate) link: Ticks,
    pub(crate) hold: Hold,
    pub(crate) held: Ticks,
    pub(crate) queued: Ticks,
    /// A round trip has passed since the last one that ended.
    pub(crate) ends_round: bool,
}

impl Ledger {
    #[inline(always)]
    pub(crate) fn note(&mut self, gap: Gap) {
        if gap.link >= gap.span {
            // Nearly all arrivals come behind another one.
            self.transmission += gap.span;
        } else {
            self.note_wait(gap);
        }
    }

    fn note_wait(&mut self, gap: Gap) {
        let mut rest = gap.span;
        let mut take = |most: Ticks| {
            let part = rest.min(most);
            rest = rest.since(part);
            part
        };
        self.transmission += take(gap.link);
        if gap.hold == Hold::Nothing {
            self.nothing += rest;
            return;
        }
        self.delayed_ack += take(gap.held);
        self.queueing += take(gap.queued);
        if rest == Ticks::ZERO {
            return;
        }
        match gap.hold {
            Hold::Repair => self.repair += rest,
            Hold::Offer => {
                self.receive_window += rest;
                self.receive_window_rounds += u64::from(gap.ends_round);
            }
            Hold::Congestion | Hold::Nothing => {
                self.slow_start += rest;
                self.slow_start_rounds += u64::from(gap.ends_round);
            }
        }
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            transmission: self.transmission.since(earlier.transmission),
            delayed_ack: self.delayed_ack.since(earlier.delayed_ack),
            queueing: self.queueing.since(earlier.queueing),
            slow_start: self.slow_start.since(earlier.slow_start),
            receive_window: self.receive_window.since(earlier.receive_window),
            repair: self.repair.since(earlier.repair),
            nothing: self.nothing.since(earlier.nothing),
            slow_start_rounds: self.slow_start_rounds.saturating_sub(earlier.slow_start_rounds),
            receive_window_rounds: self.receive_window_rounds.saturating_sub(earlier.receive_window_rounds),
        }
    }

    /// What of this fits into a span; the rest of it is a wait for a window.
    pub(crate) fn over(&self, span: Ticks) -> Self {
        let mut rest = span;
        let mut take = |most: Ticks| {
            let part = rest.min(most);
            rest = rest.since(part);
            part
        };
        let [transmission, delayed_ack, queueing] = [self.transmission, self.delayed_ack, self.queueing].map(&mut take);
        let [receive_window, repair, nothing] = [self.receive_window, self.repair, self.nothing].map(&mut take);
        Self { transmission, delayed_ack, queueing, receive_window, repair, nothing, slow_start: rest, ..*self }
    }

    pub(crate) fn times(&self, count: u64) -> Self {
        Self {
            transmission: self.transmission.times(count),
            delayed_ack: self.delayed_ack.times(count),
            queueing: self.queueing.times(count),
            slow_start: self.slow_start.times(count),
            receive_window: self.receive_window.times(count),
            repair: self.repair.times(count),
            nothing: self.nothing.times(count),
            slow_start_rounds: self.slow_start_rounds.saturating_mul(count),
            receive_window_rounds: self.receive_window_rounds.saturating_mul(count),
        }
    }

    /// The same in proportion, but so long in all.
    pub(crate) fn stretched(&self, total: Ticks) -> Self {
        let own =
            self.transmission + self.delayed_ack + self.queueing + self.slow_start + self.receive_window + self.nothing;
        let own = own + self.repair;
        let mut left = total;
        let mut share = |part: Ticks| {
            let part = part.share_of(total, own).min(left);
            left = left.since(part);
            part
        };
        let mut stretched = Self {
            transmission: share(self.transmission),
            delayed_ack: share(self.delayed_ack),
            queueing: share(self.queueing),
            slow_start: share(self.slow_start),
            receive_window: share(self.receive_window),
            repair: share(self.repair),
            nothing: share(self.nothing),
            ..*self
        };
        stretched.transmission += left;
        stretched
    }
}

impl AddAssign for Ledger {
    fn add_assign(&mut self, more: Self) {
        self.transmission += more.transmission;
        self.delayed_ack += more.delayed_ack;
        self.queueing += more.queueing;
        self.slow_start += more.slow_start;
        self.receive_window += more.receive_window;
        self.repair += more.repair;
        self.nothing += more.nothing;
        self.slow_start_rounds = self.slow_start_rounds.saturating_add(more.slow_start_rounds);
        self.receive_window_rounds = self.receive_window_rounds.saturating_add(more.receive_window_rounds);
    }
}

/// Adds up spans; each field is the sum of its ticks, so that rounding to nanoseconds happens once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spans {
    pub(crate) lookup: Ticks,
    pub(crate) handshake: Ticks,
    pub(crate) tls: Ticks,
    pub(crate) request: Ticks,
    pub(crate) discovery: Ticks,
    pub(crate) queueing: Ticks,
    pub(crate) transmission: Ticks,
    pub(crate) server: Ticks,
    pub(crate) responses: Ledger,
    pub(crate) trips: RoundTrips,
}

impl Spans {
    /// `pushes`: a sender that has nothing waits for what it is about to push, and for nothing but its servers else.
    pub(crate) fn breakdown(&self, pushes: bool) -> (Breakdown, RoundTrips) {
        let ledger = &self.responses;
        let (pushed, served) = if pushes { (ledger.nothing, Ticks::ZERO) } else { (Ticks::ZERO, ledger.nothing) };
        let breakdown = Breakdown {
            lookup: self.lookup.to_duration(),
            handshake: self.handshake.to_duration(),
            tls: self.tls.to_duration(),
            request: self.request.to_duration(),
            discovery: (self.discovery + pushed).to_duration(),
            slow_start: ledger.slow_start.to_duration(),
            receive_window: ledger.receive_window.to_duration(),
            delayed_ack: ledger.delayed_ack.to_duration(),
            queueing: (self.queueing + ledger.queueing).to_duration(),
            transmission: (self.transmission + ledger.transmission).to_duration(),
            server: (self.server + served).to_duration(),
            loss: ledger.repair.to_duration(),
        };
        let trips = RoundTrips {
            slow_start: ledger.slow_start_rounds,
            receive_window: ledger.receive_window_rounds,
            ..self.trips
        };
        (breakdown, trips)
    }
}
