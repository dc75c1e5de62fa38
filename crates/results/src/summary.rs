//! From loads to a row: the median of a few runs with the fastest and the slowest beside it.

use crate::{Load, Row, Sample};
use farhop_units::Bytes;
use std::time::Duration;

impl Row {
    /// The row of `loads`, which share architecture, source and state; `None` without loads. `page` is the size of the page's
    /// bodies, `limit` the physical limit.
    pub fn of_loads(loads: &[&Load], method: &str, page: Bytes, limit: Duration, note: Option<String>) -> Option<Self> {
        let first = loads.first()?;
        let times = Sample::new(loads.iter().map(|load| load.page_load_s));
        let page_load_s = times.median()?;
        Some(Self {
            architecture: first.architecture,
            source: first.source,
            method: method.to_owned(),
            state: first.state,
            runs: u32::try_from(loads.len()).unwrap_or(u32::MAX),
            page_load_s,
            page_load_min_s: times.quantile(0.0)?,
            page_load_max_s: times.quantile(1.0)?,
            mean_s: times.mean().filter(|_| loads.len() > 1),
            mean_error_s: times.mean_error(),
            first_byte_s: Sample::new(loads.iter().map(|load| load.first_byte_s)).median(),
            goodput_bit_s: page.bits_f64() / page_load_s,
            limit_s: limit.as_secs_f64(),
            note,
            breakdown: Vec::new(),
            users: None,
            log: None,
        })
    }
}
