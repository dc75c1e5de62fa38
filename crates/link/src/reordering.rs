//! Packets that are overtaken.
//!
//! Some packets, chosen at random, take a longer way: they arrive `by` later than they would have, and those behind them do
//! not wait. A packet is so overtaken by the packets that arrive within that time, and by no other; nothing else in a link
//! reorders. Left out: packets that take a shorter way than those before them, several parallel ways.

use crate::Port;
use crate::random::{self, Impairment, Stream};
use core::fmt;
use core::str::FromStr;
use farhop_units::terms::{Terms, time};
use farhop_units::{ParseError, Probability, duration};
use std::time::Duration;

/// Which packets are held back so that later ones overtake them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reordering {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// By how long: so much, no more.
    pub by: Duration,
}

const NONE: &str = "none";
const ACCEPTED: &str = "none, or probability=1% by=10ms";

impl FromStr for Reordering {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let missing = |name| ParseError::new(format!("no \"{name}\" in \"{text}\""), ACCEPTED);
        let reordering = match terms.word {
            NONE => Self::default(),
            "" => Self {
                probability: terms.get("probability", str::parse)?.ok_or_else(|| missing("probability"))?,
                by: terms.get("by", held_back)?.ok_or_else(|| missing("by"))?,
            },
            other => return Err(ParseError::unknown("reordering", other, [NONE], ACCEPTED)),
        };
        terms.finish()?;
        Ok(reordering)
    }
}

fn held_back(text: &str) -> Result<Duration, ParseError> {
    match duration::parse(text)? {
        Duration::ZERO => Err(ParseError::new("held back for no time", format!("more than 0 ms, or {NONE}"))),
        by => Ok(by),
    }
}

/// A fraction, since a percentage may round.
impl fmt::Display for Reordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str(NONE);
        }
        write!(f, "probability={} by={}", self.probability.get(), time(self.by))
    }
}

/// Decides packet by packet.
#[derive(Debug)]
pub(crate) struct ReorderingProcess {
    reordering: Reordering,
    stream: Stream,
    packets: u64,
}

impl ReorderingProcess {
    /// The reordering of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(reordering: Reordering, seed: u64, entry: Port) -> Self {
        Self { reordering, stream: random::stream(seed, Impairment::Reordering, entry), packets: 0 }
    }

    /// How long the next packet is held back, if it is.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        let index = self.packets;
        self.packets += 1;
        let Reordering { probability, by } = self.reordering;
        self.stream.happens(index, probability).then_some(by)
    }

    /// So many packets have passed unharmed.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.packets += packets;
    }

    /// What it is set to.
    pub(crate) const fn reordering(&self) -> Reordering {
        self.reordering
    }

    /// Changes the reordering; the stream goes on.
    pub(crate) fn set_reordering(&mut self, reordering: Reordering) {
        self.reordering = reordering;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BY: Duration = Duration::from_millis(10);

    fn reordering(probability: f64) -> Reordering {
        Reordering { probability: Probability::new(probability).expect("from 0 to 1"), by: BY }
    }

    fn process(probability: f64) -> ReorderingProcess {
        ReorderingProcess::new(reordering(probability), 7, Port::Gateway)
    }

    #[test]
    fn the_share_of_packets_is_held_back_for_the_time() {
        let mut process = process(0.02);
        let held: Vec<Duration> = (0..100_000).filter_map(|_| process.next()).collect();
        // 2000 ± 4·√(100,000 · 0.02 · 0.98)
        assert!((1823..=2177).contains(&held.len()), "{}", held.len());
        assert!(held.iter().all(|&by| by == BY));
    }

    #[test]
    fn never_and_always_are_exact() {
        let (mut never, mut always) = (process(0.0), process(1.0));
        assert!((0..10_000).all(|_| never.next().is_none() && always.next() == Some(BY)));
    }

    #[test]
    fn a_change_goes_on_with_the_stream() {
        let (mut changed, mut constant) = (process(0.0), process(0.5));
        for _ in 0..100 {
            changed.next();
            constant.next();
        }
        changed.set_reordering(reordering(0.5));
        assert!((0..100).all(|_| changed.next() == constant.next()));
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<Reordering>().unwrap_err().problem;
        assert_eq!(problem(""), "no \"probability\" in \"\"");
        assert_eq!(problem("probability=1%"), "no \"by\" in \"probability=1%\"");
        assert_eq!(problem("probability=101% by=1ms"), "probability: \"101%\" is outside 0 to 1");
        assert_eq!(problem("probability=1% by=0ms"), "by: held back for no time");
        assert_eq!(problem("often by=1ms"), "unknown reordering \"often\"");
        assert_eq!(problem("none by=1ms"), "unknown term \"by\"");
        assert_eq!("probability=1% by=10ms".parse(), Ok(reordering(0.01)));
    }

    proptest! {
        #[test]
        fn reordering_reads_back_exactly(probability in 0.0..=1.0, nanos in 1_u64..) {
            let reordering = Reordering { by: Duration::from_nanos(nanos), ..reordering(probability) };
            prop_assert_eq!(reordering.to_string().parse(), Ok(reordering));
            prop_assert_eq!(Reordering::default().to_string().parse(), Ok(Reordering::default()));
        }

        #[test]
        fn any_text_gives_an_answer(text in "none|( ?(probability|by)=[0-9a-z.%]{0,20}){0,3}|.*") {
            let _ = text.parse::<Reordering>();
        }
    }
}
