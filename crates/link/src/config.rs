//! What a channel is made of, as a scenario describes it.

use farhop_units::{Bytes, Probability, Rate};
use std::time::Duration;

/// Both directions of a link between a gateway and its terminals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelConfig {
    /// Gateway → terminal.
    pub down: DirectionConfig,
    /// Terminal → gateway.
    pub up: DirectionConfig,
}

/// One direction: queue → serializer → pipe → loss. The default is no constraint at all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionConfig {
    /// Rate of the serializer, in bits on the wire with IP headers; `None` is unlimited.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Bytes that may wait for the serializer (drop-tail), not counting the packet in service; `None` is unlimited.
    pub queue: Option<Bytes>,
    /// What is lost on the way.
    pub loss: LossModel,
}

impl DirectionConfig {
    /// Whether packets pass as if the direction were not there.
    pub fn is_transparent(&self) -> bool {
        self.rate.is_none() && self.delay.is_zero() && self.loss == LossModel::None
    }
}

impl ChannelConfig {
    /// Whether packets pass both ways as if the channel were not there.
    pub fn is_transparent(&self) -> bool {
        self.down.is_transparent() && self.up.is_transparent()
    }

    /// Round-trip propagation delay.
    pub fn rtt(&self) -> Duration {
        self.down.delay + self.up.delay
    }
}

/// How packets are lost after the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost independently with this probability.
    Bernoulli(Probability),
}
