//! What a channel is made of, as a scenario describes it.

use crate::change::{ACCESS, TERMINALS, no_terminals};
use crate::{Access, Direction, Discipline, Framing, Jitter, LossModel, Orbit, Outages, QueueLimit, Reordering, Trace};
use farhop_units::{ParseError, Probability, Rate};
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
