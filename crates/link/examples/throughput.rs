//! How many packets per second a channel carries on one core in virtual time, and how often it allocates meanwhile.
//!
//! `cargo run --release -p farhop-link --example throughput [PACKETS [CASE]]` runs the cases whose name contains CASE. Every
//! timer is served when it is due, as a simulator does; packets are full (1500 B on the wire, 8 B in memory) and enter at the
//! link's own rate unless the case says otherwise. Each case runs five times on the processor's time, and the slowest and the
//! fastest are printed too. Allocations are counted in the second half of the packets, when everything has its size; memory is
//! what an empty channel takes per terminal.

use farhop_link::{Channel, ChannelConfig, Destination, Output, Packet, Port};
use farhop_units::{Bytes, Instant, Rate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FULL_PACKET: Bytes = Bytes::new(1500);
/// What a reader of web pages gets and sends: segments of 512 B, and an acknowledgement of every second one.
const SEGMENT: Bytes = Bytes::new(564);
const ACKNOWLEDGEMENT: Bytes = Bytes::new(52);
const RUNS: usize = 5;

/// A packet of one of 16 flows, to or from one of the terminals, with so many words of its own in memory.
#[derive(Clone)]
struct Datagram<const WORDS: usize> {
    number: u32,
    terminal: u16,
    bytes: u16,
    _content: [u64; WORDS],
}

impl<const WORDS: usize> Packet for Datagram<WORDS> {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.bytes.into())
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
    traffic: Traffic,
    /// Runs it with packets of one size in memory.
    run: fn(&Case, u32) -> Run,
}

/// Who sends.
#[derive(Clone, Copy, PartialEq)]
enum Traffic {
    Down,
    Up,
    /// In turn.
    Both,
    /// Two segments down, one acknowledgement up, terminal by terminal.
    Web,
}

impl Traffic {
    /// Whether packet `number` goes up, to or from which of so many terminals, and its size.
    fn packet(self, number: u32, terminals: u16) -> (bool, u16, Bytes) {
        let terminal = |count: u32| u16::try_from(count % u32::from(terminals)).unwrap_or(0);
        match self {
            Self::Down => (false, terminal(number), FULL_PACKET),
            Self::Up => (true, terminal(number), FULL_PACKET),
            Self::Both => (number % 2 == 1, terminal(number), FULL_PACKET),
            Self::Web if number % 3 == 2 => (true, terminal(number / 3), ACKNOWLEDGEMENT),
            Self::Web => (false, terminal(number / 3), SEGMENT),
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let packets = arguments.next().map_or(Ok(2_000_000), |text| text.parse());
    let Ok(packets) = packets else {
        report("usage: throughput [PACKETS [CASE]]");
        std::process::exit(2);
    };
    let wanted = arguments.next().unwrap_or_default();
    report(&format!(
        "{packets} packets, {RUNS} runs: median (slowest-fastest) in million packets/s of processor time, ns per packet, timers \
         served per packet, allocations per million packets, bytes of an empty channel per terminal"
    ));
    for case in cases().into_iter().filter(|case| case.name.contains(&wanted)) {
        let mut runs: Vec<Run> = (0..RUNS).map(|_| (case.run)(&case, packets)).collect();
        runs.sort_by(|a, b| a.speed.total_cmp(&b.speed));
        let Run { speed, timers, allocations, memory } = runs[RUNS / 2];
        report(&format!(
            "{:56} {speed:6.1} ({:.1}-{:.1}) {:6.0} ns {timers:5.2} {allocations:5.0} {memory:6.0} B",
            case.name,
            runs[0].speed,
            runs[RUNS - 1].speed,
            1000.0 / speed,
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
    let mut add = |name: String, config: ChannelConfig, spacing, traffic| {
        cases.push(Case { name, config, spacing, traffic, run: run::<0> });
    };
    let down = Traffic::Down;
    add("100 Mbit/s, 250 ms, one way".to_owned(), link(&[]), spacing(100), down);
    add("both ways".to_owned(), link(&[]), spacing(200), Traffic::Both);
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
            Traffic::Up,
        );
    }
    cases.extend([8, 128, 10_000].map(|terminals| web_case(terminals, "dedicated")));
    cases.extend(["tdma", "cfdama", "aloha-periodic", "dama"].map(|access| web_case(128, access)));
    cases
}

/// Readers of web pages behind a geostationary satellite: 4 Mbit/s down to 80 %, 400 kbit/s up, packets of 104 B in memory.
fn web_case(terminals: u16, access: &str) -> Case {
    let count = terminals.to_string();
    let settings = [("down.rate", "4 Mbit/s"), ("up.rate", "400 kbit/s"), ("terminals", &count), ("access", access)];
    let spacing = Rate::kbps(3200).transmission_time(SEGMENT) * 2 / 3;
    Case {
        name: format!("{terminals} readers of web pages, {access}"),
        config: link(&settings),
        spacing,
        traffic: Traffic::Web,
        run: run::<12>,
    }
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
#[derive(Clone, Copy)]
struct Run {
    /// Million packets per second of processor time.
    speed: f64,
    /// Per packet.
    timers: f64,
    /// Per million packets, in the second half.
    allocations: f64,
    /// Of an empty channel, per terminal.
    memory: f64,
}

/// Carries `packets` packets to the end.
fn run<const WORDS: usize>(case: &Case, packets: u32) -> Run {
    let mut region = Region::new(ALLOCATOR);
    let mut channel = Channel::<Datagram<WORDS>>::new(case.config.clone(), 1);
    let memory = region.change();
    let mut now = Instant::START;
    let mut served = Served::default();
    let begin = processor_time();
    for number in 0..packets {
        if number == packets / 2 {
            region = Region::new(ALLOCATOR);
        }
        served.until(&mut channel, now);
        let (is_up, terminal, bytes) = case.traffic.packet(number, case.config.terminals);
        let port = if is_up { Port::Terminal(terminal) } else { Port::Gateway };
        let bytes = u16::try_from(bytes.get()).unwrap_or(u16::MAX);
        channel.handle_packet(now, port, Datagram { number, terminal, bytes, _content: [0; WORDS] });
        now += case.spacing;
    }
    let allocations = region.change().allocations;
    served.until(&mut channel, now + Duration::from_secs(1000));
    let span = processor_time() - begin;
    assert_eq!(served.outputs, packets, "every packet is delivered or dropped");
    let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let millions = f64::from(packets) / 1e6;
    Run {
        speed: millions / span.as_secs_f64(),
        timers: f64::from(served.timers) / f64::from(packets),
        allocations: float(allocations) / millions * 2.0,
        memory: float(memory.bytes_allocated - memory.bytes_deallocated) / f64::from(case.config.terminals),
    }
}

/// What has been served so far.
#[derive(Default)]
struct Served {
    outputs: u32,
    timers: u32,
}

impl Served {
    /// Serves every timer until `until` when it is due.
    fn until<P: Packet>(&mut self, channel: &mut Channel<P>, until: Instant) {
        loop {
            while let Some(output) = channel.poll() {
                self.outputs += 1;
                std::hint::black_box::<Output<P>>(output);
            }
            match channel.next_timeout() {
                Some(due) if due <= until => channel.handle_timeout(due),
                _ => return,
            }
            self.timers += 1;
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
