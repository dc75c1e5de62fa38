//! From loads to a row: the median of a few runs with the fastest and the slowest beside it.

use farhop_results::{Architecture, CacheState, Load, Row, Source};
use farhop_scenario::Scenario;

/// The client behind every measured number.
pub(crate) const METHOD: &str = "farhop client";

/// The row of `loads`, which share architecture and state; `None` without loads.
pub(crate) fn row(
    scenario: &Scenario,
    architecture: Architecture,
    state: CacheState,
    loads: &[&Load],
    note: Option<String>,
) -> Option<Row> {
    let times = sorted(loads.iter().map(|load| load.page_load_s));
    let page_load_s = median(&times)?;
    Some(Row {
        architecture,
        source: Source::Measured,
        method: METHOD.to_owned(),
        state,
        runs: u32::try_from(loads.len()).unwrap_or(u32::MAX),
        page_load_s,
        page_load_min_s: *times.first()?,
        page_load_max_s: *times.last()?,
        first_byte_s: median(&sorted(loads.iter().map(|load| load.first_byte_s))),
        goodput_bit_s: scenario.page.total_bytes().bits_f64() / page_load_s,
        limit_s: farhop_model::limit(scenario).as_secs_f64(),
        note,
    })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle of sorted values, the mean of the two middle ones of an even number.
fn median(sorted: &[f64]) -> Option<f64> {
    let above = *sorted.get(sorted.len() / 2)?;
    let below = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(below, above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let of = |values: &[f64]| median(&sorted(values.iter().copied()));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(of(&[5.0]), Some(5.0));
        assert_eq!(of(&[]), None);
    }
}
