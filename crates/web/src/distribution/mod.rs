//! Distributions of sizes, times and counts: what users and servers are described by.
//!
//! Each is written in one line, the family first, then its parameters with units: `pareto least=1kB shape=1.1`,
//! `lognormal mean=10710B deviation=25032B from=100B to=2MB`, `82% constant value=250B | 18% constant value=1kB`. What is printed
//! reads back exactly. Families and their parameters:
//!
//! | family | parameters |
//! |---|---|
//! | `constant` | `value` |
//! | `uniform` | `least`, `most` |
//! | `exponential` | `mean` |
//! | `pareto` | `least` (k), `shape` (α): P(X > x) = (k/x)^α |
//! | `lognormal` | `mean`, `deviation`; or `mu`, `sigma` of the natural logarithm of bytes or seconds |
//! | `gamma` | `mean`, `deviation` |
//! | `weibull` | `mean`, `deviation`; or `scale` (b), `shape` (a): P(X > x) = e^(−(x/b)^a) |
//! | `zipf` | `count`, `exponent`: ranks from 1, probability ∝ rank^−exponent |
//! | `percentiles` | `0%=…`, …, `100%=…`; between two the logarithm is uniform |
//!
//! `from` and `to` condition on the value lying between them (as if drawn anew until it does), `cap` replaces larger values by itself;
//! both for exponential, Pareto, lognormal, gamma and Weibull. Parts joined by ` | `, each behind its percentage, are a mixture.
//!
//! Every draw takes exactly one number of a stream. Left out: dependence between draws, and distributions with values below zero.
//!
//! ```
//! use farhop_units::{Bytes, random::{Dice, Stream}};
//! use farhop_web::distribution::Distribution;
//! let sizes: Distribution<Bytes> = "pareto least=1kB shape=1.1".parse()?;
//! assert_eq!(sizes.mean(), Some(Bytes::kb(11)));
//! assert_eq!(sizes.deviation(), None, "infinite");
//! let size = sizes.draw(&mut Dice::new(Stream::new(1, 0)));
//! assert!(size >= Bytes::kb(1));
//! # Ok::<(), farhop_units::ParseError>(())
//! ```

mod law;
mod quantity;
mod special;
mod terms;
mod text;

#[cfg(test)]
mod tests;

pub use quantity::Quantity;
pub(crate) use special::{normal_cdf, normal_quantile};

use core::marker::PhantomData;
use farhop_units::random::Dice;
use law::{Bounded, Bounds, Law};

/// How a quantity is distributed: bytes ([`Bytes`](farhop_units::Bytes)), time ([`Duration`](std::time::Duration)) or a count (`f64`).
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution<Q> {
    bounded: Bounded,
    quantity: PhantomData<fn() -> Q>,
}

impl<Q: Quantity> Distribution<Q> {
    /// Always `value`.
    pub fn constant(value: Q) -> Self {
        Self::of(Bounded { law: Law::Constant(value.number()), bounds: Bounds::None })
    }

    const fn of(bounded: Bounded) -> Self {
        Self { bounded, quantity: PhantomData }
    }

    /// Draws a value with the next of `dice`.
    pub fn draw(&self, dice: &mut Dice) -> Q {
        self.at(dice.uniform())
    }

    /// What a number from 0 to below 1 is drawn as: the quantile, except for mixtures, where it first chooses the part.
    pub fn at(&self, uniform: f64) -> Q {
        Q::from_number(self.bounded.at(uniform))
    }

    /// Probability of a value up to `value`, before rounding to whole bytes or nanoseconds.
    pub fn cdf(&self, value: Q) -> f64 {
        self.bounded.cdf(value.number())
    }

    /// The mean; `None` if it is infinite.
    pub fn mean(&self) -> Option<Q> {
        let mean = self.bounded.moment(1);
        mean.is_finite().then(|| Q::from_number(mean))
    }

    /// The standard deviation; `None` if it is infinite.
    pub fn deviation(&self) -> Option<Q> {
        let mean = self.bounded.moment(1);
        let variance = self.bounded.moment(2) - mean * mean;
        variance.is_finite().then(|| Q::from_number(variance.max(0.0).sqrt()))
    }
}
