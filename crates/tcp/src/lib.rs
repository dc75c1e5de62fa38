//! TCP endpoints as sans-IO machines, for the simulator.
//!
//! An [`Endpoint`] is a sender (window, retransmission timer, loss recovery, a [`CongestionControl`]) and a receiver (reassembly,
//! delayed acknowledgements, receive window) behind a handshake. Segments carry numbers and lengths, no bytes. The profiles differ
//! in one table of habits: Linux 6.x, 4.4BSD of 1997, and the RFCs to the letter. Each file names the sections it follows and
//! what it leaves out.
//!
//! ```
//! use farhop_tcp::{Endpoint, Output, Profile, TcpConfig};
//! use farhop_units::Instant;
//!
//! let mut client = Endpoint::connect(Instant::START, &TcpConfig::of(Profile::Linux))?;
//! let Some(Output::Transmit { segment, .. }) = client.poll() else { panic!("a SYN leaves at once") };
//! assert!(segment.syn && segment.acknowledgment.is_none());
//! # Ok::<(), farhop_tcp::TcpError>(())
//! ```

mod acknowledger;
mod batch;
mod behavior;
mod classic;
mod config;
pub mod congestion;
mod emulated;
mod endpoint;
mod error;
mod host;
mod host_times;
mod jiffies;
mod kernel;
mod out_of_order;
mod pacing;
mod probe;
mod program;
mod prr;
mod rate;
mod receiver;
mod recovery;
mod reordering;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod selective;
mod send_buffer;
mod sender;
mod sent;
mod sequence;
mod undo;
mod usage;
mod window;
mod windowed;

pub use config::{ByteCounting, Congestion, FirstAck, HEADER_BYTES, Profile, TcpConfig};
pub use congestion::{CongestionControl, Controller};
pub use endpoint::{Endpoint, Output, SenderState};
pub use error::TcpError;
pub use host::sending_time;
pub use host_times::{AfterPause, HostTimes, HostTimesError, PauseTimes};
pub use jiffies::{HZ, timer_granularity};
pub use kernel::Kernel;
pub use program::{PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PROGRAM_WRITES_ON_SPEEDUP, Program};
pub use recovery::DUPLICATE_THRESHOLD;
pub use sack::{MOST_SACK_BLOCKS, SackBlock, SackBlocks};
pub use segment::{Codepoint, Segment, Timestamps};
pub use sequence::Sequence;
pub use window::LINUX_FIRST_ROUND;
