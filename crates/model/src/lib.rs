//! Closed formulas: the equations of the Obata papers as published, one public function each, and the physical limit.
//!
//! Nothing here runs a machine of the simulator or the emulator, so that a prediction stays an independent check of both: the
//! crate sees a scenario only through its configuration types. The formulas are kept as their authors printed them, with
//! their simplifications; what differs from the scenario at hand stands in the note of each row that [`predict`] gives.
//! Where a text can be read in two ways a parameter chooses, and its default reproduces the numbers in the text.
//!
//! | module | source | gives |
//! |---|---|---|
//! | [`obata_2001`] | IEICE Trans. Commun. E84-B(6), 1480-1487 | time and throughput of one TCP transfer, saturation window |
//! | [`obata_2002`] | IEICE Trans. Commun. E85-B, 2002 | time to load n data sets over HTTP/1.0, 1.1 and pipelined 1.1 |
//! | [`limit`](fn@limit) | speed of light, rate of the link | the time that no architecture can undercut |
//!
//! Sizes and rates are converted where they meet (bytes × 8 over bit/s; the papers never write the 8). Times saturate at
//! [`Duration::MAX`](std::time::Duration::MAX); no formula allocates, panics, or loops longer than its slow start.

mod error;
mod expressible;
mod limit;
pub mod obata_2001;
pub mod obata_2002;
mod path;
mod predict;

pub use error::ModelError;
pub use limit::limit;
pub use path::{Path, Segments, Symbols, WindowReading};
pub use predict::{Prediction, predict};
