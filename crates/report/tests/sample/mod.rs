//! Made-up but plausible results of comparing a page of 28 objects over a geostationary link, for tests and the example.
//!
//! Times follow from round trips and slow start in the roughest way; no number here was measured.

use farhop_results::{
    Architecture, CacheState, EmulationQuality, Gap, LinkSample, Load, Manifest, ObjectTiming, Results, Row, Source,
    TransferPrediction,
};

/// One way, s.
const DELAY: f64 = 0.25;
/// The link's rate, bit/s.
const RATE: f64 = 100e6;
/// The physical limit, s.
const LIMIT: f64 = 0.654;
/// Name and size of each object.
const OBJECTS: [(&str, u64); 28] = [
    ("index.html", 28_000),
    ("i6.png", 91_277),
    ("i12.png", 127_721),
    ("i3.jpg", 179_601),
    ("i7.png", 105_480),
    ("i3.gif", 1911),
    ("i2.jpg", 207_867),
    ("i4.gif", 2165),
    ("i5.png", 34_795),
    ("i2.png", 41_806),
    ("i7.gif", 9307),
    ("i0.gif", 5546),
    ("i5.gif", 3897),
    ("i0.jpg", 70_359),
    ("i6.gif", 3617),
    ("i1.jpg", 89_344),
    ("i3.png", 66_107),
    ("i10.png", 150_759),
    ("i9.gif", 4099),
    ("i1.gif", 9823),
    ("i8.png", 47_785),
    ("i1.png", 104_589),
    ("i8.gif", 16_653),
    ("i9.png", 31_619),
    ("i2.gif", 8338),
    ("i0.png", 36_801),
    ("i11.png", 138_188),
    ("i4.png", 231_831),
];

/// Everything that `farhop compare` would give: all three sources, gaps, notes, loads.
pub(crate) fn results() -> Results {
    let mut results = Results {
        scenario: "demo".to_owned(),
        title: "28 objects, 1.85 MB, over a geostationary link: 250 ms each way, 100 Mbit/s".to_owned(),
        limit_s: LIMIT,
        rows: Vec::new(),
        gaps: gaps(),
        loads: Vec::new(),
        distributions: Vec::new(),
        differences: Vec::new(),
        transfer: Some(TransferPrediction {
            tcp_throughput_bit_s: Some(3.2e6),
            saturation_window_segments: Some(4168.7),
        }),
        simulation: None,
        ranking: Vec::new(),
        grid: None,
        series: None,
        manifest: manifest(),
    };
    add(&mut results, Architecture::Direct, Source::Simulated, CacheState::Cold, 1, direct);
    add(&mut results, Architecture::Direct, Source::Measured, CacheState::Cold, 3, direct);
    add(&mut results, Architecture::Tunnel, Source::Measured, CacheState::Cold, 3, tunnel);
    add(&mut results, Architecture::Accelerated, Source::Measured, CacheState::Cold, 3, accelerated);
    add(&mut results, Architecture::Accelerated, Source::Measured, CacheState::Warm, 3, |run| accelerated(run + 5));
    results
}

/// A predicted row, as for a single HTTP/1.1 connection.
pub(crate) fn predicted(method: &str, page_load_s: f64, note: &str) -> Row {
    Row {
        architecture: Architecture::Direct,
        source: Source::Predicted,
        method: method.to_owned(),
        state: CacheState::Cold,
        runs: 1,
        page_load_s,
        page_load_min_s: page_load_s,
        page_load_max_s: page_load_s,
        mean_s: None,
        mean_error_s: None,
        first_byte_s: None,
        goodput_bit_s: 1e6,
        limit_s: LIMIT,
        note: Some(note.to_owned()),
        breakdown: Vec::new(),
        users: None,
        log: None,
    }
}

fn gaps() -> Vec<Gap> {
    let gap = |architecture, source, reason: &str| Gap { architecture, source, reason: reason.to_owned() };
    vec![
        gap(Architecture::Direct, Source::Predicted, "no published formula for 6 parallel connections, only for one"),
        gap(
            Architecture::Tunnel,
            Source::Predicted,
            "no published formula describes requests multiplexed over one QUIC connection",
        ),
        gap(Architecture::Accelerated, Source::Predicted, "no published formula describes announce, hold and push"),
        gap(Architecture::Tunnel, Source::Simulated, "the simulator has no QUIC tunnel yet"),
        gap(Architecture::Accelerated, Source::Simulated, "the simulator has no accelerator yet"),
    ]
}

fn manifest() -> Manifest {
    Manifest {
        version: "0.1.0".to_owned(),
        command: ["farhop", "compare", "demo"].map(str::to_owned).to_vec(),
        seed: 1,
        host: "testbed".to_owned(),
        kernel: "6.18.5".to_owned(),
        tcp: [("net.ipv4.tcp_congestion_control", "cubic"), ("net.ipv4.tcp_rmem", "4096 131072 33554432")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        emulation: Some(EmulationQuality {
            packets: 31_402,
            lateness_p50_s: 42e-6,
            lateness_p99_s: 284e-6,
            lateness_max_s: 1.9e-3,
            bound_s: 500e-6,
        }),
        resolved: "version = 1\n\n[link.down]\nrate = \"100 Mbit/s\"\ndelay = \"250 ms\"\nqueue = \"2.5 MB\"\n"
            .to_owned(),
    }
}

/// Adds `runs` loads and their row.
fn add(
    results: &mut Results,
    architecture: Architecture,
    source: Source,
    state: CacheState,
    runs: u32,
    objects: impl Fn(u32) -> Vec<ObjectTiming>,
) {
    let loads = (0..runs).map(|run| load(architecture, source, state, run, objects(run))).collect::<Vec<_>>();
    let mut times: Vec<f64> = loads.iter().map(|load| load.page_load_s).collect();
    times.sort_by(f64::total_cmp);
    let page_load_s = times[times.len() / 2];
    results.rows.push(Row {
        architecture,
        source,
        method: if source == Source::Measured { "farhop" } else { "linux" }.to_owned(),
        state,
        runs,
        page_load_s,
        page_load_min_s: times[0],
        page_load_max_s: times[times.len() - 1],
        mean_s: None,
        mean_error_s: None,
        first_byte_s: Some(loads[0].first_byte_s),
        goodput_bit_s: 1_849_285.0 * 8.0 / page_load_s,
        limit_s: LIMIT,
        note: None,
        breakdown: Vec::new(),
        users: None,
        log: None,
    });
    results.loads.extend(loads);
}

fn load(architecture: Architecture, source: Source, state: CacheState, run: u32, objects: Vec<ObjectTiming>) -> Load {
    let page_load_s = objects.iter().map(|object| object.end_s).fold(0.0, f64::max);
    Load {
        architecture,
        source,
        state,
        run,
        page_load_s,
        first_byte_s: objects[0].first_byte_s,
        link: samples(&objects, page_load_s),
        objects,
        needs: None,
    }
}

fn object(
    index: usize,
    connection: u32,
    discovered_s: f64,
    connect_s: Option<f64>,
    request_s: f64,
    times: (f64, f64),
) -> ObjectTiming {
    let (name, bytes) = OBJECTS[index];
    ObjectTiming {
        name: name.to_owned(),
        bytes,
        connection,
        discovered_s,
        connect_s,
        request_s,
        first_byte_s: times.0,
        end_s: times.1,
        sha256: None,
    }
}

/// Six connections, each with its own slow start.
fn direct(run: u32) -> Vec<ObjectTiming> {
    let jitter = f64::from(run) * 0.013;
    let html_end = 4.0 * DELAY + jitter + 2.0 * DELAY;
    let mut free: [(f64, f64); 6] = [(html_end, 20_000.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let mut objects = vec![object(0, 0, 0.0, Some(0.0), 2.0 * DELAY, (4.0 * DELAY, html_end))];
    for (index, (_, bytes)) in OBJECTS.iter().enumerate().skip(1) {
        let discovered = if index < 14 { 4.0 * DELAY + 0.001 } else { html_end };
        let connection = (0..6).min_by(|a, b| free[*a].0.total_cmp(&free[*b].0)).unwrap_or(0);
        let (idle, window) = free[connection];
        let connect = (window < 1.0).then_some(discovered);
        let request = connect.map_or(idle.max(discovered), |start| start + 2.0 * DELAY);
        let first_byte = request + 2.0 * DELAY + 0.004 * connection as f64;
        let (end, grown) = slow_start(first_byte, *bytes as f64, window.max(14_480.0));
        free[connection] = (end, grown);
        let number = u32::try_from(connection).unwrap_or(0);
        objects.push(object(index, number, discovered, connect, request, (first_byte, end)));
    }
    objects
}

/// End of a transfer and the window after it.
fn slow_start(first_byte: f64, bytes: f64, mut window: f64) -> (f64, f64) {
    let (mut rest, mut now) = (bytes, first_byte);
    while rest > window {
        rest -= window;
        window *= 2.0;
        now += 2.0 * DELAY;
    }
    (now + rest * 8.0 / RATE, window)
}

/// No handshakes over the link and no slow start, but a request per object.
fn tunnel(run: u32) -> Vec<ObjectTiming> {
    let mut free = [0.0_f64; 6];
    (0..OBJECTS.len())
        .map(|index| {
            let discovered = if index == 0 { 0.0 } else { 2.0 * DELAY + 0.01 };
            let connection = (0..6).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let connect = (free[connection] < 1e-9).then_some(discovered);
            let request = free[connection].max(discovered) + 0.001;
            let first_byte = request + 2.0 * DELAY + 0.002;
            let end = first_byte + OBJECTS[index].1 as f64 * 8.0 / RATE * 2.0 + f64::from(run) * 0.002;
            free[connection] = end;
            object(index, u32::try_from(connection).unwrap_or(0), discovered, connect, request, (first_byte, end))
        })
        .collect()
}

/// Everything pushed, one after the other.
fn accelerated(run: u32) -> Vec<ObjectTiming> {
    let mut arrived = 2.0 * DELAY + 0.02 + f64::from(run) * 0.004;
    (0..OBJECTS.len())
        .map(|index| {
            let connection = u32::try_from(index % 6).unwrap_or(0);
            let discovered = if index == 0 { 0.0 } else { 2.0 * DELAY + 0.024 };
            let connect = (index < 7 && index != 1).then_some(discovered);
            // Held by the terminal from here on.
            let request = discovered + 0.001 * f64::from(connection + 1);
            let first_byte = arrived.max(request);
            arrived = first_byte + OBJECTS[index].1 as f64 * 8.0 / RATE * 1.05;
            object(index, connection, discovered, connect, request, (first_byte, arrived))
        })
        .collect()
}

/// Bytes received, spread over intervals.
fn samples(objects: &[ObjectTiming], page_load_s: f64) -> Vec<LinkSample> {
    let span_s = if page_load_s > 2.0 { 0.05 } else { 0.01 };
    (0_u16..)
        .map(|n| f64::from(n) * span_s)
        .take_while(|start| *start < page_load_s)
        .map(|start_s| {
            let share = |object: &ObjectTiming| {
                let overlap = object.end_s.min(start_s + span_s) - object.first_byte_s.max(start_s);
                object.bytes as f64 * 8.0 * (overlap.max(0.0) / (object.end_s - object.first_byte_s).max(1e-9))
            };
            let down_bit_s = (objects.iter().map(share).sum::<f64>() / span_s).min(RATE);
            let asked = objects.iter().filter(|o| (start_s..start_s + span_s).contains(&o.request_s)).count();
            LinkSample {
                start_s,
                span_s,
                down_bit_s,
                up_bit_s: asked as f64 * 402.0 * 8.0 / span_s + down_bit_s / 60.0,
            }
        })
        .collect()
}
