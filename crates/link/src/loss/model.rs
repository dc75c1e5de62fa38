//! How packets are lost, as a scenario describes it.

use core::fmt;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{ParseError, Probability};

/// How packets are lost at the end of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost independently with this probability.
    Bernoulli(Probability),
    /// Each bit is wrong independently with this probability, and a packet with a wrong bit is lost.
    BitErrors(Probability),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
}

/// Losses in bursts: a Markov chain of two states, good and bad, stepped once per packet (Gilbert, "Capacity of a burst-noise
/// channel", 1960; Elliott, "Estimates of error rates for codes on burst-noise channels", 1963).
///
/// In the long run a share π = enter / (enter + leave) of the packets meets the bad state, and the share that is lost is
/// (1 − π)·good + π·bad. Bad periods last 1/leave packets on average. If nothing is lost in the good state, a run of
/// losses has 1 / (1 − bad·(1 − leave)) packets on average, which is 1/leave if everything is lost in the bad one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet of turning from good to bad.
    pub enter: Probability,
    /// Probability per packet of turning from bad to good; bad periods last 1/leave packets on average.
    pub leave: Probability,
    /// Loss in the good state.
    pub good: Probability,
    /// Loss in the bad state.
    pub bad: Probability,
}

const NONE: &str = "none";
const BURSTS: &str = "gilbert-elliott";
const BITS: &str = "bit-errors";
const ACCEPTED: &str = "a probability such as \"0.1 %\", none, bit-errors rate=1e-7, or gilbert-elliott enter=1% leave=30% with \
                        good=0% and bad=100%";

impl LossModel {
    /// Whether nothing is lost.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// A probability of zero is no loss.
impl FromStr for LossModel {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if !text.starts_with(char::is_alphabetic) {
            let probability: Probability =
                text.parse().map_err(|error: ParseError| ParseError::new(error.problem, ACCEPTED))?;
            return Ok(if probability.is_zero() { Self::None } else { Self::Bernoulli(probability) });
        }
        let terms = Terms::split(text, ACCEPTED)?;
        let required = |name| {
            let value = terms.get(name, str::parse::<Probability>)?;
            value.ok_or_else(|| ParseError::new(format!("no \"{name}\" in \"{text}\""), ACCEPTED))
        };
        let model = match terms.word {
            NONE => Self::None,
            BITS => Self::BitErrors(required("rate")?),
            BURSTS => Self::GilbertElliott(GilbertElliott {
                enter: required("enter")?,
                leave: required("leave")?,
                good: terms.get("good", str::parse)?.unwrap_or(Probability::ZERO),
                bad: terms.get("bad", str::parse)?.unwrap_or(Probability::ONE),
            }),
            other => return Err(ParseError::unknown("loss model", other, [NONE, BITS, BURSTS], ACCEPTED)),
        };
        terms.finish()?;
        Ok(model)
    }
}

/// Fractions, since a percentage may round.
impl fmt::Display for LossModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str(NONE),
            Self::Bernoulli(probability) => write!(f, "{}", probability.get()),
            Self::BitErrors(rate) => write!(f, "{BITS} rate={}", rate.get()),
            Self::GilbertElliott(GilbertElliott { enter, leave, good, bad }) => {
                let (enter, leave, good, bad) = (enter.get(), leave.get(), good.get(), bad.get());
                write!(f, "{BURSTS} enter={enter} leave={leave} good={good} bad={bad}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_read_back() {
        for text in ["none", "0.001", "bit-errors rate=0.0000001", "gilbert-elliott enter=0.01 leave=0.3 good=0 bad=1"]
        {
            assert_eq!(text.parse::<LossModel>().map(|model| model.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("0 %".parse(), Ok(LossModel::None));
        assert_eq!("0.1 %".parse::<LossModel>(), "0.001".parse());
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<LossModel>().unwrap_err().problem;
        assert_eq!(problem("101 %"), "\"101 %\" is outside 0 to 1");
        assert_eq!(problem("often"), "unknown loss model \"often\"");
        assert_eq!(problem("gilbert-elliott enter=1%"), "no \"leave\" in \"gilbert-elliott enter=1%\"");
        assert_eq!(problem("bit-errors rate=2"), "rate: \"2\" is outside 0 to 1");
        assert_eq!(problem("none rate=1"), "unknown term \"rate\"");
    }
}
