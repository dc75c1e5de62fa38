//! Every impairment and every scheme of medium access, driven in real time by real packets, replays in virtual time.

use crate::testbed;
use farhop_emu::{Host, LinkRecord, Testbed, replay};
use farhop_link::{DropReason, Output};
use nix::sys::socket::{setsockopt, sockopt};
use std::collections::BTreeSet;
use std::net::{IpAddr, UdpSocket};
use std::thread::JoinHandle;
use std::time::Duration;

const TERMINALS: u16 = 3;

/// Datagrams each client sends, and the server to each client.
const DATAGRAMS: usize = 60;

/// Sends datagrams of several sizes and classes, one every 3 ms, so that queues fill.
fn blast(from: &UdpSocket, to: IpAddr) {
    // Expedited forwarding (RFC 3246), none, lower effort (RFC 8622), ECN-capable (RFC 3168).
    const SERVICES: [i32; 4] = [46 << 2, 0, 1 << 2, 2];
    // Nobody answers: waiting for an answer is waiting.
    from.set_read_timeout(Some(Duration::from_millis(3))).expect("more than nothing");
    for number in 0..DATAGRAMS {
        // A system that refuses a class sends the packet without it.
        let _ = setsockopt(from, sockopt::Ipv4Tos, &SERVICES[number % SERVICES.len()]);
        // Nobody listens; what matters is what the link does.
        let _ = from.send_to(&vec![0; 100 + 300 * (number % 5)], (to, 9));
        let _ = from.recv(&mut [0]);
    }
}

/// Datagrams between every client and the server at once.
fn exchange(testbed: &Testbed) {
    let server = IpAddr::from(testbed.address(Host::Server));
    let mut senders: Vec<JoinHandle<()>> = Vec::new();
    for number in 0..testbed.terminals() {
        let client = testbed.client(number).expect("one of the terminals");
        let (address, _) = testbed.client_addresses(number).expect("one of the terminals");
        let send = move |to: IpAddr| move || blast(&UdpSocket::bind("0.0.0.0:0").expect("a port"), to);
        senders.push(client.spawn("up", send(server)));
        senders.push(testbed.host(Host::Server).spawn("down", send(address.into())));
    }
    senders.into_iter().for_each(|sender| sender.join().expect("no panic in a sender"));
}

/// What the far link of three terminals at 1 Mbit/s down and 400 kbit/s up did under these settings.
fn recorded(settings: &[&str]) -> Option<LinkRecord> {
    const USUAL: [&str; 6] = [
        "access.terminals=3",
        "link.down.rate=1 Mbit/s",
        "link.up.rate=400 kbit/s",
        "link.down.queue=20 kB",
        "link.up.queue=20 kB",
        "run.seed=3",
    ];
    let testbed = testbed(&[&USUAL, settings].concat())?;
    assert_eq!(testbed.terminals(), TERMINALS);
    exchange(&testbed);
    // What still waits is inside in the replay, too.
    Some(testbed.stop().expect("a record").link.expect("a packet log"))
}

/// Checks that the record replays, and gives what has happened in it.
fn happened(settings: &[&str]) -> Option<Happened> {
    let link = recorded(settings)?;
    let summary = replay::verify(&link).unwrap_or_else(|difference| panic!("{settings:?}: {difference}"));
    assert_eq!((summary.deliveries + summary.drops) as usize, link.outputs.len(), "{settings:?}");
    assert!(summary.deliveries > 50, "{settings:?}: {summary:?}");
    // What is written and read again is the same run.
    let mut log = Vec::new();
    replay::write_log(&link, &mut log).expect("memory takes everything");
    let reread = replay::verify_log(&log[..]).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    assert_eq!(reread, summary, "{settings:?}");
    Some(Happened::of(&link))
}

/// What became of packets.
#[derive(Debug, Default)]
struct Happened {
    dropped: BTreeSet<&'static str>,
    corrupted: bool,
    marked: bool,
    duplicated: bool,
    reordered: bool,
}

impl Happened {
    fn of(link: &LinkRecord) -> Self {
        let mut happened = Self::default();
        let mut delivered = BTreeSet::new();
        let mut last = std::collections::BTreeMap::new();
        for output in &link.outputs {
            match output {
                Output::Drop { reason, .. } => {
                    happened.dropped.insert(reason.word());
                }
                Output::Deliver { packet, port, .. } => {
                    happened.corrupted |= packet.corrupted;
                    happened.marked |= packet.marked;
                    happened.duplicated |= !delivered.insert(packet.id);
                    let before = last.insert((*port, packet.flow), packet.id);
                    happened.reordered |= before.is_some_and(|before| before > packet.id);
                }
            }
        }
        happened
    }
}

/// Settings, and what must be seen to have happened.
type Case<S> = (S, fn(&Happened) -> bool);

#[test]
fn every_impairment_replays() {
    let cases: [Case<&[&str]>; 13] = [
        (&["link.down.loss=5 %"], |seen| seen.dropped.contains(DropReason::Lost.word())),
        (&["link.up.loss=gilbert-elliott enter=5% leave=20%"], |seen| seen.dropped.contains(DropReason::Lost.word())),
        (&["link.down.loss=bit-errors rate=0.00001"], |seen| seen.dropped.contains(DropReason::Lost.word())),
        (&["link.down.outages=periodic first=1ms period=100ms length=30ms"], |seen| {
            seen.dropped.contains(DropReason::Outage.word())
        }),
        (&["link.up.outages=random up=50ms down=50ms"], |seen| seen.dropped.contains(DropReason::Outage.word())),
        (&["link.down.corruption=20 %"], |seen| seen.corrupted),
        (&["link.down.duplication=20 %"], |seen| seen.duplicated),
        (&["link.down.jitter=uniform max=20ms", "link.up.jitter=exponential mean=5ms"], |seen| !seen.reordered),
        (&["link.down.reordering=probability=0.2 by=50ms"], |seen| seen.reordered),
        (&["link.down.framing=overhead=20B redundancy=16/15", "link.down.queue=5 packets"], |seen| {
            seen.dropped.contains(DropReason::QueueFull.word())
        }),
        (&["link.orbit=leo altitude=550km elevation=25deg handover=1s pause=100ms"], |_| true),
        (
            &[
                "link.down.rate=unlimited",
                "link.down.trace=steps end=repeat length=300ms at=0ms:1Mbit/s;100ms:0;200ms:3Mbit/s:9ms",
            ],
            |_| true,
        ),
        (&["link.up.rate=unlimited", "link.up.trace=opportunities end=repeat length=10ms unit=ms times=3;3;9"], |_| {
            true
        }),
    ];
    for (settings, is_seen) in cases {
        let Some(happened) = happened(settings) else { return };
        assert!(is_seen(&happened), "{settings:?}: {happened:?}");
    }
}

#[test]
fn every_queue_discipline_replays() {
    let cases: [Case<&str>; 5] = [
        ("codel target=1ms interval=10ms", |seen| seen.dropped.contains(DropReason::QueueDelay.word())),
        ("codel target=1ms interval=10ms ecn=on", |seen| seen.marked),
        ("fair-queue quantum=300B", |seen| seen.dropped.contains(DropReason::QueueFull.word())),
        ("fq-codel target=1ms interval=10ms", |seen| seen.dropped.contains(DropReason::QueueDelay.word())),
        ("priority", |seen| seen.dropped.contains(DropReason::QueueFull.word())),
    ];
    for (discipline, is_seen) in cases {
        let discipline = format!("link.down.discipline={discipline}");
        let settings = [discipline.as_str(), "link.down.rate=500 kbit/s", "link.down.queue=10 kB"];
        let Some(happened) = happened(&settings) else { return };
        assert!(is_seen(&happened), "{settings:?}: {happened:?}");
    }
}

#[test]
fn every_scheme_of_medium_access_replays() {
    for scheme in ["dedicated", "tdma", "cfdama", "aloha-periodic", "slotted-aloha", "dama"] {
        let scheme = format!("access.scheme={scheme}");
        if happened(&[&scheme, "link.up.outages=periodic first=100ms period=300ms length=20ms"]).is_none() {
            return;
        }
    }
}
