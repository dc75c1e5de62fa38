//! How fast a tunnel may send: rate controllers behind one trait, of which the shell adapts the QUIC library's own.
//!
//! [`FixedRate`] sends at a rate set by the operator, from the first packet on: no slow start, and losses do not slow it down, because
//! on a link that is bought by the bit they are noise, not congestion. The window only bounds what can be in flight when
//! acknowledgements stop. Leaves out: what other connections send at the same rate (see [`crate::share`]), sharing with other traffic (a
//! configured rate is a promise that it is there), ECN.

use farhop_units::{Bytes, Instant, Rate};
use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

/// Decides how much a connection may have in flight and how fast it may send.
pub trait RateController: Debug + Send + Sync {
    /// A packet sent at `sent` was acknowledged at `now`.
    fn handle_acknowledged(&mut self, now: Instant, sent: Instant);

    /// Packets now carry up to `payload` bytes of UDP payload.
    fn handle_packet_size(&mut self, payload: Bytes);

    /// UDP payload that may be in flight.
    fn window(&self) -> Bytes;

    /// UDP payload per time: what is paced.
    fn pacing_rate(&self) -> Rate;

    /// The same controller in the same state, for a connection's further paths.
    fn clone_box(&self) -> Box<dyn RateController>;
}

/// IP and UDP headers per packet: the difference between UDP payload and bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulation {
    /// 20 + 8 bytes.
    UdpIpv4,
    /// 40 + 8 bytes.
    UdpIpv6,
}

impl Encapsulation {
    /// What datagrams to this address have.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(_) => Self::UdpIpv4,
            IpAddr::V6(_) => Self::UdpIpv6,
        }
    }

    /// Bytes of headers per packet.
    pub const fn header_bytes(self) -> Bytes {
        match self {
            Self::UdpIpv4 => Bytes::new(28),
            Self::UdpIpv6 => Bytes::new(48),
        }
    }
}

/// Before any round trip was measured: as long as a GEO satellite's with queues (600 ms), so that the first flight is not cut short.
const ASSUMED_RTT: Duration = Duration::from_millis(600);
/// What a receiver may wait before it acknowledges (RFC 9000 §18.2, the default), twice, for timers that fire late.
const ACK_DELAY: Duration = Duration::from_millis(50);
/// A quarter more than rate × round trip, for packets sent again and acknowledgements lost.
const MARGIN: (u64, u64) = (5, 4);
/// The shortest round trip counts for one to two such spans: a path that became longer (another satellite) is noticed after that.
const MEMORY: Duration = Duration::from_secs(10);

/// A set rate on the wire.
#[derive(Debug, Clone)]
pub struct FixedRate {
    wire_rate: Rate,
    encapsulation: Encapsulation,
    payload: Bytes,
    rtt: ShortestRtt,
}

impl FixedRate {
    /// `wire_rate` counts whole packets, IP and UDP headers included; `payload` is the UDP payload of a full packet.
    pub fn new(wire_rate: Rate, encapsulation: Encapsulation, payload: Bytes) -> Self {
        Self { wire_rate, encapsulation, payload, rtt: ShortestRtt::default() }
    }
}

impl RateController for FixedRate {
    fn handle_acknowledged(&mut self, now: Instant, sent: Instant) {
        self.rtt.sample(now, now.since(sent));
    }

    fn handle_packet_size(&mut self, payload: Bytes) {
        self.payload = payload;
    }

    fn window(&self) -> Bytes {
        let rtt = self.rtt.get().unwrap_or(ASSUMED_RTT) + ACK_DELAY;
        let in_flight = self.pacing_rate().bytes_in(rtt);
        // RFC 9002 §7.2 starts every connection with ten packets; on a slow link they are more than rate × round trip.
        (in_flight * MARGIN.0).get().checked_div(MARGIN.1).map_or(in_flight, Bytes::new).max(self.payload * 10)
    }

    fn pacing_rate(&self) -> Rate {
        let wire_bytes = u128::from((self.payload + self.encapsulation.header_bytes()).get());
        let share = u128::from(self.wire_rate.bits_per_second()) * u128::from(self.payload.get()) / wire_bytes.max(1);
        u64::try_from(share).ok().and_then(Rate::from_bits_per_second).unwrap_or(self.wire_rate)
    }

    fn clone_box(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}

/// The shortest of the last round trips.
#[derive(Debug, Clone, Default)]
struct ShortestRtt {
    span_began: Instant,
    this_span: Option<Duration>,
    span_before: Option<Duration>,
}

impl ShortestRtt {
    fn sample(&mut self, now: Instant, rtt: Duration) {
        if now.since(self.span_began) >= MEMORY {
            self.span_before = self.this_span.take();
            self.span_began = now;
        }
        self.this_span = Some(self.this_span.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    fn get(&self) -> Option<Duration> {
        self.this_span.into_iter().chain(self.span_before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller() -> FixedRate {
        FixedRate::new(Rate::mbps(100), Encapsulation::UdpIpv4, Bytes::new(1452))
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn full_packets_with_their_headers_make_up_the_set_rate() {
        let controller = controller();
        let packets_per_second = controller.pacing_rate().as_f64() / 8.0 / 1452.0;
        let wire = packets_per_second * (1452.0 + 28.0) * 8.0;
        assert!((wire - 100e6).abs() < 10.0, "{wire} bit/s");
    }

    #[test]
    fn the_window_holds_a_round_trip_at_the_set_rate_from_the_start() {
        let mut controller = controller();
        let needed = |rtt| controller.pacing_rate().bytes_in(Duration::from_millis(rtt));
        let (half_second, second) = (needed(500), needed(1000));
        assert!(controller.window() > half_second, "before anything was measured");
        controller.handle_acknowledged(at(1000), at(0));
        assert!(controller.window() > second, "a longer path than assumed");
    }

    #[test]
    fn a_queue_that_builds_up_does_not_widen_the_window() {
        let mut controller = controller();
        controller.handle_acknowledged(at(500), at(0));
        let window = controller.window();
        controller.handle_acknowledged(at(1500), at(500));
        assert_eq!(controller.window(), window);
    }

    #[test]
    fn a_path_that_became_longer_is_noticed() {
        let mut controller = controller();
        controller.handle_acknowledged(at(100), at(0));
        let window = controller.window();
        (0..40).for_each(|i| controller.handle_acknowledged(at(1000 * i + 700), at(1000 * i)));
        assert!(controller.window() > window * 4);
    }

    #[test]
    fn a_slow_link_may_still_send_ten_packets() {
        let controller = FixedRate::new(Rate::kbps(9), Encapsulation::UdpIpv6, Bytes::new(1200));
        assert_eq!(controller.window(), Bytes::new(12_000));
    }
}
