//! From the bytes of a style sheet, as they stream, to what it names: `url(…)` and the text form of `@import` (CSS Syntax §4.3.6, CSS
//! Cascade §2).
//!
//! A name is reported with the chunk that holds its last byte. Comments are skipped. Left out: escapes in names, names in strings that mean
//! nothing to a browser, conditions under which it would not load what is named.

use url::Url;

/// Longer names are given up: `data:` URLs, mostly.
const LONGEST: usize = 8192;

/// Reads one style sheet as it streams.
#[derive(Debug)]
pub(super) struct Sheet {
    base: Url,
    /// Code since the last name or the end of the last rule, without comments.
    code: Vec<u8>,
    in_comment: bool,
    /// The byte before, if it may begin or end a comment.
    mark: Option<u8>,
}

impl Sheet {
    /// A style sheet loaded from `base`.
    pub(super) fn new(base: Url) -> Self {
        Self { base, code: Vec::new(), in_comment: false, mark: None }
    }

    /// Takes the next bytes and returns what they name, in order.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<Url> {
        chunk.iter().filter_map(|byte| self.take(*byte)).collect()
    }

    fn take(&mut self, byte: u8) -> Option<Url> {
        let before = self.mark.replace(byte);
        match (self.in_comment, before, byte) {
            (true, Some(b'*'), b'/') => (self.in_comment, self.mark) = (false, None),
            (true, ..) => {}
            (false, Some(b'/'), b'*') => {
                // The slash was no code.
                self.code.pop();
                (self.in_comment, self.mark) = (true, None);
            }
            (false, ..) => return self.take_code(byte),
        }
        None
    }

    fn take_code(&mut self, byte: u8) -> Option<Url> {
        let name = match byte {
            b')' => self.named_by_function(),
            b'"' | b'\'' => self.named_by_import(byte),
            _ => None,
        };
        let is_over = matches!(byte, b'{' | b'}' | b';') && function(&self.code).is_none();
        if name.is_some() || is_over || self.code.len() >= LONGEST {
            self.code.clear();
        } else {
            self.code.push(byte);
        }
        self.base.join(&name?).ok()
    }

    /// What stands in an open `url(`, if there is one.
    fn named_by_function(&self) -> Option<String> {
        let name = self.code[function(&self.code)?..].trim_ascii();
        let quoted = |quote: &[u8]| name.strip_prefix(quote)?.strip_suffix(quote);
        text(quoted(b"\"").or_else(|| quoted(b"'")).unwrap_or(name))
    }

    /// What stands between `quote` and `@import`, if that is all of the rule so far.
    fn named_by_import(&self, quote: u8) -> Option<String> {
        let (rule, rest) = self.code.trim_ascii_start().split_at_checked(b"@import".len())?;
        let is_import = rule.eq_ignore_ascii_case(b"@import");
        text(rest.trim_ascii_start().strip_prefix(&[quote]).filter(|_| is_import)?)
    }
}

/// Where the argument of the last `url(` begins, which is open: a closed one has been reported.
fn function(code: &[u8]) -> Option<usize> {
    const OPEN: &[u8] = b"url(";
    let start = code.windows(OPEN.len()).rposition(|window| window.eq_ignore_ascii_case(OPEN))?;
    Some(start + OPEN.len())
}

fn text(name: &[u8]) -> Option<String> {
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(sheet: &[u8], size: usize) -> Vec<String> {
        let mut reader = Sheet::new(Url::parse("http://server/s/a.css").unwrap());
        let found = sheet.chunks(size.max(1)).flat_map(|chunk| reader.push(chunk)).map(|url| url.to_string());
        found.collect()
    }

    const SHEET: &[u8] = b"/* url(no.png) */@import\"b.css\";@IMPORT url( '/c.css' ) screen;\n\
        a{background:red URL(i.png)/**/}@font-face{font-family:\"x\";src:url(\"//f.test/f.woff2\")format('woff2')}\
        b{background:url(data:image/png;base64,AA)} c{content:'@import';width:calc(1px)} / url(/*z";

    #[test]
    fn what_a_sheet_loads_is_found_in_order() {
        let found = names(SHEET, SHEET.len());
        let expected = [
            "http://server/s/b.css",
            "http://server/c.css",
            "http://server/s/i.png",
            "http://f.test/f.woff2",
            "data:image/png;base64,AA",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_is_reported_with_its_last_byte() {
        let mut reader = Sheet::new(Url::parse("http://server/").unwrap());
        assert_eq!(reader.push(b"a{src:url(x.woff2"), []);
        assert_eq!(reader.push(b")").len(), 1);
        assert_eq!(reader.push(b"}"), []);
    }

    #[test]
    fn endless_names_are_given_up() {
        let mut reader = Sheet::new(Url::parse("http://server/").unwrap());
        assert_eq!(reader.push(b"a{b:url("), []);
        assert_eq!(reader.push(&vec![b'x'; 3 * LONGEST]), []);
        assert!(reader.code.len() <= LONGEST);
    }

    proptest! {
        #[test]
        fn chunking_does_not_change_what_is_found(size in 1_usize..40) {
            prop_assert_eq!(names(SHEET, size), names(SHEET, SHEET.len()));
        }

        #[test]
        fn any_bytes_are_read(sheet in "(url\\(|@import|[\"'();{}/* a]|\\PC){0,80}", size in 1_usize..10) {
            names(sheet.as_bytes(), size);
        }
    }
}
