//! TCP in bundles of packets, where a link does nothing but delay.

use crate::{permitted, scenario, transfer};
use farhop_emu::{EmuError, Host, Options, Summary, Testbed, replay};
use farhop_link::replay::Input;
use farhop_units::Bytes;

fn options() -> Options {
    Options { offload: true, ..Options::default() }
}

#[test]
fn bundles_arrive_as_they_were_sent() {
    if !permitted() {
        return;
    }
    let unlimited = scenario(&["link.down.rate=unlimited", "link.up.rate=unlimited"]);
    let testbed = match Testbed::start_with(&unlimited, &options()) {
        Err(error) if error.to_string().contains("/dev/net/tun") => return eprintln!("skipped: {error}"),
        testbed => testbed.expect("a testbed"),
    };
    let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    for ends in [(Host::Server, Host::Client), (Host::Client, Host::Server)] {
        assert!(transfer(&testbed, ends, sent.clone(), |_| ()).received == sent, "the bytes changed on the way");
    }
    let record = testbed.stop().expect("a record");
    assert!(Summary::from(&record).to_string().contains("bundles"));
    let link = record.link.expect("a packet log");
    let largest = link.inputs.iter().filter_map(|input| match input {
        Input::Arrival { packet, .. } => Some(packet.bytes),
        Input::Change { .. } => None,
    });
    assert!(largest.max() > Some(Bytes::new(1500)), "nothing was bundled");
    replay::verify(&link).expect("the same");
}

#[test]
fn a_link_with_a_rate_cannot_carry_bundles() {
    if permitted() {
        let error = Testbed::start_with(&scenario(&[]), &options()).expect_err("100 Mbit/s");
        assert!(matches!(error, EmuError::Control(_)), "{error}");
        assert!(error.to_string().starts_with("packets pass in bundles (offload); accepted: "), "{error}");
    }
}
