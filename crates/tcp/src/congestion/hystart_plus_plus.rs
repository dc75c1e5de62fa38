//! HyStart++ (RFC 9406): slow start becomes conservative when the RTT of a round has grown, ends after five such rounds, and
//! becomes itself again if the growth was a false alarm.
//!
//! Left out: the limit L on growth per acknowledgement (§4.2), since the sender here is not paced and RFC 3465's limit is the
//! configuration's.

use super::Acknowledged;
use crate::Sequence;
use std::time::Duration;

/// MIN_RTT_THRESH and MAX_RTT_THRESH (§4.3).
const RTT_THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// MIN_RTT_DIVISOR.
const RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: what an acknowledgement adds in conservative slow start is divided by it.
pub(super) const GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS.
const ROUNDS: u32 = 5;

/// What slow start is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Grow.
    SlowStart,
    /// Grow by a quarter of that.
    Conservative,
    /// End.
    Over,
}

/// Conservative slow start, with the RTT that justifies it.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

/// Watches the ACKs of the first slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStartPlusPlus {
    /// Where the round ends (windowEnd), and the least RTT of the round before and of this one.
    end: Option<Sequence>,
    last_least: Option<Duration>,
    least: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStartPlusPlus {
    /// What slow start is to do with this ACK (§4.2).
    pub(super) fn judge(&mut self, ack: &Acknowledged) -> Stage {
        let ended = self.end.is_none_or(|end| ack.sequence > end);
        if ended && let Some(stage) = self.begin_round(ack) {
            return stage;
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.compare();
        }
        if self.conservative.is_some() { Stage::Conservative } else { Stage::SlowStart }
    }

    fn begin_round(&mut self, ack: &Acknowledged) -> Option<Stage> {
        self.end = Some(ack.next);
        (self.last_least, self.least, self.samples) = (self.least, None, 0);
        let conservative = self.conservative.as_mut()?;
        conservative.rounds += 1;
        (conservative.rounds > ROUNDS).then_some(Stage::Over)
    }

    fn compare(&mut self) {
        let Some(least) = self.least else { return };
        if let Some(conservative) = self.conservative {
            if least < conservative.baseline {
                self.conservative = None;
            }
        } else if let Some(last) = self.last_least {
            let threshold = (last / RTT_DIVISOR).clamp(RTT_THRESHOLD.0, RTT_THRESHOLD.1);
            if least >= last + threshold {
                self.conservative = Some(Conservative { baseline: least, rounds: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::{Bytes, Instant};

    /// The stage at the end of each round of ten ACKs with these RTTs in ms.
    fn stages(rtts: &[u64]) -> Vec<Stage> {
        let mut hystart = HyStartPlusPlus::default();
        let mut stages = Vec::new();
        for (round, rtt) in (0_u64..).zip(rtts) {
            let at = |number: u64| Sequence::FIRST_BYTE + Bytes::new(number);
            let judge = |number: u64| {
                hystart.judge(&Acknowledged {
                    now: Instant::START,
                    bytes: Bytes::new(1),
                    rtt: Some(Duration::from_millis(*rtt)),
                    smoothed: None,
                    sequence: at(round * 10 + number),
                    next: at(round * 10 + 9 + number),
                })
            };
            let judged: Vec<Stage> = (0..10).map(judge).collect();
            // Over is said once.
            let over = judged.contains(&Stage::Over);
            stages.push(if over { Stage::Over } else { judged[9] });
            if over {
                break;
            }
        }
        stages
    }

    #[test]
    fn five_conservative_rounds_follow_a_growth_by_an_eighth() {
        use Stage::{Conservative, Over, SlowStart};
        let seen = stages(&[100, 111, 124, 125, 126, 127, 128, 129, 130]);
        assert_eq!(
            seen,
            [SlowStart, SlowStart, SlowStart, SlowStart, SlowStart, SlowStart, SlowStart, SlowStart, SlowStart],
            "grows by less than an eighth from round to round"
        );
        let seen = stages(&[100, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(seen, [SlowStart, Conservative, Conservative, Conservative, Conservative, Conservative, Over]);
    }

    #[test]
    fn a_false_alarm_is_taken_back() {
        use Stage::{Conservative, SlowStart};
        assert_eq!(stages(&[100, 113, 112, 112]), [SlowStart, Conservative, SlowStart, SlowStart]);
    }
}
