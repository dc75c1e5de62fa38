//! RWBP, the receiver window backpressure protocol (Zhou, Liu and Baras, "Web access over a multiple access channel: evaluations
//! and improvements", CSHCN TR 2004-10, §IV).
//!
//! A [`Proxy`] is one proxy's RWBP: all flows between it and the proxies on the other side of the satellite. From the paper:
//! - a queue per flow; a scheduler serves the flows in turn, one packet each, whatever its size;
//! - a flow may send when its receiver's window is open and the IP output queue has room for a packet;
//! - a packet leaves the IP output queue when the link-layer queue has room for it, which the satellite gateway advertises
//!   ([`Proxy::set_link_room`]); so congestion shows as waiting, never as loss, and reaches the writer through [`Proxy::room`];
//! - the window is the free part of the receive buffer in units of the maximum segment size, 16 bits, unscaled;
//! - no slow start and no congestion control; a flow sends at the peak rate;
//! - one acknowledgement for every N data packets.
//!
//! Our readings of what the paper leaves open:
//! - The peak rate is a flow's, on the wire, IP headers included; it spaces the flow's packets. The buffers' "satellite delay" is
//!   the round trip: with one way's worth of window a flow could reach half of the peak rate only.
//! - Packets are TCP's in size: Table I counts 40 bytes per acknowledgement. It counts no packets of connection set-up, so flows
//!   are taken to persist, and a flow can be used as soon as it is opened; [`RwbpConfig::handshake`] makes it wait a round trip.
//! - An acknowledgement travels alone, never with data, as Table I counts them.
//! - Fewer than N packets are acknowledged once no more have come for [`RwbpConfig::ack_delay`], or when they fill a quarter of the
//!   window.
//!
//! The paper's error recovery is in its reference 16, which is not available; ours is built on the link keeping its order.
//! Every packet has a number of its own, also one that repeats data. A receiver that sees a gap says at once which data is missing
//! and the newest number that has arrived; whatever was sent before that number and has not arrived is lost and sent again, data of
//! a lost repetition included. A timer is the last resort, for losses at the end of what was sent. It knows the time of every answer,
//! for numbers are not used twice, and a flow's first that of the proxy's other flows (RFC 9040); its waits double until a packet is
//! answered. Packets that overtake each other cost needless repetitions, nothing else.
//!
//! Where packets wait for the link, so that a flow's acknowledgements would, there is one: it is written when it leaves. Without
//! congestion control nothing else would keep acknowledgements, and what is sent again for want of them, from filling a way back that is slow.
//!
//! What is lost closes the window until it is repaired, for the buffer holds what came behind it: with buffers of one round trip a
//! loss costs a flow about one round trip, with twice as much nothing.
//!
//! Left out: the buffer management of the same reference; RST; a reader that never reads is asked for its window for ever.

mod config;
mod flow;
mod packet;
mod proxy;
mod receiver;
mod sender;

pub use config::RwbpConfig;
pub use packet::{Kind, MAX_MISSING, Missing, Packet};
pub use proxy::Proxy;
