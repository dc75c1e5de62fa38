//! A word and `name=value` terms, separated by blanks, which are taken one by one.

use super::Quantity;
use super::law::Moments;
use farhop_units::ParseError;

pub(super) const ACCEPTED: &str = "constant, uniform, exponential, pareto, lognormal, gamma, weibull, zipf or percentiles with their \
    parameters, e.g. \"pareto least=1kB shape=1.1\", or a mixture, e.g. \"80% constant value=250B | 20% constant value=1kB\"";
/// More than any description needs, and few enough to compare each with each.
pub(super) const MOST_TERMS: usize = 64;
/// Parameters beyond this are mistakes, and their powers would overflow.
const LARGEST: f64 = 1e18;
/// Exponents and shapes beyond these are mistakes.
const SHAPES: core::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// What is left of a description.
pub(super) struct Terms<'a> {
    pub(super) word: &'a str,
    terms: Vec<(&'a str, &'a str)>,
}

impl<'a> Terms<'a> {
    pub(super) fn split(text: &'a str) -> Result<Self, ParseError> {
        let mut parts = text.split_whitespace();
        let word = parts.next().unwrap_or_default();
        let term = |part: &'a str| {
            part.split_once('=').ok_or_else(|| ParseError::new(format!("no \"=\" in \"{part}\""), ACCEPTED))
        };
        let terms: Vec<_> = parts.take(MOST_TERMS + 1).map(term).collect::<Result<_, _>>()?;
        if terms.len() > MOST_TERMS {
            return Err(ParseError::new(format!("more than {MOST_TERMS} terms"), ACCEPTED));
        }
        Ok(Self { word, terms })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.terms.iter().any(|(known, _)| *known == name)
    }

    fn take(&mut self, name: &str) -> Result<&'a str, ParseError> {
        let missing = || ParseError::new(format!("no \"{name}\" for \"{}\"", self.word), ACCEPTED);
        let place = self.terms.iter().position(|(known, _)| *known == name).ok_or_else(missing)?;
        Ok(self.terms.remove(place).1)
    }

    /// A quantity in base units.
    pub(super) fn value<Q: Quantity>(&mut self, name: &str) -> Result<f64, ParseError> {
        let explain = |error: ParseError| ParseError::new(format!("{name}: {}", error.problem), error.accepted);
        let number = Q::read(self.take(name)?).map_err(explain)?.number();
        if number <= LARGEST {
            return Ok(number);
        }
        Err(ParseError::new(format!("{name}: {number} is too large"), format!("at most {LARGEST}")))
    }

    /// A quantity above zero in base units.
    pub(super) fn positive<Q: Quantity>(&mut self, name: &str) -> Result<f64, ParseError> {
        let value = self.value::<Q>(name)?;
        if value > 0.0 {
            return Ok(value);
        }
        Err(ParseError::new(format!("{name} is nothing"), "more than nothing"))
    }

    /// A number without a unit, of either sign.
    pub(super) fn number(&mut self, name: &str) -> Result<f64, ParseError> {
        let text = self.take(name)?;
        let number = text.parse().ok().filter(|number: &f64| number.abs() <= LARGEST);
        number.ok_or_else(|| ParseError::new(format!("{name}: \"{text}\" is no number"), "a number, e.g. 1.5"))
    }

    /// An exponent or shape.
    pub(super) fn shape(&mut self, name: &str) -> Result<f64, ParseError> {
        let shape = self.number(name)?;
        if SHAPES.contains(&shape) {
            return Ok(shape);
        }
        Err(ParseError::new(format!("{name}={shape}"), format!("{} to {}", SHAPES.start(), SHAPES.end())))
    }

    /// Mean and deviation, of which neither may be lost beside the other.
    pub(super) fn moments<Q: Quantity>(&mut self) -> Result<Moments, ParseError> {
        let (mean, deviation) = (self.positive::<Q>("mean")?, self.positive::<Q>("deviation")?);
        let ratio = deviation / mean;
        if (0.001..=1000.0).contains(&ratio) {
            return Ok(Moments { mean, deviation });
        }
        Err(ParseError::new(format!("a deviation of {ratio} means"), "0.001 to 1000 means"))
    }

    /// All terms as percentages and quantities.
    pub(super) fn percentiles<Q: Quantity>(&mut self) -> Result<Vec<(f64, f64)>, ParseError> {
        let mut points = Vec::new();
        while let Some((name, _)) = self.terms.first().copied() {
            points.push((percent(name)?, self.positive::<Q>(name)?));
        }
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
        match self.terms.first() {
            None => Ok(()),
            Some((name, _)) => Err(ParseError::new(format!("\"{name}\" is no term of \"{}\"", self.word), ACCEPTED)),
        }
    }
}

/// A percentage as a number up to 100.
pub(super) fn percent(text: &str) -> Result<f64, ParseError> {
    let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let number = number.filter(|number: &f64| (0.0..=100.0).contains(number));
    number.ok_or_else(|| ParseError::new(format!("\"{text}\" is no percentage"), "0% to 100%"))
}
