//! How long a host takes, as was measured: its kernel to get to packets, and the programs on it to run.

use crate::host::as_nanos;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use thiserror::Error;

/// What a quiet machine's kernel takes, so many ms after the packet before, at most in so many of a thousand cases, in ns: measured as
/// [`crate::kernel`] says.
const QUIET_KERNEL: [After; 7] = [
    (0, &[(0, 8500), (94, 10_000), (250, 10_600), (750, 10_900), (906, 11_300), (984, 15_000), (1000, 40_000)]),
    (1, &[(0, 9000), (94, 10_500), (500, 11_000), (844, 11_800), (938, 13_500), (984, 20_000), (1000, 36_000)]),
    (10, &[(0, 10_000), (1000, 18_000)]),
    (30, &[(0, 11_000), (1000, 26_000)]),
    (60, &[(0, 13_000), (1000, 42_000)]),
    (120, &[(0, 20_000), (1000, 55_000)]),
    (300, &[(0, 45_000), (1000, 105_000)]),
];
/// What its programs take from sleep until they have done something: a client to ask for the next object, and a server to answer, measured as
/// [`crate::program`] says.
const QUIET_CLIENT: [After; 1] =
    [(0, &[(0, 8000), (167, 12_000), (333, 16_000), (500, 24_000), (667, 32_000), (833, 48_000), (1000, 64_000)])];
const QUIET_SERVER: [After; 1] = [(
    0,
    &[
        (0, 13_000),
        (10, 17_400),
        (50, 22_900),
        (100, 27_600),
        (250, 38_000),
        (500, 51_400),
        (750, 66_400),
        (900, 81_300),
        (950, 89_400),
        (990, 100_200),
        (1000, 109_000),
    ],
)];
/// A pause in ms, and shares of a thousand with times in ns.
type After = (u64, &'static [(u32, u64)]);

/// Times are drawn from so many between two shares.
pub(crate) const PARTS: u64 = 1 << 10;
/// All of them.
pub(crate) const ALL_PARTS: u64 = PauseTimes::ALL as u64 * PARTS;

/// How long it takes after a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterPause {
    /// What was before is longer ago than this.
    pub pause: Duration,
    /// Of a thousand times so many are no longer than that; between two of these all times are as likely.
    pub quantiles: Vec<(u32, Duration)>,
}

impl AfterPause {
    /// The longest time of so many of a thousand.
    pub fn at(&self, share: u32) -> Duration {
        self.at_part(u64::from(share) * PARTS)
    }

    /// The same, of so many of a thousand times [`PARTS`].
    pub(crate) fn at_part(&self, part: u64) -> Duration {
        let place = self.quantiles.partition_point(|(share, _)| u64::from(*share) * PARTS <= part);
        let (Some(&(from, least)), Some(&(to, most))) =
            (self.quantiles.get(place.max(1) - 1), self.quantiles.get(place))
        else {
            return self.quantiles.last().map_or(Duration::ZERO, |(_, time)| *time);
        };
        let within = part.saturating_sub(u64::from(from) * PARTS);
        let width = u64::from(to.saturating_sub(from)).max(1) * PARTS;
        least + Duration::from_nanos(as_nanos(most.saturating_sub(least)) * within / width)
    }
}

/// How long something takes, by how long the host had a rest before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseTimes(Arc<[AfterPause]>);

/// Why times are none of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostTimesError {
    /// Pauses are not in order, or the first is not none.
    #[error("pauses must begin at 0 and grow")]
    Pauses,
    /// Shares are not in order, or not from nothing to all.
    #[error("shares must grow from 0 to 100 %")]
    Shares,
    /// More packets would take less, or some take longer than [`PauseTimes::LONGEST`].
    #[error("times must not fall along a line, nor be longer than 1 s")]
    Times,
}

impl PauseTimes {
    /// All of a thousand.
    pub const ALL: u32 = 1000;
    /// No host takes longer.
    pub const LONGEST: Duration = Duration::from_secs(1);

    /// Those after the longest of these pauses that is over.
    ///
    /// # Errors
    /// Pauses, shares or times are not in order.
    pub fn new(pauses: Vec<AfterPause>) -> Result<Self, HostTimesError> {
        let grow = |pair: &[AfterPause]| pair[0].pause < pair[1].pause;
        if pauses.first().is_none_or(|first| !first.pause.is_zero()) || !pauses.windows(2).all(grow) {
            return Err(HostTimesError::Pauses);
        }
        for AfterPause { quantiles, .. } in &pauses {
            let ends = [quantiles.first(), quantiles.last()].map(|end| end.map(|(share, _)| *share));
            if ends != [Some(0), Some(Self::ALL)] || !quantiles.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                return Err(HostTimesError::Shares);
            }
            let is_long = quantiles.iter().any(|(_, time)| *time > Self::LONGEST);
            if is_long || !quantiles.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
                return Err(HostTimesError::Times);
            }
        }
        Ok(Self(pauses.into()))
    }

    /// By pause, from none to the longest.
    pub fn pauses(&self) -> &[AfterPause] {
        &self.0
    }

    /// After a pause; none if nothing came before.
    pub fn after(&self, pause: Option<Duration>) -> &AfterPause {
        let is_over = |after: &AfterPause| pause.is_none_or(|pause| pause > after.pause);
        &self.0[self.0.partition_point(is_over).max(1) - 1]
    }
}

/// How long a machine's hosts take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTimes {
    /// A kernel to get to a packet, by how long before another one came.
    pub kernel: PauseTimes,
    /// A client's program that has slept, from when the kernel has got to an object's end until it writes the next request; by how long it has not run.
    pub client: PauseTimes,
    /// A server's, from when the kernel has got to a request until it writes the answer.
    pub server: PauseTimes,
}

impl HostTimes {
    /// Of a quiet machine.
    pub fn quiet() -> Self {
        static QUIET: LazyLock<HostTimes> = LazyLock::new(|| HostTimes {
            kernel: of(&QUIET_KERNEL),
            client: of(&QUIET_CLIENT),
            server: of(&QUIET_SERVER),
        });
        QUIET.clone()
    }
}

fn of(pauses: &[After]) -> PauseTimes {
    let quantile = |&(share, nanos): &(u32, u64)| (share, Duration::from_nanos(nanos));
    let after = |(millis, quantiles): &After| AfterPause {
        pause: Duration::from_millis(*millis),
        quantiles: quantiles.iter().map(quantile).collect(),
    };
    PauseTimes(pauses.iter().map(after).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_order() {
        let micros = Duration::from_micros;
        let after = |millis, quantiles: &[(u32, u64)]| AfterPause {
            pause: Duration::from_millis(millis),
            quantiles: quantiles.iter().map(|(share, time)| (*share, micros(*time))).collect(),
        };
        let all = [(0, 1), (1000, 2)];
        let refused = |pauses: Vec<AfterPause>| PauseTimes::new(pauses).err();
        assert_eq!(refused(vec![after(0, &all), after(1, &all)]), None);
        let wrong_pauses = [vec![], vec![after(1, &all)], vec![after(0, &all), after(2, &all), after(2, &all)]];
        assert!(wrong_pauses.into_iter().all(|pauses| refused(pauses) == Some(HostTimesError::Pauses)));
        for shares in [&[][..], &[(0, 1)], &[(0, 1), (900, 2)], &[(1, 1), (1000, 2)], &[(0, 1), (0, 1), (1000, 2)]] {
            assert_eq!(refused(vec![after(0, shares)]), Some(HostTimesError::Shares), "{shares:?}");
        }
        for times in [&[(0, 3), (1000, 2)][..], &[(0, 3), (1000, 1_000_001)]] {
            assert_eq!(refused(vec![after(0, times)]), Some(HostTimesError::Times), "{times:?}");
        }
        let HostTimes { kernel, client, server } = HostTimes::quiet();
        assert!([kernel, client, server].iter().all(|times| refused(times.pauses().to_vec()).is_none()));
        let half = after(0, &[(0, 10), (500, 20), (1000, 40)]);
        assert_eq!([0, 250, 500, 750, 1000].map(|share| half.at(share)), [10, 15, 20, 30, 40].map(micros));
    }
}
