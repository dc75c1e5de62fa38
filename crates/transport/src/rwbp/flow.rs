//! One flow at one proxy: its opening, a sender and a receiver.

use super::RwbpConfig;
use super::packet::Kind;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::StreamId;
use crate::rtt::RttEstimator;
use farhop_units::Instant;
use std::time::Duration;

/// Before a flow's opening is asked for again; doubles each time (RFC 1122 §4.2.3.1 starts with 3 s as well).
const OPENING_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waits for the other side's answer, and asks again.
    Asking {
        since: Instant,
        tries: u32,
    },
    /// Waits for the other side to open.
    Listening,
    Open,
}

/// A flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) id: StreamId,
    phase: Phase,
    /// An [`Kind::Open`] is to go out: a question or an answer.
    owed: Option<Kind>,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// Whether it stands in the proxy's queues.
    pub(super) is_in_turn: bool,
    pub(super) is_owing: bool,
    is_reported_closed: bool,
}

impl Flow {
    /// The end that opens, or the one that waits; `rtt` is what other flows have seen.
    pub(super) fn new(now: Instant, id: StreamId, config: &RwbpConfig, opens: bool, rtt: RttEstimator) -> Self {
        let phase = match (opens, config.handshake) {
            (true, true) => Phase::Asking { since: now, tries: 0 },
            (true, false) => Phase::Open,
            (false, _) => Phase::Listening,
        };
        Self {
            id,
            phase,
            owed: (opens && config.handshake).then_some(Kind::Open { reply: false }),
            sender: Sender::new(config, rtt),
            receiver: Receiver::new(config),
            is_in_turn: false,
            is_owing: false,
            is_reported_closed: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// A packet arrived, whatever it is; returns whether it opened the flow.
    pub(super) fn handle_opening(&mut self, kind: &Kind) -> bool {
        if *kind == (Kind::Open { reply: false }) {
            self.owed = Some(Kind::Open { reply: true });
        }
        let opens = !self.is_open();
        self.phase = Phase::Open;
        opens
    }

    /// Whether data may be sent now.
    pub(super) fn is_ready(&self, now: Instant) -> bool {
        self.is_open() && self.sender.is_ready(now)
    }

    /// Whether a packet without data is to go out.
    pub(super) fn owes(&self) -> bool {
        self.owed.is_some() || self.receiver.owes()
    }

    /// The packet without data that is owed, as of now.
    pub(super) fn debt(&self, config: &RwbpConfig) -> Kind {
        self.owed.unwrap_or_else(|| self.receiver.acknowledgment(config))
    }

    /// [`Flow::debt`] goes out now.
    pub(super) fn pay(&mut self, now: Instant, config: &RwbpConfig) {
        if let Phase::Asking { since, .. } = &mut self.phase {
            *since = now;
        }
        if self.owed.take().is_none() {
            self.receiver.acknowledge(config);
        }
    }

    /// When something is to happen without a packet.
    pub(super) fn due(&self, now: Instant, config: &RwbpConfig) -> Option<Instant> {
        match self.phase {
            Phase::Asking { since, tries } if self.owed.is_none() => {
                Some(since + OPENING_TIMEOUT.saturating_mul(1 << tries.min(5)))
            }
            Phase::Asking { .. } | Phase::Listening => None,
            Phase::Open => [self.sender.due(now, config), self.receiver.due()].into_iter().flatten().min(),
        }
    }

    pub(super) fn handle_timer(&mut self, now: Instant, config: &RwbpConfig) {
        match &mut self.phase {
            Phase::Asking { since, tries } => {
                (*since, *tries) = (now, *tries + 1);
                self.owed = Some(Kind::Open { reply: false });
            }
            Phase::Listening => {}
            Phase::Open => {
                if self.receiver.due().is_some_and(|due| due <= now) {
                    self.receiver.handle_timer();
                }
                if self.sender.due(now, config).is_some_and(|due| due <= now) {
                    self.sender.handle_timer(now);
                }
            }
        }
    }

    /// Whether both directions are complete, said once.
    pub(super) fn take_closed(&mut self) -> bool {
        let closed = self.sender.is_finished() && self.receiver.is_finished() && !self.is_reported_closed;
        self.is_reported_closed |= closed;
        closed
    }
}
