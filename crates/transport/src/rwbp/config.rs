//! RWBP's settings.

use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// Both proxies' settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RwbpConfig {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// At most so fast does one flow send, headers included.
    pub peak_rate: Rate,
    /// What a flow's send buffer holds, unsent or unacknowledged, and as much at the receiver, unread or out of order.
    pub buffer: Bytes,
    /// What the IP output queue holds, at least one full packet and one acknowledgement.
    pub output_queue: Bytes,
    /// Data packets per acknowledgement: the paper's N.
    pub ack_every: u32,
    /// Fewer are acknowledged after so long without another.
    pub ack_delay: Duration,
    /// A flow waits for an answer before its first data.
    pub handshake: bool,
}

impl RwbpConfig {
    /// The paper's numbers: MSS 512, peak rate 900 kbit/s, for a satellite's `round_trip`.
    pub fn zhou_2004(round_trip: Duration) -> Self {
        Self::new(Bytes::new(512), Rate::kbps(900), round_trip)
    }

    /// As the paper sets it for other rates: all buffers of the peak rate × `round_trip` of the satellite, N = 2. On short paths that is
    /// not enough to send without a pause while packets and acknowledgements are on the wire, so that they hold 16 segments at least. The
    /// time without another packet after which fewer are acknowledged is not given: 200 ms, the timer of the TCPs that RWBP is derived
    /// from.
    pub fn new(mss: Bytes, peak_rate: Rate, round_trip: Duration) -> Self {
        let least = Bytes::new(mss.get().saturating_mul(16));
        let buffer = peak_rate.bytes_in(round_trip).max(least);
        Self {
            mss,
            peak_rate,
            buffer,
            output_queue: buffer,
            ack_every: 2,
            ack_delay: Duration::from_millis(200),
            handshake: false,
        }
    }

    /// The receive buffer in whole segments, within what 16 bits can say.
    pub(super) fn largest_window(&self) -> u64 {
        (self.buffer.get() / self.segment()).clamp(1, u64::from(u16::MAX))
    }

    /// The MSS as a number that may divide.
    pub(super) fn segment(&self) -> u64 {
        self.mss.get().max(1)
    }
}
