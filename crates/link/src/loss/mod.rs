//! Losses at the end of the pipe: independent of each other, by bit errors, or in bursts.
//!
//! Packet n meets number n of the path's stream, whatever the model (see `random`): of two models the one that is more
//! likely to lose packet n loses it if the other does. The bursty channel's turns have a stream of their own. Left out:
//! losses that depend on time rather than on packets (outages have a stage of their own), and forward error correction,
//! which a model's parameters have to account for.

mod model;

pub use model::{GilbertElliott, LossModel};

use crate::Port;
use crate::random::{self, Impairment, Stream};
use farhop_units::{Bytes, Probability};

/// Decides packet by packet.
#[derive(Debug)]
pub(crate) struct Loss {
    model: LossModel,
    losses: Stream,
    bursts: Stream,
    packets: u64,
    /// Whether a bursty channel's next packet meets the bad state.
    is_bad: bool,
}

impl Loss {
    /// The losses of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(model: LossModel, seed: u64, entry: Port) -> Self {
        let stream = |impairment| random::stream(seed, impairment, entry);
        let (losses, bursts) = (stream(Impairment::Loss), stream(Impairment::Burst));
        Self { model, losses, bursts, packets: 0, is_bad: false }
    }

    /// Whether the next packet is lost.
    pub(crate) fn takes_next(&mut self, bytes: Bytes) -> bool {
        let index = self.packets;
        self.packets += 1;
        let probability = match self.model {
            LossModel::None => return false,
            LossModel::Bernoulli(probability) => probability,
            LossModel::BitErrors(rate) => any_wrong_bit(rate, bytes),
            LossModel::GilbertElliott(model) => self.burst_loss(model, index),
        };
        self.losses.happens(index, probability)
    }

    /// So many packets have passed unharmed.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.packets += packets;
    }

    /// Changes the model. The streams go on; a bursty channel begins good.
    pub(crate) fn set_model(&mut self, model: LossModel) {
        self.model = model;
        self.is_bad = false;
    }

    /// How likely packet `index` is lost in the state that it meets; then the chain takes its step.
    fn burst_loss(&mut self, model: GilbertElliott, index: u64) -> Probability {
        let (loss, turn) = if self.is_bad { (model.bad, model.leave) } else { (model.good, model.enter) };
        self.is_bad ^= self.bursts.happens(index, turn);
        loss
    }
}

/// Probability of at least one wrong bit: 1 − (1 − rate)^(8·bytes), with full precision for rates of 10⁻¹² too.
fn any_wrong_bit(rate: Probability, bytes: Bytes) -> Probability {
    if bytes == Bytes::ZERO {
        return Probability::ZERO;
    }
    let all_right = bytes.bits_f64() * libm::log1p(-rate.get());
    Probability::new(-libm::expm1(all_right)).expect("the logarithm of a probability is not above zero, nor NaN")
}

#[cfg(test)]
mod tests;
