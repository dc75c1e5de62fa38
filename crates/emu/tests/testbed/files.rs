//! Packet logs and captures, written while the link runs.

use crate::{permitted, scenario, transfer};
use farhop_emu::replay::{ReplaySummary, verify_log};
use farhop_emu::{EmulationRecord, Host, Options, Recording, Summary, Testbed};
use std::fs::File;
use std::io::BufReader;
use std::net::UdpSocket;
use std::path::Path;

/// Traffic both ways, more than the link carries, over a link with these settings.
fn run(assignments: &[&str], options: Options) -> EmulationRecord {
    let options = Options { recording: Recording::Totals, ..options };
    let testbed = Testbed::start_with(&scenario(assignments), &options).expect("a testbed");
    let client = testbed.address(Host::Client);
    let blast = testbed.host(Host::Server).spawn("blast", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        (0..2000).for_each(|_| {
            let _ = socket.send_to(&[0; 1000], (client, 9));
        });
    });
    assert_eq!(transfer(&testbed, (Host::Client, Host::Server), vec![1; 100_000], |_| ()).received.len(), 100_000);
    blast.join().expect("no panic in the blast");
    testbed.stop().expect("a record")
}

fn replayed(log: &Path) -> ReplaySummary {
    verify_log(BufReader::new(File::open(log).expect("it was written"))).expect("the link does the same again")
}

#[test]
fn log_and_capture_hold_everything_and_the_log_replays() {
    if !permitted() {
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let (log, pcap) = (folder.path().join("run.csv"), folder.path().join("run.pcapng"));
    let options = Options { log: Some(log.clone()), pcap: Some(pcap.clone()), ..Options::default() };
    let record = run(&["link.down.rate=20Mbit/s", "link.down.queue=30kB", "link.up.loss=0.5%"], options);
    let summary = replayed(&log);
    assert_eq!(summary.drops, record.dropped);
    assert!(summary.drops > 0);
    let files = record.files.as_ref().expect("files were wanted");
    assert_eq!((files.records, files.missing), (summary.arrivals + summary.deliveries + summary.drops, 0));
    assert_eq!(blocks(&std::fs::read(&pcap).expect("it was written"), 6), files.records);
    assert_eq!(Summary::from(&record).to_string().lines().count(), 3);
}

/// Number of blocks of a type in a pcapng file.
fn blocks(mut file: &[u8], kind: u32) -> u64 {
    let word = |file: &[u8], place: usize| u32::from_ne_bytes(file[place..place + 4].try_into().expect("four bytes"));
    let mut count = 0;
    while !file.is_empty() {
        count += u64::from(word(file, 0) == kind);
        file = &file[word(file, 4) as usize..];
    }
    count
}

#[test]
fn a_disk_that_is_full_is_told_and_stops_nothing() {
    if !permitted() {
        return;
    }
    let record = run(&[], Options { log: Some("/dev/full".into()), ..Options::default() });
    let files = record.files.as_ref().expect("files were wanted");
    assert!(files.missing > 0 || files.error.is_some(), "{files:?}");
    let told = Summary::from(&record).to_string();
    assert!(told.contains("packet log and capture end after ") && told.contains("No space left"), "{told}");
}

#[test]
fn a_file_that_cannot_be_created_is_named() {
    if permitted() {
        let options = Options { pcap: Some("/no/such/folder/run.pcapng".into()), ..Options::default() };
        let error = Testbed::start_with(&scenario(&[]), &options).expect_err("there is no such folder").to_string();
        assert!(error.starts_with("cannot create /no/such/folder/run.pcapng: "), "{error}");
    }
}
