//! The families of distributions as plain mathematics: distribution function, inverse, moments, each in closed form.
//!
//! All are drawn by inversion, which takes exactly one uniform number: draws stay aligned when a parameter changes, so that two
//! runs that differ in one parameter still see common random numbers. Numbers are in base units (bytes, seconds).

use super::special::{PowerSum, gamma_cdf, gamma_quantile, normal_cdf, normal_quantile, rising};
use libm::tgamma as gamma;

/// A family with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Law {
    /// Always the same value.
    Constant(f64),
    /// Every value between two with the same density.
    Uniform { least: f64, most: f64 },
    /// Density e^(−x/mean)/mean.
    Exponential { mean: f64 },
    /// Density α·k^α/x^(α+1) from k on, with k = `least` and α = `shape`.
    Pareto { least: f64, shape: f64 },
    /// The logarithm is normal with mean `mu` and standard deviation `sigma`.
    Lognormal { mu: f64, sigma: f64, moments: Option<Moments> },
    /// Density x^(a−1)·e^(−x/b)/(b^a·Γ(a)), with a = `shape` and b = `scale`.
    Gamma { shape: f64, scale: f64, moments: Moments },
    /// Distribution function 1 − e^(−(x/b)^a), with a = `shape` and b = `scale`.
    Weibull { shape: f64, scale: f64, moments: Option<Moments> },
    /// Whole numbers r from 1 to `count` with probability proportional to r^−exponent.
    Zipf { count: f64, exponent: f64, sum: PowerSum },
    /// Percentages and values, both rising; between two of them the logarithm of the value is uniform.
    Percentiles(Vec<(f64, f64)>),
    /// Percentages, which add up to 100, and what is drawn then; no part is a mixture itself.
    Mixture(Vec<(f64, Bounded)>),
}

/// Mean and standard deviation, where a distribution was described by them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

/// What happens to values beyond bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bounds {
    /// There are none.
    None,
    /// The distribution under the condition that the value lies within: drawn anew until it does. The probabilities below `from` and up
    /// to `to` are kept, since every draw needs them.
    Truncated { from: f64, to: f64, below: f64, upto: f64 },
    /// A value above becomes the bound itself.
    Capped(f64),
}

/// A family within bounds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bounded {
    pub(super) law: Law,
    pub(super) bounds: Bounds,
}

impl Law {
    /// The lognormal distribution with these moments.
    pub(super) fn lognormal(moments: Moments) -> Self {
        let ratio = moments.deviation / moments.mean;
        let variance = libm::log1p(ratio * ratio);
        let mu = libm::log(moments.mean) - variance / 2.0;
        Self::Lognormal { mu, sigma: variance.sqrt(), moments: Some(moments) }
    }

    /// The gamma distribution with these moments.
    pub(super) fn gamma(moments: Moments) -> Self {
        let ratio = moments.mean / moments.deviation;
        let scale = moments.deviation / ratio;
        Self::Gamma { shape: ratio * ratio, scale, moments }
    }

    /// The Weibull distribution with these moments; its shape is found by bisection, since no closed form gives it.
    pub(super) fn weibull(moments: Moments) -> Self {
        let wanted = moments.deviation / moments.mean;
        let (mut low, mut high) = WEIBULL_SHAPES;
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            // The ratio of deviation to mean falls with the shape.
            if weibull_ratio(middle) > wanted { low = middle } else { high = middle }
        }
        Self::Weibull { shape: low, scale: moments.mean / gamma(1.0 + 1.0 / low), moments: Some(moments) }
    }

    /// Probability of at most `x`.
    pub(super) fn cdf(&self, x: f64) -> f64 {
        match self {
            Self::Constant(value) => step(x, *value),
            Self::Uniform { least, most } if most > least => ((x - least) / (most - least)).clamp(0.0, 1.0),
            Self::Uniform { least, .. } => step(x, *least),
            Self::Exponential { mean } => -libm::expm1(-x.max(0.0) / mean),
            Self::Pareto { least, shape } => 1.0 - libm::pow(least / x.max(*least), *shape),
            Self::Lognormal { mu, sigma, .. } if x > 0.0 => normal_cdf((libm::log(x) - mu) / sigma),
            Self::Lognormal { .. } => 0.0,
            Self::Gamma { shape, scale, .. } => gamma_cdf(*shape, x / scale),
            Self::Weibull { shape, scale, .. } => -libm::expm1(-libm::pow(x.max(0.0) / scale, *shape)),
            Self::Zipf { count, sum, .. } => sum.up_to(x.clamp(0.0, *count)) / sum.up_to(*count),
            Self::Percentiles(points) => percentile_of(points, x) / 100.0,
            Self::Mixture(parts) => parts.iter().map(|(percent, part)| percent / 100.0 * part.cdf(x)).sum(),
        }
    }

    /// What the uniform number `u`, from 0 to below 1, becomes: the inverse of the distribution function, except for mixtures, where
    /// `u` first chooses the part and what is left of it the value.
    pub(super) fn at(&self, u: f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { least, most } => least + u * (most - least),
            Self::Exponential { mean } => -libm::log1p(-u) * mean,
            Self::Pareto { least, shape } => least * libm::pow(1.0 - u, -1.0 / shape),
            Self::Lognormal { mu, sigma, .. } => libm::exp(mu + sigma * normal_quantile(u)),
            Self::Gamma { shape, scale, .. } => scale * gamma_quantile(*shape, u),
            Self::Weibull { shape, scale, .. } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Self::Zipf { count, sum, .. } => rank(*sum, *count, u),
            Self::Percentiles(points) => value_at(points, u * 100.0),
            Self::Mixture(parts) => {
                let (part, rest) = choose(parts, u);
                part.at(rest)
            }
        }
    }

    /// Mean of the `order`-th power; infinite where the family has none.
    pub(super) fn moment(&self, order: u32) -> f64 {
        let n = f64::from(order);
        match self {
            Self::Constant(value) => libm::pow(*value, n),
            Self::Uniform { least, most } if most > least => {
                (libm::pow(*most, n + 1.0) - libm::pow(*least, n + 1.0)) / ((n + 1.0) * (most - least))
            }
            Self::Uniform { least, .. } => libm::pow(*least, n),
            Self::Zipf { count, exponent, sum } => PowerSum::new(exponent - n).up_to(*count) / sum.up_to(*count),
            Self::Percentiles(points) => points.windows(2).map(|pair| segment_moment(pair[0], pair[1], n)).sum(),
            Self::Mixture(parts) => parts.iter().map(|(percent, part)| percent / 100.0 * part.moment(order)).sum(),
            _ => self.partial_moment(order, 0.0, f64::INFINITY),
        }
    }

    /// The part of [`Law::moment`] that values between two bounds contribute: ∫ xⁿ·density dx. Only for families that
    /// [take bounds](Self::takes_bounds).
    fn partial_moment(&self, order: u32, from: f64, to: f64) -> f64 {
        let n = f64::from(order);
        match self {
            Self::Exponential { mean } => gamma_moment(1.0, *mean, order, from, to),
            Self::Gamma { shape, scale, .. } => gamma_moment(*shape, *scale, order, from, to),
            Self::Pareto { least, shape } => pareto_moment(*least, *shape, n, from.max(*least), to),
            Self::Lognormal { mu, sigma, .. } => {
                let raised = Self::Lognormal { mu: mu + n * sigma * sigma, sigma: *sigma, moments: None };
                libm::exp(n * mu + n * n * sigma * sigma / 2.0) * (raised.cdf(to) - raised.cdf(from))
            }
            Self::Weibull { shape, scale, .. } => {
                // The power `shape` of a Weibull number is exponential.
                let a = 1.0 + n / shape;
                let below = |x: f64| gamma_cdf(a, libm::pow(x / scale, *shape));
                libm::pow(*scale, n) * gamma(a) * (below(to) - below(from))
            }
            _ => f64::NAN,
        }
    }

    /// Whether bounds may be put on this family.
    pub(super) const fn takes_bounds(&self) -> bool {
        matches!(
            self,
            Self::Exponential { .. }
                | Self::Gamma { .. }
                | Self::Pareto { .. }
                | Self::Lognormal { .. }
                | Self::Weibull { .. }
        )
    }
}

impl Bounds {
    /// The values of `law` between two.
    pub(super) fn truncated(law: &Law, from: f64, to: f64) -> Self {
        Self::Truncated { from, to, below: law.cdf(from), upto: law.cdf(to) }
    }
}

impl Bounded {
    /// Probability of at most `x`.
    pub(super) fn cdf(&self, x: f64) -> f64 {
        match self.bounds {
            Bounds::None => self.law.cdf(x),
            Bounds::Truncated { from, to, below, upto } => (self.law.cdf(x.clamp(from, to)) - below) / (upto - below),
            Bounds::Capped(most) if x >= most => 1.0,
            Bounds::Capped(_) => self.law.cdf(x),
        }
    }

    /// What the uniform number `u` becomes.
    pub(super) fn at(&self, u: f64) -> f64 {
        match self.bounds {
            Bounds::None => self.law.at(u),
            Bounds::Truncated { from, to, below, upto } => self.law.at(below + u * (upto - below)).clamp(from, to),
            Bounds::Capped(most) => self.law.at(u).min(most),
        }
    }

    /// Mean of the `order`-th power; may be infinite.
    pub(super) fn moment(&self, order: u32) -> f64 {
        match self.bounds {
            Bounds::None => self.law.moment(order),
            Bounds::Truncated { from, to, below, upto } => self.law.partial_moment(order, from, to) / (upto - below),
            Bounds::Capped(most) => {
                let above = 1.0 - self.law.cdf(most);
                self.law.partial_moment(order, 0.0, most) + above * libm::pow(most, f64::from(order))
            }
        }
    }
}

/// 0 below `value`, 1 from it on.
fn step(x: f64, value: f64) -> f64 {
    if x >= value { 1.0 } else { 0.0 }
}

/// Shapes among which [`Law::weibull`] looks.
const WEIBULL_SHAPES: (f64, f64) = (0.1, 50.0);

/// Standard deviation over mean of a Weibull distribution.
fn weibull_ratio(shape: f64) -> f64 {
    let first = gamma(1.0 + 1.0 / shape);
    (gamma(1.0 + 2.0 / shape) / (first * first) - 1.0).max(0.0).sqrt()
}

/// Whether a Weibull distribution with these moments can be found.
pub(super) fn is_weibull(moments: Moments) -> bool {
    let ratio = moments.deviation / moments.mean;
    ratio < weibull_ratio(WEIBULL_SHAPES.0) && ratio > weibull_ratio(WEIBULL_SHAPES.1)
}

fn gamma_moment(shape: f64, scale: f64, order: u32, from: f64, to: f64) -> f64 {
    let raised = shape + f64::from(order);
    let within = gamma_cdf(raised, to / scale) - gamma_cdf(raised, from / scale);
    libm::pow(scale, f64::from(order)) * rising(shape, order) * within
}

/// ∫ α·k^α·x^(n−α−1) dx, which is a logarithm where n = α.
fn pareto_moment(least: f64, shape: f64, n: f64, from: f64, to: f64) -> f64 {
    let excess = n - shape;
    if to <= from {
        return 0.0;
    }
    if to == f64::INFINITY && excess >= 0.0 {
        return f64::INFINITY;
    }
    let scale = shape * libm::pow(least, shape);
    if excess.abs() < 1e-12 {
        return scale * libm::log(to / from);
    }
    let upper = if to == f64::INFINITY { 0.0 } else { libm::pow(to, excess) };
    scale * (upper - libm::pow(from, excess)) / excess
}

/// The smallest rank whose distribution function exceeds `u`.
fn rank(sum: PowerSum, count: f64, u: f64) -> f64 {
    /// More than the guess is ever off where the probability of a rank can be told from zero.
    const MOST_STEPS: u32 = 64;
    let wanted = u * sum.up_to(count);
    // No number becomes the first rank: `max` takes the other one.
    let mut rank = sum.near(wanted).round().max(1.0).min(count);
    for _ in 0..MOST_STEPS {
        if rank < count && sum.up_to(rank) <= wanted {
            rank += 1.0;
        } else if rank > 1.0 && sum.up_to(rank - 1.0) > wanted {
            rank -= 1.0;
        } else {
            break;
        }
    }
    rank
}

/// The value at `percent`.
fn value_at(points: &[(f64, f64)], percent: f64) -> f64 {
    let after = points.partition_point(|(at, _)| *at <= percent).clamp(1, points.len() - 1);
    let ((p0, v0), (p1, v1)) = (points[after - 1], points[after]);
    v0 * libm::exp(libm::log(v1 / v0) * ((percent - p0) / (p1 - p0)))
}

/// The percentage of values up to `x`.
fn percentile_of(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|(_, value)| *value <= x);
    if after == 0 {
        return 0.0;
    }
    let Some((p1, v1)) = points.get(after).copied() else { return 100.0 };
    let (p0, v0) = points[after - 1];
    p0 + (p1 - p0) * libm::log(x / v0) / libm::log(v1 / v0)
}

/// ∫ of the n-th power over one log-linear piece: its logarithmic mean.
fn segment_moment((p0, v0): (f64, f64), (p1, v1): (f64, f64), n: f64) -> f64 {
    let slope = n * libm::log(v1 / v0);
    let mean = if slope.abs() < 1e-9 { 1.0 } else { libm::expm1(slope) / slope };
    (p1 - p0) / 100.0 * libm::pow(v0, n) * mean
}

/// The part that `u` falls into, and how far into it.
fn choose(parts: &[(f64, Bounded)], u: f64) -> (&Bounded, f64) {
    let mut below = 0.0;
    for (percent, part) in parts {
        let rest = (u - below) / (percent / 100.0);
        if rest < 1.0 {
            return (part, rest.max(0.0));
        }
        below += percent / 100.0;
    }
    // Percentages add up to 100 within rounding, which `u` may just miss.
    let (_, last) = parts.last().expect("a mixture has parts");
    (last, BELOW_ONE)
}

/// The largest number that a stream's uniform numbers reach.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
