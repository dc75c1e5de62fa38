//! The gateway's socket: what its connections send shares one rate.
//!
//! The library paces each connection by itself and hands over datagrams one connection at a time; here each waits for its turn
//! ([`farhop_accel::share`]). While it waits, its connection makes no more packets, so that what is urgent still comes first.

use crate::clock::Clock;
use farhop_accel::rate::Encapsulation;
use farhop_accel::share::{Share, SharedRate};
use farhop_units::{Bytes, Instant, Rate};
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, UdpSender};
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Timers of the runtime are up to a millisecond late, and a busy machine's threads some more.
const LATENESS: Duration = Duration::from_millis(4);
/// Datagrams that leave at once take no longer than this, or there is only one.
const BURST: Duration = Duration::from_millis(2);
const FULL_PACKET: u64 = 1500;

#[derive(Debug)]
pub(crate) struct SharedSocket {
    socket: Box<dyn AsyncUdpSocket>,
    rate: SharedRate,
    clock: Clock,
}

impl SharedSocket {
    /// What is sent through `socket` keeps to `rate`, headers included.
    pub(crate) fn new(socket: Box<dyn AsyncUdpSocket>, rate: Rate) -> Self {
        Self { socket, rate: SharedRate::new(rate, LATENESS), clock: Clock::start() }
    }
}

impl AsyncUdpSocket for SharedSocket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        let (clock, burst) = (self.clock, self.rate.rate().bytes_in(BURST).get() / FULL_PACKET);
        let most = NonZeroUsize::new(usize::try_from(burst).unwrap_or(usize::MAX)).unwrap_or(NonZeroUsize::MIN);
        Box::pin(SharedSender {
            sender: self.socket.create_sender(),
            share: self.rate.share(),
            clock,
            most,
            turn: None,
        })
    }

    fn poll_recv(
        &mut self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(context, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// One connection's way to the socket.
#[derive(Debug)]
struct SharedSender {
    sender: Pin<Box<dyn UdpSender>>,
    share: Share,
    clock: Clock,
    /// Datagrams that may be handed over at once.
    most: NonZeroUsize,
    turn: Option<Pin<Box<Sleep>>>,
}

impl SharedSender {
    /// Ready at the time when so many bytes may leave.
    fn poll_turn(&mut self, context: &mut Context<'_>, now: Instant, size: Bytes) -> Poll<()> {
        let due = self.share.due(now, size);
        if due > now {
            let turn = self.turn.get_or_insert_with(|| Box::pin(sleep(due.since(now))));
            ready!(turn.as_mut().poll(context));
        }
        self.turn = None;
        Poll::Ready(())
    }
}

impl UdpSender for SharedSender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (now, size) = (self.clock.now(), wire_bytes(transmit));
        ready!(self.poll_turn(context, now, size));
        let sent = ready!(self.sender.as_mut().poll_send(transmit, context));
        self.share.sent(now, size);
        Poll::Ready(sent)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.sender.max_transmit_segments().min(self.most)
    }
}

/// What a datagram, or several, takes on the wire.
fn wire_bytes(transmit: &Transmit<'_>) -> Bytes {
    let length = transmit.contents.len();
    let datagrams = transmit.segment_size.map_or(1, |segment| length.div_ceil(segment.max(1)));
    Bytes::new(length as u64) + Encapsulation::of(transmit.destination.ip()).header_bytes() * datagrams as u64
}
