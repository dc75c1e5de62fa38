//! Settings of several parts, in one text or in a table of their own.
//!
//! `loss = "gilbert-elliott enter=1% leave=30%"` and
//!
//! ```toml
//! [link.down.loss]
//! model = "gilbert-elliott"
//! enter = "1 %"
//! leave = 0.3
//! ```
//!
//! are the same: a word, then `name=value` terms without blanks, as `farhop_link` reads and writes them. Either form takes single
//! terms from the command line, `link.down.loss.enter=2%`. What is wrong with a term is an error of its own key.

use super::{Document, Entry, Origin, Typed, ValueError, is_below};
use farhop_units::{ParseError, suggestion};

/// How a compound setting is spread over keys.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The key that gives the word: `model`, `scheme`.
    pub head: &'static str,
    /// Keys of the same table that are settings of their own.
    pub beside: &'static [&'static str],
}

impl Document {
    /// The value of the compound setting `key`, read by `parse` from its text form; `None` if it is absent.
    ///
    /// # Errors
    /// `parse` refused the value or a term of it.
    pub fn compound<T>(
        &self,
        key: &str,
        spread: Spread,
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ValueError> {
        let below: Vec<&Entry> = self.below(key, spread).collect();
        below.iter().for_each(|term| self.asked.borrow_mut().push(&term.key));
        let terms = self.counting(key, below);
        let whole = self.ask(key);
        let only_others_here = || spread.beside.iter().any(|other| self.has(&format!("{key}.{other}")));
        match whole {
            Some(Entry { value: Typed::Text(_) | Typed::List(_), .. }) if terms.is_empty() => self.get(key, parse),
            None if terms.is_empty() => Ok(None),
            Some(_) if terms.is_empty() && only_others_here() => Ok(None),
            _ => {
                let text = self.compose(whole, &terms, spread)?;
                parse(&text).map(Some).map_err(|error| self.blame(key, spread, error))
            }
        }
    }

    /// The error for `key`, laid at the term that it speaks of if that has a key of its own.
    pub fn blame(&self, key: &str, spread: Spread, error: ParseError) -> ValueError {
        let own: Vec<&str> = [spread.head].iter().chain(spread.beside).copied().collect();
        let of_term = |term: &Entry| {
            let name = term.name();
            let problem = error.problem.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
            if let Some(problem) = problem {
                return Some(ParseError::new(problem, error.accepted.clone()));
            }
            let is_unknown = error.problem.starts_with(&format!("unknown term \"{name}\""));
            is_unknown.then(|| unknown_term(name, &format!("{}, {}", own.join(", "), error.accepted)))
        };
        let terms = self.counting(key, self.below(key, spread).collect());
        if let Some((term, error)) = terms.iter().find_map(|term| Some((term, of_term(term)?))) {
            return self.refuse(&term.key, error);
        }
        let head = format!("{key}.{}", spread.head);
        let given = [head.as_str(), key].into_iter().find(|key| self.has(key));
        // Neither is there if terms alone are given, one of which may be meant for the word.
        let is_meant = |term: &&&Entry| !suggestion(term.name(), own.iter().copied()).is_empty();
        if let (None, Some(term)) = (given, terms.iter().find(is_meant)) {
            return self.refuse(&term.key, unknown_term(term.name(), &own.join(", ")));
        }
        self.refuse(given.or(terms.first().map(|term| term.key.as_str())).unwrap_or(key), error)
    }

    /// Of the terms below `key` those that count: a whole from the command line takes the place of the file's.
    fn counting<'a>(&self, key: &str, mut terms: Vec<&'a Entry>) -> Vec<&'a Entry> {
        if !terms.is_empty() && self.is_set(key) {
            terms.retain(|term| term.origin == Origin::CommandLine);
        }
        terms
    }

    /// The keys below `key` that belong to it, in the order of the file.
    fn below(&self, key: &str, spread: Spread) -> impl Iterator<Item = &Entry> {
        let belongs = move |entry: &&Entry| {
            is_below(&entry.key, key) && {
                let name = &entry.key[key.len() + 1..];
                !name.contains('.') && !spread.beside.contains(&name)
            }
        };
        self.entries.iter().filter(belongs)
    }

    /// The text form: the word and terms of the whole or of the head's key, single terms replaced by the keys of their names.
    fn compose(&self, whole: Option<&Entry>, terms: &[&Entry], spread: Spread) -> Result<String, ValueError> {
        let head = terms.iter().copied().find(|term| term.name() == spread.head);
        // A word from the command line is another model: the file's terms are not for it.
        let is_other_model = head.is_some_and(|head| head.origin == Origin::CommandLine);
        let written = match (head, whole.map(|whole| &whole.value)) {
            (Some(head), _) => self.single(head)?,
            (None, Some(Typed::Text(text))) => text,
            (None, _) => "",
        };
        let mut parts: Vec<(String, String)> = written.split_whitespace().map(part_of).collect();
        for term in terms.iter().filter(|term| term.name() != spread.head) {
            let value = self.term_value(term)?;
            if is_other_model && term.origin != Origin::CommandLine {
                continue;
            }
            match parts.iter_mut().find(|(name, _)| name == term.name()) {
                Some((_, known)) => *known = value,
                None => parts.push((term.name().to_owned(), value)),
            }
        }
        let spelled = |(name, value): &(String, String)| match name.as_str() {
            WORD => value.clone(),
            name => format!("{name}={value}"),
        };
        Ok(parts.iter().map(spelled).collect::<Vec<_>>().join(" "))
    }

    /// The value without the blanks that the text form cannot have.
    fn term_value(&self, term: &Entry) -> Result<String, ValueError> {
        let joined = |text: &str| text.split_whitespace().collect::<String>();
        match &term.value {
            Typed::List(items) => Ok(items.iter().map(|item| joined(item)).collect::<Vec<_>>().join(LIST_SEPARATOR)),
            _ => self.single(term).map(joined),
        }
    }

    fn single<'a>(&self, entry: &'a Entry) -> Result<&'a str, ValueError> {
        let what = match &entry.value {
            Typed::Text(text) => return Ok(text),
            Typed::List(_) => "a list",
            Typed::Other(what) => what,
        };
        Err(self.refuse(&entry.key, ParseError::new(what, "a single value")))
    }
}

/// What stands between the values of a term that has several.
const LIST_SEPARATOR: &str = ";";

impl Entry {
    /// The last part of the key.
    fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }
}

/// The name of a part without one: the word.
const WORD: &str = "";

/// A part of the text form, its name and its value.
fn part_of(part: &str) -> (String, String) {
    let (name, value) = part.split_once('=').unwrap_or((WORD, part));
    (name.to_owned(), value.to_owned())
}

/// A key that is no term of the model; `accepted` lists those that are.
fn unknown_term(name: &str, accepted: &str) -> ParseError {
    ParseError::new(format!("unknown key{}", suggestion(name, accepted.split(", "))), accepted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_link::LossModel;

    const LOSS: Spread = Spread { head: "model", beside: &[] };
    const TABLE: &str = "[loss]\nmodel = \"gilbert-elliott\"\nenter = \"1 %\"\nleave = 0.3\n";
    const TEXT: &str = "loss = \"gilbert-elliott enter=1% leave=30%\"\n";

    fn read(text: &str, assignments: &[&str]) -> Result<Option<LossModel>, ValueError> {
        let mut document = Document::parse("net.toml", text)?;
        for assignment in assignments {
            document.set(assignment)?;
        }
        let loss = document.compound("loss", LOSS, str::parse)?;
        document.finish().map(|()| loss)
    }

    fn read_text(text: &str) -> Result<Option<LossModel>, ValueError> {
        Ok(Some(text.parse().expect("a loss model")))
    }

    #[test]
    fn what_is_meant_for_the_word_or_stands_beside_the_terms_is_suggested() {
        const ACCESS: Spread = Spread { head: "model", beside: &["terminals"] };
        let error = |text: &str, assignment: &str| {
            let mut document = Document::parse("net.toml", text).expect("it is TOML");
            document.set(assignment).expect("it is an assignment");
            document.compound("loss", ACCESS, str::parse::<LossModel>).expect_err("no such key").to_string()
        };
        let meant = error("", "loss.modle=0.1");
        assert!(meant.contains("unknown key; did you mean model?") && meant.contains("model, terminals"), "{meant}");
        let beside = error(TABLE, "loss.terminal=3");
        assert!(beside.contains("did you mean terminals?") && beside.contains("model, terminals, enter"), "{beside}");
    }

    #[test]
    fn a_table_is_the_same_as_its_text() {
        assert_eq!(read(TABLE, &[]), read(TEXT, &[]));
        assert_eq!(read(TABLE, &[]), read_text("gilbert-elliott enter=0.01 leave=0.3"));
        assert_eq!(read("", &[]), Ok(None));
    }

    #[test]
    fn the_command_line_replaces_terms_or_the_whole() {
        for file in [TABLE, TEXT] {
            assert_eq!(read(file, &["loss.enter=2 %"]), read_text("gilbert-elliott enter=2% leave=30%"));
            assert_eq!(read(file, &["loss.bad=0.5"]), read_text("gilbert-elliott enter=1% leave=30% bad=0.5"));
            assert_eq!(read(file, &["loss=0.1 %"]), read_text("0.1%"));
            assert_eq!(read(file, &["loss.model=none"]), Ok(Some(LossModel::None)));
            assert_eq!(read(file, &["loss.model=bit-errors", "loss.rate=1e-7"]), read_text("bit-errors rate=1e-7"));
            assert_eq!(read(file, &["loss.model=bit-errors rate=1e-7"]), read_text("bit-errors rate=1e-7"));
        }
        assert_eq!(read("", &["loss.model=bit-errors", "loss.rate=1e-7"]), read_text("bit-errors rate=1e-7"));
    }

    #[test]
    fn the_command_lines_terms_go_with_its_whole_in_any_order() {
        let whole = "loss=gilbert-elliott enter=3% leave=0.5";
        for assignments in [[whole, "loss.leave=0.9"], ["loss.leave=0.9", whole]] {
            assert_eq!(read(TABLE, &assignments), read_text("gilbert-elliott enter=3% leave=0.9"));
        }
    }

    #[test]
    fn terms_without_a_word_are_refused_where_they_are() {
        insta::assert_snapshot!(read("", &["loss.enter=3%"]).unwrap_err(), @r#"
        --set: loss.enter = "3%": unknown loss model ""
          accepted: a probability such as "0.1 %", none, bit-errors rate=1e-7, or gilbert-elliott enter=1% leave=30% with good=0% and bad=100%
        "#);
    }

    #[test]
    fn a_wrong_term_is_an_error_of_its_own_key() {
        let error = |text: &str| read(text, &[]).unwrap_err();
        insta::assert_snapshot!(error("[loss]\nmodel = \"gilbert-elliott\"\nenter = \"101 %\"\nleave = 1\n"), @r#"
        net.toml:3: loss.enter = "101 %": "101%" is outside 0 to 1
          accepted: a number from 0 to 1, or a percentage such as "0.1 %"
        "#);
        insta::assert_snapshot!(error("[loss]\nmodel = \"gilbert-elliott\"\nentre = \"1 %\"\nenter = 0\nleave = 1\n"), @r#"
        net.toml:3: loss.entre = "1 %": unknown key; did you mean enter?
          accepted: model, enter, leave, good, bad
        "#);
        insta::assert_snapshot!(error("[loss]\nmodel = \"gilbert\"\n"), @r#"
        net.toml:2: loss.model = "gilbert": unknown loss model "gilbert"
          accepted: a probability such as "0.1 %", none, bit-errors rate=1e-7, or gilbert-elliott enter=1% leave=30% with good=0% and bad=100%
        "#);
        insta::assert_snapshot!(error("[loss]\nmodel = \"gilbert-elliott\"\nenter = { x = 1 }\n"), @r#"
        net.toml:3: loss.enter: a table
          accepted: a single value
        "#);
        insta::assert_snapshot!(error("[loss]\n"), @r#"
        net.toml:1: loss: no number in ""
          accepted: a probability such as "0.1 %", none, bit-errors rate=1e-7, or gilbert-elliott enter=1% leave=30% with good=0% and bad=100%
        "#);
        insta::assert_snapshot!(read(TEXT, &["loss.leave=often"]).unwrap_err(), @r#"
        --set: loss.leave = "often": no number in "often"
          accepted: a number from 0 to 1, or a percentage such as "0.1 %"
        "#);
    }
}
