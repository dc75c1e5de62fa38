//! Room in the queue that a machine's packets go to.

use crate::Output;
use farhop_units::Bytes;

/// What may join what waits there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Room {
    /// Whatever comes.
    #[default]
    Unlimited,
    /// So many bytes, headers of UDP and IP included.
    Bytes(Bytes),
    /// So many packets of any size.
    Packets(u64),
}

impl Room {
    /// Whether a packet of this size on the wire may.
    pub(crate) fn takes(self, wire: Bytes) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(room) => wire <= room,
            Self::Packets(room) => room > 0,
        }
    }

    /// What is left once it does.
    pub(crate) fn without(self, wire: Bytes) -> Self {
        match self {
            Self::Unlimited => self,
            Self::Bytes(room) => Self::Bytes(room.saturating_sub(wire)),
            Self::Packets(room) => Self::Packets(room.saturating_sub(1)),
        }
    }

    /// What is left once all packets do that have not been polled.
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
