//! Changes to a link that runs, and looks at it: by a socket, or by a timetable.
//!
//! The socket of instance N is `/run/farhop/N.sock`, for its owner alone. Whoever connects writes lines and reads answers:
//!
//! ```text
//! set link.down.rate=2 Mbit/s, link.down.queue=100 kB    all of them at the same time, or none
//! get                                                    what differs from the defaults, one NAME=VALUE per line
//! get link.down.rate
//! status                                                 one line of JSON
//! ```
//!
//! An answer is any number of lines and then `ok`, or `error` and the reason. Names are those of scenario files. What is
//! set is checked together with all other settings first: what cannot be is refused and the old goes on. The number of
//! terminals and their medium access cannot change while the link runs. Changes of a timetable are made when they are due,
//! to about a millisecond, by the same rules; the packet log says when exactly.

mod client;
mod server;
mod settings;

pub use client::send;
pub(crate) use server::Control;
pub(crate) use settings::check_timetable;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A change for a time after the start: when, which setting (`link.down.rate`), its value.
pub type TimedChange = (Duration, String, String);

/// Why a running link could not be changed or looked at.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// What was asked for cannot be; the link goes on as before.
    #[error("{0}")]
    Refused(String),
    /// A change of a timetable cannot be.
    #[error("change at {at:?}: {problem}")]
    Timetable {
        /// Its time.
        at: Duration,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody emulates.
    #[error("no emulator runs here; start one with `farhop emulate SCENARIO`")]
    NoInstance,
    /// There is no emulator with this number.
    #[error("no emulator has the number {wanted}; running: {}", list(running))]
    NoSuchInstance {
        /// What was asked for.
        wanted: u32,
        /// Which there are.
        running: Vec<u32>,
    },
    /// There is more than one.
    #[error("several emulators run here; choose one by --instance: {}", list(running))]
    SeveralInstances {
        /// Which there are.
        running: Vec<u32>,
    },
    /// The socket fails.
    #[error("{}: {source}", socket.display())]
    Socket {
        /// Its path.
        socket: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

fn list(numbers: &[u32]) -> String {
    if numbers.is_empty() {
        return "none".to_owned();
    }
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
