//! What media types say: in what a body can name others, and how urgent it is.

/// In what a body can name other objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A document.
    Html,
    /// A style sheet.
    Css,
    /// A script.
    Script,
}

impl Language {
    /// The language of a media type, whatever its parameters; `None` if bodies of that type name nothing.
    pub fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| essence.eq_ignore_ascii_case(known);
        let ends = |suffix: &str| {
            let start = essence.len().checked_sub(suffix.len());
            start.and_then(|start| essence.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
        };
        if is("text/html") || is("application/xhtml+xml") {
            Some(Self::Html)
        } else if is("text/css") {
            Some(Self::Css)
        } else if ends("javascript") || ends("ecmascript") {
            Some(Self::Script)
        } else {
            None
        }
    }
}

/// How urgent an object is to a browser; the more urgent is the less. Browsers tell servers by RFC 9218's urgencies, in Chrome
/// 0 for documents and style sheets, 1 for fonts and scripts, 3 for images; these are the three that pages are painted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// What names everything else.
    Document,
    /// Style sheets, scripts and fonts: without them nothing is painted.
    Blocking,
    /// Images and all else.
    Other,
}

impl Priority {
    /// RFC 9218 §4.1, as Chrome has it.
    pub const fn urgency(self) -> u8 {
        match self {
            Self::Document => 0,
            Self::Blocking => 1,
            Self::Other => 3,
        }
    }

    /// Whether parts are of use before the whole is there (RFC 9218 §4.2), so that what is equally urgent takes turns: not where the
    /// whole is parsed or run at once.
    pub const fn is_incremental(self) -> bool {
        !matches!(self, Self::Blocking)
    }

    /// The priority of a media type.
    pub fn of(media_type: &str) -> Self {
        match Language::of(media_type) {
            Some(Language::Html) => Self::Document,
            Some(Language::Css | Language::Script) => Self::Blocking,
            None if is_font(media_type) => Self::Blocking,
            None => Self::Other,
        }
    }
}

/// RFC 8081, and what fonts were called before: `application/x-font-woff`, `application/vnd.ms-fontobject`.
pub fn is_font(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().to_ascii_lowercase();
    essence.contains("font")
}

/// Whether a document's markup has no use for it, so that scripts ask for it: JSON, XML and plain text, but not a manifest, pictures and
/// subtitles.
pub(crate) fn is_data(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_of = |format: &str| {
        essence.strip_suffix(format).is_some_and(|before| before.ends_with('/') || before.ends_with('+'))
    };
    let is_linked = matches!(essence.as_str(), "application/manifest+json" | "image/svg+xml" | "application/xhtml+xml");
    (is_of("json") || is_of("xml") || matches!(essence.as_str(), "text/plain" | "text/event-stream")) && !is_linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_sheets_and_scripts_name_others() {
        for (media_type, language) in [
            ("text/html; charset=utf-8", Some(Language::Html)),
            ("Application/XHTML+XML", Some(Language::Html)),
            ("text/css", Some(Language::Css)),
            ("application/x-javascript", Some(Language::Script)),
            ("text/ecmascript", Some(Language::Script)),
            ("image/svg+xml", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(Language::of(media_type), language, "{media_type}");
        }
    }

    #[test]
    fn scripts_ask_for_data() {
        for data in
            ["application/json; charset=utf-8", "application/ld+JSON", "text/xml", "text/plain", "text/event-stream"]
        {
            assert!(is_data(data), "{data}");
        }
        let embedded =
            ["image/svg+xml", "application/manifest+json", "application/octet-stream", "text/vtt", "image/x-json", ""];
        for embedded in embedded {
            assert!(!is_data(embedded), "{embedded}");
        }
    }

    #[test]
    fn what_is_painted_with_goes_before_what_is_painted() {
        let order = ["text/html", "font/woff2", "image/png"].map(Priority::of);
        assert_eq!(order, [Priority::Document, Priority::Blocking, Priority::Other]);
        assert!(order.is_sorted());
        assert_eq!(Priority::of("application/x-font-woff"), Priority::Blocking);
    }
}
