//! Run manifest, rows and events, with their readers and writers.

pub mod capture;
mod difference;
mod distribution;
mod grid;
pub mod packet_log;
mod prediction;
pub mod reproduction;
mod run;
mod sample;
mod series;
mod summary;
mod words;

pub use difference::Difference;
pub use distribution::{Distribution, Quantity, cumulative};
pub use grid::{Grid, GridPoint};
pub use prediction::{Rank, Wait, Waiting, is_benefit};
pub use run::{
    EmulationQuality, Gap, LinkSample, Load, Manifest, Needs, ObjectTiming, Peaks, RequestTimes, Results, Row,
    SimulationCost, TransferPrediction, UserTimes,
};
pub use sample::Sample;
pub use series::{ConnectionSeries, QueuePoint, SegmentPoint, TraceSeries, WindowPoint};
pub use words::{Architecture, CacheState, Source};
