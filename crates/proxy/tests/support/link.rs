//! A UDP relay between the boxes: one-way delay, optional rate, random loss (from a fixed seed) towards the terminal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

#[derive(Clone, Copy, Default)]
pub struct LinkConfig {
    /// One way, in both directions.
    pub delay: Duration,
    /// Share of the packets towards the terminal that are lost, in per cent.
    pub loss: u64,
    /// Bits per second towards the terminal, IP and UDP headers included.
    pub rate: Option<u64>,
}

/// Packets and when they come out.
type Pipe = mpsc::UnboundedSender<(Instant, Vec<u8>)>;

pub struct Link {
    /// What the terminal takes for the gateway.
    pub address: SocketAddr,
    pub lost: Arc<AtomicU64>,
    pub sent_up: Arc<AtomicU64>,
}

impl Link {
    pub async fn start(gateway: SocketAddr, config: LinkConfig) -> Self {
        let near = socket().await;
        let address = near.local_addr().expect("a bound socket");
        let (lost, sent_up) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        tokio::spawn(relay(near, gateway, config, Arc::clone(&lost), Arc::clone(&sent_up)));
        Self { address, lost, sent_up }
    }
}

async fn socket() -> Arc<UdpSocket> {
    let socket = UdpSocket::bind(super::any_port()).await.expect("a free port");
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    Arc::new(socket)
}

async fn relay(
    near: Arc<UdpSocket>,
    gateway: SocketAddr,
    config: LinkConfig,
    lost: Arc<AtomicU64>,
    up: Arc<AtomicU64>,
) {
    let mut buffer = vec![0; 1 << 16];
    let mut towards_gateway: Option<(SocketAddr, Pipe)> = None;
    loop {
        let Ok((length, from)) = near.recv_from(&mut buffer).await else { continue };
        // A new terminal socket gets a new socket towards the gateway.
        if towards_gateway.as_ref().is_none_or(|(known, _)| *known != from) {
            let far = socket().await;
            let pipe = pipe(Arc::clone(&far), gateway);
            tokio::spawn(back(far, Arc::clone(&near), from, config, Arc::clone(&lost)));
            towards_gateway = Some((from, pipe));
        }
        up.fetch_add(1, Ordering::Relaxed);
        let (_, pipe) = towards_gateway.as_ref().expect("set above");
        let _ = pipe.send((now() + config.delay, buffer[..length].to_vec()));
    }
}

async fn back(
    far: Arc<UdpSocket>,
    near: Arc<UdpSocket>,
    terminal: SocketAddr,
    config: LinkConfig,
    lost: Arc<AtomicU64>,
) {
    let pipe = pipe(near, terminal);
    let mut buffer = vec![0; 1 << 16];
    let (mut count, mut free_at) = (0_u64, now());
    loop {
        let Ok(length) = far.recv(&mut buffer).await else { continue };
        count += 1;
        // The first packets are the handshake's; a run without them says nothing about streams.
        if count > 20 && dice(count) < config.loss {
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let wire_bits = (length as u64 + 28) * 8;
        let took = config.rate.map_or(Duration::ZERO, |rate| Duration::from_nanos(wire_bits * 1_000_000_000 / rate));
        free_at = free_at.max(now()) + took;
        let _ = pipe.send((free_at + config.delay, buffer[..length].to_vec()));
    }
}

/// A number below 100 for the nth packet: SplitMix64, without a pattern that packets could fall into step with.
fn dice(count: u64) -> u64 {
    let mixed = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % 100
}

fn pipe(socket: Arc<UdpSocket>, to: SocketAddr) -> Pipe {
    let (sender, mut receiver) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((at, packet)) = receiver.recv().await {
            sleep_until(at).await;
            let _ = socket.send_to(&packet, to).await;
        }
    });
    sender
}

#[expect(clippy::disallowed_methods, reason = "the relay delays in real time")]
fn now() -> Instant {
    Instant::now()
}
