//! Which packets are lost.

use crate::recursion::RecursionError;
use crate::recursion::connection::Side;
use farhop_scenario::LossModel;
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Probability};

/// Losses in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Way {
    #[default]
    None,
    Independent(f64),
    /// Gilbert and Elliott's two states, stepped once per packet.
    Bursts {
        enter: f64,
        leave: f64,
        good: f64,
        bad: f64,
    },
}

/// Losses on the way down and up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    down: Way,
    up: Way,
    /// Of small packets on the way up.
    small: f64,
}

impl Losses {
    /// Each packet on the way down is lost with this probability.
    pub fn independent(down: Probability) -> Self {
        Self { down: Way::of(LossModel::Bernoulli(down), Bytes::ZERO), ..Self::default() }
    }

    /// The models of the hops each way. Bursts stay bursts if nothing else loses packets, and count by their mean otherwise; `segment` is
    /// a full packet, for bit errors.
    pub fn of(
        down: impl IntoIterator<Item = LossModel>,
        up: impl IntoIterator<Item = LossModel>,
        segment: Bytes,
    ) -> Self {
        let none = (Way::None, Way::None);
        let join =
            |(large, small): (Way, Way), model| (large.and(Way::of(model, segment)), small.and(Way::of(model, SMALL)));
        let (up, small) = up.into_iter().fold(none, join);
        Self { down: down.into_iter().fold(none, join).0, up, small: small.mean() }
    }

    /// # Errors
    /// More than half of the packets are lost: what such a link takes is a matter of luck and patience.
    pub(super) fn check(&self) -> Result<(), RecursionError> {
        let loss = Probability::new(self.down.mean().max(self.up.mean())).unwrap_or(Probability::ONE);
        if loss.get() > MOST { Err(RecursionError::TooLossy { loss }) } else { Ok(()) }
    }

    /// Nothing is ever lost.
    pub fn are_none(&self) -> bool {
        self.down.mean() <= 0.0 && self.up.mean() <= 0.0
    }
}

/// What goes up is mostly acknowledgements and requests.
const SMALL: Bytes = Bytes::new(300);

impl Way {
    fn of(model: LossModel, packet: Bytes) -> Self {
        match model {
            LossModel::None => Self::None,
            LossModel::Bernoulli(probability) => Self::Independent(probability.get()),
            LossModel::BitErrors(rate) => {
                Self::Independent(-libm::expm1(packet.bits_f64() * libm::log1p(-rate.get().min(ALMOST_ALL))))
            }
            LossModel::GilbertElliott(model) => Self::Bursts {
                enter: model.enter.get(),
                leave: model.leave.get(),
                good: model.good.get(),
                bad: model.bad.get(),
            },
        }
    }

    /// The share of packets that is lost in the long run.
    fn mean(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Independent(probability) => probability,
            Self::Bursts { enter, leave, good, bad } => {
                let share = if enter + leave > 0.0 { enter / (enter + leave) } else { 0.0 };
                (1.0 - share) * good + share * bad
            }
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (way, nothing) | (nothing, way) if nothing.mean() <= 0.0 => way,
            (one, other) => Self::Independent(1.0 - (1.0 - one.mean()) * (1.0 - other.mean())),
        }
    }
}

/// Largest mean that is answered.
const MOST: f64 = 0.5;
/// In a burst too, a packet gets through now and then.
const ALMOST_ALL: f64 = 0.9999;
/// Packets that nobody sends.
const NEVER: u64 = u64::MAX;
/// A chain that turns more often than this without a loss has none to speak of.
const MOST_TURNS: u32 = 1 << 12;

/// What happens to the packets of one load.
#[derive(Debug)]
pub(super) struct Fate {
    down: Way,
    up: Way,
    /// By sender: what [`kept`] gives where each packet is lost by itself.
    kept: [f64; 2],
    small: f64,
    dice: Dice,
}

/// The logarithm of the probability that what has this one does not happen.
fn kept(probability: f64) -> f64 {
    libm::log1p(-probability)
}

impl Fate {
    /// Nothing is lost.
    pub(super) fn none() -> Self {
        let dice = Dice::new(Stream::new(0, 0));
        Self { down: Way::None, up: Way::None, kept: [0.0; 2], small: 0.0, dice }
    }

    /// One way in which it can go.
    pub(super) fn new(losses: &Losses, sample: u64) -> Self {
        let dice = Dice::new(Stream::new(PURPOSE, sample));
        let Losses { down, up, small } = *losses;
        let kept = [up, down].map(|way| match way {
            Way::Independent(probability) => kept(probability.min(ALMOST_ALL)),
            Way::None | Way::Bursts { .. } => 0.0,
        });
        Self { down, up, kept, small: small.min(ALMOST_ALL), dice }
    }

    fn way(&self, sender: Side) -> Way {
        match sender {
            Side::Client => self.up,
            Side::Server => self.down,
        }
    }

    /// Packets from `sender` on a connection that arrive before the next one that is lost; `is_bad` is the state that the link is in for it.
    pub(super) fn until_loss(&mut self, sender: Side, is_bad: &mut bool) -> u64 {
        match self.way(sender) {
            Way::None => NEVER,
            Way::Independent(probability) => self.before(probability.min(ALMOST_ALL), self.kept[sender as usize]),
            Way::Bursts { enter, leave, good, bad } => {
                let mut arrived = 0_u64;
                for _ in 0..MOST_TURNS {
                    let (loss, turn) = if *is_bad { (bad, leave) } else { (good, enter) };
                    let loss = loss.min(ALMOST_ALL);
                    let (lost, turned) = (self.before(loss, kept(loss)), self.before(turn, kept(turn)));
                    // The step that a packet makes the chain take is the next packet's.
                    *is_bad ^= turned <= lost;
                    if lost <= turned {
                        return arrived.saturating_add(lost);
                    }
                    arrived = arrived.saturating_add(turned).saturating_add(1);
                }
                arrived
            }
        }
    }

    /// Packets before the first one that something of this probability happens to; `kept` is that of its complement.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    fn before(&mut self, probability: f64, kept: f64) -> u64 {
        match probability {
            never if never <= 0.0 => NEVER,
            always if always >= 1.0 => 0,
            _ => (libm::log1p(-self.dice.uniform()) / kept).min(1e18) as u64,
        }
    }

    /// The share of full packets from `sender` that is lost.
    pub(super) fn mean(&self, sender: Side) -> f64 {
        self.way(sender).mean().min(ALMOST_ALL)
    }

    /// The state that a connection finds the link in after others' packets have passed; `None` if losses have no memory.
    pub(super) fn afresh(&mut self, sender: Side) -> Option<bool> {
        match self.way(sender) {
            Way::None | Way::Independent(_) => None,
            Way::Bursts { enter, leave, .. } => Some(self.dice.uniform() * (enter + leave) < enter),
        }
    }

    /// Whether a request or another single packet on the way up, or the answer to it, is lost.
    pub(super) fn loses_exchange(&mut self) -> bool {
        let kept = (1.0 - self.small) * (1.0 - self.mean(Side::Server));
        self.dice.uniform() >= kept
    }

    /// Whether a single packet on the way up is lost.
    pub(super) fn loses_request(&mut self) -> bool {
        self.dice.uniform() < self.small
    }

    pub(super) fn is_none(&self) -> bool {
        self.down.mean() <= 0.0 && self.up.mean() <= 0.0
    }
}

/// The stream of this model's dice.
const PURPOSE: u64 = 0x6c6f_7373;

#[cfg(test)]
mod tests {
    use super::*;

    fn share(losses: &Losses) -> f64 {
        let mut fate = Fate::new(losses, 1);
        let (mut packets, mut lost, mut is_bad) = (0_u64, 0_u32, false);
        while packets < 400_000 {
            packets += fate.until_loss(Side::Server, &mut is_bad) + 1;
            lost += 1;
        }
        f64::from(lost) / packets as f64
    }

    #[test]
    fn losses_have_the_share_of_their_model() {
        let bursts: LossModel = "gilbert-elliott enter=1% leave=20%".parse().unwrap();
        let bits: LossModel = "bit-errors rate=1e-6".parse().unwrap();
        for (model, expected) in [
            (LossModel::Bernoulli(Probability::new(0.02).unwrap()), 0.02),
            (bursts, 0.01 / 0.21),
            (bits, 1.0 - libm::exp(-12_000.0 * 1e-6)),
        ] {
            let losses = Losses::of([model], [], Bytes::new(1500));
            let share = share(&losses);
            assert!((share / expected - 1.0).abs() < 0.05, "{model:?}: {share}");
        }
    }

    #[test]
    fn hops_add_up_and_bursts_alone_stay_bursts() {
        let half = LossModel::Bernoulli(Probability::new(0.5).unwrap());
        let both = Losses::of([half, LossModel::None, half], [LossModel::None], Bytes::new(1500));
        assert!((both.down.mean() - 0.75).abs() < 1e-12 && both.up.mean() <= 0.0);
        let bursts: LossModel = "gilbert-elliott enter=1% leave=20%".parse().unwrap();
        assert!(matches!(Losses::of([LossModel::None, bursts], [], Bytes::ZERO).down, Way::Bursts { .. }));
        assert!(Losses::of([LossModel::None], [], Bytes::ZERO).are_none());
    }

    #[test]
    fn a_link_that_loses_most_is_refused() {
        let of = |loss| Losses::independent(Probability::new(loss).unwrap()).check();
        assert_eq!(of(0.5), Ok(()));
        assert_eq!(of(0.6).unwrap_err().to_string(), "loss is 60 % on average; accepted: at most 50 %");
    }
}
