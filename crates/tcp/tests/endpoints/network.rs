//! Two endpoints and the pipes between them, just enough to test the endpoints alone: each direction has a rate, a delay, a
//! spread of extra delay that reorders, and a probability of loss. No queue limit.

use farhop_tcp::{Endpoint, Output, Segment, TcpConfig};
use farhop_units::{Bytes, Instant, Probability, Rate};
use std::collections::BTreeMap;
use std::time::Duration;

/// One direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipe {
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Duration,
    /// Up to this much is added to the delay of each segment.
    pub(crate) spread: Duration,
    pub(crate) loss: Probability,
    /// The segments lost for certain, counted from 0 in the order of sending.
    pub(crate) lost: Vec<u64>,
}

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// What one end has done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) connected: Option<Instant>,
    pub(crate) first_data_sent: Option<Instant>,
    pub(crate) received: Bytes,
    pub(crate) last_received: Option<Instant>,
    pub(crate) finished: bool,
    pub(crate) closed: bool,
    pub(crate) data_segments_sent: u32,
}

pub(crate) struct Network {
    ends: [Endpoint; 2],
    pipes: [Pipe; 2],
    busy_until: [Instant; 2],
    carried: [u64; 2],
    flying: BTreeMap<(Instant, u64), (usize, Segment)>,
    sent: u64,
    dice: u64,
    pub(crate) now: Instant,
    pub(crate) seen: [Seen; 2],
}

impl Network {
    /// The client's SYN leaves at once; `pipes` are client → server and server → client.
    pub(crate) fn new(config: &TcpConfig, pipes: [Pipe; 2], seed: u64) -> Self {
        let client = Endpoint::connect(Instant::START, config).expect("a controller there is");
        let server = Endpoint::listen(config).expect("a controller there is");
        let mut network = Self {
            ends: [client, server],
            pipes,
            busy_until: [Instant::START; 2],
            carried: [0; 2],
            flying: BTreeMap::new(),
            sent: 0,
            dice: seed,
            now: Instant::START,
            seen: Default::default(),
        };
        network.collect(0);
        network
    }

    pub(crate) fn seen(&self, end: End) -> &Seen {
        &self.seen[end as usize]
    }

    pub(crate) fn congestion_window(&self, end: End) -> Bytes {
        self.ends[end as usize].congestion_window()
    }

    pub(crate) fn write(&mut self, end: End, bytes: Bytes) {
        self.ends[end as usize].write(self.now, bytes);
        self.collect(end as usize);
    }

    pub(crate) fn close(&mut self, end: End) {
        self.ends[end as usize].close(self.now);
        self.collect(end as usize);
    }

    /// Runs until `done` or until nothing is left to happen; says whether it was done.
    pub(crate) fn run_until(&mut self, done: impl Fn(&Self) -> bool) -> bool {
        while !done(self) {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
            let Some(next) = timers.chain(arrival).min() else { return done(self) };
            assert!(next >= self.now, "time never runs back");
            self.now = next;
            if arrival == Some(next) {
                let (_, (to, segment)) = self.flying.pop_first().expect("an arrival is next");
                self.ends[to].handle_segment(next, &segment);
            }
            for end in 0..2 {
                self.ends[end].handle_timeout(next);
                self.collect(end);
            }
        }
        true
    }

    fn collect(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll() {
            let seen = &mut self.seen[end];
            match output {
                Output::Transmit { at, segment } => {
                    if segment.payload > Bytes::ZERO {
                        seen.first_data_sent.get_or_insert(at);
                        seen.data_segments_sent += 1;
                    }
                    self.carry(end, at, segment);
                }
                Output::Connected { at } => assert!(seen.connected.replace(at).is_none(), "connected once"),
                Output::Received { at, bytes } => {
                    seen.received += bytes;
                    seen.last_received = Some(at);
                }
                Output::Finished { .. } => assert!(!core::mem::replace(&mut seen.finished, true), "finished once"),
                Output::Closed { .. } => assert!(!core::mem::replace(&mut seen.closed, true), "closed once"),
            }
        }
    }

    fn carry(&mut self, from: usize, at: Instant, segment: Segment) {
        let start = at.max(self.busy_until[from]);
        let pipe = self.pipes[from].clone();
        let number = self.carried[from];
        self.carried[from] += 1;
        let sent = start + pipe.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(segment.wire_bytes()));
        self.busy_until[from] = sent;
        let (lost, spread) = (self.roll(), self.roll());
        if lost >= pipe.loss.get() && !pipe.lost.contains(&number) {
            let arrival = sent + pipe.delay + pipe.spread.mul_f64(spread);
            self.flying.insert((arrival, self.sent), (1 - from, segment));
        }
        self.sent += 1;
    }

    /// SplitMix64, as a number from 0 to 1.
    fn roll(&mut self) -> f64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
