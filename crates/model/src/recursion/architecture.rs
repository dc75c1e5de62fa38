//! The architectures, each as a composition of the same recursion with its assumptions.
//!
//! Client – lan – terminal – far link – gateway – wan – server. What two proxies change is expressed by where the connections end,
//! what is known from the start, and what the gateway does without being asked:
//!
//! | architecture | connections over the link | the rate is | the way behind the gateway | requests |
//! |---|---|---|---|---|
//! | `direct` | the client's own, to the server | TCP's | part of the path | the client's |
//! | `split` | one per client connection, opened with it | TCP's over the link alone | its rate, and a delay | the client's |
//! | `multiplexed` | k, up from the start | TCP's over the link alone | its rate, and a delay | the client's, whose connections share the k: each goes, either way, over the one with the fewest bytes waiting or unacknowledged and stays there while anything of it is under way, 20 B per segment (nz-us-2000) |
//! | `rwbp` | one per client connection, up from the start | set, of each its own: no more than a round trip's worth of it or 16 segments are on the way, in packets with 40 B of headers, and every so many of them have an acknowledgement (zhou-2004) | its rate, and a delay | the client's |
//! | `prefetch-conventional`, near | the prefetcher's, to the server | TCP's | part of the path | the prefetcher's; the lan is its rate, and a delay |
//! | `prefetch-conventional`, far | the client's, to the prefetcher | TCP's over link and lan | its rate, and a delay, of what documents name since they named it | the client's |
//! | `prefetch-2013` | one per client connection, opened when something is asked on it | TCP's over the link alone; of what is sent unasked set, no more than 1414 B per ms, whole and in datagrams | its rate, and a delay | for documents and what boxes do not fetch; the rest is sent unasked |
//! | `tunnel` | one, up from the start | set, both ways | its rate, and a delay | the client's, whose connections share it |
//! | `accelerated` | one, up from the start | set, both ways | its rate, and a delay | for what boxes do not fetch, or beyond 768 parts; the rest is sent unasked |
//!
//! Assumed throughout: proxies take no more time than Linux's programs; what the client says crosses the lan before it waits for the link, whose own
//! windows do not wait for the lan, but for those of a prefetcher at the gateway, of whose round trips it is part; a handshake that the terminal answers
//! takes the lan's round trip, two of them if the client asks for a tunnel (CONNECT), which the terminal passes on at once, and what is asked for then waits at the terminal for the link's own,
//! which begins once the client's is over; keys (TLS) are agreed on between client and server, and what they or later versions of HTTP hide
//! from boxes is passed on as it is: `accelerated` is `tunnel`, `prefetch-2013` is `split`, `prefetch-conventional` a relay where its box is, and over
//! HTTP/3 all but farhop's are; behind the gateway a response and a flight of TLS cost the wan's
//! round-trip time, a new connection to the server, of which each of the client's has one, one more, and each window of its slow start another; names are resolved by the client over
//! `direct`, `split`, `rwbp` and the two that prefetch, and by the gateway in no time elsewhere; a prefetcher at the terminal has what its client resolved, and resolves itself what it asks for
//! before; of what it does not read it hears when the client's request has crossed the lan, over another connection if all are busy ([`super::hearing`]), but none of the client's requests waits for another; a box learns what documents name as soon as it has them, and from nothing else, of which it leaves frames and scripts' data to the client, and what it has waits for a browser that asks later, as
//! the browser's own requests wait for it; farhop's gateway asks for 16 parts at once and pushes 768 of a page; a set rate is the slowest of the link's way down unless a lower one is given; at one, what is there first is sent first; a wan or a lan slower than the link is passed
//! like one more hop of it without losses, which makes some pages 16 % too slow and none faster than it can be. What has come to
//! the terminal waits for the windows of the client's connections there ([`super::near`]), and what has come unasked for a request over one of
//! them: the terminal holds those that come before it, and none of them cost more than the lan. Over `accelerated` and `prefetch-2013` all that the client asks for
//! waits so for its turn on as many connections as there may be, of which one waits for each thing that has not come; what does not come unasked
//! the terminal asks for then, over connections of its own.

use super::habits::Habits;
use super::near::Near;
use super::parameters::{
    Control, Delays, Flow, Hearing, HopParameters, Http, Parameters, RecursionError, WayBehind, handshake, lookup,
    lookup_over, round_trip,
};
use super::workload::Workload;
use super::{PageLoad, Recursion};
use farhop_results::Architecture;
pub use farhop_scenario::PrefetchSide;
use farhop_scenario::{CONNECT_BYTES, DirectionConfig, Dns, HostTimes, HttpConfig, HttpVersion, QueueLimit, Scenario};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// nz-us-2000: bytes that multiplexing adds to each reply segment.
pub(super) const MULTIPLEXING_OVERHEAD: Bytes = Bytes::new(20);
/// prefetch-2013 §4: a packet of 1414 B every millisecond.
const PREFETCH_2013_RATE: Rate = Rate::kbps(11_312);
/// The parts of one page that farhop's gateway pushes at most.
const MOST_PUSHED: usize = 768;
/// Of these it asks for so many at once.
const MOST_FETCHES: usize = 16;

/// How the architectures are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxySettings {
    /// Connections between the proxies of `multiplexed`.
    pub connections: usize,
    /// The rate that is set, if it is below the link's.
    pub rate: Option<Rate>,
    /// Where `prefetch-conventional` prefetches.
    pub side: PrefetchSide,
}

impl Default for ProxySettings {
    /// Four connections, the link's own rate, and the side that prefetch-2013 compares with.
    fn default() -> Self {
        Self { connections: 4, rate: None, side: PrefetchSide::Near }
    }
}

impl ProxySettings {
    /// As the scenario has them, and the defaults for what it does not say.
    pub fn of(scenario: &Scenario) -> Self {
        Self { connections: scenario.multiplexed_connections, side: scenario.prefetch_at, ..Self::default() }
    }
}

/// The architecture as which `architecture` carries this use of HTTP: boxes pass on what they cannot read, and QUIC's sealed packets
/// cross all proxies but farhop's.
pub(crate) fn carried_as(scenario: &Scenario, architecture: Architecture, side: PrefetchSide) -> Architecture {
    use Architecture::{Accelerated, Direct, Prefetch2013, PrefetchConventional, Split, Tunnel};
    match architecture {
        _ if scenario.http.is_readable() => architecture,
        Tunnel | Accelerated => Tunnel,
        _ if scenario.http.version == HttpVersion::Http3 => Direct,
        Prefetch2013 => Split,
        PrefetchConventional if side == PrefetchSide::Near => Direct,
        PrefetchConventional => Split,
        other => other,
    }
}

/// A hop beyond the proxy where connections end: packets pass it one after the other, and what waits there waits in the proxy. Its delay is
/// counted where it is waited for.
fn beyond_proxy(config: &DirectionConfig) -> HopParameters {
    HopParameters { delay: Duration::ZERO, queue: QueueLimit::Unlimited, ..HopParameters::of(config) }
}

impl Parameters {
    /// The parameters that describe `architecture`, as the module's table has them.
    pub fn of_architecture(scenario: &Scenario, architecture: Architecture, settings: &ProxySettings) -> Self {
        let carried = carried_as(scenario, architecture, settings.side);
        if architecture == Architecture::PrefetchConventional
            && carried != architecture
            && scenario.http.version != HttpVersion::Http3
        {
            return Self::passing_on(scenario, settings.side);
        }
        match carried {
            Architecture::Direct => Self::of(scenario),
            Architecture::Split => Self::split(scenario).answered_near(scenario, 1),
            Architecture::Multiplexed => Self::multiplexed(scenario, settings),
            Architecture::Rwbp => {
                let split = Self { is_established: true, ..Self::split(scenario) }.answered_near(scenario, 1);
                Self { flow: Some(Flow::of(scenario)), ..split.at_rate(scenario, settings.rate) }
            }
            Architecture::PrefetchConventional => match settings.side {
                PrefetchSide::Near => Self::prefetching_near(scenario),
                PrefetchSide::Far => Self::prefetching_far(scenario),
            },
            Architecture::Prefetch2013 => {
                let rate = settings.rate.unwrap_or(PREFETCH_2013_RATE).min(PREFETCH_2013_RATE);
                let HttpConfig { version, connections, .. } = scenario.http;
                let mut split = Self::split(scenario);
                // Of the client and of the terminal, which has what the client gets.
                split.delays.response += split.program() * 2;
                Self {
                    near: Some(Near::lining_up(scenario, round_trip(&scenario.lan))),
                    outstanding: if version == HttpVersion::Http11Pipelined { usize::MAX } else { connections.max(1) },
                    pushed: usize::MAX,
                    pushed_rate: Some(rate),
                    opens_first: true,
                    fetches: connections,
                    ..split
                }
            }
            Architecture::Tunnel => Self::tunnel(scenario, settings).over_quic(),
            Architecture::Accelerated => Self::pushing(scenario, settings.rate).over_quic(),
        }
    }

    /// Connections end at the gateway, which has the server behind it.
    fn split(scenario: &Scenario) -> Self {
        let mut parameters = Self::of(scenario);
        (parameters.down[0], parameters.up[2]) = (beyond_proxy(&scenario.wan.down), beyond_proxy(&scenario.wan.up));
        // The terminal has connections of its own with the client: what waits for the lan waits there.
        (parameters.down[2].queue, parameters.up[0].queue) = (QueueLimit::Unlimited, QueueLimit::Unlimited);
        // Over the lan there are connections of their own; what the link's carry goes on one after the other.
        let lan = [&mut parameters.down[2].delay, &mut parameters.up[0].delay].map(core::mem::take);
        let (wan, program) = (round_trip(&scenario.wan), parameters.program());
        // The proxy connects; it asks, and the server answers.
        let (connection, response) = (handshake(&scenario.wan, &scenario.tcp) + program, wan + program * 2);
        let behind = WayBehind { round_trip: wan, mss: parameters.tcp.mss };
        (parameters.is_relayed, parameters.is_read_late, parameters.is_direct) = (true, true, false);
        parameters.opens_first = false;
        parameters.near = Near::of(scenario, round_trip(&scenario.lan));
        parameters.delays = Delays {
            response,
            tls: response,
            behind: Some(behind),
            connection,
            ahead: lan[0].saturating_add(lan[1]),
            ..Delays::default()
        };
        parameters
    }

    fn multiplexed(scenario: &Scenario, settings: &ProxySettings) -> Self {
        let mut parameters = Self::split(scenario).within(settings.connections.max(1)).answered_near(scenario, 1);
        // The client and the terminal, and the programs of the trunk's two ends: TCP, too.
        let programs = parameters.program() * 4;
        parameters.delays.response += programs;
        parameters.delays.tls += programs;
        let overhead = MULTIPLEXING_OVERHEAD.get();
        let mss = &mut parameters.tcp.mss;
        *mss = Bytes::new(mss.get().saturating_sub(overhead).max(mss.get().min(1)));
        let hop = &mut parameters.down[1];
        hop.overhead = Bytes::new(hop.overhead.get().saturating_add(overhead));
        parameters
    }

    /// The client asks the terminal for each connection (RFC 9110 §9.3.6: CONNECT).
    fn tunnel(scenario: &Scenario, settings: &ProxySettings) -> Self {
        let mut parameters = Self::split(scenario).within(1).answered_near(scenario, 2);
        // The request to connect goes on while the client hears that it has come.
        parameters.delays.asking = Some(handshake(&scenario.lan, &scenario.tcp) + parameters.delays.ahead);
        if let Some(near) = &mut parameters.near {
            near.answered = CONNECT_BYTES[1];
        }
        // The client and the terminal.
        let programs = parameters.program() * 2;
        parameters.delays.response += programs;
        parameters.delays.tls += programs;
        parameters.at_rate(scenario, settings.rate)
    }

    /// Boxes that read what is asked for: the client still has no more at once than its own connections to the terminal.
    fn pushing(scenario: &Scenario, rate: Option<Rate>) -> Self {
        let split = Self::split(scenario).at_rate(scenario, rate);
        let (http, mut delays) = (&scenario.http, split.delays);
        // The terminal answers what comes on a connection one after the other.
        let outstanding = if http.version == HttpVersion::Http11Pipelined { 1 } else { http.connections.max(1) };
        // Of the client and of the terminal, which has what the client gets.
        delays.response += split.program() * 2;
        Self {
            http: Http::Http2,
            connections: 1,
            is_established: true,
            outstanding,
            delays,
            lookup: Duration::ZERO,
            pushed: MOST_PUSHED,
            fetches: MOST_FETCHES,
            ..split
        }
        .answered_near(scenario, 1)
    }

    /// All that the client opens crosses within so many connections that are up; proxies find the servers.
    fn within(self, carriers: usize) -> Self {
        Self { carriers, is_established: true, lookup: Duration::ZERO, ..self }
    }

    /// The terminal answers who asks for a connection that is up, in so many round trips, the first of which is the handshake.
    fn answered_near(mut self, scenario: &Scenario, round_trips: u32) -> Self {
        let others = round_trip(&scenario.lan).saturating_mul(round_trips.saturating_sub(1));
        self.delays.opening = Some(handshake(&scenario.lan, &scenario.tcp).saturating_add(others));
        self
    }

    /// What a program of a host takes to connect, ask or answer.
    fn program(&self) -> Duration {
        Habits::of(&self.tcp).waking.to_duration()
    }

    /// What the hosts take, if that is known: of TCP, if no box is between them and they take any time.
    pub(crate) fn host_times(&self) -> Option<&HostTimes> {
        let is_known = self.is_direct && !self.is_established && self.http != Http::Http3 && !self.program().is_zero();
        is_known.then_some(&self.tcp.host_times)
    }

    /// Both ends keep to a set rate.
    fn at_rate(self, scenario: &Scenario, rate: Option<Rate>) -> Self {
        let mut parameters = Self { control: Control::FixedRate, is_relayed: false, ..self };
        // The set rate is the sender's: what waits for it waits there.
        let hops = parameters.down.iter_mut().chain(&mut parameters.up);
        hops.for_each(|hop| hop.queue = QueueLimit::Unlimited);
        let own = scenario.link.down.peak_rate();
        parameters.down[1].rate = match (own, rate) {
            (Some(own), Some(set)) => Some(own.min(set)),
            (own, set) => own.or(set),
        };
        parameters
    }

    /// The prefetcher at the terminal loads the page; the lan only carries it on.
    fn prefetching_near(scenario: &Scenario) -> Self {
        let mut parameters = Self::of(scenario);
        (parameters.down[2], parameters.up[0]) = (beyond_proxy(&scenario.lan.down), beyond_proxy(&scenario.lan.up));
        (parameters.asks_ahead, parameters.is_read_late, parameters.is_direct) = (true, true, false);
        let (lan, program) = (round_trip(&scenario.lan), parameters.program());
        parameters.lookup = if scenario.http.dns == Dns::Far { lookup_over(&scenario.link) } else { Duration::ZERO };
        // The client's handshake with the proxy, and its request and the response's way.
        parameters.delays.document = handshake(&scenario.lan, &scenario.tcp) + lan + program * 3;
        if scenario.http.dns != Dns::None {
            parameters.delays.document += lookup_over(&scenario.lan);
        }
        parameters.delays.hearing = Some(Hearing {
            request: lan + program * 2,
            connection: handshake(&scenario.lan, &scenario.tcp) + program,
            name: lookup(scenario),
        });
        parameters
    }

    /// The prefetcher at the gateway asks for what the document names before the client does.
    fn prefetching_far(scenario: &Scenario) -> Self {
        let mut parameters = Self { is_relayed: false, is_read_late: false, ..Self::split(scenario) };
        // There is no other proxy before the lan.
        let lan = &scenario.lan;
        (parameters.down[2], parameters.up[0]) = (HopParameters::of(&lan.down), HopParameters::of(&lan.up));
        parameters.delays.ahead = Duration::ZERO;
        parameters.near = None;
        (parameters.fetches_ahead, parameters.fetches) = (true, scenario.http.connections);
        parameters.opens_first = true;
        parameters
    }

    /// A box that would prefetch but cannot read what it passes on; the client finds the servers.
    fn passing_on(scenario: &Scenario, side: PrefetchSide) -> Self {
        match side {
            PrefetchSide::Near => {
                Self { is_read_late: true, is_direct: false, opens_first: false, ..Self::of(scenario) }
            }
            PrefetchSide::Far => Self { fetches_ahead: false, ..Self::prefetching_far(scenario) },
        }
    }
}

impl Recursion {
    /// Loads the scenario's page through `architecture`; `workload` is that page.
    ///
    /// # Errors
    /// As [`Recursion::load`].
    pub fn load_through(
        &mut self,
        scenario: &Scenario,
        workload: &Workload,
        architecture: Architecture,
        settings: &ProxySettings,
    ) -> Result<PageLoad, RecursionError> {
        self.load(&Parameters::of_architecture(scenario, architecture, settings), workload)
    }
}
