//! farhop's own model: a recursion from packet to packet, exact for TCP whose only losses are those of full queues.
//!
//! Packet n of a direction leaves a serializer at d(n) = max(d(n−1), t(n)) + 8·b(n)/Q and arrives τ later; t(n) is when what
//! held it back gave way: the acknowledgement that opened the window, the arrival that completed a request, a timer. Without
//! reordering every quantity on the right is known by the time it is needed, so that a load is a single pass over its packets,
//! with whole segments, in integers; whether a queue has room for a packet is known when it is sent. It shares no code with the simulator (`tcp`, `link`, `web`, `sim`), which makes each a check of the other.
//!
//! **What it covers.** Any initial and maximum window, below or between whole segments too; delayed ACKs with each profile's timer
//! (4.4BSD's running clock, the RFC's 200 ms, Linux's quick ACKs and adaptive 40 ms); slow start by ACKs or bytes; Linux's growing
//! receive window, send buffer, window validation, batches and tail-loss probes; slow start after idle; CUBIC with HyStart; asymmetric rates
//! and delays over up to three hops each way, framing and redundancy; ACKs that wait behind earlier ones; handshakes of TCP, TLS
//! 1.2 and 1.3 and QUIC; records of TLS, of which nothing is read before all has come; connections that share the path as a browser opens them ([`Http`]); objects that name further objects in any
//! depth, on several hosts whose names are resolved; servers and browsers that think; and the architectures
//! ([`Parameters::of_architecture`]). Queues that overflow, timers that run out though nothing was lost, and BBR (`repair`): SACK and
//! NewReno, RACK and tail-loss probes, proportional rate reduction, timeouts and what takes them back, CUBIC's and Reno's windows
//! after a loss.
//!
//! **What is exact.** All of it but the list below: single flows agree with this project's simulator to a nanosecond or two
//! (`crates/sim/tests/recursion.rs`), with ns-3 to 0.0001 % (`tests/ns3.rs`). What repeats exactly is skipped exactly. Between Linux's hosts
//! the same holds but for what nobody can know: when a host's clock ticks and how long it takes to answer. Both are taken to be what they are
//! in the middle of all cases, or their mean ([`jiffies`], [`habits`], [`program`]).
//!
//! **What is approximate.** Where queues overflow, a packet that a nanosecond decides about may make the rest of the load another one:
//! nine in ten cases of its grids agree with the simulator to some per cent, a few differ by a quarter (`crates/sim/tests/repair.rs`). Beyond 131,072 segments what does
//! not repeat exactly is extrapolated at the rates of the last 65,536 or two round trips, once those no longer grow. Events of one instant on several connections may be taken
//! in another order than a host takes them, which parallel loads amplify: 0.01 % on average, 2 % over ways up of 30 kbit/s. Expected losses
//! ([`Recursion::load_with_losses`]) are means over loads in rounds, added. HTTP/3 is TCP with QUIC's handshake, packets, pace and delays of
//! acknowledgements: 1 % off the simulator's QUIC.
//!
//! **What is left out.** Jitter, reordering, outages, rates that change, medium access; what a sender at a set rate repeats. A load
//! whose timers run out thousands of times is told as if they did not ([`PageLoad::late_acks`]).
//! Resolvers that do not know the answer.
//!
//! ```
//! use farhop_model::recursion::{Parameters, Recursion, Workload};
//!
//! let demo = farhop_scenario::open("demo", &[])?;
//! let load = Recursion::new().load(&Parameters::of(&demo), &Workload::of(&demo.page)?)?;
//! assert_eq!(load.round_trips.total(), 12);
//! assert!(load.breakdown.slow_start > load.breakdown.transmission);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod architecture;
mod batch;
mod behind;
mod breakdown;
mod browser;
mod call;
mod chance;
mod connection;
mod contents;
mod deadline;
mod end;
mod fifo;
mod flight;
mod habits;
mod hearing;
mod hello;
mod idle;
mod jiffies;
mod linux_cubic;
mod load;
mod near;
mod parameters;
mod probe;
mod program;
mod progress;
mod reading;
mod receiver;
mod repair;
mod route;
mod send_buffer;
mod sender;
mod serving;
mod short;
mod skip;
mod ticks;
mod timers;
mod trains;
mod usage;
mod way;
mod window;
mod wire;
mod workload;

pub(crate) use architecture::carried_as;
pub use architecture::{PrefetchSide, ProxySettings};
pub use breakdown::{Breakdown, RoundTrips};
pub use chance::Losses;
pub use near::Near;
pub use parameters::{Control, Delays, Flow, Hearing, HopParameters, Http, Parameters, RecursionError, Tls, WayBehind};
pub use workload::{Workload, WorkloadObject};

use farhop_scenario::Congestion;
use load::{Buffers, Ending, Load, Mode};
use std::time::Duration;
use ticks::Ticks;

/// What a load takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLoad {
    /// From the first action to the first byte of the document's body.
    pub first_byte: Duration,
    /// From the first action to the last byte of the last object.
    pub last_byte: Duration,
    /// What the last byte waited for; adds up to `last_byte`.
    pub breakdown: Breakdown,
    /// Round trips that the last byte waited for.
    pub round_trips: RoundTrips,
    /// Timers for retransmission that ran out though nothing was lost. TCP repeats what they ask for, which is part of the time.
    pub late_acks: u64,
}

/// When one object was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectTimes {
    /// When a body named it; `None` for the document.
    pub named: Option<Duration>,
    /// When its request left the client; `None` if it came unasked.
    pub requested: Option<Duration>,
    /// When the first byte of its body arrived.
    pub first_byte: Option<Duration>,
    /// When its last byte arrived.
    pub end: Option<Duration>,
}

/// The recursion with its buffers: one for many loads, which then allocate nothing.
#[derive(Debug, Default)]
pub struct Recursion {
    buffers: Buffers,
}

impl Recursion {
    /// Buffers without content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads `workload` over what `parameters` describe.
    ///
    /// # Errors
    /// A parameter that cannot be, by name; or a load that takes more than 584 years.
    pub fn load(&mut self, parameters: &Parameters, workload: &Workload) -> Result<PageLoad, RecursionError> {
        let late_acks = self.run(parameters, workload, true)?;
        let browser = &self.buffers.browser;
        let (last_byte, spans) = browser.critical_path(parameters.opening_trips()).ok_or(RecursionError::TooLong)?;
        let first_byte = browser.objects[0].first_byte.unwrap_or(last_byte).to_duration();
        let (breakdown, round_trips) = spans.breakdown(parameters.pushed > 0);
        Ok(PageLoad { first_byte, last_byte: last_byte.to_duration(), breakdown, round_trips, late_acks })
    }

    /// When the last byte arrives, as [`Recursion::load`] has it; what that waits for is not reckoned, which takes less.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn time(&mut self, parameters: &Parameters, workload: &Workload) -> Result<Duration, RecursionError> {
        self.run(parameters, workload, false)?;
        self.buffers.browser.last_end().map(Ticks::to_duration).ok_or(RecursionError::TooLong)
    }

    /// Loads it, in one of the modes; how many timers ran out.
    fn run(&mut self, parameters: &Parameters, workload: &Workload, explains: bool) -> Result<u64, RecursionError> {
        parameters.check()?;
        let repairs = parameters.control == Control::Tcp;
        let at_once = repairs && parameters.tcp.congestion == Congestion::Bbr;
        let (mut ending, mut late_acks) = (Ending::GaveUp, 0);
        for mode in [Mode::Wary, Mode::Repairing, Mode::Tolerant] {
            let is_wanted = match mode {
                Mode::Wary => !at_once,
                Mode::Repairing => repairs,
                Mode::Tolerant => true,
            };
            if is_wanted && ending != Ending::Complete {
                let mut load = Load::new(parameters, workload, &mut self.buffers, mode, explains);
                (ending, late_acks) = (load.run(), load.needless);
            }
        }
        if ending == Ending::Complete { Ok(late_acks) } else { Err(RecursionError::TooLong) }
    }

    /// When each object of the last load was asked for and received, since the first action; `None` for what never was.
    pub fn objects(&self) -> impl Iterator<Item = ObjectTimes> + '_ {
        self.buffers.browser.objects.iter().map(|object| ObjectTimes {
            named: object.named.map(|(at, ..)| at.to_duration()),
            requested: object.cause.map(|_| object.requested.to_duration()),
            first_byte: object.first_byte.map(Ticks::to_duration),
            end: object.end.map(|(at, _)| at.to_duration()),
        })
    }
}
