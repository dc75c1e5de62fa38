//! A decimal number followed by a unit, read exactly: no binary floating point on the way from text to integer.

use thiserror::Error;

/// Why a text is not the quantity it should be. The message carries the text and what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}; accepted: {accepted}")]
pub struct ParseError {
    /// What is wrong, with the offending part quoted.
    pub problem: String,
    /// What would be accepted instead.
    pub accepted: String,
}

impl ParseError {
    /// The error that says `problem` and what is `accepted`.
    pub fn new(problem: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { problem: problem.into(), accepted: accepted.into() }
    }
}

/// A unit's spelling and how many base units it holds.
pub(crate) type Unit = (&'static str, u64);

/// Reads `text` as a non-negative decimal number and one of `units`, in base units, rounded to the nearest.
pub(crate) fn parse(text: &str, units: &[Unit], accepted: &str) -> Result<u64, ParseError> {
    let (number, unit) = split(text);
    let err = |problem: String| ParseError::new(problem, accepted);
    if number.is_empty() {
        return Err(err(format!("no number in \"{text}\"")));
    }
    if number.starts_with('-') {
        return Err(err(format!("\"{text}\" is negative")));
    }
    if unit.is_empty() {
        return Err(err(format!("\"{text}\" has no unit")));
    }
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale = scale.ok_or_else(|| err(format!("unknown unit \"{unit}\"")))?;
    scaled(number, scale).map_err(|problem| err(format!("{problem} in \"{text}\"")))
}

/// Splits `"12.5 ms"` into `("12.5", "ms")`.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_'))).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `number × scale`, rounded half up; exact for up to 18 digits after the point.
fn scaled(number: &str, scale: u64) -> Result<u64, &'static str> {
    const NOT_A_NUMBER: &str = "not a decimal number";
    const TOO_LARGE: &str = "a number too large";
    let digits: String = number.strip_prefix('+').unwrap_or(number).chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let all_digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return Err(NOT_A_NUMBER);
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| TOO_LARGE)? };
    let fraction = &fraction[..fraction.len().min(18)];
    let unit = 10_u128.pow(u32::try_from(fraction.len()).expect("at most 18 digits are kept"));
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| NOT_A_NUMBER)? };
    let product = whole.checked_mul(u128::from(scale)).ok_or(TOO_LARGE)?;
    let rest = (fraction * u128::from(scale) + unit / 2) / unit;
    product.checked_add(rest).and_then(|n| u64::try_from(n).ok()).ok_or(TOO_LARGE)
}

/// Prints `value` base units with the largest unit that gives a number of at least one, with no trailing zeros.
pub(crate) fn format(value: u64, units: &[Unit]) -> String {
    let (name, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    let (whole, mut rest) = (value / scale, value % scale);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        let mut digit = *scale;
        while rest > 0 {
            digit /= 10;
            text.push(char::from(b'0' + u8::try_from(rest / digit).expect("a decimal digit")));
            rest %= digit;
        }
    }
    format!("{text} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: &[Unit] = &[("x", 1), ("kx", 1000), ("Mx", 1_000_000)];

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse("900.7 kx", UNITS, ""), Ok(900_700));
        assert_eq!(parse("0.0005kx", UNITS, ""), Ok(1), "half a unit rounds up");
        assert_eq!(parse("1_000 x", UNITS, ""), Ok(1000));
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text| parse(text, UNITS, "a number of x").unwrap_err().problem;
        assert_eq!(problem("-3 x"), "\"-3 x\" is negative");
        assert_eq!(problem("3"), "\"3\" has no unit");
        assert_eq!(problem("3 y"), "unknown unit \"y\"");
        assert_eq!(problem("x"), "no number in \"x\"");
        assert_eq!(problem("1.2.3 x"), "not a decimal number in \"1.2.3 x\"");
        assert_eq!(problem("99999999999999999999 x"), "a number too large in \"99999999999999999999 x\"");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64) {
            prop_assert_eq!(parse(&format(value, UNITS), UNITS, ""), Ok(value));
        }

        #[test]
        fn any_text_gives_an_answer(text in ".*") {
            let _ = parse(&text, UNITS, "");
        }
    }
}
