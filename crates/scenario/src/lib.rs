//! The scenario file: as typed, resolved, validated.
//!
//! [`open`] takes what a user types (a file or the name of a shipped scenario, and `--set` assignments) and gives a [`Scenario`]
//! in which every value is present, checked and in its own type, or one error that says what is wrong and what is accepted.
//! [`Scenario::to_toml`] writes the resolved form, which reads back as the same scenario.
//!
//! What a file may say is in [`network`] and [`resolve`], key by key, with the defaults.

mod brief;
mod error;
mod files;
pub mod host_times;
mod log;
mod multicast;
mod network;
mod open;
mod over;
pub mod reader;
mod render;
mod resolve;
mod scenario;
pub mod seeds;
pub mod shipped;
mod template;
mod traces;
mod users;
mod variation;
mod words;

pub use brief::Brief;
pub use error::ScenarioError;
pub use files::{read_at_most, read_text, read_text_at_most};
pub use multicast::Multicast;
pub use open::{open, parse};
pub use over::{Axis, Over};
pub use scenario::{Log, PrefetchSide, RunConfig, RwbpSettings, Scenario, Users};
pub use template::Template;
pub use variation::Variation;

// The types a scenario is made of, so that a crate can read a scenario without depending on the machines behind it.
pub use farhop_link::{
    Access, ChannelConfig, Direction, DirectionConfig, Discipline, Frame, Jitter, LossModel, Orbit, Outages,
    QueueLimit, Trace, TraceEnd, TraceError, TraceRecord,
};
pub use farhop_tcp::{
    AfterPause, ByteCounting, Congestion, DUPLICATE_THRESHOLD, FirstAck, HEADER_BYTES, HZ, HostTimes,
    LINUX_FIRST_ROUND, MOST_SACK_BLOCKS, PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PROGRAM_WRITES_ON_SPEEDUP, PauseTimes,
    Profile, TcpConfig, sending_time, timer_granularity,
};
pub use farhop_web::users::UserModel;
pub use farhop_web::{
    CONNECT_BYTES, DNS_ANSWER_BYTES, DNS_QUERY_BYTES, Dns, Flights, HTTP2_FRAME_BYTES, HttpConfig, HttpVersion,
    Language, Method, Object, Page, Records, Reference, Tls,
};
