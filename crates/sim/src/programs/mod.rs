//! What runs at the hosts.

mod browser;
mod origin;

pub(crate) use browser::Browser;
pub(crate) use origin::Origin;
