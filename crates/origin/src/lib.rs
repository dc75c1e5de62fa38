//! Servers behind the far end: a directory, or a recorded page with all its hosts, as the inside of a testbed sees the web.
//!
//! ```text
//! client ── terminal ══ far link ══ gateway ── server: 10.79.0.1  www.example.test  :80 :443
//!                                                      10.79.0.2  cdn.example.test  :80 :443
//!                                                      its own    DNS               :53
//! ```
//!
//! [`Site`] is what is served, [`Origins`] serves it: HTTP/1.1 and HTTP/2, plain and over TLS with certificates of a private authority that
//! lives as long as the run, and DNS for the names. The parts that decide (answers to requests, to DNS messages, certificates) know
//! nothing of sockets. Nothing that arrives is trusted: what a client can make the servers hold, do or reveal is bounded.
//!
//! Left out: HTTP/3, WebSockets, servers that keep state, any delay of their own but the recorded one.

mod addresses;
mod authority;
mod body;
mod certificates;
mod dns;
mod error;
mod filler;
mod names;
mod origins;
mod patience;
mod request;
mod server;
mod site;
mod trust;

pub use addresses::Name;
pub use error::OriginError;
pub use origins::{OriginOptions, Origins};
pub use site::Site;
