//! Results for people: one table for a terminal, one self-contained HTML file.
//!
//! Both read [`farhop_results::Results`] and nothing else. `grid` lays the rows out once, architecture by source, with the
//! reason for every cell that is empty; [`table`] and [`html`] draw that grid, so that they cannot disagree.
//!
//! Left out: interactive charts. The HTML holds no script and loads nothing, so that it can be mailed, archived and served under
//! the strictest content security policy.

mod format;
mod grid;
mod html;
mod table;

pub use html::html;
pub use table::table;
