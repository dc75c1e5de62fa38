//! A linear axis from zero with round ticks.

use super::markup::{finite, percent};

/// Ticks on an axis, at most.
const MAX_TICKS: f64 = 8.0;

/// Maps 0…`end` to 0…1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    end: f64,
}

impl Axis {
    /// An axis to the largest of `values`; to 1 if none of them is a positive number.
    pub(crate) fn to(values: impl IntoIterator<Item = f64>) -> Self {
        let end = values.into_iter().map(finite).fold(0.0, f64::max);
        // Below the smallest normal numbers a share would no longer be finite.
        Self { end: if end > 1e-300 { end } else { 1.0 } }
    }

    /// The same axis, extended to its next tick.
    pub(crate) fn rounded_up(self) -> Self {
        Self { end: (self.end / self.step()).ceil() * self.step() }
    }

    /// The value at its end.
    pub(crate) const fn end(self) -> f64 {
        self.end
    }

    /// Where `value` lies, from 0 to 1; values beyond the axis lie at its ends.
    pub(crate) fn share(self, value: f64) -> f64 {
        // Adding zero makes a negative zero positive.
        (finite(value) / self.end).clamp(0.0, 1.0) + 0.0
    }

    /// Where `value` lies, in percent.
    pub(crate) fn at(self, value: f64) -> String {
        percent(self.share(value))
    }

    /// Length from `start` to `end`, in percent; none if they are out of order.
    pub(crate) fn between(self, start: f64, end: f64) -> String {
        percent((self.share(end) - self.share(start)).max(0.0))
    }

    /// Round values from zero to the end, with their labels.
    pub(crate) fn ticks(self) -> Vec<(f64, String)> {
        let step = self.step();
        let decimals = decimals(step);
        (0_u8..)
            .map(|n| f64::from(n) * step)
            .take_while(|value| *value <= self.end * (1.0 + 1e-9))
            .map(|value| (value, if step < 1e6 { format!("{value:.decimals$}") } else { format!("{value:e}") }))
            .collect()
    }

    /// 1, 2 or 5 times a power of ten.
    fn step(self) -> f64 {
        let raw = self.end / MAX_TICKS;
        let power = libm::pow(10.0, libm::log10(raw).floor());
        let factors = [1.0, 2.0, 5.0];
        power * factors.into_iter().find(|factor| factor * power >= raw).unwrap_or(10.0)
    }
}

/// Digits after the point that tell ticks `step` apart, at most nine.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0…9")]
fn decimals(step: f64) -> usize {
    (-libm::log10(step) - 1e-9).ceil().clamp(0.0, 9.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(end: f64) -> Vec<String> {
        Axis::to([end]).ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(6.04), ["0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(labels(0.72), ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]);
        assert_eq!(labels(48.9), ["0", "10", "20", "30", "40"]);
    }

    #[test]
    fn an_axis_without_values_still_has_a_length() {
        for values in [vec![], vec![0.0], vec![f64::NAN, f64::INFINITY, -1.0], vec![f64::MIN_POSITIVE]] {
            let axis = Axis::to(values);
            assert!((axis.end() - 1.0).abs() < 1e-9);
            assert_eq!(axis.at(f64::NAN), "0.000%");
        }
    }

    #[test]
    fn what_ends_before_it_starts_has_no_length() {
        assert_eq!(Axis::to([4.0]).between(3.0, 1.0), "0.000%");
        assert_eq!(Axis::to([4.0]).between(1.0, 3.0), "50.000%");
    }

    #[test]
    fn ticks_are_few_for_any_magnitude() {
        for exponent in -290..300 {
            let ticks = Axis::to([7.3 * libm::pow(10.0, f64::from(exponent))]).ticks();
            assert!((2..=9).contains(&ticks.len()), "10^{exponent}: {}", ticks.len());
        }
    }
}
