//! Keys (TLS) between the client and the origin: one version of TLS, a certificate of the origin's own that the client trusts and no other.
//!
//! What the origin sends in its first flight is as long as the simulator and the model have it ([`Tls::flights`]), a chain of two
//! certificates: the certificate here carries what it is too short in an extension that means nothing. Every handshake is whole: no tickets are
//! given and none are kept, as there. Left out: the padding of browsers' hellos.
//!
//! Both ends cut what they say into records of the scenario's size ([`HttpConfig::tls_record`]), of which the other one reads nothing before
//! all has come.

use crate::MeasureError;
use farhop_units::Bytes;
use farhop_web::{HttpConfig, Tls};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use url::{Host, Url};

/// Of the arc for examples (RFC 5612), so that nobody means anything by it.
const FILLER: [u64; 8] = [1, 3, 6, 1, 4, 1, 32473, 1];

/// So often the filler is made anew: enough for the shortest records, which are half overhead.
const MOST_FILLERS: usize = 8;

/// What rustls counts of a record beside its content.
const RECORD_HEADER: usize = 5;

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
    pub(crate) fn new(http: &HttpConfig, url: &Url) -> Result<Option<Self>, MeasureError> {
        if http.tls == Tls::None {
            return Ok(None);
        }
        let keys = Self::as_long_as_simulated(http, url);
        keys.map(Some).map_err(|error| MeasureError::io("making the origin's keys")(io::Error::other(error)))
    }

    fn as_long_as_simulated(http: &HttpConfig, url: &Url) -> Result<Self, Failure> {
        let wanted = http.tls.flights().first().map_or(Bytes::ZERO, |flight| flight.server).get();
        let (mut keys, mut filler) = (Self::with_filler(http, url, 0)?, 0);
        // Each time takes off more than half of what the extension itself takes, and the records that it makes more.
        for _ in 0..MOST_FILLERS {
            filler = (filler + wanted).saturating_sub(keys.first_flight()?.get());
            keys = Self::with_filler(http, url, usize::try_from(filler)?)?;
        }
        Ok(keys)
    }

    fn with_filler(http: &HttpConfig, url: &Url, filler: usize) -> Result<Self, Failure> {
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
            client: Arc::new(client(http, &certificate)?),
            server: Arc::new(server(http, certificate, private)?),
        })
    }

    /// Bytes of the server's answer to the client's hello.
    fn first_flight(&self) -> Result<Bytes, Failure> {
        let mut client = ClientConnection::new(Arc::clone(&self.client), self.name.clone())?;
        let mut server = ServerConnection::new(Arc::clone(&self.server))?;
        hear(&mut server, &say(&mut client)?)?;
        Ok(Bytes::new(say(&mut server)?.len() as u64))
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

/// All that one end of a handshake has to say.
fn say<T>(end: &mut ConnectionCommon<T>) -> Result<Vec<u8>, Failure> {
    let mut said = Vec::new();
    while end.wants_write() {
        end.write_tls(&mut said)?;
    }
    Ok(said)
}

fn hear<T>(end: &mut ConnectionCommon<T>, mut said: &[u8]) -> Result<(), Failure> {
    while !said.is_empty() {
        end.read_tls(&mut said)?;
        end.process_new_packets()?;
    }
    Ok(())
}

fn versions(tls: Tls) -> &'static [&'static SupportedProtocolVersion] {
    const V12: &[&SupportedProtocolVersion] = &[&TLS12];
    const V13: &[&SupportedProtocolVersion] = &[&TLS13];
    match tls {
        Tls::None => &[],
        Tls::V12 => V12,
        Tls::V13 => V13,
    }
}

fn fragment(http: &HttpConfig) -> Result<usize, Failure> {
    Ok(usize::try_from(http.tls_record.get())? + RECORD_HEADER)
}

fn client(http: &HttpConfig, certificate: &CertificateDer<'static>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(versions(http.tls))?.with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.max_fragment_size = Some(fragment(http)?);
    Ok(config)
}

fn server(
    http: &HttpConfig,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(versions(http.tls))?.with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_fragment_size = Some(fragment(http)?);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_origins_first_flight_is_as_long_as_simulated() {
        for http in every_kind() {
            for url in ["https://server/", "https://127.0.0.1:8443/", "https://[::1]/"] {
                let keys = Keys::new(&http, &Url::parse(url).unwrap()).unwrap().expect("there are keys");
                let (flight, wanted) = (keys.first_flight().unwrap().get(), http.tls.flights()[0].server.get());
                // Signatures are a few bytes longer or shorter, which may make a short record more.
                let most = if http.tls_record < Bytes::kb(1) { 16 + 29 } else { 16 };
                assert!(flight.abs_diff(wanted) <= most, "{http:?}: {flight} B, {wanted} B wanted");
            }
        }
    }

    #[test]
    fn what_both_ends_say_takes_as_much_in_records_as_simulated() {
        let message = [7; 20_000];
        for http in every_kind() {
            let keys = Keys::new(&http, &Url::parse("https://server/").unwrap()).unwrap().expect("there are keys");
            let mut client = ClientConnection::new(Arc::clone(&keys.client), keys.name.clone()).unwrap();
            let mut server = ServerConnection::new(Arc::clone(&keys.server)).unwrap();
            while client.is_handshaking() || server.is_handshaking() {
                hear(&mut server, &say(&mut client).unwrap()).unwrap();
                hear(&mut client, &say(&mut server).unwrap()).unwrap();
            }
            client.writer().write_all(&message).unwrap();
            server.writer().write_all(&message).unwrap();
            let sealed = http.records().sealed(Bytes::new(message.len() as u64));
            let said = [say(&mut client), say(&mut server)].map(|said| Bytes::new(said.unwrap().len() as u64));
            assert_eq!(said, [sealed; 2], "{http:?}");
        }
    }

    fn every_kind() -> impl Iterator<Item = HttpConfig> {
        let records = [64, 1400, 16_384].map(Bytes::new);
        let all = [Tls::V12, Tls::V13].into_iter().flat_map(move |tls| records.map(|record| (tls, record)));
        all.map(|(tls, tls_record)| HttpConfig { tls, tls_record, ..HttpConfig::DEFAULT })
    }

    #[test]
    fn there_are_none_without_tls_and_none_are_told() {
        let url = Url::parse("https://server/").unwrap();
        let keys = |tls| Keys::new(&HttpConfig { tls, ..HttpConfig::DEFAULT }, &url).unwrap();
        assert!(keys(Tls::None).is_none());
        let told = format!("{:?}", keys(Tls::V13));
        assert!(told.contains("server") && told.len() < 80, "{told}");
    }
}
