//! The scenario file: as typed, resolved, validated.

mod scenario;

pub use scenario::{RunConfig, Scenario};
