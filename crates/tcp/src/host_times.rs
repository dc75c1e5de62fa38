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
/// What it takes to get to a SYN, and to what answers one.
const QUIET_SYN: [After; 3] =
    [(0, &[(0, 12_000), (1000, 25_000)]), (30, &[(0, 19_000), (1000, 52_000)]), (300, &[(0, 64_000), (1000, 120_000)])];
const QUIET_SYN_ACK: [After; 3] =
    [(0, &[(0, 14_000), (1000, 23_000)]), (30, &[(0, 16_000), (1000, 50_000)]), (300, &[(0, 41_000), (1000, 80_000)])];
/// What its programs take, by how many ms they have not done that, in µs: a client to ask for the next object and to open the first of several
/// connections for what it has read, and a server to answer, measured as [`crate::program`] says. The longest of a hundred are left out where there are
/// hundreds.
const QUIET_CLIENT: [(u64, [u64; 11]); 8] = [
    (0, [0, 0, 0, 0, 0, 1, 10, 21, 54, 128, 135]),
    (1, [0, 0, 0, 0, 0, 1, 10, 24, 106, 165, 197]),
    (3, [0, 0, 0, 0, 2, 7, 13, 30, 139, 183, 420]),
    (10, [0, 0, 0, 0, 5, 12, 23, 146, 198, 287, 321]),
    (30, [0, 3, 7, 9, 16, 23, 116, 182, 264, 358, 415]),
    (60, [0, 2, 7, 9, 17, 26, 116, 189, 324, 396, 432]),
    (120, [0, 5, 14, 20, 30, 44, 164, 307, 385, 432, 488]),
    (300, [18, 27, 32, 38, 55, 170, 241, 444, 567, 635, 689]),
];
const QUIET_SERVER: [(u64, [u64; 11]); 8] = [
    (0, [0, 0, 0, 0, 4, 9, 15, 44, 135, 167, 223]),
    (1, [0, 0, 0, 1, 5, 10, 19, 125, 168, 205, 264]),
    (3, [0, 2, 6, 7, 11, 17, 38, 170, 214, 317, 478]),
    (10, [0, 4, 9, 12, 20, 48, 186, 308, 382, 474, 500]),
    (30, [7, 11, 18, 23, 37, 152, 233, 367, 449, 595, 644]),
    (60, [34, 38, 47, 52, 93, 227, 355, 511, 720, 1343, 2242]),
    (120, [51, 51, 62, 71, 142, 249, 506, 715, 908, 1137, 1200]),
    (300, [51, 148, 208, 267, 375, 539, 971, 1239, 1590, 1667, 1697]),
];
/// A program that only reads is so many times as fast as one that asks for the next object: after 3 to 30 ms it acknowledges what was pushed 26 µs later
/// than its kernel what is out of order, and asks after 85 to 115 (Linux 6.18, in the middle of 15 loads of a busy hour).
const READS_SPEEDUP: u32 = 4;
/// Within a millisecond: one after the other.
const QUIET_OPENING: [(u64, [u64; 7]); 8] = [
    (0, [10, 13, 17, 23, 30, 33, 36]),
    (1, [4, 12, 14, 20, 25, 32, 151]),
    (3, [34, 36, 40, 51, 63, 135, 185]),
    (10, [15, 22, 31, 82, 359, 476, 868]),
    (30, [86, 87, 103, 145, 330, 406, 1043]),
    (60, [122, 147, 175, 395, 437, 624, 895]),
    (120, [163, 225, 356, 659, 848, 1023, 1242]),
    (300, [220, 329, 489, 683, 1012, 1547, 1902]),
];
/// Of these shares of a thousand.
const OF_HUNDREDS: [u32; 11] = [0, 10, 50, 100, 250, 500, 750, 900, 950, 980, 1000];
const OF_TENS: [u32; 7] = [0, 100, 250, 500, 750, 900, 1000];
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

    /// The mean of all.
    pub fn mean(&self) -> Duration {
        let between = |pair: &[(u32, Duration)]| (pair[0].1 + pair[1].1) / 2 * (pair[1].0 - pair[0].0);
        self.quantiles.windows(2).map(between).sum::<Duration>() / PauseTimes::ALL
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

    /// So many times as fast.
    fn faster(&self, times: u32) -> Self {
        let quantiles =
            |after: &AfterPause| after.quantiles.iter().map(|(share, time)| (*share, *time / times)).collect();
        Self(self.0.iter().map(|after| AfterPause { pause: after.pause, quantiles: quantiles(after) }).collect())
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
    /// The same if it carries data, which the kernel acknowledges: less is to be done then than where an acknowledgement lets data go.
    pub data: PauseTimes,
    /// The same if it is a SYN, which a server's kernel answers.
    pub syn: PauseTimes,
    /// The same if it answers a SYN.
    pub syn_ack: PauseTimes,
    /// A program, from when the kernel has got to data until it has read them, by how long it has not run.
    pub reading: PauseTimes,
    /// A client's, until it writes the next request after it has got to an object's end; by how long it has not asked, after the longest if it never has.
    pub client: PauseTimes,
    /// The same until it has opened the first of the connections for what it has read, and after that each after the one before; by how long it has
    /// opened none.
    pub opening: PauseTimes,
    /// A server's, from when the kernel has got to a request until it writes the answer, by how long it has answered none; until it finds that there is
    /// room in a send buffer half of what that takes, by how long it has not written on.
    pub server: PauseTimes,
}

impl HostTimes {
    /// Of a quiet machine.
    pub fn quiet() -> Self {
        static QUIET: LazyLock<HostTimes> = LazyLock::new(|| HostTimes {
            kernel: of(&QUIET_KERNEL),
            data: of(&QUIET_KERNEL),
            reading: HostTimes::reading_of(&of_programs(&QUIET_CLIENT, OF_HUNDREDS)),
            syn: of(&QUIET_SYN),
            syn_ack: of(&QUIET_SYN_ACK),
            client: of_programs(&QUIET_CLIENT, OF_HUNDREDS),
            opening: of_programs(&QUIET_OPENING, OF_TENS),
            server: of_programs(&QUIET_SERVER, OF_HUNDREDS),
        });
        QUIET.clone()
    }

    /// How long programs take to read where only that is known which it takes a client to ask.
    pub fn reading_of(client: &PauseTimes) -> PauseTimes {
        client.faster(READS_SPEEDUP)
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

fn of_programs<const N: usize>(pauses: &[(u64, [u64; N])], shares: [u32; N]) -> PauseTimes {
    let after = |(millis, micros): &(u64, [u64; N])| AfterPause {
        pause: Duration::from_millis(*millis),
        quantiles: shares.into_iter().zip(micros.map(Duration::from_micros)).collect(),
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
        let HostTimes { kernel, data, syn, syn_ack, reading, client, opening, server } = HostTimes::quiet();
        assert!(
            [kernel, data, syn, syn_ack, reading, client, opening, server]
                .iter()
                .all(|times| refused(times.pauses().to_vec()).is_none())
        );
        let half = after(0, &[(0, 10), (500, 20), (1000, 40)]);
        assert_eq!([0, 250, 500, 750, 1000].map(|share| half.at(share)), [10, 15, 20, 30, 40].map(micros));
        assert_eq!(half.mean(), Duration::from_nanos(22_500));
    }
}
