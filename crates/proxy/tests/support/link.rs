//! A UDP relay between the boxes: one-way delay, optional rate and queue, random loss (from a fixed seed) towards the terminal.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
    /// Bytes that may wait for that rate.
    pub queue: Option<u64>,
}

/// Packets and when they come out.
type Pipe = mpsc::UnboundedSender<(Instant, Vec<u8>)>;

pub struct Link {
    /// What the terminal takes for the gateway.
    pub address: SocketAddr,
    pub lost: Arc<AtomicU64>,
    pub sent_up: Arc<AtomicU64>,
    pub sent_down: Arc<AtomicU64>,
    serializer: Serializer,
}

/// Until when the rate towards the terminal is taken.
type Serializer = Arc<Mutex<Instant>>;

impl Link {
    pub async fn start(gateway: SocketAddr, config: LinkConfig) -> Self {
        Self::start_with(gateway, config, Arc::new(Mutex::new(now()))).await
    }

    /// A further terminal's, which shares the rate towards the terminals.
    pub async fn beside(&self, gateway: SocketAddr, config: LinkConfig) -> Self {
        Self::start_with(gateway, config, Arc::clone(&self.serializer)).await
    }

    async fn start_with(gateway: SocketAddr, config: LinkConfig, serializer: Serializer) -> Self {
        let near = socket().await;
        let address = near.local_addr().expect("a bound socket");
        let [lost, sent_up, sent_down] = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let down =
            Down { config, lost: Arc::clone(&lost), sent: Arc::clone(&sent_down), serializer: Arc::clone(&serializer) };
        tokio::spawn(relay(near, gateway, down, Arc::clone(&sent_up)));
        Self { address, lost, sent_up, sent_down, serializer }
    }
}

/// What happens on the way to the terminal.
#[derive(Clone)]
struct Down {
    config: LinkConfig,
    lost: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
    serializer: Serializer,
}

impl Down {
    /// When a packet that comes now is there; `None` if the queue has no room for it.
    fn arrival(&self, length: usize) -> Option<Instant> {
        let Some(rate) = self.config.rate else { return Some(now() + self.config.delay) };
        let time = |bytes: u64| Duration::from_nanos(bytes * 8 * 1_000_000_000 / rate);
        let mut taken_until = self.serializer.lock().expect("nobody panics with it");
        let begin = taken_until.max(now());
        if self.config.queue.is_some_and(|queue| begin - now() > time(queue)) {
            return None;
        }
        *taken_until = begin + time(length as u64 + 28);
        Some(*taken_until + self.config.delay)
    }
}

async fn socket() -> Arc<UdpSocket> {
    let socket = UdpSocket::bind(super::any_port()).await.expect("a free port");
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    Arc::new(socket)
}

async fn relay(near: Arc<UdpSocket>, gateway: SocketAddr, down: Down, up: Arc<AtomicU64>) {
    let mut buffer = vec![0; 1 << 16];
    let mut towards_gateway: Option<(SocketAddr, Pipe)> = None;
    loop {
        let Ok((length, from)) = near.recv_from(&mut buffer).await else { continue };
        // A new terminal socket gets a new socket towards the gateway.
        if towards_gateway.as_ref().is_none_or(|(known, _)| *known != from) {
            let far = socket().await;
            let pipe = pipe(Arc::clone(&far), gateway);
            tokio::spawn(back(far, Arc::clone(&near), from, down.clone()));
            towards_gateway = Some((from, pipe));
        }
        up.fetch_add(1, Ordering::Relaxed);
        let (_, pipe) = towards_gateway.as_ref().expect("set above");
        let _ = pipe.send((now() + down.config.delay, buffer[..length].to_vec()));
    }
}

async fn back(far: Arc<UdpSocket>, near: Arc<UdpSocket>, terminal: SocketAddr, down: Down) {
    let pipe = pipe(near, terminal);
    let mut buffer = vec![0; 1 << 16];
    let mut count = 0_u64;
    loop {
        let Ok(length) = far.recv(&mut buffer).await else { continue };
        count += 1;
        // The first packets are the handshake's; a run without them says nothing about streams.
        let is_lost = count > 20 && dice(count) < down.config.loss;
        match down.arrival(length).filter(|_| !is_lost) {
            Some(arrival) => {
                down.sent.fetch_add(length as u64, Ordering::Relaxed);
                let _ = pipe.send((arrival, buffer[..length].to_vec()));
            }
            None => drop(down.lost.fetch_add(1, Ordering::Relaxed)),
        }
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
