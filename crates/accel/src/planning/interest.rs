//! Whether clients are still reading pages: then what these announced is worth keeping, however slowly it comes.

use crate::wire::FlowId;
use farhop_units::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Who is reading what.
#[derive(Debug, Default)]
pub(super) struct Interest {
    pages: BTreeMap<FlowId, Reading>,
    /// The page of each exchange that is open.
    exchanges: BTreeMap<FlowId, FlowId>,
}

/// One page.
#[derive(Debug, Default)]
struct Reading {
    /// Exchanges that are open: the page's own and those that its pushes answer.
    open: usize,
    /// When the last one ended.
    last: Instant,
}

impl Interest {
    /// A client's `exchange` is about `page` or what it announced.
    pub(super) fn begin(&mut self, exchange: FlowId, page: FlowId) {
        self.pages.entry(page).or_default().open += 1;
        let before = self.exchanges.insert(exchange, page);
        if let Some(reading) = before.and_then(|page| self.pages.get_mut(&page)) {
            reading.open -= 1;
        }
    }

    /// An exchange, whatever it was about, is over.
    pub(super) fn end(&mut self, now: Instant, exchange: FlowId) {
        let page = self.exchanges.remove(&exchange);
        if let Some(reading) = page.and_then(|page| self.pages.get_mut(&page)) {
            (reading.open, reading.last) = (reading.open - 1, now);
        }
    }

    /// When somebody was last seen to read `page`, by `now`.
    pub(super) fn last(&self, now: Instant, page: FlowId) -> Option<Instant> {
        self.pages.get(&page).map(|reading| if reading.open > 0 { now } else { reading.last })
    }

    /// Forgets the pages that nobody has read for so long.
    pub(super) fn forget(&mut self, now: Instant, span: Duration) {
        self.pages.retain(|_, reading| reading.open > 0 || reading.last + span > now);
    }
}
