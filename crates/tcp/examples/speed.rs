//! How long two endpoints back to back need per segment of data, its share of the acknowledgements included, and how often they
//! allocate meanwhile.
//!
//! `cargo run --release -p farhop-tcp --example speed [SEGMENTS]`. Segments cross a pipe of a fixed delay and a fixed time per
//! segment, which loses some in two of the cases. Each case runs five times on the processor's time; the slowest and the fastest
//! are printed too. Allocations are counted in the second half, when everything has its size.

use farhop_tcp::{Congestion, Endpoint, Output, Profile, Segment, TcpConfig};
use farhop_units::{Bytes, Instant};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 5;
const DELAY: Duration = Duration::from_millis(25);
/// A full segment at 1 Gbit/s.
const SPACING: Duration = Duration::from_micros(12);

/// One way: what flies, and when the last one left.
#[derive(Default)]
struct Pipe {
    flying: VecDeque<(Instant, Segment)>,
    free: Instant,
    carried: u64,
}

impl Pipe {
    /// Loses each `period`-th segment, if there is a period.
    fn carry(&mut self, at: Instant, segment: Segment, period: Option<u64>) {
        self.carried += 1;
        let busy = if segment.payload > Bytes::ZERO { SPACING } else { Duration::ZERO };
        self.free = self.free.max(at) + busy;
        if period.is_none_or(|period| !self.carried.is_multiple_of(period)) {
            self.flying.push_back((self.free + DELAY, segment));
        }
    }

    fn next(&self) -> Option<Instant> {
        self.flying.front().map(|(at, _)| *at)
    }
}

struct Case {
    name: &'static str,
    config: TcpConfig,
    lost_period: Option<u64>,
}

fn cases() -> Vec<Case> {
    let config =
        |profile, congestion| TcpConfig { congestion, max_window: Some(Bytes::kib(4096)), ..TcpConfig::of(profile) };
    let case = |name, config, lost_period| Case { name, config, lost_period };
    vec![
        case("linux, newreno", config(Profile::Linux, Congestion::NewReno), None),
        case("linux, cubic", config(Profile::Linux, Congestion::Cubic), None),
        case("linux, bbr", config(Profile::Linux, Congestion::Bbr), None),
        case("rfc, newreno", config(Profile::Rfc, Congestion::NewReno), None),
        case("bsd-1997, reno", config(Profile::Bsd1997, Congestion::Reno), None),
        case("linux, cubic, one in 10,000 lost", config(Profile::Linux, Congestion::Cubic), Some(10_000)),
        case("linux, cubic, one in 300 lost", config(Profile::Linux, Congestion::Cubic), Some(300)),
    ]
}

fn main() {
    let segments = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse());
    let Ok(segments) = segments else {
        report("usage: speed [SEGMENTS]");
        std::process::exit(2);
    };
    report(&format!(
        "{segments} segments, {RUNS} runs: median (fastest-slowest) ns of processor time per segment, allocations per million"
    ));
    for case in cases() {
        let mut runs: Vec<(f64, f64)> = (0..RUNS).map(|_| run(&case, segments)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((median, allocations), fastest, slowest) = (runs[RUNS / 2], runs[0].0, runs[RUNS - 1].0);
        report(&format!("{:36} {median:6.1} ({fastest:.1}-{slowest:.1})  {allocations:.0}", case.name));
    }
}

/// Nanoseconds per segment, and allocations per million segments in the second half.
fn run(case: &Case, segments: u32) -> (f64, f64) {
    let client = Endpoint::connect(Instant::START, &case.config);
    let server = Endpoint::listen(&case.config);
    let (Ok(client), Ok(server)) = (client, server) else { return (f64::NAN, f64::NAN) };
    let mut ends = [client, server];
    let mut pipes = [Pipe::default(), Pipe::default()];
    let size = case.config.mss * u64::from(segments);
    ends[0].write(Instant::START, size);
    let (mut received, mut region, mut half_done) = (Bytes::ZERO, Region::new(ALLOCATOR), false);
    let begin = processor_time();
    while received < size {
        received += step(&mut ends, &mut pipes, case.lost_period);
        if !half_done && received * 2 > size {
            (region, half_done) = (Region::new(ALLOCATOR), true);
        }
    }
    let span = processor_time() - begin;
    let change = region.change();
    #[expect(clippy::cast_precision_loss, reason = "a count of allocations is small")]
    let allocations = (change.allocations + change.reallocations) as f64;
    let segments = f64::from(segments);
    (span.as_secs_f64() * 1e9 / segments, allocations / (segments / 2e6))
}

/// Does what happens next; gives the bytes that the server received.
fn step(ends: &mut [Endpoint; 2], pipes: &mut [Pipe; 2], lost_period: Option<u64>) -> Bytes {
    let arrivals = [pipes[1].next(), pipes[0].next()];
    let timers = [ends[0].next_timeout(), ends[1].next_timeout()];
    let earliest = |one: Option<Instant>, other: Option<Instant>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let next = earliest(earliest(arrivals[0], arrivals[1]), earliest(timers[0], timers[1]));
    let now = next.expect("something always happens until all has arrived");
    let mut received = Bytes::ZERO;
    for end in 0..2 {
        if arrivals[end] == Some(now)
            && let Some((_, segment)) = pipes[1 - end].flying.pop_front()
        {
            ends[end].handle_segment(now, &segment);
        } else if timers[end] == Some(now) {
            ends[end].handle_timeout(now);
        } else {
            continue;
        }
        while let Some(output) = ends[end].poll() {
            match output {
                Output::Transmit { at, segment } => pipes[end].carry(at, segment, lost_period.filter(|_| end == 0)),
                Output::Received { bytes, .. } if end == 1 => received += bytes,
                _ => {}
            }
        }
    }
    received
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
