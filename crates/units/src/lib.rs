//! Instants, rates, sizes and probabilities: the words every other crate speaks.
//!
//! A quantity never travels as a bare number. Each type parses what people write in a scenario file (`"2048 kbit/s"`,
//! `"258.6 ms"`, `"256 kB"`, `"0.1 %"`) and prints in the same form, so that what is printed can be read back.
//! Decimal prefixes are powers of 1000, binary prefixes (KiB, MiB, GiB) powers of 1024. Durations are
//! [`std::time::Duration`]; [`duration`] parses and prints them.
//!
//! ```
//! use farhop_units::{Bytes, Rate};
//! let rate: Rate = "100 Mbit/s".parse()?;
//! let packet: Bytes = "1.5 kB".parse()?;
//! assert_eq!(rate.transmission_time(packet).as_micros(), 120);
//! # Ok::<(), farhop_units::ParseError>(())
//! ```

mod bytes;
pub mod duration;
mod instant;
mod memory;
mod number;
mod probability;
pub mod random;
mod rate;
mod spelling;
pub mod terms;

pub use bytes::Bytes;
pub use instant::Instant;
pub use memory::{look_at, look_at_all};
pub use number::ParseError;
pub use probability::Probability;
pub use rate::Rate;
pub use spelling::{counted, suggestion};
