//! How long two machines back to back need per packet of data, its share of the acknowledgements included, and how often they
//! allocate meanwhile.
//!
//! `cargo run --release -p farhop-transport --example speed [PACKETS]`. Packets cross a pipe of a fixed delay and a fixed time per
//! packet, which loses some in two of the cases. Each case runs five times on the processor's time; the slowest and the fastest
//! are printed too. Allocations are counted in the second half, when everything has its size.

use farhop_tcp::Congestion;
use farhop_transport::quic::{Connection, QuicConfig, Sending};
use farhop_transport::rwbp::{Proxy, RwbpConfig};
use farhop_transport::{Output, StreamId, quic, rwbp};
use farhop_units::{Bytes, Instant, Rate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 5;
const DELAY: Duration = Duration::from_millis(25);
/// What a packet of data occupies the pipe.
const SPACING: Duration = Duration::from_micros(12);

/// What the two kinds of machines have in common.
trait Machine {
    type Packet: Copy;
    fn write(&mut self, now: Instant, stream: StreamId, bytes: Bytes) -> Bytes;
    fn read(&mut self, now: Instant, stream: StreamId, bytes: Bytes);
    fn handle_packet(&mut self, now: Instant, packet: &Self::Packet);
    fn handle_timeout(&mut self, now: Instant);
    fn next_timeout(&self) -> Option<Instant>;
    fn poll(&mut self) -> Option<Output<Self::Packet>>;
    fn wire_bytes(packet: &Self::Packet) -> Bytes;
}

macro_rules! machine {
    ($machine:ty, $packet:ty) => {
        impl Machine for $machine {
            type Packet = $packet;
            fn write(&mut self, now: Instant, stream: StreamId, bytes: Bytes) -> Bytes {
                self.write(now, stream, bytes)
            }
            fn read(&mut self, now: Instant, stream: StreamId, bytes: Bytes) {
                self.read(now, stream, bytes);
            }
            fn handle_packet(&mut self, now: Instant, packet: &$packet) {
                self.handle_packet(now, packet);
            }
            fn handle_timeout(&mut self, now: Instant) {
                self.handle_timeout(now);
            }
            fn next_timeout(&self) -> Option<Instant> {
                self.next_timeout()
            }
            fn poll(&mut self) -> Option<Output<$packet>> {
                self.poll()
            }
            fn wire_bytes(packet: &$packet) -> Bytes {
                packet.wire_bytes()
            }
        }
    };
}

machine!(Proxy, rwbp::Packet);
machine!(Connection, quic::Packet);

/// One way: what flies, and when the last one left.
struct Pipe<P> {
    flying: VecDeque<(Instant, P)>,
    free: Instant,
    carried: u64,
}

impl<P> Pipe<P> {
    const fn new() -> Self {
        Self { flying: VecDeque::new(), free: Instant::START, carried: 0 }
    }

    /// Loses each `period`-th packet, if there is a period.
    fn carry(&mut self, at: Instant, packet: P, is_data: bool, period: Option<u64>) {
        self.carried += 1;
        self.free = self.free.max(at) + if is_data { SPACING } else { Duration::ZERO };
        if period.is_none_or(|period| !self.carried.is_multiple_of(period)) {
            self.flying.push_back((self.free + DELAY, packet));
        }
    }

    fn next(&self) -> Option<Instant> {
        self.flying.front().map(|(at, _)| *at)
    }
}

/// Two machines, the first of which sends as fast as it may on so many streams.
struct Pair<M: Machine> {
    ends: [M; 2],
    pipes: [Pipe<M::Packet>; 2],
    lost_period: Option<u64>,
    /// What is not written yet, in all.
    left: Bytes,
    received: Bytes,
}

impl<M: Machine> Pair<M> {
    fn new(ends: [M; 2], lost_period: Option<u64>) -> Self {
        let pipes = [Pipe::new(), Pipe::new()];
        Self { ends, pipes, lost_period, left: Bytes::ZERO, received: Bytes::ZERO }
    }

    fn write(&mut self, now: Instant, stream: StreamId) {
        self.left -= self.ends[0].write(now, stream, self.left);
    }

    /// Nanoseconds per packet, and allocations per million packets in the second half.
    fn run(mut self, streams: u32, payload: u64, packets: u32) -> (f64, f64) {
        let size = Bytes::new(payload * u64::from(packets));
        self.left = size;
        (0..streams).for_each(|stream| self.write(Instant::START, StreamId(stream)));
        (0..2).for_each(|end| self.collect(end, Instant::START));
        let (mut region, mut half_done) = (Region::new(ALLOCATOR), false);
        let begin = processor_time();
        while self.received < size {
            self.step();
            if !half_done && self.received * 2 > size {
                (region, half_done) = (Region::new(ALLOCATOR), true);
            }
        }
        let span = processor_time() - begin;
        let change = region.change();
        #[expect(clippy::cast_precision_loss, reason = "a count of allocations is small")]
        let allocations = (change.allocations + change.reallocations) as f64;
        let packets = f64::from(packets);
        (span.as_secs_f64() * 1e9 / packets, allocations / (packets / 2e6))
    }

    /// Does what happens next.
    fn step(&mut self) {
        let arrivals = [self.pipes[1].next(), self.pipes[0].next()];
        let timers = [self.ends[0].next_timeout(), self.ends[1].next_timeout()];
        let next = arrivals.into_iter().chain(timers).flatten().min();
        let now = next.expect("something always happens until all has arrived");
        for end in 0..2 {
            if arrivals[end] == Some(now)
                && let Some((_, packet)) = self.pipes[1 - end].flying.pop_front()
            {
                self.ends[end].handle_packet(now, &packet);
            } else if timers[end] == Some(now) {
                self.ends[end].handle_timeout(now);
            } else {
                continue;
            }
            self.collect(end, now);
        }
    }

    fn collect(&mut self, end: usize, now: Instant) {
        while let Some(output) = self.ends[end].poll() {
            match output {
                Output::Transmit { at, packet } => {
                    let is_data = M::wire_bytes(&packet) > Bytes::new(400);
                    self.pipes[end].carry(at, packet, is_data, self.lost_period.filter(|_| end == 0));
                }
                Output::Received { stream, bytes, .. } if end == 1 => {
                    self.received += bytes;
                    self.ends[1].read(now, stream, bytes);
                }
                Output::Room { stream, .. } => self.write(now, stream),
                _ => {}
            }
        }
    }
}

/// RWBP at 1 Gbit/s in all; the paper's one has the time that many terminals share.
fn rwbp(flows: u32, lost_period: Option<u64>, packets: u32) -> (f64, f64) {
    let peak_rate = Rate::mbps(u64::from(400 / flows.min(400)));
    let buffer = peak_rate.bytes_in(DELAY * 3);
    let paper = RwbpConfig::zhou_2004(DELAY * 2);
    let config = RwbpConfig { peak_rate, buffer, ack_delay: DELAY, ..paper };
    let mut ends = [Proxy::new(config.clone()), Proxy::new(config)];
    for flow in (0..flows).map(StreamId) {
        ends[0].connect(Instant::START, flow);
        ends[1].listen(Instant::START, flow);
    }
    Pair::new(ends, lost_period).run(flows, 512, packets)
}

fn quic(sending: Sending, streams: u32, lost_period: Option<u64>, packets: u32) -> (f64, f64) {
    let config = QuicConfig { sending, stream_window: Bytes::kib(64 << 10), ..QuicConfig::default() };
    Pair::new([Connection::client(Instant::START, &config), Connection::server(&config)], lost_period)
        .run(streams, 1417, packets)
}

type Case = (&'static str, fn(u32) -> (f64, f64));

const CASES: [Case; 8] = [
    ("rwbp, one flow", |packets| rwbp(1, None, packets)),
    ("rwbp, 128 flows", |packets| rwbp(128, None, packets)),
    ("rwbp, one flow, one in 300 lost", |packets| rwbp(1, Some(300), packets)),
    ("quic, newreno", |packets| quic(Sending::Congestion(Congestion::NewReno), 1, None, packets)),
    ("quic, set rate", |packets| quic(Sending::Rate(Rate::mbps(900)), 1, None, packets)),
    ("quic, set rate, 64 streams", |packets| quic(Sending::Rate(Rate::mbps(900)), 64, None, packets)),
    ("quic, set rate, one in 300 lost", |packets| quic(Sending::Rate(Rate::mbps(900)), 1, Some(300), packets)),
    ("quic, cubic, one in 10,000 lost", |packets| {
        quic(Sending::Congestion(Congestion::Cubic), 1, Some(10_000), packets)
    }),
];

fn main() {
    let packets = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse());
    let Ok(packets) = packets else {
        report("usage: speed [PACKETS]");
        std::process::exit(2);
    };
    report(&format!(
        "{packets} packets, {RUNS} runs: median (fastest-slowest) ns of processor time per packet, allocations per million"
    ));
    for (name, run) in CASES {
        let mut runs: Vec<(f64, f64)> = (0..RUNS).map(|_| run(packets)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((median, allocations), fastest, slowest) = (runs[RUNS / 2], runs[0].0, runs[RUNS - 1].0);
        report(&format!("{name:36} {median:6.1} ({fastest:.1}-{slowest:.1})  {allocations:.0}"));
    }
}

/// Time that this thread has spent on a processor.
fn processor_time() -> Duration {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(Duration::ZERO, Duration::from)
}

#[expect(clippy::print_stdout, reason = "the benchmark's result")]
fn report(line: &str) {
    println!("{line}");
}
