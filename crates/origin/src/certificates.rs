//! TLS as the site's servers speak it: 1.2 and 1.3, HTTP/2 and HTTP/1.1, a certificate for whichever of the site's names is asked for.
//!
//! Who names no server (it asks by address) gets the certificate of the host at that address. Left out: client certificates, 0-RTT, stapled
//! OCSP responses.

use crate::authority::Authority;
use crate::error::OriginError;
use crate::request::Endpoint;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::BTreeSet;
use std::sync::Arc;

/// HTTP/2's name in the handshake (RFC 9113 §3.2).
pub(crate) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// Makes the TLS configurations of a site's servers.
#[derive(Debug)]
pub(crate) struct Certificates {
    authority: Arc<Authority>,
    names: Arc<BTreeSet<String>>,
    tickets: Arc<dyn ProducesTickets>,
}

impl Certificates {
    pub(crate) fn new(authority: Arc<Authority>, names: BTreeSet<String>) -> Result<Self, OriginError> {
        Ok(Self { authority, names: Arc::new(names), tickets: ring::Ticketer::new()? })
    }

    /// The configuration of one endpoint.
    pub(crate) fn config(&self, endpoint: &Endpoint) -> Result<ServerConfig, OriginError> {
        let (authority, names) = (Arc::clone(&self.authority), Arc::clone(&self.names));
        let resolver = Resolver { authority, names, here: endpoint.host.clone() };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
        config.ticketer = Arc::clone(&self.tickets);
        Ok(config)
    }
}

/// Finds or makes the certificate that a client asks for.
#[derive(Debug)]
struct Resolver {
    authority: Arc<Authority>,
    names: Arc<BTreeSet<String>>,
    /// The host at this address.
    here: String,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map_or_else(|| self.here.clone(), str::to_ascii_lowercase);
        if !self.names.contains(&name) {
            return None;
        }
        let certified = self.authority.certify(&name);
        certified.inspect_err(|error| tracing::warn!("no certificate for {name}: {error}")).ok()
    }
}
