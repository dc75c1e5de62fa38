//! What runs at the hosts.

mod browser;
mod connections;
mod frames;
mod keys;
mod origin;
mod pace;
mod prefetcher;

pub(crate) use browser::Browser;
pub(crate) use connections::Action;
pub(crate) use origin::{Answer, Origin, Work};
pub(crate) use pace::Pace;
pub(crate) use prefetcher::{Duty, Errand, Prefetcher};
