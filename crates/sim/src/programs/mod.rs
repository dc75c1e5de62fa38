//! What runs at the hosts.

mod browser;
mod connections;
mod frames;
mod keys;
mod origin;
mod prefetcher;

pub(crate) use browser::Browser;
pub(crate) use connections::Action;
pub(crate) use origin::Origin;
pub(crate) use prefetcher::{Duty, Errand, Prefetcher};
