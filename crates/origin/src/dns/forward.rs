//! Questions that somebody else can answer, passed on as they are: the client's message goes out, the resolver's comes back.
//!
//! An answer counts only if it comes from the resolver that was asked and repeats the question's identifier; the system picks a new port for
//! each question (RFC 5452). Left out: a cache, retries beyond the next resolver.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

/// What a resolver is given before the next is asked; stubs wait 5 s in all (resolv.conf(5)).
const PATIENCE: Duration = Duration::from_secs(2);

/// The first answer that one of the resolvers gives over UDP.
pub(super) async fn ask_udp(question: &[u8], resolvers: &[SocketAddr]) -> Option<Vec<u8>> {
    for &resolver in resolvers {
        match timeout(PATIENCE, exchange_udp(question, resolver)).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => tracing::debug!("DNS at {resolver}: {error}"),
            Err(_) => tracing::debug!("DNS at {resolver}: no answer"),
        }
    }
    None
}

/// The first answer that one of the resolvers gives over TCP.
pub(super) async fn ask_tcp(question: &[u8], resolvers: &[SocketAddr]) -> Option<Vec<u8>> {
    for &resolver in resolvers {
        match timeout(PATIENCE, exchange_tcp(question, resolver)).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => tracing::debug!("DNS at {resolver}: {error}"),
            Err(_) => tracing::debug!("DNS at {resolver}: no answer"),
        }
    }
    None
}

async fn exchange_udp(question: &[u8], resolver: SocketAddr) -> io::Result<Vec<u8>> {
    let any: SocketAddr = match resolver {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    // The kernel passes on only what comes from there then.
    socket.connect(resolver).await?;
    socket.send(question).await?;
    let mut answer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut answer).await?;
        if is_answer(question, &answer[..length]) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

async fn exchange_tcp(question: &[u8], resolver: SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(resolver).await?;
    write_message(&mut stream, question).await?;
    let answer = read_message(&mut stream).await?;
    if is_answer(question, &answer) { Ok(answer) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Whether a message is a response with the question's identifier.
fn is_answer(question: &[u8], message: &[u8]) -> bool {
    const IS_RESPONSE: u8 = 0x80;
    message.len() >= 12 && message.get(..2) == question.get(..2) && message[2] & IS_RESPONSE != 0
}

/// RFC 1035 §4.2.2: two bytes of length, then the message.
pub(super) async fn read_message(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Vec<u8>> {
    let mut message = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

/// As [`read_message`] reads it. In one piece: two would be two packets.
pub(super) async fn write_message(stream: &mut (impl AsyncWriteExt + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    stream.write_all(&[&length.to_be_bytes(), message].concat()).await
}
