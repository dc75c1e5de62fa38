//! Room where a machine's packets go: a queue and what serves it.

use crate::Output;
use farhop_units::Bytes;

/// What is taken there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    /// What may join what waits.
    pub queue: QueueRoom,
    /// Whether one packet of any size need not wait.
    pub at_once: bool,
}

/// What may join what waits in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueRoom {
    /// Whatever comes.
    #[default]
    Unlimited,
    /// So many bytes, headers of UDP and IP included.
    Bytes(Bytes),
    /// So many packets of any size.
    Packets(u64),
}

impl From<QueueRoom> for Room {
    /// Whatever is taken has to wait.
    fn from(queue: QueueRoom) -> Self {
        Self { queue, at_once: false }
    }
}

impl Room {
    /// Whether a packet of this size on the wire is taken.
    pub fn takes(self, wire: Bytes) -> bool {
        self.at_once
            || match self.queue {
                QueueRoom::Unlimited => true,
                QueueRoom::Bytes(room) => wire <= room,
                QueueRoom::Packets(room) => room > 0,
            }
    }

    /// What is left once it is.
    pub(crate) fn without(self, wire: Bytes) -> Self {
        if self.at_once {
            return self.queue.into();
        }
        Self::from(match self.queue {
            QueueRoom::Unlimited => QueueRoom::Unlimited,
            QueueRoom::Bytes(room) => QueueRoom::Bytes(room.saturating_sub(wire)),
            QueueRoom::Packets(room) => QueueRoom::Packets(room.saturating_sub(1)),
        })
    }

    /// What is left once all packets are that have not been polled.
    pub(crate) fn without_all<'a, P: 'a>(
        self,
        outputs: impl IntoIterator<Item = &'a Output<P>>,
        wire: impl Fn(&P) -> Bytes,
    ) -> Self {
        outputs.into_iter().fold(self, |room, output| match output {
            Output::Transmit { packet, .. } => room.without(wire(packet)),
            _ => room,
        })
    }
}
