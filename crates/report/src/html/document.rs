//! The frame that every file of ours has: policy, style sheet, header with its links, main part.

use super::markup::put;
use super::style;

/// A self-contained file; all of it is HTML already.
pub(crate) struct Document {
    /// What the window is called.
    pub(crate) title: String,
    /// What kind of file it is, above the heading.
    pub(crate) kicker: String,
    /// The heading.
    pub(crate) heading: String,
    /// Paragraphs below it.
    pub(crate) lead: String,
    /// Sections to go to: id and name.
    pub(crate) sections: Vec<(String, String)>,
    /// The rest.
    pub(crate) main: String,
}

impl Document {
    /// The file.
    pub(crate) fn html(self) -> String {
        let Self { title, kicker, heading, lead, sections, main } = self;
        [
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n".to_owned(),
            format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", style::policy()),
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n".to_owned(),
            "<meta name=\"color-scheme\" content=\"light dark\">\n".to_owned(),
            format!("<title>farhop: {title}</title>\n<style>{}</style>\n</head>\n<body>\n<header>\n", style::SHEET),
            format!("<p class=\"kicker\">farhop · {kicker}</p>\n<h1>{heading}</h1>\n{lead}"),
            navigation(&sections),
            format!("</header>\n<main>\n{main}</main>\n</body>\n</html>\n"),
        ]
        .concat()
    }
}

fn navigation(sections: &[(String, String)]) -> String {
    let mut out = String::from("<nav aria-label=\"Sections\">");
    for (id, name) in sections {
        // Links break between lines at the space alone.
        put(&mut out, format_args!("<a href=\"#{id}\">{name}</a> "));
    }
    out.push_str("</nav>\n");
    out
}
