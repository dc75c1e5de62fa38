//! What a load depends on, and what of it cannot be.

use super::architecture::MULTIPLEXING_OVERHEAD;
use super::call::FRAME;
use super::connection::Turns;
use super::near::Near;
use super::route::{Hop, MOST_HOPS, Route};
use super::ticks::{Pace, Ticks};
use super::workload::Workload;
use farhop_scenario::{
    self as scenario, ChannelConfig, DNS_ANSWER_BYTES, DNS_QUERY_BYTES, DirectionConfig, Dns, Flights, HEADER_BYTES,
    HTTP2_FRAME_BYTES, HttpVersion, QueueLimit, Records, Scenario, TcpConfig,
};
use farhop_units::{Bytes, Probability, Rate};
use std::num::NonZeroU32;
use std::time::Duration;
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RecursionError {
    /// A segment without payload never finishes a transfer.
    #[error("mss is 0 B; accepted: at least 1 B")]
    ZeroMss,
    /// No byte may ever be sent.
    #[error("max_window is 0 B; accepted: at least 1 B, or \"unlimited\"")]
    ZeroWindow,
    /// TCP could send nothing.
    #[error("initial_window is 0; accepted: at least 1 segment")]
    ZeroInitialWindow,
    /// Nothing to load.
    #[error("the page has no objects; accepted: at least 1")]
    NoObjects,
    /// An object that names itself, or one whose referrer is not there.
    #[error("object {object} is named by object {by}; accepted: an object before it")]
    Reference {
        /// The object.
        object: usize,
        /// What is said to name it.
        by: usize,
    },
    /// Time or packets without end.
    #[error(
        "page.size and page.objects: a load of more than 584 years over this link, or of more packets than are counted through; \
         accepted: less, or a link of higher rates"
    )]
    TooLong,
    /// Repeating takes longer than sending.
    #[error("loss is {loss} on average; accepted: at most 50 %")]
    TooLossy {
        /// The share of packets that is lost in the worse direction.
        loss: Probability,
    },
    /// A request without bytes never arrives.
    #[error("request_bytes is 0 B; accepted: at least 1 B")]
    ZeroRequest,
    /// Beyond what can be computed with.
    #[error("{name} is {value}; accepted: at most {most}")]
    OutOfRange {
        /// Which parameter.
        name: &'static str,
        /// Its value.
        value: Bytes,
        /// The largest that is accepted.
        most: Bytes,
    },
}

/// One serializer with a delay behind it. The default constrains nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopParameters {
    /// Rate in bits on the wire; `None` is unlimited.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Bytes added to every packet.
    pub overhead: Bytes,
    /// Bits sent per bit carried, as a fraction of at least one: α of obata-2001.
    pub redundancy: (NonZeroU32, NonZeroU32),
    /// What may wait for the serializer; what does not fit is dropped.
    pub queue: QueueLimit,
}

impl Default for HopParameters {
    fn default() -> Self {
        let redundancy = (NonZeroU32::MIN, NonZeroU32::MIN);
        Self { rate: None, delay: Duration::ZERO, overhead: Bytes::ZERO, redundancy, queue: QueueLimit::Unlimited }
    }
}

impl HopParameters {
    /// Rate, delay, framing and queue of `config`; nothing else a link may do is known here.
    pub fn of(config: &DirectionConfig) -> Self {
        Self {
            rate: config.peak_rate(),
            delay: config.least_delay(),
            overhead: config.framing.overhead,
            redundancy: config.framing.redundancy,
            queue: config.queue,
        }
    }

    /// Packets have so many bytes less of headers than TCP's.
    fn hop(&self, spared: u64) -> Hop {
        let (sent, carried) = self.redundancy;
        let pace = Pace::of(self.rate, (sent.get(), carried.get()));
        let overhead = i64::try_from(self.overhead.get()).unwrap_or(i64::MAX).saturating_sub_unsigned(spared);
        Hop::new(pace, overhead, Ticks::of(self.delay), self.queue)
    }
}

/// How requests go on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    /// RFC 1945: a connection per object.
    Http10,
    /// RFC 9112: persistent connections, one request at a time on each.
    Http11,
    /// RFC 9112 §9.3.2: all requests at once, answered in turn.
    Http11Pipelined,
    /// RFC 9113: all requests at once on one connection, answered interleaved.
    Http2,
    /// RFC 9114: as HTTP/2; the handshakes of transport and TLS are one. Loss of one stream's packets does not hold the others.
    Http3,
}

impl Http {
    /// Whether responses take turns.
    pub(crate) fn is_multiplexed(self) -> bool {
        matches!(self, Self::Http2 | Self::Http3)
    }
}

impl From<HttpVersion> for Http {
    fn from(version: HttpVersion) -> Self {
        match version {
            HttpVersion::Http10 => Self::Http10,
            HttpVersion::Http11 => Self::Http11,
            HttpVersion::Http11Pipelined => Self::Http11Pipelined,
            HttpVersion::Http2 => Self::Http2,
            HttpVersion::Http3 => Self::Http3,
        }
    }
}

/// Handshake of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// Plain HTTP.
    #[default]
    None,
    /// RFC 5246: two round trips.
    Tls12,
    /// RFC 8446: one round trip.
    Tls13,
}

impl Tls {
    /// The round trips.
    pub(crate) fn rounds(self) -> &'static [Flights] {
        scenario::Tls::from(self).flights()
    }
}

impl From<scenario::Tls> for Tls {
    fn from(tls: scenario::Tls) -> Self {
        match tls {
            scenario::Tls::None => Self::None,
            scenario::Tls::V12 => Self::Tls12,
            scenario::Tls::V13 => Self::Tls13,
        }
    }
}

impl From<Tls> for scenario::Tls {
    fn from(tls: Tls) -> Self {
        match tls {
            Tls::None => Self::None,
            Tls::Tls12 => Self::V12,
            Tls::Tls13 => Self::V13,
        }
    }
}

/// How the sender of the page decides how much to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// As the TCP of the parameters does.
    #[default]
    Tcp,
    /// A rate that is set or known from the start: nothing waits for acknowledgements.
    FixedRate,
}

/// The way between gateway and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayBehind {
    /// Of small packets, both ways.
    pub round_trip: Duration,
    /// Payload of a full segment; that of the link's packets may be another.
    pub mss: Bytes,
}

/// From a request's arrival to the first byte of its response: the server's think time, and the way behind the modelled path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delays {
    /// Of every response.
    pub response: Duration,
    /// Of every answer to a flight of TLS.
    pub tls: Duration,
    /// What each window of what the server sends waits for but the first, if there is a connection of its own behind the gateway.
    pub behind: Option<WayBehind>,
    /// Of the first one on each connection, in addition.
    pub connection: Duration,
    /// Of the document, in addition.
    pub document: Duration,
    /// From the client's asking for a connection to the answer of a box near it, which takes what is asked over it from then on; without
    /// one the far end answers.
    pub opening: Option<Duration>,
    /// From the client's asking for a connection to the box's asking the far end to connect; without one the far end connects when the first that is
    /// asked has come.
    pub asking: Option<Duration>,
    /// The way there and back between the client and a box near it where the connections of the modelled path end: what the client says is so
    /// much later in them than by its own clock, by which theirs is told as far ahead as what they bring takes to the client.
    pub ahead: Duration,
    /// What a client's request takes to a box near it that asks ahead ([`Parameters::asks_ahead`]), if it has not foreseen that.
    pub hearing: Option<Hearing>,
}

/// How much later than the client a box near it hears of what it did not foresee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hearing {
    /// The way there and back.
    pub request: Duration,
    /// The handshake of a new connection, in addition.
    pub connection: Duration,
    /// The client's resolving of a new host's name, in addition.
    pub name: Duration,
}

/// A flow of RWBP (zhou-2004 §IV): at its peak rate, as far as its receiver's buffer has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// What it sends at most, headers included; absent where nothing limits it.
    pub rate: Option<Rate>,
    /// What may be sent and not acknowledged.
    pub window: Bytes,
    /// Data packets per acknowledgement.
    pub ack_every: u32,
}

impl Flow {
    /// At the scenario's peak rate or the link's, with buffers of a round trip's worth of it, and of 16 segments at least.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let rate = scenario.rwbp.peak_rate.or_else(|| scenario.link.down.peak_rate());
        let mss = scenario.tcp.mss.get().max(1);
        let least = Bytes::new(mss.saturating_mul(16));
        let round_trip = rate.map_or(Bytes::new(MOST_FLOW), |rate| rate.bytes_in(scenario.link.rtt()));
        // The window is told in segments, by 16 bits.
        let segments = (round_trip.max(least).get() / mss).min(u16::MAX.into());
        Self { rate, window: Bytes::new(segments * mss), ack_every: scenario.rwbp.ack_every }
    }
}

/// What a load depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Hops from the server to the client, in this order.
    pub down: [HopParameters; MOST_HOPS],
    /// Hops from the client to the server, in this order.
    pub up: [HopParameters; MOST_HOPS],
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// What limits the sender of the page.
    pub control: Control,
    /// Connections are flows of RWBP; there where a rate is set.
    pub flow: Option<Flow>,
    /// Connections are up from the start and have measured the round-trip time.
    pub is_established: bool,
    /// Established connections that two proxies have between each other for all that the client opens; without any it has its own from
    /// end to end.
    pub carriers: usize,
    /// Handshake of TLS on each connection that the client opens.
    pub tls: Tls,
    /// Content of each record of TLS, but the last one of a message; zero counts as one byte.
    pub tls_record: Bytes,
    /// How HTTP is used.
    pub http: Http,
    /// The client's connections to a host at once, at most; zero counts as one. Pipelining, HTTP/2 and 3 use one.
    pub connections: usize,
    /// How long a connection may be idle before who opened it closes it; absent where it stays.
    pub persistence: Option<Duration>,
    /// A request without TCP/IP headers.
    pub request_bytes: Bytes,
    /// Status line and headers of a response.
    pub response_header_bytes: Bytes,
    /// Requests to a host without an answer at once, over all connections, at most; zero counts as one. HTTP/1.0 and 1.1 never have more than
    /// connections.
    pub outstanding: usize,
    /// What the server sends has come to it over another connection, and not all at once.
    pub is_relayed: bool,
    /// Who receives is the program of a box, which reads a little later than its kernel acknowledges.
    pub is_read_late: bool,
    /// No box is between client and server, whose programs are awake for a while once they ran; those of boxes are taken to read at once.
    pub is_direct: bool,
    /// What responses wait for at the far end of the modelled path.
    pub delays: Delays,
    /// Of what a document names the sender knows so many objects as soon as it has the document, and sends them without being asked.
    pub pushed: usize,
    /// It is sent apart from all connections, at this rate of contents where the link is not slower; absent where it follows what names it.
    pub pushed_rate: Option<Rate>,
    /// Of these it asks for so many at once; zero counts as one.
    pub fetches: usize,
    /// It fetches what documents name without sending it before it is asked for.
    pub fetches_ahead: bool,
    /// Who asks is a box that reads documents, and does not wait for a browser that asks later.
    pub asks_ahead: bool,
    /// Who asks opens connections before it asks for anything over those that are up, as browsers do. Of what a box passes on that is the other way
    /// round: what is asked for passes at once, a connection once its handshake with the box is over.
    pub opens_first: bool,
    /// Resolving a host's name, ahead of the first connection to it.
    pub lookup: Duration,
    /// The document is sent at once, without a request: a transfer over an open connection.
    pub is_unasked: bool,
    /// The client's connections end at a box near it, and are waited for.
    pub near: Option<Near>,
}

impl Parameters {
    /// The path of `scenario` from end to end, and its TCP, TLS, HTTP and DNS.
    pub fn of(scenario: &Scenario) -> Self {
        let channels = [&scenario.wan, &scenario.link, &scenario.lan];
        let down = channels.map(|channel| HopParameters::of(&channel.down));
        let mut up = channels.map(|channel| HopParameters::of(&channel.up));
        up.reverse();
        let over_tcp = Self {
            down,
            up,
            tcp: scenario.tcp.clone(),
            control: Control::Tcp,
            flow: None,
            is_established: false,
            carriers: 0,
            tls: scenario.http.tls.into(),
            tls_record: scenario.http.tls_record,
            http: scenario.http.version.into(),
            connections: scenario.http.connections,
            persistence: scenario.http.persistence,
            request_bytes: scenario.http.request_bytes,
            response_header_bytes: scenario.http.response_header_bytes,
            outstanding: usize::MAX,
            is_relayed: false,
            is_read_late: false,
            is_direct: true,
            delays: Delays::default(),
            pushed: 0,
            pushed_rate: None,
            fetches: usize::MAX,
            fetches_ahead: false,
            asks_ahead: false,
            opens_first: true,
            lookup: lookup(scenario),
            is_unasked: false,
            near: None,
        };
        if over_tcp.http == Http::Http3 { over_tcp.over_quic() } else { over_tcp }
    }

    /// Packets of QUIC's sizes: what their headers take more than TCP's is taken at every hop.
    pub(super) fn over_quic(mut self) -> Self {
        if self.tcp.mss > Bytes::ZERO {
            let packet = self.tcp.mss.get().saturating_add(HEADER_BYTES.get()).clamp(QUIC_INITIAL, QUIC_PACKET);
            self.tcp.mss = Bytes::new(packet - QUIC_HEADERS);
        }
        for hop in self.down.iter_mut().chain(&mut self.up) {
            hop.overhead = Bytes::new(hop.overhead.get().saturating_add(QUIC_OVERHEAD));
        }
        self
    }

    /// Connections between two proxies that carry what the client opens.
    pub(crate) fn carriers(&self) -> usize {
        if self.is_established && self.pushed == 0 { self.carriers } else { 0 }
    }

    /// Boxes that have a connection up read what is asked for, whatever connections of the client's it comes on.
    pub(crate) fn reads_requests(&self) -> bool {
        self.is_established && self.pushed > 0
    }

    /// What crosses the far link are frames, which are read when they are whole.
    pub(crate) fn has_frames(&self) -> bool {
        self.control == Control::FixedRate && self.flow.is_none()
    }

    /// What a frame of the tunnel carries of one response alone, all of which is at the gateway at once.
    pub(crate) fn frame(&self) -> Option<u64> {
        let is_alone = matches!(self.http, Http::Http10 | Http::Http11) && !self.is_far_behind();
        (self.has_frames() && self.carriers() > 0 && is_alone).then_some(FRAME)
    }

    /// There is a way behind the gateway, over which what is there at once comes in windows.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.delays.behind.is_some_and(|behind| behind.round_trip > Duration::ZERO)
    }

    /// What a box sends that keeps to the link's rate: where more comes to it later, which may go before what waits, nothing leaves earlier.
    pub(crate) fn link_pace(&self) -> Option<Pace> {
        let [_, link, _] = &self.down;
        let mss = self.tcp.mss.get();
        let wire = mss + HEADER_BYTES.get() + link.overhead.get();
        let (sent, carried) = link.redundancy;
        let factors = [wire * u64::from(sent.get()), mss * u64::from(carried.get())].map(u32::try_from);
        let [Ok(wire), Ok(payload)] = factors else { return None };
        let may_come = self.is_far_behind() || self.reads_requests();
        (self.has_frames() && may_come && link.rate.is_some()).then(|| Pace::of(link.rate, (wire, payload)))
    }

    /// Requests that a connection carries at once.
    pub(crate) fn most_on_connection(&self) -> usize {
        match self.http {
            Http::Http10 | Http::Http11 => 1,
            Http::Http2 | Http::Http3 if !self.reads_requests() => MOST_STREAMS,
            Http::Http11Pipelined | Http::Http2 | Http::Http3 => usize::MAX,
        }
    }

    /// A connection may carry several requests at once, of one connection of the client's or of several.
    pub(crate) fn shares_connections(&self) -> bool {
        self.most_on_connection() > 1 || self.is_established
    }

    /// Round trips of TLS on a new connection: none where boxes read what is asked for, nor where the transport's handshake has them.
    pub(crate) fn tls_rounds(&self) -> &'static [Flights] {
        if self.reads_requests() || self.http == Http::Http3 { &[] } else { self.tls.rounds() }
    }

    /// Records of what is said after them.
    pub(crate) fn records(&self) -> Records {
        if self.tls_rounds().is_empty() { Records::NONE } else { Records::new(self.tls.into(), self.tls_record) }
    }

    /// What the request for `object` takes on the wire.
    pub(crate) fn request(&self, workload: &Workload, object: usize) -> u64 {
        self.records().sealed(Bytes::new(workload.request(object, self.request_bytes))).get()
    }

    /// What the response with `object` takes on the wire.
    pub(crate) fn response(&self, workload: &Workload, object: usize) -> u64 {
        let header = workload.header(object, self.response_header_bytes);
        self.records().sealed(Bytes::new(header + workload.size(object))).get()
    }

    /// Round trips of a new connection's handshake, and of its keys'.
    pub(crate) fn opening_trips(&self) -> [u32; 2] {
        let awaits_hello = self.delays.opening.is_none() || !self.tls_rounds().is_empty();
        [u32::from(!self.is_established && awaits_hello), u32::try_from(self.tls_rounds().len()).unwrap_or(0)]
    }

    /// Whether responses take turns on a connection; at a set rate they come in the order in which they are needed.
    pub(crate) fn interleaves(&self) -> bool {
        self.turns() != Turns::Never
    }

    /// How they do; between proxies nobody knows what is urgent.
    pub(crate) fn turns(&self) -> Turns {
        match self.http {
            _ if self.control != Control::Tcp => Turns::Never,
            _ if self.carriers() > 0 => {
                let head = MULTIPLEXING_OVERHEAD.get();
                Turns::Segments { payload: self.tcp.mss.get() + head, head }
            }
            Http::Http2 => Turns::UrgentFrames { bytes: self.records().frame(HTTP2_FRAME_BYTES).get() },
            Http::Http3 => Turns::UrgentPackets,
            Http::Http10 | Http::Http11 | Http::Http11Pipelined => Turns::Never,
        }
    }

    pub(crate) fn check(&self) -> Result<(), RecursionError> {
        let at_most = |name, value: Bytes, most: u64| {
            let most = Bytes::new(most);
            if value > most { Err(RecursionError::OutOfRange { name, value, most }) } else { Ok(()) }
        };
        if self.tcp.mss == Bytes::ZERO {
            return Err(RecursionError::ZeroMss);
        }
        if self.tcp.max_window == Some(Bytes::ZERO) {
            return Err(RecursionError::ZeroWindow);
        }
        if self.tcp.initial_window == 0 {
            return Err(RecursionError::ZeroInitialWindow);
        }
        if self.request_bytes == Bytes::ZERO {
            return Err(RecursionError::ZeroRequest);
        }
        at_most("mss", self.tcp.mss, MOST_MSS)?;
        at_most("request_bytes", self.request_bytes, MOST_HEADER)?;
        at_most("response_header_bytes", self.response_header_bytes, MOST_HEADER)
    }

    pub(crate) fn routes(&self) -> (Route, Route) {
        let spared = if self.flow.is_some() { HEADER_BYTES.get().saturating_sub(FLOW_HEADERS) } else { 0 };
        let route = |[before, link, behind]: [HopParameters; MOST_HOPS]| {
            Route::new([before.hop(0), link.hop(spared), behind.hop(0)])
        };
        (route(self.down), route(self.up))
    }
}

/// A question and its answer between the client and its resolver.
pub(super) fn lookup(scenario: &Scenario) -> Duration {
    let lan = lookup_over(&scenario.lan);
    match scenario.http.dns {
        Dns::None => Duration::ZERO,
        Dns::Near => lan,
        Dns::Far => lan.saturating_add(lookup_over(&scenario.link)),
    }
}

/// Time that a question and its answer take over a channel.
pub(crate) fn lookup_over(channel: &ChannelConfig) -> Duration {
    way(&channel.up, DNS_QUERY_BYTES).saturating_add(way(&channel.down, DNS_ANSWER_BYTES))
}

/// Round-trip time of a small packet each way.
pub(crate) fn round_trip(channel: &ChannelConfig) -> Duration {
    way(&channel.down, HEADER_BYTES).saturating_add(way(&channel.up, HEADER_BYTES))
}

/// Round-trip time of TCP's handshake.
pub(crate) fn handshake(channel: &ChannelConfig, tcp: &TcpConfig) -> Duration {
    way(&channel.down, tcp.syn_bytes()).saturating_add(way(&channel.up, tcp.syn_bytes()))
}

/// How long a packet of so many bytes takes one way.
fn way(config: &DirectionConfig, bytes: Bytes) -> Duration {
    config.least_delay().saturating_add(crate::path::transmission_time(bytes.as_f64(), config.peak_rate()))
}

/// QUIC's largest packets, which fit Ethernet under IPv6 too, with IPv4's and UDP's headers.
const QUIC_PACKET: u64 = 1452 + 28;
/// RFC 9000 §14.1: every path carries packets of so many bytes, and a client's are no smaller until the handshake is over.
pub(crate) const QUIC_INITIAL: u64 = 1200 + 28;
/// Headers of a packet of QUIC with data of one stream: IPv4 and UDP, 28; flags, a connection's name of 8 bytes, a number of 2 and a tag
/// of 16 (RFC 9000 §17.3, RFC 9001 §5.3); type, stream, offset and length of the data (RFC 9000 §19.8), 8.
const QUIC_HEADERS: u64 = 28 + 27 + 8;
/// What they take more than TCP's, which hops add to every packet.
pub(super) const QUIC_OVERHEAD: u64 = QUIC_HEADERS - HEADER_BYTES.get();
/// zhou-2004, table I: headers of a packet, without timestamps.
pub(super) const FLOW_HEADERS: u64 = 40;
/// More than any window.
const MOST_FLOW: u64 = 1 << 40;
/// RFC 9113 §6.5.2: servers should allow no fewer, and allow no more.
const MOST_STREAMS: usize = 100;
/// An IP packet's length has 16 bits.
const MOST_MSS: u64 = 65_535;
/// Far beyond what servers take.
pub(crate) const MOST_HEADER: u64 = 16 << 20;
