//! What is distributed: its unit, and how it becomes a plain number and back.

use farhop_units::{Bytes, ParseError, duration};
use std::time::Duration;

/// A quantity that can be drawn.
pub trait Quantity: Copy + sealed::Sealed {
    /// The quantity nearest to `number` base units (bytes, seconds); nothing below zero.
    fn from_number(number: f64) -> Self;
    /// Base units.
    fn number(self) -> f64;
    /// Reads what [`Quantity::write`] wrote, and whatever scenario files accept.
    ///
    /// # Errors
    /// No such quantity.
    fn read(text: &str) -> Result<Self, ParseError>;
    /// The quantity as one word.
    fn write(self) -> String;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for farhop_units::Bytes {}
    impl Sealed for std::time::Duration {}
    impl Sealed for f64 {}
}

impl Quantity for Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    fn from_number(number: f64) -> Self {
        Self::new(number.round() as u64)
    }

    fn number(self) -> f64 {
        self.as_f64()
    }

    fn read(text: &str) -> Result<Self, ParseError> {
        text.parse()
    }

    fn write(self) -> String {
        self.to_string().replace(' ', "")
    }
}

impl Quantity for Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
    fn from_number(number: f64) -> Self {
        Self::from_nanos((number * 1e9).round() as u64)
    }

    fn number(self) -> f64 {
        self.as_secs_f64()
    }

    fn read(text: &str) -> Result<Self, ParseError> {
        duration::parse(text)
    }

    fn write(self) -> String {
        duration::format(self).replace(' ', "")
    }
}

/// A number without a unit.
impl Quantity for f64 {
    fn from_number(number: f64) -> Self {
        number
    }

    fn number(self) -> f64 {
        self
    }

    fn read(text: &str) -> Result<Self, ParseError> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| ParseError::new(format!("\"{text}\" is no number from zero on"), "a number, e.g. 1.5"))
    }

    fn write(self) -> String {
        self.to_string()
    }
}
