//! Two endpoints and the pipes between them, just enough to test the endpoints alone: each direction has a rate, a delay, a
//! spread of extra delay that reorders, a probability of loss, and a queue.

use core::ops::Range;
use farhop_tcp::{Codepoint, Endpoint, Output, Segment, TcpConfig};
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
    /// What may wait for the serializer; `None` is unlimited.
    pub(crate) queue: Option<Bytes>,
    /// The segments lost for certain, counted from 0 in the order of sending.
    pub(crate) lost: Vec<u64>,
    /// Those that take longer, and by how much; and whether what follows waits for them.
    pub(crate) late: (Range<u64>, Duration),
    pub(crate) keeps_order: bool,
    /// Those that are marked instead of dropped, if they are capable of that.
    pub(crate) marked: Vec<u64>,
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
    config: TcpConfig,
    ends: [Endpoint; 2],
    pipes: [Pipe; 2],
    busy_until: [Instant; 2],
    carried: [u64; 2],
    last_arrival: [Instant; 2],
    flying: BTreeMap<(Instant, u64), (usize, Segment)>,
    sent: u64,
    pub(crate) marks: u32,
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
            config: config.clone(),
            ends: [client, server],
            pipes,
            busy_until: [Instant::START; 2],
            carried: [0; 2],
            last_arrival: [Instant::START; 2],
            flying: BTreeMap::new(),
            sent: 0,
            marks: 0,
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

    /// Written and never sent, sent and not acknowledged.
    pub(crate) fn backlog(&self, end: End) -> (Bytes, Bytes) {
        (self.ends[end as usize].unsent(), self.ends[end as usize].unacknowledged())
    }

    pub(crate) fn hold(&mut self, end: End, unread: Bytes) {
        self.ends[end as usize].hold(self.now, unread);
        self.collect(end as usize);
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
            let arrival = self.next_arrival();
            let Some(next) = self.next_event() else { return done(self) };
            assert!(next >= self.now, "time never runs back");
            self.now = next;
            if arrival == Some(next) {
                let (_, (to, segment)) = self.flying.pop_first().expect("an arrival is next");
                self.ends[to].handle_segment(next, &segment);
            }
            for end in 0..2 {
                self.ends[end].handle_timeout(next);
                self.collect(end);
                self.check_window(end);
            }
        }
        true
    }

    /// Runs everything up to `end`, which is now then.
    pub(crate) fn run_to(&mut self, end: Instant) {
        self.run_until(|network| network.next_event().is_none_or(|next| next > end));
        self.now = end;
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.flying.keys().next().map(|(at, _)| *at)
    }

    fn next_event(&self) -> Option<Instant> {
        self.ends.iter().filter_map(Endpoint::next_timeout).chain(self.next_arrival()).min()
    }

    /// Every controller keeps a segment in its window at least, and grows by what is acknowledged at most.
    fn check_window(&self, end: usize) {
        let (window, mss) = (self.ends[end].congestion_window(), self.config.mss);
        let sent = u64::from(self.seen[end].data_segments_sent);
        let most = mss * (u64::from(self.config.initial_window) + sent + 6);
        assert!(window >= mss && window <= most, "a window of {window} after {sent} segments of {mss}");
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
                Output::Room { .. } => unreachable!("its owner would know when programs run"),
                Output::Finished { .. } => assert!(!core::mem::replace(&mut seen.finished, true), "finished once"),
                Output::Closed { .. } => assert!(!core::mem::replace(&mut seen.closed, true), "closed once"),
            }
        }
    }

    fn carry(&mut self, from: usize, at: Instant, mut segment: Segment) {
        let start = at.max(self.busy_until[from]);
        let pipe = self.pipes[from].clone();
        let number = self.carried[from];
        self.carried[from] += 1;
        let waiting = pipe.rate.map_or(Bytes::ZERO, |rate| rate.bytes_in(start.since(at)));
        if pipe.queue.is_some_and(|queue| waiting + segment.wire_bytes() > queue) {
            return;
        }
        let sent = start + pipe.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(segment.wire_bytes()));
        self.busy_until[from] = sent;
        let (lost, spread) = (self.roll(), self.roll());
        if lost >= pipe.loss.get() && !pipe.lost.contains(&number) {
            let late = if pipe.late.0.contains(&number) { pipe.late.1 } else { Duration::ZERO };
            let mut arrival = sent + pipe.delay + pipe.spread.mul_f64(spread) + late;
            if pipe.keeps_order {
                arrival = arrival.max(self.last_arrival[from]);
                self.last_arrival[from] = arrival;
            }
            if pipe.marked.contains(&number) && segment.codepoint == Codepoint::Capable {
                segment.codepoint = Codepoint::Experienced;
                self.marks += 1;
            }
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
