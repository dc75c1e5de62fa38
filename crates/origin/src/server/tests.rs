//! The servers as clients on the loopback device see them: polite ones and others.

use super::*;
use crate::authority::Authority;
use bytes::Bytes;
use http_body_util::{Empty, Full};
use hyper::client::conn::{http1 as client_1, http2 as client_2};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const LARGE: usize = 3_000_000;

/// A directory's servers at `server`, plain and with TLS, and what their clients trust.
struct Site {
    _root: tempfile::TempDir,
    plain: SocketAddr,
    secure: SocketAddr,
    authority: CertificateDer<'static>,
}

impl Site {
    async fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("index.html"), "hello").unwrap();
        std::fs::write(root.path().join("large"), large()).unwrap();
        // The test's own time, so that it does not depend on the clock.
        let authority = Arc::new(Authority::new(SystemTime::UNIX_EPOCH + TEST_TIME).unwrap());
        let certificate = CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap();
        let certificates = Certificates::new(authority, ["server".to_owned()].into()).unwrap();
        let site = crate::site::Site::open(root.path()).unwrap();
        let servers = Arc::new(Servers::new(site, certificates, Duration::from_secs(60), false));
        let mut addresses = Vec::new();
        for scheme in [Scheme::Http, Scheme::Https] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            addresses.push(listener.local_addr().unwrap());
            let endpoint = Endpoint { host: "server".into(), port: scheme.default_port(), scheme };
            tokio::spawn(Arc::clone(&servers).serve(listener, endpoint));
        }
        Self { _root: root, plain: addresses[0], secure: addresses[1], authority: certificate }
    }

    /// A connection over which `protocol` was agreed upon.
    async fn connect(&self, name: &str, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_details(provider, Arc::new(TestClock));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.secure).await?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
        Ok(stream)
    }

    /// Everything that comes back for `bytes` until the server closes the connection.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.plain).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        // A connection that is reset has ended, too: the server did not read all.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// 2026-11-02, from the Unix epoch.
const TEST_TIME: Duration = Duration::from_secs(1_793_577_600);

/// A clock that stands at [`TEST_TIME`].
#[derive(Debug)]
struct TestClock;

impl TimeProvider for TestClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(TEST_TIME))
    }
}

fn large() -> Vec<u8> {
    (0..LARGE as u32).map(|number| (number % 253) as u8).collect()
}

fn get(target: &str) -> Request<Empty<Bytes>> {
    Request::builder().uri(target).header("host", "server").body(Empty::new()).unwrap()
}

#[tokio::test]
async fn http_2_is_spoken_over_tls_and_large_files_arrive_whole() {
    let site = Site::start().await;
    let stream = TokioIo::new(site.connect("server", b"h2").await.unwrap());
    let (mut client, connection) = client_2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let small = client.send_request(get("https://server/")).await.unwrap();
    assert_eq!((small.status(), small.version()), (StatusCode::OK, Version::HTTP_2));
    let body = client.send_request(get("https://server/large")).await.unwrap().into_body();
    assert_eq!(body.collect().await.unwrap().to_bytes(), large());
    let mut head = get("https://server/large");
    *head.method_mut() = http::Method::HEAD;
    let head = client.send_request(head).await.unwrap();
    assert_eq!(head.headers()["content-length"], LARGE.to_string().as_str());
    assert!(head.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn http_1_is_spoken_over_tls_and_a_posted_body_is_read_to_its_end() {
    let site = Site::start().await;
    let stream = TokioIo::new(site.connect("server", b"http/1.1").await.unwrap());
    let (mut client, connection) = client_1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let posted = Request::post("/").header("host", "server").body(Full::new(Bytes::from(large()))).unwrap();
    let refused = client.send_request(posted).await.unwrap();
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    // The connection goes on, so nothing of the body was left in it.
    client.ready().await.unwrap();
    let again = Request::get("/").header("host", "server").body(Full::new(Bytes::new())).unwrap();
    assert_eq!(client.send_request(again).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn certificates_are_made_for_the_sites_names_alone() {
    let site = Site::start().await;
    let refused = site.connect("elsewhere.test", b"h2").await.unwrap_err().to_string();
    assert!(refused.contains("AccessDenied"), "{refused}");
    // By address no name is asked for; the certificate that comes then is not the address's.
    let refused = site.connect("127.0.0.1", b"h2").await.unwrap_err().to_string();
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[tokio::test]
async fn requests_follow_each_other_on_one_connection() {
    let site = Site::start().await;
    let one = "GET / HTTP/1.1\r\nHost: server\r\n\r\n";
    let last = "GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";
    let answers = site.say(format!("{one}{one}{last}").as_bytes()).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{answers}");
    assert_eq!(answers.matches("\r\n\r\nhello").count(), 3);
    let old = site.say(b"GET / HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n") && old.ends_with("hello"), "{old}");
}

#[tokio::test]
async fn no_request_is_smuggled_in_another() {
    let site = Site::start().await;
    let hidden = "GET /large HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";
    for head in [
        // Two lengths, a length and chunks, chunks that are not the last coding, blanks where none may be, a folded line.
        format!("Content-Length: 0\r\nContent-Length: {}\r\n", hidden.len()),
        format!("Content-Length: +{}\r\n", hidden.len()),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "X: a\r\n b\r\n".to_owned(),
        "X\r\n".to_owned(),
        "X: a\nY: b\0\n".to_owned(),
        "Host: elsewhere\r\n".to_owned(),
    ] {
        let answers = site.say(format!("GET / HTTP/1.1\r\nHost: server\r\n{head}\r\n{hidden}").as_bytes()).await;
        assert_eq!(answers.matches("HTTP/1.").count(), 1, "{head:?}: {answers}");
        assert!(answers.starts_with("HTTP/1.1 400 "), "{head:?}: {answers}");
    }
    let answers = site.say(format!("GET / HTTP/1.1\r\n\r\n{hidden}").as_bytes()).await;
    assert!(answers.starts_with("HTTP/1.1 400 ") && answers.matches("HTTP/1.").count() == 1, "{answers}");
}

#[tokio::test]
async fn a_length_beside_chunks_does_not_count() {
    let site = Site::start().await;
    // RFC 9112 §6.1: chunked overrides the length, and what comes behind is not understood as a request.
    let both = "POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let answers = site.say(format!("{both}GET /large HTTP/1.1\r\nHost: server\r\n\r\n").as_bytes()).await;
    assert_eq!(answers.matches("HTTP/1.").count(), 1, "{}", &answers[..answers.len().min(500)]);
}

#[tokio::test]
async fn heads_without_end_are_refused() {
    let site = Site::start().await;
    let long = format!("GET / HTTP/1.1\r\nHost: server\r\nX: {}", "a".repeat(200_000));
    assert!(site.say(long.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    let many = format!("GET / HTTP/1.1\r\nHost: server\r\n{}\r\n", "X: a\r\n".repeat(1000));
    assert!(site.say(many.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    assert_eq!(site.say(&[0xFF; 1000]).await.matches("HTTP/1.1 400 ").count(), 1);
}

#[tokio::test]
async fn rubbish_and_long_heads_over_tls_harm_nobody_else() {
    let site = Site::start().await;
    for rubbish in [&[0xFF; 20_000][..], b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff\x01", b""] {
        let mut stream = TcpStream::connect(site.secure).await.unwrap();
        let _ = stream.write_all(rubbish).await;
    }
    let stream = TokioIo::new(site.connect("server", b"h2").await.unwrap());
    let (mut client, connection) = client_2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let mut long = get("https://server/");
    long.headers_mut().insert("x", HeaderValue::from_str(&"a".repeat(2 * LONGEST_HEAD)).unwrap());
    let refused = client.send_request(long).await;
    assert!(refused.is_err() || refused.is_ok_and(|response| response.status() == 431));
    assert_eq!(client.send_request(get("https://server/")).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn recorded_servers_take_their_time_if_they_shall() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let entry = r#"{"request": {"method": "GET", "url": "http://a.test/"}, "response": {"status": 204}, "timings": {"wait": 5000}}"#;
    std::fs::write(file.path(), format!(r#"{{"log": {{"entries": [{entry}]}}}}"#)).unwrap();
    tokio::time::pause();
    for (think, delay) in [(false, 0), (true, 5)] {
        let authority = Arc::new(Authority::new(SystemTime::UNIX_EPOCH + TEST_TIME).unwrap());
        let certificates = Certificates::new(authority, [].into()).unwrap();
        let site = crate::site::Site::open(file.path()).unwrap();
        let servers = Arc::new(Servers::new(site, certificates, Duration::from_secs(60), think));
        let endpoint = Arc::new(Endpoint { host: "a.test".into(), port: 80, scheme: Scheme::Http });
        let (client, server) = tokio::io::duplex(4096);
        tokio::spawn(Conversation { servers, endpoint }.http_1(TokioIo::new(server)));
        let (mut client, connection) = client_1::handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("/").header("host", "a.test").body(Empty::<Bytes>::new()).unwrap();
        let answer = client.send_request(request);
        tokio::pin!(answer);
        if think {
            let early = Duration::from_millis(delay * 1000 - 1);
            assert!(tokio::time::timeout(early, &mut answer).await.is_err(), "too early");
        }
        let answer = tokio::time::timeout(Duration::from_millis(2), &mut answer).await.expect("too late");
        assert_eq!(answer.unwrap().status(), StatusCode::NO_CONTENT);
    }
}

#[tokio::test]
async fn clients_that_stop_in_the_middle_are_given_up() {
    let site = Site::start().await;
    // Time passes as soon as nothing else can happen.
    tokio::time::pause();
    assert_eq!(site.say(b"").await, "");
    assert!(!site.say(b"GET / HTTP/1.1\r\nHost:").await.contains("200 OK"));
    assert!(!site.say(b"POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 9\r\n\r\nx").await.contains("200 OK"));
    let idle = site.say(b"GET / HTTP/1.1\r\nHost: server\r\n\r\n").await;
    assert!(idle.ends_with("hello"), "{idle}");
}
