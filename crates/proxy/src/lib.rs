//! The accelerator's two boxes as programs: sockets, QUIC, TLS and HTTP/1 around the decisions of `farhop-accel`.
//!
//! [`terminal`] is the clients' HTTP proxy at the slow end, [`gateway`] fetches at the fast end; one mutually authenticated QUIC
//! connection joins them ([`keys`] makes what they authenticate with, [`config`] reads their configuration files).
//! Leaves out: caching, HTTPS interception (HTTPS passes through CONNECT tunnels unseen), HTTP/2 towards clients and servers.

mod body;
mod clock;
pub mod config;
mod dial;
mod error;
mod flow;
pub mod gateway;
pub mod keys;
mod origin;
mod quic;
mod segments;
mod shared_socket;
pub mod terminal;
mod tls;
mod tunnel;
mod turnstile;

pub use config::{GatewayConfig, TerminalConfig};
pub use error::ProxyError;
