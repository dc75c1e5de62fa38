//! What a channel is made of, as a scenario describes it.

use crate::change::{ACCESS, TERMINALS, no_terminals};
use crate::{Access, Direction, Discipline, Framing, Jitter, LossModel, Orbit, Outages, QueueLimit, Reordering, Trace};
use farhop_units::{Instant, ParseError, Probability, Rate};
use std::time::Duration;

/// Both directions of a link between a gateway and its terminals.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelConfig {
    /// Gateway → terminals: one transmitter for all of them.
    pub down: DirectionConfig,
    /// Terminals → gateway. With dedicated access each terminal has all of this to itself; with any other scheme they
    /// share the rate, while queue, delay and impairments are each terminal's own.
    pub up: DirectionConfig,
    /// Number of terminals, at least one.
    pub terminals: u16,
    /// How the terminals share the way up.
    pub access: Access,
}

/// One terminal, no constraint at all.
impl Default for ChannelConfig {
    fn default() -> Self {
        Self {
            down: DirectionConfig::default(),
            up: DirectionConfig::default(),
            terminals: 1,
            access: Access::Dedicated,
        }
    }
}

/// One direction: queue → medium access → serializer → pipe → impairments. The default is no constraint at all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionConfig {
    /// Rate of the serializer, in bits on the wire with IP headers; `None` is unlimited. A trace takes its place.
    pub rate: Option<Rate>,
    /// One-way propagation delay. A trace that has delays takes its place; an orbit adds its path.
    pub delay: Duration,
    /// Recorded rate and delay.
    pub trace: Option<Trace>,
    /// A satellite's path and handovers.
    pub orbit: Option<Orbit>,
    /// What may wait for the serializer, not counting the packet in service.
    pub queue: QueueLimit,
    /// Which waiting packet goes next.
    pub discipline: Discipline,
    /// What is added to every packet on the wire.
    pub framing: Framing,
    /// Extra delay per packet, in order.
    pub jitter: Jitter,
    /// Which packets are overtaken.
    pub reordering: Reordering,
    /// What is lost on the way.
    pub loss: LossModel,
    /// When nothing passes.
    pub outages: Outages,
    /// Probability that one bit of a packet is flipped.
    pub corruption: Probability,
    /// Probability that a packet arrives twice.
    pub duplication: Probability,
}

impl DirectionConfig {
    /// Whether packets pass as if the direction were not there.
    pub fn is_transparent(&self) -> bool {
        // Without a serializer nothing waits, so queue, discipline and framing are of no effect.
        let Self { queue, discipline, framing, .. } = self.clone();
        *self == Self { queue, discipline, framing, ..Self::default() }
    }

    /// The most that the serializer ever carries; `None` is unlimited. A lower bound of times needs it.
    pub fn peak_rate(&self) -> Option<Rate> {
        self.trace.as_ref().map_or(self.rate, Trace::peak_rate)
    }

    /// The rate for a sender that has to be told one: its own, or the most that its trace ever carries, of opportunities the mean; `None` is
    /// unlimited.
    pub fn told_rate(&self) -> Option<Rate> {
        self.peak_rate().or_else(|| self.trace.as_ref()?.record.mean_rate())
    }

    /// How many bits the serializer can send from one time to another, frame headers and coding among them; `None` is no bound. Of outages at
    /// random it is what can be sent on average, and so it is of more than a thousand of them on a trace.
    pub fn capacity(&self, from: Instant, to: Instant) -> Option<f64> {
        let whole = |from: Instant, to: Instant| match (&self.trace, self.rate) {
            (Some(trace), _) => Some(trace.bits_by(to) - trace.bits_by(from)),
            (None, Some(rate)) => Some(rate.as_f64() * to.since(from).as_secs_f64()),
            (None, None) => None,
        };
        let all = whole(from, to)?;
        if let Some(outages) = self.outages.between(from, to).filter(|_| self.trace.is_some()) {
            let lost: Option<f64> = outages.into_iter().map(|(begin, end)| whole(begin, end)).sum();
            return Some(all - lost?);
        }
        let (time, down) = (to.since(from).as_secs_f64(), self.outages.down_by(to) - self.outages.down_by(from));
        Some(if time > 0.0 { all * (1.0 - down / time) } else { all })
    }

    /// The shortest delay a packet can meet.
    pub fn least_delay(&self) -> Duration {
        let fixed = self.trace.as_ref().and_then(|trace| trace.least_delay(self.delay)).unwrap_or(self.delay);
        fixed.saturating_add(self.orbit.map_or(Duration::ZERO, |orbit| orbit.least_delay()))
    }

    /// What contradicts itself.
    fn check(&self) -> Result<(), (&'static str, ParseError)> {
        let replaced = self.trace.is_some() && self.rate.is_some();
        if replaced {
            let accepted = "a trace or a rate, not both";
            return Err(("trace", ParseError::new("the direction has a constant rate as well", accepted)));
        }
        self.outages.check().map_err(|problem| ("outages", problem))?;
        self.orbit.map_or(Ok(()), |orbit| orbit.check()).map_err(|problem| ("orbit", problem))?;
        self.trace.as_ref().map_or(Ok(()), |trace| trace.record.check()).map_err(|problem| ("trace", problem))
    }
}

/// Why a configuration cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct ConfigError {
    /// Which setting is wrong: `down.trace`, `access`, …
    pub setting: String,
    /// Why, and what would be accepted.
    pub problem: ParseError,
}

impl ChannelConfig {
    /// Checks what no single setting can know: settings that contradict each other.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.terminals == 0 {
            return Err(ConfigError { setting: TERMINALS.to_owned(), problem: no_terminals("0") });
        }
        for direction in Direction::BOTH {
            let named =
                |(setting, problem)| ConfigError { setting: format!("{}.{setting}", direction.word()), problem };
            direction.of(self).check().map_err(named)?;
        }
        let refused = |problem| ConfigError { setting: ACCESS.to_owned(), problem };
        self.access.check(self.terminals, &self.up).map_err(refused)
    }

    /// Whether packets pass both ways as if the channel were not there.
    pub fn is_transparent(&self) -> bool {
        self.down.is_transparent() && self.up.is_transparent()
    }

    /// Round-trip propagation delay, the shortest there is.
    pub fn rtt(&self) -> Duration {
        self.down.least_delay().saturating_add(self.up.least_delay())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(settings: DirectionConfig, from_s: u64, to_s: u64) -> Option<f64> {
        let at = |second| Instant::START + Duration::from_secs(second);
        settings.capacity(at(from_s), at(to_s)).map(f64::round)
    }

    #[test]
    fn an_unlimited_rate_has_no_capacity_and_a_constant_one_all_but_its_outages() {
        assert_eq!(capacity(DirectionConfig::default(), 0, 10), None);
        let with = |outages: &str| {
            let outages = outages.parse().expect("there are such outages");
            capacity(DirectionConfig { rate: Some(Rate::kbps(1)), outages, ..DirectionConfig::default() }, 5, 25)
        };
        assert_eq!(with("none"), Some(20_000.0));
        assert_eq!(with("at windows=1s+5s;20s+10s"), Some(14_000.0), "1 s and 5 s of them");
        assert_eq!(with("periodic first=3s period=10s length=3s"), Some(14_000.0), "1, 3 and 2 s");
        assert_eq!(with("random up=3s down=1s"), Some(15_000.0));
    }

    #[test]
    fn a_trace_has_what_it_carries_in_that_time() {
        let with = |text: &str| {
            let trace: Trace = text.parse().expect("there is such a trace");
            let direction = || DirectionConfig { trace: Some(trace.clone()), ..DirectionConfig::default() };
            [(0, 10), (5, 15), (10, 40)].map(|(from, to)| capacity(direction(), from, to))
        };
        let steps = "length=10s at=0ms:1kbit/s;6s:3kbit/s";
        assert_eq!(with(&format!("steps end=repeat {steps}")), [18_000.0, 18_000.0, 54_000.0].map(Some));
        assert_eq!(with(&format!("steps end=hold {steps}")), [18_000.0, 28_000.0, 90_000.0].map(Some));
        let times = "length=10s unit=ms times=1000;2000;7000";
        assert_eq!(with(&format!("opportunities end=repeat {times}")), [36_000.0, 36_000.0, 108_000.0].map(Some));
        assert_eq!(with(&format!("opportunities end=hold {times}")), [36_000.0, 12_000.0, 0.0].map(Some));
        // 12 Mbit/s, as mahimahi says it.
        let steady = "opportunities end=repeat length=1ms unit=ms times=1";
        assert_eq!(with(steady), [120e6, 120e6, 360e6].map(Some));
    }

    #[test]
    fn a_sender_is_told_of_a_trace_as_of_a_rate() {
        let told = |trace: &str| {
            let trace = Some(trace.parse().expect("there is such a trace"));
            DirectionConfig { trace, ..DirectionConfig::default() }.told_rate()
        };
        assert_eq!(told("steps end=repeat length=10s at=0ms:1kbit/s;6s:3kbit/s"), Some(Rate::kbps(3)));
        assert_eq!(told("opportunities end=repeat length=1ms unit=ms times=1"), Some(Rate::mbps(12)));
        let constant = DirectionConfig { rate: Some(Rate::kbps(5)), ..DirectionConfig::default() };
        assert_eq!([constant.told_rate(), DirectionConfig::default().told_rate()], [Some(Rate::kbps(5)), None]);
    }

    #[test]
    fn an_outage_takes_what_a_trace_carries_in_it() {
        let with = |outages: &str| {
            let trace: Trace = "steps end=repeat length=10s at=0ms:1kbit/s;6s:3kbit/s".parse().expect("a trace");
            let outages = outages.parse().expect("there are such outages");
            capacity(DirectionConfig { trace: Some(trace), outages, ..DirectionConfig::default() }, 0, 20)
        };
        assert_eq!(with("none"), Some(36_000.0));
        assert_eq!(with("at windows=1s+4s;15s+10s"), Some(36_000.0 - 4000.0 - 13_000.0));
        assert_eq!(with("periodic first=7s period=10s length=1s"), Some(30_000.0));
        assert_eq!(with("random up=3s down=1s"), Some(27_000.0));
    }
}
