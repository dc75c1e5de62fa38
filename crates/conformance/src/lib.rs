//! How far the engines are from each other and from real programs: points drawn with a seed, each predicted, simulated and measured.
//!
//! A [`Plan`] draws its [`Point`]s and [`Point::scenario`] makes each a scenario like any other. A [`Study`] has the model and the simulator
//! answer every one, which takes seconds, and measures what its [`Journal`] does not hold yet, which takes an hour or more; the journal
//! keeps what is measured of each point as it comes, so that a run that was interrupted goes on where it stopped. [`markdown`] turns a study
//! into a page with every point. Nothing is left out because it is far off: a point that an engine cannot answer says why.

mod agreement;
mod journal;
mod markdown;
mod outcome;
mod point;
mod run;

pub use agreement::Agreement;
pub use journal::{Answer, Hosts, Journal, JournalError, Measured};
pub use markdown::markdown;
pub use outcome::Outcome;
pub use point::{Plan, Point, Set};
pub use run::{RunError, Study};
