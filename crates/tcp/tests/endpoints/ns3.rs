//! One flow without loss, against ns-3.
//!
//! Source of the expected times: ns-3, optimised build, one TCP NewReno flow of 1 MiB, initial window 1, delayed ACK 2 / 200 ms
//! with the first segment acknowledged at once, no SACK, MSS 1448, 52 bytes of headers, the opener sends, queues that never drop:
//! the setting of Fig 5 of Obata et al. 2001, link rates 2048 and 64 kbit/s. The time runs from the first data segment sent to the
//! last byte received.

use crate::network::{End, Network, Pipe};
use farhop_tcp::{FirstAck, Profile, TcpConfig};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

const SIZE: Bytes = Bytes::new(1_048_576);

/// Delay towards the sender in ms, receive window in bytes, ns-3's time in s.
const NS3: [(u64, u64, f64); 28] = [
    (250, 4096, 187.846_255),
    (250, 8192, 83.745_483),
    (250, 16384, 38.907_331),
    (250, 32768, 19.672_051),
    (250, 65536, 11.993_302),
    (250, 131_072, 8.768_037),
    (250, 196_608, 8.768_037),
    (125, 4096, 142.596_255),
    (125, 8192, 70.773_920),
    (125, 16384, 29.532_331),
    (125, 32768, 15.181_676),
    (125, 65536, 9.265_818),
    (125, 131_072, 7.558_271),
    (125, 196_608, 7.558_271),
    (30, 4096, 108.206_255),
    (30, 8192, 53.483_920),
    (30, 16384, 22.407_331),
    (30, 32768, 11.571_676),
    (30, 65536, 7.088_068),
    (30, 131_072, 6.638_958),
    (30, 196_608, 6.638_958),
    (25, 4096, 106.396_255),
    (25, 8192, 52.573_920),
    (25, 16384, 22.032_331),
    (25, 32768, 11.381_676),
    (25, 65536, 6.978_068),
    (25, 131_072, 6.593_958),
    (25, 196_608, 6.593_958),
];

fn transfer(return_delay: Duration, window: Bytes) -> (f64, u32) {
    let config = TcpConfig {
        initial_window: 1,
        max_window: Some(window),
        first_ack: FirstAck::Immediate,
        ..TcpConfig::of(Profile::Rfc)
    };
    let data = Pipe { rate: Some(Rate::kbps(2048)), delay: Duration::from_millis(250), ..Pipe::default() };
    let acks = Pipe { rate: Some(Rate::kbps(64)), delay: return_delay, ..Pipe::default() };
    let mut network = Network::new(&config, [data, acks], 0);
    network.run_until(|network| network.seen(End::Client).connected.is_some());
    network.write(End::Client, SIZE);
    assert!(network.run_until(|network| network.seen(End::Server).received == SIZE));
    let start = network.seen(End::Client).first_data_sent.expect("data was sent");
    (network.now.since(start).as_secs_f64(), network.seen(End::Client).data_segments_sent)
}

#[test]
fn a_transfer_takes_as_long_as_in_ns3() {
    for (return_ms, window, expected) in NS3 {
        let (seconds, segments) = transfer(Duration::from_millis(return_ms), Bytes::new(window));
        let error = seconds / expected - 1.0;
        println!(
            "return delay {return_ms} ms, window {window} B: {seconds:.3} s, ns-3 {expected:.3} s, {:+.2} %",
            error * 100.0
        );
        assert!(error.abs() < 0.001, "return delay {return_ms} ms, window {window} B: {seconds} s, ns-3 {expected} s");
        assert_eq!(segments, 725);
    }
}
