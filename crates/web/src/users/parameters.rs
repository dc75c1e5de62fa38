//! The parameters of a model by name, for its text form.

use core::fmt::Display;
use core::str::FromStr;
use farhop_units::ParseError;

/// A model whose parameters have names; its default is as published.
pub(super) trait Parameters: Default + Clone {
    /// The model's name.
    const NAME: &'static str;

    /// All parameters, in the order in which they are printed.
    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)>;
}

/// A parameter as text.
pub(super) trait Parameter {
    /// Takes the value that `text` says.
    fn set(&mut self, text: &str) -> Result<(), ParseError>;
    /// The value as [`Parameter::set`] reads it.
    fn text(&self) -> String;
}

impl<T: FromStr<Err = ParseError> + Display> Parameter for T {
    fn set(&mut self, text: &str) -> Result<(), ParseError> {
        *self = text.parse()?;
        Ok(())
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// Reads a published value.
///
/// # Panics
/// If it is none; a test reads all of them.
pub(super) fn published<T: FromStr<Err = ParseError>>(text: &str) -> T {
    text.parse().expect("published values are readable")
}
