//! Which of a recording's requests make up which of its pages.

use crate::har::{Entry, Har};
use std::collections::BTreeSet;

/// Why a request is no part of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Omission {
    Unanswered,
    OfTheBrowser,
    Prefetched,
    NotHttp,
}

impl Omission {
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        if !matches!(entry.url.scheme(), "http" | "https") || entry.url.host_str().is_none() {
            Some(Self::NotHttp)
        } else if entry.status.is_none_or(|status| status < 200) {
            Some(Self::Unanswered)
        } else if entry.is_of_the_browser() {
            Some(Self::OfTheBrowser)
        } else if entry.is_prefetch() {
            Some(Self::Prefetched)
        } else {
            None
        }
    }
}

/// The pages of a recording.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    /// Those that it lists; if it lists none, those that its entries refer to.
    pub(super) ids: Vec<&'a str>,
    /// The first of them with an answered request, or else the first. `None` if there are none: then all entries are one page.
    pub(super) first: Option<&'a str>,
    /// Those with an answered request.
    filled: BTreeSet<&'a str>,
}

impl<'a> Pages<'a> {
    pub(super) fn of(har: &'a Har) -> Self {
        let mut ids: Vec<&str> = har.pages.iter().map(|page| page.id.as_str()).collect();
        if ids.is_empty() {
            let mut seen = BTreeSet::new();
            ids = har.entries.iter().filter_map(|entry| entry.page.as_deref()).filter(|id| seen.insert(*id)).collect();
        }
        let answered = har.entries.iter().filter(|entry| Omission::of(entry).is_none());
        let filled: BTreeSet<&str> = answered.filter_map(|entry| entry.page.as_deref()).collect();
        let first = ids.iter().find(|id| filled.contains(*id)).or(ids.first()).copied();
        Self { ids, first, filled }
    }

    /// The page of an entry. What belongs to none belongs to the first.
    pub(super) fn of_entry<'b>(&self, entry: &'b Entry) -> Option<&'b str>
    where
        'a: 'b,
    {
        entry.page.as_deref().or(self.first)
    }

    /// The pages that there are.
    pub(super) fn known(&self) -> String {
        listed(&self.ids).unwrap_or_else(|| "none, as the recording has no pages".to_owned())
    }

    /// The pages beside `id` that have answered requests.
    pub(super) fn others(&self, id: Option<&str>) -> String {
        let others: Vec<&str> =
            self.ids.iter().copied().filter(|other| Some(*other) != id && self.filled.contains(other)).collect();
        listed(&others).map(|others| format!(", or another page: {others}")).unwrap_or_default()
    }
}

/// What an error calls the page `id`, or a recording without pages.
pub(super) fn name(id: Option<&str>) -> String {
    id.map_or_else(|| "the recording".to_owned(), |id| format!("page {id:?} of the recording"))
}

/// The first of some pages; `None` if there are none.
fn listed(ids: &[&str]) -> Option<String> {
    const SHOWN: usize = 10;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("{id:?}")).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}
