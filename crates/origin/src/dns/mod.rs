//! DNS for the names of a site.

mod forward;
mod server;
mod zone;

pub(crate) use server::{NameServer, serve_tcp, serve_udp};
pub(crate) use zone::Zone;
