//! The windows that the scenario asks for: found to be in force, the maximum window also imposed.
//!
//! Linux derives the window it advertises from the free receive buffer: bytes × payload / memory of the packets received
//! (`tcp_win_from_space`, since 6.3 with a ratio measured per connection). So the buffer's bound, `tcp_rmem`, bounds the window,
//! but which buffer gives which window depends on how the kernel stores packets that come this way. Therefore a connection
//! from server to client, over links that do not delay yet, measures the window, and the buffer is corrected until the
//! window is the scenario's to the granularity of the window field (RFC 7323 §2.2). The initial window is a property of routes
//! and read back from such a connection, too.
//!
//! Left out: a connection's very first window, before any data has come, is smaller (Linux takes half the buffer as a
//! guess), and what a program has not read yet reduces the window, as it does everywhere. Later windows can be larger by
//! less than a packet, where short packets take less memory than the full ones measured here.

use crate::connection::ConnectionState;
use crate::host::{Host, Node};
use crate::hosts::Hosts;
use crate::{EmuError, kernel_tcp};
use farhop_units::Bytes;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Measurements until the window must be right. Window and buffer are linear, so that the third fits but for rounding.
const ATTEMPTS: usize = 5;
/// Linux's guess of buffer per window before it has seen packets (`TCP_DEFAULT_SCALING_RATIO` is one half).
const GUESS: i64 = 2;

/// The windows in force for connections inside, as measured on one from the server to the first client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// What a sender may send at first, in segments.
    pub initial: u32,
    /// Payload of a full segment.
    pub segment: Bytes,
    /// The window that a receiver advertises once it has opened fully; absent where the scenario does not bound it, and the
    /// kernel's autotuning decides.
    pub advertised: Option<Bytes>,
}

/// Imposes the scenario's maximum window on every host and measures; the links must be running without delay.
pub(crate) fn establish(max_window: Option<Bytes>, hosts: &Hosts) -> Result<Windows, EmuError> {
    let advertised = max_window.map(|window| limit(window, hosts)).transpose()?;
    let fresh = connect(hosts, |stream| ConnectionState::of(stream), |_| Ok(()));
    let ConnectionState { congestion_window, segment, .. } = fresh.map_err(EmuError::system(MEASURE))?;
    Ok(Windows { initial: congestion_window, segment, advertised })
}

const MEASURE: &str = "measure TCP's windows";

/// Limits the receive window of every host to `window`; what it has become.
fn limit(window: Bytes, hosts: &Hosts) -> Result<Bytes, EmuError> {
    let wanted = window.get().cast_signed();
    let mut before = (0, 0);
    let mut buffer = (wanted * GUESS).min(i32::MAX.into());
    for _ in 0..ATTEMPTS {
        hosts.run_in_each(|_| kernel_tcp::set_buffers(Bytes::new(buffer.unsigned_abs()), window))?;
        let found = advertised(window, hosts).map_err(EmuError::system(MEASURE))?;
        if is_in_force(window, found) {
            return Ok(found);
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
    // The kernel holds sizes of buffers in signed 32 bits.
    i64::try_from(i128::from(here.0) + step).unwrap_or(i64::MAX).clamp(1, i32::MAX.into())
}

/// The window that a client advertises to a server once it has opened fully.
fn advertised(window: Bytes, hosts: &Hosts) -> io::Result<Bytes> {
    connect(hosts, move |stream| send_segments(stream, window), answer_segments)
}

/// Connects the server to the first client and lets both say their part; what the server says of it.
fn connect<T: Send + 'static>(
    hosts: &Hosts,
    at_server: impl FnOnce(&mut TcpStream) -> io::Result<T> + Send + 'static,
    at_client: impl FnOnce(&mut TcpStream) -> io::Result<()>,
) -> io::Result<T> {
    let (client, server) = (&hosts[Node::Client(0)], &hosts[Node::Server]);
    let address = SocketAddr::from((Host::Client.address(), 0));
    let listener = client.run(move || TcpListener::bind(address))?;
    let address = listener.local_addr()?;
    let sending = server.spawn("farhop-window", move || {
        let mut stream = TcpStream::connect(address)?;
        // A connection that is reset before it is accepted may never be.
        stream.read_exact(&mut [0])?;
        let seen = at_server(&mut stream);
        // The connection is reset, so that nothing follows what tells the client of its end: the link is free of it then.
        setsockopt(&stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        seen
    });
    let mut stream = accept(&listener)?;
    stream.write_all(&[0])?;
    let answered = at_client(&mut stream);
    let _ = stream.read(&mut [0]);
    match sending.join() {
        Ok(seen) => answered.and(seen),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What a connection over links without delay is given to come about, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// The next connection.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout)? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "no connection from the server to the client")),
        _ => Ok(listener.accept()?.0),
    }
}

/// Segments that are sent at once at most, where the window is large and opening it one by one would take long.
const CHUNK: u64 = 64;

/// Sends full segments, some at a time, each time after the answer to the ones before, until the window no longer grows; the
/// last ones one by one.
///
/// A window opens by two segments per segment received (`tcp_grow_window`), up to what is free while one is stored.
fn send_segments(stream: &mut TcpStream, window: Bytes) -> io::Result<Bytes> {
    stream.set_nodelay(true)?;
    let segment = ConnectionState::of(stream)?.segment.get().max(1);
    let segments = window.get() / segment;
    let chunk = (segments / CHUNK).clamp(1, CHUNK);
    for _ in 0..segments / chunk {
        exchange(stream, chunk * segment)?;
    }
    for _ in 0..16 {
        exchange(stream, segment)?;
    }
    Ok(ConnectionState::of(stream)?.peer_window)
}

/// Says how many bytes come, sends them and waits for the answer.
fn exchange(stream: &mut TcpStream, length: u64) -> io::Result<()> {
    let head = length.to_be_bytes();
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0).max(head.len())];
    bytes[..head.len()].copy_from_slice(&head);
    stream.write_all(&bytes)?;
    stream.read_exact(&mut [0])
}

/// Reads what comes at once and answers each piece with a byte.
fn answer_segments(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = [0; size_of::<u64>()];
    let mut rest = Vec::new();
    while stream.read_exact(&mut head).is_ok() {
        let length = usize::try_from(u64::from_be_bytes(head)).unwrap_or(0).max(head.len());
        rest.resize(length - head.len(), 0);
        stream.read_exact(&mut rest)?;
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
