//! Durations as people write them: `"258.6 ms"`, `"1 h"`.

use crate::number::{self, ParseError, Unit};
use std::time::Duration;

const ACCEPTED: &str = "a number and ns, us, ms, s, min or h, e.g. \"250 ms\"";
const PRINTED: &[Unit] = &[("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const UNITS: &[Unit] = &[
    ("ns", 1),
    ("us", 1000),
    ("µs", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration of at most 584 years.
///
/// # Errors
/// No number, a negative number, no unit or an unknown one.
pub fn parse(text: &str) -> Result<Duration, ParseError> {
    number::parse(text, UNITS, ACCEPTED).map(Duration::from_nanos)
}

/// Prints a duration so that [`parse`] reads the same one back.
pub fn format(span: Duration) -> String {
    match u64::try_from(span.as_nanos()) {
        Ok(0) => "0 ms".to_owned(),
        Ok(nanos) => number::format(nanos, PRINTED),
        Err(_) => format!("{} s", span.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print() {
        assert_eq!(parse("258.6 ms"), Ok(Duration::from_micros(258_600)));
        assert_eq!(parse("20 min"), Ok(Duration::from_secs(1200)));
        assert_eq!(format(Duration::from_micros(258_600)), "258.6 ms");
        assert_eq!(format(Duration::ZERO), "0 ms");
        assert_eq!(parse("-1 ms").map_err(|e| e.problem), Err("\"-1 ms\" is negative".to_owned()));
    }
}
