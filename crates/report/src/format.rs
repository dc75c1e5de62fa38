//! Numbers as people read them: three to four significant digits and a unit.

/// Seconds without the unit: 0.653, 6.041, 48.93, 187.8. What is no number is "?".
pub(crate) fn seconds(value: f64) -> String {
    digits(value, [3, 2, 1])
}

/// A ratio: 1.10, 9.24, 74.8, 312.
pub(crate) fn ratio(value: f64) -> String {
    digits(value, [2, 1, 0])
}

/// `value` with so many decimals below 10, below 100, and above; with an exponent from a million on.
fn digits(value: f64, decimals: [usize; 3]) -> String {
    let [below_10, below_100, above] = decimals;
    match value.abs() {
        size if !size.is_finite() => "?".to_owned(),
        size if size < 10.0 => format!("{value:.below_10$}"),
        size if size < 100.0 => format!("{value:.below_100$}"),
        size if size < 1e6 => format!("{value:.above$}"),
        _ => format!("{value:.2e}"),
    }
}

/// Seconds with the unit that suits them: 1.3 s, 28.4 ms, 12 µs.
pub(crate) fn short_time(value: f64) -> String {
    scaled(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")])
}

/// Bit/s: 93.4 Mbit/s.
pub(crate) fn bit_rate(value: f64) -> String {
    scaled(value, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
}

/// Bytes: 91.3 kB, 180 kB.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn bytes(count: u64) -> String {
    bytes_of(count as f64)
}

/// The same of a number that need not be whole.
pub(crate) fn bytes_of(count: f64) -> String {
    scaled(count, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// `value` in the first unit that it reaches, else in the last.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let reached = units.iter().find(|(scale, _)| value.abs() >= *scale).or(units.last());
    reached.map_or_else(String::new, |(scale, unit)| format!("{} {unit}", three_digits(value / scale)))
}

fn three_digits(value: f64) -> String {
    trimmed(ratio(value))
}

/// Whether a character only steers how text is shown: control characters, terminal escapes, changes of writing direction. Text
/// from outside is shown without them.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A number of a paper or a plot, up to five significant digits: 0.2943, 37.584, 4604.5, 123457. What is no number is "?".
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = [1e1, 1e2, 1e3, 1e4].into_iter().filter(|bound| size < *bound).count();
    match size {
        _ if !size.is_finite() => "?".to_owned(),
        _ if size >= 1e9 || (size > 0.0 && size < 1e-4) => format!("{value:.3e}"),
        _ => trimmed(format!("{value:.decimals$}")),
    }
}

/// A share: 41.3 %, 100 %.
pub(crate) fn share(share: f64) -> String {
    if share.is_finite() { format!("{} %", three_digits(share * 100.0)) } else { "?".to_owned() }
}

/// Seconds more or less: +0.653, −6.041.
pub(crate) fn more_seconds(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", seconds(value.abs()))
}

/// A difference as a share: +0.1 %, −12 %, 0 %.
pub(crate) fn difference(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent.abs() < 10.0);
    let text = trimmed(format!("{:.decimals$}", percent.abs()));
    match text.as_str() {
        "0" => "0 %".to_owned(),
        _ if !percent.is_finite() => "?".to_owned(),
        _ => format!("{}{text} %", if percent < 0.0 { '−' } else { '+' }),
    }
}

/// Without zeros at the end of decimals.
fn trimmed(text: String) -> String {
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// What there is, else "-".
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// "1 object", "2 objects".
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_to_four_digits() {
        assert_eq!([0.65329, 6.0412, 48.931, 187.846].map(seconds), ["0.653", "6.041", "48.93", "187.8"]);
        assert_eq!([0.000_284, 0.5, 12.0].map(short_time), ["284 µs", "500 ms", "12 s"]);
    }

    #[test]
    fn sizes_and_rates_take_the_largest_unit_they_reach() {
        assert_eq!([0, 999, 91_277, 1_849_285].map(bytes), ["0 B", "999 B", "91.3 kB", "1.85 MB"]);
        assert_eq!([93_400_000.0, 1e3, 0.0].map(bit_rate), ["93.4 Mbit/s", "1 kbit/s", "0 bit/s"]);
    }

    #[test]
    fn numbers_have_the_digits_that_tell_something() {
        let told = [0.29431, 1024.0, 4604.5, 37.584, 212.879, 123_456.7, 0.0, 10.0].map(number);
        assert_eq!(told, ["0.2943", "1024", "4604.5", "37.584", "212.88", "123457", "0", "10"]);
        assert_eq!([2.5e-7, 1.849e12, f64::NAN].map(number), ["2.500e-7", "1.849e12", "?"]);
    }

    #[test]
    fn differences_have_a_sign_unless_there_is_none() {
        assert_eq!([-6.0412, 0.65329].map(more_seconds), ["−6.041", "+0.653"]);
        let told = [0.001, -0.0151, 0.17, -0.53, 0.0, 1e-6, f64::NAN].map(difference);
        assert_eq!(told, ["+0.1 %", "−1.5 %", "+17 %", "−53 %", "0 %", "0 %", "?"]);
    }

    #[test]
    fn what_is_no_number_is_not_shown_as_one() {
        assert_eq!([seconds(f64::NAN), bit_rate(f64::INFINITY), ratio(f64::NAN)], ["?", "?", "?"]);
        assert_eq!(seconds(1e300), "1.00e300");
    }
}
