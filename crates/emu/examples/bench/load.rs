//! Traffic between the hosts of a testbed, made by ordinary sockets.

use farhop_emu::{Host, Namespace, Testbed};
use farhop_units::{Bytes, Rate};
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, recvmmsg, sendmmsg, socket,
};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A way through the link.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Down,
    Up,
}

impl Way {
    /// Sender and receiver.
    fn ends(self) -> (Host, Host) {
        match self {
            Self::Down => (Host::Server, Host::Client),
            Self::Up => (Host::Client, Host::Server),
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Down => 8000,
            Self::Up => 9000,
        }
    }
}

/// Connections that carry all they can until `end`; the threads give the bytes received.
pub(crate) fn tcp(bed: &Testbed, way: Way, connections: u16, end: Instant) -> Vec<JoinHandle<u64>> {
    let (from, to) = way.ends();
    let start = |number| {
        let address = (bed.address(to), way.port() + number);
        let (ready, is_ready) = mpsc::channel();
        let receiver = bed.host(to).spawn("receiver", move || {
            let listener = TcpListener::bind(address).expect("a free port");
            ready.send(()).expect("the caller waits");
            receive(&mut listener.accept().expect("a connection").0, end)
        });
        is_ready.recv().expect("the receiver lives");
        bed.host(from).spawn("sender", move || {
            let mut stream = TcpStream::connect(address).expect("a listener");
            let block = vec![0; 1 << 17];
            while Instant::now() < end && stream.write(&block).is_ok() {}
        });
        receiver
    };
    (0..connections).map(start).collect()
}

/// What comes until `end`; what is still on its way then is only swallowed.
fn receive(stream: &mut TcpStream, end: Instant) -> u64 {
    let mut block = vec![0; 1 << 18];
    let (mut total, mut all) = (0, 0);
    while let Ok(length @ 1..) = stream.read(&mut block) {
        all += length as u64;
        if Instant::now() < end {
            total = all;
        }
    }
    total
}

/// The bytes of all receivers.
pub(crate) fn sum(receivers: Vec<JoinHandle<u64>>) -> u64 {
    receivers.into_iter().map(|receiver| receiver.join().expect("the receiver lives")).sum()
}

/// What became of datagrams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagrams {
    pub(crate) sent: u64,
    /// From the first to the last that was sent.
    pub(crate) sending: Duration,
    pub(crate) received: u64,
    /// From the first to the last that was received.
    pub(crate) receiving: Duration,
}

/// IP and UDP headers.
const HEADERS: u64 = 28;
/// How long after the last datagram another may come.
const PATIENCE: Duration = Duration::from_secs(2);

/// Datagrams of `size` on the wire at an even pace of `rate` on the wire, from server to client, until `end`.
pub(crate) fn udp(bed: &Testbed, rate: Rate, size: Bytes, end: Instant) -> Datagrams {
    let address = (bed.address(Host::Client), 9);
    let (ready, is_ready) = mpsc::channel();
    let receiver = bed.host(Host::Client).spawn("receiver", move || {
        let socket = UdpSocket::bind(address).expect("a free port");
        set_receive_buffer(&socket, 4 << 20);
        socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        ready.send(()).expect("the caller waits");
        count(&socket)
    });
    is_ready.recv().expect("the receiver lives");
    let sender = bed.host(Host::Server).spawn("sender", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("any port");
        socket.connect(address).expect("an address");
        send_evenly(&socket, rate.transmission_time(size), (size.get() - HEADERS) as usize, end)
    });
    let (sent, sending) = sender.join().expect("the sender lives");
    let (received, receiving) = receiver.join().expect("the receiver lives");
    Datagrams { sent, sending, received, receiving }
}

/// How often datagrams are sent if more are due: one burst of them at a time.
const TICK: Duration = Duration::from_micros(100);
/// A sender that was held up makes up for it at no more than so many per cent of its rate: so the link's queue holds what comes in
/// excess of its rate after up to 40 ms.
const CATCH_UP: u64 = 110;
/// A burst has at most what is due in this time.
const LONGEST_BURST: Duration = Duration::from_millis(1);

/// Every datagram is due at a time of its own, counted from the start, so that the rate is kept whatever a sleep takes. How many
/// were sent, and the time from the first to the last.
fn send_evenly(socket: &UdpSocket, interval: Duration, length: usize, end: Instant) -> (u64, Duration) {
    let datagram = vec![0; length];
    let start = Instant::now();
    let nanos = interval.as_nanos() as u64;
    let due_within = |span: Duration| span.as_nanos() as u64 / nanos;
    let all = due_within(end - start);
    let mut burst = Burst::new(&datagram, due_within(LONGEST_BURST).max(1) as usize);
    // Nanoseconds of sending that the link could take, in per cent.
    let most = (LONGEST_BURST.as_nanos() as u64).max(nanos) * 100;
    let (mut sent, mut last, mut credit) = (0, start, nanos * 100);
    while sent < all {
        let now = Instant::now();
        credit = (credit + (now - last).as_nanos() as u64 * CATCH_UP).min(most);
        last = now;
        let due = (due_within(now - start) + 1).min(all);
        let taken = burst.send(socket, (due - sent).min(credit / (nanos * 100)) as usize);
        (sent, credit) = (sent + taken, credit - taken * nanos * 100);
        let next = start + Duration::from_nanos(sent * nanos);
        std::thread::sleep(next.max(now + TICK).saturating_duration_since(Instant::now()));
    }
    (sent, last - start)
}

/// Copies of a datagram that are sent together (sendmmsg(2)).
struct Burst<'a> {
    datagram: [IoSlice<'a>; 1],
    headers: MultiHeaders<()>,
    addresses: Vec<Option<()>>,
}

impl<'a> Burst<'a> {
    fn new(datagram: &'a [u8], most: usize) -> Self {
        let headers = MultiHeaders::preallocate(most, None);
        Self { datagram: [IoSlice::new(datagram)], headers, addresses: vec![None; most] }
    }

    /// Sends `count`, or as many as fit; how many the system took.
    fn send(&mut self, socket: &UdpSocket, count: usize) -> u64 {
        let copies = std::iter::repeat_n(&self.datagram, count);
        let flags = MsgFlags::empty();
        let taken = sendmmsg(socket.as_raw_fd(), &mut self.headers, copies, &self.addresses, [], flags);
        taken.map_or(0, |taken| taken.count() as u64)
    }
}

/// Datagrams that are received together if they wait together.
const RECEIVED: usize = 64;

fn count(socket: &UdpSocket) -> (u64, Duration) {
    let (mut received, mut first, mut last) = (0, None, None);
    let mut datagrams = vec![[0; 2048]; RECEIVED];
    let mut headers = MultiHeaders::<()>::preallocate(RECEIVED, None);
    loop {
        let mut places: Vec<_> = datagrams.iter_mut().map(|datagram| [IoSliceMut::new(datagram)]).collect();
        let flags = MsgFlags::MSG_WAITFORONE;
        let Ok(batch) = recvmmsg(socket.as_raw_fd(), &mut headers, &mut places, flags, None) else { break };
        received += batch.count() as u64;
        let now = Instant::now();
        first = first.or(Some(now));
        last = Some(now);
    }
    (received, last.zip(first).map_or(Duration::ZERO, |(last, first)| last - first))
}

#[expect(unsafe_code, reason = "more than the system's limit cannot be asked for in std")]
fn set_receive_buffer(socket: &UdpSocket, bytes: libc::c_int) {
    // SAFETY: the value lives through the call and has the size that is given.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as libc::socklen_t,
        );
    }
}

/// A server that sends every datagram back.
pub(crate) fn echo(bed: &Testbed) -> SocketAddr {
    let address = SocketAddr::from((bed.address(Host::Server), 7));
    let (ready, is_ready) = mpsc::channel();
    bed.host(Host::Server).spawn("echo", move || {
        let socket = UdpSocket::bind(address).expect("a free port");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        ready.send(()).expect("the caller waits");
        let mut datagram = [0; 64];
        while let Ok((length, from)) = socket.recv_from(&mut datagram) {
            let _ = socket.send_to(&datagram[..length], from);
        }
    });
    is_ready.recv().expect("the echo lives");
    address
}

/// Type, code, checksum, identifier, number and nothing else: an ICMP echo request (RFC 792) of identifier and number zero.
const ECHO_REQUEST: [u8; 8] = [8, 0, 0xf7, 0xff, 0, 0, 0, 0];
/// Where the type is in an answer, behind an IPv4 header without options.
const ANSWER_TYPE: usize = 20;
const ECHO_REPLY: u8 = 0;

/// Round trips of ICMP echo requests from client to server, which the server's kernel answers (as ping(8) has them), one every
/// `interval` until `end`.
pub(crate) fn pings(bed: &Testbed, interval: Duration, end: Instant) -> JoinHandle<Vec<Duration>> {
    let server = SocketAddr::from((bed.address(Host::Server), 0));
    bed.host(Host::Client).spawn("ping", move || {
        let socket = socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp);
        let socket = UdpSocket::from(socket.expect("the right to send ICMP"));
        socket.connect(server).expect("an address");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        let mut round_trips = Vec::new();
        while Instant::now() < end {
            let started = Instant::now();
            let mut answer = [0; 64];
            if socket.send(&ECHO_REQUEST).is_ok() && socket.recv(&mut answer).is_ok() {
                assert_eq!(answer[ANSWER_TYPE], ECHO_REPLY, "only answers come");
                round_trips.push(started.elapsed());
            }
            std::thread::sleep(interval);
        }
        round_trips
    })
}

/// Round trips of single datagrams from one host to an [`echo`], one every `interval` until `end`; those that took more than
/// `PATIENCE` are left out.
pub(crate) fn round_trips(
    from: &Namespace,
    echo: SocketAddr,
    interval: Duration,
    end: Instant,
) -> JoinHandle<Vec<Duration>> {
    from.spawn("client", move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("any port");
        socket.connect(echo).expect("an address");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
        let mut round_trips = Vec::new();
        while Instant::now() < end {
            let started = Instant::now();
            if socket.send(&[0; 32]).is_ok() && socket.recv(&mut [0; 64]).is_ok() {
                round_trips.push(started.elapsed());
            }
            std::thread::sleep(interval);
        }
        round_trips
    })
}
