//! What users meet: times of pages and objects, from the end of the warm-up on.

mod buffers;
mod histogram;
mod interval;

pub(crate) use buffers::Buffers;
pub(crate) use histogram::Histogram;
pub(crate) use interval::{half_width, mean};

use crate::programs::Browser;
use farhop_model::Limit;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Pages and objects that were asked for in the measured time and are complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Metrics {
    /// What is asked for before does not count.
    from: Instant,
    pub(crate) pages: Histogram,
    pub(crate) objects: Histogram,
    pub(crate) first_bytes: Histogram,
    /// What each page would take at best.
    pub(crate) limits: Histogram,
    /// Bodies of the pages.
    pub(crate) bytes: Bytes,
}

impl Metrics {
    /// Measures what is asked for at `from` or later.
    pub(crate) fn new(from: Instant) -> Self {
        Self { from, ..Self::default() }
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

    /// A request of a log is answered, so long after its arrival. Those of the sample count as pages.
    pub(crate) fn request(&mut self, took: Duration, is_sample: bool) {
        self.objects.add(took);
        if is_sample {
            self.pages.add(took);
        }
    }

    /// A page is complete.
    pub(crate) fn page(&mut self, browser: &Browser, now: Instant, limit: &Limit) {
        let began = browser.began();
        if !self.counts(began) {
            return;
        }
        self.pages.add(now - began);
        self.first_bytes.add(browser.first_byte().unwrap_or(now) - began);
        self.limits.add(limit.of_page(browser.page()));
        self.bytes += browser.page().total_bytes();
    }

    /// Adds what another replication has measured.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.pages.merge(&other.pages);
        self.objects.merge(&other.objects);
        self.first_bytes.merge(&other.first_bytes);
        self.limits.merge(&other.limits);
        self.bytes += other.bytes;
    }
}
