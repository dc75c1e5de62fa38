//! What BBR multiplies its model of the path by; in units of 1/256, as in Linux, so that the numbers are the same.

use farhop_units::{Bytes, Rate};

/// A factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

/// BBR_UNIT.
const UNIT: u64 = 256;
/// `bbr_high_gain`: 2/ln 2, the least that doubles the rate per round.
pub(super) const HIGH: Gain = Gain(UNIT * 2885 / 1000 + 1);
/// `bbr_drain_gain`: its inverse.
pub(super) const DRAIN: Gain = Gain(UNIT * 1000 / 2885);
/// `bbr_cwnd_gain`.
pub(super) const WINDOW: Gain = Gain(UNIT * 2);
/// `bbr_pacing_gain`: one phase asks for more, one gives that back.
pub(super) const CYCLE: [Gain; 8] =
    [Gain(UNIT * 5 / 4), Gain(UNIT * 3 / 4), Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE];
/// `bbr_cycle_rand`: phases among which the first one is drawn.
pub(super) const CYCLE_RANDOM: u64 = 7;

impl Gain {
    /// Nothing more, nothing less.
    pub(super) const ONE: Self = Self(UNIT);

    /// This many times `bytes`.
    pub(super) fn of_bytes(self, bytes: Bytes) -> Bytes {
        Bytes::new(self.of(bytes.get()))
    }

    /// This many times `rate`.
    pub(super) fn of_rate(self, rate: Rate) -> Option<Rate> {
        Rate::from_bits_per_second(self.of(rate.bits_per_second()))
    }

    fn of(self, number: u64) -> u64 {
        u64::try_from(u128::from(number) * u128::from(self.0) / u128::from(UNIT)).unwrap_or(u64::MAX)
    }
}

/// `bbr_pacing_margin_percent`: a little below the estimate, so that queues do not grow from its error.
pub(super) fn with_margin(rate: Rate) -> Option<Rate> {
    Rate::from_bits_per_second(rate.bits_per_second() / 100 * 99)
}
