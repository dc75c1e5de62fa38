//! Congestion controllers: how large the window is. Detecting losses and repairing them is the sender's.

mod bbr;
mod cubic;
mod cubic_linux;
mod hystart;
mod hystart_plus_plus;
mod reno;
mod slow_start;

pub use crate::rate::{DeliveryRate, RateSample};
pub use bbr::Bbr;
pub use cubic::Cubic;
pub use reno::Reno;
pub(crate) use slow_start::{three_quarters, whole_units};

use crate::behavior::Behavior;
use crate::{Congestion, Profile, Sequence, TcpConfig, TcpError};
use core::fmt::Debug;
use farhop_units::{Bytes, Instant, Rate};
use std::time::Duration;

/// What an acknowledgement says that brings something new.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// When the ACK arrived.
    pub now: Instant,
    /// Bytes it newly acknowledged.
    pub bytes: Bytes,
    /// Round-trip time of the latest segment it covers, unless that was sent twice.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time (RFC 6298: SRTT).
    pub smoothed: Option<Duration>,
    /// The acknowledgement.
    pub sequence: Sequence,
    /// The next number to send, i.e. the end of what is on the way.
    pub next: Sequence,
}

/// What is being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repair {
    /// Nothing.
    #[default]
    None,
    /// A loss that others that arrived have shown: fast recovery.
    Fast,
    /// All that was on the way when the retransmission timer ran out.
    AfterTimeout,
}

/// A congestion controller. All sizes are payload; a full segment is the MSS it was made with.
///
/// Of every acknowledgement of new data a controller is told by exactly one of [`Self::on_ack`] and [`Self::on_unused_ack`], after
/// [`Self::on_round_trip`] if it tells a round-trip time; one that [models the path](Self::models_the_path) by [`Self::on_sample`] alone.
pub trait CongestionControl: Debug + Send {
    /// What may be on the way at once.
    fn window(&self) -> Bytes;

    /// Where slow start ends; `None` until a loss or a controller's own detection sets it.
    fn threshold(&self) -> Option<Bytes>;

    /// New data was acknowledged: the window grows.
    fn on_ack(&mut self, ack: &Acknowledged);

    /// Whether the window must not grow while it is not used, whatever the rest of TCP does.
    fn grows_in_use_only(&self) -> bool {
        false
    }

    /// New data was acknowledged, but the window must not grow: a loss is being repaired, or the sender did not use it.
    fn on_unused_ack(&mut self, _ack: &Acknowledged) {}

    /// An acknowledgement tells a round-trip time, by number or selectively, whether a loss is being repaired or not (Linux's pkts_acked()); what else
    /// there is to tell of it follows.
    fn on_round_trip(&mut self, _ack: &Acknowledged) {}

    /// Fast retransmit: once per window of data, with `in_flight` on the way.
    fn on_loss(&mut self, in_flight: Bytes);

    /// The retransmission timer ran out, for the first time for this data or `again`.
    fn on_timeout(&mut self, in_flight: Bytes, again: bool);

    /// The sender has sent nothing for `idle`: from now on the window is `window`, which is not more than before. Where slow start ends stays (RFC 5681
    /// §4.1).
    fn on_idle(&mut self, window: Bytes, idle: Duration);

    /// The window was not used, or not all of it: from now on it is `window`, which is not more than before. Three quarters of what it was are remembered
    /// as where slow start ends (RFC 2861 §3), as Linux does.
    fn on_decay(&mut self, window: Bytes);

    /// The window is this for now: the sender spreads a reduction over several acknowledgements.
    fn set_window(&mut self, _window: Bytes) {}

    /// The last reduction was not needed: the window may be `window` again, and the threshold `threshold`, if they are less now.
    fn undo(&mut self, _window: Bytes, _threshold: Option<Bytes>) {}

    /// Whether the window follows [`Self::on_sample`] alone, in every state.
    fn models_the_path(&self) -> bool {
        false
    }

    /// An acknowledgement arrived; see [`Self::models_the_path`].
    fn on_sample(&mut self, _sample: &RateSample) {}

    /// The retransmission timer has made everything on the way a loss; `totals` has how much has been lost and delivered in all.
    fn on_all_lost(&mut self, _totals: &RateSample) {}

    /// Whether it keeps less on the way than the path holds, so that rate samples of now say little.
    fn keeps_little_on_the_way(&self) -> bool {
        false
    }

    /// The handshake took a round trip of `least`, and by that the smoothed one is known.
    fn on_open(&mut self, _now: Instant, _least: Duration, _smoothed: Duration) {}

    /// Data is sent while nothing is on the way, so long after the last; `starved`: since the application had too little to send.
    fn on_restart(&mut self, _now: Instant, _idle: Duration, _starved: bool) {}

    /// How fast data may leave; `None`: as fast as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the window is still below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.threshold().is_none_or(|threshold| self.window() < threshold)
    }
}

/// One of the controllers there are. The small one is where it is looked for: with thousands of connections it is memory that takes time,
/// and room that the others would need.
#[derive(Debug, Clone)]
pub enum Controller {
    /// Reno and NewReno.
    Reno(Reno),
    /// CUBIC.
    Cubic(Box<Cubic>),
    /// BBR version 1.
    Bbr(Box<Bbr>),
}

/// Calls the method of the controller there is.
macro_rules! each {
    ($controller:expr, $inner:ident => $call:expr) => {
        match $controller {
            Controller::Reno($inner) => $call,
            Controller::Cubic($inner) => $call,
            Controller::Bbr($inner) => $call,
        }
    };
}

impl Controller {
    /// The controller that `config` asks for.
    ///
    /// # Errors
    /// If a segment carries nothing, or 4 GiB.
    pub fn new(config: &TcpConfig) -> Result<Self, TcpError> {
        if config.mss == Bytes::ZERO || u32::try_from(config.mss.get()).is_err() {
            return Err(TcpError::SegmentSize { mss: config.mss });
        }
        let behavior = Behavior::of(config);
        let counting = config.byte_counting;
        let initial = config.mss * u64::from(config.initial_window.max(1));
        Ok(match config.congestion {
            Congestion::Reno | Congestion::NewReno if behavior.counts_segments => {
                Self::Reno(Reno::in_whole_segments(config.mss, initial, counting))
            }
            Congestion::Reno | Congestion::NewReno => Self::Reno(Reno::new(config.mss, initial, counting)),
            Congestion::Cubic if behavior.counts_segments => {
                Self::Cubic(Box::new(Cubic::as_in_linux(config.mss, initial, counting)))
            }
            Congestion::Cubic => Self::Cubic(Box::new(Cubic::new(config.mss, initial, counting))),
            Congestion::Bbr if config.profile == Profile::Linux => {
                Self::Bbr(Box::new(Bbr::as_in_linux(config.mss, initial)))
            }
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(config.mss, initial))),
        })
    }
}

impl CongestionControl for Controller {
    fn window(&self) -> Bytes {
        each!(self, inner => inner.window())
    }

    fn threshold(&self) -> Option<Bytes> {
        each!(self, inner => inner.threshold())
    }

    fn on_ack(&mut self, ack: &Acknowledged) {
        each!(self, inner => inner.on_ack(ack));
    }

    fn on_unused_ack(&mut self, ack: &Acknowledged) {
        each!(self, inner => inner.on_unused_ack(ack));
    }

    fn on_round_trip(&mut self, ack: &Acknowledged) {
        each!(self, inner => inner.on_round_trip(ack));
    }

    fn on_loss(&mut self, in_flight: Bytes) {
        each!(self, inner => inner.on_loss(in_flight));
    }

    fn on_timeout(&mut self, in_flight: Bytes, again: bool) {
        each!(self, inner => inner.on_timeout(in_flight, again));
    }

    fn on_idle(&mut self, window: Bytes, idle: Duration) {
        each!(self, inner => inner.on_idle(window, idle));
    }

    fn on_decay(&mut self, window: Bytes) {
        each!(self, inner => inner.on_decay(window));
    }

    fn set_window(&mut self, window: Bytes) {
        each!(self, inner => inner.set_window(window));
    }

    fn undo(&mut self, window: Bytes, threshold: Option<Bytes>) {
        each!(self, inner => inner.undo(window, threshold));
    }

    fn grows_in_use_only(&self) -> bool {
        each!(self, inner => inner.grows_in_use_only())
    }

    fn models_the_path(&self) -> bool {
        each!(self, inner => inner.models_the_path())
    }

    fn on_sample(&mut self, sample: &RateSample) {
        each!(self, inner => inner.on_sample(sample));
    }

    fn on_all_lost(&mut self, totals: &RateSample) {
        each!(self, inner => inner.on_all_lost(totals));
    }

    fn keeps_little_on_the_way(&self) -> bool {
        each!(self, inner => inner.keeps_little_on_the_way())
    }

    fn on_open(&mut self, now: Instant, least: Duration, smoothed: Duration) {
        each!(self, inner => inner.on_open(now, least, smoothed));
    }

    fn on_restart(&mut self, now: Instant, idle: Duration, starved: bool) {
        each!(self, inner => inner.on_restart(now, idle, starved));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, inner => inner.pacing_rate())
    }
}
