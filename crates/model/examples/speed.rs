//! How many evaluations per second each formula gives on one core, and how often it allocates.
//!
//! `cargo run --release -p farhop-model --example speed [EVALUATIONS]`. Every evaluation has parameters of its own, so that nothing
//! can be taken from the one before. Each formula runs five times; the median is printed, the slowest and the fastest beside it.

mod processor;

use farhop_model::cardwell_2000::{DELAYED_ACK, eq25_transfer_time};
use farhop_model::lantern::{self, Node};
use farhop_model::mathis_1997::{self, Acks, Losses};
use farhop_model::mended::{self, Mends};
use farhop_model::obata_2001::{self, Readings};
use farhop_model::obata_2002::{self, P_CONNECT};
use farhop_model::padhye_1998::{self, Flow};
use farhop_model::prefetch_2013::{self, Access, MSS, Paced, Proposed, Rounds, Stages, Window};
use farhop_model::zhou_2004::{ReverseTraffic, table1_reverse_traffic};
use farhop_model::{Path, Segments, Symbols, WindowReading};
use farhop_units::{Bytes, Probability, Rate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RUNS: usize = 5;

/// A formula for the n-th set of parameters.
type Formula = Box<dyn Fn(u32)>;

fn main() {
    let evaluations = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse());
    let Ok(evaluations) = evaluations else {
        report("usage: speed [EVALUATIONS]");
        std::process::exit(2);
    };
    report(&format!("{evaluations} evaluations, {RUNS} runs: median (slowest-fastest) in million/s, allocations"));
    let formulas = [published(), mended(), well_known()].into_iter().flatten();
    for (name, formula) in formulas {
        let mut runs: Vec<(f64, usize)> = (0..RUNS).map(|_| run(&formula, evaluations)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (speed, allocations) = runs[RUNS / 2];
        report(&format!("{name:44} {speed:7.2} ({:.2}-{:.2})  {allocations}", runs[0].0, runs[RUNS - 1].0));
    }
}

/// Million evaluations per second on a processor, and allocations.
fn run(formula: &Formula, evaluations: u32) -> (f64, usize) {
    let start = processor::seconds();
    let allocated = Region::new(ALLOCATOR);
    for n in 0..evaluations {
        formula(black_box(n));
    }
    let allocations = allocated.change().allocations;
    (processor::rate(evaluations, start) / 1e6, allocations)
}

/// A path with 25 to 524 ms up and a window of 4 to 67 KiB.
fn path(n: u32) -> Path {
    Path::new(Symbols {
        down_rate: Some(Rate::kbps(2048)),
        up_rate: Some(Rate::kbps(64)),
        down_delay: Duration::from_millis(250),
        up_delay: Duration::from_millis(25 + u64::from(n % 500)),
        mss: Bytes::new(1448),
        headers: Bytes::new(52),
        ack: Bytes::new(52),
        max_window: Some(Bytes::kib(4 + u64::from(n % 64))),
        window: WindowReading::Real,
    })
    .expect("the window holds a segment")
}

fn file(n: u32) -> Bytes {
    Bytes::new((1 << 20) + u64::from(n))
}

/// Ten data sets.
fn page(n: u32) -> impl Iterator<Item = Bytes> + Clone {
    std::iter::repeat_n(Bytes::new(5000 + u64::from(n % 5000)), 10)
}

fn named(name: &str, formula: impl Fn(u32) + 'static) -> (String, Formula) {
    (name.to_owned(), Box::new(formula))
}

fn published() -> Vec<(String, Formula)> {
    let window = Window::new(MSS, None, Some(Bytes::kb(64))).expect("the window holds a segment");
    let rounds = Rounds::Counted(window);
    let rtt = |n: u32| Duration::from_millis(100 + u64::from(n % 900));
    let connections = NonZeroU32::new(4).expect("not zero");
    vec![
        named("obata-2001 Eq 10, 1 MiB", |n| {
            let _ = black_box(obata_2001::transfer_time(&path(n), file(n), &Readings::default()));
        }),
        named("obata-2001 Eq 12, 10 kB", |n| {
            let _ = black_box(obata_2001::transfer_time(&path(n), Bytes::new(10_000), &Readings::default()));
        }),
        named("obata-2001 Eq 13", |n| {
            let _ = black_box(obata_2001::eq13_saturation_window(&path(n)));
        }),
        named("obata-2002 Eq 8, 1 MiB", |n| {
            let _ = black_box(obata_2002::eq8_transmit_time(&path(n), file(n)));
        }),
        named("obata-2002 Eq 13, 10 data sets", |n| {
            let _ = black_box(obata_2002::eq13_http11_revised(&path(n), page(n), P_CONNECT));
        }),
        named("obata-2002 Eq 15, 10 data sets", |n| {
            let _ = black_box(obata_2002::eq15_http11_pipelined(&path(n), page(n), P_CONNECT));
        }),
        named("prefetch-2013 Eq 5, 10 contents", move |n| {
            let access = Access { rtt: rtt(n), rate: Some(Rate::mbps(100)), rounds };
            let _ = black_box(prefetch_2013::eq5_load_time(&access, page(n), connections));
        }),
        named("prefetch-2013 Eq 9, 10 contents", move |n| {
            let proposed = Proposed {
                server_rtt: Duration::ZERO,
                wan_delay: rtt(n) / 2,
                client_rtt: Duration::ZERO,
                rtt: rtt(n),
                udp: Paced::PAPER,
                rounds,
                stages: Stages::default(),
            };
            let _ = black_box(prefetch_2013::eq9_proposed(&proposed, page(n)));
        }),
        named("zhou-2004 Table I", |n| {
            let packets_per_ack = NonZeroU32::new(1 + n % 16).expect("not zero");
            let _ = black_box(table1_reverse_traffic(&ReverseTraffic::TABLE_1, packets_per_ack));
        }),
    ]
}

fn mended() -> Vec<(String, Formula)> {
    let of = |mends| {
        move |n| {
            let _ = black_box(mended::obata_2001::transfer_time(&path(n), file(n), &Readings::default(), mends));
        }
    };
    let terms = Mends { whole_segments: true, headers: true, no_jump: true, ..Mends::NONE };
    vec![
        named("mended Eq 10, terms only, 1 MiB", of(terms)),
        named("mended Eq 10, all, 1 MiB", of(Mends::ALL)),
        named("mended Eq 10, all, 1 TB", |n| {
            let terabyte = Bytes::new(1_000_000_000_000);
            let _ = black_box(mended::obata_2001::transfer_time(&path(n), terabyte, &Readings::default(), Mends::ALL));
        }),
    ]
}

fn well_known() -> Vec<(String, Formula)> {
    let flow = |n: u32| Flow {
        rtt: Duration::from_millis(500),
        timeout: Duration::from_secs(1),
        loss: Probability::new(1e-4 + f64::from(n % 1000) * 1e-5).expect("from 0 to 1"),
        per_ack: NonZeroU32::new(2).expect("not zero"),
        max_window: Some(Segments::new(45.0)),
        mss: Bytes::new(1448),
    };
    let network = lantern::Network {
        rtt: Duration::from_millis(500),
        rate: Some(Rate::mbps(100)),
        connections: 6,
        tls_round_trips: 0,
        persistent: true,
    };
    vec![
        named("Cardwell 2000 Eq 25, 1 MiB", move |n| {
            let _ = black_box(eq25_transfer_time(&flow(n), file(n), Segments::ONE, DELAYED_ACK));
        }),
        named("Padhye 1998, full model", move |n| {
            let _ = black_box(padhye_1998::send_rate(&flow(n)));
        }),
        named("Mathis 1997", move |n| {
            let (loss, rtt) = (flow(n).loss, flow(n).rtt);
            let _ = black_box(mathis_1997::throughput(MSS, rtt, loss, Losses::Periodic, Acks::Delayed));
        }),
        named("Lantern, 28 objects", move |n| {
            let node = |i: usize| {
                let size = Bytes::new(2000 * i as u64 + u64::from(n % 1000));
                Node { size, needs: (i > 0).then_some(0) }
            };
            let page: [Node; 28] = std::array::from_fn(node);
            let _ = black_box(lantern::load_time(&network, &page));
        }),
    ]
}

#[expect(clippy::print_stdout, reason = "an example reports to people")]
fn report(line: &str) {
    println!("{line}");
}
