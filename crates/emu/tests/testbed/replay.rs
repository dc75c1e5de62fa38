//! What the emulator did in real time is what the link does in virtual time.

use crate::{at, testbed, transfer};
use farhop_emu::{Host, replay};
use farhop_link::{DropReason, Output};
use std::net::UdpSocket;

#[test]
fn recorded_traffic_replays_to_the_same_deliveries_and_drops() {
    let slow_and_lossy =
        ["link.down.rate=20Mbit/s", "link.down.queue=30kB", "link.down.loss=1%", "link.up.loss=0.5%", "run.seed=7"];
    let Some(testbed) = testbed(&slow_and_lossy) else { return };
    let client = testbed.address(Host::Client);
    let blast = testbed.host(Host::Server).spawn("blast", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        (0..3000).for_each(|_| {
            let _ = socket.send_to(&[0; 1000], (client, 9));
        });
    });
    let received = transfer(&testbed, (Host::Client, Host::Server), vec![1; 300_000], |_| ()).received;
    assert_eq!(received.len(), 300_000);
    blast.join().expect("no panic in the blast");
    // A last word that crosses the link is not needed: packets still inside are inside in the replay, too.
    at(&testbed, Host::Terminal, || ());

    let record = testbed.stop().expect("a record");
    let link = record.link.as_ref().expect("a packet log");
    let dropped_for = |wanted| {
        link.outputs.iter().filter(|output| matches!(output, Output::Drop { reason, .. } if *reason == wanted)).count()
    };
    assert!(dropped_for(DropReason::QueueFull) > 0 && dropped_for(DropReason::Lost) > 0, "nothing was dropped");
    assert_eq!(record.dropped as usize, dropped_for(DropReason::QueueFull) + dropped_for(DropReason::Lost));
    let summary = replay::verify(link).expect("the same");
    assert_eq!((summary.deliveries + summary.drops) as usize, link.outputs.len());
}

#[test]
fn links_at_the_edges_of_what_can_be_set_replay_too() {
    for assignments in [
        &["link.down.queue=0 B", "link.up.queue=0 B"][..],
        &["link.down.rate=unlimited", "link.up.rate=unlimited", "link.down.delay=0 ms", "link.down.loss=3 %"],
        &["link.down.rate=18446744073709551615 bit/s", "link.up.rate=999983 bit/s", "link.up.queue=1 kB"],
        &["lan.rate=5 Mbit/s", "lan.queue=3 kB", "wan.delay=3 ms", "wan.loss=2 %", "run.seed=9223372036854775807"],
    ] {
        let Some(testbed) = testbed(assignments) else { return };
        let received = transfer(&testbed, (Host::Server, Host::Client), vec![1; 20_000], |_| ()).received;
        assert_eq!(received.len(), 20_000, "{assignments:?}");
        let link = testbed.stop().expect("a record").link.expect("a packet log");
        assert!(link.outputs.len() >= 14, "{assignments:?}: {} outputs", link.outputs.len());
        let summary = replay::verify(&link).unwrap_or_else(|difference| panic!("{assignments:?}: {difference}"));
        assert_eq!((summary.deliveries + summary.drops) as usize, link.outputs.len(), "{assignments:?}");
    }
}

#[test]
fn an_altered_record_does_not_replay() {
    let Some(testbed) = testbed(&[]) else { return };
    let received = transfer(&testbed, (Host::Client, Host::Server), vec![1; 10_000], |_| ()).received;
    assert_eq!(received.len(), 10_000);
    let mut link = testbed.stop().expect("a record").link.expect("a packet log");
    link.inputs.remove(0);
    assert!(replay::verify(&link).is_err());
}
