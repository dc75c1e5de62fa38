//! A far link as a sans-IO machine.

mod config;

pub use config::{ChannelConfig, DirectionConfig, LossModel};
