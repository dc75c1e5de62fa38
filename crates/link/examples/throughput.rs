//! How many packets per second a channel carries on one core in virtual time, and how often it allocates meanwhile.
//!
//! `cargo run --release -p farhop-link --example throughput [PACKETS]`. Every timer is served when it is due, as a
//! simulator does; packets are full (1500 B) and enter at the link's own rate unless the case says otherwise. Each case runs
//! five times on the processor's time, and the slowest and the fastest are printed too. Allocations are counted in the second
//! half of the packets, when everything has its size.

use farhop_link::{Channel, ChannelConfig, Destination, Output, Packet, Port};
use farhop_units::{Bytes, Instant, Rate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FULL_PACKET: Bytes = Bytes::new(1500);
const RUNS: usize = 5;

/// A packet of one of 16 flows, to or from one of the terminals.
#[derive(Clone)]
struct Datagram {
    number: u32,
    terminal: u16,
}

impl Packet for Datagram {
    fn wire_bytes(&self) -> Bytes {
        FULL_PACKET
    }

    fn destination(&self) -> Destination {
        Destination::Terminal(self.terminal)
    }

    fn flow(&self) -> u64 {
        u64::from(self.number % 16)
    }
}

/// A link and how packets enter it.
struct Case {
    name: String,
    config: ChannelConfig,
    /// Time from one packet to the next.
    spacing: Duration,
    /// Whether packets enter at the gateway, at the terminals.
    down: bool,
    up: bool,
}

fn main() {
    let packets = std::env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse());
    let Ok(packets) = packets else {
        report("usage: throughput [PACKETS]");
        std::process::exit(2);
    };
    report(&format!(
        "{packets} packets of {FULL_PACKET}, {RUNS} runs: median (slowest-fastest) in million packets/s of processor time, allocations per million packets"
    ));
    for case in cases() {
        let mut runs: Vec<Run> = (0..RUNS).map(|_| run(&case, packets)).collect();
        runs.sort_by(|a, b| a.speed.total_cmp(&b.speed));
        let (median, allocations) = (runs[RUNS / 2].speed, runs[0].allocations);
        report(&format!(
            "{:56} {median:6.1} ({:.1}-{:.1})  {allocations:.0}",
            case.name,
            runs[0].speed,
            runs[RUNS - 1].speed
        ));
    }
}

/// 100 Mbit/s and 250 ms both ways with these settings on the way down.
fn link(settings: &[(&str, &str)]) -> ChannelConfig {
    const USUAL: [(&str, &str); 6] = [
        ("down.rate", "100 Mbit/s"),
        ("down.delay", "250 ms"),
        ("down.queue", "2.5 MB"),
        ("up.rate", "100 Mbit/s"),
        ("up.delay", "250 ms"),
        ("up.queue", "2.5 MB"),
    ];
    let mut config = ChannelConfig::default();
    for (name, value) in USUAL.iter().chain(settings) {
        config.set(name, value).expect("a good setting");
    }
    config
}

fn cases() -> Vec<Case> {
    let spacing = |megabits| Rate::mbps(megabits).transmission_time(FULL_PACKET);
    let mut cases = Vec::new();
    let mut add = |name: String, config: ChannelConfig, spacing, (down, up)| {
        cases.push(Case { name, config, spacing, down, up });
    };
    let down = (true, false);
    add("100 Mbit/s, 250 ms, one way".to_owned(), link(&[]), spacing(100), down);
    add("both ways".to_owned(), link(&[]), spacing(200), (true, true));
    add("10 Gbit/s".to_owned(), link(&[("down.rate", "10 Gbit/s")]), spacing(10_000), down);
    for (word, value) in IMPAIRMENTS {
        add(format!("{word} = {value}"), link(&[(&format!("down.{word}"), value)]), spacing(100), down);
    }
    let trace = "steps end=repeat length=2s at=0ms:100Mbit/s;1s:200Mbit/s:260ms";
    add("a trace of two steps".to_owned(), traced(trace), spacing(100), down);
    let discipline = |name: &str| link(&[("down.discipline", name), ("down.queue", "500 packets")]);
    for name in ["drop-tail", "codel", "fair-queue", "fq-codel", "priority"] {
        add(format!("twice the rate enters, {name}"), discipline(name), spacing(200), down);
    }
    for access in ["dedicated", "tdma", "cfdama", "aloha-periodic", "dama"] {
        let config = link(&[("terminals", "128"), ("access", access)]);
        add(
            format!("128 terminals send, 80 % load, {access}"),
            config,
            spacing(if access == "dedicated" { 100 } else { 80 }),
            (false, true),
        );
    }
    cases
}

const IMPAIRMENTS: &[(&str, &str)] = &[
    ("loss", "0.01"),
    ("loss", "gilbert-elliott enter=0.01 leave=0.3"),
    ("framing", "overhead=18B redundancy=16/15"),
    ("jitter", "uniform max=5ms"),
    ("reordering", "probability=0.01 by=5ms"),
    ("outages", "periodic first=1s period=10s length=100ms"),
    ("orbit", "leo altitude=550km elevation=25deg"),
];

fn traced(trace: &str) -> ChannelConfig {
    link(&[("down.rate", "unlimited"), ("down.trace", trace)])
}

/// What a run has shown.
struct Run {
    /// Million packets per second of processor time.
    speed: f64,
    /// Per million packets, in the second half.
    allocations: f64,
}

/// Carries `packets` packets to the end.
fn run(case: &Case, packets: u32) -> Run {
    let mut channel = Channel::new(case.config.clone(), 1);
    let (mut now, mut outputs) = (Instant::START, 0);
    let mut region = Region::new(ALLOCATOR);
    let begin = processor_time();
    for number in 0..packets {
        if number == packets / 2 {
            region = Region::new(ALLOCATOR);
        }
        outputs += serve_timers(&mut channel, now);
        let terminal = u16::try_from(number % u32::from(case.config.terminals)).unwrap_or(0);
        let port = match (case.down, case.up) {
            (true, false) => Port::Gateway,
            (true, true) if number % 2 == 0 => Port::Gateway,
            _ => Port::Terminal(terminal),
        };
        channel.handle_packet(now, port, Datagram { number, terminal });
        now += case.spacing;
    }
    let allocations = f64::from(u32::try_from(region.change().allocations).unwrap_or(u32::MAX));
    outputs += serve_timers(&mut channel, now + Duration::from_secs(1000));
    let span = processor_time() - begin;
    assert_eq!(outputs, packets, "every packet is delivered or dropped");
    let millions = f64::from(packets) / 1e6;
    Run { speed: millions / span.as_secs_f64(), allocations: allocations / millions * 2.0 }
}

/// Serves every timer until `until` when it is due; gives the number of outputs.
fn serve_timers(channel: &mut Channel<Datagram>, until: Instant) -> u32 {
    let mut outputs = 0;
    loop {
        while let Some(output) = channel.poll() {
            outputs += 1;
            std::hint::black_box::<Output<Datagram>>(output);
        }
        match channel.next_timeout() {
            Some(due) if due <= until => channel.handle_timeout(due),
            _ => return outputs,
        }
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
