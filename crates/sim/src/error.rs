//! Why a simulation has no result.

use farhop_tcp::TcpError;
use std::time::Duration;
use thiserror::Error;

/// Virtual time after which a load counts as failed, if its network could be much quicker; nobody waits that long for a page.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3600);

/// The same where even the least possible time is long, as between planets: so many times that.
pub(crate) const LONG_PATIENCE: u32 = 100;

/// How long something is waited for that takes `least` at best.
pub(crate) fn patience(least: Duration) -> Duration {
    least.saturating_mul(LONG_PATIENCE).max(PATIENCE)
}

/// A time in s as notes tell it, to the millisecond.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53 ms")]
pub(crate) fn seconds(span: Duration) -> String {
    let micros = span.as_micros() + 500;
    format!("{} s", (micros / 1000) as f64 / 1000.0)
}

/// Packets after which a load counts as failed: an hour of full ones at 100 Mbit/s, with their ACKs, which take the simulator
/// some ten seconds. Virtual time alone is no bound where a link is fast.
pub(crate) const MOST_PACKETS: u64 = 50_000_000;

/// Connections at once after which a simulation is given up. With all that belongs to each, they take up to six gigabytes. The
/// crate's own tests get there sooner.
pub(crate) const MOST_LEGS: usize = if cfg!(test) { 20_000 } else { 100_000 };

/// Packets on their way at once after which a simulation is given up, in queues without an end. The crate's own tests get there sooner.
pub(crate) const MOST_HELD: usize = if cfg!(test) { 15_000 } else { 10_000_000 };

/// Events at one instant after which a simulation is given up, since time does not go on. A million users who begin at once have fewer.
pub(crate) const MOST_AT_ONCE: u64 = 10_000_000;

/// What notes and reasons say of a log that is too much.
pub(crate) const CANNOT_CARRY: &str = "; the link cannot carry what the log asks for";

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SimError {
    #[error("the page was not complete after {} s of virtual time", .0.as_secs())]
    OutOfPatience(Duration),
    #[error("nothing more happened after {} of virtual time, and the page was not complete", seconds(*.0))]
    NothingLeft(Duration),
    #[error("the page takes more than {MOST_PACKETS} packets; a smaller page can be simulated")]
    TooManyPackets,
    #[error("a path without delay and with unlimited rates takes no time")]
    NoTime,
    #[error("more than {MOST_AT_ONCE} events after {}, and time does not go on", seconds(*.0))]
    StandsStill(Duration),
    #[error(
        "more than {MOST_LEGS} connections at once after {} s, the most that can be simulated: the network cannot carry what is asked for, \
         idle ones stay open too long (http.persistence), or there are too many users", .0.as_secs()
    )]
    TooManyLegs(Duration),
    #[error(
        "{each} connections of the proxies at each of {terminals} terminals are more than {MOST_LEGS}, the most at once that can be \
         simulated; accepted: fewer of them (multiplexed.connections) or fewer terminals (access.terminals)"
    )]
    TooManyShared { each: usize, terminals: usize },
    #[error("more than {MOST_HELD} packets on their way after {} s: the network cannot carry what is asked for", .0.as_secs())]
    TooManyHeld(Duration),
    #[error("no page that was asked for from {} on was complete at {}{}", seconds(*.from), seconds(*.end), if *.full {
        ": the network cannot carry what the users want"
    } else {
        ""
    })]
    NoPages {
        from: Duration,
        end: Duration,
        /// The far link was busy all the time.
        full: bool,
    },
    #[error(
        "none of the log's requests was answered within {} of the last{used}{}",
        seconds(*.patience), if *.full { CANNOT_CARRY } else { "" }
    )]
    NoAnswers {
        patience: Duration,
        /// How much of the link was used, as notes tell it.
        used: String,
        full: bool,
    },
    #[error(
        "{answered} of the log's own {asked} requests were answered within {} of the last, so that half of them took longer than is known\
         {used}{}",
        seconds(*.patience), if *.full { CANNOT_CARRY } else { "" }
    )]
    NoMedian {
        answered: u64,
        asked: u64,
        patience: Duration,
        /// How much of the link was used, as notes tell it.
        used: String,
        full: bool,
    },
    #[error("{0}")]
    NotCarried(&'static str),
    #[error(transparent)]
    Tcp(#[from] TcpError),
}
