//! Distributions behind a row of many: what its median, mean and percentiles are taken from.

use crate::words::words;
use crate::{Architecture, Source};
use serde::{Deserialize, Serialize};

words! {
    /// What is distributed; the unit is the last part of the word, shares have none.
    Quantity {
        /// Of users' pages: from the first action to the last byte of the last object, in s.
        PageLoad = "page_load_s",
        /// Of all objects of users, or all requests of a log with what raises its load: to the last byte, in s.
        Object = "object_s",
        /// Of a log's own requests: from the request's arrival to the reply's last byte, in s.
        Request = "request_s",
        /// Of the same pages or requests: to the first byte of the first body, in s.
        FirstByte = "first_byte_s",
        /// Of the same pages or requests: bits of bodies by the time of each, in bit/s.
        Goodput = "goodput_bit_s",
        /// Transport connections of users, or a log's connections to servers, over the measured time.
        Connections = "connections",
        /// Share of the far link's rate down that was used in each interval.
        DownUsed = "down_used",
        /// Share of the far link's rate up that was used in each interval.
        UpUsed = "up_used",
        /// The most that waited for the far link down in each interval, in bytes.
        QueueDown = "queue_down_bytes",
        /// The most that waited for the far link up in each interval, of any one terminal, in bytes.
        QueueUp = "queue_up_bytes",
    }
}

/// How one quantity is distributed, over all replications together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// What the far link carried.
    pub architecture: Architecture,
    /// Which engine.
    pub source: Source,
    /// What is distributed.
    pub quantity: Quantity,
    /// Length of the intervals that it was taken over, in s; absent for pages, objects and requests, and for connections, which count by
    /// the time for which there were so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<f64>,
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// The values that 1, 2, … 99 per cent do not exceed (nearest rank).
    pub percentiles: Vec<f64>,
}

impl Distribution {
    /// The value that so many per cent, from 1 to 99, do not exceed.
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        self.percentiles.get(percent.checked_sub(1)?).copied()
    }

    /// Its curve.
    pub fn cumulative(&self) -> Vec<(f64, f64)> {
        cumulative(self.percentiles.iter().copied())
    }
}

/// The curve of a cumulative distribution of which the values are known that 1, 2, … per cent do not exceed: values and per cents, of
/// several per cents that share a value the last.
pub fn cumulative(percentiles: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (percent, value) in (1_u32..).zip(percentiles) {
        points.pop_if(|last| last.0 >= value);
        points.push((value, f64::from(percent)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ascends_and_ends_at_the_last_percentile() {
        let percentiles = (1..100).map(|percent: u32| f64::from(percent / 10)).collect();
        let (architecture, source, quantity) = (Architecture::Direct, Source::Simulated, Quantity::PageLoad);
        let values = (5.0, 0.0, 9.0);
        let (mean, min, max) = values;
        let all = Distribution { architecture, source, quantity, interval_s: None, mean, min, max, percentiles };
        assert_eq!((all.percentile(0), all.percentile(50), all.percentile(100)), (None, Some(5.0), None));
        let curve = all.cumulative();
        assert_eq!(curve.first(), Some(&(0.0, 9.0)));
        assert_eq!((curve.len(), curve.last()), (10, Some(&(9.0, 99.0))));
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{curve:?}");
    }
}
