//! Time to load n data sets, mended ([`super`] says of what). Without mends these are the published formulas.

use super::{Ending, Mends, Sent, Transfer, transfer};
use crate::obata_2001::Redundancy;
use crate::obata_2002::{eq1_connect_time, eq10_request_time};
use crate::{ModelError, Path, Segments};
use farhop_units::Bytes;
use std::time::Duration;

/// Eq 9 over mended transfers: a connection and a slow start for each data set.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq9_http10(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
    mends: Mends,
) -> Result<Duration, ModelError> {
    let connect = eq1_connect_time(path, p_connect);
    let time = |size| connect.saturating_add(data_set(path, size, Segments::ONE, mends).time);
    sizes.into_iter().map(time).reduce(Duration::saturating_add).ok_or(ModelError::NoDataSets)
}

/// Eq 13 over mended transfers: one connection; later data sets start with a full window, or with the one that the earlier ones
/// left ([`Mends::kept_window`]).
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq13_http11_revised(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
    mends: Mends,
) -> Result<Duration, ModelError> {
    let mut sizes = sizes.into_iter();
    let first = data_set(path, sizes.next().ok_or(ModelError::NoDataSets)?, Segments::ONE, mends);
    let request = eq10_request_time(path, p_connect);
    let (mut time, mut window) = (eq1_connect_time(path, p_connect).saturating_add(first.time), first.window);
    for size in sizes {
        let sent = later_data_set(path, size, window, mends);
        (time, window) = (time.saturating_add(request).saturating_add(sent.time), sent.window);
    }
    Ok(time)
}

/// Eq 15 over mended transfers: all later data sets as one, asked for when the first has come.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq15_http11_pipelined(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
    mends: Mends,
) -> Result<Duration, ModelError> {
    let mut sizes = sizes.into_iter().peekable();
    let first = data_set(path, sizes.next().ok_or(ModelError::NoDataSets)?, Segments::ONE, mends);
    let time = eq1_connect_time(path, p_connect).saturating_add(first.time);
    if sizes.peek().is_none() {
        return Ok(time);
    }
    let later = sizes.fold(0_u64, |sum, size| sum.saturating_add(size.get()));
    let sent = later_data_set(path, Bytes::new(later), first.window, mends);
    Ok(time.saturating_add(eq10_request_time(path, p_connect)).saturating_add(sent.time))
}

/// A data set from the second on, after those that left `window`.
fn later_data_set(path: &Path, size: Bytes, window: Segments, mends: Mends) -> Sent {
    match path.full_window() {
        Some(full) if !mends.kept_window => data_set(path, size, full, mends),
        // An unlimited window is never full: Eq 12 takes all of it as the last window.
        None if !mends.kept_window => data_set(path, size, Segments::new(f64::MAX), mends),
        _ => data_set(path, size, window, mends),
    }
}

fn data_set(path: &Path, size: Bytes, window: Segments, mends: Mends) -> Sent {
    let ending = Ending::Paper2002;
    let start = Transfer { window, first_ack_delay: Duration::ZERO, redundancy: Redundancy::NONE, ending };
    transfer(path, size, &start, mends)
}
