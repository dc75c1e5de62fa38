//! Probabilities from 0 to 1.

use crate::number::{self, ParseError};
use core::fmt;
use core::str::FromStr;

/// A probability, from 0 to 1 inclusive, never NaN.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

const ACCEPTED: &str = "a number from 0 to 1, or a percentage such as \"0.1 %\"";

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// `value` if it lies from 0 to 1.
    pub const fn new(value: f64) -> Option<Self> {
        if value >= 0.0 && value <= 1.0 { Some(Self(value)) } else { None }
    }

    /// The value from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Whether the event never happens.
    pub fn is_zero(self) -> bool {
        self.0 <= 0.0
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let err = |problem: String| ParseError::new(problem, ACCEPTED);
        // Small probabilities are written with an exponent, which the other quantities do not know.
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(percentage) => (percentage.trim_end(), 0.01),
            None => (text.trim(), 1.0),
        };
        let value: f64 = number.parse().map_err(|_| match number::split(number) {
            (digits, unit) if !digits.is_empty() && !unit.is_empty() => err(format!("unknown unit \"{unit}\"")),
            _ => err(format!("no number in \"{text}\"")),
        })?;
        Self::new(value * scale).ok_or_else(|| err(format!("\"{text}\" is outside 0 to 1")))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As it was written: a hundred times of it may end in digits that nobody wrote.
        let percentage = self.0 * 100.0;
        let rounded = (percentage * 1e9).round() / 1e9;
        let same = Self::new(rounded * 0.01) == Some(*self);
        f.pad(&format!("{} %", if same { rounded } else { percentage }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_fractions_agree() {
        assert_eq!("0.1 %".parse::<Probability>(), "0.001".parse());
        assert_eq!("25 %".parse::<Probability>().map(|p| p.to_string()), Ok("25 %".to_owned()));
    }

    #[test]
    fn outside_the_range_is_refused() {
        assert!("101 %".parse::<Probability>().is_err());
        assert!("-0.1".parse::<Probability>().is_err());
        assert!(Probability::new(f64::NAN).is_none());
        for text in ["nan", "inf", "-inf", "1e300"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
    }

    #[test]
    fn small_probabilities_may_have_an_exponent() {
        assert_eq!("1e-6".parse::<Probability>(), "0.000001".parse());
        assert_eq!("1e-4%".parse::<Probability>(), "0.0001 %".parse());
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<Probability>().unwrap_err().problem;
        assert_eq!(problem("5 kB"), "unknown unit \"kB\"");
        assert_eq!(problem("x"), "no number in \"x\"");
        assert_eq!(problem("%"), "no number in \"%\"");
        assert_eq!(problem("101 %"), "\"101 %\" is outside 0 to 1");
    }
}
