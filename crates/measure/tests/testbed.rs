//! Loads over an emulated link. Needs the right to create namespaces; says so when it skips.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::float_cmp,
    reason = "a test fails by panicking and may print"
)]

use farhop_emu::{Host, Testbed};
use farhop_measure::{Origin, crosscheck, measure};
use farhop_results::{Architecture, CacheState};
use farhop_scenario::{LossModel, Scenario};
use farhop_units::Probability;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Leave to use the testbed, one test at a time: what is measured must not share the machine. `None` if it cannot be had; where tests
/// must not be skipped that is a failure.
fn testbed() -> Option<MutexGuard<'static, ()>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if let Err(reason) = farhop_emu::availability() {
        assert!(std::env::var_os("FARHOP_REQUIRE_ROOT_TESTS").is_none_or(|value| value != "1"), "{reason}");
        println!("skipped: {reason}");
        return None;
    }
    // A test that failed has left nothing behind that could disturb the next.
    Some(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A page of 200 kB over 50 ms each way.
fn scenario(more: &str) -> Scenario {
    let text = format!(
        r#"
        version = 1
        [link.down]
        rate = "20 Mbit/s"
        delay = "50 ms"
        [link.up]
        rate = "20 Mbit/s"
        delay = "50 ms"
        [page]
        objects = 10
        size = "20 kB"
        {more}
        "#
    );
    farhop_scenario::parse("test", &text, &[]).unwrap()
}

#[test]
fn direct_loads_take_the_round_trips_they_must() {
    let Some(_turn) = testbed() else { return };
    let scenario = scenario("[run]\narchitectures = [\"direct\", \"split\"]\nruns = 2");
    let mut lines = Vec::new();
    let measured = measure(&scenario, &mut |line| lines.push(line.to_owned())).unwrap();
    let [row] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
    assert_eq!((row.architecture, row.state, row.runs), (Architecture::Direct, CacheState::Cold, 2));
    // A handshake and a request before the first byte, each 100 ms; 20 kB of HTML take two flights, then ten objects come over six
    // connections of their own: at least five round trips in all.
    assert!(row.first_byte_s.unwrap() >= 0.2, "{row:?}");
    assert!(row.page_load_min_s >= 0.5, "{row:?}");
    assert!(row.page_load_min_s <= row.page_load_s && row.page_load_s <= row.page_load_max_s);
    assert_eq!(row.goodput_bit_s, 1_600_000.0 / row.page_load_s);
    let told = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    // On a busy machine runs are repeated.
    assert_eq!(
        told("measuring direct 1/2: 0.") + told("measuring direct 2/2: 0."),
        2 + told("the emulator was "),
        "{lines:?}"
    );
    assert_eq!(measured.gaps.len(), 1, "{:?}", measured.gaps);
    // Where the host may not choose the congestion control itself, its route carries it.
    let chosen = |name: &str, value: &str| match name {
        "route" => value.contains("congctl cubic"),
        _ => name.ends_with("congestion_control") && value == "cubic",
    };
    assert!(measured.tcp.iter().any(|(name, value)| chosen(name, value)), "{:?}", measured.tcp);
    assert_eq!(measured.loads.len(), 2);
    for load in &measured.loads {
        let down: f64 = load.link.iter().map(|sample| sample.down_bit_s * sample.span_s).sum();
        // 200 kB of bodies, 250 B of headers for each, 52 B of TCP/IP headers on each of some 150 packets.
        assert!((1_600_000.0..1_750_000.0).contains(&down), "{down} bits came down");
        assert!(load.objects.iter().all(|object| object.sha256.is_some()));
    }
}

#[test]
fn the_page_is_at_every_address_of_the_server() {
    let Some(_turn) = testbed() else { return };
    let scenario = scenario("");
    let testbed = Testbed::start(&scenario).unwrap();
    let origin = Origin::start(&testbed, &scenario).unwrap();
    let addresses = testbed.addresses(Host::Server);
    let has_ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    assert_eq!(addresses.iter().any(std::net::IpAddr::is_ipv6), has_ipv6);
    // A browser that prefers IPv6, or tries it when an answer is late, must not be refused.
    for address in addresses {
        let family = if address.is_ipv6() { "-6" } else { "-4" };
        let mut curl = testbed.host(Host::Client).command("curl");
        let output = curl.args(["-sS", family, "http://server/index.html"]).output().unwrap();
        assert_eq!(output.stdout.len(), 20_000, "{address}: {}", String::from_utf8_lossy(&output.stderr));
    }
    origin.end().unwrap();
}

#[test]
fn curl_takes_as_long_for_the_same_objects() {
    let Some(_turn) = testbed() else { return };
    let check = crosscheck(&scenario("")).unwrap();
    let ratio = check.farhop.as_secs_f64() / check.curl.as_secs_f64();
    assert!((0.95..1.05).contains(&ratio), "{check:?}");
}

#[test]
fn pipelined_requests_share_one_connection_and_few_round_trips() {
    let Some(_turn) = testbed() else { return };
    let text = "[http]\nversion = \"1.1-pipelined\"\nconnections = 1\n[run]\narchitectures = [\"direct\"]\nruns = 1";
    let measured = measure(&scenario(text), &mut |_| ()).unwrap();
    let load = &measured.loads[0];
    assert!(load.objects.iter().all(|object| object.connection == 0), "{load:?}");
    let mut requests: Vec<f64> = load.objects.iter().map(|object| object.request_s).collect();
    requests.dedup_by(|next, before| *next - *before < 0.05);
    assert!(requests.len() <= 3, "requests go out with the flights of the document: {requests:?}");
    assert!((0.4..0.7).contains(&load.page_load_s), "{}", load.page_load_s);
}

#[test]
fn a_tcp_that_linux_does_not_speak_is_a_gap_and_no_failure() {
    let Some(_turn) = testbed() else { return };
    let text = "[tcp]\nfirst_ack = \"delayed\"\n[run]\narchitectures = [\"direct\"]";
    let measured = measure(&scenario(text), &mut |_| ()).unwrap();
    assert!(measured.rows.is_empty());
    assert!(measured.gaps[0].reason.contains("tcp.first_ack"), "{:?}", measured.gaps);
}

#[test]
fn the_tunnel_saves_handshakes_and_acceleration_saves_the_requests() {
    let Some(_turn) = testbed() else { return };
    let measured = measure(&scenario("[run]\nruns = 1"), &mut |_| ()).unwrap();
    let states: Vec<_> = measured.rows.iter().map(|row| (row.architecture, row.state)).collect();
    let expected = [
        (Architecture::Direct, CacheState::Cold),
        (Architecture::Tunnel, CacheState::Cold),
        (Architecture::Accelerated, CacheState::Cold),
        (Architecture::Accelerated, CacheState::Warm),
    ];
    assert_eq!(states, expected, "the default architectures");
    let [direct, tunnel, cold, warm] = [0, 1, 2, 3].map(|row| measured.rows[row].page_load_s);
    // One way and back for the request, then 200 kB at 20 Mbit/s: nothing is faster than 0.184 s.
    let limit = measured.rows[0].limit_s;
    for accelerated in [cold, warm] {
        assert!(limit < accelerated && accelerated < limit + 0.1, "{accelerated} s, the limit is {limit} s");
    }
    assert!(tunnel < direct - 0.1 && cold < tunnel - 0.1, "{direct} s, {tunnel} s, {cold} s");
    assert!(measured.quality.packets > 600, "{:?}", measured.quality);
    assert_eq!(measured.loads.len(), 4);
}

#[test]
fn http_10_goes_through_the_boxes_as_well() {
    let Some(_turn) = testbed() else { return };
    let text =
        "[http]\nversion = \"1.0\"\nconnections = 1\n[run]\narchitectures = [\"tunnel\", \"accelerated\"]\nruns = 1";
    let measured = measure(&scenario(text), &mut |_| ()).unwrap();
    let [tunnel, cold, _warm] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
    // The terminal answers CONNECT by itself; the request costs a round trip for each of ten objects.
    assert!((1.0..1.25).contains(&tunnel.page_load_s), "{tunnel:?}");
    assert!(cold.page_load_s < cold.limit_s + 0.1, "{cold:?}");
}

#[test]
fn keys_cost_their_round_trips_and_hide_the_page_from_the_boxes() {
    let Some(_turn) = testbed() else { return };
    for (tls, round_trips) in [("1.2", 2.0), ("1.3", 1.0)] {
        let text = format!("[http]\ntls = \"{tls}\"\ntls_record = \"1400 B\"\n[run]\nruns = 1");
        let measured = measure(&scenario(&text), &mut |_| ()).unwrap();
        let [direct, tunnel, cold, _warm] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
        // One for TCP and one for the request; the terminal answers for TCP at once.
        for (row, others) in [(direct, 2.0), (tunnel, 1.0), (cold, 1.0)] {
            let above = row.first_byte_s.unwrap() - (round_trips + others) * 0.1;
            assert!((0.0..0.06).contains(&above), "TLS {tls}: {row:?}");
        }
        assert!((cold.page_load_s - tunnel.page_load_s).abs() < 0.05, "{cold:?} {tunnel:?}");
    }
}

#[test]
fn a_record_longer_than_the_initial_window_is_read_a_round_trip_later() {
    let Some(_turn) = testbed() else { return };
    let text = "[http]\ntls = \"1.3\"\n[run]\nruns = 1\narchitectures = [\"direct\", \"tunnel\"]";
    let measured = measure(&scenario(text), &mut |_| ()).unwrap();
    let [direct, tunnel] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
    // For TCP, for keys, for the request, and for the rest of 16 KiB; the tunnel knows no windows.
    for (row, round_trips) in [(direct, 4.0), (tunnel, 2.0)] {
        let above = row.first_byte_s.unwrap() - round_trips * 0.1;
        assert!((0.0..0.06).contains(&above), "{row:?}");
    }
}

#[test]
fn lost_packets_change_times_but_not_bytes() {
    let Some(_turn) = testbed() else { return };
    let mut scenario = scenario("[run]\nruns = 2\narchitectures = [\"direct\", \"accelerated\"]");
    let loss = LossModel::Bernoulli(Probability::new(0.03).unwrap());
    (scenario.link.down.loss, scenario.link.up.loss) = (loss, loss);
    // Every body is compared with the origin's.
    let measured = measure(&scenario, &mut |_| ()).unwrap();
    let [direct, ..] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
    assert!(direct.page_load_max_s > direct.page_load_min_s, "each run has its own losses: {direct:?}");
}

#[test]
fn the_demo_page_comes_as_fast_as_promised() {
    let Some(_turn) = testbed() else { return };
    let text = ["run.architectures=tunnel,accelerated", "run.runs=1"].map(str::to_owned);
    let demo = farhop_scenario::open("demo", &text).unwrap();
    let measured = measure(&demo, &mut |_| ()).unwrap();
    let [tunnel, cold, warm] = &measured.rows[..] else { panic!("{:?}", measured.rows) };
    assert!(tunnel.page_load_s <= 3.3, "{tunnel:?}");
    assert!(cold.page_load_s <= 1.0 && warm.page_load_s <= 1.0, "{cold:?} {warm:?}");
}
