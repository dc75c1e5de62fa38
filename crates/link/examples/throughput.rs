//! How many packets per second of real time a channel carries on one core, in virtual time.
//!
//! `cargo run --release -p farhop-link --example throughput [PACKETS]`. Every timer is served when it is due, as a
//! simulator does; packets are full (1500 B) and enter at the link's own rate unless the case says otherwise. Each case runs
//! five times, and the slowest and the fastest are printed too.

use farhop_link::{Channel, ChannelConfig, DirectionConfig, LossModel, Output, Packet, Port};
use farhop_units::{Bytes, Instant, Probability, Rate};
use std::time::Duration;

const FULL_PACKET: Bytes = Bytes::new(1500);
const RUNS: usize = 5;

#[derive(Clone)]
struct Datagram;

impl Packet for Datagram {
    fn wire_bytes(&self) -> Bytes {
        FULL_PACKET
    }
}

/// A link and how packets enter it.
struct Case {
    name: &'static str,
    config: ChannelConfig,
    /// Time from one packet to the next.
    spacing: Duration,
    /// Where packets enter, in turn.
    ports: &'static [Port],
}

fn main() {
    let packets = std::env::args().nth(1).map_or(Ok(5_000_000), |text| text.parse());
    let Ok(packets) = packets else {
        report("usage: throughput [PACKETS]");
        std::process::exit(2);
    };
    report(&format!("{packets} packets of {FULL_PACKET}, {RUNS} runs: median (slowest-fastest) in million packets/s"));
    for case in cases() {
        let mut speeds: Vec<f64> = (0..RUNS).map(|_| million_packets_per_second(&case, packets)).collect();
        speeds.sort_by(f64::total_cmp);
        report(&format!("{:44} {:6.1} ({:.1}-{:.1})", case.name, speeds[RUNS / 2], speeds[0], speeds[RUNS - 1]));
    }
}

fn cases() -> [Case; 5] {
    let way = |megabits| DirectionConfig {
        rate: Some(Rate::mbps(megabits)),
        delay: Duration::from_millis(250),
        queue: farhop_link::QueueLimit::Bytes(Bytes::kb(2500)),
        ..DirectionConfig::default()
    };
    let both = |way: DirectionConfig| ChannelConfig { down: way.clone(), up: way, ..Default::default() };
    let lossy =
        DirectionConfig { loss: Probability::new(0.01).map_or(LossModel::None, LossModel::Bernoulli), ..way(100) };
    let spacing = |megabits| Rate::mbps(megabits).transmission_time(FULL_PACKET);
    const DOWN: &[Port] = &[Port::Gateway];
    const BOTH: &[Port] = &[Port::Gateway, Port::Terminal(0)];
    [
        Case { name: "100 Mbit/s, 250 ms, one way", config: both(way(100)), spacing: spacing(100), ports: DOWN },
        Case { name: "the same, 1 % loss", config: both(lossy), spacing: spacing(100), ports: DOWN },
        Case { name: "the same, twice the rate enters", config: both(way(100)), spacing: spacing(200), ports: DOWN },
        Case { name: "100 Mbit/s, 250 ms, both ways", config: both(way(100)), spacing: spacing(200), ports: BOTH },
        Case { name: "10 Gbit/s, 250 ms, one way", config: both(way(10_000)), spacing: spacing(10_000), ports: DOWN },
    ]
}

/// Carries `packets` packets to the end.
fn million_packets_per_second(case: &Case, packets: u32) -> f64 {
    let mut channel = Channel::new(case.config.clone(), 1);
    let (mut now, mut outputs) = (Instant::START, 0);
    let begin = clock();
    for (_, &port) in (0..packets).zip(case.ports.iter().cycle()) {
        outputs += serve_timers(&mut channel, now);
        channel.handle_packet(now, port, Datagram);
        now += case.spacing;
    }
    outputs += serve_timers(&mut channel, now + Duration::from_secs(10));
    let span = begin.elapsed();
    assert_eq!(outputs, packets, "every packet is delivered or dropped");
    f64::from(packets) / span.as_secs_f64() / 1e6
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

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn clock() -> std::time::Instant {
    std::time::Instant::now()
}

#[expect(clippy::print_stdout, reason = "the benchmark's result")]
fn report(line: &str) {
    println!("{line}");
}
