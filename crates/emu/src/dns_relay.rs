//! A relay between resolvers inside and those outside: it listens at the server and asks from the emulator's own network.
//!
//! A socket belongs to the network in which it was made, whatever thread uses it, so one thread can hold both ends and not a
//! packet of it needs address translation. Messages are passed on unread, over UDP and TCP (RFC 1035 §4.2, RFC 7766) as they
//! came; the nameservers are those of `/etc/resolv.conf` (resolv.conf(5)) at the time of the question, asked one after the
//! other until one answers.
//!
//! Left out: caching, and DNS over anything else.

use crate::EmuError;
use crate::namespace::Namespace;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PORT: u16 = 53;
/// The largest message over UDP.
const MESSAGE: usize = 65_535;
/// How long a nameserver has to answer before the next is asked.
const PATIENCE: Duration = Duration::from_secs(3);
/// Questions under way at once; more are not accepted and will be asked again.
const QUESTIONS: usize = 128;
/// How long a TCP connection may be silent.
const IDLE: Duration = Duration::from_secs(30);

/// A running relay; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
    stop: Option<PipeWriter>,
}

impl Relay {
    /// Listens at `address` of `host`; asks from the calling thread's network.
    pub(crate) fn start(host: &Namespace, address: IpAddr) -> Result<Self, EmuError> {
        let address = SocketAddr::new(address, PORT);
        let listening = host.run(move || Listening::bind(address));
        let listening = listening.map_err(EmuError::system(format!("listen for names at {address}")))?;
        let (stopped, stop) = io::pipe().map_err(EmuError::system("create a pipe"))?;
        let thread = thread::Builder::new().name("farhop-dns".to_owned());
        let thread = thread.spawn(move || listening.serve(&stopped)).map_err(EmuError::system("start a thread"))?;
        Ok(Self { address, thread: Some(thread), stop: Some(stop) })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The pipe's end is the thread's sign.
        self.stop = None;
        // A panic there has been told; here nothing is left to do.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Listening {
    datagrams: Arc<UdpSocket>,
    connections: TcpListener,
    /// Cloned for every question under way, so that its count is theirs.
    count: Arc<()>,
}

impl Listening {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let (datagrams, connections) = (UdpSocket::bind(address)?, TcpListener::bind(address)?);
        datagrams.set_nonblocking(true)?;
        connections.set_nonblocking(true)?;
        Ok(Self { datagrams: Arc::new(datagrams), connections, count: Arc::new(()) })
    }

    fn serve(&self, stopped: &PipeReader) {
        let awaited = |socket| PollFd::new(socket, PollFlags::POLLIN);
        loop {
            let mut events = [stopped.as_fd(), self.datagrams.as_fd(), self.connections.as_fd()].map(awaited);
            let _ = poll(&mut events, PollTimeout::NONE);
            let [stop, datagram, connection] = events.map(|event| event.any() == Some(true));
            if stop {
                return;
            }
            if datagram {
                self.take_datagram();
            }
            if connection && let Ok((stream, _)) = self.connections.accept() {
                self.on_thread(move || {
                    // A connection that breaks is the client's to make again.
                    let _ = relay_connection(&stream);
                });
            }
        }
    }

    fn take_datagram(&self) {
        let mut question = vec![0; MESSAGE];
        let Ok((length, client)) = self.datagrams.recv_from(&mut question) else { return };
        question.truncate(length);
        let datagrams = Arc::clone(&self.datagrams);
        self.on_thread(move || {
            if let Some(answer) = nameservers().into_iter().find_map(|server| ask(server, &question).ok()) {
                // An answer that is lost is asked for again.
                let _ = datagrams.send_to(&answer, client);
            }
        });
    }

    fn on_thread(&self, work: impl FnOnce() + Send + 'static) {
        if Arc::strong_count(&self.count) <= QUESTIONS {
            let counted = Arc::clone(&self.count);
            // Without a thread the question is lost, as on a network.
            let _ = thread::Builder::new().name("farhop-dns-ask".to_owned()).spawn(move || {
                work();
                drop(counted);
            });
        }
    }
}

/// Asks one nameserver over UDP, from a port of its own (RFC 5452).
fn ask(server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(question)?;
    let mut answer = vec![0; MESSAGE];
    loop {
        let length = socket.recv(&mut answer)?;
        // The first two bytes number the question.
        if answer[..length].get(..2) == question.get(..2) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

/// Connects a client to the first nameserver that accepts, until both have nothing more to say.
fn relay_connection(client: &TcpStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let server = nameservers().into_iter().find_map(|server| TcpStream::connect_timeout(&server, PATIENCE).ok());
    let server = server.ok_or(io::ErrorKind::HostUnreachable)?;
    for stream in [client, &server] {
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
    Ok(())
}

/// Copies until the end, a silence or an error, and passes the end on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// The nameservers outside; without any, the machine itself (resolv.conf(5)).
fn nameservers() -> Vec<SocketAddr> {
    let found = parse(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default());
    if found.is_empty() { vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))] } else { found }
}

fn parse(text: &str) -> Vec<SocketAddr> {
    let nameserver = |line: &str| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|&key| key == "nameserver").and_then(|_| words.next())?;
        address.parse().ok().map(|address: IpAddr| SocketAddr::new(address, PORT))
    };
    text.lines().filter_map(nameserver).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameservers_are_those_of_the_system() {
        let text = "# nameserver 192.0.2.9\nsearch example.org\nnameserver 192.0.2.1\nnameserver\t2001:db8::1 \noptions rotate\n";
        assert_eq!(parse(text), ["192.0.2.1:53", "[2001:db8::1]:53"].map(|text| text.parse().expect("an address")));
    }

    #[test]
    fn an_answer_to_another_question_is_not_ours() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("bound");
        let answering = thread::spawn(move || {
            let mut question = [0; 16];
            let (length, client) = server.recv_from(&mut question).expect("a question");
            server.send_to(b"XXother", client).expect("sent");
            server.send_to(&[&question[..length], b" yes"].concat(), client).expect("sent");
        });
        assert_eq!(ask(address, b"id?").expect("an answer"), b"id? yes");
        answering.join().expect("no panic");
    }
}
