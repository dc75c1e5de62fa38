use super::*;
use proptest::prelude::*;
use std::io::{self, BufRead};

const EXAMPLE: &str = "\
# farhop packet log, version 2
# seed = 42
# down.rate = 100 Mbit/s
t_ns,event,port,id,bytes,destination,flow,class,ecn,corrupted,reason,setting,value
0,arrival,gateway,0,1500,terminal-0,8812,normal,ect,,,,
1000,arrival,gateway,1,1500,all,17,high,not-ect,,,,
1000,drop,gateway,1,1500,,,,,,queue-full,,
2000,arrival,terminal-0,2,52,,4711,normal,not-ect,,,,
5000,change,,,,,,,,,,down.rate,50 Mbit/s
10000,delivery,gateway,2,52,,,,not-ect,yes,,,
250120000,delivery,terminal-0,0,1500,,,,ce,,,,
300000000,end,,,,,,,,,,,
";

/// A log in memory.
#[derive(Debug, Clone, PartialEq)]
struct Log {
    header: Header,
    records: Vec<Record>,
    end: Instant,
}

fn read(input: impl BufRead) -> Result<Log, PacketLogError> {
    let mut reader = Reader::new(input)?;
    let records = reader.by_ref().collect::<Result<_, _>>()?;
    let end = reader.end().expect("after the last record");
    Ok(Log { header: reader.header().clone(), records, end })
}

fn write(log: &Log) -> io::Result<String> {
    let mut writer = Writer::new(Vec::new(), &log.header)?;
    log.records.iter().try_for_each(|record| writer.write(record))?;
    Ok(String::from_utf8(writer.finish(log.end)?).expect("UTF-8"))
}

fn example() -> Log {
    let packet =
        |nanos, port, id, bytes| PacketEvent { at: Instant::from_nanos(nanos), port, id, bytes: Bytes::new(bytes) };
    let setting = |value: &str| Setting { name: "down.rate".to_owned(), value: value.to_owned() };
    let traits = |destination, flow, class, ecn| Traits { destination, flow, class, ecn };
    let (gateway, terminal, to_terminal) = (Port::Gateway, Port::Terminal(0), Some(Destination::Terminal(0)));
    Log {
        header: Header { seed: 42, settings: vec![setting("100 Mbit/s")] },
        records: vec![
            Record::Arrival(packet(0, gateway, 0, 1500), traits(to_terminal, 8812, Class::Normal, Ecn::Ect)),
            Record::Arrival(
                packet(1000, gateway, 1, 1500),
                traits(Some(Destination::All), 17, Class::High, Ecn::NotEct),
            ),
            Record::Drop(packet(1000, gateway, 1, 1500), DropReason::QueueFull),
            Record::Arrival(packet(2000, terminal, 2, 52), traits(None, 4711, Class::Normal, Ecn::NotEct)),
            Record::Change { at: Instant::from_nanos(5000), setting: setting("50 Mbit/s") },
            Record::Delivery(packet(10_000, gateway, 2, 52), Condition { ecn: Ecn::NotEct, corrupted: true }),
            Record::Delivery(packet(250_120_000, terminal, 0, 1500), Condition { ecn: Ecn::Ce, corrupted: false }),
        ],
        end: Instant::from_nanos(300_000_000),
    }
}

/// The error that reading the example gives after one replacement.
fn error_after(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "the example has no {from:?}");
    read(EXAMPLE.replacen(from, to, 1).as_bytes()).expect_err("must be refused").to_string()
}

#[test]
fn the_documented_example_is_the_format() {
    assert_eq!(write(&example()).expect("writable"), EXAMPLE);
    assert_eq!(read(EXAMPLE.as_bytes()).expect("readable"), example());
    let documented: String = EXAMPLE.lines().map(|line| format!("//! {line}\n")).collect();
    assert!(include_str!("../packet_log.rs").contains(&documented));
}

#[test]
fn errors_name_line_value_and_what_is_accepted() {
    let cases = [
        ("version 2", "version 1", "packet log version 1 is not supported; accepted: version 2"),
        ("# farhop", "farhop", "line 1: not a packet log; accepted: \"# farhop packet log, version 2\""),
        ("42", "x", "line 2: no seed; accepted: \"# seed = \" and a whole number"),
        (
            "# down",
            "down",
            "line 3: \"down.rate = 100 Mbit/s\"; accepted: \"# NAME = VALUE\" or the columns \
             \"t_ns,event,port,id,bytes,destination,flow,class,ecn,corrupted,reason,setting,value\"",
        ),
        ("t_ns,", "# down.rate = 1 bit/s\nt_ns,", "line 4: a second value for \"down.rate\""),
        ("0,arrival", "0,arrivel", "line 5: unknown event \"arrivel\"; accepted: arrival, change, delivery, drop, end"),
        ("gateway", "gate", "line 5: port \"gate\"; accepted: gateway, terminal-0, terminal-1, …"),
        ("ect,,,,", "ect,,,", "line 5: 12 columns; accepted: 13"),
        ("ect,,,,", "ect,,,,,,", "line 5: 15 columns; accepted: 13"),
        ("0,1500", "0,4294967296", "line 5: bytes \"4294967296\"; accepted: a whole number below 2^32"),
        ("0,1500", "-1,1500", "line 5: id \"-1\"; accepted: a whole number below 2^64"),
        ("0,1500", "00,1500", "line 5: id \"00\"; accepted: a whole number below 2^64"),
        ("1500,terminal-0", "1500,", "line 5: destination \"\"; accepted: all, terminal-0, terminal-1, …"),
        ("8812", "x", "line 5: flow \"x\"; accepted: a whole number below 2^64"),
        ("normal", "usual", "line 5: class \"usual\"; accepted: high, normal, low"),
        ("ect", "cet", "line 5: ecn \"cet\"; accepted: not-ect, ect, ce"),
        ("ect,,,,", "ect,yes,,,", "line 5: corrupted \"yes\"; accepted: nothing here"),
        ("ect,,,,", "ect,,lost,,", "line 5: reason \"lost\"; accepted: nothing here"),
        ("1000,arr", "x,arr", "line 6: t_ns \"x\"; accepted: a whole number below 2^64"),
        (
            "queue-full",
            "full",
            "line 7: reason \"full\"; accepted: queue-full, queue-delay, lost, outage, collisions, no-terminal",
        ),
        (
            "52,,4711",
            "52,all,4711",
            "line 8: destination \"all\"; accepted: nothing here, for an arrival at a terminal",
        ),
        ("5000", "999", "line 9: an input at 0.000000999 s after something at 0.000002000 s; accepted: times in order"),
        ("yes", "no", "line 10: corrupted \"no\"; accepted: yes, or nothing"),
        (
            "250120000",
            "999",
            "line 11: an outcome at 0.000000999 s after something at 0.000010000 s; accepted: times in order",
        ),
        (
            "delivery,terminal-0",
            "delivery,terminal-00",
            "line 11: port \"terminal-00\"; accepted: gateway, terminal-0, terminal-1, …",
        ),
        (
            "300000000",
            "1",
            "line 12: an end at 0.000000001 s after something at 0.250120000 s; accepted: times in order",
        ),
        ("300000000,end,,,,,,,,,,,\n", "", "the packet log was cut short after line 11: no \"end\" record"),
        ("end,,,,,,,,,,,\n", "end,,,,,,,,,,,", "the packet log was cut short after line 11: no \"end\" record"),
        ("end,,,,,,,,,,,\n", "end,,,,,,,,,,,\n\n", "line 13: something after the \"end\" record; accepted: nothing"),
        (
            "ect,,,,\n",
            "ect,,,,\r\n",
            "line 5: a control character; accepted: printable text, ended by a line feed alone",
        ),
    ];
    for (from, to, message) in cases {
        assert_eq!(error_after(from, to), message);
    }
}

#[test]
fn a_log_cut_short_gives_its_whole_records_first() {
    let mut cut = EXAMPLE.to_owned();
    cut.truncate(EXAMPLE.find("250120000").expect("in the example") + 20);
    let mut reader = Reader::new(cut.as_bytes()).expect("the header is whole");
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 6);
    assert_eq!((reader.end(), reader.line()), (None, 10));
    assert!(reader.next().is_none(), "nothing after an error");
}

#[test]
fn a_setting_may_be_a_whole_trace() {
    let value = "5 ".repeat(3 << 20) + "5";
    let mut log = example();
    log.header.settings[0].value.clone_from(&value);
    assert_eq!(read(write(&log).expect("writable").as_bytes()).expect("readable").header.settings[0].value, value);
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_memory() {
    let endless = io::BufReader::new(io::repeat(b'x'));
    let error = read(endless).expect_err("must be refused").to_string();
    assert_eq!(error, "line 1: longer than 67108864 bytes");
}

#[test]
fn what_the_format_cannot_hold_is_not_written() {
    let refused = |header: Header, records: Vec<Record>| {
        let error = write(&Log { header, records, end: Instant::START }).expect_err("must be refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    };
    for name in ["", "a b", "seed", "a=b", "a\nb"] {
        let settings = vec![Setting { name: name.to_owned(), value: "1".to_owned() }];
        refused(Header { seed: 0, settings }, vec![]);
    }
    for value in ["", " 1", "1,2", "#", "\"1\"", "1\n2"] {
        let setting = Setting { name: "a".to_owned(), value: value.to_owned() };
        refused(Header { seed: 0, settings: vec![setting.clone()] }, vec![]);
        refused(Header::default(), vec![Record::Change { at: Instant::START, setting }]);
    }
    let packet = PacketEvent { at: Instant::START, port: Port::Gateway, id: 0, bytes: Bytes::new(1 << 32) };
    refused(Header::default(), vec![Record::Drop(packet, DropReason::Lost)]);
    let traits = Traits { destination: None, flow: 0, class: Class::Low, ecn: Ecn::NotEct };
    refused(Header::default(), vec![Record::Arrival(PacketEvent { bytes: Bytes::ZERO, ..packet }, traits)]);
}

fn setting() -> impl Strategy<Value = Setting> {
    ("[a-z]{1,4}\\.[a-z]{1,8}", "[a-zA-Z0-9./µ=-]{1,8}( [a-z/]{1,6})?")
        .prop_map(|(name, value)| Setting { name, value })
}

fn port() -> impl Strategy<Value = Port> {
    prop_oneof![Just(Port::Gateway), any::<u16>().prop_map(Port::Terminal)]
}

fn traits() -> impl Strategy<Value = Traits> {
    let destination = prop_oneof![Just(Destination::All), any::<u16>().prop_map(Destination::Terminal)];
    let (class, ecn) = (proptest::sample::select(Class::ALL), proptest::sample::select(Ecn::ALL));
    (destination, any::<u64>(), class, ecn).prop_map(|(destination, flow, class, ecn)| Traits {
        destination: Some(destination),
        flow,
        class,
        ecn,
    })
}

/// Records in order of time, each some time after the one before.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let packet = (0_u64..1 << 40, port(), any::<u64>(), any::<u32>());
    let reason = proptest::sample::select(DropReason::ALL);
    let record = (packet, traits(), any::<bool>(), reason, setting(), 0..4);
    proptest::collection::vec(record, 0..40).prop_map(|rows| {
        let mut at = Instant::START;
        let place = |((wait, port, id, bytes), traits, corrupted, reason, setting, kind)| {
            at += std::time::Duration::from_nanos(wait);
            let packet = PacketEvent { at, port, id, bytes: Bytes::new(u32::into(bytes)) };
            let Traits { destination, ecn, .. } = traits;
            let destination = destination.filter(|_| port == Port::Gateway);
            match kind {
                0 => Record::Arrival(packet, Traits { destination, ..traits }),
                1 => Record::Change { at, setting },
                2 => Record::Delivery(packet, Condition { ecn, corrupted }),
                _ => Record::Drop(packet, reason),
            }
        };
        rows.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(seed: u64, setting in setting(), records in records(), rest in 0_u64..1 << 40) {
        let last = records.last().map_or(Instant::START, Record::at);
        let end = last + std::time::Duration::from_nanos(rest);
        let log = Log { header: Header { seed, settings: vec![setting] }, records, end };
        let text = write(&log).expect("writable");
        prop_assert_eq!(read(text.as_bytes()).map_err(|e| e.to_string()), Ok(log));
    }

    #[test]
    fn whatever_reads_is_written_the_same(piece in "[0-9a-z,#= \n.+-]{0,3}|\\PC{0,20}", at in 0..EXAMPLE.len(), length in 0_usize..4) {
        // Never a panic, never a second spelling of the same log.
        let mut text = EXAMPLE.as_bytes().to_vec();
        text.splice(at..(at + length).min(EXAMPLE.len()), piece.bytes());
        if let Ok(log) = read(&text[..]) {
            prop_assert_eq!(write(&log).expect("as it was").into_bytes(), text);
        }
    }

    #[test]
    fn any_bytes_give_an_answer(bytes: Vec<u8>) {
        prop_assert!(read(&bytes[..]).is_err());
    }
}
