//! Grids of scenarios: `--over KEY=VALUES`, once for each key that varies.
//!
//! VALUES are separated by commas, each as `--set` takes it, or a range of a quantity:
//!
//! | typed | means |
//! |---|---|
//! | `tcp.congestion=reno,cubic` | each of them |
//! | `link.down.delay=10ms..800ms:50` | 50 values, evenly spaced, both ends among them |
//! | `link.down.rate=64kbit/s..100Mbit/s:40log` | 40 values, each the same factor above the one before |
//! | `http.connections=1..8` | every whole number |
//! | `link.down.loss=0,0.01%..5%:20log` | none, and 20 values |
//!
//! Between whole numbers lie whole numbers, and sizes, rates and times are whole bytes, bit/s and ns; equal neighbours are one
//! value. Several keys make a grid of all combinations, in which the last key varies fastest.

use crate::reader::ValueError;
use farhop_units::{Bytes, ParseError, Probability, Rate, counted, duration};
use std::time::Duration;

/// What a command takes at most: a day of points would be a mistake, not a question.
const MOST_POINTS: usize = 1_000_000;
const ACCEPTED: &str =
    "KEY=A,B,C or KEY=FROM..TO:COUNT, e.g. link.down.delay=10ms..800ms:50, or link.down.rate=1Mbit/s..1Gbit/s:30log";
const RANGE: &str =
    "FROM..TO:COUNT, e.g. 10ms..800ms:50, evenly spaced, or :50log by factors; whole numbers need no count";
const COUNT: &str = "a whole number from 2 to 1000000, e.g. :50, or :50log";

/// A key and the values it takes in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The key, as in `--set`.
    pub key: String,
    /// Its values, as in `--set`; at least one.
    pub values: Vec<String>,
}

impl Axis {
    /// Reads `KEY=VALUES`.
    ///
    /// # Errors
    /// No key, no value, or a range that is none, with what would be accepted.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let refuse = |key: &str, value: Option<&str>, error: ParseError| ValueError {
            file: "--over".to_owned(),
            line: None,
            key: key.to_owned(),
            value: value.map(|value| format!("{value:?}")),
            problem: error.problem,
            accepted: error.accepted,
        };
        let split = text.split_once('=').map(|(key, values)| (key.trim(), values.trim()));
        let Some((key, values)) = split.filter(|(key, _)| !key.is_empty()) else {
            return Err(refuse("", None, ParseError::new(format!("no \"=\" behind a key in \"{text}\""), ACCEPTED)));
        };
        if key.starts_with("run.") || ["version", "title"].contains(&key) {
            let accepted = "a key that times depend on: of link, access, multicast, wan, lan, tcp, page, http, rwbp, \
                            prefetch or multiplexed";
            return Err(refuse(key, Some(values), ParseError::new("not part of the question", accepted)));
        }
        let mut all: Vec<String> = Vec::new();
        for value in values.split(',').map(|value| value.trim().trim_matches('"')) {
            let more = several(value).map_err(|error| refuse(key, Some(value), error))?;
            all.extend(more);
            if all.len() > MOST_POINTS {
                return Err(refuse(key, Some(value), too_many(all.len())));
            }
        }
        Ok(Self { key: key.to_owned(), values: all })
    }
}

/// All combinations of the values of some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    axes: Vec<Axis>,
}

impl Over {
    /// Reads one `KEY=VALUES` for each key.
    ///
    /// # Errors
    /// As [`Axis::parse`]; a key twice, or more points than anybody wants.
    pub fn parse(texts: &[String]) -> Result<Self, ValueError> {
        let axes = texts.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let refuse = |key: &str, error: ParseError| ValueError {
            file: "--over".to_owned(),
            line: None,
            key: key.to_owned(),
            value: None,
            problem: error.problem,
            accepted: error.accepted,
        };
        for (index, axis) in axes.iter().enumerate() {
            if axes[..index].iter().any(|other| other.key == axis.key) {
                return Err(refuse(&axis.key, ParseError::new("given twice", "each key once, its values with commas")));
            }
        }
        let count = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.values.len()));
        if count > MOST_POINTS {
            let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
            return Err(refuse(&keys.join(", "), too_many(count)));
        }
        Ok(Self { axes })
    }

    /// The keys, the slowest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of combinations; one without any key.
    #[expect(clippy::len_without_is_empty, reason = "every axis has a value, so that there always is a point")]
    pub fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Key and value of each axis at combination `index`, counted from 0; the last key varies fastest.
    pub fn point(&self, index: usize) -> impl Iterator<Item = (&str, &str)> + Clone {
        let mut below = self.len();
        self.axes.iter().map(move |axis| {
            below /= axis.values.len();
            (axis.key.as_str(), axis.values[index / below % axis.values.len()].as_str())
        })
    }
}

fn too_many(count: usize) -> ParseError {
    ParseError::new(format!("{count} points"), format!("at most {MOST_POINTS}"))
}

/// One value, or those of a range.
fn several(text: &str) -> Result<Vec<String>, ParseError> {
    match text.split_once("..") {
        _ if text.is_empty() => Err(ParseError::new("no value", ACCEPTED)),
        None => Ok(vec![text.to_owned()]),
        Some((from, rest)) => Range::parse(from.trim(), rest.trim())?.values(),
    }
}

/// What ranges are made of, in whole base units where there are such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Nanoseconds,
    BitsPerSecond,
    Bytes,
    Percent,
    Whole,
    Number,
}

struct Range<'a> {
    quantity: Quantity,
    ends: [&'a str; 2],
    from: f64,
    to: f64,
    count: usize,
    by_factors: bool,
}

impl<'a> Range<'a> {
    fn parse(from: &'a str, rest: &'a str) -> Result<Self, ParseError> {
        let (to, count) = rest.split_once(':').map_or((rest, None), |(to, count)| (to.trim(), Some(count.trim())));
        let (first, last) = (Quantity::parse(from)?, Quantity::parse(to)?);
        let quantity = Quantity::of_both(first.0, last.0)
            .ok_or_else(|| ParseError::new(format!("\"{from}\" and \"{to}\" are of different kinds"), RANGE))?;
        let (from_value, to_value) = (first.1, last.1);
        let (count, by_factors) = match count {
            Some(text) => self::count(text)?,
            None if quantity == Quantity::Whole => (whole_count((to_value - from_value).abs() + 1.0)?, false),
            None => return Err(ParseError::new("a range without a count", RANGE)),
        };
        if by_factors && (from_value <= 0.0 || to_value <= 0.0) {
            return Err(ParseError::new("factors from or to nothing", "two ends above zero, or no \"log\""));
        }
        Ok(Self { quantity, ends: [from, to], from: from_value, to: to_value, count, by_factors })
    }

    fn values(&self) -> Result<Vec<String>, ParseError> {
        let mut values: Vec<String> = (0..self.count).map(|step| self.value(step)).collect();
        values.dedup();
        Ok(values)
    }

    /// The ends as they were typed, so that they are exact.
    #[expect(clippy::cast_precision_loss, reason = "at most a million steps")]
    fn value(&self, step: usize) -> String {
        if step == 0 || step + 1 == self.count {
            return self.ends[usize::from(step > 0)].to_owned();
        }
        let share = step as f64 / (self.count - 1) as f64;
        let value = match self.by_factors {
            true => self.from * libm::exp(share * libm::log(self.to / self.from)),
            false => self.from + share * (self.to - self.from),
        };
        self.quantity.text(value)
    }
}

/// `50`, or `50log`.
fn count(text: &str) -> Result<(usize, bool), ParseError> {
    let (digits, by_factors) = text.strip_suffix("log").map_or((text, false), |digits| (digits.trim_end(), true));
    let count = digits.parse::<u32>().map_err(|_| ParseError::new(format!("no count in \":{text}\""), COUNT))?;
    Ok((whole_count(f64::from(count))?, by_factors))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range")]
fn whole_count(count: f64) -> Result<usize, ParseError> {
    const MOST: f64 = MOST_POINTS as f64;
    if (2.0..=MOST).contains(&count) {
        Ok(count as usize)
    } else {
        Err(ParseError::new(counted(count, "value"), COUNT))
    }
}

impl Quantity {
    /// Which quantity a text is, and how much of it.
    #[expect(clippy::cast_precision_loss, reason = "ends are kept as typed, and between them 53 bits are enough")]
    fn parse(text: &str) -> Result<(Self, f64), ParseError> {
        if let Ok(whole) = text.parse::<u64>() {
            return Ok((Self::Whole, whole as f64));
        }
        if let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) {
            return Ok((Self::Number, number));
        }
        if let Some(percentage) = text.strip_suffix('%') {
            text.parse::<Probability>()?;
            let value = percentage.trim_end().parse().unwrap_or_default();
            return Ok((Self::Percent, value));
        }
        let unknown = |error: &ParseError| error.problem.starts_with("unknown unit");
        let time = duration::parse(text).map(|span| (Self::Nanoseconds, span.as_nanos() as f64));
        let rate = text.parse::<Rate>().map(|rate| (Self::BitsPerSecond, rate.as_f64()));
        let size = text.parse::<Bytes>().map(|size| (Self::Bytes, size.as_f64()));
        for read in [time, rate, size] {
            match read {
                Ok(quantity) => return Ok(quantity),
                Err(error) if !unknown(&error) && !error.problem.starts_with("no number") => return Err(error),
                Err(_) => {}
            }
        }
        Err(ParseError::new(format!("\"{text}\" is no quantity"), RANGE))
    }

    fn of_both(first: Self, last: Self) -> Option<Self> {
        match (first, last) {
            (first, last) if first == last => Some(first),
            (Self::Whole, Self::Number) | (Self::Number, Self::Whole) => Some(Self::Number),
            _ => None,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two ends that fit")]
    fn text(self, value: f64) -> String {
        let whole = value.round() as u64;
        match self {
            Self::Nanoseconds => duration::format(Duration::from_nanos(whole)),
            Self::BitsPerSecond => Rate::from_bits_per_second(whole).map_or_else(String::new, |rate| rate.to_string()),
            Self::Bytes => Bytes::new(whole).to_string(),
            Self::Percent => format!("{} %", short(value)),
            Self::Whole => whole.to_string(),
            Self::Number => short(value).to_string(),
        }
    }
}

/// To seven digits.
fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<String> {
        Axis::parse(text).unwrap().values
    }

    fn error(text: &str) -> String {
        Axis::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn ranges_are_even_or_by_factors_and_keep_their_ends() {
        assert_eq!(values("a=10ms..50ms:5"), ["10ms", "20 ms", "30 ms", "40 ms", "50ms"]);
        assert_eq!(values("a=1Mbit/s..1Gbit/s:4log"), ["1Mbit/s", "10 Mbit/s", "100 Mbit/s", "1Gbit/s"]);
        assert_eq!(values("a=1 s..10ms:3 log"), ["1 s", "100 ms", "10ms"]);
        assert_eq!(values("a=1..4"), ["1", "2", "3", "4"]);
        assert_eq!(values("a=1..3:9"), ["1", "2", "3"], "whole numbers stay whole, each once");
        assert_eq!(values("a=0.5..1.5:3"), ["0.5", "1", "1.5"]);
        assert_eq!(values("a=0%..1%:3"), ["0%", "0.5 %", "1%"]);
        assert_eq!(values("a=1kB..2kB:3"), ["1kB", "1.5 kB", "2kB"]);
    }

    #[test]
    fn lists_hold_words_values_and_ranges() {
        assert_eq!(values("tcp.congestion=reno, cubic"), ["reno", "cubic"]);
        assert_eq!(values("a=none,1ms..3ms:3"), ["none", "1ms", "2 ms", "3ms"]);
    }

    #[test]
    fn what_is_no_axis_says_what_is_accepted() {
        for (text, told) in [
            ("link.down.delay", "no \"=\""),
            ("=1", "no \"=\""),
            ("a=", "no value"),
            ("a=1,,2", "no value"),
            ("a=10ms..800ms", "without a count"),
            ("a=10ms..800ms:many", "no count"),
            ("a=10ms..800ms:1", ": 1 value\n"),
            ("a=10ms..800ms:9999999", "9999999 values"),
            ("a=10ms..1Mbit/s:5", "different kinds"),
            ("a=reno..cubic:2", "\"reno\" is no quantity"),
            ("a=0 Mbit/s..1 Mbit/s:3", "is zero"),
            ("a=0ms..5ms:3log", "factors from or to nothing"),
            ("a=-5ms..5ms:3", "negative"),
            ("a=1..99999999", "99999999 values"),
            ("run.seed=1..5", "not part of the question"),
            ("title=one,two", "not part of the question"),
        ] {
            let error = error(text);
            assert!(error.contains(told) && error.contains("accepted: "), "{text}: {error}");
        }
    }

    #[test]
    fn several_axes_are_a_grid_whose_last_key_varies_fastest() {
        let over = Over::parse(&["a=1,2".to_owned(), "b=x,y,z".to_owned()]).unwrap();
        assert_eq!(over.len(), 6);
        let points: Vec<String> =
            (0..6).map(|index| over.point(index).map(|(_, value)| value).collect::<String>()).collect();
        assert_eq!(points, ["1x", "1y", "1z", "2x", "2y", "2z"]);
    }

    #[test]
    fn a_key_twice_and_a_million_points_and_more_are_refused() {
        let error = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            Over::parse(&texts).unwrap_err().to_string()
        };
        assert!(error(&["a=1", "a=2"]).contains("given twice"));
        assert!(error(&["a=1..1001", "b=1..1000"]).contains("a, b: 1001000 points"));
    }

    proptest! {
        #[test]
        fn ranges_go_from_end_to_end(from in 1_u64..1 << 50, to in 1_u64..1 << 50, count in 2_usize..200, log: bool) {
            let text = format!("a={from}ns..{to}ns:{count}{}", if log { "log" } else { "" });
            let spans: Vec<Duration> = values(&text).iter().map(|text| duration::parse(text).unwrap()).collect();
            let nanos = Duration::from_nanos;
            prop_assert_eq!((spans[0], spans[spans.len() - 1]), (nanos(from), nanos(to)));
            prop_assert!(spans.is_sorted() || spans.is_sorted_by(|a, b| a >= b));
        }

        #[test]
        fn any_text_is_an_axis_or_an_error(text in ".{0,40}|[a-c]=[0-9.,:%ms kblogitMB/-]{0,30}") {
            if let Ok(axis) = Axis::parse(&text) {
                prop_assert!(!axis.values.is_empty() && axis.values.len() <= MOST_POINTS);
            }
        }
    }
}
