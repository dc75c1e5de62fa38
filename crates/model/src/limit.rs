//! The physical limit: the time that no architecture can undercut.
//!
//! One request crosses the path and every byte of the page comes back, with nothing waiting for anything else:
//!
//! limit = τ_up + τ_down + 8·(request + headers)/Q_up + 8·(Σ responses + 52·packets)/Q_down
//!
//! or, where that is longer, what only the client has is posted and the smallest answer to it comes back:
//!
//! limit = τ_up + τ_down + 8·(request + Σ posted + headers)/Q_up + 8·(response + headers)/Q_down
//!
//! τ are one-way propagation delays, wan and lan included. Responses carry their HTTP headers and fill packets of one mss
//! without a gap between objects (the last packet is partial); boxes have packets of their own, so that an mss below Linux's counts as 1448 B. Q is the slowest rate of the parts that the path is made of,
//! the bottleneck: what the other serializers add for a last packet is left out, so that the limit stays below every load
//! over TCP. Boxes of other protocols may undercut it by up to 2 %: RWBP's packets have headers of 40 B, paced UDP's of 28 B, and the tunnel
//! compresses heads. An unlimited rate takes no time. Handshakes, DNS, discovery, losses, thinking and computing are left out: an architecture may
//! avoid them all.

use crate::path::{directions, slowest_rate, total_delay, transmission_time};
use farhop_scenario::{HEADER_BYTES, HttpConfig, Object, Page, Profile, Scenario, TcpConfig};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// The physical limit of loading `scenario`'s page; 1.329 s for 10 MB over 250 ms each way and 100 Mbit/s.
pub fn limit(scenario: &Scenario) -> Duration {
    Limit::of(scenario).of_page(&scenario.page)
}

/// What a path and a use of HTTP allow for any page.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    delay: Duration,
    /// Slowest rates up and down.
    rates: [Option<Rate>; 2],
    http: HttpConfig,
    mss: Bytes,
}

impl Limit {
    /// Those of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let up = directions(scenario, |channel| &channel.up);
        let down = directions(scenario, |channel| &channel.down);
        Self {
            delay: total_delay(up).saturating_add(total_delay(down)),
            rates: [slowest_rate(up), slowest_rate(down)],
            http: scenario.http,
            mss: scenario.tcp.mss.max(TcpConfig::of(Profile::Linux).mss),
        }
    }

    /// The physical limit of loading `page`.
    pub fn of_page(&self, page: &Page) -> Duration {
        let request = page.objects.first().map_or(0.0, |document| self.http.request_size(document).as_f64());
        let of_responses = self.of_bytes(request, page.objects.iter().map(|object| self.response_bytes(object)).sum());
        let posted = || page.objects.iter().skip(1).filter(|object| object.is_posted());
        let requests: f64 = posted().map(|object| self.http.request_size(object).as_f64()).sum();
        let last = posted().map(|object| self.response_bytes(object)).reduce(f64::min);
        last.map_or(of_responses, |last| of_responses.max(self.of_bytes(request + requests, last)))
    }

    /// That of one request of this size, or the usual one, answered by so many bytes with HTTP's headers.
    pub fn of_reply(&self, request: Option<Bytes>, reply: Bytes) -> Duration {
        self.of_bytes(request.unwrap_or(self.http.request_bytes).as_f64(), reply.as_f64())
    }

    fn of_bytes(&self, requests: f64, responses: f64) -> Duration {
        [requests, responses].into_iter().zip(self.rates).fold(self.delay, |time, (bytes, rate)| {
            time.saturating_add(transmission_time(on_the_wire(bytes, self.mss), rate))
        })
    }

    /// Body and HTTP header of a response.
    fn response_bytes(&self, object: &Object) -> f64 {
        object.size.as_f64() + self.http.header_size(object).as_f64()
    }
}

/// `payload` with the TCP/IP headers of the packets it fills.
fn on_the_wire(payload: f64, mss: Bytes) -> f64 {
    let packets = (payload / mss.as_f64().max(1.0)).ceil();
    payload + packets * HEADER_BYTES.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::scenario;
    use farhop_scenario::{ChannelConfig, DirectionConfig, Method};
    use farhop_units::Rate;
    use proptest::prelude::*;

    #[test]
    fn ten_megabytes_over_a_satellite_take_1_329_s() {
        let time = limit(&scenario(&[10_000_000])).as_secs_f64();
        assert!((time - 1.329).abs() < 5e-4, "{time}");
    }

    #[test]
    fn what_is_posted_crosses_the_way_up() {
        let mut scenario = scenario(&[10_000, 20_000, 30_000]);
        scenario.link.up.rate = Some(Rate::mbps(1));
        let before = limit(&scenario);
        for part in &mut scenario.page.objects[1..] {
            part.method = Method::Post;
            part.request_bytes = Some(Bytes::new(1_000_000));
        }
        let (up, down) = (f64::from(2_000_000 + 350 + 52 * 1382) * 8e-6, (20_250.0 + 52.0 * 14.0) * 8e-8);
        let time = limit(&scenario).as_secs_f64();
        assert!((time - 0.5 - up - down).abs() < 1e-4, "{time}");
        // A short one fits beside the responses.
        scenario.page.objects.pop();
        scenario.page.objects[1].request_bytes = Some(Bytes::new(100));
        scenario.link.up.rate = Some(Rate::mbps(100));
        let posted = limit(&scenario);
        scenario.page.objects[1].method = Method::Get;
        assert!(posted == limit(&scenario) && posted < before);
    }

    #[test]
    fn an_unlimited_rate_takes_no_time() {
        let mut scenario = scenario(&[10_000_000]);
        scenario.link.down.rate = None;
        scenario.link.up.rate = None;
        assert_eq!(limit(&scenario), Duration::from_millis(500));
    }

    #[test]
    fn the_slowest_part_counts_and_all_delays_do() {
        let mut scenario = scenario(&[1_000_000]);
        let before = limit(&scenario);
        let behind =
            DirectionConfig { rate: Some(Rate::mbps(1000)), delay: Duration::from_millis(20), ..Default::default() };
        scenario.wan = ChannelConfig { down: behind.clone(), up: behind, ..ChannelConfig::default() };
        assert_eq!(limit(&scenario), before + Duration::from_millis(40));
        scenario.lan.down.rate = Some(Rate::mbps(50));
        let serialization = before - Duration::from_millis(500);
        let slower = limit(&scenario) - Duration::from_millis(540);
        assert!((slower.as_secs_f64() / serialization.as_secs_f64() - 2.0).abs() < 0.01);
    }

    #[test]
    fn responses_share_packets() {
        let (one, two) = (limit(&scenario(&[1198 + 1448])), limit(&scenario(&[474, 474])));
        // 1448 + 1448 B with one header of 250 B; 724 + 724 B with two fill one packet.
        assert_eq!(one - two, Duration::from_micros(120));
    }

    #[test]
    fn packets_are_as_large_as_those_of_boxes_at_least() {
        let mut scenario = scenario(&[1_000_000]);
        let times = [88, 1448, 8948].map(|mss| {
            scenario.tcp.mss = Bytes::new(mss);
            limit(&scenario)
        });
        assert!(times[0] == times[1] && times[1] > times[2], "{times:?}");
    }

    proptest! {
        #[test]
        fn any_page_has_a_limit(sizes in prop::collection::vec(any::<u64>(), 0..4), mss: u64) {
            let mut scenario = scenario(&sizes);
            scenario.tcp.mss = Bytes::new(mss);
            prop_assert!(limit(&scenario) >= Duration::from_millis(500));
        }
    }
}
