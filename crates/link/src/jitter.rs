//! Delays that vary from packet to packet and keep the order.
//!
//! Jitter is added to a packet's delay; a packet that would arrive before the one ahead of it arrives together with it, as
//! behind a link layer that retransmits and delivers in order. So where packets follow each other more closely than jitter is
//! long, the delay that they see is the longest of several draws, above the mean. Left out: jitter that is correlated from
//! packet to packet (a trace of delays has that).

use crate::Port;
use crate::random::{self, Impairment, Stream};
use core::fmt;
use core::str::FromStr;
use farhop_units::terms::{Terms, time};
use farhop_units::{ParseError, duration};
use std::time::Duration;

/// Extra delay per packet. A packet never overtakes the one before it because of jitter: it waits at the end of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jitter {
    /// None.
    #[default]
    None,
    /// Uniform from nothing to this.
    Uniform(Duration),
    /// Exponential with this mean, cut off at ten times the mean (which one packet in 22,000 meets).
    Exponential(Duration),
}

const NONE: &str = "none";
const UNIFORM: &str = "uniform";
const EXPONENTIAL: &str = "exponential";
const ACCEPTED: &str = "none, uniform max=5ms, or exponential mean=2ms";

/// Where exponential jitter is cut off, in means.
const CUT: u32 = 10;

impl FromStr for Jitter {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let jitter = match terms.word {
            NONE => Self::None,
            UNIFORM => Self::Uniform(span(&terms, "max", text)?),
            EXPONENTIAL => Self::Exponential(span(&terms, "mean", text)?),
            other => return Err(ParseError::unknown("jitter", other, [NONE, UNIFORM, EXPONENTIAL], ACCEPTED)),
        };
        terms.finish()?;
        Ok(jitter)
    }
}

fn span(terms: &Terms<'_>, name: &'static str, text: &str) -> Result<Duration, ParseError> {
    match terms.get(name, duration::parse)? {
        None => Err(ParseError::new(format!("no \"{name}\" in \"{text}\""), ACCEPTED)),
        Some(Duration::ZERO) => {
            Err(ParseError::new(format!("{name}: jitter of no time"), format!("more than 0 ms, or {NONE}")))
        }
        Some(span) => Ok(span),
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str(NONE),
            Self::Uniform(max) => write!(f, "{UNIFORM} max={}", time(*max)),
            Self::Exponential(mean) => write!(f, "{EXPONENTIAL} mean={}", time(*mean)),
        }
    }
}

/// Draws packet by packet.
#[derive(Debug)]
pub(crate) struct JitterProcess {
    jitter: Jitter,
    stream: Stream,
    packets: u64,
}

impl JitterProcess {
    /// The jitter of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(jitter: Jitter, seed: u64, entry: Port) -> Self {
        Self { jitter, stream: random::stream(seed, Impairment::Jitter, entry), packets: 0 }
    }

    /// How much longer the next packet takes.
    pub(crate) fn next(&mut self) -> Duration {
        let index = self.packets;
        self.packets += 1;
        match self.jitter {
            Jitter::None => Duration::ZERO,
            Jitter::Uniform(max) => {
                let nanos = u64::try_from(max.as_nanos()).unwrap_or(u64::MAX);
                Duration::from_nanos(self.stream.below(index, nanos.saturating_add(1)))
            }
            Jitter::Exponential(mean) => self.stream.exponential(index, mean).min(mean.saturating_mul(CUT)),
        }
    }

    /// So many packets have passed unharmed.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.packets += packets;
    }

    /// What it is set to.
    pub(crate) const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// Changes the jitter; the stream goes on.
    pub(crate) fn set_jitter(&mut self, jitter: Jitter) {
        self.jitter = jitter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn process(jitter: Jitter) -> JitterProcess {
        JitterProcess::new(jitter, 7, Port::Gateway)
    }

    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    fn mean(spans: &[Duration]) -> f64 {
        spans.iter().sum::<Duration>().div_f64(spans.len() as f64).as_secs_f64()
    }

    fn draws(jitter: Jitter) -> Vec<Duration> {
        let mut process = process(jitter);
        (0..100_000).map(|_| process.next()).collect()
    }

    #[test]
    fn uniform_jitter_fills_its_range_evenly() {
        let spans = draws(Jitter::Uniform(5 * MILLI));
        assert!(spans.iter().all(|&span| span <= 5 * MILLI));
        // The deviation of one is max/√12; four standard errors.
        assert!((mean(&spans) - 0.0025).abs() < 4.0 * 0.005 / (12.0 * 100_000.0_f64).sqrt());
        assert!(
            spans.iter().any(|&span| span < MILLI / 100) && spans.iter().any(|&span| span > 5 * MILLI - MILLI / 100)
        );
        let few = draws(Jitter::Uniform(Duration::from_nanos(1)));
        assert!(few.contains(&Duration::ZERO) && few.contains(&Duration::from_nanos(1)), "both ends are met");
    }

    #[test]
    fn exponential_jitter_has_its_mean_and_ends_at_ten_means() {
        let spans = draws(Jitter::Exponential(2 * MILLI));
        assert!((mean(&spans) - 0.002).abs() < 4.0 * 0.002 / 100_000.0_f64.sqrt());
        assert_eq!(spans.iter().max(), Some(&(20 * MILLI)), "a few of 100,000 are cut off");
    }

    #[test]
    fn without_jitter_nothing_is_added() {
        assert!(draws(Jitter::None).iter().all(Duration::is_zero));
    }

    #[test]
    fn a_change_goes_on_with_the_stream() {
        let after = Jitter::Exponential(MILLI);
        let (mut changed, mut constant) = (process(Jitter::None), process(after));
        for _ in 0..10 {
            changed.next();
            constant.next();
        }
        changed.set_jitter(after);
        assert!((0..10).all(|_| changed.next() == constant.next()));
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<Jitter>().unwrap_err().problem;
        assert_eq!(problem("5ms"), "unknown jitter \"5ms\"");
        assert_eq!(problem("uniform 5ms"), "no \"=\" in \"5ms\"");
        assert_eq!(problem("some max=5ms"), "unknown jitter \"some\"");
        assert_eq!(problem("uniform mean=5ms"), "no \"max\" in \"uniform mean=5ms\"");
        assert_eq!(problem("uniform max=5ms mean=2ms"), "unknown term \"mean\"");
        assert_eq!(problem("uniform max=0ms"), "max: jitter of no time");
        assert_eq!(problem("exponential mean=2"), "mean: \"2\" has no unit");
    }

    proptest! {
        #[test]
        fn jitter_reads_back_exactly(nanos in 1_u64..) {
            let span = Duration::from_nanos(nanos);
            for jitter in [Jitter::None, Jitter::Uniform(span), Jitter::Exponential(span)] {
                prop_assert_eq!(jitter.to_string().parse(), Ok(jitter));
            }
        }

        #[test]
        fn no_jitter_is_too_long(nanos in any::<u64>()) {
            let span = Duration::from_nanos(nanos);
            prop_assert!(process(Jitter::Uniform(span)).next() <= span);
            prop_assert!(process(Jitter::Exponential(span)).next() <= span.saturating_mul(CUT));
        }

        #[test]
        fn any_text_gives_an_answer(text in "(uniform|exponential)( (max|mean)=[0-9a-z]{0,20}){0,2}|.*") {
            let _ = text.parse::<Jitter>();
        }
    }
}
