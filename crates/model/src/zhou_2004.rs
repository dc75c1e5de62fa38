//! What a page costs the reverse channel: X. Zhou, N. Liu, J. S. Baras, "Web access over a multiple access channel: evaluations and
//! improvements", CSHCN TR 2004-10.
//!
//! RWBP needs no ACKs to clock data out, so that it may acknowledge every N-th packet only. Table I counts, per page, ACKs of 40 B and
//! one request of 390 B for each object. The paper has no other formula; its results are simulations.
//!
//! Errors and ambiguities, kept: objects are 5.55 in all, though the model of §III has 1 + 5.55; a page "about 61 KB" makes 122
//! packets of 512 B with KB of 1024 B only; the mean of a Pareto size of α = 1.1 is 11 kB by definition, though samples of
//! any practical number have less (its variance is infinite).

use core::num::NonZeroU32;
use farhop_units::Bytes;

/// How the ACKs for a last, incomplete group of N packets are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckCount {
    /// One ACK: 122/4 are 31. Reproduces Table I.
    #[default]
    RoundedUp,
    /// Its share, "122/N acknowledgements".
    Fractional,
}

/// A page as the reverse channel sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReverseTraffic {
    /// Bytes of a page.
    pub page: Bytes,
    /// Payload of a packet.
    pub mss: Bytes,
    /// An ACK.
    pub ack: Bytes,
    /// Requests for each page, a mean.
    pub requests: f64,
    /// Bytes of a request, a mean.
    pub request: Bytes,
    /// How ACKs are counted.
    pub count: AckCount,
}

impl ReverseTraffic {
    /// The page of Table I: 61 KB in packets of 512 B, 5.55 requests of 390 B.
    pub const TABLE_1: Self = Self {
        page: Bytes::kib(61),
        mss: Bytes::new(512),
        ack: Bytes::new(40),
        requests: 5.55,
        request: Bytes::new(390),
        count: AckCount::RoundedUp,
    };

    /// Data packets of a page; a payload of zero counts as one byte.
    pub fn packets(&self) -> f64 {
        (self.page.as_f64() / self.mss.as_f64().max(1.0)).ceil()
    }
}

/// A line of Table I.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table1Row {
    /// "Num of ACKs".
    pub acks: f64,
    /// "Num of HTTP GETS".
    pub requests: f64,
    /// "Total Traffic", in bytes.
    pub total_bytes: f64,
    /// "Normalized Total Traffic": over that of N = 2.
    pub normalized: f64,
}

/// Table I for one ACK every `packets_per_ack` (N) packets.
pub fn table1_reverse_traffic(traffic: &ReverseTraffic, packets_per_ack: NonZeroU32) -> Table1Row {
    let acks = |n: f64| match traffic.count {
        AckCount::RoundedUp => (traffic.packets() / n).ceil(),
        AckCount::Fractional => traffic.packets() / n,
    };
    let total = |acks: f64| acks * traffic.ack.as_f64() + traffic.requests * traffic.request.as_f64();
    let (ours, of_two) = (acks(f64::from(packets_per_ack.get())), acks(2.0));
    // A page of nothing costs nothing, whatever N.
    let normalized = if total(of_two) > 0.0 { total(ours) / total(of_two) } else { 1.0 };
    Table1Row { acks: ours, requests: traffic.requests, total_bytes: total(ours), normalized }
}

/// Mean α·k/(α−1) of a Pareto distribution from `scale` (k) on with shape α; `None` up to α = 1, where it has none. §III: sizes from
/// 1 kB with α = 1.1 have 11 kB, think times from 5 s with α = 1.5 have 15 s.
pub fn pareto_mean(scale: f64, shape: f64) -> Option<f64> {
    let mean = shape * scale / (shape - 1.0);
    (shape > 1.0 && mean.is_finite()).then_some(mean)
}

/// The share of small requests for which a mix of two sizes has this mean; `None` if no share does. §III and §VI: 250 B and 1 kB
/// have the 390 B of Table I if 81 % are small.
pub fn small_share(small: Bytes, large: Bytes, mean: Bytes) -> Option<f64> {
    let share = (large.as_f64() - mean.as_f64()) / (large.as_f64() - small.as_f64());
    (0.0..=1.0).contains(&share).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(n: u32) -> Table1Row {
        table1_reverse_traffic(&ReverseTraffic::TABLE_1, NonZeroU32::new(n).unwrap())
    }

    #[test]
    fn table_1_reproduces() {
        let published =
            [(2, 61.0, 4604.5, 1.0), (4, 31.0, 3404.5, 0.74), (8, 16.0, 2804.5, 0.61), (16, 8.0, 2484.5, 0.54)];
        for (n, acks, total, normalized) in published {
            let row = row(n);
            assert!((row.acks - acks).abs() < 1e-9 && (row.total_bytes - total).abs() < 1e-9, "{row:?}");
            assert!((row.normalized - normalized).abs() < 0.005, "{row:?}");
        }
    }

    #[test]
    fn fractions_of_acks_do_not_reproduce_it() {
        let traffic = ReverseTraffic { count: AckCount::Fractional, ..ReverseTraffic::TABLE_1 };
        let row = table1_reverse_traffic(&traffic, NonZeroU32::new(4).unwrap());
        assert!((row.total_bytes - 3384.5).abs() < 1e-9);
    }

    #[test]
    fn the_means_of_section_3() {
        assert!((pareto_mean(1000.0, 1.1).unwrap() - 11_000.0).abs() < 1e-6);
        assert!((pareto_mean(5.0, 1.5).unwrap() - 15.0).abs() < 1e-9);
        assert_eq!(pareto_mean(1000.0, 1.0), None);
        let share = small_share(Bytes::new(250), Bytes::kb(1), Bytes::new(390)).unwrap();
        assert!((share - 0.813).abs() < 1e-3);
        assert_eq!(small_share(Bytes::new(250), Bytes::kb(1), Bytes::new(1001)), None);
        assert_eq!(small_share(Bytes::kb(1), Bytes::kb(1), Bytes::kb(1)), None);
    }

    proptest! {
        #[test]
        fn any_page_has_a_cost_that_falls_with_n(page: u64, mss: u64, ack: u64, request: u64, n in 1..u32::MAX) {
            let traffic = ReverseTraffic {
                page: Bytes::new(page), mss: Bytes::new(mss), ack: Bytes::new(ack), request: Bytes::new(request),
                ..ReverseTraffic::TABLE_1
            };
            let at = |n| table1_reverse_traffic(&traffic, NonZeroU32::new(n).unwrap());
            prop_assert!(at(n).total_bytes.is_finite() && at(n).normalized.is_finite());
            prop_assert!(at(n + 1).total_bytes <= at(n).total_bytes);
        }
    }
}
