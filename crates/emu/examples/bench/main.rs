//! How well the emulator keeps time and what it costs: `bench [SECONDS [PART…]]`, e.g. `bench 5 lateness tcp`.
//!
//! The endpoints of all traffic run on the same machine as the emulator. Every row is a fresh testbed; the limits are those
//! that a release has to keep on two processors with nothing else to do, so the load average is printed, too.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod cost;
mod load;

use farhop_emu::{EmulationRecord, Host, Options, Recording, Testbed};
use farhop_units::{Bytes, Rate, duration};
use load::Way;
use std::error::Error;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

/// A part of the benchmark and its name.
type Part = (&'static str, fn(Duration) -> Outcome);

const PARTS: [Part; 7] = [
    ("rtt", rtt),
    ("lateness", lateness),
    ("udp", udp),
    ("tcp", tcp),
    ("offload", offload),
    ("memory", memory),
    ("terminals", terminals),
];

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let span = Duration::from_secs(arguments.first().map_or(Ok(5), |text| text.parse())?);
    let processors = std::thread::available_parallelism()?;
    println!("{processors} processors, load average {} before", cost::load_average());
    for (name, part) in PARTS {
        if arguments.len() < 2 || arguments[1..].iter().any(|wanted| wanted == name) {
            println!();
            part(span)?;
        }
    }
    println!("\nload average {} after", cost::load_average());
    Ok(())
}

/// A testbed with the same `rate` and `delay` both ways, without a log.
fn testbed(rate: &str, delay: &str, more: &[&str], offload: bool) -> Result<Testbed, Box<dyn Error>> {
    let queue = if rate == "unlimited" { "" } else { "queue = \"2.5 MB\"\n" };
    let link = format!("rate = \"{rate}\"\ndelay = \"{delay}\"\n{queue}");
    let text = format!("version = 1\n[link.down]\n{link}[link.up]\n{link}[page]\nobjects = 1\nsize = \"5 kB\"\n");
    let assignments: Vec<String> = more.iter().map(ToString::to_string).collect();
    let scenario = farhop_scenario::parse("bench", &text, &assignments)?;
    let options = Options { recording: Recording::Totals, offload, ..Options::default() };
    Ok(Testbed::start_with(&scenario, &options)?)
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// Round trips between client and server: what they take more than the link's two delays.
fn rtt(span: Duration) -> Outcome {
    println!("round trip, median (p99) above the set value in us (limit 200 us)");
    println!("{:>8} {:>15} {:>15} {:>22}", "set", "ping", "program", "beside 100 Mbit/s");
    for delay in ["0 ms", "50 ms", "250 ms"] {
        let set = duration::parse(delay)? * 2;
        let above = |prober, beside| round_trips(delay, set, span, prober, beside);
        println!(
            "{:>8} {:>15} {:>15} {:>22}",
            duration::format(set),
            above(Prober::Kernel, None)?,
            above(Prober::Program, None)?,
            above(Prober::Program, Some(Rate::mbps(100)))?
        );
    }
    Ok(())
}

/// Who answers at the server.
#[derive(Debug, Clone, Copy)]
enum Prober {
    /// Its kernel, at once.
    Kernel,
    /// A program, which has to be woken.
    Program,
}

/// How long after an answer the next is asked for.
const PAUSE: Duration = Duration::from_millis(3);

/// Median and p99 of round trips above `set`, alone or beside a stream of full datagrams.
fn round_trips(
    delay: &str,
    set: Duration,
    span: Duration,
    prober: Prober,
    beside: Option<Rate>,
) -> Result<String, Box<dyn Error>> {
    let bed = testbed("unlimited", delay, &[], false)?;
    let end = Instant::now() + span.max(set * 20);
    let client = match prober {
        Prober::Kernel => load::pings(&bed, PAUSE, end),
        Prober::Program => load::round_trips(bed.host(Host::Client), load::echo(&bed), PAUSE, end),
    };
    if let Some(rate) = beside {
        load::udp(&bed, rate, FULL, end);
    }
    let mut all = client.join().expect("the client lives");
    all.sort_unstable();
    bed.stop()?;
    let at = |place: usize| all.get(place).map_or(Duration::ZERO, |rtt| rtt.saturating_sub(set));
    Ok(format!("{:.1} ({:.1})", micros(at(all.len() / 2)), micros(at(all.len() * 99 / 100))))
}

const FULL: Bytes = Bytes::new(1500);

/// How late packets are at 100 Mbit/s.
fn lateness(span: Duration) -> Outcome {
    println!("lateness at 100 Mbit/s, 50 ms each way (limit: p99 500 us)");
    println!(
        "{:<22} {:>9} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8}",
        "", "packets", "p50/us", "p99/us", "max/us", "drops", "Mbit/s", "cpu"
    );
    let row = |name: &str, load: &dyn Fn(&Testbed, Instant) -> u64| -> Outcome {
        let bed = testbed("100 Mbit/s", "50 ms", &[], false)?;
        let (cpu, started) = (cost::cpu(), Instant::now());
        let bytes = load(&bed, started + span);
        let wall = started.elapsed().as_secs_f64();
        let cpu = (cost::cpu() - cpu).as_secs_f64() / wall;
        let EmulationRecord { quality, dropped, .. } = bed.stop()?;
        let late = [quality.lateness_p50_s, quality.lateness_p99_s, quality.lateness_max_s].map(|late| late * 1e6);
        let rate = bytes as f64 * 8e-6 / span.as_secs_f64();
        let packets = quality.packets;
        println!(
            "{name:<22} {packets:>9} {:>8.1} {:>8.1} {:>8.1} {dropped:>6} {rate:>8.2} {cpu:>8.2}",
            late[0], late[1], late[2]
        );
        Ok(())
    };
    let six = |bed: &Testbed, ways: &[Way], end| {
        load::sum(ways.iter().flat_map(|way| load::tcp(bed, *way, 6, end)).collect())
    };
    row("200 datagrams/s", &|bed, end| load::udp(bed, Rate::kbps(160), Bytes::new(100), end).received * 100)?;
    row("6 TCP down", &|bed, end| six(bed, &[Way::Down], end))?;
    row("6 TCP up", &|bed, end| six(bed, &[Way::Up], end))?;
    row("6 TCP down, 6 up", &|bed, end| six(bed, &[Way::Down, Way::Up], end))?;
    row("UDP at 99 %", &|bed, end| load::udp(bed, Rate::mbps(99), FULL, end).received * FULL.get())
}

/// Datagrams at 99 % of the rate arrive at that rate, all of them.
fn udp(span: Duration) -> Outcome {
    println!(
        "UDP at 99 % of the set rate (limit: no loss, 99 % received); a run whose sender did not get there is repeated"
    );
    println!("{:>12} {:>9} {:>9} {:>9} {:>9} {:>6}", "rate", "sent", "of rate", "received", "of rate", "drops");
    for (rate, size, span) in
        [(Rate::kbps(10), Bytes::new(100), span.max(Duration::from_secs(8))), (Rate::mbps(500), FULL, span)]
    {
        for _ in 0..MOST_RUNS {
            if udp_run(rate, size, span)? >= SENDERS_SHARE {
                break;
            }
        }
    }
    Ok(())
}

/// How often a measurement is tried whose sender is held up by others.
const MOST_RUNS: u32 = 5;
/// Share of the rate that a sender must come to: 99 % but for what rounding shows.
const SENDERS_SHARE: f64 = 0.9895;

/// One run; which share of the rate was sent.
fn udp_run(rate: Rate, size: Bytes, span: Duration) -> Result<f64, Box<dyn Error>> {
    let bed = testbed(&rate.to_string(), "50 ms", &[], false)?;
    let load = Rate::from_bits_per_second(rate.bits_per_second() / 100 * 99).expect("above zero");
    let seen = load::udp(&bed, load, size, Instant::now() + span);
    let dropped = bed.stop()?.dropped;
    // From the first to the last there is one interval less than there are datagrams. Where in a burst a run ends makes some
    // 0.01 % of it, which is why no more digits are shown.
    let share = |count: u64, span: Duration| {
        (count.saturating_sub(1) * size.get()) as f64 * 8.0 / span.as_secs_f64() / rate.bits_per_second() as f64
    };
    let (offered, achieved) = (share(seen.sent, seen.sending), share(seen.received, seen.receiving));
    println!(
        "{:>12} {:>9} {:>8.1}% {:>9} {:>8.1}% {dropped:>6}",
        rate.to_string(),
        seen.sent,
        offered * 100.0,
        seen.received,
        achieved * 100.0
    );
    Ok(offered)
}

fn tcp(span: Duration) -> Outcome {
    println!("one TCP connection through an unlimited link, packet by packet, MTU 1500 (limit 1.5 Gbit/s)");
    unlimited(span, false)
}

fn offload(span: Duration) -> Outcome {
    println!("the same with segmentation offload (a mode of its own, for links that only delay)");
    unlimited(span, true)
}

fn unlimited(span: Duration, offload: bool) -> Outcome {
    println!("{:>8} {:>8} {:>9} {:>8} {:>8} {:>14}", "delay", "Gbit/s", "packets", "p50/us", "p99/us", "cpu ns/packet");
    for delay in ["0 ms", "10 ms"] {
        let bed = testbed("unlimited", delay, &[], offload)?;
        let cpu = cost::cpu();
        let bytes = load::sum(load::tcp(&bed, Way::Down, 1, Instant::now() + span));
        let cpu = cost::cpu() - cpu;
        let quality = bed.stop()?.quality;
        println!(
            "{delay:>8} {:>8.2} {:>9} {:>8.1} {:>8.1} {:>14.0}",
            bytes as f64 * 8e-9 / span.as_secs_f64(),
            quality.packets,
            quality.lateness_p50_s * 1e6,
            quality.lateness_p99_s * 1e6,
            cpu.as_nanos() as f64 / quality.packets as f64,
        );
    }
    Ok(())
}

/// Memory of packets in flight over a link that is longer than the run.
fn memory(_span: Duration) -> Outcome {
    println!("memory per packet inside the link");
    let bed = testbed("unlimited", "60 s", &[], false)?;
    let before = cost::memory();
    let sent = load::udp(&bed, Rate::mbps(100), FULL, Instant::now() + Duration::from_secs(4)).sent;
    let held = cost::memory().saturating_sub(before);
    bed.stop()?;
    println!("{sent} packets of {FULL}: {held}, {} each", Bytes::new(held.get() / sent.max(1)));
    Ok(())
}

/// 128 terminals on the link of zhou-2004, each with a round trip every 200 ms.
fn terminals(span: Duration) -> Outcome {
    println!("128 terminals at 4 Mbit/s down, 400 kbit/s up, 270 ms each way");
    let started = Instant::now();
    let bed = testbed("4 Mbit/s", "270 ms", &["link.up.rate=400 kbit/s", "access.terminals=128"], false)?;
    let start = started.elapsed();
    let end = Instant::now() + span;
    let echo = load::echo(&bed);
    let clients = (0..bed.terminals()).filter_map(|number| bed.client(number));
    let clients: Vec<_> =
        clients.map(|client| load::round_trips(client, echo, Duration::from_millis(200), end)).collect();
    let counts: Vec<usize> = clients.into_iter().map(|client| client.join().expect("the client lives").len()).collect();
    let stopping = Instant::now();
    let quality = bed.stop()?.quality;
    println!(
        "{} round trips, at least {} each; late p50 {:.1} us, p99 {:.1} us; started in {start:.1?}, stopped in {:.1?}",
        counts.iter().sum::<usize>(),
        counts.iter().min().copied().unwrap_or(0),
        quality.lateness_p50_s * 1e6,
        quality.lateness_p99_s * 1e6,
        stopping.elapsed(),
    );
    Ok(())
}
