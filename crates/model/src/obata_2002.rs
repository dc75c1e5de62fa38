//! n data sets over HTTP: H. Obata, K. Ishida, J. Funasaka, K. Amano, "Data Transfer Time by HTTP 1.0/1.1 on Asymmetric
//! Networks Composed of Satellite and Terrestrial Links", IEICE Trans. Commun. E85-B, 2002; and the older formula it compares
//! with, \[12\]: G. Hasegawa, M. Murata, H. Miyahara, Int. J. Commun. Syst. 12(4), 281-296, 1999.
//!
//! The time runs from the client's SYN to the last byte of the last data set, over one connection at a time. TCP is that of
//! [`obata_2001`], except that no first ACK is delayed and that every data set ends when it is received.
//!
//! Left out by the paper, and kept so: a request is a bare header of P_connect = 52 B; server time; Eq 8, 12 and 14 add one
//! d_ack to the remainder, however many packets it fills; Eq 12 and 14 take the window as full from the second data set on,
//! though after 5 kB it is about 4 segments (up to −42 % for pipelining). Eq 2 compares segments with MWS in bytes; read here
//! as MWS/d_seg segments. The text never gives MWS; 16 KiB reproduces its numbers.

use crate::obata_2001;
use crate::path::times;
use crate::{ModelError, Path, Segments, Symbols, WindowReading};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// P_connect of Table 1: every packet of the handshake and the request.
pub const P_CONNECT: Bytes = Bytes::new(52);

/// Table 1: a satellite down, the Internet of 2000 up. The maximum window is not in it; 16 KiB reproduces the text's numbers.
pub fn table_1(max_window: Bytes) -> Symbols {
    Symbols {
        down_rate: Some(Rate::kbps(2048)),
        up_rate: Rate::from_bits_per_second(900_700),
        down_delay: Duration::from_micros(258_600),
        up_delay: Duration::from_micros(17_300),
        mss: Bytes::new(1448),
        headers: Bytes::new(52),
        ack: Bytes::new(52),
        max_window: Some(max_window),
        window: WindowReading::Real,
    }
}

/// Eq 1: T_connect = P_connect/Q_sat + 2·P_connect/Q_ter + τ_sat + 2·τ_ter: SYN, SYN-ACK, and the request.
pub fn eq1_connect_time(path: &Path, p_connect: Bytes) -> Duration {
    [path.symbols().down_delay, path.down_time(p_connect.as_f64())]
        .into_iter()
        .fold(times(eq10_request_time(path, p_connect), 2.0), Duration::saturating_add)
}

/// Eq 2: w(k+1) = min(w(k) + ⌈w(k)/2⌉, MWS/d_seg).
pub fn eq2_next_window(path: &Path, window: Segments) -> Segments {
    let grown = obata_2001::eq1_next_window(window);
    path.full_window().map_or(grown, |full| if grown < full { grown } else { full })
}

/// Eq 3: t(k) = max(rtt, a(k), q(k−1)). `previous` is w(k−1); the undefined q(−1) counts as no time.
pub fn eq3_transmission_period(path: &Path, window: Segments, previous: Option<Segments>) -> Duration {
    let acks = previous.map_or(Duration::ZERO, |previous| eq6_ack_time(path, previous));
    eq4_rtt(path).max(eq5_data_time(path, window)).max(acks)
}

/// Eq 4: rtt = τ_sat + τ_ter + 2P/Q_sat + d_ack/Q_ter; Eq 3 of [`obata_2001`].
pub fn eq4_rtt(path: &Path) -> Duration {
    obata_2001::eq3_rtt(path)
}

/// Eq 5: a(k) = P·w(k)/Q_sat; Eq 5 of [`obata_2001`].
pub fn eq5_data_time(path: &Path, window: Segments) -> Duration {
    obata_2001::eq5_data_time(path, window)
}

/// Eq 6: q(k) = d_ack·⌈w(k)/2⌉/Q_ter; Eq 6 of [`obata_2001`].
pub fn eq6_ack_time(path: &Path, window: Segments) -> Duration {
    obata_2001::eq6_ack_time(path, window)
}

/// Eq 7: th, the last transmission with Σ w(k)·d_seg ≤ F for k = 0…th; `None` if F is below one segment, so that Eq 8 sums over
/// nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number; saturates at 2^64")]
pub fn eq7_threshold(path: &Path, size: Bytes) -> Option<u64> {
    (whole_windows(path, size).count as u64).checked_sub(1)
}

/// Eq 8: T_transmit = Σ t(k) + (F − Σ w(k)·d_seg + d_ack)/Q_sat + τ_sat for k = 0…th, one data set with its slow start.
pub fn eq8_transmit_time(path: &Path, size: Bytes) -> Duration {
    let whole = whole_windows(path, size);
    whole.time.saturating_add(last_window_time(path, size.as_f64() - whole.data))
}

/// Eq 9, "the initial (1.0) formula": n·T_connect + Σ T_transmit(k), a connection for each data set.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq9_http10(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
) -> Result<Duration, ModelError> {
    let connect = eq1_connect_time(path, p_connect);
    sum(sizes.into_iter().map(|size| connect.saturating_add(eq8_transmit_time(path, size))))
}

/// Eq 10: T'_connect = P_connect/Q_ter + τ_ter, a request over the open connection.
pub fn eq10_request_time(path: &Path, p_connect: Bytes) -> Duration {
    path.up_time(p_connect.as_f64()).saturating_add(path.symbols().up_delay)
}

/// Eq 11, "the initial (1.1) formula": T_connect + (n−1)·T'_connect + Σ T_transmit(k), one connection with a slow start for each
/// data set.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq11_http11_initial(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
) -> Result<Duration, ModelError> {
    let (connect, request) = (eq1_connect_time(path, p_connect), eq10_request_time(path, p_connect));
    sum(sizes.into_iter().enumerate().map(|(k, size)| {
        let ask = if k == 0 { connect } else { request };
        ask.saturating_add(eq8_transmit_time(path, size))
    }))
}

/// Eq 12: T'_transmit = ⌊F/MWS⌋·t_max + (F mod MWS + d_ack)/Q_sat + τ_sat, a later data set, sent with a full window from the
/// start. t_max is Eq 3 for full windows.
pub fn eq12_later_transmit_time(path: &Path, size: Bytes) -> Duration {
    full_window_time(path, size.as_f64())
}

/// Eq 13, "the revised (1.1) formula": T_connect + (n−1)·T'_connect + T_transmit(1) + Σ T'_transmit(k) for k = 2…n.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq13_http11_revised(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
) -> Result<Duration, ModelError> {
    let (connect, request) = (eq1_connect_time(path, p_connect), eq10_request_time(path, p_connect));
    sum(sizes.into_iter().enumerate().map(|(k, size)| match k {
        0 => connect.saturating_add(eq8_transmit_time(path, size)),
        _ => request.saturating_add(eq12_later_transmit_time(path, size)),
    }))
}

/// Eq 14: T''_transmit, Eq 12 for all later data sets as one.
pub fn eq14_pipelined_transmit_time(path: &Path, later: impl IntoIterator<Item = Bytes>) -> Duration {
    full_window_time(path, later.into_iter().map(Bytes::as_f64).sum())
}

/// Eq 15, "the pipeline formula": T_connect + T'_connect + T_transmit(1) + T''_transmit: all later requests leave together when the
/// first data set has come. Of one data set there is no later request, and the formula is Eq 9.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn eq15_http11_pipelined(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    p_connect: Bytes,
) -> Result<Duration, ModelError> {
    let mut sizes = sizes.into_iter().peekable();
    let first = sizes.next().ok_or(ModelError::NoDataSets)?;
    let time = eq1_connect_time(path, p_connect).saturating_add(eq8_transmit_time(path, first));
    if sizes.peek().is_none() {
        return Ok(time);
    }
    Ok(time
        .saturating_add(eq10_request_time(path, p_connect))
        .saturating_add(eq14_pipelined_transmit_time(path, sizes)))
}

/// What a transfer finds when it starts, for the setup time of \[12\].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// None: each transfer of HTTP/1.0 and the first of HTTP/1.1.
    New,
    /// An open one: the second and later transfers of HTTP/1.1.
    Open,
}

/// T_setup of \[12\] as §2.2 quotes it: 3/2·rtt on a new connection, 1/2·rtt on an open one. The text's 0.41 s take rtt as
/// propagation alone.
pub fn hasegawa_setup_time(rtt: Duration, connection: Connection) -> Duration {
    times(
        rtt,
        match connection {
            Connection::New => 1.5,
            Connection::Open => 0.5,
        },
    )
}

/// T_total = T_transfer + T_setup of \[12\], for one data set; every one pays slow start again. T_transfer is not quoted in the paper;
/// by its §4.3 it differs little from Eq 8.
pub fn hasegawa_total_time(rtt: Duration, connection: Connection, transfer: Duration) -> Duration {
    hasegawa_setup_time(rtt, connection).saturating_add(transfer)
}

/// n·T_setup + Σ T_transfer of \[12\] over HTTP/1.0, the line that Fig 9 compares Eq 9 with. rtt is propagation alone and T_transfer is
/// Eq 8, as the text's differences of 1.2 s for 10 data sets and 7.2 s for 60 have it.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn hasegawa_http10(path: &Path, sizes: impl IntoIterator<Item = Bytes>) -> Result<Duration, ModelError> {
    hasegawa_page(path, sizes, Connection::New)
}

/// As [`hasegawa_http10`] over HTTP/1.1, the line that Fig 10 compares Eq 13 with: half a round trip for each request from the second
/// on, and slow start again for each data set.
///
/// # Errors
/// [`ModelError::NoDataSets`].
pub fn hasegawa_http11(path: &Path, sizes: impl IntoIterator<Item = Bytes>) -> Result<Duration, ModelError> {
    hasegawa_page(path, sizes, Connection::Open)
}

fn hasegawa_page(
    path: &Path,
    sizes: impl IntoIterator<Item = Bytes>,
    later: Connection,
) -> Result<Duration, ModelError> {
    let rtt = path.symbols().down_delay.saturating_add(path.symbols().up_delay);
    sum(sizes.into_iter().enumerate().map(|(k, size)| {
        let connection = if k == 0 { Connection::New } else { later };
        hasegawa_total_time(rtt, connection, eq8_transmit_time(path, size))
    }))
}

/// The whole windows that a data set fills.
#[derive(Debug, Clone, Copy)]
struct WholeWindows {
    /// th + 1; a whole number.
    count: f64,
    /// Σ w(k)·d_seg, in bytes.
    data: f64,
    /// Σ t(k).
    time: Duration,
}

/// The sums of Eq 7 and 8. Windows grow by half each time until they are full; full ones are counted by a division, so that a
/// terabyte takes as few steps as a window.
fn whole_windows(path: &Path, size: Bytes) -> WholeWindows {
    let (mut window, mut previous) = (Segments::ONE, None);
    let mut sum = WholeWindows { count: 0.0, data: 0.0, time: Duration::ZERO };
    loop {
        let data = path.payload(window);
        let fitting = ((size.as_f64() - sum.data) / data).floor();
        if fitting < 1.0 {
            return sum;
        }
        let steady = previous == Some(window);
        let count = if steady { fitting } else { 1.0 };
        let period = eq3_transmission_period(path, window, previous);
        sum.count += count;
        sum.data += count * data;
        sum.time = sum.time.saturating_add(times(period, count));
        if steady {
            return sum;
        }
        (previous, window) = (Some(window), eq2_next_window(path, window));
    }
}

/// Eq 12 and 14 for a real number of bytes. An unlimited window is never full: all of it is the last window.
fn full_window_time(path: &Path, bytes: f64) -> Duration {
    let (Some(full), Some(max_window)) = (path.full_window(), path.max_window()) else {
        return last_window_time(path, bytes);
    };
    let period = eq3_transmission_period(path, full, Some(full));
    times(period, (bytes / max_window).floor()).saturating_add(last_window_time(path, bytes % max_window))
}

/// (remainder + d_ack)/Q_sat + τ_sat, added even where nothing remains, as printed.
fn last_window_time(path: &Path, bytes: f64) -> Duration {
    path.down_time(bytes.max(0.0) + path.symbols().ack.as_f64()).saturating_add(path.symbols().down_delay)
}

/// The sum; an error if there is nothing to add.
fn sum(times: impl Iterator<Item = Duration>) -> Result<Duration, ModelError> {
    times.reduce(Duration::saturating_add).ok_or(ModelError::NoDataSets)
}

#[cfg(test)]
#[path = "obata_2002_tests.rs"]
mod tests;
