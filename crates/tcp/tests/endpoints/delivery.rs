//! Laws of every transfer: all bytes arrive exactly once and in order, whatever is lost or reordered on the way, and it ends.

use crate::network::{End, Network, Pipe};
use farhop_tcp::{ByteCounting, Congestion, FirstAck, HostTimes, Profile, TcpConfig};
use farhop_units::{Bytes, Instant, Probability, Rate};
use proptest::prelude::*;
use std::time::Duration;

fn config() -> impl Strategy<Value = TcpConfig> {
    let profile = prop_oneof![Just(Profile::Linux), Just(Profile::Bsd1997), Just(Profile::Rfc)];
    let congestion =
        prop_oneof![Just(Congestion::Reno), Just(Congestion::NewReno), Just(Congestion::Cubic), Just(Congestion::Bbr)];
    let first_ack = prop_oneof![Just(FirstAck::Immediate), Just(FirstAck::Delayed)];
    let max_window = prop_oneof![Just(None), (1_u64..100_000).prop_map(|bytes| Some(Bytes::new(bytes)))];
    // Windows of two segments and more: what is below is probed for, with bytes that count twice.
    let buffer = prop_oneof![Just(TcpConfig::LINUX_LARGEST_BUFFER), (40_000_u64..500_000).prop_map(Bytes::new)];
    let counting = prop_oneof![
        Just(ByteCounting::Packets),
        (1_u16..4).prop_map(ByteCounting::Segments),
        Just(ByteCounting::Unlimited)
    ];
    let options = (any::<bool>(), any::<bool>(), counting);
    (profile, congestion, 1_u32..20, max_window, buffer, 200_u64..9000, first_ack, options).prop_map(
        |(profile, congestion, initial_window, max_window, receive_buffer, mss, first_ack, options)| {
            let (mss, (sack, ecn, byte_counting)) = (Bytes::new(mss), options);
            TcpConfig {
                profile,
                congestion,
                initial_window,
                max_window,
                receive_buffer,
                mss,
                first_ack,
                sack,
                ecn,
                byte_counting,
                host_times: HostTimes::quiet(),
            }
        },
    )
}

fn pipe(max_loss: f64) -> impl Strategy<Value = Pipe> {
    let rate = prop_oneof![Just(None), (64_u64..100_000).prop_map(|kbps| Some(Rate::kbps(kbps)))];
    (rate, 0_u64..300, 0_u64..100, 0.0..max_loss).prop_map(|(rate, delay, spread, loss)| Pipe {
        rate,
        delay: Duration::from_millis(delay),
        spread: Duration::from_millis(spread),
        loss: Probability::new(loss).expect("from 0 to 1"),
        ..Pipe::default()
    })
}

/// A request one way, a response the other, then both ends close.
fn exchange(network: &mut Network, request: Bytes, response: Bytes) -> Result<(), TestCaseError> {
    let happened = |what, done: bool| if done { Ok(()) } else { Err(TestCaseError::fail(format!("never {what}"))) };
    happened("connected", network.run_until(|net| net.seen(End::Client).connected.is_some()))?;
    network.write(End::Client, request);
    happened("asked", network.run_until(|net| net.seen(End::Server).received >= request))?;
    network.write(End::Server, response);
    network.close(End::Server);
    happened("answered", network.run_until(|net| net.seen(End::Client).finished))?;
    prop_assert_eq!(network.seen(End::Client).received, response, "all before the FIN");
    network.close(End::Client);
    let closed = |net: &Network| net.seen(End::Client).closed && net.seen(End::Server).closed;
    happened("closed", network.run_until(closed))?;
    // Whatever still flies changes nothing.
    network.run_until(|_| false);
    prop_assert_eq!(network.seen(End::Client).received, response);
    prop_assert_eq!(network.seen(End::Server).received, request);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_arrives_once_though_segments_are_lost_and_reordered(
        config in config(), to in pipe(0.3), back in pipe(0.3), response in 1_u64..300_000, seed: u64) {
        let mut network = Network::new(&config, [to, back], seed);
        exchange(&mut network, Bytes::new(350), Bytes::new(response))?;
    }

    #[test]
    fn a_transfer_ends_though_most_segments_are_lost(
        config in config(), to in pipe(0.8), back in pipe(0.8), response in 1_u64..10_000, seed: u64) {
        let mut network = Network::new(&config, [to, back], seed);
        exchange(&mut network, Bytes::new(10), Bytes::new(response))?;
    }

    #[test]
    fn nothing_is_sent_twice_where_nothing_is_lost(config in config(), response in 1_u64..300_000) {
        let far = || Pipe { delay: Duration::from_millis(250), rate: Some(Rate::mbps(100)), ..Pipe::default() };
        let mut network = Network::new(&config, [far(), far()], 0);
        exchange(&mut network, Bytes::new(350), Bytes::new(response))?;
        if config.max_window.is_none() {
            prop_assert_eq!(u64::from(network.seen(End::Server).data_segments_sent), response.div_ceil(config.mss.get()));
        }
    }
}

fn download(config: &TcpConfig, loss: f64, seed: u64) -> f64 {
    let far = |loss| Pipe {
        delay: Duration::from_millis(100),
        rate: Some(Rate::mbps(10)),
        loss: Probability::new(loss).expect("from 0 to 1"),
        ..Pipe::default()
    };
    let mut network = Network::new(config, [far(0.0), far(loss)], seed);
    exchange(&mut network, Bytes::new(350), Bytes::kb(2000)).expect("completes");
    network.seen(End::Client).last_received.expect("data arrived").since(Instant::START).as_secs_f64()
}

fn mean_download(config: &TcpConfig, loss: f64) -> f64 {
    (0..20).map(|seed| download(config, loss, seed)).sum::<f64>() / 20.0
}

#[test]
fn loss_slows_a_transfer_and_better_repair_slows_it_less() {
    let rfc = TcpConfig { congestion: Congestion::Reno, sack: false, ..TcpConfig::of(Profile::Rfc) };
    let new_reno = TcpConfig { congestion: Congestion::NewReno, ..rfc.clone() };
    let linux = TcpConfig { congestion: Congestion::NewReno, ..TcpConfig::of(Profile::Linux) };
    let clean = mean_download(&linux, 0.0);
    let [reno, new_reno, sack] = [rfc, new_reno, linux].map(|config| mean_download(&config, 0.02));
    println!("clean {clean:.2} s; 2 % loss: Reno {reno:.2} s, NewReno {new_reno:.2} s, SACK {sack:.2} s");
    assert!(clean < sack && sack < new_reno && new_reno < reno, "{clean} {sack} {new_reno} {reno}");
}

/// Mathis et al. 1997: MSS/RTT · √(3/2p) for losses at equal distances; timeouts cost more at high loss.
#[test]
fn long_lossy_transfers_follow_the_square_root_law() {
    let config = TcpConfig { congestion: Congestion::NewReno, ..TcpConfig::of(Profile::Linux) };
    let rtt = 0.1;
    // 500 losses are enough to forget slow start.
    for (p, segments) in [(0.002_f64, 250_000), (0.005, 100_000), (0.01, 50_000)] {
        let size = config.mss * segments;
        let loss = Probability::new(p).expect("from 0 to 1");
        let far = |loss| Pipe { delay: Duration::from_millis(50), loss, ..Pipe::default() };
        let seconds: f64 = (0..4)
            .map(|seed| {
                let mut network = Network::new(&config, [far(Probability::ZERO), far(loss)], seed);
                exchange(&mut network, Bytes::new(350), size).expect("completes");
                network.seen(End::Client).last_received.expect("data arrived").as_secs_f64() / 4.0
            })
            .sum();
        let segments_per_rtt = size.as_f64() / config.mss.as_f64() / (seconds / rtt);
        let law = (1.5 / p).sqrt();
        println!("{p}: {segments_per_rtt:.1} segments per RTT, the law says {law:.1}");
        assert!((0.85..1.15).contains(&(segments_per_rtt / law)), "{segments_per_rtt} against {law}");
    }
}
