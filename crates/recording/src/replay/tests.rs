use super::*;
use farhop_link::{Change, Destination, Direction, DirectionConfig, DropReason, LossModel, Output, QueueLimit};
use farhop_units::{Bytes, Probability, Rate};
use std::time::Duration;

fn config() -> ChannelConfig {
    let way = DirectionConfig {
        rate: Some(Rate::mbps(7)),
        delay: Duration::from_millis(5),
        queue: QueueLimit::Bytes(Bytes::kb(10)),
        loss: LossModel::Bernoulli(Probability::new(0.1).unwrap()),
        ..DirectionConfig::default()
    };
    ChannelConfig { down: way.clone(), up: way, ..ChannelConfig::default() }
}

/// Drives a channel as an emulator does, each timer served late, and notes everything.
fn record_a_run() -> LinkRecord {
    let mut channel = Channel::new(config(), 7);
    let mut record = LinkRecord { config: config(), seed: 7, inputs: vec![], outputs: vec![], end: Instant::START };
    for id in 0..400 {
        let now = Instant::START + Duration::from_micros(700 * id);
        if id % 3 == 1 {
            channel.handle_timeout(now);
        }
        if id == 200 {
            let change =
                Change { direction: Direction::Down, setting: farhop_link::Setting::Rate(Some(Rate::mbps(2))) };
            channel.reconfigure(now, change.clone());
            record.inputs.push(Input::Change { at: channel.now(), change });
        }
        let packet = Recorded::new(id, Bytes::new(40 + id * 97 % 1460));
        let port = if id % 3 == 0 { Port::Terminal(0) } else { Port::Gateway };
        channel.handle_packet(now, port, packet);
        record.inputs.push(Input::Arrival { at: channel.now(), port, packet });
        record.outputs.extend(core::iter::from_fn(|| channel.poll()));
    }
    channel.handle_timeout(channel.now() + Duration::from_millis(3));
    record.outputs.extend(core::iter::from_fn(|| channel.poll()));
    record.end = channel.now();
    record
}

fn log_of(record: &LinkRecord) -> String {
    let mut file = Vec::new();
    write_log(record, &mut file).expect("every setting can be written");
    String::from_utf8(file).expect("UTF-8")
}

#[test]
fn a_recorded_run_replays_from_memory_and_from_its_file() {
    let record = record_a_run();
    for wanted in [DropReason::QueueFull, DropReason::Lost] {
        let is_wanted = |output: &_| matches!(output, Output::Drop { reason, .. } if *reason == wanted);
        assert!(record.outputs.iter().any(is_wanted), "no drop for {wanted:?}");
    }
    let summary = verify(&record).expect("the same");
    assert_eq!((summary.arrivals, summary.changes, summary.end), (400, 1, record.end));
    assert_eq!(summary.deliveries + summary.drops, record.outputs.len() as u64);
    assert!(summary.drops > 0);
    assert_eq!(verify_log(log_of(&record).as_bytes()).expect("the same"), summary);
}

#[test]
fn an_outcome_one_nanosecond_late_is_found_and_told_with_its_line() {
    let mut record = record_a_run();
    let (Output::Deliver { at, .. } | Output::Drop { at, .. }) = &mut record.outputs[2];
    *at += Duration::from_nanos(1);
    let difference = verify(&record).expect_err("the third outcome is late");
    assert_eq!((difference.number, difference.recorded.as_ref()), (3, Some(&log_output(&record.outputs[2]))));
    let text = log_of(&record);
    let message = verify_log(text.as_bytes()).expect_err("the third outcome is late").to_string();
    let is_outcome = |line: &&str| line.contains(",delivery,") || line.contains(",drop,");
    let late = text.lines().filter(is_outcome).nth(2).expect("there are more");
    let line = text.lines().position(|line| line == late).expect("just found") + 1;
    let told = format!("line {line}: outcome 3 of the link differs: recorded {late}, recomputed ");
    assert!(message.starts_with(&told), "{message} instead of {told}");
}

#[test]
fn a_missing_outcome_and_one_too_many_are_found() {
    let mut record = record_a_run();
    let last = record.outputs.pop();
    let difference = verify(&record).expect_err("one is missing");
    assert_eq!((difference.recorded, difference.recomputed), (None, last.as_ref().map(log_output)));
    record.outputs.extend([last, last].into_iter().flatten());
    let difference = verify(&record).expect_err("one is too many");
    assert_eq!((difference.recorded, difference.recomputed), (last.as_ref().map(log_output), None));
}

#[test]
fn another_seed_gives_other_outcomes() {
    let mut record = record_a_run();
    record.seed += 1;
    assert!(verify(&record).is_err());
}

#[test]
fn logs_that_no_link_has_written_are_refused_by_line() {
    let log = log_of(&record_a_run());
    let refused = |from: &str, to: &str| {
        assert!(log.contains(from), "no {from:?} in the log");
        verify_log(log.replacen(from, to, 1).as_bytes()).expect_err("must be refused").to_string()
    };
    let unknown = refused("down.rate", "down.speed");
    assert!(unknown.contains("unknown setting \"down.speed\"; accepted: "), "{unknown}");
    let elsewhere = refused("arrival,terminal-0", "arrival,terminal-3");
    assert_eq!(elsewhere, "line 12: a packet from terminal 3; accepted: terminals below 1");
    let nobody = refused("# down.rate", "# terminals = 0\n# down.rate");
    assert!(nobody.contains("terminals: \"0\" terminals; accepted: a whole number from 1"), "{nobody}");
    let cut = refused(",end,", ",and,");
    assert!(cut.contains("unknown event \"and\""), "{cut}");
}

#[test]
fn a_log_without_outcomes_is_not_followed_for_ever() {
    let header = words::header(&ChannelConfig::default(), 1);
    let mut log = Writer::new(Vec::new(), &header).expect("a vector takes everything");
    for id in 0..=MOST_AHEAD as u64 {
        let packet = Recorded { destination: Destination::Terminal(0), ..Recorded::new(id, Bytes::new(40)) };
        let at = Instant::from_nanos(id);
        log.write(&log_input(&Input::Arrival { at, port: Port::Gateway, packet })).expect("a vector takes everything");
    }
    let log = log.cut_short().expect("a vector takes everything");
    let error = verify_log(&log[..]).expect_err("nothing is recorded").to_string();
    let told = "outcome 1 of the link differs: recorded nothing, recomputed 0,delivery,terminal-0,0,40,";
    assert!(error.contains(told), "{error}");
}
