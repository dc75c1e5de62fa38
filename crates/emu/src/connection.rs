//! What the kernel says of one TCP connection (`TCP_INFO`).

use farhop_units::Bytes;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// A connection's state, as its sender sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionState {
    /// Congestion window, in segments.
    pub congestion_window: u32,
    /// Payload of a full segment.
    pub segment: Bytes,
    /// The window that the peer last advertised.
    pub peer_window: Bytes,
}

impl ConnectionState {
    /// The state of `stream` now.
    ///
    /// # Errors
    /// The socket is no TCP socket any more.
    #[expect(unsafe_code, reason = "TCP_INFO has no safe wrapper")]
    pub fn of(stream: &TcpStream) -> io::Result<Self> {
        // SAFETY: the structure is made of integers, for which zero is a value.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut length = libc::socklen_t::try_from(size_of_val(&info)).expect("the structure is small");
        // SAFETY: the kernel writes at most `length` bytes to `info`; an older kernel writes fewer, the rest stays zero.
        let answer = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        nix::errno::Errno::result(answer)?;
        Ok(Self {
            congestion_window: info.tcpi_snd_cwnd,
            segment: Bytes::new(info.tcpi_snd_mss.into()),
            peer_window: Bytes::new(info.tcpi_snd_wnd.into()),
        })
    }
}
