//! JSON whose fields may be missing, null or of the wrong type: then they are absent, not errors.

use farhop_units::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// A value that may not be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a>(Option<&'a Value>);

impl<'a> Field<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self(Some(value))
    }

    /// The member `name` of an object.
    pub(super) fn get(self, name: &str) -> Self {
        Self(self.0.and_then(|value| value.get(name)))
    }

    /// The items of an array; none if it is none.
    pub(super) fn items(self) -> impl Iterator<Item = Self> + use<'a> {
        self.0.and_then(Value::as_array).into_iter().flatten().map(Self::new)
    }

    /// A text, unless empty.
    pub(super) fn text(self) -> Option<&'a str> {
        self.0.and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// As [`Field::text`], for keeping.
    pub(super) fn owned(self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// A finite number that is not negative (-1 stands for "unknown"), also if it is written as a text.
    pub(super) fn number(self) -> Option<f64> {
        let number = match self.0? {
            Value::Number(number) => number.as_f64()?,
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// A whole number up to 2⁵³, beyond which JSON's numbers are not exact.
    pub(super) fn count(self) -> Option<u64> {
        const MOST: f64 = 9_007_199_254_740_992.0;
        // In range and not negative: the conversion only cuts the fraction off.
        self.number().filter(|&number| number <= MOST).map(|number| number as u64)
    }

    /// A size of at most `most` as a whole number of bytes; `None` where nobody knows it: missing, null, -1, an empty text.
    ///
    /// # Errors
    /// It is something else; says what, and what is accepted.
    pub(super) fn size(self, most: Bytes) -> Result<Option<Bytes>, String> {
        // Whole, in range and not negative: the conversion is exact.
        let size = |size: f64| {
            let can_be = size.fract() == 0.0 && (0.0..=most.as_f64()).contains(&size);
            can_be.then(|| Bytes::new(size as u64))
        };
        let accepted = || format!("is no size; accepted: 0 B to {most} in whole bytes, -1 for unknown");
        self.known(size).map_err(|found| format!("{found} {}", accepted()))
    }

    /// A time of at most `most` in milliseconds, to the microsecond; `None` where nobody knows it, as for [`Field::size`].
    ///
    /// # Errors
    /// As for [`Field::size`].
    pub(super) fn time(self, most: Duration) -> Result<Option<Duration>, String> {
        let time = |millis: f64| {
            let can_be = (0.0..=most.as_secs_f64() * 1e3).contains(&millis);
            can_be.then(|| micros(millis))
        };
        let accepted = || format!("is no time; accepted: 0 to {} ms, -1 for unknown", most.as_millis());
        self.known(time).map_err(|found| format!("{found} {}", accepted()))
    }

    /// What `read` makes of a number, also if it is written as a text; nothing where it is missing, null, -1 or an empty text.
    ///
    /// # Errors
    /// It is something else, or nothing can be made of it; says what it is.
    fn known<T>(self, read: impl FnOnce(f64) -> Option<T>) -> Result<Option<T>, String> {
        let (found, number) = match self.0 {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => (format!("{:?}", short(text)), text.trim().parse().ok()),
            Some(Value::Number(number)) => (number.to_string(), number.as_f64()),
            Some(Value::Bool(truth)) => (truth.to_string(), None),
            Some(Value::Array(_)) => ("an array".to_owned(), None),
            Some(Value::Object(_)) => ("an object".to_owned(), None),
        };
        match number {
            Some(-1.0) => Ok(None),
            number => number.and_then(read).map(Some).ok_or(found),
        }
    }

    /// Whether it is a number below zero.
    pub(super) fn is_negative(self) -> bool {
        self.0.and_then(Value::as_f64).is_some_and(|number| number < 0.0)
    }

    /// A time in milliseconds, to the microsecond.
    pub(super) fn millis(self) -> Option<Duration> {
        self.number().map(micros)
    }
}

/// So many milliseconds, to the microsecond. `as` saturates: half a million years are as wrong as anything above.
fn micros(millis: f64) -> Duration {
    const MICROS_PER_MILLI: f64 = 1e3;
    Duration::from_micros((millis * MICROS_PER_MILLI).round() as u64)
}

/// The beginning of a text that may be long.
pub(super) fn short(text: &str) -> &str {
    const LONGEST: usize = 80;
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

/// The file with U+FFFD for each escaped half of a surrogate pair that has no other half. Browsers write such halves (JavaScript's texts
/// may hold them), Unicode texts cannot have them (RFC 8259 §8.2). The replacement is as long, so that positions in errors stay right.
pub(super) fn without_lone_surrogates(file: &[u8]) -> Cow<'_, [u8]> {
    let mut file = Cow::Borrowed(file);
    let mut place = 0;
    while let Some(found) = file[place..].iter().position(|&byte| byte == b'\\') {
        place += found;
        place += match (unit(&file[place..]), unit(file.get(place + ESCAPE..).unwrap_or_default())) {
            (Some(HIGH_FIRST..=HIGH_LAST), Some(LOW_FIRST..=LOW_LAST)) => 2 * ESCAPE,
            (Some(HIGH_FIRST..=LOW_LAST), _) => {
                file.to_mut()[place..place + ESCAPE].copy_from_slice(REPLACEMENT);
                ESCAPE
            }
            // Another escape: the backslash and what it escapes, which may be a backslash.
            _ => 2,
        };
        place = place.min(file.len());
    }
    file
}

/// Length of `\u` and four digits.
const ESCAPE: usize = 6;
const REPLACEMENT: &[u8; ESCAPE] = b"\\ufffd";
const HIGH_FIRST: u16 = 0xD800;
const HIGH_LAST: u16 = 0xDBFF;
const LOW_FIRST: u16 = 0xDC00;
const LOW_LAST: u16 = 0xDFFF;

/// The UTF-16 unit whose escape `text` begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..ESCAPE)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repaired(text: &str) -> String {
        String::from_utf8(without_lone_surrogates(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn only_lone_halves_are_replaced() {
        assert_eq!(repaired(r#""\ud83d\ude00 \ud83d x \ude00""#), r#""\ud83d\ude00 \ufffd x \ufffd""#);
        assert_eq!(repaired(r#""\\ud83d""#), r#""\\ud83d""#, "an escaped backslash begins no escape");
        assert_eq!(repaired(r"\ud83d\u0041\"), r"\ufffd\u0041\");
        assert!(matches!(without_lone_surrogates(br#""\u00e4""#), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_not_a_number_is_absent() {
        let value: Value =
            serde_json::from_str(r#"{"a": -1, "b": "12", "c": null, "d": 1e300, "e": 1.0004, "f": {}}"#).unwrap();
        let field = |name| Field::new(&value).get(name);
        assert_eq!(field("a").count(), None);
        assert_eq!(field("b").count(), Some(12));
        assert_eq!(field("c").number(), None);
        assert_eq!(field("d").count(), None);
        assert_eq!(field("d").millis(), Some(Duration::from_micros(u64::MAX)));
        assert_eq!(field("e").millis(), Some(Duration::from_micros(1000)));
        assert_eq!(field("f").get("x").get("y").count(), None);
    }

    #[test]
    fn sizes_are_whole_numbers_or_unknown_and_everything_else_is_named() {
        let size = |json: &str| {
            let value: Value = serde_json::from_str(&format!("{{\"size\": {json}}}")).unwrap();
            Field::new(&value).get("size").size(Bytes::kb(2))
        };
        for (json, bytes) in [("0", 0), ("12", 12), ("12.0", 12), ("\" 12 \"", 12), ("2e3", 2000)] {
            assert_eq!(size(json), Ok(Some(Bytes::new(bytes))), "{json}");
        }
        for json in ["null", "-1", "-1.0", "\"-1\"", "\"\"", "\" \""] {
            assert_eq!(size(json), Ok(None), "{json}");
        }
        for json in ["2001", "1e+18", "1e+30", "12.7", "-5", "-0.5", "\"12.7\"", "\"NaN\"", "\"inf\"", "\"many\""] {
            let problem = format!("{json} is no size; accepted: 0 B to 2 kB in whole bytes, -1 for unknown");
            assert_eq!(size(json), Err(problem), "{json}");
        }
        assert!(size("[3]").unwrap_err().starts_with("an array is no size;"));
        assert!(size("{}").unwrap_err().starts_with("an object is no size;"));
        assert!(size("true").unwrap_err().starts_with("true is no size;"));
        let long = size(&format!("\"{}\"", "9".repeat(5000))).unwrap_err();
        assert!(long.len() < 200, "{long}");
    }

    proptest! {
        #[test]
        fn every_text_of_utf_16_units_can_be_read_afterwards(units: Vec<u16>) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{escaped}\"");
            let text: String = serde_json::from_slice(&without_lone_surrogates(json.as_bytes())).unwrap();
            prop_assert_eq!(text, String::from_utf16_lossy(&units));
        }

        #[test]
        fn any_bytes_keep_their_length(bytes in proptest::collection::vec(prop_oneof![Just(b'\\'), Just(b'u'), Just(b'd'), Just(b'8'), any::<u8>()], 0..60)) {
            prop_assert_eq!(without_lone_surrogates(&bytes).len(), bytes.len());
        }
    }
}
