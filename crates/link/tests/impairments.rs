//! Impairments of a channel side by side: each does to every packet what it does without the others.

use farhop_link::{Channel, ChannelConfig, DropReason, Output, Packet, Port};
use farhop_units::{Bytes, Instant};
use std::collections::BTreeSet;
use std::time::Duration;

const SEED: u64 = 11;
const PACKETS: u64 = 2000;

/// A packet of a number, with the draw that corrupted it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Datagram(u64, Option<u64>);

impl Packet for Datagram {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(1500)
    }

    fn corrupt(&mut self, draw: u64) {
        self.1 = Some(draw);
    }
}

/// What comes of packets that enter at the gateway every ms, over a link of 20 Mbit/s and 250 ms with these settings.
fn outputs(settings: &[(&str, &str)]) -> Vec<Output<Datagram>> {
    let mut config = ChannelConfig::default();
    for (name, value) in [("rate", "20 Mbit/s"), ("delay", "250 ms")].iter().chain(settings) {
        config.set(&format!("down.{name}"), value).expect("a good setting");
    }
    let mut channel = Channel::new(config, SEED);
    for number in 0..PACKETS {
        let at = Instant::START + Duration::from_millis(number);
        channel.handle_packet(at, Port::Gateway, Datagram(number, None));
    }
    while let Some(due) = channel.next_timeout() {
        channel.handle_timeout(due);
    }
    core::iter::from_fn(|| channel.poll()).collect()
}

fn dropped(outputs: &[Output<Datagram>], why: DropReason) -> BTreeSet<u64> {
    let number = |output: &Output<Datagram>| match output {
        Output::Drop { packet, reason, .. } if *reason == why => Some(packet.0),
        _ => None,
    };
    outputs.iter().filter_map(number).collect()
}

/// Numbers of the packets delivered, in order.
fn delivered(outputs: &[Output<Datagram>]) -> Vec<u64> {
    let number = |output: &Output<Datagram>| match output {
        Output::Deliver { packet, .. } => Some(packet.0),
        Output::Drop { .. } => None,
    };
    outputs.iter().filter_map(number).collect()
}

const LOSS: (&str, &str) = ("loss", "gilbert-elliott enter=2% leave=30%");
const OTHERS: [(&str, &str); 4] = [
    ("jitter", "exponential mean=2ms"),
    ("reordering", "probability=5% by=10ms"),
    ("corruption", "10 %"),
    ("duplication", "10 %"),
];

#[test]
fn no_other_impairment_changes_who_is_lost() {
    let lost = dropped(&outputs(&[LOSS]), DropReason::Lost);
    assert!((60..200).contains(&lost.len()), "{}", lost.len());
    for other in OTHERS {
        assert_eq!(dropped(&outputs(&[LOSS, other]), DropReason::Lost), lost, "with {other:?}");
    }
}

#[test]
fn an_outage_takes_packets_and_changes_the_fate_of_no_other() {
    let lost = dropped(&outputs(&[LOSS]), DropReason::Lost);
    let outputs = outputs(&[LOSS, ("outages", "at windows=800ms+100ms")]);
    let taken = dropped(&outputs, DropReason::Outage);
    // Service takes 0.6 ms, so packet n arrives at n + 250.6 ms.
    assert!((550..650).all(|number| taken.contains(&number)), "{taken:?}");
    let remaining: BTreeSet<u64> = lost.difference(&taken).copied().collect();
    assert_eq!(dropped(&outputs, DropReason::Lost), remaining);
}

#[test]
fn loss_changes_neither_who_is_corrupted_nor_how() {
    let corrupted = |settings: &[(&str, &str)]| -> Vec<(u64, u64)> {
        let draw = |output: Output<Datagram>| match output {
            Output::Deliver { packet, .. } => packet.1.map(|draw| (packet.0, draw)),
            Output::Drop { .. } => None,
        };
        outputs(settings).into_iter().filter_map(draw).collect()
    };
    let mut without = corrupted(&[("corruption", "10 %")]);
    let lost = dropped(&outputs(&[LOSS]), DropReason::Lost);
    without.retain(|(number, _)| !lost.contains(number));
    assert_eq!(corrupted(&[("corruption", "10 %"), LOSS]), without);
}

#[test]
fn jitter_keeps_the_order_and_reordering_does_not() {
    let all: Vec<u64> = (0..PACKETS).collect();
    assert_eq!(delivered(&outputs(&[("jitter", "uniform max=20ms")])), all);
    let mut reordered = delivered(&outputs(&[("reordering", "probability=5% by=10ms")]));
    assert!(!reordered.is_sorted());
    reordered.sort_unstable();
    assert_eq!(reordered, all);
}

#[test]
fn a_copy_arrives_right_after_its_original() {
    let outputs = outputs(&[("duplication", "10 %"), ("corruption", "50 %")]);
    let twins: Vec<_> = outputs.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!((150..250).contains(&twins.len()), "{}", twins.len());
    assert_eq!(outputs.len(), 2000 + twins.len());
}
