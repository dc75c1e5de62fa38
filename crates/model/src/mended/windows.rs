//! The published sums over whole windows, with the mends that change their terms only.

use super::{Ending, Mends, Sent, Transfer};
use crate::obata_2001::{self, Readings};
use crate::path::times;
use crate::{Path, Segments, obata_2002};
use farhop_units::Bytes;
use std::time::Duration;

/// T = Σ t(k) over the whole windows, and the last one.
pub(super) fn transfer(path: &Path, size: Bytes, start: &Transfer, mends: Mends) -> Sent {
    let readings = Readings {
        first_ack_delay: start.first_ack_delay,
        redundancy: start.redundancy,
        threshold: obata_2001::Threshold::BelowMaximum,
    };
    let full = path.full_window();
    let period = |window, previous| match start.ending {
        Ending::Paper2001 => obata_2001::eq2_sending_period(path, window, previous, &readings),
        Ending::Paper2002 => obata_2002::eq3_transmission_period(path, window, previous),
    };
    let (mut window, mut previous, mut rest, mut time) = (start.window, None, size.as_f64(), Duration::ZERO);
    loop {
        let payload = path.payload(window);
        let whole = whole_windows(rest, payload, mends);
        if whole < 1.0 {
            let last = last_window(path, rest, start.ending, mends);
            let packets = (rest / path.symbols().mss.as_f64()).ceil();
            let after = Segments::new(window.as_f64() + (packets / 2.0).ceil());
            return Sent { time: time.saturating_add(last), window: at_most(after, full) };
        }
        let steady = full == Some(window);
        let count = if steady { whole } else { 1.0 };
        let before = if steady { Some(window) } else { previous };
        time = time.saturating_add(times(period(window, before), count));
        rest = (rest - count * payload).max(0.0);
        (previous, window) = (Some(window), at_most(obata_2001::eq1_next_window(window), full));
    }
}

/// How many windows of `payload` are sent before the last one: all that fit, or all that fit and leave something.
fn whole_windows(rest: f64, payload: f64, mends: Mends) -> f64 {
    let fitting = rest / payload;
    if mends.no_jump { fitting.ceil() - 1.0 } else { fitting.floor() }
}

fn at_most(window: Segments, full: Option<Segments>) -> Segments {
    full.map_or(window, |full| if window < full { window } else { full })
}

/// The last window: bits over rate, and τ_sat.
fn last_window(path: &Path, rest: f64, ending: Ending, mends: Mends) -> Duration {
    let nothing_left = rest <= 0.0 && ending == Ending::Paper2001;
    if nothing_left {
        return Duration::ZERO;
    }
    let overhead = match ending {
        _ if mends.headers => (rest / path.symbols().mss.as_f64()).ceil() * path.symbols().headers.as_f64(),
        Ending::Paper2001 => 0.0,
        Ending::Paper2002 => path.symbols().ack.as_f64(),
    };
    path.down_time(rest + overhead).saturating_add(path.symbols().down_delay)
}
