//! The scenario's maximum window, imposed on Linux's receive window and found to be in force.
//!
//! Linux derives the window it advertises from the free receive buffer: bytes × payload / memory of the packets received
//! (`tcp_win_from_space`, since 6.3 with a ratio measured per connection). So the buffer's bound, `tcp_rmem`, bounds the window,
//! but which buffer gives which window depends on how the kernel stores packets that come this way. Therefore a connection
//! from server to client, over links that do not delay yet, measures the window, and the buffer is corrected until the
//! window is the scenario's to the granularity of the window field (RFC 7323 §2.2).
//!
//! Left out: a connection's very first window, before any data has come, is smaller (Linux takes half the buffer as a
//! guess), and what a program has not read yet reduces the window, as it does everywhere. Later windows can be larger by
//! less than a packet, where short packets take less memory than the full ones measured here.

use crate::connection::ConnectionState;
use crate::host::Host;
use crate::namespace::Namespace;
use crate::{EmuError, kernel_tcp};
use farhop_units::Bytes;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

/// Measurements until the window must be right. Window and buffer are linear, so that the third fits but for rounding.
const ATTEMPTS: usize = 5;
/// Linux's guess of buffer per window before it has seen packets (`TCP_DEFAULT_SCALING_RATIO` is one half).
const GUESS: i64 = 2;

/// Limits the receive window of every host to `window`; the links must be running without delay.
pub(crate) fn limit(window: Bytes, hosts: &[Namespace; 4]) -> Result<(), EmuError> {
    let wanted = window.get().cast_signed();
    let mut before = (0, 0);
    let mut buffer = wanted * GUESS;
    for _ in 0..ATTEMPTS {
        set_buffers(Bytes::new(buffer.unsigned_abs()), hosts)?;
        let found = advertised(window, hosts).map_err(EmuError::system("measure the receive window"))?;
        if is_in_force(window, found) {
            return Ok(());
        }
        let here = (buffer, found.get().cast_signed());
        buffer = extrapolated(before, here, wanted);
        before = here;
    }
    Err(EmuError::Tcp {
        setting: "tcp.max_window",
        value: window.to_string(),
        reason: format!(
            "the kernel advertises {} instead; \"unlimited\" is accepted",
            Bytes::new(before.1.unsigned_abs())
        ),
    })
}

/// The window field counts in units: at most 1/2¹⁵ of the largest window that the connection could have had, and up to 128 B
/// below 64 KiB, as the machine's largest buffer decides.
fn is_in_force(wanted: Bytes, found: Bytes) -> bool {
    let unit = (wanted.get() >> 15).max(128);
    found.get().abs_diff(wanted.get()) < unit
}

/// The buffer that gives the window `wanted`, on the line through two measurements (buffer, window).
fn extrapolated(before: (i64, i64), here: (i64, i64), wanted: i64) -> i64 {
    let rise = i128::from(here.1 - before.1);
    let run = i128::from(here.0 - before.0);
    let step = (i128::from(wanted - here.1) * run).checked_div(rise).unwrap_or(1);
    i64::try_from(i128::from(here.0) + step).unwrap_or(i64::MAX).max(1)
}

fn set_buffers(buffer: Bytes, hosts: &[Namespace; 4]) -> Result<(), EmuError> {
    hosts.iter().try_for_each(|host| host.run(move || kernel_tcp::set_receive_buffer(buffer)))
}

/// The window that a client advertises to a server once it has opened fully.
fn advertised(window: Bytes, hosts: &[Namespace; 4]) -> io::Result<Bytes> {
    let [client, server] = [Host::Client, Host::Server].map(|host| &hosts[host.index()]);
    let address = SocketAddr::from((Host::Client.address(), 0));
    let listener = client.run(move || TcpListener::bind(address))?;
    let address = listener.local_addr()?;
    let sending = server.spawn("farhop-window", move || send_segments(&mut TcpStream::connect(address)?, window));
    let answered = answer_segments(&mut listener.accept()?.0);
    match sending.join() {
        Ok(seen) => answered.and(seen),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Sends full segments one by one, each after the answer to the one before, until the window no longer grows.
///
/// A window opens by two segments per segment received (`tcp_grow_window`), up to what is free while one is stored.
fn send_segments(stream: &mut TcpStream, window: Bytes) -> io::Result<Bytes> {
    let mut state = start(stream)?;
    let segment = vec![0; usize::try_from(state.segment.get()).unwrap_or(1)];
    let enough = window.get() / state.segment.get().max(1) + 16;
    for _ in 0..enough {
        stream.write_all(&segment)?;
        stream.read_exact(&mut [0])?;
        state = ConnectionState::of(stream)?;
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(state.peer_window)
}

/// Tells the client the length of a segment.
fn start(stream: &mut TcpStream) -> io::Result<ConnectionState> {
    stream.set_nodelay(true)?;
    let state = ConnectionState::of(stream)?;
    stream.write_all(&state.segment.get().to_be_bytes())?;
    Ok(state)
}

/// Reads segments, each at once, and answers each with a byte.
fn answer_segments(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut length = [0; size_of::<u64>()];
    stream.read_exact(&mut length)?;
    let mut segment = vec![0; usize::try_from(u64::from_be_bytes(length)).unwrap_or(1)];
    while stream.read_exact(&mut segment).is_ok() {
        stream.write_all(&[0])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_differ_by_less_than_a_unit() {
        let odd = Bytes::new(65_535);
        assert!(is_in_force(odd, Bytes::new(65_408)) && is_in_force(odd, Bytes::new(65_536)));
        assert!(!is_in_force(odd, Bytes::new(65_407)) && !is_in_force(odd, Bytes::new(65_663)));
    }

    #[test]
    fn a_line_is_met_at_the_third_measurement() {
        let window_of = |buffer: i64| buffer * 5 / 8 - 1440;
        let (mut before, mut buffer) = ((0, 0), 16_384 * GUESS);
        for _ in 0..2 {
            let here = (buffer, window_of(buffer));
            buffer = extrapolated(before, here, 16_384);
            before = here;
        }
        assert!(window_of(buffer).abs_diff(16_384) < 2, "{buffer}");
        assert_eq!(extrapolated((1, 5), (2, 5), 9), 3, "no slope is no reason to stand still");
    }
}
