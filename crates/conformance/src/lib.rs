//! How far the engines are from each other and from real programs: points drawn with a seed, each predicted, simulated and measured.
//!
//! A [`Plan`] draws its [`Point`]s, [`Point::scenario`] makes each a scenario like any other, [`run`] has every engine answer it and keeps
//! each answer in a [`Journal`] as soon as it is there, so that a run that was interrupted goes on where it stopped. [`markdown`]
//! turns the journal into a page with every point. Nothing is left out because it is far off: a point that an engine cannot answer says
//! why.

mod agreement;
mod journal;
mod markdown;
mod point;
mod run;

pub use agreement::Agreement;
pub use journal::{Answer, Journal, JournalError, Outcome};
pub use markdown::markdown;
pub use point::{Plan, Point, Set};
pub use run::{RunError, renew, run};
