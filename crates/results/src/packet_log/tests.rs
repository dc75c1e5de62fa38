use super::*;
use proptest::prelude::*;

const EXAMPLE: &str = "\
# farhop packet log, version 1
# seed = 42
# down.rate = 100 Mbit/s
t_ns,event,port,id,bytes,reason,setting,value
0,arrival,gateway,0,1500,,,
1000,arrival,gateway,1,1500,,,
1000,drop,gateway,1,1500,queue-full,,
5000,change,,,,,down.rate,50 Mbit/s
250120000,delivery,terminal-0,0,1500,,,
300000000,end,,,,,,
";

fn example() -> PacketLog {
    let packet = |nanos, port, id| PacketEvent { at: Instant::from_nanos(nanos), port, id, bytes: Bytes::new(1500) };
    let setting = |value: &str| Setting { name: "down.rate".to_owned(), value: value.to_owned() };
    PacketLog {
        seed: 42,
        settings: vec![setting("100 Mbit/s")],
        records: vec![
            Record::Arrival(packet(0, Port::Gateway, 0)),
            Record::Arrival(packet(1000, Port::Gateway, 1)),
            Record::Drop(packet(1000, Port::Gateway, 1), DropReason::QueueFull),
            Record::Change { at: Instant::from_nanos(5000), setting: setting("50 Mbit/s") },
            Record::Delivery(packet(250_120_000, Port::Terminal(0), 0)),
        ],
        end: Instant::from_nanos(300_000_000),
    }
}

fn written(log: &PacketLog) -> String {
    let mut out = Vec::new();
    log.write(&mut out).expect("writable");
    String::from_utf8(out).expect("UTF-8")
}

/// The error that reading the example gives after one replacement.
fn error_after(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "the example has no {from:?}");
    PacketLog::read(EXAMPLE.replacen(from, to, 1).as_bytes()).expect_err("must be refused").to_string()
}

#[test]
fn the_documented_example_is_the_format() {
    assert_eq!(written(&example()), EXAMPLE);
    assert_eq!(PacketLog::read(EXAMPLE.as_bytes()).expect("readable"), example());
}

#[test]
fn errors_name_line_value_and_what_is_accepted() {
    let cases = [
        ("version 1", "version 2", "packet log version 2 is not supported; accepted: version 1"),
        ("# farhop", "farhop", "line 1: not a packet log; accepted: \"# farhop packet log, version 1\""),
        ("42", "x", "line 2: no seed; accepted: \"# seed = \" and a whole number"),
        (
            "# down",
            "down",
            "line 3: \"down.rate = 100 Mbit/s\"; accepted: \"# NAME = VALUE\" or the columns \
             \"t_ns,event,port,id,bytes,reason,setting,value\"",
        ),
        ("t_ns,", "# down.rate = 1 bit/s\nt_ns,", "line 4: a second value for \"down.rate\""),
        ("0,arrival", "0,arrivel", "line 5: unknown event \"arrivel\"; accepted: arrival, change, delivery, drop, end"),
        ("gateway", "gate", "line 5: port \"gate\"; accepted: gateway, terminal-0, terminal-1, …"),
        ("0,1500,,,", "0,1500,,", "line 5: 7 columns; accepted: 8"),
        ("0,1500", "0,4294967296", "line 5: bytes \"4294967296\"; accepted: a whole number below 2^32"),
        ("0,1500", "-1,1500", "line 5: id \"-1\"; accepted: a whole number below 2^64"),
        ("0,1500", "00,1500", "line 5: id \"00\"; accepted: a whole number below 2^64"),
        ("0,1500,,", "0,1500,lost,", "line 5: reason \"lost\"; accepted: nothing here"),
        ("1000,arr", "x,arr", "line 6: t_ns \"x\"; accepted: a whole number below 2^64"),
        ("queue-full", "full", "line 7: reason \"full\"; accepted: queue-full, lost"),
        ("5000", "999", "line 8: an input at 0.000000999 s after one at 0.000001000 s; accepted: times in order"),
        (
            "250120000",
            "999",
            "line 9: an outcome at 0.000000999 s after one at 0.000001000 s; accepted: times in order",
        ),
        ("terminal-0", "terminal-00", "line 9: port \"terminal-00\"; accepted: gateway, terminal-0, terminal-1, …"),
        ("300000000", "1", "line 10: an end at 0.000000001 s after one at 0.250120000 s; accepted: times in order"),
        ("300000000,end,,,,,,\n", "", "the packet log was cut short after line 9: no \"end\" record"),
        ("end,,,,,,\n", "end,,,,,,", "the packet log was cut short after line 9: no \"end\" record"),
        ("end,,,,,,\n", "end,,,,,,\n\n", "line 11: something after the \"end\" record; accepted: nothing"),
        (
            "1500,,,\n",
            "1500,,,\r\n",
            "line 5: a control character; accepted: printable text, ended by a line feed alone",
        ),
    ];
    for (from, to, message) in cases {
        assert_eq!(error_after(from, to), message);
    }
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_memory() {
    let endless = io::BufReader::new(io::repeat(b'x'));
    let error = PacketLog::read(endless).expect_err("must be refused").to_string();
    assert_eq!(error, "line 1: longer than 4096 bytes");
}

#[test]
fn what_the_format_cannot_hold_is_not_written() {
    for name in ["", "a b", "seed", "a=b", "a\nb"] {
        let settings = vec![Setting { name: name.to_owned(), value: "1".to_owned() }];
        assert!(PacketLog { settings, ..PacketLog::default() }.write(io::sink()).is_err(), "{name:?}");
    }
    for value in ["", " 1", "1,2", "#", "\"1\"", "1\n2"] {
        let settings = vec![Setting { name: "a".to_owned(), value: value.to_owned() }];
        assert!(PacketLog { settings, ..PacketLog::default() }.write(io::sink()).is_err(), "{value:?}");
    }
    let giant = PacketEvent { at: Instant::START, port: Port::Gateway, id: 0, bytes: Bytes::new(1 << 32) };
    let log = PacketLog { records: vec![Record::Arrival(giant)], ..PacketLog::default() };
    assert!(log.write(io::sink()).is_err());
}

fn setting() -> impl Strategy<Value = Setting> {
    ("[a-z]{1,4}\\.[a-z]{1,8}", "[a-zA-Z0-9./µ=-]{1,8}( [a-z/]{1,6})?")
        .prop_map(|(name, value)| Setting { name, value })
}

fn port() -> impl Strategy<Value = Port> {
    prop_oneof![Just(Port::Gateway), any::<u16>().prop_map(Port::Terminal)]
}

/// Records in order of time, each some time after the one before.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let record = (0_u64..1 << 40, port(), any::<u64>(), any::<u32>(), setting(), 0..5);
    proptest::collection::vec(record, 0..40).prop_map(|rows| {
        let mut at = Instant::START;
        let mut place = |(wait, port, id, bytes, setting, kind): (u64, Port, u64, u32, Setting, i32)| {
            at += std::time::Duration::from_nanos(wait);
            let packet = PacketEvent { at, port, id, bytes: Bytes::new(bytes.into()) };
            match kind {
                0 => Record::Arrival(packet),
                1 => Record::Change { at, setting },
                2 => Record::Delivery(packet),
                3 => Record::Drop(packet, DropReason::QueueFull),
                _ => Record::Drop(packet, DropReason::Lost),
            }
        };
        rows.into_iter().map(&mut place).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(seed: u64, setting in setting(), records in records(), rest in 0_u64..1 << 40) {
        let last = records.last().map_or(Instant::START, Record::at);
        let end = last + std::time::Duration::from_nanos(rest);
        let log = PacketLog { seed, settings: vec![setting], records, end };
        prop_assert_eq!(PacketLog::read(written(&log).as_bytes()).map_err(|e| e.to_string()), Ok(log));
    }

    #[test]
    fn whatever_reads_is_written_the_same(piece in "[0-9a-z,#= \n.+-]{0,3}|\\PC{0,20}", at in 0..EXAMPLE.len(), length in 0_usize..4) {
        // Never a panic, never a second spelling of the same log.
        let mut text = EXAMPLE.as_bytes().to_vec();
        text.splice(at..(at + length).min(EXAMPLE.len()), piece.bytes());
        if let Ok(log) = PacketLog::read(&text[..]) {
            prop_assert_eq!(written(&log).into_bytes(), text);
        }
    }

    #[test]
    fn any_bytes_give_an_answer(bytes: Vec<u8>) {
        prop_assert!(PacketLog::read(&bytes[..]).is_err());
    }
}
