//! The QUIC library, set up for one long-lived connection over a long round trip, and its congestion controller replaced by ours.
//!
//! Nothing here may cost a round trip later: windows and stream limits are wide from the start (flows have their own credit, see
//! `farhop_accel::credit`), the rate is set. Leaves out: datagrams, more than one path.

use crate::clock::Clock;
use crate::shared_socket::SharedSocket;
use crate::tls::Identity;
use crate::{ProxyError, keys};
use farhop_accel::rate::{Encapsulation, FixedRate, RateController};
use farhop_accel::tunnel::{self, ACK_EVERY, LEAST_SEND_BUFFER};
use farhop_units::{Bytes, Rate};
use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, PathId, Runtime,
    ServerConfig, TokioRuntime, TransportConfig, TransportErrorCode, VarInt,
};
use noq_proto::RttEstimator;
use ring::hmac;
use socket2::{Domain, Protocol, Socket, Type};
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Streams the peer may open at once: several pages with all their parts; running out would cost a round trip.
const STREAMS: u32 = 8192;
/// No stream carries more, so that this never holds one back.
const STREAM_WINDOW: u32 = 2 << 20;
/// A silent peer is gone after this: three lost keep-alives and a round trip of several seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// Below the 30 s after which address translators forget UDP flows (RFC 4787 §4.3 asks for two minutes; many keep less).
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A GEO satellite's: a shorter guess would repeat the handshake's packets before the first answer can be there.
const INITIAL_RTT: Duration = Duration::from_millis(600);
/// Until the round trip is known: what is sent in such a time may wait for its acknowledgement, as over a GEO satellite with queues.
const SEND_BUFFER: Duration = Duration::from_secs(1);
/// How often the buffer is fitted to the round trip.
const FIT_EVERY: Duration = Duration::from_secs(1);
/// A fifth of a second at 100 Mbit/s.
const SOCKET_BUFFER: usize = 2 << 20;
/// How long the end of a connection is waited for.
const FAREWELL: Duration = Duration::from_millis(500);

/// How the connection to `peer` is run: at `rate` on the wire.
pub(crate) fn transport(rate: Rate, peer: IpAddr) -> TransportConfig {
    let send_buffer = rate.bytes_in(SEND_BUFFER).max(LEAST_SEND_BUFFER);
    let mut acknowledgements = AckFrequencyConfig::default();
    acknowledgements.ack_eliciting_threshold(ACK_EVERY.into());
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(STREAMS.into())
        .max_concurrent_uni_streams(STREAMS.into())
        .datagram_receive_buffer_size(None)
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(VarInt::MAX)
        .send_window(send_buffer.get())
        // A flow's segments must leave one after the other, not in turns; flows share because the send buffer is short.
        .send_fairness(false)
        .initial_rtt(INITIAL_RTT)
        .max_idle_timeout(Some(VarInt::from_u32(u32::try_from(IDLE_TIMEOUT.as_millis()).unwrap_or(u32::MAX)).into()))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .ack_frequency_config(Some(acknowledgements))
        .congestion_controller_factory(Arc::new(FixedRateFactory { rate, encapsulation: Encapsulation::of(peer) }));
    config
}

#[derive(Debug)]
struct FixedRateFactory {
    rate: Rate,
    encapsulation: Encapsulation,
}

impl ControllerFactory for FixedRateFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = FixedRate::new(self.rate, self.encapsulation, Bytes::new(current_mtu.into()));
        Box::new(Adapter { controller: Box::new(controller), clock: Clock::since(now) })
    }
}

/// Our controller as the library wants it.
#[derive(Debug)]
struct Adapter {
    controller: Box<dyn RateController>,
    clock: Clock,
}

impl Controller for Adapter {
    fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64, _pn: u64, _app_limited: bool, _rtt: &RttEstimator) {
        // Not the library's estimate: its minimum never exceeds the initial guess.
        self.controller.handle_acknowledged(self.clock.at(now), self.clock.at(sent));
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.controller.handle_packet_size(Bytes::new(new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.controller.window().get()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        // Bytes per second, whatever the comments say.
        metrics.pacing_rate = Some(self.controller.pacing_rate().bits_per_second() / 8);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { controller: self.controller.clone_box(), clock: self.clock })
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Keeps the connection's send buffer fitted to what may be in flight, as long as the connection lasts.
pub(crate) async fn fit_send_buffer(connection: Connection) {
    while connection.close_reason().is_none() {
        if let Some(path) = connection.path_stats(PathId::ZERO) {
            connection.set_send_window(tunnel::send_buffer(Bytes::new(path.cwnd)).get());
        }
        // Ends at once with the connection, whatever the reason.
        let _ = tokio::time::timeout(FIT_EVERY, connection.closed()).await;
    }
}

/// The gateway's side of the handshake.
pub(crate) fn server(identity: Identity<'_>) -> Result<ServerConfig, ProxyError> {
    let tls = QuicServerConfig::try_from(identity.server()?).map_err(|_| no_cipher())?;
    Ok(ServerConfig::with_crypto(Arc::new(tls)))
}

/// The terminal's side of the handshake.
pub(crate) fn client(identity: Identity<'_>) -> Result<ClientConfig, ProxyError> {
    let tls = QuicClientConfig::try_from(identity.client()?).map_err(|_| no_cipher())?;
    Ok(ClientConfig::new(Arc::new(tls)))
}

fn no_cipher() -> rustls::Error {
    rustls::Error::General("the provider has no cipher that QUIC needs".to_owned())
}

/// A UDP socket for QUIC; a server's connections share a rate.
pub(crate) fn endpoint(
    listen: SocketAddr,
    server: Option<(ServerConfig, Rate)>,
    key: &Path,
) -> Result<(Endpoint, SocketAddr), ProxyError> {
    let failed = |error| ProxyError::Listen { address: listen, error };
    let socket = Socket::new(Domain::for_address(listen), Type::DGRAM, Some(Protocol::UDP)).map_err(failed)?;
    // As much as the system gives; a burst lost here is a round trip lost.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.bind(&listen.into()).map_err(failed)?;
    let config = EndpointConfig::new(Arc::new(reset_key(key)?));
    let (server, rate) = server.unzip();
    let socket = TokioRuntime.wrap_udp_socket(socket.into()).map_err(failed)?;
    let socket = match rate {
        Some(rate) => Box::new(SharedSocket::new(socket, rate)),
        None => socket,
    };
    let endpoint =
        Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(TokioRuntime)).map_err(failed)?;
    let local_addr = endpoint.local_addr().map_err(failed)?;
    Ok((endpoint, local_addr))
}

/// Derived from the box's own key, so that after a restart it can still tell its peer that their connection is gone (RFC 9000 §10.3.2).
fn reset_key(path: &Path) -> Result<hmac::Key, ProxyError> {
    let key = keys::read_key(path)?;
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.secret_der());
    let derived = hmac::sign(&secret, b"farhop stateless reset");
    Ok(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
}

/// Ends all connections and lets the peers know.
pub(crate) async fn close(endpoint: &Endpoint) {
    endpoint.close(VarInt::from_u32(0), b"shutting down");
    // The word is on its way at once; waiting for lost ones to be repeated is not worth more.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
}

/// What an operator needs to know about a connection that failed.
pub(crate) fn explain(error: &ConnectionError) -> String {
    let is_certificate = |code: TransportErrorCode| {
        // RFC 8446 §6.2: bad_certificate 42, access_denied 49, unknown_ca 48, certificate_required 116; decrypt_error 51 is a bad signature.
        [42, 48, 49, 51, 116].map(TransportErrorCode::crypto).contains(&code)
    };
    match error {
        ConnectionError::TransportError(error) if is_certificate(error.code) => {
            format!("its certificate is not the configured one ({error})")
        }
        ConnectionError::ConnectionClosed(close) if is_certificate(close.error_code) => {
            format!("it does not accept our certificate ({close})")
        }
        ConnectionError::TimedOut => "no answer".to_owned(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Generated, SERVER_NAME, generate};

    const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    fn identity<'a>(key: &'a Path, certificate: &'a Path, peer: &'a Path) -> Identity<'a> {
        Identity { key, certificate, peer }
    }

    /// What gateway and terminal say about a handshake of two boxes with these files.
    async fn handshake(gateway: &Generated, terminal: &Generated) -> [Result<(), String>; 2] {
        let theirs = identity(&gateway.gateway_key, &gateway.gateway_certificate, &gateway.terminal_certificate);
        let ours = identity(&terminal.terminal_key, &terminal.terminal_certificate, &terminal.gateway_certificate);
        let (server_side, address) =
            endpoint(ANY, Some((server(theirs).unwrap(), Rate::mbps(100))), theirs.key).unwrap();
        let (client_side, _) = endpoint(ANY, None, ours.key).unwrap();
        let connecting = client_side.connect_with(client(ours).unwrap(), address, SERVER_NAME).unwrap();
        let connected = async {
            let connection = connecting.await?;
            connection.handshake_confirmed().await?;
            Ok(connection)
        };
        let accepted = async { server_side.accept().await.expect("a terminal knocks").await };
        let (accepted, connected) = tokio::join!(accepted, connected);
        let text = |outcome: Result<_, ConnectionError>| outcome.map(drop).map_err(|error| explain(&error));
        [text(accepted), text(connected)]
    }

    #[tokio::test]
    async fn a_refused_peer_is_told_and_the_log_says_why() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, other) = (generate(one.path()).unwrap(), generate(other.path()).unwrap());
        assert_eq!(handshake(&one, &one).await, [Ok(()), Ok(())]);
        let stranger = Generated { gateway_certificate: one.gateway_certificate.clone(), ..other.clone() };
        let starts = |outcome: &Result<(), String>, text| outcome.as_ref().is_err_and(|error| error.starts_with(text));
        let [gateway, terminal] = handshake(&one, &stranger).await;
        assert!(starts(&gateway, "its certificate is not the configured one"), "{gateway:?}");
        assert!(starts(&terminal, "it does not accept our certificate"), "{terminal:?}");
        let [gateway, terminal] =
            handshake(&other, &Generated { gateway_certificate: one.gateway_certificate, ..other.clone() }).await;
        assert!(starts(&gateway, "it does not accept our certificate"), "{gateway:?}");
        assert!(starts(&terminal, "its certificate is not the configured one"), "{terminal:?}");
    }
}
