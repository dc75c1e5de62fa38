//! Satellites in low Earth orbit that pass overhead, one after the other.
//!
//! Each satellite flies a circle at height `h` with the angular speed `ω = √(μ / (R + h)³)` and passes through the
//! zenith of terminal and gateway, which are near each other (within some hundred kilometres: a bent pipe) and so see
//! it at the same elevation. At the central angle `ψ = ω·t`, `t` after the zenith, its distance `d` is
//!
//! ```text
//! d² = h² + 4·R·(R + h)·sin²(ψ/2)        (the law of cosines)
//! ```
//!
//! and it is used while above the least elevation `ε`: from `−ψ` to `ψ` with `ψ = arccos(R·cos ε / (R + h)) − ε`. From
//! one handover to the next the terminal keeps one satellite, which moves on meanwhile. Where in its pass the `n`-th
//! satellite is when taken is not drawn but given: the fraction of `1/2 + n/φ` (`φ` the golden ratio), of the positions
//! from which it remains in view until the next handover. That spreads evenly over the pass, differs from handover to
//! handover, is the same for both directions and in every run.
//!
//! Left out: satellites that pass at a side, hence distances near the zenith are somewhat more frequent than in a real
//! constellation; the Earth's rotation (7 % of the angular speed at 550 km); links between satellites.

use super::{EARTH_RADIUS_M, light_time};
use farhop_units::Instant;
use std::time::Duration;

/// The Earth's gravitational parameter μ, in m³/s² (WGS 84).
const GRAVITATION: f64 = 3.986_004_418e14;
/// 2⁶⁴/φ: steps of the golden ratio, of which any number in a row lie evenly spread (Weyl).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// How satellites pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passes {
    /// h, in m.
    altitude: f64,
    /// 2·√(R·(R + h)), in m: with the sine of half the central angle, the distance across.
    across: f64,
    /// ω/2, in 1/s.
    half_speed: f64,
    /// How long a satellite is in view, in s.
    length: f64,
    /// From handover to handover, in ns; never 0.
    handover: u64,
}

impl Passes {
    /// Satellites at `altitude_m`, in use while above the least elevation.
    pub(super) fn new(altitude_m: f64, least_elevation_deg: f64, handover: Duration) -> Self {
        let radius = EARTH_RADIUS_M + altitude_m;
        let speed = libm::sqrt(GRAVITATION / (radius * radius * radius));
        let elevation = least_elevation_deg.to_radians();
        let widest = libm::acos(EARTH_RADIUS_M * libm::cos(elevation) / radius) - elevation;
        Self {
            altitude: altitude_m,
            across: 2.0 * libm::sqrt(EARTH_RADIUS_M * radius),
            half_speed: speed / 2.0,
            length: 2.0 * widest / speed,
            handover: u64::try_from(handover.as_nanos()).unwrap_or(u64::MAX).max(1),
        }
    }

    /// How long a satellite is in view.
    pub(super) fn length(&self) -> Duration {
        Duration::try_from_secs_f64(self.length).unwrap_or(Duration::ZERO)
    }

    /// The time from terminal to gateway of a signal that is sent at `at`.
    pub(super) fn delay(&self, at: Instant) -> Duration {
        let (number, since) = (at.as_nanos() / self.handover, at.as_nanos() % self.handover);
        let span = seconds(self.handover).min(self.length);
        let taken = place(number) * (self.length - span);
        let after_zenith = taken + seconds(since).min(span) - self.length / 2.0;
        let across = self.across * libm::sin(self.half_speed * after_zenith);
        light_time(2.0 * libm::sqrt(self.altitude * self.altitude + across * across))
    }
}

/// Where the `number`-th satellite is when taken: 0 as early as can be, 1 as late.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn place(number: u64) -> f64 {
    let turned = number.wrapping_mul(GOLDEN).wrapping_add(1 << 63);
    (turned >> 11) as f64 / (1_u64 << 53) as f64
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ns, 104 days")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starlink() -> Passes {
        Passes::new(550_000.0, 25.0, Duration::from_secs(15))
    }

    #[test]
    fn a_pass_lasts_as_long_as_textbooks_say() {
        // Height 550 km: a turn of 95.6 min; above 25° for 2·8.45° of it.
        let turn = Duration::from_secs_f64(core::f64::consts::PI / starlink().half_speed);
        assert_eq!(turn.as_secs(), 5738);
        assert_eq!(starlink().length().as_secs(), 269);
    }

    #[test]
    fn a_satellite_followed_from_rise_to_set_comes_nearest_in_the_middle() {
        let length = starlink().length();
        let passes = Passes::new(550_000.0, 25.0, length);
        let delay = |at| passes.delay(Instant::START + at).as_micros();
        // 1123.3 km at 25° and 550 km overhead, twice.
        let ends = [Duration::ZERO, length / 2, length - Duration::from_nanos(1)];
        assert_eq!(ends.map(delay), [7494, 3669, 7494]);
        assert!(delay(length / 4) < delay(length / 8));
    }
}
