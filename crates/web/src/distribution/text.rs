//! Distributions as text: one line, the family first, then its terms.

use super::law::{Bounded, Bounds, Law, Moments, is_weibull};
use super::special::PowerSum;
use super::terms::{ACCEPTED, FAMILIES, Terms, percent};
use super::{Distribution, Quantity};
use core::fmt;
use core::str::FromStr;
use farhop_units::ParseError;
use farhop_units::terms::MOST_TERMS;

const BETWEEN_PARTS: &str = "|";
/// Up to this many ranks, the formula for their sum can tell each from the next.
const MOST_RANKS: f64 = 1e6;

impl<Q: Quantity> FromStr for Distribution<Q> {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if !text.contains(BETWEEN_PARTS) {
            return bounded::<Q>(text).map(Self::of);
        }
        let parts: Vec<_> = text.split(BETWEEN_PARTS).take(MOST_TERMS + 1).map(part::<Q>).collect::<Result<_, _>>()?;
        let sum: f64 = parts.iter().map(|(percent, _)| percent).sum();
        if parts.len() > MOST_TERMS || (sum - 100.0).abs() > 1e-6 {
            let problem = format!("{} parts of {sum}% in all", parts.len());
            return Err(ParseError::new(problem, format!("at most {MOST_TERMS} parts that add up to 100%")));
        }
        Ok(Self::of(Bounded { law: Law::Mixture(parts), bounds: Bounds::None }))
    }
}

fn part<Q: Quantity>(text: &str) -> Result<(f64, Bounded), ParseError> {
    let (share, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let share = percent(share)?;
    if share <= 0.0 {
        return Err(ParseError::new(format!("a part of {share}%"), "more than 0%"));
    }
    Ok((share, bounded::<Q>(rest)?))
}

fn bounded<Q: Quantity>(text: &str) -> Result<Bounded, ParseError> {
    let mut terms = Terms::split(text)?;
    let law = law::<Q>(&mut terms)?;
    let bounds = bounds::<Q>(&law, &terms)?;
    terms.finish()?;
    Ok(Bounded { law, bounds })
}

fn law<Q: Quantity>(terms: &mut Terms<'_>) -> Result<Law, ParseError> {
    Ok(match terms.word() {
        "constant" => Law::Constant(terms.value::<Q>("value")?),
        "uniform" => {
            let (least, most) = (terms.value::<Q>("least")?, terms.value::<Q>("most")?);
            in_order("least", least, "most", most)?;
            Law::Uniform { least, most }
        }
        "exponential" => Law::Exponential { mean: terms.positive::<Q>("mean")? },
        "pareto" => Law::Pareto { least: terms.positive::<Q>("least")?, shape: terms.shape("shape")? },
        "lognormal" if terms.has("mean") => Law::lognormal(terms.moments::<Q>()?),
        "lognormal" => Law::Lognormal { mu: terms.number("mu")?, sigma: terms.shape("sigma")?, moments: None },
        "gamma" => Law::gamma(terms.moments::<Q>()?),
        "weibull" if terms.has("mean") => weibull(terms.moments::<Q>()?)?,
        "weibull" => Law::Weibull { scale: terms.positive::<Q>("scale")?, shape: terms.shape("shape")?, moments: None },
        "zipf" => zipf(terms.number("count")?, terms.shape("exponent")?)?,
        "percentiles" => Law::Percentiles(terms.percentiles::<Q>()?),
        other => return Err(ParseError::unknown("distribution", other, FAMILIES, ACCEPTED)),
    })
}

fn weibull(moments: Moments) -> Result<Law, ParseError> {
    if is_weibull(moments) {
        return Ok(Law::weibull(moments));
    }
    let problem = format!("a Weibull distribution whose deviation is {} means", moments.deviation / moments.mean);
    Err(ParseError::new(problem, "0.03 to 400 means"))
}

fn zipf(count: f64, exponent: f64) -> Result<Law, ParseError> {
    if count.fract() > 0.0 || !(1.0..=MOST_RANKS).contains(&count) {
        return Err(ParseError::new(format!("count={count}"), format!("a whole number from 1 to {MOST_RANKS}")));
    }
    Ok(Law::Zipf { count, exponent, sum: PowerSum::new(exponent) })
}

/// The bounds, if they leave anything to draw.
fn bounds<Q: Quantity>(law: &Law, terms: &Terms<'_>) -> Result<Bounds, ParseError> {
    /// A draw's uniform number has 53 bits; bounds that leave less than this would leave it too few.
    const LEAST_LEFT: f64 = 1e-6;
    if !law.takes_bounds() {
        return Ok(Bounds::None);
    }
    if terms.has("cap") {
        return Ok(Bounds::Capped(terms.positive::<Q>("cap")?));
    }
    if !terms.has("from") && !terms.has("to") {
        return Ok(Bounds::None);
    }
    let from = if terms.has("from") { terms.value::<Q>("from")? } else { 0.0 };
    let to = if terms.has("to") { terms.value::<Q>("to")? } else { f64::INFINITY };
    in_order("from", from, "to", to)?;
    if law.cdf(to) - law.cdf(from) < LEAST_LEFT {
        let problem = format!("less than one value in a million from {from} to {to}");
        return Err(ParseError::new(problem, "bounds around more of the distribution"));
    }
    Ok(Bounds::truncated(law, from, to))
}

fn in_order(lower: &str, least: f64, upper: &str, most: f64) -> Result<(), ParseError> {
    if least <= most {
        return Ok(());
    }
    Err(ParseError::new(format!("{lower} is above {upper}"), format!("{lower} up to {upper}")))
}

impl<Q: Quantity> fmt::Display for Distribution<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_bounded::<Q>(f, &self.bounded)
    }
}

fn write_bounded<Q: Quantity>(f: &mut fmt::Formatter<'_>, bounded: &Bounded) -> fmt::Result {
    write_law::<Q>(f, &bounded.law)?;
    let text = |number: f64| Q::from_number(number).write();
    match bounded.bounds {
        Bounds::None => Ok(()),
        Bounds::Capped(most) => write!(f, " cap={}", text(most)),
        Bounds::Truncated { from, to: f64::INFINITY, .. } => write!(f, " from={}", text(from)),
        Bounds::Truncated { from, to, .. } => write!(f, " from={} to={}", text(from), text(to)),
    }
}

fn write_law<Q: Quantity>(f: &mut fmt::Formatter<'_>, law: &Law) -> fmt::Result {
    let text = |number: f64| Q::from_number(number).write();
    let moments = |m: &Moments| format!("mean={} deviation={}", text(m.mean), text(m.deviation));
    match law {
        Law::Constant(value) => write!(f, "constant value={}", text(*value)),
        Law::Uniform { least, most } => write!(f, "uniform least={} most={}", text(*least), text(*most)),
        Law::Exponential { mean } => write!(f, "exponential mean={}", text(*mean)),
        Law::Pareto { least, shape } => write!(f, "pareto least={} shape={shape}", text(*least)),
        Law::Lognormal { moments: Some(m), .. } => write!(f, "lognormal {}", moments(m)),
        Law::Lognormal { mu, sigma, .. } => write!(f, "lognormal mu={mu} sigma={sigma}"),
        Law::Gamma { moments: m, .. } => write!(f, "gamma {}", moments(m)),
        Law::Weibull { moments: Some(m), .. } => write!(f, "weibull {}", moments(m)),
        Law::Weibull { shape, scale, .. } => write!(f, "weibull scale={} shape={shape}", text(*scale)),
        Law::Zipf { count, exponent, .. } => write!(f, "zipf count={count} exponent={exponent}"),
        Law::Percentiles(points) => {
            f.write_str("percentiles")?;
            points.iter().try_for_each(|(percent, value)| write!(f, " {percent}%={}", text(*value)))
        }
        Law::Mixture(parts) => parts.iter().enumerate().try_for_each(|(place, (percent, part))| {
            let between = if place == 0 { "" } else { " | " };
            write!(f, "{between}{percent}% ")?;
            write_bounded::<Q>(f, part)
        }),
    }
}
