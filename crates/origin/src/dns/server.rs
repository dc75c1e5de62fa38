//! The name server's sockets: UDP and TCP, with bounds on what goes on at a time.

use super::forward::{ask_tcp, ask_udp, read_message, write_message};
use super::zone::{Transport, Verdict, Zone};
use crate::patience::Patient;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;

/// Questions to others at a time; more are dropped, as a full network would, and asked again.
const MOST_FORWARDED: usize = 512;
/// TCP connections at a time.
const MOST_CONNECTIONS: usize = 256;
/// When nothing can be received or accepted, something must end first.
const PAUSE: Duration = Duration::from_millis(50);

/// A name server.
#[derive(Debug)]
pub(crate) struct NameServer {
    zone: Zone,
    resolvers: Vec<SocketAddr>,
    /// How long a client may be silent on a connection.
    patience: Duration,
    forwarded: Arc<Semaphore>,
    connections: Arc<Semaphore>,
}

impl NameServer {
    /// Answers for `zone` and asks `resolvers` for the rest.
    pub(crate) fn new(zone: Zone, resolvers: Vec<SocketAddr>, patience: Duration) -> Self {
        let semaphore = |most| Arc::new(Semaphore::new(most));
        Self {
            zone,
            resolvers,
            patience,
            forwarded: semaphore(MOST_FORWARDED),
            connections: semaphore(MOST_CONNECTIONS),
        }
    }

    /// Answers on a TCP connection until it ends. One question after the other: stubs do not ask more.
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = Patient::new(stream, self.patience);
        loop {
            let question = read_message(&mut stream).await?;
            let answer = match self.zone.judge(&question, Transport::Tcp) {
                Verdict::Answer(answer) => answer,
                Verdict::Forward { failure } => ask_tcp(&question, &self.resolvers).await.unwrap_or(failure),
                Verdict::Ignore => return Ok(()),
            };
            write_message(&mut stream, &answer).await?;
        }
    }
}

/// Answers datagrams for as long as it is polled.
pub(crate) async fn serve_udp(server: Arc<NameServer>, socket: UdpSocket) -> Infallible {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let (length, client) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            // An answer that could not be delivered (ICMP) is reported here.
            Err(error) => {
                tracing::debug!("DNS: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        match server.zone.judge(&buffer[..length], Transport::Udp) {
            Verdict::Answer(answer) => send(&socket, &answer, client).await,
            Verdict::Forward { failure } => {
                let Ok(permit) = Arc::clone(&server.forwarded).try_acquire_owned() else { continue };
                let (server, socket, question) = (Arc::clone(&server), Arc::clone(&socket), buffer[..length].to_vec());
                tokio::spawn(async move {
                    let _permit = permit;
                    let answer = ask_udp(&question, &server.resolvers).await.unwrap_or(failure);
                    send(&socket, &answer, client).await;
                });
            }
            Verdict::Ignore => {}
        }
    }
}

async fn send(socket: &UdpSocket, answer: &[u8], client: SocketAddr) {
    if let Err(error) = socket.send_to(answer, client).await {
        tracing::debug!("DNS answer to {client}: {error}");
    }
}

/// Answers connections for as long as it is polled.
pub(crate) async fn serve_tcp(server: Arc<NameServer>, listener: TcpListener) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                let permit = Arc::clone(&server.connections).acquire_owned().await;
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    let _permit = permit;
                    if let Err(error) = server.converse(stream).await {
                        tracing::debug!("DNS connection of {client}: {error}");
                    }
                });
            }
            Err(error) => {
                tracing::warn!("DNS: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
    use hickory_proto::rr::{Name, RecordType};
    use std::net::{IpAddr, Ipv4Addr};

    const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    /// A server over both transports, by their addresses.
    async fn start(names: &[(&str, &str)], resolvers: Vec<SocketAddr>) -> (SocketAddr, SocketAddr) {
        let names = names.iter().map(|(name, address)| ((*name).to_owned(), vec![address.parse::<IpAddr>().unwrap()]));
        let zone = Zone::new(names, !resolvers.is_empty());
        let server = Arc::new(NameServer::new(zone, resolvers, Duration::from_secs(600)));
        let (udp, tcp) = (UdpSocket::bind(ANY_PORT).await.unwrap(), TcpListener::bind(ANY_PORT).await.unwrap());
        let addresses = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
        tokio::spawn(serve_udp(Arc::clone(&server), udp));
        tokio::spawn(serve_tcp(server, tcp));
        addresses
    }

    fn question(name: &str) -> Vec<u8> {
        let mut query = Message::new(99, MessageType::Query, OpCode::Query);
        query.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
        query.to_vec().unwrap()
    }

    fn told(answer: &[u8]) -> (ResponseCode, Vec<String>) {
        let answer = Message::from_vec(answer).unwrap();
        assert_eq!(answer.metadata.id, 99);
        (answer.metadata.response_code, answer.answers.iter().map(|record| record.data.to_string()).collect())
    }

    async fn over_tcp(server: SocketAddr, questions: &[&str]) -> Vec<(ResponseCode, Vec<String>)> {
        let mut stream = TcpStream::connect(server).await.unwrap();
        let mut answers = Vec::new();
        for name in questions {
            write_message(&mut stream, &question(name)).await.unwrap();
            answers.push(told(&read_message(&mut stream).await.unwrap()));
        }
        answers
    }

    #[tokio::test]
    async fn both_transports_answer_and_ask_upstream() {
        let (far_udp, far_tcp) = start(&[("far.test", "192.0.2.9")], Vec::new()).await;
        let (udp, _) = start(&[("near.test", "10.79.0.1")], vec![far_udp]).await;
        let (_, tcp) = start(&[("near.test", "10.79.0.1")], vec![far_tcp]).await;
        let near = (ResponseCode::NoError, vec!["10.79.0.1".to_owned()]);
        let far = (ResponseCode::NoError, vec!["192.0.2.9".to_owned()]);
        let none = (ResponseCode::NXDomain, Vec::new());
        for (name, expected) in [("near.test", &near), ("far.test", &far), ("none.test", &none)] {
            assert_eq!(&told(&ask_udp(&question(name), &[udp]).await.unwrap()), expected);
        }
        assert_eq!(over_tcp(tcp, &["near.test", "far.test", "none.test"]).await, [near, far, none]);
    }

    #[tokio::test]
    async fn a_resolver_that_is_not_there_is_a_failure_and_the_next_is_asked() {
        let gone = UdpSocket::bind(ANY_PORT).await.unwrap().local_addr().unwrap();
        let (far, _) = start(&[("far.test", "192.0.2.9")], Vec::new()).await;
        let (udp, _) = start(&[], vec![gone, far]).await;
        let (alone, _) = start(&[], vec![gone]).await;
        assert_eq!(told(&ask_udp(&question("far.test"), &[udp]).await.unwrap()).1, ["192.0.2.9"]);
        assert_eq!(told(&ask_udp(&question("far.test"), &[alone]).await.unwrap()).0, ResponseCode::ServFail);
    }

    #[tokio::test]
    async fn answers_to_other_questions_are_passed_over() {
        let resolver = UdpSocket::bind(ANY_PORT).await.unwrap();
        let (udp, _) = start(&[], vec![resolver.local_addr().unwrap()]).await;
        let asked = question("far.test");
        let answering = async {
            let mut buffer = [0; 512];
            let (length, from) = resolver.recv_from(&mut buffer).await.unwrap();
            let mut answer = Message::from_vec(&buffer[..length]).unwrap().into_response();
            for (id, code) in [(100, ResponseCode::Refused), (99, ResponseCode::NXDomain)] {
                (answer.metadata.id, answer.metadata.response_code) = (id, code);
                resolver.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
                // A question is no answer either.
                resolver.send_to(&buffer[..length], from).await.unwrap();
            }
        };
        let upstream = [udp];
        let (told_to, ()) = tokio::join!(ask_udp(&asked, &upstream), answering);
        assert_eq!(told(&told_to.unwrap()).0, ResponseCode::NXDomain);
    }

    #[tokio::test]
    async fn rubbish_does_not_end_the_server() {
        let (udp, tcp) = start(&[("near.test", "10.79.0.1")], Vec::new()).await;
        let socket = UdpSocket::bind(ANY_PORT).await.unwrap();
        for rubbish in [&b""[..], b"x", &[0xFF; 600], &question("near.test")[..20]] {
            socket.send_to(rubbish, udp).await.unwrap();
            let mut stream = TcpStream::connect(tcp).await.unwrap();
            write_message(&mut stream, rubbish).await.unwrap();
        }
        assert!(ask_udp(&question("near.test"), &[udp]).await.is_some());
        assert_eq!(over_tcp(tcp, &["near.test"]).await.len(), 1);
    }
}
