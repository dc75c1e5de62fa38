//! Which architecture? The predicted ranking in words.

use crate::format;
use farhop_results::{Architecture, Rank, Results};

/// What takes less than so many times as long as direct takes as long, to two digits.
const LONGER: f64 = 1.005;

/// "9.20 times as fast as direct", or that it is not worth two boxes.
pub(crate) fn verdict(rank: &Rank) -> String {
    match rank {
        rank if rank.architecture == Architecture::Direct => "what there is without boxes".to_owned(),
        rank if rank.benefit => format!("{} times as fast as direct", format::ratio(rank.gain)),
        rank if 1.0 / rank.gain >= LONGER => {
            format!("no benefit: {} times as long as direct", format::ratio(1.0 / rank.gain))
        }
        _ => "no benefit".to_owned(),
    }
}

/// What the ranking comes to, in a sentence; nothing without one.
pub(crate) fn conclusion(results: &Results) -> Option<String> {
    let first = results.ranking.first()?;
    Some(match results.ranking.iter().find(|rank| rank.benefit) {
        Some(rank) => format!("{} is predicted to be the fastest, {}", rank.architecture, verdict(rank)),
        None if first.architecture == Architecture::Direct => {
            "no benefit: nothing is faster than direct here".to_owned()
        }
        None => "no benefit: nothing is so much faster than direct here that it is worth two boxes".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(architecture: Architecture, gain: f64, benefit: bool) -> Rank {
        Rank { architecture, method: "farhop".to_owned(), page_load_s: 1.0 / gain, gain, benefit }
    }

    #[test]
    fn a_gain_is_told_only_where_it_is_a_benefit() {
        assert_eq!(verdict(&rank(Architecture::Accelerated, 9.204, true)), "9.20 times as fast as direct");
        assert_eq!(verdict(&rank(Architecture::Tunnel, 1.02, false)), "no benefit");
        assert_eq!(verdict(&rank(Architecture::Split, 0.9999, false)), "no benefit");
        assert_eq!(verdict(&rank(Architecture::Split, 0.99, false)), "no benefit: 1.01 times as long as direct");
        assert_eq!(verdict(&rank(Architecture::Split, 0.5, false)), "no benefit: 2.00 times as long as direct");
        assert_eq!(verdict(&rank(Architecture::Direct, 1.0, false)), "what there is without boxes");
    }
}
