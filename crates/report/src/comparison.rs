//! All numbers side by side: a line per architecture and state, a cell per source, a reason for every empty cell.

use crate::{format, population};
use farhop_results::{Architecture, CacheState, Gap, Results, Row, Source};
use farhop_units::counted;
use std::collections::BTreeSet;

/// The comparison.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    /// The sources that have a row or a gap, in their usual order; the columns.
    pub(crate) sources: Vec<Source>,
    /// In the usual order of architectures and states.
    pub(crate) lines: Vec<Line<'a>>,
    /// What numbers in cells refer to, from 1.
    pub(crate) footnotes: Vec<String>,
}

/// One architecture in one state.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// What the far link carried.
    pub(crate) architecture: Architecture,
    /// Absent where there are gaps only.
    pub(crate) state: Option<CacheState>,
    /// A cell for each of the comparison's sources.
    pub(crate) cells: Vec<Cell<'a>>,
}

/// What one source says about one architecture in one state.
#[derive(Debug)]
pub(crate) struct Cell<'a> {
    /// A value per method; none if the cell cannot be filled.
    pub(crate) values: Vec<Value<'a>>,
    /// Why there is no value: numbers of footnotes.
    pub(crate) reasons: Vec<usize>,
}

/// One number of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    /// The number with its context.
    pub(crate) row: &'a Row,
    /// Number of the footnote with method and note.
    pub(crate) footnote: Option<usize>,
}

impl<'a> Comparison<'a> {
    /// Lays out `results`.
    pub(crate) fn new(results: &'a Results) -> Self {
        let mut comparison = Self { sources: sources(results), lines: Vec::new(), footnotes: Vec::new() };
        for (architecture, state) in lines(results) {
            let cells = comparison
                .sources
                .clone()
                .into_iter()
                .map(|source| comparison.cell(results, architecture, state, source))
                .collect();
            comparison.lines.push(Line { architecture, state, cells });
        }
        comparison.add_gaps_beside_values(results);
        comparison
    }

    fn cell(
        &mut self,
        results: &'a Results,
        architecture: Architecture,
        state: Option<CacheState>,
        source: Source,
    ) -> Cell<'a> {
        let rows = of(&results.rows, architecture, source).filter(|row| Some(row.state) == state);
        let values: Vec<_> = rows.map(|row| Value { row, footnote: self.explain(row) }).collect();
        let reasons = if values.is_empty() { self.reasons(results, architecture, source) } else { Vec::new() };
        Cell { values, reasons }
    }

    /// The footnote that a row needs: its note, and which formula gave it.
    fn explain(&mut self, row: &Row) -> Option<usize> {
        let text = match (&row.note, row.source) {
            (Some(note), _) => format!("{}: {note}", row.method),
            (None, Source::Predicted) => row.method.clone(),
            (None, _) => return None,
        };
        Some(self.footnote(text))
    }

    /// Footnotes that say why a cell is empty.
    fn reasons(&mut self, results: &Results, architecture: Architecture, source: Source) -> Vec<usize> {
        let reasons: Vec<_> = gaps_of(&results.gaps, architecture, source).map(|gap| gap.reason.clone()).collect();
        if !reasons.is_empty() {
            return reasons.into_iter().map(|reason| self.footnote(reason)).collect();
        }
        let elsewhere = of(&results.rows, architecture, source).next().is_some();
        vec![self.footnote(format!("not {source}{}", if elsewhere { " in this state" } else { "" }))]
    }

    /// Gaps of sources that fill every line of their architecture would be lost otherwise.
    fn add_gaps_beside_values(&mut self, results: &Results) {
        for gap in &results.gaps {
            if !self.footnotes.contains(&gap.reason) {
                self.footnote(format!("{}, {}: {}", gap.architecture, gap.source, gap.reason));
            }
        }
    }

    /// Number of the footnote with this text; equal texts share one.
    fn footnote(&mut self, text: String) -> usize {
        let known = self.footnotes.iter().position(|other| *other == text);
        known.unwrap_or_else(|| {
            self.footnotes.push(text);
            self.footnotes.len() - 1
        }) + 1
    }
}

impl Line<'_> {
    /// "accelerated, cold".
    pub(crate) fn name(&self) -> String {
        name(self.architecture, self.state)
    }

    /// The number to compare with: measured if there is one, else simulated, else predicted.
    pub(crate) fn best(&self) -> Option<&Row> {
        self.cells.iter().filter_map(|cell| cell.values.first()).map(|value| value.row).max_by_key(|row| row.source)
    }

    /// The limit of [`Line::best`], else that of all.
    pub(crate) fn limit_s(&self, of_all: f64) -> f64 {
        self.best().map_or(of_all, |row| row.limit_s)
    }

    /// Load time over limit of [`Line::best`].
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.best().and_then(ratio)
    }
}

/// Load time over limit, where it is a number.
pub(crate) fn ratio(row: &Row) -> Option<f64> {
    Some(row.page_load_s / row.limit_s).filter(|ratio| ratio.is_finite())
}

/// "accelerated, cold". The client's own connections find nothing stored: their one state needs no name.
pub(crate) fn name(architecture: Architecture, state: Option<CacheState>) -> String {
    let state = state.filter(|state| architecture != Architecture::Direct || *state != CacheState::Cold);
    state.map_or_else(|| architecture.to_string(), |state| format!("{architecture}, {state}"))
}

/// The fastest and the slowest where a row stands for several loads of one page. What users or a log's requests met is told apart
/// from it ([`crate::population`]): there the extremes are of thousands of pages.
pub(crate) fn spread(row: &Row) -> Option<[f64; 2]> {
    (row.runs > 1 && !population::is_one(row)).then_some([row.page_load_min_s, row.page_load_max_s])
}

/// "5.98–6.10" where a row has a spread.
pub(crate) fn range(row: &Row) -> Option<String> {
    spread(row).map(|ends| ends.map(format::seconds).join("–"))
}

/// How each source got its numbers, e.g. "measured with farhop-client, median of 3 (range)".
pub(crate) fn methods(results: &Results) -> Vec<String> {
    let of_source = |source| results.rows.iter().filter(move |row| row.source == source);
    [(Source::Simulated, "profile"), (Source::Measured, "client")]
        .into_iter()
        .filter_map(|(source, kind)| {
            let methods: BTreeSet<_> = of_source(source).map(|row| row.method.as_str()).collect();
            let runs = of_source(source).map(|row| row.runs).max()?;
            let least = of_source(source).map(|row| row.runs).min().filter(|least| *least < runs);
            let from = least.map(|least| format!("{least} to ")).unwrap_or_default();
            let median = match of_source(source).any(population::is_one) {
                true => format!("; median of all in {from}{}", counted(runs, "replication")),
                false if runs > 1 => format!("; median of {runs} (range)"),
                false => String::new(),
            };
            Some(format!("{source}: {kind} {}{median}", methods.into_iter().collect::<Vec<_>>().join(", ")))
        })
        .collect()
}

/// What the formulas say of the page's bytes as one transfer.
pub(crate) fn transfer(results: &Results) -> Option<String> {
    let transfer = results.transfer?;
    let throughput = transfer.tcp_throughput_bit_s.map(format::bit_rate);
    let window = transfer.saturation_window_segments;
    let saturation = window.map(|segments| format!("the link saturates at a window of {segments:.1} segments"));
    let parts: Vec<String> = throughput.into_iter().chain(saturation).collect();
    (!parts.is_empty()).then(|| format!("one TCP transfer of the page's bytes (obata-2001): {}", parts.join(", ")))
}

fn of(rows: &[Row], architecture: Architecture, source: Source) -> impl Iterator<Item = &Row> {
    rows.iter().filter(move |row| row.architecture == architecture && row.source == source)
}

fn gaps_of(gaps: &[Gap], architecture: Architecture, source: Source) -> impl Iterator<Item = &Gap> {
    gaps.iter().filter(move |gap| gap.architecture == architecture && gap.source == source)
}

fn sources(results: &Results) -> Vec<Source> {
    let present: BTreeSet<_> =
        results.rows.iter().map(|row| row.source).chain(results.gaps.iter().map(|gap| gap.source)).collect();
    present.into_iter().collect()
}

/// Architectures with their states; one line without a state for an architecture that has gaps only.
fn lines(results: &Results) -> BTreeSet<(Architecture, Option<CacheState>)> {
    let rows: BTreeSet<_> = results.rows.iter().map(|row| (row.architecture, Some(row.state))).collect();
    let gaps = results.gaps.iter().map(|gap| (gap.architecture, None));
    let missing = gaps.filter(|(architecture, _)| !rows.iter().any(|(known, _)| known == architecture));
    missing.chain(rows.iter().copied()).collect()
}
