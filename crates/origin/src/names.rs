//! What filler names, and how: by tags in documents, by rules in style sheets, by calls in scripts.
//!
//! The elements are those through which browsers load a page's parts (WHATWG HTML §4.2, §4.8, §4.12), written so that HTML and XML read
//! them alike. What a script fetched, and media, of which a browser would give up on filler, are preloads: they are loaded as a whole.
//!
//! A browser loads what a style sheet names only where something is drawn with it, and later sheets override earlier ones. So each sheet
//! lists its images and the characters of its fonts in custom properties of its own (CSS Variables §2), and all sheets of a page hold the
//! same rule that draws whatever the sheets have listed so far, in a box that is not seen. Each font has a character of its own by its
//! `unicode-range` (CSS Fonts §4.5), from a private-use plane.
//!
//! Whatever a URL holds, it stays within its quotes. Left out: conditions (`media`, `srcset`), `async` and `defer`, lazy loading.

use farhop_web::Language;
use std::fmt::Write;

/// As what a browser loads something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Document,
    Stylesheet,
    Script,
    Image,
    Font,
    /// Whatever a script fetched, and media.
    Data,
}

/// Something that a body names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Absolute, http or https.
    pub(crate) url: String,
    pub(crate) role: Role,
    /// Whether its server allows other origins to read it.
    pub(crate) is_shared: bool,
    /// Of all that the page loads, so that a font has a character of its own.
    pub(crate) number: u32,
}

/// All that a body names, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) references: Vec<Reference>,
    /// Which of the page's style sheets that name something this one is, if it is one.
    pub(crate) sheet: usize,
    /// How many of those the page has.
    pub(crate) sheets: usize,
}

/// The pieces of text that name it all in `language`, to stand in this order between pieces of filler.
pub(crate) fn write(language: Language, names: &Names) -> Vec<String> {
    let references = names.references.iter();
    match language {
        Language::Html => references.map(tag).collect(),
        Language::Css => rules(names).into_iter().map(outside_comment).collect(),
        Language::Script => references.map(|reference| outside_comment(call(reference))).collect(),
    }
}

/// Filler of style sheets and scripts is a comment.
fn outside_comment(code: String) -> String {
    format!("*/{code}/*")
}

fn tag(Reference { url, role, is_shared, .. }: &Reference) -> String {
    let url = in_attribute(url);
    match role {
        Role::Document => format!(r#"<iframe src="{url}"></iframe>"#),
        Role::Stylesheet => format!(r#"<link rel="stylesheet" href="{url}"/>"#),
        Role::Script => format!(r#"<script src="{url}"></script>"#),
        Role::Image => format!(r#"<img src="{url}" alt=""/>"#),
        Role::Font => format!(r#"<link rel="preload" as="font" crossorigin="" href="{url}"/>"#),
        Role::Data if *is_shared => format!(r#"<link rel="preload" as="fetch" crossorigin="" href="{url}"/>"#),
        Role::Data => format!(r#"<link rel="preload" as="fetch" href="{url}"/>"#),
    }
}

/// A statement of a script.
fn call(Reference { url, role, is_shared, .. }: &Reference) -> String {
    let url = in_string(url);
    let element = |name: &str, members: &str| {
        format!(r#"document.documentElement.append(Object.assign(document.createElement("{name}"),{{{members}}}));"#)
    };
    match role {
        Role::Document => element("iframe", &format!("src:{url}")),
        Role::Stylesheet => element("link", &format!(r#"rel:"stylesheet",href:{url}"#)),
        Role::Script => element("script", &format!("src:{url}")),
        Role::Image => format!("new Image().src={url};"),
        Role::Font => element("link", &format!(r#"rel:"preload",as:"font",crossOrigin:"",href:{url}"#)),
        Role::Data => {
            let mode = if *is_shared { "cors" } else { "no-cors" };
            format!(r#"fetch({url},{{mode:"{mode}"}}).catch(()=>0);"#)
        }
    }
}

/// More style sheets than this share their custom properties, and the last of them wins. Each sheet's rule is as long as they are many:
/// design point: a recording of nothing but style sheets stays within some hundred megabytes.
const MOST_SHEETS: usize = 64;

/// Imports come first (CSS Cascade §2), fonts where they are listed, then the lists and the rule that draws them.
fn rules(names: &Names) -> Vec<String> {
    let of = |is_wanted: fn(Role) -> bool| names.references.iter().filter(move |named| is_wanted(named.role));
    let imports = of(|role| role == Role::Stylesheet).map(|import| format!("@import {};", in_style(&import.url)));
    let fonts = of(|role| role == Role::Font).map(face);
    let images = of(|role| !matches!(role, Role::Stylesheet | Role::Font));
    let images: Vec<_> = images.map(|image| format!("url({})", in_style(&image.url))).collect();
    let letters: String = of(|role| role == Role::Font).map(|font| format!("\\{:x} ", letter(font))).collect();
    let mut rules: Vec<_> = imports.chain(fonts).collect();
    let sheet = names.sheet % MOST_SHEETS;
    if !letters.is_empty() {
        rules.push(format!("html{{--letters{sheet}:\"{letters}\"}}"));
    }
    if !images.is_empty() {
        rules.push(format!("html{{--images{sheet}:{}}}", images.join(",")));
    }
    if !(letters.is_empty() && images.is_empty()) {
        rules.push(drawing(names.sheets.clamp(1, MOST_SHEETS)));
    }
    rules
}

/// The character that only this font has.
fn letter(font: &Reference) -> u32 {
    /// Two planes of private use, the second of which holds fewer characters by two.
    const FIRST: u32 = 0xF_0000;
    const COUNT: u32 = 0x1_FFFE;
    FIRST + font.number % COUNT
}

fn face(font: &Reference) -> String {
    format!("@font-face{{font-family:filler;src:url({});unicode-range:U+{:X}}}", in_style(&font.url), letter(font))
}

/// Draws what the style sheets that are there have listed.
fn drawing(sheets: usize) -> String {
    let (mut letters, mut images) = (String::new(), Vec::new());
    for sheet in 0..sheets {
        let _ = write!(letters, "var(--letters{sheet},\"\")");
        images.push(format!("var(--images{sheet},none)"));
    }
    let images = images.join(",");
    format!(
        "html::before{{content:{letters};background-image:{images};font-family:filler;position:absolute;visibility:hidden}}"
    )
}

/// Within double quotes of HTML or XML (WHATWG HTML §13.1.2.3).
fn in_attribute(url: &str) -> String {
    url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// As a string of CSS (CSS Syntax §4.3.7): whatever is not plain is escaped by its number.
fn in_style(url: &str) -> String {
    quoted(url, |text, character| write!(text, "\\{:x} ", u32::from(character)))
}

/// As a string of JavaScript (ECMA-262 §12.9.4).
fn in_string(url: &str) -> String {
    quoted(url, |text, character| write!(text, "\\u{{{:x}}}", u32::from(character)))
}

fn quoted(url: &str, escape: fn(&mut String, char) -> std::fmt::Result) -> String {
    const PLAIN: &[u8] = b"!#$%&()*+,-./:;=?@[]_|~";
    let mut text = String::from('"');
    for character in url.chars() {
        if character.is_ascii_alphanumeric() || u8::try_from(character).is_ok_and(|byte| PLAIN.contains(&byte)) {
            text.push(character);
        } else {
            let _ = escape(&mut text, character);
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(url: &str, role: Role) -> Reference {
        Reference { url: url.to_owned(), role, is_shared: false, number: 5 }
    }

    fn written(language: Language, references: Vec<Reference>) -> Vec<String> {
        write(language, &Names { references, sheet: 1, sheets: 2 })
    }

    #[test]
    fn documents_name_by_the_tags_that_load() {
        let tags = [
            (Role::Document, "<iframe src=\"http://a.test/x\"></iframe>"),
            (Role::Stylesheet, "<link rel=\"stylesheet\" href=\"http://a.test/x\"/>"),
            (Role::Script, "<script src=\"http://a.test/x\"></script>"),
            (Role::Image, "<img src=\"http://a.test/x\" alt=\"\"/>"),
            (Role::Font, "<link rel=\"preload\" as=\"font\" crossorigin=\"\" href=\"http://a.test/x\"/>"),
            (Role::Data, "<link rel=\"preload\" as=\"fetch\" href=\"http://a.test/x\"/>"),
        ];
        for (role, tag) in tags {
            assert_eq!(written(Language::Html, vec![named("http://a.test/x", role)]), [tag]);
        }
    }

    #[test]
    fn style_sheets_import_first_and_draw_what_all_sheets_of_the_page_list() {
        let references = vec![
            named("http://a.test/1", Role::Image),
            named("http://a.test/f", Role::Font),
            named("http://a.test/s", Role::Stylesheet),
            named("http://a.test/2", Role::Image),
        ];
        let expected = [
            "@import \"http://a.test/s\";",
            "@font-face{font-family:filler;src:url(\"http://a.test/f\");unicode-range:U+F0005}",
            "html{--letters1:\"\\f0005 \"}",
            "html{--images1:url(\"http://a.test/1\"),url(\"http://a.test/2\")}",
            "html::before{content:var(--letters0,\"\")var(--letters1,\"\");\
             background-image:var(--images0,none),var(--images1,none);\
             font-family:filler;position:absolute;visibility:hidden}",
        ];
        assert_eq!(written(Language::Css, references), expected.map(|rule| format!("*/{rule}/*")));
    }

    #[test]
    fn scripts_load_as_scripts_do() {
        let calls = written(
            Language::Script,
            vec![
                named("http://a.test/i", Role::Image),
                Reference { is_shared: true, ..named("http://a.test/d", Role::Data) },
            ],
        );
        let expected =
            ["new Image().src=\"http://a.test/i\";", "fetch(\"http://a.test/d\",{mode:\"cors\"}).catch(()=>0);"];
        assert_eq!(calls, expected.map(|call| format!("*/{call}/*")));
    }

    #[test]
    fn whatever_a_url_holds_stays_within_its_quotes() {
        let hostile = "http://a.test/'\"><script>&amp;\\\n*/é";
        assert_eq!(in_attribute(hostile), "http://a.test/'&quot;&gt;&lt;script&gt;&amp;amp;\\\n*/é");
        assert_eq!(in_style(hostile), r#""http://a.test/\27 \22 \3e \3c script\3e &amp;\5c \a */\e9 ""#);
        assert_eq!(
            in_string(hostile),
            r#""http://a.test/\u{27}\u{22}\u{3e}\u{3c}script\u{3e}&amp;\u{5c}\u{a}*/\u{e9}""#
        );
    }
}
