//! A scenario of which some values vary: parsed once, resolved for every point of a grid.

use crate::files::Files;
use crate::open;
use crate::reader::Document;
use crate::resolve::resolve;
use crate::{Scenario, ScenarioError};
use core::cell::OnceCell;

/// A scenario whose values may still be given.
#[derive(Debug, Clone)]
pub struct Template {
    name: String,
    document: Document,
    files: Files,
    /// A scenario whose page is that of all in which no value given later is of the page.
    known: OnceCell<Scenario>,
}

impl Template {
    pub(crate) fn new(name: String, document: Document, files: Files) -> Self {
        Self { name, document, files, known: OnceCell::new() }
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// What [`crate::open`] opens, before it is resolved.
    ///
    /// # Errors
    /// There is no such file or shipped scenario, it cannot be read, or an assignment has no `=`.
    pub fn open(given: &str, assignments: &[String]) -> Result<Self, ScenarioError> {
        open::template(given, assignments)
    }

    /// The scenario with these values for these keys, as if they had been assigned last.
    ///
    /// # Errors
    /// A value is wrong.
    pub fn resolve<'a>(&self, values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Scenario, ScenarioError> {
        let (mut document, mut same_page) = (self.document.clone(), true);
        for (key, value) in values {
            document.assign(key, value);
            same_page &=
                !["page", "users", "log", "http.response_header_bytes"].iter().any(|table| key.starts_with(table));
        }
        open::replace(&mut document)?;
        let known = self.known.get().filter(|_| same_page);
        let scenario = resolve(&self.name, &document, &self.files, known)?;
        if same_page {
            self.known.get_or_init(|| scenario.clone());
        }
        Ok(scenario)
    }

    /// Whether `key` was given on the command line.
    pub fn is_set(&self, key: &str) -> bool {
        self.document.is_set(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_scenario_that_its_assignments_give() {
        let set = ["link.up.delay=5ms".to_owned()];
        let template = Template::open("demo", &set).unwrap();
        for delay in ["10 ms", "300 ms"] {
            let point = template.resolve([("link.down.delay", delay)]).unwrap();
            let typed = [set[0].clone(), format!("link.down.delay={delay}")];
            assert_eq!(point, crate::open("demo", &typed).unwrap());
        }
        assert!(template.is_set("link.up.delay") && !template.is_set("link.down.delay"));
    }

    #[test]
    fn one_point_leaves_nothing_to_the_next() {
        let template = Template::open("demo", &[]).unwrap();
        let pages = ["40 kB", "50 kB"].map(|size| {
            let page = [("page.objects", "5"), ("page.size", size)];
            [template.resolve(page).unwrap().page, template.resolve([("link.up.delay", "1 ms")]).unwrap().page]
        });
        assert_eq!(pages[0][1], crate::open("demo", &[]).unwrap().page);
        assert!(pages[0][0] != pages[1][0] && pages[0][1] == pages[1][1]);
        let trace = template.resolve([("link.down.trace", "steps length=1s at=0s:1Mbit/s")]).unwrap();
        let without = template.resolve([("link.down.trace", "none")]).unwrap();
        assert!(trace.link.down.rate.is_none() && without.link.down.rate.is_some());
    }

    #[test]
    fn a_wrong_value_or_key_is_told() {
        let template = Template::open("demo", &[]).unwrap();
        let error = template.resolve([("link.down.delay", "3 days")]).unwrap_err().to_string();
        assert!(error.contains("link.down.delay = \"3 days\"") && error.contains("accepted"), "{error}");
        let error = template.resolve([("link.down.delya", "3 ms")]).unwrap_err().to_string();
        assert!(error.contains("did you mean link.down.delay?"), "{error}");
    }
}
