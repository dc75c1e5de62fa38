//! Congestion controllers: how large the window is. Detecting losses and repairing them is the sender's.

mod cubic;
mod hystart;
mod reno;
mod slow_start;

pub use cubic::Cubic;
pub use reno::Reno;

use crate::behavior::Behavior;
use crate::{Congestion, Sequence, TcpConfig, TcpError};
use core::fmt::Debug;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// New data was acknowledged outside of recovery, while the window limited the sender.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// When the ACK arrived.
    pub now: Instant,
    /// Bytes it newly acknowledged.
    pub bytes: Bytes,
    /// Round-trip time of the latest segment it covers, unless that was sent twice.
    pub rtt: Option<Duration>,
    /// The acknowledgement.
    pub sequence: Sequence,
    /// The next number to send, i.e. the end of what is on the way.
    pub next: Sequence,
}

/// A congestion controller. All sizes are payload; a full segment is the MSS it was made with.
pub trait CongestionControl: Debug + Send {
    /// What may be on the way at once.
    fn window(&self) -> Bytes;

    /// Where slow start ends; `None` until a loss or a controller's own detection sets it.
    fn threshold(&self) -> Option<Bytes>;

    /// New data was acknowledged: the window grows.
    fn on_ack(&mut self, ack: &Acknowledged);

    /// Fast retransmit: once per window of data, with `in_flight` on the way.
    fn on_loss(&mut self, in_flight: Bytes);

    /// The retransmission timer ran out, for the first time for this data or `again`.
    fn on_timeout(&mut self, in_flight: Bytes, again: bool);

    /// The sender did not use its window for `idle`; from now on it is `window`, which is not more than before.
    fn on_idle(&mut self, window: Bytes, idle: Duration);

    /// Whether the window is still below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.threshold().is_none_or(|threshold| self.window() < threshold)
    }
}

/// One of the controllers there are, without a detour through memory.
#[derive(Debug, Clone)]
pub enum Controller {
    /// Reno and NewReno.
    Reno(Reno),
    /// CUBIC.
    Cubic(Cubic),
}

/// Calls the method of the controller there is.
macro_rules! each {
    ($controller:expr, $inner:ident => $call:expr) => {
        match $controller {
            Controller::Reno($inner) => $call,
            Controller::Cubic($inner) => $call,
        }
    };
}

impl Controller {
    /// The controller that `config` asks for.
    ///
    /// # Errors
    /// If there is none of that kind.
    pub fn new(config: &TcpConfig) -> Result<Self, TcpError> {
        let counting = Behavior::of(config).byte_counting;
        let initial = config.mss * u64::from(config.initial_window.max(1));
        match config.congestion {
            Congestion::Reno | Congestion::NewReno => Ok(Self::Reno(Reno::new(config.mss, initial, counting))),
            Congestion::Cubic => Ok(Self::Cubic(Cubic::new(config.mss, initial, counting))),
            Congestion::Bbr => Err(TcpError::NoController { congestion: config.congestion }),
        }
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

    fn on_loss(&mut self, in_flight: Bytes) {
        each!(self, inner => inner.on_loss(in_flight));
    }

    fn on_timeout(&mut self, in_flight: Bytes, again: bool) {
        each!(self, inner => inner.on_timeout(in_flight, again));
    }

    fn on_idle(&mut self, window: Bytes, idle: Duration) {
        each!(self, inner => inner.on_idle(window, idle));
    }
}
