//! What all engines say of a point.

use crate::{Agreement, Answer, Measured, Point};
use farhop_results::Sample;

/// What all engines say of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The real programs, and which point it is.
    pub measured: Measured,
    /// The model.
    pub predicted: Answer,
    /// The simulator.
    pub simulated: Answer,
}

/// Times that lie further apart than this share of their middle differ by more than what host and emulator take.
const SCATTER: f64 = 0.02;

impl Outcome {
    /// The point.
    pub fn point(&self) -> &Point {
        &self.measured.point
    }

    /// How many loads were measured.
    pub(crate) fn loads(&self) -> usize {
        self.measured.answer.times().map_or(0, Sample::count)
    }

    /// Whether loads differ from run to run: by dice, or because hosts that answer microseconds sooner or later find a queue full or not.
    pub fn is_random(&self) -> bool {
        self.point().is_random() || [&self.simulated, &self.measured.answer].into_iter().any(scatters)
    }

    /// How far one of our answers is from what was measured, if there are both.
    pub fn agreement(&self, ours: &Answer) -> Option<Agreement> {
        Agreement::of(ours.times()?, self.measured.answer.times()?, self.is_random())
    }
}

fn scatters(answer: &Answer) -> bool {
    let spread = |times: &Sample| {
        let [least, middle, most] = [0.0, 0.5, 1.0].map(|share| times.quantile(share));
        Some((most? - least?) / middle?)
    };
    answer.times().and_then(spread).is_some_and(|spread| spread > SCATTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    #[test]
    fn loads_without_dice_are_random_if_they_lie_two_per_cent_apart() {
        let mut points = (0..).map(|number| Point::draw(1, Set::Simulator, number));
        let point = points.find(|point| !point.is_random()).expect("some lose nothing");
        let of = |simulated: [f64; 3], measured: [f64; 3]| {
            let [simulated, answer] = [simulated, measured].map(|times| Answer::Times(Sample::new(times)));
            let measured = Measured { answer, ..Measured::nothing(point.clone()) };
            Outcome { measured, predicted: Answer::Gap("none".to_owned()), simulated }.is_random()
        };
        let (near, far) = ([1.0, 1.019, 1.01], [1.03, 1.0, 1.01]);
        assert!(!of(near, near) && of(near, far) && of(far, near));
    }
}
