//! The words of the link and those of its packet log, into each other.
//!
//! The log's schema knows nothing of the link's model, so that whoever reads results need not have it; only here both are known.

use farhop_link::replay::{Input, Recorded};
use farhop_link::{Change, ChannelConfig, Class, Destination, DropReason, Output, Port, SettingError};
use farhop_results::packet_log::{self, Condition, Ecn, Header, PacketEvent, Record, Setting, Traits};
use farhop_units::Instant;

const fn log_class(class: Class) -> packet_log::Class {
    match class {
        Class::High => packet_log::Class::High,
        Class::Normal => packet_log::Class::Normal,
        Class::Low => packet_log::Class::Low,
    }
}

const fn link_class(class: packet_log::Class) -> Class {
    match class {
        packet_log::Class::High => Class::High,
        packet_log::Class::Normal => Class::Normal,
        packet_log::Class::Low => Class::Low,
    }
}

const fn log_reason(reason: DropReason) -> packet_log::DropReason {
    match reason {
        DropReason::QueueFull => packet_log::DropReason::QueueFull,
        DropReason::QueueDelay => packet_log::DropReason::QueueDelay,
        DropReason::Lost => packet_log::DropReason::Lost,
        DropReason::Outage => packet_log::DropReason::Outage,
        DropReason::Collisions => packet_log::DropReason::Collisions,
        DropReason::NoTerminal => packet_log::DropReason::NoTerminal,
    }
}

/// What a log of this link says before its records.
pub fn header(config: &ChannelConfig, seed: u64) -> Header {
    let settings = config.describe().into_iter().map(|(name, value)| Setting { name, value }).collect();
    Header { seed, settings }
}

/// The link that a log describes. Settings that the log leaves out have their defaults.
///
/// # Errors
/// The first setting that is none of the link's.
pub fn config(header: &Header) -> Result<ChannelConfig, SettingError> {
    let mut config = ChannelConfig::default();
    header.settings.iter().try_for_each(|setting| config.set(&setting.name, &setting.value))?;
    Ok(config)
}

/// The record of what was done to the link.
pub fn log_input(input: &Input) -> Record {
    match input {
        Input::Arrival { at, port, packet } => Record::Arrival(event(*at, *port, packet), traits(*port, packet)),
        Input::Change { at, change } => {
            let setting = Setting { name: change.name(), value: change.setting.to_string() };
            Record::Change { at: *at, setting }
        }
    }
}

/// The record of what the link did.
pub fn log_output(output: &Output<Recorded>) -> Record {
    match output {
        Output::Deliver { at, port, packet } => {
            let condition = Condition { ecn: log_ecn(packet), corrupted: packet.corrupted };
            Record::Delivery(event(*at, *port, packet), condition)
        }
        Output::Drop { at, port, packet, reason } => Record::Drop(event(*at, *port, packet), log_reason(*reason)),
    }
}

/// What was done to the link, if the record says so.
///
/// # Errors
/// A change of a setting that is none of the link's.
pub fn link_input(record: &Record) -> Result<Option<Input>, SettingError> {
    Ok(match record {
        Record::Arrival(PacketEvent { at, port, id, bytes }, traits) => {
            Some(Input::Arrival { at: *at, port: link_port(*port), packet: recorded(*id, *bytes, traits) })
        }
        Record::Change { at, setting } => {
            Some(Input::Change { at: *at, change: Change::parse(&setting.name, &setting.value)? })
        }
        Record::Delivery(..) | Record::Drop(..) => None,
    })
}

fn recorded(id: u64, bytes: farhop_units::Bytes, traits: &Traits) -> Recorded {
    let Traits { destination, flow, class, ecn } = *traits;
    let plain = Recorded::new(id, bytes);
    Recorded {
        destination: destination.map_or(plain.destination, link_destination),
        flow,
        class: link_class(class),
        ecn_capable: ecn != Ecn::NotEct,
        marked: ecn == Ecn::Ce,
        ..plain
    }
}

fn event(at: Instant, port: Port, packet: &Recorded) -> PacketEvent {
    PacketEvent { at, port: log_port(port), id: packet.id, bytes: packet.bytes }
}

fn traits(port: Port, packet: &Recorded) -> Traits {
    Traits {
        destination: (port == Port::Gateway).then(|| log_destination(packet.destination)),
        flow: packet.flow,
        class: log_class(packet.class),
        ecn: log_ecn(packet),
    }
}

const fn log_ecn(packet: &Recorded) -> Ecn {
    match packet {
        Recorded { marked: true, .. } => Ecn::Ce,
        Recorded { ecn_capable: true, .. } => Ecn::Ect,
        _ => Ecn::NotEct,
    }
}

const fn log_port(port: Port) -> packet_log::Port {
    match port {
        Port::Gateway => packet_log::Port::Gateway,
        Port::Terminal(number) => packet_log::Port::Terminal(number),
    }
}

const fn link_port(port: packet_log::Port) -> Port {
    match port {
        packet_log::Port::Gateway => Port::Gateway,
        packet_log::Port::Terminal(number) => Port::Terminal(number),
    }
}

const fn log_destination(destination: Destination) -> packet_log::Destination {
    match destination {
        Destination::Terminal(number) => packet_log::Destination::Terminal(number),
        Destination::All => packet_log::Destination::All,
    }
}

const fn link_destination(destination: packet_log::Destination) -> Destination {
    match destination {
        packet_log::Destination::Terminal(number) => Destination::Terminal(number),
        packet_log::Destination::All => Destination::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_and_log_spell_their_words_alike() {
        for reason in DropReason::ALL {
            assert_eq!(log_reason(reason).word(), reason.word());
        }
        assert_eq!(DropReason::ALL.len(), packet_log::DropReason::ALL.len());
        for class in Class::ALL {
            assert_eq!((log_class(class).word(), link_class(log_class(class))), (class.word(), class));
        }
        assert_eq!(Class::ALL.len(), packet_log::Class::ALL.len());
    }

    #[test]
    fn an_arrival_is_the_same_after_the_log() {
        let plain = Recorded::new(7, farhop_units::Bytes::new(99));
        let special =
            Recorded { destination: Destination::All, flow: 5, class: Class::High, ecn_capable: true, ..plain };
        for packet in [plain, special, Recorded { marked: true, ..special }] {
            for port in [Port::Gateway, Port::Terminal(3)] {
                let destination = if port == Port::Gateway { packet.destination } else { plain.destination };
                let input = Input::Arrival { at: Instant::START, port, packet: Recorded { destination, ..packet } };
                assert_eq!(link_input(&log_input(&input)), Ok(Some(input)));
            }
        }
    }

    #[test]
    fn a_configuration_is_the_same_after_the_log() {
        let mut wanted = ChannelConfig { terminals: 3, ..ChannelConfig::default() };
        wanted.set("up.queue", "9 packets").expect("a setting");
        assert_eq!(config(&header(&wanted, 1)), Ok(wanted));
    }
}
