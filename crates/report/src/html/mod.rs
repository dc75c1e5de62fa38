//! Self-contained HTML files: of a run, with everything from the headline to what repeats it; of a grid; of a paper.
//!
//! A file loads nothing and holds no script. Its policy forbids everything but the one style sheet inside, by hash; hence
//! geometry is written as SVG attributes in percent, never as a `style` attribute, and text keeps its size at every width.

mod axis;
mod bars;
mod breakdown;
mod comparison_table;
mod document;
mod grid;
mod loads;
mod manifest;
mod map;
mod markup;
mod page;
mod plot;
mod population;
mod ranking;
mod reproduction;
mod series;
mod span;
mod style;
mod throughput;
mod waterfall;

pub use grid::grid_html;
pub use page::html;
pub use reproduction::reproduction_html;
