//! Times over a grid of scenario keys, as CSV and as text.

use crate::format::{self, or_dash};
use crate::table::ruled;
use comfy_table::{Cell, CellAlignment};
use farhop_results::{Architecture, Grid, GridPoint};

/// Points that the table shows, about.
const SHOWN: usize = 60;

/// A point on each line, with a heading: its values, the times by architecture in s, the fastest, its gain over direct, and whether
/// that is a benefit.
pub fn grid_csv(grid: &Grid) -> String {
    let architectures = grid.architectures();
    let times = architectures.iter().map(|architecture| format!("{architecture}_page_load_s"));
    let heading: Vec<String> =
        grid.keys.iter().cloned().chain(times).chain(["fastest", "gain", "benefit"].map(str::to_owned)).collect();
    let mut csv = csv_line(&heading);
    for point in &grid.points {
        let times = architectures.iter().map(|architecture| or_empty(point.time(*architecture)));
        let best = point.best().map(|(architecture, _)| architecture);
        let (gain, benefit) = (best.and_then(|best| point.gain(best)), best.and_then(|best| point.is_benefit(best)));
        let last = [or_empty(best), or_empty(gain), or_empty(benefit)];
        csv.push_str(&csv_line(&point.values.iter().cloned().chain(times).chain(last).collect::<Vec<_>>()));
    }
    csv
}

/// A line for each point, of many points every n-th: its values, the times in s, the fastest architecture and its gain, or that there is
/// no benefit.
pub fn grid_table(grid: &Grid) -> String {
    let architectures = grid.architectures();
    let mut table = ruled();
    let times = architectures.iter().map(|architecture| format!("{architecture}, s"));
    let last = ["fastest", "gain"].map(str::to_owned);
    table.set_header(grid.keys.iter().map(|key| shown(key)).chain(times).chain(last).map(Cell::new_owned));
    let every = grid.points.len().div_ceil(SHOWN).max(1);
    for point in grid.points.iter().step_by(every) {
        table.add_row(cells(point, &architectures).into_iter().map(Cell::new_owned));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let left_out = match every {
        1 => String::new(),
        _ => format!("one of {every}: {} points in all, with --json or --out DIR\n", grid.points.len()),
    };
    format!("{}\n{left_out}", table.trim_fmt())
}

/// The cells of a point: values, times, the fastest and its gain, or that there is no benefit.
pub(crate) fn cells(point: &GridPoint, architectures: &[Architecture]) -> Vec<String> {
    let time = |architecture: &Architecture| or_dash(point.time(*architecture).map(format::seconds));
    let choice = choice(point);
    let fastest =
        choice.map(|choice| choice.architecture().map_or_else(|| "no benefit".to_owned(), |it| it.to_string()));
    let last = [or_dash(fastest), or_dash(choice.and_then(Choice::gain).map(format::ratio))];
    point.values.iter().map(|value| shown(value)).chain(architectures.iter().map(time)).chain(last).collect()
}

/// Which architecture to take at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Choice {
    /// The fastest, for its gain over direct.
    Gain(Architecture, f64),
    /// The fastest; there is no direct to compare it with.
    Alone(Architecture),
    /// None: direct is as good.
    NoBenefit,
}

/// Nothing where no architecture has a time.
pub(crate) fn choice(point: &GridPoint) -> Option<Choice> {
    let (best, _) = point.best()?;
    Some(match (point.gain(best), point.is_benefit(best)) {
        (Some(gain), Some(true)) => Choice::Gain(best, gain),
        (_, Some(false)) => Choice::NoBenefit,
        _ => Choice::Alone(best),
    })
}

impl Choice {
    pub(crate) fn architecture(self) -> Option<Architecture> {
        match self {
            Self::Gain(architecture, _) | Self::Alone(architecture) => Some(architecture),
            Self::NoBenefit => None,
        }
    }

    pub(crate) fn gain(self) -> Option<f64> {
        match self {
            Self::Gain(_, gain) => Some(gain),
            Self::Alone(_) | Self::NoBenefit => None,
        }
    }
}

/// Without what would steer a terminal.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !format::steers(*c)).collect()
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// RFC 4180: cells with separators are quoted.
fn csv_line(cells: &[String]) -> String {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}
