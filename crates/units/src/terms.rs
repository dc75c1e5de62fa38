//! The one grammar of settings with several parts: a word, then `name=value` terms, separated by blanks.
//!
//! `gilbert-elliott enter=1% leave=30%`, `pareto least=1kB shape=1.1`. The same text stands in scenario files, on the
//! command line and in packet logs. Values hold no blank; numbers and units are written together.

use crate::{ParseError, duration};
use core::cell::RefCell;
use std::time::Duration;

/// More than any setting has, and few enough to compare each with each.
pub const MOST_TERMS: usize = 64;

/// A word and its terms, which are asked for one by one.
#[derive(Debug)]
pub struct Terms<'a> {
    /// The first word; empty if the text begins with a term.
    pub word: &'a str,
    terms: Vec<(&'a str, &'a str)>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Terms<'a> {
    /// Takes `text` apart; `accepted` is what errors say would be accepted.
    ///
    /// # Errors
    /// What is behind the word is no term, there are too many, or one is given twice.
    pub fn split(text: &'a str, accepted: &str) -> Result<Self, ParseError> {
        let mut parts = text.split_whitespace().peekable();
        let word = parts.next_if(|part| !part.contains('=')).unwrap_or_default();
        let terms = parts.map(|part| {
            part.split_once('=').ok_or_else(|| ParseError::new(format!("no \"=\" in \"{part}\""), accepted))
        });
        let terms: Vec<(&str, &str)> = terms.take(MOST_TERMS + 1).collect::<Result<_, _>>()?;
        if terms.len() > MOST_TERMS {
            return Err(ParseError::new(format!("more than {MOST_TERMS} terms"), accepted));
        }
        let twice = terms.iter().enumerate().find(|(place, (name, _))| terms[..*place].iter().any(|(n, _)| n == name));
        match twice {
            Some((_, (name, _))) => Err(ParseError::new(format!("\"{name}\" is given twice"), accepted)),
            None => Ok(Self { word, terms, asked: RefCell::default() }),
        }
    }

    /// Whether there is a term of this name.
    pub fn has(&self, name: &str) -> bool {
        self.terms.iter().any(|(known, _)| *known == name)
    }

    /// All terms, names and values, in their order; they count as asked for.
    pub fn all(&mut self) -> Vec<(&'a str, &'a str)> {
        core::mem::take(&mut self.terms)
    }

    /// The value of `name`, read by `parse`; `None` if it is absent.
    ///
    /// # Errors
    /// `parse` refused it.
    pub fn get<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ParseError> {
        self.asked.borrow_mut().push(name);
        let Some((_, value)) = self.terms.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        let explain = |error: ParseError| ParseError::new(format!("{name}: {}", error.problem), error.accepted);
        parse(value).map(Some).map_err(explain)
    }

    /// Checks that every term was asked for.
    ///
    /// # Errors
    /// The first that was not.
    pub fn finish(&self) -> Result<(), ParseError> {
        let asked = self.asked.borrow();
        match self.terms.iter().find(|(name, _)| !asked.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let accepted = if asked.is_empty() { format!("\"{}\" alone", self.word) } else { asked.join(", ") };
                Err(ParseError::unknown("term", name, asked.iter().copied(), accepted))
            }
        }
    }
}

/// A time as a value, number and unit in one: `10ms`.
pub fn time(span: Duration) -> String {
    duration::format(span).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Probability;

    #[test]
    fn terms_are_read_by_name() {
        let terms = Terms::split("bursts enter=1%  leave=0.5", "a word").unwrap();
        assert_eq!(terms.word, "bursts");
        assert_eq!(terms.get("leave", str::parse::<Probability>), Ok(Probability::new(0.5)));
        assert_eq!(terms.get("away", str::parse::<Probability>), Ok(None));
        assert_eq!(terms.finish().unwrap_err().problem, "unknown term \"enter\"");
        assert_eq!(terms.get("enter", str::parse::<Probability>), Ok(Probability::new(0.01)));
        assert_eq!(terms.finish(), Ok(()));
    }

    #[test]
    fn what_is_not_a_term_is_refused() {
        let problem = |text| Terms::split(text, "a word and terms").unwrap_err().problem;
        assert_eq!(problem("bursts often"), "no \"=\" in \"often\"");
        assert_eq!(problem("bursts a=1 b=2 a=3"), "\"a\" is given twice");
        let terms = |count: usize| (0..count).map(|number| format!("a{number}=1 ")).collect::<String>();
        assert!(Terms::split(&terms(MOST_TERMS), "a word and terms").is_ok());
        assert_eq!(problem(&terms(100_000)), "more than 64 terms");
    }
}
