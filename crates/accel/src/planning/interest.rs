//! Whether clients are still reading pages: then what these announced is worth keeping, however slowly it comes.

use crate::wire::FlowId;
use farhop_units::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Who is reading what.
#[derive(Debug, Default)]
pub(super) struct Interest {
    pages: BTreeMap<FlowId, Reading>,
    /// The page of each exchange that is open.
    exchanges: BTreeMap<FlowId, FlowId>,
    /// The pages without open exchanges, by when the last one ended: with thousands of pages nobody goes through all of them.
    idle: BTreeSet<(Instant, FlowId)>,
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
        let reading = self.pages.entry(page).or_default();
        if reading.open == 0 {
            self.idle.remove(&(reading.last, page));
        }
        reading.open += 1;
        if let Some(before) = self.exchanges.insert(exchange, page) {
            self.leave(before, None);
        }
    }

    /// An exchange, whatever it was about, is over.
    pub(super) fn end(&mut self, now: Instant, exchange: FlowId) {
        if let Some(page) = self.exchanges.remove(&exchange) {
            self.leave(page, Some(now));
        }
    }

    /// An exchange is not about `page` any more, as it has ended or is about another one.
    fn leave(&mut self, page: FlowId, ended: Option<Instant>) {
        let Some(reading) = self.pages.get_mut(&page) else { return };
        (reading.open, reading.last) = (reading.open - 1, ended.unwrap_or(reading.last));
        if reading.open == 0 {
            self.idle.insert((reading.last, page));
        }
    }

    /// When somebody was last seen to read `page`, by `now`.
    pub(super) fn last(&self, now: Instant, page: FlowId) -> Option<Instant> {
        self.pages.get(&page).map(|reading| if reading.open > 0 { now } else { reading.last })
    }

    /// Forgets the pages that nobody has read for so long.
    pub(super) fn forget(&mut self, now: Instant, span: Duration) {
        while let Some((_, page)) = self.idle.first().copied().filter(|(last, _)| *last + span <= now) {
            self.idle.pop_first();
            self.pages.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    #[test]
    fn pages_are_forgotten_in_the_order_in_which_they_were_left() {
        let mut interest = Interest::default();
        let [first, second, read] = [1, 2, 3].map(FlowId);
        for (exchange, page) in [(11, first), (12, second), (13, read), (14, first)] {
            interest.begin(FlowId(exchange), page);
        }
        interest.end(at(1), FlowId(12));
        interest.end(at(1), FlowId(11));
        interest.end(at(3), FlowId(14));
        let known = |interest: &Interest, seconds| [first, second, read].map(|page| interest.last(at(seconds), page));
        interest.forget(at(10), SPAN);
        assert_eq!(known(&interest, 10), [Some(at(3)), Some(at(1)), Some(at(10))]);
        interest.forget(at(11), SPAN);
        assert_eq!(known(&interest, 11), [Some(at(3)), None, Some(at(11))]);
        // Somebody comes back to it, by an exchange that was about another page.
        interest.begin(FlowId(13), first);
        interest.forget(at(20), SPAN);
        assert_eq!(known(&interest, 20), [Some(at(20)), None, None]);
        interest.end(at(21), FlowId(13));
        interest.forget(at(31), SPAN);
        assert!(interest.pages.is_empty() && interest.idle.is_empty() && interest.exchanges.is_empty());
    }
}
