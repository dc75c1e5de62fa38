//! Losses at the end of the pipe.
//!
//! Every packet that reaches the end takes exactly one number from the direction's stream, whatever the model. So packet
//! `n` meets the same number in every run of a seed, before and after any change of the link, and two runs that differ in
//! one setting can be compared on common random numbers. Left out: losses in bursts, bit errors that depend on the size.

use crate::{Direction, LossModel};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// Decides packet by packet.
#[derive(Debug)]
pub(crate) struct Loss {
    model: LossModel,
    stream: Pcg64,
}

impl Loss {
    /// The losses of one direction of a channel with this seed.
    pub(crate) fn new(model: LossModel, seed: u64, direction: Direction) -> Self {
        Self { model, stream: stream(seed, Impairment::Loss, direction) }
    }

    /// Whether the next packet is lost.
    pub(crate) fn takes_next(&mut self) -> bool {
        let number = uniform(self.stream.next_u64());
        match self.model {
            LossModel::None => false,
            LossModel::Bernoulli(probability) => number < probability.get(),
        }
    }

    /// Changes the model; the stream goes on.
    pub(crate) fn set_model(&mut self, model: LossModel) {
        self.model = model;
    }
}

/// What needs random numbers. Each has a stream of its own per direction, so that a new one leaves the others as they are.
#[derive(Debug, Clone, Copy)]
enum Impairment {
    Loss = 0,
}

/// The stream of one impairment and direction: a first generator deals out the seeds.
fn stream(seed: u64, impairment: Impairment, direction: Direction) -> Pcg64 {
    let mut seeds = Pcg64::seed_from_u64(seed);
    let number = impairment as usize * Direction::BOTH.len() + direction as usize;
    for _ in 0..number {
        seeds.next_u64();
    }
    Pcg64::seed_from_u64(seeds.next_u64())
}

/// A number from 0 to below 1 out of 64 random bits, of which 53 fit: exact, so the same on every machine.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Probability;

    const PACKETS: u32 = 100_000;

    fn bernoulli(probability: f64) -> LossModel {
        LossModel::Bernoulli(Probability::new(probability).expect("from 0 to 1"))
    }

    /// The fates of the next packets, lost is 1.
    fn fates(loss: &mut Loss, packets: u32) -> Vec<u32> {
        (0..packets).map(|_| u32::from(loss.takes_next())).collect()
    }

    #[test]
    fn losses_are_as_frequent_as_the_probability_says() {
        for (probability, direction) in [(0.001, Direction::Down), (0.1, Direction::Up), (0.5, Direction::Down)] {
            let mut loss = Loss::new(bernoulli(probability), 3, direction);
            let lost = f64::from(fates(&mut loss, PACKETS).iter().sum::<u32>());
            let expected = f64::from(PACKETS) * probability;
            let deviation = (expected * (1.0 - probability)).sqrt();
            assert!((lost - expected).abs() < 4.0 * deviation, "{lost} of {PACKETS} lost, {expected} expected");
        }
    }

    #[test]
    fn losses_come_in_bursts_only_by_chance() {
        let mut loss = Loss::new(bernoulli(0.1), 3, Direction::Down);
        let fates = fates(&mut loss, PACKETS);
        let pairs = f64::from(fates.windows(2).map(|pair| pair[0] * pair[1]).sum::<u32>());
        let expected = f64::from(PACKETS) * 0.01;
        assert!((pairs - expected).abs() < 5.0 * expected.sqrt(), "{pairs} pairs, {expected} expected");
    }

    #[test]
    fn zero_loses_nothing_and_one_everything() {
        assert!(!fates(&mut Loss::new(bernoulli(0.0), 1, Direction::Up), PACKETS).contains(&1));
        assert!(!fates(&mut Loss::new(bernoulli(1.0), 1, Direction::Up), PACKETS).contains(&0));
    }

    #[test]
    fn a_packet_meets_the_same_number_under_every_model() {
        let expected = fates(&mut Loss::new(bernoulli(0.3), 5, Direction::Down), 3000);
        let mut changing = Loss::new(LossModel::None, 5, Direction::Down);
        fates(&mut changing, 1000);
        changing.set_model(bernoulli(1.0));
        fates(&mut changing, 1000);
        changing.set_model(bernoulli(0.3));
        assert_eq!(fates(&mut changing, 1000), expected[2000..]);
    }

    #[test]
    fn directions_and_seeds_have_streams_of_their_own() {
        let of = |seed, direction| fates(&mut Loss::new(bernoulli(0.5), seed, direction), 1000);
        let down = of(1, Direction::Down);
        for other in [of(1, Direction::Up), of(2, Direction::Down)] {
            let same = down.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!((430..570).contains(&same), "{same} of 1000 alike");
        }
    }

    #[test]
    fn a_seed_means_the_same_losses_for_ever() {
        // Recorded runs replay only as long as this holds; a new version of a library must not change it silently.
        let of = |direction| fates(&mut Loss::new(bernoulli(0.5), 1, direction), 32);
        let word = |fates: Vec<u32>| fates.iter().fold(0_u32, |word, fate| word << 1 | fate);
        assert_eq!([word(of(Direction::Down)), word(of(Direction::Up))], [0x8e66_fc23, 0x77d0_54ca]);
    }
}
