//! TLS 1.3 between two boxes that know each other's certificate.
//!
//! The peer's certificate must be, byte for byte, the configured one; names, dates and authorities do not matter. That the peer holds the
//! certificate's key is verified by the handshake's signature as ever (RFC 8446 §4.4.3). Leaves out: session tickets, which would let a
//! peer in without its certificate being seen again.

use crate::{ProxyError, keys};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// The protocol's name and version, agreed upon in the handshake (RFC 7301).
const PROTOCOL: &[u8] = b"farhop/1";

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let is_same = certificate.as_ref() == self.certificate.as_ref();
        if is_same { Ok(()) } else { Err(CertificateError::ApplicationVerificationFailure.into()) }
    }
}

/// What is the same whichever end checks: signatures, as ever.
macro_rules! signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, certificate, signed, &self.algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signed, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    signatures!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    signatures!();
}

/// The files of one box: its own key and certificate, and the peer's certificate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) key: &'a Path,
    pub(crate) certificate: &'a Path,
    pub(crate) peer: &'a Path,
}

impl Identity<'_> {
    /// The gateway's side.
    pub(crate) fn server(self) -> Result<rustls::ServerConfig, ProxyError> {
        let provider = provider();
        let config = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(self.pinned(&provider)?);
        let (chain, key) = (vec![keys::read_certificate(self.certificate)?], keys::read_key(self.key)?);
        let mut config = config.with_single_cert(chain, key)?;
        config.alpn_protocols = vec![PROTOCOL.to_owned()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// The terminal's side.
    pub(crate) fn client(self) -> Result<rustls::ClientConfig, ProxyError> {
        let provider = provider();
        let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(self.pinned(&provider)?);
        let (chain, key) = (vec![keys::read_certificate(self.certificate)?], keys::read_key(self.key)?);
        let mut config = config.with_client_auth_cert(chain, key)?;
        config.alpn_protocols = vec![PROTOCOL.to_owned()];
        config.resumption = rustls::client::Resumption::disabled();
        Ok(config)
    }

    fn pinned(&self, provider: &CryptoProvider) -> Result<Arc<Pinned>, ProxyError> {
        let certificate = keys::read_certificate(self.peer)?;
        Ok(Arc::new(Pinned { certificate, algorithms: provider.signature_verification_algorithms }))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
