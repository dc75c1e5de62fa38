//! An axis of a plot: linear or logarithmic, from one round value to another.

use super::markup::percent;

/// Ticks on an axis, about.
const TICKS: f64 = 7.0;
/// Beyond these, differences and ratios of values are no numbers any more.
const LARGEST: f64 = 1e300;
const SMALLEST: f64 = 1e-300;
/// A logarithmic axis over more decades than this has no ticks within them.
const DECADES: i32 = 4;

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    Linear,
    Log,
}

/// Maps `start`…`end` to 0…1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    start: f64,
    end: f64,
    spread: Spread,
}

impl Span {
    /// Over all of `values` that can be shown, and on to round values; to zero, unless that wastes two thirds of the axis.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>, spread: Spread) -> Self {
        let is_shown = |value: &f64| match spread {
            Spread::Linear => value.abs() <= LARGEST,
            Spread::Log => (SMALLEST..=LARGEST).contains(value),
        };
        let shown = values.into_iter().filter(is_shown);
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = shown.fold(none, |(low, high), value| (low.min(value), high.max(value)));
        match spread {
            _ if low > high => Self { start: 0.0, end: 1.0, spread: Spread::Linear },
            Spread::Linear => Self::linear(low, high),
            Spread::Log => Self::log(low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        let (low, high) = if low >= 0.0 && low <= high * (2.0 / 3.0) { (0.0, high) } else { (low, high) };
        let (low, high) = if high - low > SMALLEST { (low, high) } else { (low.min(0.0), high.max(0.0)) };
        let high = if high - low > SMALLEST { high } else { low + 1.0 };
        let step = step(high - low);
        // Values that are round already must not be rounded on for their last bit.
        Self {
            start: (low / step + 1e-9).floor() * step,
            end: (high / step - 1e-9).ceil() * step,
            spread: Spread::Linear,
        }
    }

    fn log(low: f64, high: f64) -> Self {
        let start = powers(low).rfind(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(low);
        let end = powers(high).find(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(high);
        Self { start, end: if end > start { end } else { start * 10.0 }, spread: Spread::Log }
    }

    /// Where `value` lies, from 0 to 1; `None` if a logarithmic axis cannot show it or it is no number.
    pub(crate) fn share(self, value: f64) -> Option<f64> {
        let share = match self.spread {
            Spread::Linear => (value - self.start) / (self.end - self.start),
            Spread::Log if value <= 0.0 => f64::NAN,
            Spread::Log => libm::log10(value / self.start) / libm::log10(self.end / self.start),
        };
        // Adding zero makes a negative zero positive.
        share.is_finite().then(|| share.clamp(0.0, 1.0) + 0.0)
    }

    /// Where `value` lies, in percent.
    pub(crate) fn at(self, value: f64) -> String {
        percent(self.share(value).unwrap_or(0.0))
    }

    /// Round values from the start to the end, with their labels.
    pub(crate) fn ticks(self) -> Vec<(f64, String)> {
        match self.spread {
            Spread::Linear => self.linear_ticks(),
            Spread::Log => self.log_ticks(),
        }
    }

    fn linear_ticks(self) -> Vec<(f64, String)> {
        let step = step(self.end - self.start);
        let first = (self.start / step).round();
        let (decimals, largest) = (decimals(step), self.start.abs().max(self.end.abs()));
        (0_u8..=20)
            .map(|n| (first + f64::from(n)) * step)
            .take_while(|value| *value <= self.end + step * 1e-6)
            .map(|value| (value, label(value, decimals, largest)))
            .collect()
    }

    /// 1, 2 and 5 in each decade; over many decades their first values alone, or those of every second, third, … decade.
    #[expect(clippy::cast_possible_truncation, reason = "within the exponents of f64")]
    fn log_ticks(self) -> Vec<(f64, String)> {
        let (first, last) = (libm::log10(self.start).floor() as i32, libm::log10(self.end).ceil() as i32);
        let every = ((last - first) / 10).max(1);
        let factors = if last - first <= DECADES { &[1.0, 2.0, 5.0][..] } else { &[1.0] };
        let is_within = |tick: &f64| (self.start * (1.0 - 1e-9)..=self.end * (1.0 + 1e-9)).contains(tick);
        let decades = (first..=last).filter(|exponent| (exponent - first) % every == 0);
        let ticks = decades.flat_map(|exponent| factors.iter().map(move |factor| factor * power_of_ten(exponent)));
        ticks.filter(is_within).map(|tick| (tick, label(tick, decimals(tick), tick))).collect()
    }
}

fn power_of_ten(exponent: i32) -> f64 {
    libm::pow(10.0, f64::from(exponent))
}

/// 1, 2 and 5 times the powers of ten around `value`, ascending.
fn powers(value: f64) -> impl DoubleEndedIterator<Item = f64> {
    #[expect(clippy::cast_possible_truncation, reason = "within the exponents of f64")]
    let exponent = libm::log10(value).floor() as i32;
    (exponent - 1..=exponent + 1).flat_map(|exponent| [1.0, 2.0, 5.0].map(|factor| factor * power_of_ten(exponent)))
}

/// 1, 2 or 5 times a power of ten, so that about [`TICKS`] of them fill `length`.
fn step(length: f64) -> f64 {
    let raw = length / TICKS;
    powers(raw).find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
}

/// Digits after the point that tell ticks `step` apart, at most nine.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0…9")]
fn decimals(step: f64) -> usize {
    (-libm::log10(step) - 1e-9).ceil().clamp(0.0, 9.0) as usize
}

/// `value` with so many decimals; with an exponent if the axis reaches `largest` and that is a very large or small number.
fn label(value: f64, decimals: usize, largest: f64) -> String {
    if (1e-6..1e7).contains(&largest) { format!("{value:.decimals$}") } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: [f64; 2], spread: Spread) -> Vec<String> {
        Span::over(values, spread).ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_reach_beyond_the_values() {
        assert_eq!(labels([2.0, 192.0], Spread::Linear), ["0", "50", "100", "150", "200"]);
        assert_eq!(labels([0.26, 0.3], Spread::Linear), ["0.26", "0.27", "0.28", "0.29", "0.30"]);
        assert_eq!(labels([-3.0, 4.0], Spread::Linear), ["-3", "-2", "-1", "0", "1", "2", "3", "4"]);
    }

    #[test]
    fn logarithmic_ticks_are_one_two_five() {
        assert_eq!(labels([5.0, 500.0], Spread::Log), ["5", "10", "20", "50", "100", "200", "500"]);
        assert_eq!(labels([0.3, 0.4], Spread::Log), ["0.2", "0.5"]);
        assert_eq!(labels([1.0, 1e6], Spread::Log), ["1", "10", "100", "1000", "10000", "100000", "1000000"]);
    }

    #[test]
    fn equal_ratios_are_equally_long_on_a_logarithmic_axis() {
        let span = Span::over([1.0, 100.0], Spread::Log);
        let shares = [1.0, 10.0, 100.0].map(|value| span.share(value).unwrap());
        assert!(shares.iter().zip([0.0, 0.5, 1.0]).all(|(share, all)| (share - all).abs() < 1e-9), "{shares:?}");
        assert_eq!(span.share(0.0), None);
        assert_eq!(span.share(f64::NAN), None);
    }

    #[test]
    fn ticks_are_few_and_within_the_axis_for_any_magnitude() {
        for spread in [Spread::Linear, Spread::Log] {
            for exponent in -290..290 {
                for ratio in [1.0, 1.1, 7.3, 4e8] {
                    let low = 1.7 * power_of_ten(exponent);
                    let span = Span::over([low, low * ratio], spread);
                    let ticks = span.ticks();
                    assert!((2..=14).contains(&ticks.len()), "{spread:?} {low} {ratio}: {ticks:?}");
                    assert!(ticks.iter().all(|(tick, _)| span.share(*tick).is_some()), "{spread:?} {low} {ratio}");
                }
            }
        }
    }

    #[test]
    fn an_axis_without_values_still_has_a_length() {
        for values in [[f64::NAN, f64::INFINITY], [0.0, 0.0], [f64::MAX, f64::MIN]] {
            for spread in [Spread::Linear, Spread::Log] {
                let span = Span::over(values, spread);
                assert!(span.end > span.start, "{values:?} {spread:?}");
                assert!(span.ticks().len() > 1, "{values:?} {spread:?}");
            }
        }
    }
}
