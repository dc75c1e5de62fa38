//! What the emulator remembers of an emulated link: every input and output of its channel, cheaply.
//!
//! Written by the real-time driver, so nothing is formatted or looked up: an entry is a few words appended to a vector whose
//! memory was reserved before the run. What a channel did is repeatable from `config`, `seed` and `inputs` alone; the outputs
//! are kept so that the repetition can be compared with them.

use crate::driver::{SegmentRecord, Written};
use crate::lateness::Lateness;
use farhop_link::{Count, DropReason};
use farhop_recording::LinkRecord;
use farhop_results::EmulationQuality;
use farhop_units::{Bytes, Instant};

/// What an emulated link has done so far.
#[derive(Debug, Clone)]
pub struct LinkStatus {
    /// Since the run began.
    pub at: Instant,
    /// Gateway → terminals.
    pub down: DirectionStatus,
    /// Terminals → gateway.
    pub up: DirectionStatus,
    /// How late its packets were delivered.
    pub lateness: Lateness,
    /// Deliveries that a host did not take: its device was down, or its queues were full.
    pub refused: u64,
}

/// What one direction of an emulated link has done so far: what arrived and was duplicated is delivered, dropped or inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectionStatus {
    /// What entered.
    pub arrived: Count,
    /// Copies that the link made: of duplicated packets, and of those for all terminals.
    pub duplicated: Count,
    /// What left on the other side.
    pub delivered: Count,
    /// Packets that went no further, by reason; reasons without packets are left out.
    pub dropped: Vec<(DropReason, u64)>,
    /// What is on its way now, waiting or not.
    pub inside: Count,
    /// What waits now.
    pub queued: Bytes,
    /// The most that waited, as far as was seen: once per round of the driver, of which there are thousands a second.
    pub peak_queue: Bytes,
}

impl DirectionStatus {
    /// Packets that went no further, for whatever reason.
    pub fn drops(&self) -> u64 {
        self.dropped.iter().map(|(_, count)| count).sum()
    }
}

/// What a testbed leaves behind.
#[derive(Debug)]
pub struct EmulationRecord {
    /// How well the emulator kept time.
    pub quality: EmulationQuality,
    /// How late every packet was delivered, on all emulated links together.
    pub lateness: Lateness,
    /// Packets the far link dropped.
    pub dropped: u64,
    /// What the far link did.
    pub far: LinkStatus,
    /// The far link's packets, if they were to be kept in memory.
    pub link: Option<LinkRecord>,
    /// What became of the packet log and the capture, if any were wanted.
    pub files: Option<Written>,
    /// Whether packets passed in bundles ([`Options::offload`](crate::Options::offload)).
    pub offload: bool,
}

impl EmulationRecord {
    /// What the links of a testbed have seen, the far link first.
    pub(crate) fn new(far: SegmentRecord, others: &[SegmentRecord], offload: bool) -> Self {
        let SegmentRecord { status, log, files } = far;
        let mut lateness = status.lateness.clone();
        for other in others {
            lateness.merge(&other.status.lateness);
        }
        let dropped = status.down.drops() + status.up.drops();
        Self { quality: lateness.quality(), lateness, dropped, far: status, link: log, files, offload }
    }
}
