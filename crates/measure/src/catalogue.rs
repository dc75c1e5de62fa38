//! The page's objects as URLs on one server: what the client asks for and what the origin looks up.

use crate::MeasureError;
use farhop_web::Page;
use std::collections::BTreeMap;
use url::{Position, Url};

/// URL of every object of a page, and the way back.
#[derive(Debug, Clone)]
pub(crate) struct Catalogue {
    urls: Vec<Url>,
    by_target: BTreeMap<String, usize>,
}

impl Catalogue {
    /// The URLs of `page` on the server that `base` names.
    ///
    /// # Errors
    /// An object whose name is no path on that server, or not its own.
    pub(crate) fn new(page: &Page, base: &Url) -> Result<Self, MeasureError> {
        let mut catalogue = Self { urls: Vec::with_capacity(page.objects.len()), by_target: BTreeMap::new() };
        for (index, object) in page.objects.iter().enumerate() {
            let refuse = |problem| MeasureError::Name { name: object.name.to_string(), problem };
            let url = base.join(&object.name).map_err(|_| refuse("cannot be part of a URL"))?;
            if url.origin() != base.origin() {
                return Err(refuse("leads to another server"));
            }
            if catalogue.by_target.insert(target(&url).to_owned(), index).is_some() {
                return Err(refuse("has the same URL as another object"));
            }
            catalogue.urls.push(url);
        }
        // Whoever types the server's name alone wants the page.
        catalogue.by_target.entry("/".to_owned()).or_insert(0);
        Ok(catalogue)
    }

    /// Where the object is.
    pub(crate) fn url(&self, object: usize) -> &Url {
        &self.urls[object]
    }

    /// The object at `url`, whichever fragment of it is meant.
    pub(crate) fn find(&self, url: &Url) -> Option<usize> {
        let index = self.find_target(target(url))?;
        (self.urls[index].origin() == url.origin()).then_some(index)
    }

    /// The object with this path and query.
    pub(crate) fn find_target(&self, target: &str) -> Option<usize> {
        self.by_target.get(target).copied()
    }
}

/// Path and query: the request target in origin form (RFC 9112 §3.2.1).
pub(crate) fn target(url: &Url) -> &str {
    &url[Position::BeforePath..Position::AfterQuery]
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Bytes;
    use farhop_web::Object;

    fn catalogue(names: &[&str]) -> Result<Catalogue, MeasureError> {
        let object = |name: &&str| Object::new(*name, "text/plain", Bytes::new(1));
        let page = Page { objects: names.iter().map(object).collect(), hosts: vec![Page::HOST.into()] };
        Catalogue::new(&page, &Url::parse("http://server/").unwrap())
    }

    #[test]
    fn objects_are_found_by_url_without_the_fragment() {
        let catalogue = catalogue(&["index.html", "a b.png", "img/c.png?v=2"]).unwrap();
        let find = |url: &str| catalogue.find(&Url::parse(url).unwrap());
        assert_eq!(find("http://server/a%20b.png#top"), Some(1));
        assert_eq!(find("http://server/img/c.png?v=2"), Some(2));
        assert_eq!(find("http://server/img/c.png"), None);
        assert_eq!(find("http://elsewhere/index.html"), None);
    }

    #[test]
    fn the_root_is_the_page_unless_an_object_is_there() {
        let root = |names: &[&str]| catalogue(names).unwrap().find_target("/");
        assert_eq!(root(&["index.html", "a.png"]), Some(0));
        assert_eq!(root(&["index.html", "/"]), Some(1));
    }

    #[test]
    fn names_that_cannot_be_told_apart_or_lead_elsewhere_are_refused() {
        let problem = |names: &[&str]| catalogue(names).unwrap_err().to_string();
        assert!(problem(&["index.html", "./index.html"]).contains("same URL"));
        assert!(problem(&["index.html", "//elsewhere/x.png"]).contains("another server"));
    }
}
