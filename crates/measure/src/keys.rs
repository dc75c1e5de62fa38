//! Keys (TLS) between the client and the origin: one version of TLS, a certificate of the origin's own that the client trusts and no other.
//!
//! What the origin sends in its first flight is as long as the simulator and the model have it ([`Tls::flights`]), a chain of two
//! certificates: the certificate here carries what it is too short in an extension that means nothing. Every handshake is whole: no tickets are
//! given and none are kept, as there. Left out: the padding of browsers' hellos.
//!
//! Records are as long as packets, so that the client can read what has arrived, as it can there: of one of 16 KiB, which is more than an initial
//! window, the first byte can be read a round trip after it came. Servers that adapt begin like this. It costs 2 % more bytes.

use crate::MeasureError;
use farhop_units::Bytes;
use farhop_web::Tls;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use url::{Host, Url};

/// Of the arc for examples (RFC 5612), so that nobody means anything by it.
const FILLER: [u64; 8] = [1, 3, 6, 1, 4, 1, 32473, 1];

/// What a full packet holds of a record's content: IPv4 and TCP have 52 B with timestamps, a record of TLS 1.2 has 29 of its own.
const RECORD_BYTES: usize = 1500 - 52 - 29;

type Failure = Box<dyn Error + Send + Sync>;

/// What both ends need.
#[derive(Clone)]
pub struct Keys {
    name: ServerName<'static>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl fmt::Debug for Keys {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Keys {
    /// New ones for the server of `url`; `None` if there shall be none.
    pub(crate) fn new(tls: Tls, url: &Url) -> Result<Option<Self>, MeasureError> {
        let version = match tls {
            Tls::None => return Ok(None),
            Tls::V12 => &TLS12,
            Tls::V13 => &TLS13,
        };
        let keys = Self::as_long_as(tls, version, url);
        keys.map(Some).map_err(|error| MeasureError::io("making the origin's keys")(io::Error::other(error)))
    }

    fn as_long_as(tls: Tls, version: &'static SupportedProtocolVersion, url: &Url) -> Result<Self, Failure> {
        let wanted = tls.flights().first().map_or(Bytes::ZERO, |flight| flight.server).get();
        let (mut keys, mut filler) = (Self::with_filler(version, url, 0)?, 0);
        // The second time takes off what the extension itself takes, and the records that it makes more.
        for _ in 0..2 {
            filler = (filler + wanted).saturating_sub(keys.first_flight()?.get());
            keys = Self::with_filler(version, url, usize::try_from(filler)?)?;
        }
        Ok(keys)
    }

    fn with_filler(version: &'static SupportedProtocolVersion, url: &Url, filler: usize) -> Result<Self, Failure> {
        let name = match url.host().ok_or("the origin has no name")? {
            Host::Domain(name) => ServerName::try_from(name.to_owned())?,
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(address)),
        };
        let mut params = CertificateParams::new([name.to_str().into_owned()])?;
        if filler > 0 {
            params.custom_extensions.push(CustomExtension::from_oid_content(&FILLER, vec![0; filler]));
        }
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.der().clone();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Self {
            name,
            client: Arc::new(client(version, &certificate)?),
            server: Arc::new(server(version, certificate, private)?),
        })
    }

    /// Bytes of the server's answer to the client's hello.
    fn first_flight(&self) -> Result<Bytes, Failure> {
        let mut client = ClientConnection::new(Arc::clone(&self.client), self.name.clone())?;
        let mut server = ServerConnection::new(Arc::clone(&self.server))?;
        let (mut hello, mut answer) = (Vec::new(), Vec::new());
        while client.wants_write() {
            client.write_tls(&mut hello)?;
        }
        let mut hello = &hello[..];
        while !hello.is_empty() {
            server.read_tls(&mut hello)?;
            server.process_new_packets()?;
        }
        while server.wants_write() {
            server.write_tls(&mut answer)?;
        }
        Ok(Bytes::new(answer.len() as u64))
    }

    /// The client's side of a handshake.
    pub(crate) fn connector(&self) -> (TlsConnector, ServerName<'static>) {
        (TlsConnector::from(Arc::clone(&self.client)), self.name.clone())
    }

    /// The origin's.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.server))
    }
}

fn client(
    version: &'static SupportedProtocolVersion,
    certificate: &CertificateDer<'static>,
) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(&[version])?.with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server(
    version: &'static SupportedProtocolVersion,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(&[version])?.with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_fragment_size = Some(RECORD_BYTES);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origins_first_flight_is_as_long_as_simulated() {
        for tls in [Tls::V12, Tls::V13] {
            for url in ["https://server/", "https://127.0.0.1:8443/", "https://[::1]/"] {
                let keys = Keys::new(tls, &Url::parse(url).unwrap()).unwrap().expect("there are keys");
                let (flight, wanted) = (keys.first_flight().unwrap().get(), tls.flights()[0].server.get());
                // Signatures are a few bytes longer or shorter.
                assert!(flight.abs_diff(wanted) <= 16, "{tls:?}: {flight} B, {wanted} B wanted");
            }
        }
    }

    #[test]
    fn there_are_none_without_tls_and_none_are_told() {
        let url = Url::parse("https://server/").unwrap();
        assert!(Keys::new(Tls::None, &url).unwrap().is_none());
        let told = format!("{:?}", Keys::new(Tls::V13, &url).unwrap());
        assert!(told.contains("server") && told.len() < 80, "{told}");
    }
}
