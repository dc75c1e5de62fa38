//! How well the emulator keeps time at 100 Mbit/s: `lateness [SECONDS [KEY=VALUE…]]`, e.g. `lateness 8 wan.delay=40ms`.
//!
//! Each load runs on a fresh testbed whose endpoints run on the same machine: single packets, six TCP downloads, six each
//! way, and UDP at 99 % of the rate. Prints the lateness of all deliveries and the processor time of the link's thread and
//! of the whole process (endpoints included).
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use farhop_emu::{EmulationRecord, Host, Recording, Testbed};
use farhop_scenario::{Scenario, ScenarioError};
use farhop_units::{Bytes, Rate};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let span = Duration::from_secs(arguments.first().map_or(Ok(8), |text| text.parse())?);
    let scenario = scenario(arguments.get(1..).unwrap_or_default())?;
    println!(
        "{:<22} {:>9} {:>9} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8}",
        "load", "packets", "p50/us", "p99/us", "max/us", "drops", "Mbit/s", "link cpu", "all cpu"
    );
    run("idle: 200 packets/s", &scenario, span, single_packets)?;
    run("6 TCP down", &scenario, span, |bed, end| tcp(bed, end, true, false))?;
    run("6 TCP down, 6 up", &scenario, span, |bed, end| tcp(bed, end, true, true))?;
    run("UDP at 99 %, down", &scenario, span, |bed, end| udp(bed, end, 0.99))?;
    run("UDP blast, down", &scenario, span, |bed, end| udp(bed, end, 20.0))?;
    Ok(())
}

fn run(
    name: &str,
    scenario: &Scenario,
    span: Duration,
    load: impl FnOnce(&Testbed, Instant) -> u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let bed = Testbed::start_with(scenario, Recording::Packets)?;
    let start_time = started.elapsed();
    let (cpu, started) = (cpu_seconds(), Instant::now());
    let bytes = load(&bed, started + span);
    let wall = started.elapsed().as_secs_f64();
    let (cpu, link_cpu) = ((cpu_seconds() - cpu) / wall, link_thread_seconds()? / wall);
    let stopping = Instant::now();
    let EmulationRecord { quality, dropped, .. } = bed.stop()?;
    let micros = |seconds: f64| seconds * 1e6;
    println!(
        "{name:<22} {:>9} {:>9.1} {:>9.1} {:>9.1} {dropped:>6} {:>8.2} {link_cpu:>8.2} {cpu:>8.2}   start {start_time:.1?} stop {:.1?}",
        quality.packets,
        micros(quality.lateness_p50_s),
        micros(quality.lateness_p99_s),
        micros(quality.lateness_max_s),
        bytes as f64 * 8e-6 / wall,
        stopping.elapsed(),
    );
    Ok(())
}

fn cpu_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("one's own usage can be read");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6
}

/// Processor time of the link's thread so far: fields 14 and 15 of its `stat`, in ticks of 10 ms (proc(5)).
fn link_thread_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("stat"))?;
        if let Some((_, fields)) = stat.split_once("(farhop-link) ") {
            let ticks: u64 = fields.split(' ').skip(11).take(2).map(|field| field.parse().unwrap_or(0)).sum();
            return Ok(ticks as f64 / 100.0);
        }
    }
    Err("the link has no thread".into())
}

/// One small datagram every 5 ms from the server to the client.
fn single_packets(bed: &Testbed, end: Instant) -> u64 {
    let to = (bed.address(Host::Client), 9);
    let sender = bed.host(Host::Server).spawn("sender", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("any port");
        while Instant::now() < end {
            let _ = socket.send_to(&[0; 100], to);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    sender.join().expect("the sender lives");
    0
}

/// Six connections that carry all they can from server to client and, if asked, six from client to server.
fn tcp(bed: &Testbed, end: Instant, down: bool, up: bool) -> u64 {
    let mut receivers = Vec::new();
    for (from, to, wanted) in [(Host::Server, Host::Client, down), (Host::Client, Host::Server, up)] {
        for number in (0..6).filter(|_| wanted) {
            let address = (bed.address(to), 8000 + number);
            let (ready, is_ready) = std::sync::mpsc::channel();
            receivers.push(bed.host(to).spawn("receiver", move || {
                let listener = TcpListener::bind(address).expect("a free port");
                ready.send(()).expect("the test waits");
                receive(&mut listener.accept().expect("a connection").0)
            }));
            is_ready.recv().expect("the receiver lives");
            bed.host(from).spawn("sender", move || {
                let mut stream = TcpStream::connect(address).expect("a listener");
                let block = vec![0; 65536];
                while Instant::now() < end && stream.write(&block).is_ok() {}
            });
        }
    }
    receivers.into_iter().map(|receiver| receiver.join().expect("the receiver lives")).sum()
}

fn receive(stream: &mut TcpStream) -> u64 {
    let mut block = vec![0; 65536];
    let mut total = 0;
    while let Ok(length @ 1..) = stream.read(&mut block) {
        total += length as u64;
    }
    total
}

/// Full datagrams at a multiple of the link's rate.
fn udp(bed: &Testbed, end: Instant, load: f64) -> u64 {
    let to = (bed.address(Host::Client), 9);
    let interval = RATE.transmission_time(Bytes::new(1500)).div_f64(load);
    let sender = bed.host(Host::Server).spawn("sender", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("any port");
        let mut due = Instant::now();
        let mut sent = 0;
        while due < end {
            let now = Instant::now();
            if now < due {
                std::thread::sleep(due - now);
            }
            due = due.max(now - Duration::from_millis(10)) + interval;
            sent += u64::from(socket.send_to(&[0; 1472], to).is_ok()) * 1500;
        }
        sent
    });
    sender.join().expect("the sender lives")
}

const RATE: Rate = Rate::mbps(100);

/// 100 Mbit/s and 50 ms each way, a queue of 2.5 MB.
fn scenario(assignments: &[String]) -> Result<Scenario, ScenarioError> {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"2.5 MB\"\n";
    let text = format!("version = 1\n[link.down]\n{link}[link.up]\n{link}[page]\nobjects = 1\nsize = \"5 kB\"\n");
    farhop_scenario::parse("lateness", &text, assignments)
}
