//! Measuring: the scenario's page loaded for real, by real TCP over the emulated link, directly and through the accelerator.
//!
//! [`measure`] runs it all: a testbed per run (`farhop_emu`), in it the [`origin`] that has the page, for some architectures the
//! accelerator's two boxes (`farhop_proxy`), and the [`client`] that loads as a browser does. What the client receives is compared with
//! what the origin sent, byte for byte, in every run.

pub mod client;
pub mod origin;

mod accelerator;
mod answers;
mod catalogue;
mod crosscheck;
mod digest;
mod error;
mod headers;
mod keys;
mod measure;
mod samples;
mod service;
mod session;

pub use answers::{HostAnswers, answers, with_plain_programs};
pub use crosscheck::{Crosscheck, crosscheck};
pub use error::{MeasureError, ResponseProblem};
pub use keys::Keys;
pub use measure::{Measurement, measure};
pub use session::Origin;
