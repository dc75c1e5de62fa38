//! Path lengths and handovers of satellites.
//!
//! A signal goes up from a terminal to a satellite and down to a gateway (or the other way) at the speed of light in
//! vacuum; the satellite is a bent pipe, its processing is part of the direction's own delay. The Earth is a sphere of
//! its equatorial radius, [`EARTH_RADIUS_M`]; atmosphere and terrain are left out.
//!
//! A geostationary satellite stands still, 35 786 km above the equator. The slant range `d` to a satellite of height
//! `h` at elevation `ε` above a sphere of radius `R` is (Maral and Bousquet, *Satellite Communications Systems*, the
//! chapter on orbits)
//!
//! ```text
//! d = √((R + h)² − (R·cos ε)²) − R·sin ε        in m
//! ```
//!
//! Low Earth orbit: see [`pass`] for how a satellite passes and the next is taken. At each handover the transmitter
//! stands still for a while ([`Pauses`]): nothing is lost, and what waits goes on afterwards.
//!
//! Sines and roots are libm's, so delays are the same nanosecond on every machine.

mod pass;
mod pauses;

pub(crate) use pauses::Pauses;

use core::fmt;
use core::ops::{Range, RangeInclusive};
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{Instant, ParseError, duration};
use pass::Passes;
use std::time::Duration;

/// A satellite's motion: its path is added to the direction's delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Orbit {
    /// Geostationary: terminal → satellite → gateway, each at its elevation.
    Geostationary {
        /// Elevation of the satellite at the terminal, in degrees above the horizon.
        terminal_elevation_deg: f64,
        /// Elevation of the satellite at the gateway, in degrees above the horizon.
        gateway_elevation_deg: f64,
    },
    /// Low Earth orbit: satellites pass one after the other; the terminal changes to another at every handover.
    LowEarth {
        /// Height above the ground, in metres.
        altitude_m: f64,
        /// Elevation below which a satellite is not used, in degrees.
        least_elevation_deg: f64,
        /// From one handover to the next (Starlink: 15 s).
        handover: Duration,
        /// How long nothing is sent at a handover.
        pause: Duration,
    },
}

/// The Earth's equatorial radius (WGS 84).
const EARTH_RADIUS_M: f64 = 6_378_137.0;
/// Height of the geostationary orbit above the equator.
const GEOSTATIONARY_ALTITUDE_M: f64 = 35_786_000.0;
/// Speed of light in vacuum.
const LIGHT_M_PER_S: f64 = 299_792_458.0;
/// Starlink moves its terminals every 15 s, all at once (Tanveer et al., "Making Sense of Constellations", CoNEXT 2023;
/// Mohan et al., "A Multifaceted Look at Starlink Performance", WWW 2024).
const HANDOVER: Duration = Duration::from_secs(15);
/// The shortest time between handovers that is accepted.
const SHORTEST_HANDOVER: Duration = Duration::from_secs(1);
/// Below, the air brakes a satellite too much; above, an orbit is no longer called low.
const LOW_ALTITUDES_M: RangeInclusive<f64> = 160_000.0..=2_000_000.0;

const GEO: &str = "geo";
const LEO: &str = "leo";
const ACCEPTED: &str = "geo elevation=35deg with gateway-elevation=40deg, or leo altitude=550km elevation=25deg with \
                        handover=15s and pause=30ms";

impl Orbit {
    /// The time from terminal to gateway, or back, of a signal that is sent at `at`.
    pub fn path_delay(&self, at: Instant) -> Duration {
        Path::new(self).delay(at)
    }

    /// The shortest path's delay.
    pub fn least_delay(&self) -> Duration {
        match *self {
            Self::Geostationary { .. } => self.path_delay(Instant::START),
            // The satellite overhead, which some pass comes arbitrarily near to.
            Self::LowEarth { altitude_m, .. } => light_time(2.0 * altitude_m),
        }
    }

    /// Whether there are times at which nothing is sent.
    pub fn has_pauses(&self) -> bool {
        self.pauses().is_some()
    }

    /// The end of the pause that holds `at`; `None` if none does.
    pub fn pause_end(&self, at: Instant) -> Option<Instant> {
        self.pauses().map(|pauses| pauses.resume(at)).filter(|&end| end > at)
    }

    /// The first pause that begins at or after `at`.
    pub fn next_pause(&self, at: Instant) -> Option<Range<Instant>> {
        self.pauses().and_then(|pauses| pauses.next(at))
    }

    /// When nothing is sent.
    pub(crate) fn pauses(&self) -> Option<Pauses> {
        match *self {
            Self::Geostationary { .. } => None,
            Self::LowEarth { handover, pause, .. } => Pauses::new(handover, pause),
        }
    }

    /// What no single term can know, or a caller of this crate may have got wrong.
    pub(crate) fn check(&self) -> Result<(), ParseError> {
        match *self {
            Self::Geostationary { terminal_elevation_deg, gateway_elevation_deg } => {
                check_elevation("elevation", terminal_elevation_deg)?;
                check_elevation("gateway-elevation", gateway_elevation_deg)
            }
            Self::LowEarth { altitude_m, least_elevation_deg, handover, pause } => {
                check_elevation("elevation", least_elevation_deg)?;
                if !LOW_ALTITUDES_M.contains(&altitude_m) {
                    return Err(ParseError::new(
                        format!("altitude: {} is not low", length(altitude_m)),
                        "160km to 2000km",
                    ));
                }
                let longest = Passes::new(altitude_m, least_elevation_deg, handover).length();
                check_handover(handover, longest)?;
                let problem = || format!("pause: {} is not shorter than from handover to handover", joined(pause));
                let refuse = || ParseError::new(problem(), format!("less than {}", joined(handover)));
                if pause < handover { Ok(()) } else { Err(refuse()) }
            }
        }
    }
}

/// An [`Orbit`] made ready to be asked once per packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path {
    /// The same at any time.
    Fixed(Duration),
    /// Satellites passing.
    Passing(Passes),
}

impl Path {
    /// The paths of `orbit`.
    pub(crate) fn new(orbit: &Orbit) -> Self {
        match *orbit {
            Orbit::Geostationary { terminal_elevation_deg, gateway_elevation_deg } => {
                let range = |elevation| slant_range(GEOSTATIONARY_ALTITUDE_M, elevation);
                Self::Fixed(light_time(range(terminal_elevation_deg) + range(gateway_elevation_deg)))
            }
            Orbit::LowEarth { altitude_m, least_elevation_deg, handover, .. } => {
                Self::Passing(Passes::new(altitude_m, least_elevation_deg, handover))
            }
        }
    }

    /// The time from terminal to gateway of a signal that is sent at `at`.
    pub(crate) fn delay(&self, at: Instant) -> Duration {
        match self {
            Self::Fixed(delay) => *delay,
            Self::Passing(passes) => passes.delay(at),
        }
    }
}

/// Distance in metres to a satellite of this height at this elevation.
fn slant_range(altitude_m: f64, elevation_deg: f64) -> f64 {
    let elevation = elevation_deg.to_radians();
    let (across, up) = (EARTH_RADIUS_M * libm::cos(elevation), EARTH_RADIUS_M * libm::sin(elevation));
    let radius = EARTH_RADIUS_M + altitude_m;
    libm::sqrt(radius * radius - across * across) - up
}

/// How long light takes for so many metres. What is not a distance takes no time.
fn light_time(metres: f64) -> Duration {
    Duration::try_from_secs_f64(metres / LIGHT_M_PER_S).unwrap_or(Duration::ZERO)
}

fn check_elevation(name: &str, degrees: f64) -> Result<(), ParseError> {
    let refuse = || ParseError::new(format!("{name}: {degrees}deg is not between horizon and zenith"), "0deg to 90deg");
    if (0.0..=90.0).contains(&degrees) { Ok(()) } else { Err(refuse()) }
}

fn check_handover(handover: Duration, pass: Duration) -> Result<(), ParseError> {
    let whole = Duration::from_millis(u64::try_from(pass.as_millis()).unwrap_or(u64::MAX));
    if pass < SHORTEST_HANDOVER {
        let problem = "elevation: a satellite is that high for less than a second";
        return Err(ParseError::new(problem, "a lower elevation, e.g. elevation=25deg"));
    }
    if (SHORTEST_HANDOVER..=pass).contains(&handover) {
        return Ok(());
    }
    let accepted = format!("{} to {}, as long as a satellite is in view", joined(SHORTEST_HANDOVER), joined(whole));
    Err(ParseError::new(format!("handover: {}", joined(handover)), accepted))
}

impl FromStr for Orbit {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let missing = |name: &str| ParseError::new(format!("no \"{name}\" in \"{text}\""), ACCEPTED);
        let orbit = match terms.word {
            GEO => {
                let terminal = terms.get("elevation", degrees)?.ok_or_else(|| missing("elevation"))?;
                let gateway = terms.get("gateway-elevation", degrees)?.unwrap_or(terminal);
                Self::Geostationary { terminal_elevation_deg: terminal, gateway_elevation_deg: gateway }
            }
            LEO => Self::LowEarth {
                altitude_m: terms.get("altitude", metres)?.ok_or_else(|| missing("altitude"))?,
                least_elevation_deg: terms.get("elevation", degrees)?.ok_or_else(|| missing("elevation"))?,
                handover: terms.get("handover", duration::parse)?.unwrap_or(HANDOVER),
                pause: terms.get("pause", duration::parse)?.unwrap_or(Duration::ZERO),
            },
            other => return Err(ParseError::unknown("orbit", other, [GEO, LEO], ACCEPTED)),
        };
        terms.finish()?;
        orbit.check().map(|()| orbit)
    }
}

fn degrees(text: &str) -> Result<f64, ParseError> {
    number_of(text, "deg", "a number and deg, e.g. \"35deg\"")
}

/// A length in km or m.
fn metres(text: &str) -> Result<f64, ParseError> {
    const LENGTHS: &str = "a number and km or m, e.g. \"550km\"";
    match text.strip_suffix("km") {
        Some(_) => Ok(number_of(text, "km", LENGTHS)? * 1000.0),
        None => number_of(text, "m", LENGTHS),
    }
}

fn number_of(text: &str, unit: &str, accepted: &str) -> Result<f64, ParseError> {
    let refuse = || ParseError::new(format!("\"{text}\""), accepted);
    text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(refuse)
}

impl fmt::Display for Orbit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Geostationary { terminal_elevation_deg: terminal, gateway_elevation_deg: gateway } => {
                write!(f, "{GEO} elevation={terminal}deg gateway-elevation={gateway}deg")
            }
            Self::LowEarth { altitude_m, least_elevation_deg, handover, pause } => {
                let (altitude, handover, pause) = (length(altitude_m), joined(handover), joined(pause));
                write!(
                    f,
                    "{LEO} altitude={altitude} elevation={least_elevation_deg}deg handover={handover} pause={pause}"
                )
            }
        }
    }
}

/// In km if that reads back exactly, else in m.
#[expect(clippy::float_cmp, reason = "exactness is the question")]
fn length(metres: f64) -> String {
    let kilometres = metres / 1000.0;
    if kilometres * 1000.0 == metres { format!("{kilometres}km") } else { format!("{metres}m") }
}

/// A duration as a term holds it.
fn joined(span: Duration) -> String {
    duration::format(span).replace(' ', "")
}

#[cfg(test)]
mod tests;
