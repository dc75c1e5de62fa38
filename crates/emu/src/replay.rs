//! A recorded link recomputed, and its packet log.
//!
//! [`verify`] feeds the recorded inputs to a fresh link in virtual time and compares what comes out with what was recorded,
//! one by one; nothing of the recorded outputs enters the computation. A difference means that the emulator did not drive
//! the link as its contract says, that the log was altered, or that the link's model has changed since. The conversions
//! between [`LinkRecord`] and [`PacketLog`] are here because only here both the link's words and the log's are known.

use crate::LinkRecord;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Change, ChannelConfig, DropReason, Output, Port, SettingError};
use farhop_results::packet_log::{self, PacketEvent, PacketLog, Record, Setting};
use thiserror::Error;

/// The first output of a recorded link that the link would not have given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("output {number} of the link differs: recorded {}, recomputed {}", told(recorded), told(recomputed))]
pub struct Difference {
    /// Its number among the deliveries and drops, from 1.
    pub number: usize,
    /// What was recorded; `None` if that is fewer outputs.
    pub recorded: Option<Output<Recorded>>,
    /// What the link does; `None` if it does less.
    pub recomputed: Option<Output<Recorded>>,
}

/// Recomputes the deliveries and drops from configuration, seed and inputs, and compares them with the recorded ones;
/// gives their number.
///
/// # Errors
/// The first difference.
pub fn verify(record: &LinkRecord) -> Result<usize, Difference> {
    let inputs = record.inputs.iter().copied();
    let recomputed = farhop_link::replay(record.config.clone(), record.seed, inputs, record.end);
    let longer = recomputed.len().max(record.outputs.len());
    let first = (0..longer).find(|&index| record.outputs.get(index) != recomputed.get(index));
    first.map_or(Ok(recomputed.len()), |index| {
        let recorded = record.outputs.get(index).copied();
        Err(Difference { number: index + 1, recorded, recomputed: recomputed.get(index).copied() })
    })
}

/// The log of a recorded link, in order of time; what is done to the link stands before what it does at the same time.
impl From<&LinkRecord> for PacketLog {
    fn from(link: &LinkRecord) -> Self {
        let settings = link.config.changes().map(|change| log_setting(&change)).collect();
        let inputs = link.inputs.iter().map(log_input);
        let mut records: Vec<Record> = inputs.chain(link.outputs.iter().map(log_output)).collect();
        records.sort_by_key(Record::at);
        Self { seed: link.seed, settings, records, end: link.end }
    }
}

/// What a log says of the link. Settings that the log leaves out have their defaults.
impl TryFrom<&PacketLog> for LinkRecord {
    type Error = SettingError;

    fn try_from(log: &PacketLog) -> Result<Self, SettingError> {
        let mut config = ChannelConfig::default();
        for setting in &log.settings {
            config.apply(link_change(setting)?);
        }
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for record in &log.records {
            match record {
                Record::Arrival(PacketEvent { at, port, id, bytes }) => {
                    inputs.push(Input::Arrival { at: *at, port: link_port(*port), id: *id, bytes: *bytes });
                }
                Record::Change { at, setting } => inputs.push(Input::Change { at: *at, change: link_change(setting)? }),
                Record::Delivery(event) => outputs.push(delivery(event)),
                Record::Drop(event, reason) => outputs.push(drop_output(event, *reason)),
            }
        }
        Ok(Self { config, seed: log.seed, inputs, outputs, end: log.end })
    }
}

fn log_input(input: &Input) -> Record {
    match input {
        Input::Arrival { at, port, id, bytes } => {
            Record::Arrival(PacketEvent { at: *at, port: log_port(*port), id: *id, bytes: *bytes })
        }
        Input::Change { at, change } => Record::Change { at: *at, setting: log_setting(change) },
    }
}

fn log_output(output: &Output<Recorded>) -> Record {
    let (Output::Deliver { at, port, packet } | Output::Drop { at, port, packet, .. }) = output;
    let event = PacketEvent { at: *at, port: log_port(*port), id: packet.id, bytes: packet.bytes };
    match output {
        Output::Deliver { .. } => Record::Delivery(event),
        Output::Drop { reason, .. } => Record::Drop(event, log_reason(*reason)),
    }
}

fn log_setting(change: &Change) -> Setting {
    Setting { name: change.name(), value: change.setting.to_string() }
}

const fn log_port(port: Port) -> packet_log::Port {
    match port {
        Port::Gateway => packet_log::Port::Gateway,
        Port::Terminal(number) => packet_log::Port::Terminal(number),
    }
}

const fn log_reason(reason: DropReason) -> packet_log::DropReason {
    match reason {
        DropReason::QueueFull => packet_log::DropReason::QueueFull,
        DropReason::Lost => packet_log::DropReason::Lost,
    }
}

fn link_change(setting: &Setting) -> Result<Change, SettingError> {
    Change::parse(&setting.name, &setting.value)
}

fn delivery(event: &PacketEvent) -> Output<Recorded> {
    let &PacketEvent { at, port, id, bytes } = event;
    Output::Deliver { at, port: link_port(port), packet: Recorded { id, bytes } }
}

fn drop_output(event: &PacketEvent, reason: packet_log::DropReason) -> Output<Recorded> {
    let &PacketEvent { at, port, id, bytes } = event;
    Output::Drop { at, port: link_port(port), packet: Recorded { id, bytes }, reason: link_reason(reason) }
}

const fn link_port(port: packet_log::Port) -> Port {
    match port {
        packet_log::Port::Gateway => Port::Gateway,
        packet_log::Port::Terminal(number) => Port::Terminal(number),
    }
}

const fn link_reason(reason: packet_log::DropReason) -> DropReason {
    match reason {
        packet_log::DropReason::QueueFull => DropReason::QueueFull,
        packet_log::DropReason::Lost => DropReason::Lost,
    }
}

/// An output in a message: its line in the log.
fn told(output: &Option<Output<Recorded>>) -> String {
    output.as_ref().map_or_else(|| "nothing".to_owned(), |output| log_output(output).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_link::{Channel, Direction, DirectionConfig, LossModel};
    use farhop_units::{Bytes, Instant, Probability, Rate};
    use std::time::Duration;

    fn config() -> ChannelConfig {
        let loss = LossModel::Bernoulli(Probability::new(0.1).unwrap());
        let delay = Duration::from_millis(5);
        let way = DirectionConfig { rate: Some(Rate::mbps(7)), delay, queue: Some(Bytes::kb(10)), loss };
        ChannelConfig { down: way.clone(), up: way }
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
                channel.reconfigure(now, change);
                record.inputs.push(Input::Change { at: channel.now(), change });
            }
            let packet = Recorded { id, bytes: Bytes::new(40 + id * 97 % 1460) };
            let port = if id % 3 == 0 { Port::Terminal(0) } else { Port::Gateway };
            channel.handle_packet(now, port, packet);
            record.inputs.push(Input::Arrival { at: channel.now(), port, id, bytes: packet.bytes });
            record.outputs.extend(core::iter::from_fn(|| channel.poll()));
        }
        channel.handle_timeout(channel.now() + Duration::from_millis(3));
        record.outputs.extend(core::iter::from_fn(|| channel.poll()));
        record.end = channel.now();
        record
    }

    #[test]
    fn a_recorded_run_replays_from_its_file_to_the_same_outputs() {
        let record = record_a_run();
        for wanted in [DropReason::QueueFull, DropReason::Lost] {
            let is_wanted = |output: &_| matches!(output, Output::Drop { reason, .. } if *reason == wanted);
            assert!(record.outputs.iter().any(is_wanted), "no drop for {wanted:?}");
        }
        let mut file = Vec::new();
        PacketLog::from(&record).write(&mut file).expect("every setting can be written");
        let log = PacketLog::read(&file[..]).expect("what was written reads back");
        let read = LinkRecord::try_from(&log).expect("the link's own settings");
        assert_eq!((&read.config, read.seed, read.end), (&record.config, record.seed, record.end));
        assert_eq!((&read.inputs, &read.outputs), (&record.inputs, &record.outputs));
        assert_eq!(verify(&read), Ok(record.outputs.len()));
    }

    #[test]
    fn an_output_one_nanosecond_late_is_found_and_told() {
        let mut record = record_a_run();
        let (Output::Deliver { at, .. } | Output::Drop { at, .. }) = &mut record.outputs[2];
        *at += Duration::from_nanos(1);
        let difference = verify(&record).expect_err("the third output is late");
        assert_eq!((difference.number, difference.recorded), (3, Some(record.outputs[2])));
        let message = difference.to_string();
        assert!(message.starts_with("output 3 of the link differs: recorded "), "{message}");
    }

    #[test]
    fn a_missing_output_and_one_too_many_are_found() {
        let mut record = record_a_run();
        let last = record.outputs.pop();
        let difference = verify(&record).expect_err("one is missing");
        assert_eq!((difference.recorded, difference.recomputed), (None, last));
        record.outputs.extend([last, last].into_iter().flatten());
        let difference = verify(&record).expect_err("one is too many");
        assert_eq!((difference.recorded, difference.recomputed), (last, None));
    }

    #[test]
    fn another_seed_gives_other_outputs() {
        let mut record = record_a_run();
        record.seed += 1;
        assert!(verify(&record).is_err());
    }

    #[test]
    fn an_unknown_setting_in_a_log_is_named() {
        let mut log = PacketLog::from(&record_a_run());
        log.settings[0].name = "down.speed".to_owned();
        let message = LinkRecord::try_from(&log).expect_err("unknown").to_string();
        assert!(message.starts_with("unknown setting \"down.speed\""), "{message}");
    }
}
