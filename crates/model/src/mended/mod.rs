//! The Obata formulas with their known mistakes mended, each on its own or all together.
//!
//! | mend | published | mended |
//! |---|---|---|
//! | whole segments | MWS/d_seg is a real number: 4 kB are 2.83 segments of 1448 B | TCP sends whole segments: 2 |
//! | headers | a last, smaller window travels without headers (2002: with one) | every packet has its own |
//! | no jump | with nothing left over, 2001 ends at the "next send" and 2002 one τ_sat after it | the last byte received ends it |
//! | ACK queueing | a period is max(rtt, a(n), q(n−1)) | ACKs wait for the uplink, windows for the downlink, in their order |
//! | odd windows | ⌈w/2⌉ ACKs at once | the odd segment's ACK waits for the next segment or 200 ms |
//! | kept window | 2002: full from the second data set on | what the data sets before left |
//!
//! The first three change terms of the published sums. The other two change what is summed over: a window whose odd segment
//! waits for the timer returns in parts, each with its own time, so that the sum runs over these parts ([`obata_2001`] says how).
//! With all mends 28 flows of ns-3 are met within 0.3 %, all but one within 0.01 %, and transfers told segment by segment exactly; tests
//! print both tables.
//!
//! Left out, as by the authors: losses, congestion avoidance, the server's time.

mod bursts;
pub mod obata_2001;
pub mod obata_2002;
#[cfg(test)]
mod segments_tests;
#[cfg(test)]
pub(crate) mod tests;
mod windows;

use crate::obata_2001::Redundancy;
use crate::{Path, Segments};
use farhop_units::Bytes;
use std::time::Duration;

/// Which mistakes to mend. [`Mends::NONE`] gives the published formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mends {
    /// The maximum window in whole segments. Lengthens transfers whose window is no multiple of the segment, by up to 41 %.
    pub whole_segments: bool,
    /// Headers on every packet of the last, smaller window. Adds up to 52·⌈MWS/d_seg⌉ B.
    pub headers: bool,
    /// A transfer ends when its last byte is received, also when that byte ends a window. Without remainder, 2001 gains or loses
    /// up to one round trip, 2002 loses τ_ter and more.
    pub no_jump: bool,
    /// ACKs wait behind ACKs, and windows behind windows. Changes the time over uplinks of 4 to 16 kbit/s by −4 to +6 %.
    pub ack_queueing: bool,
    /// The odd segment's ACK waits for the next segment or the timer. Lengthens transfers with small odd windows by 8 to 25 %. Means
    /// whole segments, since only they are odd or even.
    pub odd_windows: bool,
    /// 2002 only: later data sets start with the window that the earlier ones have reached, not with a full one. Lengthens
    /// pages of small data sets, by up to 35 % if pipelined (5 kB each, 16 KiB window).
    pub kept_window: bool,
}

impl Mends {
    /// As published.
    pub const NONE: Self = Self {
        whole_segments: false,
        headers: false,
        no_jump: false,
        ack_queueing: false,
        odd_windows: false,
        kept_window: false,
    };
    /// All of them.
    pub const ALL: Self = Self {
        whole_segments: true,
        headers: true,
        no_jump: true,
        ack_queueing: true,
        odd_windows: true,
        kept_window: true,
    };
    /// Each mend alone, with its name.
    pub const EACH: [(&'static str, Self); 6] = [
        ("whole segments", Self { whole_segments: true, ..Self::NONE }),
        ("headers", Self { headers: true, ..Self::NONE }),
        ("no jump", Self { no_jump: true, ..Self::NONE }),
        ("ACK queueing", Self { ack_queueing: true, ..Self::NONE }),
        ("odd windows", Self { odd_windows: true, ..Self::NONE }),
        ("kept window", Self { kept_window: true, ..Self::NONE }),
    ];

    /// Whether windows return in parts with times of their own, so that sums over whole windows do not do.
    fn needs_bursts(self) -> bool {
        self.ack_queueing || self.odd_windows
    }
}

/// How a transfer starts and what its sums take from the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Transfer {
    /// Segments of the first window.
    window: Segments,
    /// d of 2001's Eq 4 for a first window of one segment.
    first_ack_delay: Duration,
    /// α of 2001's Eq 5'.
    redundancy: Redundancy,
    /// Whose last window.
    ending: Ending,
}

/// What the published sums add for the last window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// F_rest/Q_sat + τ_sat, nothing if nothing is left.
    Paper2001,
    /// (rest + d_ack)/Q_sat + τ_sat in any case.
    Paper2002,
}

/// What a transfer took and left.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sent {
    time: Duration,
    /// The window afterwards.
    window: Segments,
}

/// `size` bytes with `mends`, by whichever sum they need.
fn transfer(path: &Path, size: Bytes, start: &Transfer, mends: Mends) -> Sent {
    let path = &if mends.whole_segments || mends.odd_windows { path.in_whole_segments() } else { *path };
    if mends.needs_bursts() && size > Bytes::ZERO {
        bursts::transfer(path, size, start, mends)
    } else {
        windows::transfer(path, size, start, mends)
    }
}
