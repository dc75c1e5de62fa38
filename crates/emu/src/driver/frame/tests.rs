use super::*;
use proptest::prelude::*;

fn frame(bytes: &[u8]) -> Frame {
    Frame::new(1, Destination::Terminal(0), bytes.into(), 0..bytes.len())
}

/// An IPv4 packet with a right header checksum, 10.0.0.1 → 10.0.0.2.
fn v4(class: u8, fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (V4_HEADER + payload.len()) as u16;
    let mut packet = vec![0x45, class];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 7]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = !checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

/// An IPv6 packet, fd77::1 → fd77::2.
fn v6(class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for host in [1, 2] {
        packet.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    packet.extend(payload);
    packet
}

/// The ones' complement sum of the header: all ones if its checksum is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header[..V4_HEADER].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

const PORTS: [u8; 8] = [0x1f, 0x90, 0xc3, 0x50, 0, 8, 0, 0];

fn flow(packet: &[u8]) -> u64 {
    frame(packet).flow()
}

#[test]
fn connections_have_flows_of_their_own_in_each_direction() {
    let tcp = v4(0, 0, protocol::TCP, &PORTS);
    assert_eq!(flow(&tcp), flow(&v4(0xb8, 0, protocol::TCP, &[&PORTS[..4], &[9; 50]].concat())));
    let mut others = vec![v4(0, 0, protocol::UDP, &PORTS), v6(0, protocol::TCP, &PORTS), v6(0, protocol::UDP, &PORTS)];
    for (place, bytes) in [(12, [10, 0, 0, 3]), (16, [10, 0, 0, 3]), (20, [0, 1, 0, 2]), (20, [0xc3, 0x50, 0x1f, 0x90])]
    {
        let mut other = tcp.clone();
        other[place..place + 4].copy_from_slice(&bytes);
        others.push(other);
    }
    let mut flows: Vec<_> = others.iter().map(|packet| flow(packet)).collect();
    flows.extend([flow(&tcp), flow(&v4(0, 0, protocol::ESP, &PORTS)), flow(&v4(0, 0, protocol::AH, &PORTS))]);
    flows.push(flow(&v4(0, 0, protocol::ESP, &[0; 8])));
    let count = flows.len();
    flows.sort_unstable();
    flows.dedup();
    assert_eq!(flows.len(), count, "two have the same flow");
    assert!(flows.iter().all(|flow| *flow < 1 << 53));
}

#[test]
fn protocols_without_ports_flow_by_address() {
    assert_eq!(flow(&v4(0, 0, 1, &PORTS)), flow(&v4(0, 0, 1, &[1; 8])));
}

#[test]
fn all_fragments_of_a_packet_have_one_flow() {
    let more_fragments = 0x2000;
    let first = v4(0, more_fragments, protocol::UDP, &PORTS);
    assert_eq!(flow(&first), flow(&v4(0, more_fragments | 185, protocol::UDP, &[1; 30])));
    assert_eq!(flow(&first), flow(&v4(0, 370, protocol::UDP, &[2; 10])));
    assert_ne!(flow(&first), flow(&v4(0, 0x4000, protocol::UDP, &PORTS)), "don't fragment is no fragment");

    let fragment = |offset_and_more: u16, payload: &[u8]| {
        let [high, low] = offset_and_more.to_be_bytes();
        v6(0, protocol::FRAGMENT, &[&[protocol::UDP, 0, high, low, 0, 0, 0, 9][..], payload].concat())
    };
    assert_eq!(flow(&fragment(1, &PORTS)), flow(&fragment(185 << 3, &[1; 30])));
    assert_eq!(flow(&fragment(0, &PORTS)), flow(&v6(0, protocol::UDP, &PORTS)), "an atomic fragment is whole");
}

#[test]
fn ports_are_found_behind_extension_headers() {
    let hops = [protocol::ROUTING, 0, 1, 4, 0, 0, 0, 0];
    let routing = [protocol::DESTINATION_OPTIONS, 1, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9];
    let options = [protocol::TCP, 0, 1, 4, 0, 0, 0, 0];
    let packet = v6(0, protocol::HOP_BY_HOP, &[&hops[..], &routing, &options, &PORTS].concat());
    assert_eq!(flow(&packet), flow(&v6(0, protocol::TCP, &PORTS)));
    // The whole chain is cut off: what is left is no flow of its own, but an answer.
    assert_eq!(flow(&packet[..V6_HEADER + 9]), flow(&packet[..V6_HEADER + 20]));
}

#[test]
fn classes_follow_dscp_and_multicast() {
    let dscp = |value: u8| {
        let classes =
            [v4(value << 2, 0, 17, &PORTS), v6(value << 2 | 1, 17, &PORTS)].map(|packet| frame(&packet).class());
        assert_eq!(classes[0], classes[1], "DSCP {value}");
        classes[0]
    };
    for (value, class) in [(46, Class::High), (48, Class::High), (56, Class::High), (1, Class::Low), (8, Class::Low)] {
        assert_eq!(dscp(value), class, "DSCP {value}");
    }
    assert_eq!((dscp(0), dscp(34)), (Class::Normal, Class::Normal));
    let (mut group4, mut group6) = (v4(0, 0, 17, &PORTS), v6(4, 17, &PORTS));
    group4[16..20].copy_from_slice(&[239, 1, 2, 3]);
    group6[24] = 0xff;
    assert_eq!([frame(&group4).class(), frame(&group6).class()], [Class::High; 2]);
}

#[test]
fn only_capable_packets_are_marked_capable() {
    for (bits, capable) in [(0, false), (1, true), (2, true), (3, true)] {
        for packet in [v4(bits, 0, 6, &PORTS), v6(bits, 6, &PORTS)] {
            assert_eq!(frame(&packet).is_ecn_capable(), capable, "{bits}");
            assert_eq!(frame(&packet).recorded().marked, bits == 3, "{bits}");
        }
    }
}

#[test]
fn a_corrupted_packet_differs_in_one_bit_behind_the_ip_header() {
    for packet in [v4(0, 0, 6, &PORTS), v6(0, 6, &PORTS)] {
        let header = packet.len() - PORTS.len();
        for draw in [0, 1, 63, 64, u64::MAX] {
            let mut corrupted = frame(&packet);
            corrupted.corrupt(draw);
            assert_eq!(corrupted.bytes()[..header], packet[..header]);
            let differing =
                corrupted.bytes().iter().zip(&packet).map(|(new, old)| (new ^ old).count_ones()).sum::<u32>();
            assert_eq!(differing, 1, "draw {draw}");
            assert!(corrupted.recorded().corrupted);
        }
    }
    let bare = v4(0, 0, 6, &[]);
    let mut corrupted = frame(&bare);
    corrupted.corrupt(5);
    assert_eq!(corrupted.bytes(), bare);
}

#[test]
fn what_devices_have_before_a_packet_is_not_the_packets() {
    let packet = v4(2, 0, 6, &PORTS);
    let buffer = [&[9; 10][..], &packet, &[7; 50]].concat();
    let mut bundled = Frame::new(1, Destination::Terminal(0), buffer.into(), 10..10 + packet.len());
    assert_eq!((bundled.bytes(), bundled.flow()), (&packet[..], flow(&packet)));
    bundled.corrupt(0);
    bundled.mark_congestion();
    assert_eq!((&bundled.with_header()[..10], bundled.with_header().len()), (&[9; 10][..], 10 + packet.len()));
}

#[test]
fn a_duplicate_has_bytes_of_its_own() {
    let original = frame(&v4(0, 0, 6, &PORTS));
    let mut duplicate = original.clone();
    duplicate.corrupt(3);
    assert_ne!(original.bytes(), duplicate.bytes());
    assert_eq!(original.recorded().id, duplicate.recorded().id);
}

proptest! {
    #[test]
    fn marking_keeps_the_header_checksum_right(class: u8, identification: u16, payload: [u8; 4]) {
        let mut packet = v4(class, 0, 6, &payload);
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[10..12].fill(0);
        let sum = !checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut marked = frame(&packet);
        marked.mark_congestion();
        prop_assert_eq!(checksum(marked.bytes()), 0xffff);
        prop_assert!(marked.recorded().marked);
        prop_assert_eq!(marked.bytes()[1] & !ECN, class & !ECN);
    }

    #[test]
    fn any_bytes_are_a_packet(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), first in 0..4_usize, draw: u64) {
        if let Some(byte) = bytes.first_mut() {
            *byte = [0x45, 0x60, 0x4f, *byte][first];
        }
        let mut packet = frame(&bytes);
        let _ = packet.recorded();
        packet.mark_congestion();
        packet.corrupt(draw);
        prop_assert_eq!(packet.bytes().len(), bytes.len());
    }
}
