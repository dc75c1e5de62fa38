//! One flow without loss, against ns-3.
//!
//! Source of the expected times (`tests/data`): ns-3, optimised build, one TCP NewReno flow of 1 MiB, initial window 1, delayed ACK
//! 2 / 200 ms with the first segment acknowledged at once, no SACK, MSS 1448, 52 bytes of headers, the opener sends, queues that
//! never drop: the setting of Fig 5 of Obata et al. 2001. The time runs from the first data segment sent to the last byte received.

use crate::network::{End, Network, Pipe};
use farhop_tcp::{FirstAck, Profile, TcpConfig};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

const RUNS: &str = include_str!("../data/ns3-one-flow.csv");

/// One line of the file.
struct Run {
    data: Pipe,
    acks: Pipe,
    window: Bytes,
    size: Bytes,
    seconds: f64,
    segments: u32,
}

/// Columns: label, rates, delays, window, MSS, initial window, SACK, timestamps, size, times, throughputs, counts.
fn runs() -> Vec<Run> {
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let whole = |index: usize| fields[index].parse::<u64>().expect("a count");
        let real = |index: usize| fields[index].parse::<f64>().expect("a number");
        let pipe = |rate: usize, delay: usize| Pipe {
            rate: Rate::from_bits_per_second(whole(rate)),
            delay: Duration::from_secs_f64(real(delay)),
            ..Pipe::default()
        };
        Run {
            data: pipe(1, 3),
            acks: pipe(2, 4),
            window: Bytes::new(whole(5)),
            size: Bytes::new(whole(10)),
            seconds: real(11),
            segments: u32::try_from(whole(15)).expect("few"),
        }
    };
    RUNS.lines().skip(1).map(parse).collect()
}

fn transfer(run: &Run) -> (f64, u32) {
    let config = TcpConfig {
        initial_window: 1,
        max_window: Some(run.window),
        first_ack: FirstAck::Immediate,
        sack: false,
        ..TcpConfig::of(Profile::Rfc)
    };
    let mut network = Network::new(&config, [run.data.clone(), run.acks.clone()], 0);
    network.run_until(|network| network.seen(End::Client).connected.is_some());
    network.write(End::Client, run.size);
    assert!(network.run_until(|network| network.seen(End::Server).received == run.size));
    let start = network.seen(End::Client).first_data_sent.expect("data was sent");
    (network.now.since(start).as_secs_f64(), network.seen(End::Client).data_segments_sent)
}

#[test]
fn a_transfer_takes_as_long_as_in_ns3() {
    let runs = runs();
    assert_eq!(runs.len(), 28);
    let error = |run: &Run| {
        let (seconds, segments) = transfer(run);
        let error = (seconds / run.seconds - 1.0) * 100.0;
        let Run { acks, window, seconds: expected, .. } = run;
        println!("{:?} back, window {window}: {seconds:.3} s, ns-3 {expected:.3} s, {error:+.4} %", acks.delay);
        assert_eq!(segments, run.segments);
        error.abs()
    };
    let errors: Vec<f64> = runs.iter().map(error).collect();
    let mean = errors.iter().sum::<f64>() / 28.0;
    let most = errors.iter().copied().fold(0.0, f64::max);
    println!("28 runs: mean {mean:.4} %, most {most:.4} %");
    assert!(mean <= 0.1 && most <= 0.6, "mean {mean} %, most {most} %");
}
