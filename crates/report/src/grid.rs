//! Times over a grid of scenario keys, as CSV and as text.

use crate::format::{self, or_dash};
use crate::table::ruled;
use comfy_table::{Cell, CellAlignment};
use farhop_results::{Architecture, Grid, GridPoint};

/// Points that the table shows, about.
const SHOWN: usize = 60;

/// A point on each line, with a heading: its values, the times by architecture in s, the fastest, and its gain over direct.
pub fn grid_csv(grid: &Grid) -> String {
    let architectures = grid.architectures();
    let times = architectures.iter().map(|architecture| format!("{architecture}_page_load_s"));
    let heading: Vec<String> =
        grid.keys.iter().cloned().chain(times).chain(["fastest", "gain"].map(str::to_owned)).collect();
    let mut csv = csv_line(&heading);
    for point in &grid.points {
        let times = architectures.iter().map(|architecture| number(point.time(*architecture)));
        let (best, gain) = best(point);
        let last = [best.map_or_else(String::new, |best| best.to_string()), number(gain)];
        csv.push_str(&csv_line(&point.values.iter().cloned().chain(times).chain(last).collect::<Vec<_>>()));
    }
    csv
}

/// A line for each point, of many points every n-th: its values, the times in s, the fastest architecture and its gain.
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

/// The cells of a point: values, times, the fastest and its gain.
pub(crate) fn cells(point: &GridPoint, architectures: &[Architecture]) -> Vec<String> {
    let time = |architecture: &Architecture| or_dash(point.time(*architecture).map(format::seconds));
    let (best, gain) = best(point);
    let last = [or_dash(best.map(|best| best.to_string())), or_dash(gain.map(format::ratio))];
    point.values.iter().map(|value| shown(value)).chain(architectures.iter().map(time)).chain(last).collect()
}

/// The fastest architecture and its gain over direct.
pub(crate) fn best(point: &GridPoint) -> (Option<Architecture>, Option<f64>) {
    let best = point.best().map(|(architecture, _)| architecture);
    (best, best.and_then(|best| point.gain(best)))
}

/// Without what would steer a terminal.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !format::steers(*c)).collect()
}

fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// RFC 4180: cells with separators are quoted.
fn csv_line(cells: &[String]) -> String {
    let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}
