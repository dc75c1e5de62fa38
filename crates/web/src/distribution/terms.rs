//! What the terms of a distribution's text may be: quantities, numbers, shapes, moments, percentiles.

use super::Quantity;
use super::law::Moments;
use farhop_units::{ParseError, terms};

pub(super) const ACCEPTED: &str = "constant, uniform, exponential, pareto, lognormal, gamma, weibull, zipf or percentiles with their \
    parameters, e.g. \"pareto least=1kB shape=1.1\", or a mixture, e.g. \"80% constant value=250B | 20% constant value=1kB\"";
/// The families that are accepted.
pub(super) const FAMILIES: [&str; 9] =
    ["constant", "uniform", "exponential", "pareto", "lognormal", "gamma", "weibull", "zipf", "percentiles"];
/// Parameters beyond this are mistakes, and their powers would overflow.
const LARGEST: f64 = 1e18;
/// Exponents and shapes beyond these are mistakes.
const SHAPES: core::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// The terms of a description, as what distributions have for parameters.
pub(super) struct Terms<'a>(terms::Terms<'a>);

impl<'a> Terms<'a> {
    pub(super) fn split(text: &'a str) -> Result<Self, ParseError> {
        terms::Terms::split(text, ACCEPTED).map(Self)
    }

    pub(super) fn word(&self) -> &'a str {
        self.0.word
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    fn get<T>(&self, name: &'static str, parse: impl FnOnce(&str) -> Result<T, ParseError>) -> Result<T, ParseError> {
        let missing = || ParseError::new(format!("no \"{name}\" for \"{}\"", self.0.word), ACCEPTED);
        self.0.get(name, parse)?.ok_or_else(missing)
    }

    /// A quantity in base units.
    pub(super) fn value<Q: Quantity>(&self, name: &'static str) -> Result<f64, ParseError> {
        self.get(name, value::<Q>)
    }

    /// A quantity above zero in base units.
    pub(super) fn positive<Q: Quantity>(&self, name: &'static str) -> Result<f64, ParseError> {
        self.get(name, positive::<Q>)
    }

    /// A number without a unit, of either sign.
    pub(super) fn number(&self, name: &'static str) -> Result<f64, ParseError> {
        self.get(name, |text| {
            let number = text.parse().ok().filter(|number: &f64| number.abs() <= LARGEST);
            number.ok_or_else(|| ParseError::new(format!("\"{text}\" is no number"), "a number, e.g. 1.5"))
        })
    }

    /// An exponent or shape.
    pub(super) fn shape(&self, name: &'static str) -> Result<f64, ParseError> {
        let shape = self.number(name)?;
        if SHAPES.contains(&shape) {
            return Ok(shape);
        }
        Err(ParseError::new(format!("{name}={shape}"), format!("{} to {}", SHAPES.start(), SHAPES.end())))
    }

    /// Mean and deviation, of which neither may be lost beside the other.
    pub(super) fn moments<Q: Quantity>(&self) -> Result<Moments, ParseError> {
        let (mean, deviation) = (self.positive::<Q>("mean")?, self.positive::<Q>("deviation")?);
        let ratio = deviation / mean;
        if (0.001..=1000.0).contains(&ratio) {
            return Ok(Moments { mean, deviation });
        }
        Err(ParseError::new(format!("a deviation of {ratio} means"), "0.001 to 1000 means"))
    }

    /// All terms as percentages and quantities.
    pub(super) fn percentiles<Q: Quantity>(&mut self) -> Result<Vec<(f64, f64)>, ParseError> {
        let point = |(name, text): (&str, &str)| Ok((percent(name)?, positive::<Q>(text)?));
        let points: Vec<(f64, f64)> = self.0.all().into_iter().map(point).collect::<Result<_, ParseError>>()?;
        let rising = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let first = points.first().is_some_and(|(percent, _)| *percent <= 0.0);
        let last = points.last().is_some_and(|(percent, _)| *percent >= 100.0);
        if rising && first && last {
            return Ok(points);
        }
        let accepted = "rising percentages with rising values, from 0% to 100%";
        Err(ParseError::new("percentiles that do not rise from 0% to 100%", accepted))
    }

    /// Checks that nothing is left.
    pub(super) fn finish(&self) -> Result<(), ParseError> {
        self.0.finish()
    }
}

fn value<Q: Quantity>(text: &str) -> Result<f64, ParseError> {
    let number = Q::read(text)?.number();
    if number <= LARGEST {
        return Ok(number);
    }
    Err(ParseError::new(format!("{number} is too large"), format!("at most {LARGEST}")))
}

fn positive<Q: Quantity>(text: &str) -> Result<f64, ParseError> {
    let value = value::<Q>(text)?;
    if value > 0.0 { Ok(value) } else { Err(ParseError::new("nothing", "more than nothing")) }
}

/// A percentage as a number up to 100.
pub(super) fn percent(text: &str) -> Result<f64, ParseError> {
    let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let number = number.filter(|number: &f64| (0.0..=100.0).contains(number));
    number.ok_or_else(|| ParseError::new(format!("\"{text}\" is no percentage"), "0% to 100%"))
}
