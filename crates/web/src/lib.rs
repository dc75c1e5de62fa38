//! Pages, recorded pages, the browser-like loader and page-load metrics.

pub mod body;
pub mod har;
mod http;
mod loader;
mod page;

pub use http::{HttpConfig, HttpVersion};
pub use loader::{Loader, LoaderAction};
pub use page::{MAX_OBJECTS, Object, Page, PageError, Reference};
