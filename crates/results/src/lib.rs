//! Run manifest, rows and events, with their readers and writers.

pub mod packet_log;
mod run;
mod summary;
mod words;

pub use run::{
    EmulationQuality, Gap, LinkSample, Load, Manifest, ObjectTiming, Results, Row, SimulationCost, TransferPrediction,
};
pub use words::{Architecture, CacheState, Source};
