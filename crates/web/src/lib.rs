//! Pages, the browser-like loader and page-load metrics.

pub mod body;
mod http;
mod loader;
mod page;

pub use http::{HttpConfig, HttpVersion};
pub use loader::{Loader, LoaderAction};
pub use page::{MAX_OBJECTS, Object, Page, PageError, Reference};
