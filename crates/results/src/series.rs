//! What a traced simulation leaves to be drawn: queues, windows and sequence numbers over time, thinned to what a plot can show.

use serde::{Deserialize, Serialize};

/// Series of a traced run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TraceSeries {
    /// What waited for the far link.
    pub queue: Vec<QueuePoint>,
    /// The first connections, each in the direction that carried more.
    pub connections: Vec<ConnectionSeries>,
}

/// What waited for the far link at a time; where points are thinned, the most that did until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QueuePoint {
    /// Since the run began, in s.
    pub t_s: f64,
    /// At the gateway, in bytes.
    pub down_bytes: u64,
    /// At all terminals, in bytes.
    pub up_bytes: u64,
}

/// One direction of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionSeries {
    /// Its number, from 0, in order of opening.
    pub connection: u64,
    /// `down` or `up`: where its data goes.
    pub direction: String,
    /// Its windows whenever they changed.
    pub windows: Vec<WindowPoint>,
    /// Data sent for the first time.
    pub sent: Vec<SegmentPoint>,
    /// Data sent again.
    pub retransmitted: Vec<SegmentPoint>,
    /// Acknowledgements as they reached the sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<SegmentPoint>,
}

/// What a sender may and does have on the way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowPoint {
    /// Since the run began, in s.
    pub t_s: f64,
    /// Congestion window, in bytes.
    pub window_bytes: u64,
    /// Slow-start threshold, in bytes; absent until there is one.
    pub threshold_bytes: Option<u64>,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
}

/// A segment as it was sent, or what an acknowledgement says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SegmentPoint {
    /// Since the run began, in s.
    pub t_s: f64,
    /// The sequence number after its last byte, or the next one that is expected; the first byte has number 1.
    pub sequence: u64,
}
