//! A grid of two keys as a map: the colour of the fastest architecture, the stronger the more it gains over direct; grey where that is no
//! benefit.

use super::markup::{class, escape, percent, put};
use crate::format;
use crate::grid::{Choice, choice};
use crate::values::{Numbers, numbers};
use farhop_results::{Architecture, Grid, GridPoint};
use std::collections::{BTreeMap, BTreeSet};

/// Height of a row, in CSS pixels, if there are few.
const ROW: usize = 26;
/// Height of the map, at most.
const HEIGHT: usize = 520;
/// Columns whose cells have room for their gain.
const WIDE: usize = 14;
/// Labels beside the map, at most.
const LABELS: usize = 20;
/// Characters of labels and of the space between them that fit below the map, on a narrow screen too.
const CHARACTERS: usize = 46;

/// The figure: the first key from top to bottom, the second from left to right.
pub(crate) fn map(grid: &Grid, down: &str, across: &str) -> String {
    let (rows, columns) = (grid.values(0), grid.values(1));
    let (left, below) = (labels(&rows, down), labels(&columns, across));
    let height = (rows.len() * ROW).clamp(ROW, HEIGHT);
    let mut out = String::from("<figure class=\"chart\">\n");
    put_legend(&mut out, grid);
    put(
        &mut out,
        format_args!(
            "<p class=\"axis y\">{}</p>\n<div class=\"canvas heat\"><svg height=\"{height}\" role=\"img\" \
             aria-label=\"The fastest architecture by {} and {}; the numbers follow as a table\">\n",
            left.heading,
            escape(down),
            escape(across)
        ),
    );
    put_cells(&mut out, grid, &rows, &columns);
    put_labels(&mut out, &left.values, &below.values);
    put(&mut out, format_args!("</svg></div>\n<p class=\"axis x\">{}</p></figure>\n", below.heading));
    out
}

/// What stands at an axis of the map; HTML.
struct Labels {
    heading: String,
    values: Vec<String>,
}

/// The key with the unit, and the values in it; as typed if they are no numbers of one kind.
fn labels(values: &[&str], key: &str) -> Labels {
    match numbers(values) {
        Some(Numbers { unit, values, .. }) => Labels {
            heading: escape(&unit.map_or_else(|| key.to_owned(), |unit| format!("{key}, {unit}"))),
            values: values.into_iter().map(format::number).collect(),
        },
        None => Labels { heading: escape(key), values: values.iter().map(|value| escape(value)).collect() },
    }
}

/// Where a cell is, and how much the best of all gains.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    column: usize,
    rows: usize,
    columns: usize,
    most: f64,
}

fn put_cells(out: &mut String, grid: &Grid, rows: &[&str], columns: &[&str]) {
    let numbered = |values: &[&str]| values.iter().enumerate().map(|(n, value)| ((*value).to_owned(), n)).collect();
    let (row_of, column_of): (BTreeMap<String, usize>, BTreeMap<String, usize>) = (numbered(rows), numbered(columns));
    let most = grid.points.iter().filter_map(|point| choice(point)?.gain()).fold(1.0, f64::max);
    for point in &grid.points {
        let [down, across] = point.values.as_slice() else { continue };
        if let (Some(row), Some(column)) = (row_of.get(down), column_of.get(across)) {
            put_cell(out, point, Place { row: *row, column: *column, rows: rows.len(), columns: columns.len(), most });
        }
    }
}

fn put_cell(out: &mut String, point: &GridPoint, place: Place) {
    let (Some((fastest, time)), Some(choice)) = (point.best(), choice(point)) else { return };
    let gain = choice.gain();
    let strength = gain.map_or(1.0, |gain| libm::log(gain) / libm::log(place.most.max(1.001)));
    let (x, y) = (share(place.column, place.columns), share(place.row, place.rows));
    let (width, height) = (share(1, place.columns), share(1, place.rows));
    let told = match choice {
        Choice::Gain(_, gain) => format!(", {} times as fast as direct", format::ratio(gain)),
        Choice::Alone(_) => String::new(),
        Choice::NoBenefit => ", no benefit".to_owned(),
    };
    put(
        out,
        format_args!(
            "<g><title>{}: {fastest}, {} s{told}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
             fill-opacity=\"{:.2}\"/>",
            escape(&point.values.join(", ")),
            format::seconds(time),
            colour(choice.architecture()),
            percent(x),
            percent(y),
            percent(width),
            percent(height),
            0.12 + 0.7 * strength
        ),
    );
    if let Some(gain) = gain.filter(|_| place.columns <= WIDE && place.rows * ROW <= HEIGHT) {
        let (x, y, gain) = (percent(x + width / 2.0), percent(y + height / 2.0), format::ratio(gain));
        put(
            out,
            format_args!("<text class=\"value\" x=\"{x}\" y=\"{y}\" dy=\"4\" text-anchor=\"middle\">{gain}</text>"),
        );
    }
    out.push_str("</g>\n");
}

/// The class of cells in which this is the fastest, or nothing is worth while.
fn colour(fastest: Option<Architecture>) -> String {
    fastest.map_or_else(|| "none".to_owned(), class)
}

/// `part` of `whole`.
#[expect(clippy::cast_precision_loss, reason = "counts of cells")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Values beside their rows and below their columns, of many every n-th.
fn put_labels(out: &mut String, rows: &[String], columns: &[String]) {
    for (row, value) in rows.iter().enumerate().step_by(rows.len().div_ceil(LABELS).max(1)) {
        let y = percent(share(2 * row + 1, 2 * rows.len()));
        put(out, format_args!("<text x=\"0\" dx=\"-8\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{value}</text>\n"));
    }
    let longest = columns.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    let every = (columns.len() * (longest + 2)).div_ceil(CHARACTERS).max(1);
    for (column, value) in columns.iter().enumerate().step_by(every) {
        let x = percent(share(2 * column + 1, 2 * columns.len()));
        put(out, format_args!("<text x=\"{x}\" y=\"100%\" dy=\"18\" text-anchor=\"middle\">{value}</text>\n"));
    }
}

fn put_legend(out: &mut String, grid: &Grid) {
    let choices: BTreeSet<Option<Architecture>> =
        grid.points.iter().filter_map(|point| Some(choice(point)?.architecture())).collect();
    out.push_str("<ul class=\"legend heat\">");
    for winner in choices {
        let colour = colour(winner);
        let told = winner.map_or_else(|| "no benefit".to_owned(), |winner| format!("{winner} is the fastest"));
        put(
            out,
            format_args!(
                "<li><svg aria-hidden=\"true\"><rect class=\"{colour}\" width=\"22\" height=\"12\"/></svg>{told}</li>"
            ),
        );
    }
    out.push_str(
        "<li>the stronger the colour, the larger its gain over direct, told in it where there is room</li></ul>\n",
    );
}
