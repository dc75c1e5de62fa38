//! How the one connection between the boxes is run: what the proxies tell their QUIC library, and the simulator its own.

use farhop_units::Bytes;

/// One acknowledgement per ten packets: at 100 Mbit/s that leaves 0.5 Mbit/s on the way back instead of 2.5.
pub const ACK_EVERY: u32 = 10;

/// Bytes of one flow that may be on the way or wait for their reader. Design point: 100 Mbit/s over 600 ms (7.5 MB), four times: what is in
/// flight, what waits for a lost packet, the same again while that is lost once more, and the grant on its way.
pub const FLOW_WINDOW: Bytes = Bytes::kib(32 << 10);

/// For flows whose reader is slow: thirty at full speed over 600 ms at 100 Mbit/s would need twice that.
pub const FLOW_MEMORY: Bytes = Bytes::new(256_000_000);

/// For slow links: two data frames of several flows.
pub const LEAST_SEND_BUFFER: Bytes = Bytes::kib(128);

/// Requests one page's parts may have under way at servers, in the order of the page. Browsers allow six per server; the gateway is near
/// them and asks for several terminals' pages with one address, so it stays within what servers take from one (nginx: limit_conn is
/// commonly 20 to 100).
pub const FETCHES_PER_PAGE: usize = 16;

/// The connection's send buffer: a quarter longer than what may be in flight. All that lies there has its place in the order already, so
/// that what is more would only delay flows that come later.
pub fn send_buffer(window: Bytes) -> Bytes {
    let quarter = Bytes::new(window.get() / 4);
    (window + quarter).max(LEAST_SEND_BUFFER)
}
