//! The symbols that both Obata papers share, checked once.
//!
//! The papers' network has two links: server → client (satellite, index *sat*, here *down*) and client → server (terrestrial,
//! *ter*, here *up*). Neither loses packets nor queues more than the formulas say.

use crate::ModelError;
use farhop_scenario::{ChannelConfig, DirectionConfig, HEADER_BYTES, Scenario};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// A window in segments; a real number, because the papers divide MWS by d_seg without rounding.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Segments(f64);

impl Segments {
    /// One segment, the papers' w(0).
    pub const ONE: Self = Self(1.0);

    /// `count` segments; a negative number or NaN counts as none.
    pub fn new(count: f64) -> Self {
        Self(count.max(0.0))
    }

    /// The number of segments.
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// ACKs that the papers expect for this window at once: one for every two segments, ⌈w/2⌉.
    pub(crate) fn acks(self) -> f64 {
        (self.0 / 2.0).ceil()
    }
}

/// How a maximum window that is no multiple of the segment is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowReading {
    /// MWS/d_seg is a real number, as in the papers: 4096 B are 2.83 segments. Reproduces the papers' numbers.
    #[default]
    Real,
    /// As TCP sends: 4096 B are 2 segments of 1448 B. Gives up to 41 % less throughput.
    WholeSegments,
}

/// The symbols of both papers, in their notation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Symbols {
    /// Q_sat: rate server → client; `None` is unlimited.
    pub down_rate: Option<Rate>,
    /// Q_ter: rate client → server; `None` is unlimited.
    pub up_rate: Option<Rate>,
    /// τ_sat: one-way propagation delay server → client.
    pub down_delay: Duration,
    /// τ_ter: one-way propagation delay client → server.
    pub up_delay: Duration,
    /// d_seg: payload of a full segment.
    pub mss: Bytes,
    /// d_head: TCP and IP headers of a segment.
    pub headers: Bytes,
    /// d_ack: an ACK on the wire.
    pub ack: Bytes,
    /// MWS: the largest window the receiver advertises; `None` is unlimited.
    pub max_window: Option<Bytes>,
    /// How MWS/d_seg is read.
    pub window: WindowReading,
}

/// [`Symbols`] for which every formula has a value: d_seg is not zero and MWS holds a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path(Symbols);

impl Path {
    /// Checks `symbols`.
    ///
    /// # Errors
    /// [`ModelError::ZeroMss`], [`ModelError::WindowBelowSegment`].
    pub fn new(symbols: Symbols) -> Result<Self, ModelError> {
        let mss = symbols.mss;
        if mss == Bytes::ZERO {
            return Err(ModelError::ZeroMss);
        }
        match symbols.max_window {
            Some(max_window) if max_window < mss => Err(ModelError::WindowBelowSegment { max_window, mss }),
            _ => Ok(Self(symbols)),
        }
    }

    /// The path between `scenario`'s server and client as one link each way: delays add up, the slowest rate counts.
    ///
    /// # Errors
    /// As [`Path::new`].
    pub fn of(scenario: &Scenario) -> Result<Self, ModelError> {
        Self::new(Symbols {
            down_rate: slowest_rate(directions(scenario, |channel| &channel.down)),
            up_rate: slowest_rate(directions(scenario, |channel| &channel.up)),
            down_delay: total_delay(directions(scenario, |channel| &channel.down)),
            up_delay: total_delay(directions(scenario, |channel| &channel.up)),
            mss: scenario.tcp.mss,
            headers: HEADER_BYTES,
            ack: HEADER_BYTES,
            max_window: scenario.tcp.max_window,
            window: WindowReading::Real,
        })
    }

    /// The symbols.
    pub const fn symbols(&self) -> &Symbols {
        &self.0
    }

    /// The same path with its maximum window in whole segments.
    pub(crate) fn in_whole_segments(&self) -> Self {
        Self(Symbols { window: WindowReading::WholeSegments, ..self.0 })
    }

    /// P = d_seg + d_head, in bytes.
    pub(crate) fn packet(&self) -> f64 {
        self.0.mss.as_f64() + self.0.headers.as_f64()
    }

    /// MWS in bytes, as [`WindowReading`] has it.
    pub(crate) fn max_window(&self) -> Option<f64> {
        let (mss, bytes) = (self.0.mss.as_f64(), self.0.max_window?.as_f64());
        Some(match self.0.window {
            WindowReading::Real => bytes,
            WindowReading::WholeSegments => (bytes / mss).floor() * mss,
        })
    }

    /// MWS/d_seg.
    pub fn full_window(&self) -> Option<Segments> {
        Some(Segments(self.max_window()? / self.0.mss.as_f64()))
    }

    /// Payload of a window, w·d_seg, in bytes; the full window gives MWS back.
    pub(crate) fn payload(&self, window: Segments) -> f64 {
        (window.0 * self.0.mss.as_f64()).round()
    }

    /// Time that `bytes` take to enter the down link.
    pub(crate) fn down_time(&self, bytes: f64) -> Duration {
        transmission_time(bytes, self.0.down_rate)
    }

    /// Time that `bytes` take to enter the up link.
    pub(crate) fn up_time(&self, bytes: f64) -> Duration {
        transmission_time(bytes, self.0.up_rate)
    }
}

/// One direction of all three parts of the way between client and server.
pub(crate) fn directions(
    scenario: &Scenario,
    direction: impl Fn(&ChannelConfig) -> &DirectionConfig,
) -> [&DirectionConfig; 3] {
    [direction(&scenario.wan), direction(&scenario.link), direction(&scenario.lan)]
}

/// The rate that a long transfer gets at most; `None` if no part limits it.
pub(crate) fn slowest_rate(parts: [&DirectionConfig; 3]) -> Option<Rate> {
    parts.into_iter().filter_map(DirectionConfig::peak_rate).min()
}

/// One-way propagation delay of all parts, the least there is.
pub(crate) fn total_delay(parts: [&DirectionConfig; 3]) -> Duration {
    parts.into_iter().map(DirectionConfig::least_delay).fold(Duration::ZERO, Duration::saturating_add)
}

/// Bytes × 8 over bit/s; a fraction of a byte is allowed, since windows are real numbers. No time if `rate` is unlimited.
pub(crate) fn transmission_time(bytes: f64, rate: Option<Rate>) -> Duration {
    rate.map_or(Duration::ZERO, |rate| seconds(bytes * 8.0 / rate.as_f64()))
}

/// The rate of `bits_per_second`; beyond 2⁶⁴ bit/s the largest there is.
///
/// # Errors
/// [`ModelError::TooSlow`] below 1 bit/s.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates at 2^64 bit/s")]
pub(crate) fn rate(bits_per_second: f64) -> Result<Rate, ModelError> {
    Rate::from_bits_per_second(bits_per_second as u64).ok_or(ModelError::TooSlow)
}

/// `count` times `span`.
pub(crate) fn times(span: Duration, count: f64) -> Duration {
    seconds(span.as_secs_f64() * count)
}

/// The duration of that many seconds, at least none and at most [`Duration::MAX`].
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    //! Paths of every size for the formulas' property tests.

    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        /// Any path that [`Path::new`] accepts, extremes included.
        pub(crate) fn any_path()(
            rates: [Option<u64>; 2],
            delays: [u64; 2],
            mss in prop_oneof![1_u64..3000, 1..=u64::MAX],
            header: u64,
            ack: u64,
            window in prop::option::of(prop_oneof![0_u64..100_000, 0..=u64::MAX]),
            whole: bool,
        ) -> Path {
            let rate = |bits: Option<u64>| bits.and_then(Rate::from_bits_per_second);
            Path::new(Symbols {
                down_rate: rate(rates[0]),
                up_rate: rate(rates[1]),
                down_delay: Duration::from_nanos(delays[0]),
                up_delay: Duration::from_nanos(delays[1]),
                mss: Bytes::new(mss),
                headers: Bytes::new(header),
                ack: Bytes::new(ack),
                max_window: window.map(|extra| Bytes::new(mss.saturating_add(extra))),
                window: if whole { WindowReading::WholeSegments } else { WindowReading::Real },
            })
            .expect("the window holds a segment")
        }
    }

    #[test]
    fn whole_segments_round_the_window_down() {
        let symbols = Symbols {
            down_rate: None,
            up_rate: None,
            down_delay: Duration::ZERO,
            up_delay: Duration::ZERO,
            mss: Bytes::new(1448),
            headers: HEADER_BYTES,
            ack: HEADER_BYTES,
            max_window: Some(Bytes::new(4096)),
            window: WindowReading::Real,
        };
        let segments = |window| Path::new(Symbols { window, ..symbols }).unwrap().full_window().unwrap().as_f64();
        assert!((segments(WindowReading::Real) - 2.83).abs() < 0.01);
        assert!((segments(WindowReading::WholeSegments) - 2.0).abs() < 1e-9);
    }
}
