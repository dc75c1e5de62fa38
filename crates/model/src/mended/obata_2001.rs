//! Time and throughput of one transfer, mended ([`super`] says of what).

use super::{Ending, Mends, Transfer, transfer};
use crate::obata_2001::{self, Readings};
use crate::{ModelError, Path, Segments};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// T of Eq 10 or 12 for `size`, from the first data segment sent to the last byte received. Without mends it is
/// [`obata_2001::transfer_time`]; with some, th is read as [`obata_2001::Threshold::BelowMaximum`], and with ACK queueing or
/// odd windows α stretches every packet, not a(n) alone.
///
/// # Errors
/// None for a checked path; as [`obata_2001::transfer_time`].
pub fn transfer_time(path: &Path, size: Bytes, readings: &Readings, mends: Mends) -> Result<Duration, ModelError> {
    if mends == Mends::NONE {
        return obata_2001::transfer_time(path, size, readings);
    }
    let start = Transfer {
        window: Segments::ONE,
        first_ack_delay: readings.first_ack_delay,
        redundancy: readings.redundancy,
        ending: Ending::Paper2001,
    };
    Ok(transfer(path, size, &start, mends).time)
}

/// Throughput F/T in bits of payload per second.
///
/// # Errors
/// [`ModelError::ZeroSize`]; [`ModelError::NoRate`] if the transfer takes no time or 584 years.
pub fn throughput(path: &Path, size: Bytes, readings: &Readings, mends: Mends) -> Result<Rate, ModelError> {
    if size == Bytes::ZERO {
        return Err(ModelError::ZeroSize);
    }
    let time = transfer_time(path, size, readings, mends)?;
    Rate::of(size, time).ok_or(ModelError::NoRate { size, time })
}
