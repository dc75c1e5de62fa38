//! Estimation of page loads in the style of Lighthouse's Lantern ("simulated throttling").
//!
//! From the public descriptions (Lighthouse's `docs/throttling.md`; Lantern's README; M. Zeunert, "How does Lighthouse simulated
//! throttling work?", Web Performance Calendar, 1 December 2021) this takes: the page as a graph in which an object is requested when
//! the one that names it is complete; at most six connections to a host and ten requests at once; a new connection that costs a
//! round trip, a second one with TLS; a congestion window that starts at ten segments of 1460 B and doubles with every round
//! trip, kept by the connection from one response to the next; a link whose rate is shared equally by the responses on it.
//!
//! It does not take: the main thread's tasks, observed server times, DNS, priorities, several hosts, HTTP/2, optimistic and pessimistic
//! graphs and the metrics regressed from them. No code of Lighthouse was used. A response that its share of the rate limits gets bytes
//! continuously here, by round trips there.
//!
//! Errors against real loads over long delays: windows double although ACKs are delayed; the HTML is not read as it streams, so that
//! discovery comes late; loss and queues are unknown; requests and headers weigh nothing on the uplink.

use crate::ModelError;
use crate::path::seconds;
use farhop_units::{Bytes, Rate};
use std::collections::VecDeque;
use std::time::Duration;

/// Segments of the first window.
pub const INITIAL_WINDOW: u32 = 10;
/// Payload of a segment.
pub const SEGMENT: Bytes = Bytes::new(1460);
/// Requests in flight at once, to all hosts.
pub const MOST_REQUESTS: usize = 10;

/// The network that is estimated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Round-trip time.
    pub rtt: Duration,
    /// Rate of the downlink; `None` is unlimited.
    pub rate: Option<Rate>,
    /// Connections to the host; zero counts as one. Browsers open six.
    pub connections: usize,
    /// Round trips of TLS on a new connection: 0 without, 1 for what Lantern assumes.
    pub tls_round_trips: u32,
    /// Whether a connection carries more than one response.
    pub persistent: bool,
}

/// An object of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Bytes of the response.
    pub size: Bytes,
    /// Index of the object that names it, before it in the list; `None` if it is known from the start.
    pub needs: Option<usize>,
}

/// When the last object is complete. Ten thousand objects take milliseconds, whatever their sizes.
///
/// # Errors
/// [`ModelError::NoDataSets`]; [`ModelError::NeedsLaterObject`].
pub fn load_time(network: &Network, page: &[Node]) -> Result<Duration, ModelError> {
    if page.is_empty() {
        return Err(ModelError::NoDataSets);
    }
    for (object, node) in page.iter().enumerate() {
        if let Some(needs) = node.needs.filter(|needs| *needs >= object) {
            return Err(ModelError::NeedsLaterObject { object, needs });
        }
    }
    Ok(seconds(Load::new(network, page).run()))
}

/// A request in flight; times in seconds.
#[derive(Debug, Clone, Copy)]
struct Request {
    object: usize,
    /// Bytes to come.
    left: f64,
    /// Segments of the next round.
    window: f64,
    /// When the next round's bytes arrive, as long as the window limits.
    round: f64,
    has_begun: bool,
}

struct Load<'a> {
    rtt: f64,
    /// Bytes per second.
    rate: f64,
    connections: usize,
    setup: f64,
    persistent: bool,
    page: &'a [Node],
    /// Of each object the first that it names, and the next that the same one names; and those that wait for a connection.
    named: Vec<[Option<usize>; 2]>,
    ready: VecDeque<usize>,
    active: Vec<Request>,
    /// Windows of open connections that are idle, and how many are open.
    idle: Vec<f64>,
    open: usize,
    now: f64,
}

impl<'a> Load<'a> {
    fn new(network: &Network, page: &'a [Node]) -> Self {
        let mut named = vec![[None; 2]; page.len()];
        let mut ready = VecDeque::with_capacity(page.len());
        for (object, node) in page.iter().enumerate().rev() {
            match node.needs {
                Some(needs) => {
                    let first = named[needs][0].replace(object);
                    named[object][1] = first;
                }
                None => ready.push_front(object),
            }
        }
        let rtt = network.rtt.as_secs_f64();
        Self {
            rtt,
            rate: network.rate.map_or(f64::INFINITY, |rate| rate.as_f64() / 8.0),
            connections: network.connections.clamp(1, MOST_REQUESTS),
            setup: rtt * (1.0 + f64::from(network.tls_round_trips)),
            persistent: network.persistent,
            page,
            named,
            ready,
            active: Vec::with_capacity(MOST_REQUESTS),
            idle: Vec::with_capacity(MOST_REQUESTS),
            open: 0,
            now: 0.0,
        }
    }

    fn run(mut self) -> f64 {
        self.ask();
        while !self.active.is_empty() {
            self.advance();
            self.ask();
        }
        self.now
    }

    /// Starts requests as long as there is a connection for them.
    fn ask(&mut self) {
        while let Some(&object) = self.ready.front() {
            let (window, setup) = match self.idle.pop() {
                Some(window) => (window, 0.0),
                None if self.open < self.connections => {
                    self.open += 1;
                    (f64::from(INITIAL_WINDOW), self.setup)
                }
                None => return,
            };
            self.ready.pop_front();
            let (left, round) = (self.page[object].size.as_f64(), self.now + setup + self.rtt);
            self.active.push(Request { object, left, window, round, has_begun: false });
        }
    }

    /// Bytes that a request's share of the rate carries per second.
    fn share(&self) -> f64 {
        let count = self.active.iter().filter(|request| request.has_begun).count().max(1);
        self.rate / f64::from(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Whether the share limits a request, not its window.
    fn is_saturated(&self, request: &Request, share: f64) -> bool {
        request.has_begun && request.window * SEGMENT.as_f64() >= share * self.rtt
    }

    /// To the next round or completion.
    fn advance(&mut self) {
        let share = self.share();
        let next = |request: &Request| match self.is_saturated(request, share) {
            true => self.now + request.left / share,
            false => request.round,
        };
        let until = self.active.iter().map(next).fold(f64::INFINITY, f64::min).max(self.now);
        let ended = self.active.iter().position(|request| next(request) <= until).unwrap_or(0);
        let span = until - self.now;
        for index in 0..self.active.len() {
            let mut request = self.active[index];
            if self.is_saturated(&request, share) {
                request.left = if index == ended { 0.0 } else { (request.left - share * span).max(0.0) };
                // Its window goes on from here if others leave it more.
                request.round = until + self.rtt;
            } else if index == ended {
                request.deliver_round(share * self.rtt, until + self.rtt);
            }
            self.active[index] = request;
        }
        self.now = until;
        if self.active[ended].left <= 0.0 {
            self.complete(ended);
        }
    }

    fn complete(&mut self, index: usize) {
        let request = self.active.remove(index);
        if self.persistent {
            self.idle.push(request.window);
        } else {
            self.open -= 1;
        }
        let mut named = self.named[request.object][0];
        while let Some(object) = named {
            self.ready.push_back(object);
            named = self.named[object][1];
        }
    }
}

impl Request {
    /// A window's bytes arrive, at most what the share carries in a round trip; the next window is twice as large.
    fn deliver_round(&mut self, most: f64, next: f64) {
        let bytes = self.window * SEGMENT.as_f64();
        self.left = (self.left - bytes.min(most)).max(0.0);
        (self.has_begun, self.round) = (true, next);
        if bytes < most {
            self.window *= 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GEO: Network = Network {
        rtt: Duration::from_millis(500),
        rate: Some(Rate::mbps(100)),
        connections: 6,
        tls_round_trips: 0,
        persistent: true,
    };

    fn node(size: u64, needs: Option<usize>) -> Node {
        Node { size: Bytes::new(size), needs }
    }

    fn time(network: &Network, page: &[Node]) -> f64 {
        load_time(network, page).unwrap().as_secs_f64()
    }

    #[track_caller]
    fn near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9, "{actual}, not {expected}");
    }

    #[test]
    fn a_small_object_takes_the_handshake_and_a_round_trip() {
        near(time(&GEO, &[node(1000, None)]), 1.0);
        near(time(&Network { tls_round_trips: 1, ..GEO }, &[node(1000, None)]), 1.5);
    }

    #[test]
    fn windows_double_from_ten_segments() {
        let segments = |count: u64| time(&GEO, &[node(count * 1460, None)]);
        near(segments(10), 1.0);
        near(segments(11), 1.5);
        near(segments(30), 1.5);
        near(segments(31), 2.0);
    }

    #[test]
    fn a_link_is_shared_by_those_in_flight() {
        let slow = Network { rate: Some(Rate::mbps(1)), ..GEO };
        let one = time(&slow, &[node(10_000_000, None)]);
        let two = time(&slow, &[node(5_000_000, None), node(5_000_000, None)]);
        assert!((one - two).abs() < 0.6 && one > 79.0, "{one} {two}");
    }

    #[test]
    fn nothing_is_faster_than_the_link() {
        let thin = Network { rate: Rate::from_bits_per_second(1), ..GEO };
        assert!(time(&thin, &[node(1460, None)]) >= 1460.0 * 8.0);
        assert!(time(&GEO, &[node(1_000_000_000_000, None)]) >= 80_000.0);
    }

    #[test]
    fn a_chain_waits_for_each_link_of_it() {
        let chain = [node(1000, None), node(1000, Some(0)), node(1000, Some(1))];
        near(time(&GEO, &chain), 1.0 + 2.0 * 0.5);
        let star = [node(1000, None), node(1000, Some(0)), node(1000, Some(0))];
        // One of the two takes the open connection, the other one a new one.
        near(time(&GEO, &star), 1.0 + 1.0);
        near(time(&Network { connections: 1, ..GEO }, &star), 1.0 + 2.0 * 0.5);
        near(time(&Network { connections: 1, persistent: false, ..GEO }, &star), 3.0);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert_eq!(load_time(&GEO, &[]), Err(ModelError::NoDataSets));
        let itself = [node(1, Some(0))];
        assert_eq!(load_time(&GEO, &itself), Err(ModelError::NeedsLaterObject { object: 0, needs: 0 }));
    }

    proptest! {
        #[test]
        fn any_page_has_a_time(
            sizes in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..100_000], 1..40), rtt: u64, rate: u64,
            connections: usize, persistent: bool,
        ) {
            let page: Vec<Node> =
                sizes.iter().enumerate().map(|(i, size)| node(*size, (i > 0).then_some(i / 3))).collect();
            let network = Network {
                rtt: Duration::from_nanos(rtt), rate: Rate::from_bits_per_second(rate), connections, persistent, ..GEO
            };
            let time = load_time(&network, &page).unwrap();
            prop_assert!(time >= Duration::from_nanos(rtt).mul_f64(0.999));
        }
    }
}
