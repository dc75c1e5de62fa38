//! Origin and client against each other, and each against something simpler, over the loopback device.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking and may print")]

use farhop_emu::Clock;
use farhop_measure::client::{LoadPlan, Observation, Route, load};
use farhop_measure::origin::Site;
use farhop_measure::{Keys, MeasureError, ResponseProblem};
use farhop_units::Bytes;
use farhop_web::{HttpConfig, HttpVersion, Page, Tls};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

const SEED: u64 = 7;

fn page() -> Page {
    Page::uniform(12, Bytes::kb(20)).unwrap()
}

fn http(version: HttpVersion, connections: usize) -> HttpConfig {
    HttpConfig { version, connections, ..HttpConfig::DEFAULT }
}

async fn listen() -> (TcpListener, SocketAddr, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address, Url::parse(&format!("http://{address}/")).unwrap())
}

/// A running origin of `page`.
async fn origin(page: &Page, http: HttpConfig) -> (SocketAddr, Url, Arc<Site>) {
    let (listener, address, mut url) = listen().await;
    if http.tls != Tls::None {
        url.set_scheme("https").unwrap();
    }
    let site = Arc::new(Site::new(page, &http, &url, SEED).unwrap());
    tokio::spawn(Arc::clone(&site).serve(listener));
    (address, url, site)
}

async fn load_from(page: &Page, http: HttpConfig, server: &Url, route: Route) -> Result<Observation, MeasureError> {
    load_with(None, page, http, server, route).await
}

async fn load_with(
    keys: Option<&Keys>,
    page: &Page,
    http: HttpConfig,
    server: &Url,
    route: Route,
) -> Result<Observation, MeasureError> {
    let plan = LoadPlan { page, http, server, route, keys, timeout: Duration::from_secs(20) };
    load(&plan, Clock::start()).await
}

/// What comes back for `request` until the other side closes.
async fn converse(address: SocketAddr, request: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// Splits an answer into head (with its empty line) and body.
fn split(answer: &[u8]) -> (String, &[u8]) {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("the head ends") + 4;
    (String::from_utf8(answer[..end].to_vec()).unwrap(), &answer[end..])
}

#[tokio::test]
async fn response_heads_have_exactly_the_configured_size_on_the_wire() {
    let http = HttpConfig { response_header_bytes: Bytes::new(250), ..HttpConfig::DEFAULT };
    let (address, _, site) = origin(&page(), http).await;
    let name = &page().objects[3].name;
    for request in [
        format!("GET /{name} HTTP/1.0\r\n\r\n"),
        format!("GET /{name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    ] {
        let answer = converse(address, &request).await;
        let (head, body) = split(&answer);
        assert_eq!(head.len(), 250, "{head}");
        assert_eq!(body, site.body(3));
        let expected = [" 200 OK\r\n", "\r\ncache-control: no-store\r\n", "\r\nserver: xxx"];
        assert!(expected.iter().all(|part| head.contains(part)), "{head}");
    }
}

#[tokio::test]
async fn persistent_connections_are_told_so_within_the_same_size() {
    let (address, _, _) = origin(&page(), HttpConfig::DEFAULT).await;
    let name = &page().objects[3].name;
    // The second request on each connection ends it, so that the answers can be read to their end.
    for (first, second) in [
        ("HTTP/1.1\r\nhost: x", "HTTP/1.1\r\nhost: x\r\nconnection: close"),
        ("HTTP/1.0\r\nconnection: keep-alive", "HTTP/1.0"),
    ] {
        let requests = format!("GET /{name} {first}\r\n\r\nGET /{name} {second}\r\n\r\n");
        let answers = converse(address, &requests).await;
        assert_eq!(answers.len(), 2 * (250 + 20_000), "{first}");
    }
}

#[tokio::test]
async fn heads_too_small_for_the_necessary_fields_are_noted() {
    let small = HttpConfig { response_header_bytes: Bytes::new(60), ..HttpConfig::DEFAULT };
    let (address, _, site) = origin(&page(), small).await;
    let answer = converse(address, &format!("GET /{} HTTP/1.0\r\n\r\n", page().objects[0].name)).await;
    let longest = split(&answer).0.len();
    let note = format!("response heads are up to {longest} B long: the scenario's 60 B is too small");
    assert_eq!(site.note(), Some(note));
    let (_, _, fitting) = origin(&page(), HttpConfig::DEFAULT).await;
    assert_eq!(fitting.note(), None);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let (address, _, _) = origin(&page(), HttpConfig::DEFAULT).await;
    let status = async |request: &str| split(&converse(address, request).await).0[9..12].to_owned();
    assert_eq!(status("GET /nothing HTTP/1.0\r\n\r\n").await, "404");
    assert_eq!(status("DELETE /index.html HTTP/1.0\r\n\r\n").await, "405");
}

#[tokio::test]
async fn every_version_loads_the_whole_page_unharmed() {
    let page = page();
    for (version, limit, expected) in [
        (HttpVersion::Http10, 1, page.objects.len()),
        (HttpVersion::Http10, 6, page.objects.len()),
        (HttpVersion::Http11, 1, 1),
        (HttpVersion::Http11, 6, 6),
        (HttpVersion::Http11Pipelined, 6, 1),
    ] {
        let http = http(version, limit);
        let (address, url, site) = origin(&page, http).await;
        let observation = load_from(&page, http, &url, Route::Direct(address)).await.unwrap();
        let timings = observation.verify(&page, &site).unwrap();
        assert_eq!(timings.len(), page.objects.len());
        let connections: BTreeSet<_> = timings.iter().map(|timing| timing.connection).collect();
        assert!(connections.len() <= expected, "{version:?} {limit}: {connections:?}");
        let connects = timings.iter().filter(|timing| timing.connect_s.is_some()).count();
        assert_eq!(connects, connections.len(), "each connection was opened for one object");
        for timing in &timings {
            assert_eq!(timing.bytes, 20_000);
            assert!(timing.discovered_s <= timing.request_s, "{timing:?}");
            assert!(timing.request_s < timing.first_byte_s && timing.first_byte_s <= timing.end_s, "{timing:?}");
            assert!(timing.end_s <= observation.page_load().as_secs_f64());
        }
        assert_eq!((timings[0].discovered_s, timings[0].connect_s), (0.0, Some(0.0)));
    }
}

#[tokio::test]
async fn an_object_without_bytes_arrives_with_its_head() {
    let mut page = page();
    page.objects[5].size = Bytes::ZERO;
    let (address, url, site) = origin(&page, HttpConfig::DEFAULT).await;
    let observation = load_from(&page, HttpConfig::DEFAULT, &url, Route::Direct(address)).await.unwrap();
    let timing = &observation.verify(&page, &site).unwrap()[5];
    assert_eq!((timing.bytes, timing.first_byte_s), (0, timing.end_s));
    assert!(timing.request_s < timing.end_s);
}

/// Forwards every connection that asks for it by CONNECT to `server`.
async fn connect_proxy(server: SocketAddr) -> SocketAddr {
    let (listener, address, _) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let head = read_head(&mut client).await;
                assert_eq!(head.lines().next(), Some(format!("CONNECT {server} HTTP/1.1").as_str()));
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                let mut server = TcpStream::connect(server).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

/// Reads one message head, byte by byte.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn the_page_comes_through_a_tunnel() {
    let (page, http) = (page(), http(HttpVersion::Http11, 6));
    let (server, url, site) = origin(&page, http).await;
    let proxy = connect_proxy(server).await;
    let observation = load_from(&page, http, &url, Route::Tunnel(proxy)).await.unwrap();
    assert_eq!(observation.verify(&page, &site).unwrap().len(), page.objects.len());
}

/// A server that reads one request per connection, answers it with `answer` and closes; gives the requests it got.
async fn canned(answer: Vec<u8>) -> (SocketAddr, Url, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let (listener, address, url) = listen().await;
    let (got, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = got.send(read_head(&mut stream).await);
            let _ = stream.write_all(&answer).await;
        }
    });
    (address, url, requests)
}

#[tokio::test]
async fn requests_have_exactly_the_configured_size_on_the_wire() {
    for (version, line) in [(HttpVersion::Http10, "HTTP/1.0"), (HttpVersion::Http11, "HTTP/1.1")] {
        let (address, url, mut requests) = canned(b"HTTP/1.1 500 no\r\n\r\n".to_vec()).await;
        let name = &page().objects[0].name;
        for (route, target) in
            [(Route::Direct(address), format!("/{name}")), (Route::Proxy(address), format!("{url}{name}"))]
        {
            load_from(&page(), http(version, 6), &url, route).await.unwrap_err();
            let request = requests.recv().await.unwrap();
            assert_eq!(request.len(), 350, "{request}");
            assert!(request.starts_with(&format!("GET {target} {line}\r\n")), "{request}");
        }
    }
}

#[tokio::test]
async fn broken_answers_are_errors_that_name_the_object() {
    let name = page().objects[0].name.clone();
    let too_long = format!("HTTP/1.1 200 OK\r\ncontent-length: 20001\r\n\r\n{}", "x".repeat(20_001));
    for (answer, expected) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", ResponseProblem::Status(404)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe", ResponseProblem::Truncated),
        ("", ResponseProblem::Truncated),
        (too_long.as_str(), ResponseProblem::TooLong(Bytes::kb(20))),
    ] {
        let (address, url, _requests) = canned(answer.as_bytes().to_vec()).await;
        for route in [Route::Direct(address), Route::Proxy(address)] {
            match load_from(&page(), http(HttpVersion::Http11, 6), &url, route).await.unwrap_err() {
                MeasureError::Response { object, problem } => {
                    assert_eq!((object.as_str(), problem), (name.as_str(), expected.clone()));
                }
                other => panic!("{other}"),
            }
        }
    }
}

/// A document of the page's size that has `tags` and nothing else to find.
fn document(tags: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: 20000\r\nconnection: close\r\n\r\n{tags:<20000}").into_bytes()
}

#[tokio::test]
async fn a_document_that_refers_to_other_things_than_the_page_is_refused() {
    let (address, url, _requests) = canned(document("<img src=\"stranger.png\">")).await;
    let error = load_from(&page(), http(HttpVersion::Http11, 1), &url, Route::Direct(address)).await.unwrap_err();
    assert!(matches!(&error, MeasureError::UnknownReference { url } if url.ends_with("/stranger.png")), "{error}");
    let (address, url, _requests) = canned(document("")).await;
    let error = load_from(&page(), http(HttpVersion::Http11, 1), &url, Route::Direct(address)).await.unwrap_err();
    assert!(matches!(&error, MeasureError::Undiscovered { names, .. } if names.len() == 11), "{error}");
    assert!(error.to_string().starts_with("index.html does not refer to \"i1.png\""), "{error}");
}

/// A document with a sheet and an image; the sheet has a sheet and a font, the inner sheet an image.
const SHEETS: &str = "name,type,bytes,offset_of_reference_in_html,referrer,think_ms,request_bytes,header_bytes\n\
    index.html,text/html,2000,0,,,,\n\
    s/a.css,text/css,3000,70,,30,400,300\n\
    b.css,text/css,900,2,s/a.css,,,\n\
    f.woff2,font/woff2,5000,1000,s/a.css,,,\n\
    i.png,image/png,700,500,b.css,,,\n\
    j.png,image/png,700,900,,,,\n";

#[tokio::test]
async fn what_sheets_name_is_found_in_them_to_any_depth() {
    let page = Page::from_csv(SHEETS).unwrap();
    let (address, url, site) = origin(&page, HttpConfig::DEFAULT).await;
    let observation = load_from(&page, HttpConfig::DEFAULT, &url, Route::Direct(address)).await.unwrap();
    let timings = observation.verify(&page, &site).unwrap();
    for (object, referrer) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 0)] {
        assert!(timings[referrer].first_byte_s <= timings[object].discovered_s, "{object} is named by {referrer}");
        assert!(timings[object].discovered_s <= timings[referrer].end_s, "{object} is named by {referrer}");
    }
    let thought = timings[1].first_byte_s - timings[1].request_s;
    assert!(thought >= 0.030, "the server thinks for 30 ms, not {thought} s");
}

#[tokio::test]
async fn objects_may_have_requests_and_heads_of_their_own_size() {
    let page = Page::from_csv(SHEETS).unwrap();
    let (address, url, _) = origin(&page, HttpConfig::DEFAULT).await;
    let head = split(&converse(address, "GET /s/a.css HTTP/1.0\r\n\r\n").await).0;
    assert_eq!(head.len(), 300, "{head}");
    let mut single = Page::uniform(1, Bytes::kb(20)).unwrap();
    single.objects[0].request_bytes = Some(Bytes::new(444));
    let (address, _, mut requests) = canned(document("")).await;
    load_from(&single, HttpConfig::DEFAULT, &url, Route::Direct(address)).await.unwrap();
    assert_eq!(requests.recv().await.unwrap().len(), 444);
}

#[tokio::test]
async fn what_the_client_does_not_know_is_refused_before_it_connects() {
    let (page, nowhere) = (page(), Route::Direct("127.0.0.1:9".parse().unwrap()));
    let url = Url::parse("http://127.0.0.1:9/").unwrap();
    let refused = async |page: &Page, http| match load_from(page, http, &url, nowhere).await.unwrap_err() {
        MeasureError::Unmeasurable(reason) => reason,
        other => panic!("{other}"),
    };
    assert_eq!(refused(&page, http(HttpVersion::Http3, 1)).await, "speaks HTTP/1.0 and 1.1 only");
    let mut scripted = Page::from_csv(SHEETS).unwrap();
    scripted.objects[2].media_type = "text/javascript".into();
    assert_eq!(refused(&scripted, HttpConfig::DEFAULT).await, "runs no scripts");
    let mut two_hosts = Page::from_csv(SHEETS).unwrap();
    two_hosts.hosts.push("other.test".into());
    assert_eq!(refused(&two_hosts, HttpConfig::DEFAULT).await, "knows one host");
    let served = Site::new(&two_hosts, &HttpConfig::DEFAULT, &url, SEED).map(drop).unwrap_err();
    assert_eq!(served.to_string(), "a page on 2 hosts; the origin is one");
    assert!(served.is_beyond_measuring() && !MeasureError::Panicked("client").is_beyond_measuring());
    let mut slow = page.clone();
    slow.objects[3].delay = Duration::from_millis(1);
    assert_eq!(refused(&slow, HttpConfig::DEFAULT).await, "asks for what it has discovered at once");
}

#[tokio::test]
async fn bytes_that_are_not_the_origins_are_an_error() {
    let page = Page::uniform(1, Bytes::kb(20)).unwrap();
    let (_, _, site) = origin(&page, HttpConfig::DEFAULT).await;
    let (address, url, _requests) = canned(document("tampered with")).await;
    let observation = load_from(&page, HttpConfig::DEFAULT, &url, Route::Direct(address)).await.unwrap();
    let error = observation.verify(&page, &site).unwrap_err();
    assert!(matches!(&error, MeasureError::Corrupt { object, .. } if *object == page.objects[0].name), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let (listener, address, url) = listen().await;
    drop(listener);
    let error = load_from(&page(), HttpConfig::DEFAULT, &url, Route::Direct(address)).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("connecting to {address}: ")), "{error}");
}

#[tokio::test]
async fn a_load_that_hangs_ends_with_what_is_missing() {
    let (_listener, address, url) = listen().await;
    let page = page();
    let timeout = Duration::from_millis(50);
    let (http, route) = (HttpConfig::DEFAULT, Route::Direct(address));
    let plan = LoadPlan { page: &page, http, server: &url, route, keys: None, timeout };
    let error = load(&plan, Clock::start()).await.unwrap_err();
    assert!(matches!(&error, MeasureError::Timeout { missing, .. } if missing.len() == 12), "{error}");
}

#[tokio::test]
async fn a_proxy_that_refuses_the_tunnel_is_an_error() {
    let (address, url, _requests) = canned(b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec()).await;
    let error = load_from(&page(), HttpConfig::DEFAULT, &url, Route::Tunnel(address)).await.unwrap_err();
    assert!(matches!(error, MeasureError::Connect(ResponseProblem::Status(403))), "{error}");
}

#[tokio::test]
async fn pages_come_by_both_versions_of_tls() {
    let large = Page::uniform(12, Bytes::kb(300)).unwrap();
    for (tls, version, page) in [
        (Tls::V12, HttpVersion::Http10, page()),
        (Tls::V12, HttpVersion::Http11, page()),
        (Tls::V13, HttpVersion::Http11Pipelined, page()),
        (Tls::V13, HttpVersion::Http11, large),
    ] {
        let http = HttpConfig { tls, ..http(version, 6) };
        let (address, url, site) = origin(&page, http).await;
        let observation = load_with(site.keys(), &page, http, &url, Route::Direct(address)).await.unwrap();
        let objects = observation.verify(&page, &site).unwrap();
        assert_eq!(objects.len(), page.objects.len(), "{tls:?} {version:?}");
    }
}

#[tokio::test]
async fn a_server_with_other_keys_is_not_trusted() {
    let http = HttpConfig { tls: Tls::V13, ..HttpConfig::DEFAULT };
    let (_, _, other) = origin(&page(), http).await;
    let (address, url, _) = origin(&page(), http).await;
    let error = load_with(other.keys(), &page(), http, &url, Route::Direct(address)).await.unwrap_err();
    assert!(error.to_string().starts_with("agreeing on keys with the server: "), "{error}");
}

#[tokio::test]
async fn long_requests_are_encrypted_to_their_end() {
    let mut page = page();
    page.objects[4].request_bytes = Some(Bytes::kb(900));
    let http = HttpConfig { tls: Tls::V13, ..HttpConfig::DEFAULT };
    let (address, url, site) = origin(&page, http).await;
    let observation = load_with(site.keys(), &page, http, &url, Route::Direct(address)).await.unwrap();
    observation.verify(&page, &site).unwrap();
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_to_a_server_with_keys() {
    let http = HttpConfig { tls: Tls::V13, ..HttpConfig::DEFAULT };
    let (_, url, site) = origin(&page(), http).await;
    let (proxy, _, mut requests) = canned(b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec()).await;
    let error = load_with(site.keys(), &page(), http, &url, Route::Proxy(proxy)).await.unwrap_err();
    assert!(matches!(error, MeasureError::Connect(ResponseProblem::Status(403))), "{error}");
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with(&format!("CONNECT {}:", url.host_str().unwrap())), "{request}");
}
