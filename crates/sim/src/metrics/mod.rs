//! What users meet: times of pages and objects, from the end of the warm-up on.

mod buffers;
mod histogram;
mod occupancy;

pub(crate) use buffers::Buffers;
pub(crate) use histogram::{Histogram, Times};
pub(crate) use occupancy::Occupancy;

use crate::programs::Browser;
use farhop_model::Limit;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Nanoseconds of a second.
const NANOS: u128 = 1_000_000_000;

/// The answer to a request of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    /// When the request came to the proxy.
    pub(crate) asked: Instant,
    /// When the first byte of the body came.
    pub(crate) first_byte: Instant,
    pub(crate) bytes: Bytes,
    /// The request is of the log itself, not of what raises the load.
    pub(crate) is_sample: bool,
}

/// Pages and objects that were asked for in the measured time and are complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Metrics {
    /// What is asked for before does not count.
    from: Instant,
    pub(crate) pages: Times,
    pub(crate) objects: Times,
    /// Of pages, to the first byte of the first body.
    pub(crate) first_bytes: Times,
    /// Of pages, bits of bodies by their time, in bit/s.
    pub(crate) goodputs: Histogram,
    /// What each page would take at best.
    pub(crate) limits: Times,
    /// Bodies of the pages.
    pub(crate) bytes: Bytes,
    /// A page took no time at all.
    pub(crate) took_no_time: bool,
}

impl Metrics {
    /// Measures what is asked for at `from` or later.
    pub(crate) fn new(from: Instant) -> Self {
        Self { from, ..Self::default() }
    }

    /// When the measured time begins.
    pub(crate) fn from(&self) -> Instant {
        self.from
    }

    /// Whether what was asked for at that time counts.
    pub(crate) fn counts(&self, asked: Instant) -> bool {
        asked >= self.from
    }

    /// An object is complete, so long after it was asked for.
    pub(crate) fn object(&mut self, now: Instant, took: Duration) {
        if now >= self.from + took {
            self.objects.add(took);
        }
    }

    /// A request of a log is answered. Those of the sample count as pages.
    pub(crate) fn request(&mut self, now: Instant, reply: Reply) {
        let took = now - reply.asked;
        self.objects.add(took);
        if reply.is_sample {
            self.whole(took, reply.first_byte - reply.asked, reply.bytes);
        }
    }

    /// A page is complete.
    pub(crate) fn page(&mut self, browser: &Browser, now: Instant, limit: &Limit) {
        let began = browser.began();
        self.took_no_time |= began == now;
        if !self.counts(began) {
            return;
        }
        self.whole(now - began, browser.first_byte().unwrap_or(now) - began, browser.page().total_bytes());
        self.limits.add(limit.of_page(browser.page()));
    }

    fn whole(&mut self, took: Duration, first_byte: Duration, bytes: Bytes) {
        self.pages.add(took);
        self.first_bytes.add(first_byte);
        let goodput = u128::from(bytes.get()) * 8 * NANOS / took.as_nanos().max(1);
        self.goodputs.add(u64::try_from(goodput).unwrap_or(u64::MAX));
        self.bytes += bytes;
    }

    /// Adds what another replication has measured.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.pages.merge(&other.pages);
        self.objects.merge(&other.objects);
        self.first_bytes.merge(&other.first_bytes);
        self.goodputs.merge(&other.goodputs);
        self.limits.merge(&other.limits);
        self.bytes += other.bytes;
    }
}
