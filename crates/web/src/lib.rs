//! Pages, the browser-like loader and page-load metrics.

mod http;
mod page;

pub use http::{HttpConfig, HttpVersion};
pub use page::{Object, Page, Reference};
