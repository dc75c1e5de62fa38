//! The recursion against ns-3: one flow without loss, in the setting of obata-2001's Fig 5.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use farhop_model::recursion::{Control, Delays, HopParameters, Http, Parameters, Recursion, Tls, Workload};
use farhop_scenario::{Congestion, FirstAck, Profile, TcpConfig};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

const RUNS: &str = include_str!("../../tcp/tests/data/ns3-one-flow.csv");

/// One line: rates in bit/s, delays in s, receive window and size in bytes, time of the data in s.
struct Run {
    rates: [u64; 2],
    delays: [f64; 2],
    window: u64,
    bytes: u64,
    time: f64,
}

fn runs() -> Vec<Run> {
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let whole = |index: usize| fields[index].parse::<u64>().unwrap();
        let real = |index: usize| fields[index].parse::<f64>().unwrap();
        Run {
            rates: [whole(1), whole(2)],
            delays: [real(3), real(4)],
            window: whole(5),
            bytes: whole(10),
            time: real(11),
        }
    };
    RUNS.lines().skip(1).map(parse).collect()
}

fn parameters(run: &Run) -> Parameters {
    let hops = |index: usize| {
        let rate = Rate::from_bits_per_second(run.rates[index]);
        let delay = Duration::from_secs_f64(run.delays[index]);
        [HopParameters { rate, delay, ..HopParameters::default() }, HopParameters::default(), HopParameters::default()]
    };
    let tcp = TcpConfig {
        congestion: Congestion::NewReno,
        initial_window: 1,
        max_window: Some(Bytes::new(run.window)),
        first_ack: FirstAck::Immediate,
        ..TcpConfig::of(Profile::Rfc)
    };
    Parameters {
        down: hops(0),
        up: hops(1),
        tcp,
        control: Control::Tcp,
        flow: None,
        is_established: true,
        carriers: 0,
        tls: Tls::None,
        tls_record: Bytes::ZERO,
        http: Http::Http11,
        connections: 1,
        persistence: None,
        request_bytes: Bytes::new(1),
        response_header_bytes: Bytes::ZERO,
        outstanding: 1,
        delays: Delays::default(),
        is_relayed: false,
        is_read_late: false,
        is_direct: true,
        pushed: 0,
        pushed_rate: None,
        fetches: 1,
        fetches_ahead: false,
        asks_ahead: false,
        opens_first: true,
        lookup: Duration::ZERO,
        is_unasked: true,
        near: None,
    }
}

#[test]
fn a_transfer_takes_as_long_as_in_ns3() {
    let mut recursion = Recursion::new();
    let (mut sum, mut most) = (0.0, 0.0_f64);
    let runs = runs();
    for run in &runs {
        let load = recursion.load(&parameters(run), &Workload::file(Bytes::new(run.bytes))).unwrap();
        let error = load.last_byte.as_secs_f64() / run.time - 1.0;
        println!(
            "window {}, return delay {} s: {:?} instead of {} s: {:+.4} %",
            run.window,
            run.delays[1],
            load.last_byte,
            run.time,
            error * 100.0
        );
        sum += error.abs();
        most = most.max(error.abs());
    }
    let mean = sum / 28.0;
    println!("mean {:.4} %, most {:.4} %", mean * 100.0, most * 100.0);
    assert_eq!(runs.len(), 28);
    assert!(mean <= 0.002 && most <= 0.01, "mean {mean}, most {most}");
}
