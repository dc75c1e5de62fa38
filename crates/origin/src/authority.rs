//! The private test authority of one run: certificates for the site's names and nothing else, made when they are first asked for.
//!
//! The authority's key exists in this process's memory only; what leaves it is its certificate, for the programs inside to trust. All
//! keys are ECDSA P-256. All servers share one key, as behind one provider's front; each name has its own certificate. Left out: the length
//! of real chains (a certificate here is about 500 bytes), revocation, certificate transparency.

use crate::error::OriginError;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
};
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Clocks of tests may be somewhat behind.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 3600);
/// Longer than any run, shorter than what browsers refuse (398 days).
const VALID_AFTER: Duration = Duration::from_secs(90 * 24 * 3600);

/// The authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    key: KeyPair,
    signing: Arc<dyn SigningKey>,
    now: SystemTime,
    issued: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for Authority {
    /// Without its keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, whose certificates are valid around `now`.
    pub(crate) fn new(now: SystemTime) -> Result<Self, OriginError> {
        let authority_key = KeyPair::generate()?;
        let mut params = params(now);
        // Certificates of two runs must differ in their issuers' names, as their serial numbers may not (RFC 5280 §4.1.2.2).
        let run: String = hash(authority_key.der_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("farhop test authority {run}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, authority_key)?;
        let key = KeyPair::generate()?;
        let signing = any_ecdsa_type(&PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())))?;
        Ok(Self { issuer, key, signing, now, issued: Mutex::default() })
    }

    /// The authority's certificate, in PEM.
    pub(crate) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// SHA-256 of the servers' public key, as Chromium's `--ignore-certificate-errors-spki-list` takes it in base64.
    pub(crate) fn servers_key_hash(&self) -> [u8; 32] {
        hash(&self.key.subject_public_key_info())
    }

    /// The certificate of a name or an address, and the key to it.
    pub(crate) fn certify(&self, name: &str) -> Result<Arc<CertifiedKey>, OriginError> {
        // A panic while it was held left at worst a certificate out.
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(certified) = issued.get(name) {
            return Ok(Arc::clone(certified));
        }
        let certified = Arc::new(CertifiedKey::new(vec![self.issue(name)?], Arc::clone(&self.signing)));
        issued.insert(name.to_owned(), Arc::clone(&certified));
        Ok(certified)
    }

    fn issue(&self, name: &str) -> Result<rustls::pki_types::CertificateDer<'static>, OriginError> {
        let mut params = params(self.now);
        // RFC 5280 §4.1.2.2: unique below one issuer, positive, at most 20 octets. By default it would follow from the key alone.
        let mut serial = hash(name.as_bytes())[..16].to_vec();
        serial[0] &= 0x7F;
        params.serial_number = Some(SerialNumber::from(serial));
        params.subject_alt_names = vec![match name.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(name.try_into()?),
        }];
        // X.520's upper bound of a common name; longer names stand in the alternative names only, which is where clients look.
        const LONGEST_COMMON_NAME: usize = 64;
        if name.len() <= LONGEST_COMMON_NAME {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(params.signed_by(&self.key, &self.issuer)?.der().clone())
    }
}

/// What all certificates share.
fn params(now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.not_before = (now - VALID_BEFORE).into();
    params.not_after = (now + VALID_AFTER).into();
    params
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::verify_server_name;
    use rustls::pki_types::ServerName;
    use rustls::server::ParsedCertificate;

    fn is_for(certified: &CertifiedKey, name: &str) -> bool {
        let certificate = ParsedCertificate::try_from(&certified.cert[0]).unwrap();
        verify_server_name(&certificate, &ServerName::try_from(name.to_owned()).unwrap()).is_ok()
    }

    /// The DER of a certificate's serial number, by its place (RFC 5280 §4.1): after two sequences' heads and the version.
    fn serial(certified: &CertifiedKey) -> Vec<u8> {
        let rest = &certified.cert[0][8..];
        assert_eq!((&rest[..5], rest[5]), (&[0xA0, 3, 2, 1, 2][..], 2));
        rest[7..7 + usize::from(rest[6])].to_vec()
    }

    #[test]
    fn each_name_has_one_certificate_of_its_own() {
        let authority = Authority::new(SystemTime::UNIX_EPOCH + VALID_AFTER).unwrap();
        let certify = |name: &str| authority.certify(name).unwrap();
        let (one, other) = (certify("a.test"), certify("b.test"));
        assert!(is_for(&one, "a.test") && !is_for(&one, "b.test") && is_for(&other, "b.test"));
        assert!(Arc::ptr_eq(&one, &certify("a.test")));
        assert_ne!(serial(&one), serial(&other));
        assert!(serial(&one)[0] < 0x80, "negative numbers are none");
        for name in ["192.0.2.7", "2001:db8::7", &format!("{}.test", ["a"; 30].join("."))] {
            assert!(is_for(&certify(name), name), "{name}");
        }
    }

    #[test]
    fn keys_are_not_told() {
        let authority = Authority::new(SystemTime::UNIX_EPOCH + VALID_AFTER).unwrap();
        assert_eq!(format!("{authority:?}"), "Authority { .. }");
        assert!(authority.certificate().starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(!authority.certificate().contains("PRIVATE"));
    }
}
