//! Names, hosts and media types of recorded objects, in the characters that lists of pages have.

use crate::har::Entry;
use crate::page::{Language, is_data, is_host, is_media_type, is_name};
use smol_str::SmolStr;
use std::borrow::Cow;
use std::collections::BTreeMap;
use url::{Position, Url};

/// Longer names help nobody.
const LONGEST: usize = 80;

/// Gives every object a name of its own, and every host its number.
pub(super) struct Naming<'a> {
    pub(super) hosts: Vec<SmolStr>,
    numbers: BTreeMap<String, usize>,
    /// How often a name was wanted so far.
    wanted: BTreeMap<String, usize>,
    /// The scheme whose port goes without saying.
    scheme: &'a str,
}

impl<'a> Naming<'a> {
    pub(super) fn new(scheme: &'a str) -> Self {
        Self { hosts: Vec::new(), numbers: BTreeMap::new(), wanted: BTreeMap::new(), scheme }
    }

    /// The number of a URL's host, which is another one at another port.
    pub(super) fn host(&mut self, url: &Url) -> usize {
        let name = url.host_str().unwrap_or_default();
        let text = match url.port_or_known_default().filter(|_| url.port().is_some() || url.scheme() != self.scheme) {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        };
        let next = self.numbers.len();
        *self.numbers.entry(text).or_insert_with_key(|text| {
            // Addresses of IPv6 have characters that lists do not.
            self.hosts.push(if is_host(text) { text.into() } else { format!("host-{next}.invalid").into() });
            next
        })
    }

    /// A name made of path and query, which nothing else has.
    pub(super) fn name(&mut self, url: &Url) -> String {
        let mut name = readable(&url[Position::BeforePath..Position::AfterQuery]);
        loop {
            let count = self.wanted.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 {
                return name;
            }
            // The numbered name may be somebody's own.
            name = format!("{name}-{count}");
        }
    }
}

/// Path and query in harmless characters: others become hyphens, empty and relative segments vanish.
fn readable(target: &str) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let segments = target.split(['/', '?']).filter(|part| !matches!(*part, "" | "." | ".."));
    let whole: Vec<String> = segments.map(|part| part.chars().map(harmless).collect()).collect();
    let mut name: String = whole.join("/").chars().take(LONGEST).collect();
    name.truncate(name.trim_end_matches('/').len());
    if is_name(&name) { name } else { "index.html".to_owned() }
}

/// The media type without parameters. What browsers read as HTML, CSS or JavaScript is that, whatever servers call it, and what they show or
/// play is neither hypertext nor data. A redirection's content is a short hypertext note (RFC 9110 §15.4); that of a part of a page counts
/// as a script, which names something, too: boxes ask for it as for any part, and do not follow it.
pub(super) fn media_type(entry: &Entry) -> Cow<'_, str> {
    let essence = entry.content_type().split(';').next().unwrap_or_default().trim();
    let wanted = entry.wanted_for();
    let is_shown = matches!(wanted, Some("image" | "imageset" | "font" | "media" | "audio" | "video" | "track"));
    let is_embedded = is_shown || matches!(wanted, Some("stylesheet" | "style" | "script"));
    let read_as = match wanted {
        _ if entry.redirects_to().is_some() => Some(if is_embedded { "text/javascript" } else { "text/html" }),
        Some("document" | "iframe" | "frame") => Some("text/html"),
        Some("stylesheet" | "style") => Some("text/css"),
        Some("script") => Some("text/javascript"),
        _ => None,
    };
    match read_as {
        Some(language) if is_embedded && Language::of(essence) != Language::of(language) => Cow::Borrowed(language),
        Some(language) if Language::of(essence).is_none() => Cow::Borrowed(language),
        None if is_shown && (Language::of(essence).is_some() || is_data(essence)) => {
            Cow::Borrowed("application/octet-stream")
        }
        _ if is_media_type(essence) => Cow::Borrowed(essence),
        _ => Cow::Borrowed("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn names_are_paths_and_queries_of_their_own() {
        let mut naming = Naming::new("https");
        let mut name = |text: &str| naming.name(&url(text));
        assert_eq!(name("https://a.test/"), "index.html");
        assert_eq!(name("https://a.test/x/y.js?v=1&w=%20"), "x/y.js/v-1-w--20");
        assert_eq!(name("https://a.test/i.png"), "i.png");
        assert_eq!(name("https://b.test/i.png"), "i.png-2");
        assert_eq!(name("https://b.test/i.png-2"), "i.png-2-2");
        assert_eq!(name("https://b.test/"), "index.html-2");
    }

    #[test]
    fn hosts_are_told_apart_by_their_ports() {
        let mut naming = Naming::new("https");
        let mut host = |text: &str| naming.host(&url(text));
        let found =
            ["https://a.test/", "http://a.test/", "https://a.test:8443/x", "https://[::1]/", "https://a.test/y"]
                .map(&mut host);
        assert_eq!(found, [0, 1, 2, 3, 0]);
        assert_eq!(["https://[::1]/z", "https://[::2]/"].map(&mut host), [3, 4], "an address is one host");
        assert_eq!(naming.hosts, ["a.test", "a.test:80", "a.test:8443", "host-3.invalid", "host-4.invalid"]);
    }

    proptest! {
        #[test]
        fn any_path_becomes_a_name_of_its_own(paths in proptest::collection::vec("[a-b./?é%-]{0,100}", 1..20)) {
            let mut naming = Naming::new("https");
            let mut seen = std::collections::BTreeSet::new();
            for path in paths {
                let name = naming.name(&url(&format!("https://a.test/{path}")));
                prop_assert!(is_name(&name), "{name}");
                prop_assert!(seen.insert(name));
            }
        }
    }
}
