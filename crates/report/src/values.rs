//! Values of a scenario key, as typed, as numbers for an axis.

use farhop_units::{Bytes, Probability, Rate, duration};

/// Values as numbers in one unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numbers {
    /// The unit; none for mere numbers.
    pub(crate) unit: Option<&'static str>,
    /// In the order of the values.
    pub(crate) values: Vec<f64>,
    /// Whether they are spread by equal ratios rather than by equal steps.
    pub(crate) is_geometric: bool,
}

/// Scales, the largest first, and their names.
type Units = &'static [(f64, Option<&'static str>)];
/// Reads a value of one kind in its basic unit.
type Reader = fn(&str) -> Option<f64>;

/// What values can be, each with the units it is shown in; delays are spoken of in ms up to several seconds.
const KINDS: [(Reader, Units); 5] = [
    (|text| text.trim().parse().ok().filter(|number: &f64| number.is_finite()), &[(1.0, None)]),
    (
        |text| duration::parse(text).ok().map(|time| time.as_secs_f64()),
        &[(10.0, Some("s")), (1e-3, Some("ms")), (1e-6, Some("µs"))],
    ),
    (
        |text| text.parse().ok().map(Rate::as_f64),
        &[(1e9, Some("Gbit/s")), (1e6, Some("Mbit/s")), (1e3, Some("kbit/s")), (1.0, Some("bit/s"))],
    ),
    (
        |text| text.parse().ok().map(|size: Bytes| size.as_f64()),
        &[(1e9, Some("GB")), (1e6, Some("MB")), (1e3, Some("kB")), (1.0, Some("B"))],
    ),
    (|text| text.parse().ok().map(Probability::get), &[(0.01, Some("%"))]),
];

/// The numbers that all of `values` are, if they are of one kind.
pub(crate) fn numbers(values: &[&str]) -> Option<Numbers> {
    let all = |reader: Reader| values.iter().map(|value| reader(value)).collect::<Option<Vec<f64>>>();
    let (numbers, units) = KINDS.into_iter().find_map(|(reader, units)| Some((all(reader)?, units)))?;
    let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    let (scale, unit) = *units.iter().find(|(scale, _)| largest >= *scale).or(units.last())?;
    // The first of the units of time stands for seconds, from ten of them on.
    let scale = if unit == Some("s") { 1.0 } else { scale };
    let is_geometric = is_geometric(&numbers);
    Some(Numbers { unit, is_geometric, values: numbers.into_iter().map(|number| number / scale).collect() })
}

/// Whether the middle value is nearer to the geometric mean of the ends than to the arithmetic one.
fn is_geometric(numbers: &[f64]) -> bool {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
    if numbers.len() < 3 || *first <= 0.0 || *last <= 0.0 {
        return false;
    }
    let middle = f64::midpoint(numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
    middle * middle < (first * last).sqrt() * f64::midpoint(*first, *last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_kind_are_numbers_in_one_unit() {
        let delays = numbers(&["10 ms", "0.4 s", "800ms"]).unwrap();
        assert_eq!((delays.unit, delays.values), (Some("ms"), vec![10.0, 400.0, 800.0]));
        assert_eq!(numbers(&["1 s", "20 s"]).unwrap().values, [1.0, 20.0]);
        let rates = numbers(&["500 kbit/s", "2 Mbit/s"]).unwrap();
        assert_eq!((rates.unit, rates.values), (Some("Mbit/s"), vec![0.5, 2.0]));
        assert_eq!(numbers(&["1", "6"]).unwrap().unit, None);
        assert_eq!(numbers(&["0.1 %", "2 %"]).unwrap().unit, Some("%"));
    }

    #[test]
    fn words_and_mixtures_are_no_numbers() {
        assert_eq!(numbers(&["cubic", "reno"]), None);
        assert_eq!(numbers(&["1 Mbit/s", "unlimited"]), None);
        assert_eq!(numbers(&["10 ms", "1 MB"]), None);
    }

    #[test]
    fn equal_ratios_are_told_from_equal_steps() {
        assert!(numbers(&["1", "10", "100"]).unwrap().is_geometric);
        assert!(!numbers(&["10", "405", "800"]).unwrap().is_geometric);
        assert!(!numbers(&["0", "1", "100"]).unwrap().is_geometric);
        assert!(!numbers(&["1", "100"]).unwrap().is_geometric);
    }
}
