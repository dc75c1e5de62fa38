//! Run manifest, rows and events, with their readers and writers.

mod run;
mod words;

pub use run::{
    EmulationQuality, Gap, LinkSample, Load, Manifest, ObjectTiming, Results, Row,
};
pub use words::{Architecture, CacheState, Source};
