//! Pages, recorded pages, users, proxy logs, the browser-like loader and page-load metrics.

pub mod body;
pub mod distribution;
mod handshake;
pub mod har;
mod http;
mod loader;
pub mod logs;
mod page;
mod records;
pub mod users;

pub use handshake::{CONNECT_BYTES, DNS_ANSWER_BYTES, DNS_QUERY_BYTES, DNS_TIMEOUT, Flights};
pub use http::{Dns, HTTP2_FRAME_BYTES, HttpConfig, HttpVersion, LONGEST_HEAD, Tls};
pub use loader::{Loader, LoaderAction, MAX_STREAMS};
pub use page::{Language, MAX_OBJECTS, Method, Named, Object, Page, PageError, Priority, Reference, is_font};
pub use records::{MOST_RECORD_BYTES, Records};

/// What some editors put before a text.
const BYTE_ORDER_MARK: &str = "\u{FEFF}";
