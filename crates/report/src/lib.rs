//! Results for people: text for a terminal, and self-contained HTML files.
//!
//! All read `farhop-results` and nothing else. `comparison` lays the rows of a run out once, architecture by source, with the
//! reason for every cell that is empty; [`table`] and [`html`] draw that layout, so that they cannot disagree. The same two
//! forms exist of a grid of predictions ([`grid_table`], [`grid_html`]) and of a paper ([`reproduction_table`],
//! [`reproduction_html`]).
//!
//! Left out: interactive charts. The HTML holds no script and loads nothing, so that it can be mailed, archived and served under
//! the strictest content security policy.

mod comparison;
mod format;
mod grid;
mod html;
mod population;
mod ranking;
mod reproduction;
mod table;
mod values;

pub use grid::{grid_csv, grid_table};
pub use html::{grid_html, html, reproduction_html};
pub use reproduction::reproduction_table;
pub use table::table;
