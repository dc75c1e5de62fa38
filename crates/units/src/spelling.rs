//! Words in what people are told: which known name may have been meant, and things with their number.

use crate::ParseError;
use core::fmt;

/// How alike two names are whose difference may be a typing mistake; 1 is the same.
const ALIKE: f64 = 0.6;

/// What an error says behind a name that is none of the `known`: `; did you mean …?` with the nearest one, or nothing if none
/// is near enough to be a typing mistake.
pub fn suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let given = given.to_lowercase();
    let near = |name: &str| strsim::normalized_damerau_levenshtein(&given, &name.to_lowercase());
    let alike = known.into_iter().map(|name| (near(name), name)).filter(|(likeness, _)| *likeness >= ALIKE);
    let nearest = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}

impl ParseError {
    /// The error of a name that is none of the `known`: `what` it should be, the name as `given`, and what is `accepted`.
    pub fn unknown<'a>(
        what: &str,
        given: &str,
        known: impl IntoIterator<Item = &'a str>,
        accepted: impl Into<String>,
    ) -> Self {
        Self::new(format!("unknown {what} \"{given}\"{}", suggestion(given, known)), accepted)
    }
}

/// So many of what is called `one`: "1 packet", "2 packets".
pub fn counted(count: impl fmt::Display, one: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {one}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["drop-tail", "codel", "fq-codel"];

    #[test]
    fn the_nearest_name_is_suggested() {
        assert_eq!(suggestion("coddel", KNOWN), "; did you mean codel?");
        assert_eq!(suggestion("fqcodel", KNOWN), "; did you mean fq-codel?");
        assert_eq!(suggestion("DROP-TAIL", KNOWN), "; did you mean drop-tail?", "capitals are a typing mistake, too");
    }

    #[test]
    fn what_is_like_no_name_brings_no_suggestion() {
        assert_eq!(suggestion("red", KNOWN), "");
        assert_eq!(suggestion("", KNOWN), "");
        assert_eq!(suggestion("codel", []), "");
    }

    #[test]
    fn one_thing_is_told_in_the_singular() {
        assert_eq!([0_u8, 1, 2, 21].map(|count| counted(count, "line")), ["0 lines", "1 line", "2 lines", "21 lines"]);
    }

    #[test]
    fn an_unknown_name_is_quoted_with_what_it_should_be() {
        let error = ParseError::unknown("discipline", "codle", KNOWN, "one of them");
        assert_eq!(error.to_string(), "unknown discipline \"codle\"; did you mean codel?; accepted: one of them");
    }
}
