//! One HTML file with everything: headline, bars, table, waterfalls with the link's throughput, and what repeats the run.
//!
//! The file loads nothing and holds no script. Its policy forbids everything but the one style sheet inside, by hash; hence
//! geometry is written as SVG attributes in percent, never as a `style` attribute, and text keeps its size at every width.

mod axis;
mod bars;
mod grid_table;
mod loads;
mod manifest;
mod markup;
mod page;
mod style;
mod throughput;
mod waterfall;

pub use page::html;
