//! Closed formulas: the equations of four papers as published, one public function each, what is known to be wrong with them mended,
//! well-known others beside them, and the physical limit.
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
//! | [`prefetch_2013`] | "Web Acceleration by Prefetching in Extremely Large Latency Network" | load time with normal access and with prefetching |
//! | [`zhou_2004`] | CSHCN TR 2004-10 | reverse traffic by ACK frequency |
//! | [`mended`] | ours | the Obata formulas without their mistakes: ns-3 within 0.3 % |
//! | [`cardwell_2000`] | IEEE INFOCOM 2000 | latency of one transfer under loss |
//! | [`padhye_1998`] | ACM SIGCOMM 1998 | rate of a long transfer under loss |
//! | [`mathis_1997`] | ACM CCR 27(3) | the same by the square-root law |
//! | [`lantern`] | Lighthouse's public description | load time of a page graph |
//! | [`recursion`] | farhop's own | time to load a page through any architecture, and what it waited for |
//! | [`limit`](fn@limit) | speed of light, rate of the link | the time that no architecture can undercut |
//!
//! Sizes and rates are converted where they meet (bytes × 8 over bit/s; the papers never write the 8). Times saturate at
//! [`Duration::MAX`](std::time::Duration::MAX). No formula panics or loops longer than its slow start, and none allocates but Lantern's,
//! which keeps a page's graph; the example `speed` measures a million evaluations per second and more.

pub mod cardwell_2000;
mod error;
mod expressible;
pub mod lantern;
mod limit;
pub mod mathis_1997;
pub mod mended;
pub mod obata_2001;
pub mod obata_2002;
mod own;
pub mod padhye_1998;
mod path;
mod predict;
pub mod prefetch_2013;
mod ranking;
pub mod recursion;
mod sweep;
mod well_known;
pub mod zhou_2004;

pub use error::ModelError;
pub use limit::{Limit, limit};
pub use own::METHOD as OWN_METHOD;
pub use path::{Path, Segments, Symbols, WindowReading};
pub use predict::{Prediction, predict};
pub use sweep::Sweep;
