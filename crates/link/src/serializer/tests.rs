use super::*;
use crate::Port;
use std::time::Duration;

mod laws;

fn slot(bytes: u64) -> Slot<()> {
    Slot { number: 0, bytes: Bytes::new(bytes), entered: Port::Gateway, packet: () }
}

fn serializer(settings: &[&str]) -> Serializer<()> {
    Serializer::new(&config(settings))
}

/// The direction with these settings: `rate=1 Mbit/s`.
fn config(settings: &[&str]) -> DirectionConfig {
    let mut config = DirectionConfig::default();
    for text in settings {
        let (word, value) = text.split_once('=').expect("a setting and its value");
        config.apply(crate::Setting::parse(word, value).expect("a setting").expect("its value"));
    }
    config
}

/// The time of changes that no packet waits for.
const START: Instant = Instant::START;

fn rate(rate: Option<Rate>) -> DirectionConfig {
    DirectionConfig { rate, ..Default::default() }
}

fn constant(limit: Rate) -> Serializer<()> {
    Serializer::new(&rate(Some(limit)))
}

fn finish_time(serializer: &Serializer<()>) -> Instant {
    serializer.next_finish().expect("a packet is in service").0
}

fn micros(count: u64) -> Instant {
    Instant::START + Duration::from_micros(count)
}

/// When packets of these sizes end, in µs, the first of which arrives at `start` µs and the others wait.
fn ends(serializer: &mut Serializer<()>, start: u64, sizes: &[u64]) -> Vec<u64> {
    let mut ends = Vec::new();
    serializer.start(micros(start), slot(sizes[0]));
    for size in sizes[1..].iter().map(Some).chain([None]) {
        ends.push(finish_time(serializer).as_nanos() / 1000);
        serializer.finish(size.map(|&size| slot(size)));
    }
    ends
}

#[test]
fn an_unlimited_rate_takes_no_time() {
    assert_eq!(ends(&mut serializer(&[]), 7, &[1500, 1500]), [7, 7]);
}

#[test]
fn the_packet_in_service_finishes_at_its_old_rate() {
    let mut serializer = constant(Rate::mbps(100));
    serializer.start(micros(0), slot(1500));
    serializer.set(START, &rate(Some(Rate::mbps(10))));
    assert_eq!(finish_time(&serializer), micros(120));
    serializer.finish(Some(slot(1500)));
    assert_eq!(finish_time(&serializer), micros(1320));
    serializer.set(START, &rate(None));
    serializer.finish(Some(slot(1500)));
    assert_eq!(finish_time(&serializer), micros(1320));
}

#[test]
fn a_change_of_rate_rounds_a_started_nanosecond_up() {
    // One byte takes 2 2/3 ns at 3 Gbit/s and 8 ns at 1 Gbit/s.
    let mut serializer = constant(Rate::mbps(3000));
    serializer.start(Instant::START, slot(1));
    serializer.set(START, &rate(Some(Rate::mbps(1000))));
    serializer.finish(Some(slot(1)));
    assert_eq!(finish_time(&serializer), Instant::from_nanos(3 + 8));
}

#[test]
fn the_same_rate_again_is_no_change() {
    let mut serializer = constant(Rate::mbps(3000));
    serializer.start(Instant::START, slot(1));
    for _ in 0..2 {
        serializer.set(START, &rate(Some(Rate::mbps(3000))));
        serializer.finish(Some(slot(1)));
    }
    assert_eq!(finish_time(&serializer), Instant::from_nanos(8));
}

#[test]
fn what_ends_after_the_end_of_time_ends_there() {
    let slow = Rate::from_bits_per_second(1).expect("above zero");
    let mut serializer = constant(slow);
    serializer.start(micros(1), slot(u64::MAX));
    assert_eq!(finish_time(&serializer), NEVER);
}

#[test]
fn framing_makes_packets_longer() {
    // (1460 + 40) · 16/15 = 1600 bytes.
    let mut serializer = serializer(&["rate=16 Mbit/s", "framing=overhead=40B redundancy=16/15"]);
    assert_eq!(ends(&mut serializer, 0, &[1460, 1460]), [800, 1600]);
    assert_eq!(serializer.count(), Count::default());
    serializer.start(micros(0), slot(1460));
    assert_eq!(serializer.count().bytes, Bytes::new(1460), "the packet alone is counted");
    serializer.set(START, &rate(Some(Rate::mbps(16))));
    serializer.finish(Some(slot(1500)));
    assert_eq!(finish_time(&serializer), micros(800 + 750));
}

const FADE: &str = "trace=steps end=repeat length=10ms at=0ms:12Mbit/s;2ms:0;4ms:6Mbit/s";

#[test]
fn a_packet_lasts_over_changes_of_the_rate() {
    // 1500 B take 1 ms at 12 and 2 ms at 6 Mbit/s.
    assert_eq!(ends(&mut serializer(&[FADE]), 0, &[1500; 4]), [1000, 2000, 6000, 8000]);
    assert_eq!(ends(&mut serializer(&[FADE]), 1500, &[1500; 4]), [5000, 7000, 9000, 10_500]);
    assert_eq!(ends(&mut serializer(&[FADE]), 3000, &[1500]), [6000]);
    // 7500 B are a whole round.
    assert_eq!(ends(&mut serializer(&[FADE]), 0, &[15_000, 75_000]), [20_000, 120_000]);
    assert_eq!(ends(&mut serializer(&[FADE]), 1_000_001_500, &[750]), [1_000_002_000]);
}

#[test]
fn a_packet_without_bytes_ends_as_it_begins() {
    assert_eq!(ends(&mut serializer(&[FADE]), 3000, &[0, 0, 1500]), [3000, 3000, 6000]);
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 3000, &[0, 1500]), [3000, 5000]);
    assert_eq!(ends(&mut serializer(&["rate=1 Mbit/s"]), 3000, &[0]), [3000]);
}

#[test]
fn the_last_step_can_stay() {
    let hold = FADE.replace("repeat", "hold");
    assert_eq!(ends(&mut serializer(&[&hold]), 9000, &[1500; 2]), [11_000, 13_000]);
}

#[test]
fn after_a_last_step_that_sends_nothing_a_packet_never_leaves() {
    let mut serializer = serializer(&["trace=steps end=hold length=10ms at=0ms:12Mbit/s;2ms:0"]);
    serializer.start(micros(1500), slot(1500));
    assert_eq!(finish_time(&serializer), NEVER);
    serializer.set(micros(5000), &rate(Some(Rate::mbps(12))));
    assert_eq!(finish_time(&serializer), micros(6000), "it does after a change");
    serializer.set(micros(5500), &rate(Some(Rate::mbps(1))));
    assert_eq!(finish_time(&serializer), micros(6000), "a packet that will leave is left alone");
}

#[test]
fn a_trace_goes_before_a_rate() {
    let mut serializer = serializer(&["rate=1 kbit/s", FADE]);
    assert_eq!(ends(&mut serializer, 0, &[1500]), [1000]);
    serializer.start(micros(10_000), slot(1500));
    serializer.set(START, &config(&["rate=2 kbit/s", FADE]));
    serializer.set(START, &config(&["rate=1 kbit/s"]));
    assert_eq!(finish_time(&serializer), micros(11_000), "from the next packet on");
    serializer.finish(Some(slot(125)));
    assert_eq!(finish_time(&serializer), micros(1_011_000));
}

const OPPORTUNITIES: &str = "trace=opportunities end=repeat length=5ms times=1;2*3;5";

#[test]
fn a_packet_leaves_at_the_opportunity_that_carries_its_last_byte() {
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 0, &[1500; 6]), [1000, 2000, 2000, 2000, 5000, 6000]);
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 2500, &[1501]), [6000]);
    // Two and a bit: the rest of the third serves who waits.
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 0, &[3001, 1499, 1]), [2000, 2000, 2000]);
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 0, &[3001, 1500, 1]), [2000, 2000, 2000]);
    assert_eq!(ends(&mut serializer(&[OPPORTUNITIES]), 0, &[3001, 3000]), [2000, 5000]);
}

#[test]
fn what_is_left_of_an_opportunity_is_lost_if_nothing_waits() {
    let mut serializer = serializer(&[OPPORTUNITIES]);
    assert_eq!(ends(&mut serializer, 0, &[100]), [1000]);
    assert_eq!(ends(&mut serializer, 1000, &[100]), [2000], "an opportunity of this very instant is missed");
    assert_eq!(ends(&mut serializer, 2000, &[100]), [5000], "and so are the others of an instant");
    assert_eq!(ends(&mut serializer, 5000, &[100]), [6000]);
}

#[test]
fn a_repeated_trace_begins_at_the_instant_it_ends() {
    // At the end of the first round two opportunities coincide: its last and the second round's first.
    let mut serializer = serializer(&["trace=opportunities end=repeat length=5ms times=0;3;5"]);
    assert_eq!(ends(&mut serializer, 0, &[1500; 5]), [3000, 5000, 5000, 8000, 10_000]);
    assert_eq!(ends(&mut serializer, 100_000_001, &[1500; 2]), [100_003_000, 100_005_000]);
}

#[test]
fn after_the_last_opportunity_there_are_no_more() {
    let mut serializer = serializer(&["trace=opportunities end=hold length=5ms times=1;2"]);
    serializer.start(micros(0), slot(3000));
    assert_eq!(finish_time(&serializer), micros(2000));
    serializer.finish(Some(slot(1)));
    assert_eq!(finish_time(&serializer), NEVER);
}

#[test]
fn framing_fills_opportunities_too() {
    // 1500 · 16/15 = 1600 bytes: fifteen packets in sixteen opportunities.
    let every = "trace=opportunities end=repeat length=1ms times=1";
    let mut serializer = serializer(&[every, "framing=redundancy=16/15"]);
    let expected: Vec<u64> = (1..=15).map(|n: u64| (1600 * n).div_ceil(1500) * 1000).collect();
    assert_eq!(ends(&mut serializer, 0, &[1500; 15]), expected);
    assert_eq!(expected.last(), Some(&16_000));
}

#[test]
fn a_change_of_what_does_not_matter_gives_nothing_up() {
    let mut serializer = serializer(&[OPPORTUNITIES]);
    serializer.start(micros(0), slot(100));
    serializer.set(START, &config(&[OPPORTUNITIES, "rate=1 Mbit/s", "orbit=geo elevation=35deg", "delay=1 s"]));
    serializer.finish(Some(slot(100)));
    assert_eq!(finish_time(&serializer), micros(1000), "the rest of the opportunity is still there");
}

const ORBIT: &str = "orbit=leo altitude=550km elevation=25deg handover=1s pause=100ms";

#[test]
fn the_transmitter_stands_still_during_a_handover() {
    // 1500 B take 10 ms.
    let rate = "rate=1.2 Mbit/s";
    assert_eq!(ends(&mut serializer(&[ORBIT, rate]), 985_000, &[1500; 3]), [995_000, 1_105_000, 1_115_000]);
    assert_eq!(ends(&mut serializer(&[ORBIT, rate]), 990_000, &[1500; 2]), [1_000_000, 1_110_000]);
    assert_eq!(ends(&mut serializer(&[ORBIT, rate]), 1_050_000, &[1500]), [1_110_000]);
    // 2 s of work from 0.5 s on: two pauses.
    assert_eq!(ends(&mut serializer(&[ORBIT, rate]), 500_000, &[300_000]), [2_700_000]);
}

#[test]
fn at_an_unlimited_rate_packets_leave_at_the_pauses_end() {
    assert_eq!(ends(&mut serializer(&[ORBIT]), 999_999, &[1500; 2]), [999_999, 999_999]);
    assert_eq!(ends(&mut serializer(&[ORBIT]), 1_000_000, &[1500; 2]), [1_100_000, 1_100_000]);
    assert_eq!(ends(&mut serializer(&[ORBIT]), 50_000, &[1500]), [50_000], "the run begins without one");
}

#[test]
fn a_trace_runs_on_during_a_handover() {
    // Per second 6 Mbit/s for half of it; 0.1 s of that fall into the pause. 1500 B take 2 ms.
    let trace = "trace=steps end=repeat length=1s at=0s:6Mbit/s;500ms:0";
    assert_eq!(ends(&mut serializer(&[ORBIT, trace]), 499_000, &[1500; 2]), [1_101_000, 1_103_000]);
    // Opportunities every 20 ms: those at 1.00 to 1.08 s are lost, the one at 1.10 s serves whoever waited.
    let trace = "trace=opportunities end=repeat length=20ms times=20";
    assert_eq!(ends(&mut serializer(&[ORBIT, trace]), 970_000, &[1500; 2]), [980_000, 1_100_000]);
    assert_eq!(ends(&mut serializer(&[ORBIT, trace]), 1_050_000, &[1500; 2]), [1_100_000, 1_120_000]);
    assert_eq!(ends(&mut serializer(&[ORBIT, trace]), 1_100_000, &[1500]), [1_120_000]);
    // 1000 of 1500 bytes at 0.98 s; the rest of that opportunity is used before the pause.
    assert_eq!(ends(&mut serializer(&[ORBIT, trace]), 970_000, &[1000, 1000, 1000]), [980_000, 1_100_000, 1_100_000]);
}

#[test]
fn a_link_that_is_only_there_in_pauses_is_given_up() {
    // The rate is above zero in the first 0.1 s of each second alone, which are all pauses but the first.
    let trace = "trace=steps end=repeat length=1s at=0s:6Mbit/s;100ms:0";
    let mut serializer = serializer(&[ORBIT, trace]);
    serializer.start(micros(200_000), slot(1500));
    assert_eq!(finish_time(&serializer), NEVER);
}

#[test]
fn an_orbit_can_come_and_go() {
    let mut serializer = serializer(&["rate=1.2 Mbit/s"]);
    serializer.start(micros(985_000), slot(1500));
    serializer.set(START, &config(&["rate=1.2 Mbit/s", ORBIT]));
    serializer.finish(Some(slot(1500)));
    assert_eq!(finish_time(&serializer), micros(1_105_000));
    serializer.set(START, &config(&["rate=1.2 Mbit/s"]));
    serializer.finish(Some(slot(1500)));
    assert_eq!(finish_time(&serializer), micros(1_115_000));
}

#[test]
fn all_transmitters_share_what_a_trace_carries() {
    let trace: Trace = "steps length=2s at=0s:1Mbit/s;1s:2Mbit/s".parse().unwrap();
    let config = DirectionConfig { trace: Some(trace.clone()), ..DirectionConfig::default() };
    let _first = Serializer::<()>::new(&config);
    trace.carried(|| panic!("it was worked out already"));
}
