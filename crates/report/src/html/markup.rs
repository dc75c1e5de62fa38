//! Text into HTML and numbers into SVG, so that neither can break the document.

use crate::format;
use farhop_results::Architecture;
use std::fmt::Write as _;

/// `text` with everything that HTML gives a meaning in text or a quoted attribute escaped, and what steers its display replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if format::steers(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text from outside whose writing direction must not leak into what stands beside it.
pub(crate) fn isolated(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// The class that gives an architecture its colour, the same in every chart.
pub(crate) fn class(architecture: Architecture) -> String {
    format!("a-{architecture}")
}

/// A coordinate or length in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.3}%", finite(share) * 100.0)
}

/// `value`, or 0 if it is no number.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Appends formatted text; a string takes everything.
pub(crate) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_shown_not_obeyed() {
        assert_eq!(escape("<img onerror='x' a=\"&\">"), "&lt;img onerror=&#39;x&#39; a=&quot;&amp;&quot;&gt;");
        assert_eq!(escape("a\0b\u{202e}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn coordinates_are_always_numbers() {
        assert_eq!([0.5, f64::NAN, f64::INFINITY].map(percent), ["50.000%", "0.000%", "0.000%"]);
    }
}
