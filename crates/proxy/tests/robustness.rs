//! What goes wrong on real links and with real peers: loss, restarts, wrong keys, servers that fail, clients that are slow.

mod support;

use bytes::Bytes;
use farhop_units::Bytes as Size;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::client::{ask, connect, get, load};
use support::link::LinkConfig;
use support::raw::{RawServer, Then};
use support::server::{self, Server, noise, resource};
use support::{Boxes, configs, run_gateway, run_terminal, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const NEAR: LinkConfig = LinkConfig { delay: Duration::from_millis(2), loss: 0, rate: None, queue: None };

#[tokio::test]
async fn a_lossy_path_with_thousands_of_gaps_carries_everything() {
    // At 100 Mbit/s over 500 ms some 4500 packets are in flight; a third is lost, so that 1500 gaps are open at a time. A receiver
    // that leaves the order to the QUIC library ends the connection ("too many gaps").
    let big = noise(1, 12_000_000);
    let resources = BTreeMap::from([("/big".to_owned(), resource("application/zip", big.clone()))]);
    let server = Server::start(resources).await;
    let link = LinkConfig { delay: Duration::from_millis(250), loss: 33, rate: None, queue: None };
    let boxes = Boxes::start(link).await;
    let answer = ask(boxes.proxy, get(&server.url("/big"), &[])).await;
    assert!(answer.body == big, "{} bytes came", answer.body.len());
    let lost = boxes.link.lost.load(Ordering::Relaxed);
    assert!(lost > 2048, "only {lost} packets were lost, which proves nothing");
}

#[tokio::test]
async fn connect_carries_both_directions_and_their_ends() {
    let echo = TcpListener::bind(support::any_port()).await.unwrap();
    let address = echo.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = echo.accept().await.unwrap();
        let (mut from, mut to) = stream.split();
        tokio::io::copy(&mut from, &mut to).await.unwrap();
        to.write_all(b"bye").await.unwrap();
    });
    let boxes = Boxes::start(NEAR).await;
    let mut stream = connect(boxes.proxy, &address.to_string()).await;
    let sent = noise(7, 3_000_000);
    let (mut from, mut to) = stream.split();
    let mut received = Vec::new();
    let upload = async {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    };
    soon(async { tokio::join!(upload, from.read_to_end(&mut received)) }).await.1.unwrap();
    assert!(received == [&sent[..], b"bye"].concat());
}

#[tokio::test]
async fn a_refused_connect_closes_the_connection() {
    let closed = TcpListener::bind(support::any_port()).await.unwrap().local_addr().unwrap();
    let boxes = Boxes::start(NEAR).await;
    let mut stream = connect(boxes.proxy, &closed.to_string()).await;
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty());
}

#[tokio::test]
async fn uploads_arrive_whole() {
    let server = Server::start(BTreeMap::new()).await;
    let boxes = Boxes::start(NEAR).await;
    let body = noise(3, 5_000_000);
    let request = Request::post(server.url("/form?x=1")).header("x-kept", "1").header("connection", "x-dropped");
    let request = request.header("x-dropped", "1").body(Full::new(body.clone())).unwrap();
    let answer = ask(boxes.proxy, request).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.body == body);
    let asked = server.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.path, "/form?x=1");
    assert_eq!(asked.headers["host"], server.address.to_string().as_str());
    assert!(asked.headers.contains_key("x-kept") && !asked.headers.contains_key("x-dropped"));
}

#[tokio::test]
async fn a_slow_client_does_not_fill_the_terminal() {
    let big = noise(9, 8_000_000);
    let resources = BTreeMap::from([("/big".to_owned(), resource("application/zip", big.clone()))]);
    let server = Server::start(resources).await;
    let window = Size::kib(1024);
    let boxes = Boxes::start_with(NEAR, |_, terminal| terminal.window = window).await;
    let mut stream = TcpStream::connect(boxes.proxy).await.unwrap();
    stream.write_all(format!("GET {} HTTP/1.0\r\n\r\n", server.url("/big")).as_bytes()).await.unwrap();
    let mut first = vec![0; 1000];
    soon(stream.read_exact(&mut first)).await.unwrap();
    // Others are served while this one does not read.
    let other = ask(boxes.proxy, get(&server.url("/none"), &[])).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
    let mut rest = Vec::new();
    soon(stream.read_to_end(&mut rest)).await.unwrap();
    assert!([first, rest].concat().ends_with(&big));
}

#[tokio::test]
async fn a_peer_with_another_key_is_refused() {
    let (_keys, gateway_config, _) = configs();
    let (_other_keys, _, mut stranger) = configs();
    let (gateway, _running) = run_gateway(gateway_config.clone()).await;
    stranger.gateway = gateway.to_string();
    // It knows the gateway, but the gateway does not know it.
    stranger.gateway_certificate = gateway_config.certificate.clone();
    let (proxy, terminal, _running) = run_terminal(stranger).await;
    assert!(tokio::time::timeout(Duration::from_secs(2), terminal.connected()).await.is_err());
    assert_eq!(ask(proxy, get("http://127.0.0.1:1/", &[])).await.status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_gateway_with_another_key_is_refused() {
    let (_keys, _, mut terminal_config) = configs();
    let (_other_keys, impostor, _) = configs();
    let (gateway, _running) = run_gateway(impostor).await;
    terminal_config.gateway = gateway.to_string();
    let (proxy, terminal, _running) = run_terminal(terminal_config).await;
    assert!(tokio::time::timeout(Duration::from_secs(2), terminal.connected()).await.is_err());
    let answer = ask(proxy, get("http://a.example/", &[])).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(answer.body, "farhop terminal: the tunnel to the gateway is down\n");
}

#[tokio::test]
async fn a_restarted_gateway_is_found_again() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(NEAR).await;
    let before = load(boxes.proxy, &server.url("/"), 6).await.0;
    boxes.running_gateway.stop().await;
    soon(until(|| async { ask(boxes.proxy, get(&server.url("/"), &[])).await.status == StatusCode::BAD_GATEWAY }))
        .await;
    let (_, _running) = run_gateway(boxes.gateway_config).await;
    soon(boxes.terminal.connected()).await;
    assert!(load(boxes.proxy, &server.url("/"), 6).await.0 == before);
    assert_eq!(boxes.terminal.statistics().pushed, 54);
}

#[tokio::test]
async fn a_restarted_terminal_is_served_again() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start(NEAR).await;
    let before = load(boxes.proxy, &server.url("/"), 6).await.0;
    boxes.running_terminal.stop().await;
    let (proxy, terminal, _running) = run_terminal(boxes.terminal_config).await;
    soon(terminal.connected()).await;
    assert!(load(proxy, &server.url("/"), 6).await.0 == before);
}

#[tokio::test]
async fn private_addresses_are_refused_unless_named() {
    let server = Server::start(server::page()).await;
    let boxes = Boxes::start_with(NEAR, |gateway, _| gateway.allow.clear()).await;
    let answer = ask(boxes.proxy, get(&server.url("/"), &[])).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(answer.body, "farhop terminal: the gateway does not connect to that address\n");
    let mut stream = connect(boxes.proxy, &server.address.to_string()).await;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty());
    assert!(server.counts().is_empty());
}

#[tokio::test]
async fn a_server_that_breaks_off_is_not_taken_for_complete() {
    let listener = TcpListener::bind(support::any_port()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345").await.unwrap();
    });
    let boxes = Boxes::start(NEAR).await;
    let stream = TcpStream::connect(boxes.proxy).await.unwrap();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let outcome = async {
        let response = sender.send_request(get(&format!("http://{address}/"), &[])).await?;
        assert_eq!(response.headers()["content-length"], "10");
        response.into_body().collect().await
    };
    assert!(soon(outcome).await.is_err(), "the client must see that something is missing");
}

#[tokio::test]
async fn a_kept_connection_that_the_server_has_closed_is_no_error() {
    let listener = TcpListener::bind(support::any_port()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            // Promises to keep the connection, and does not.
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        }
    });
    let boxes = Boxes::start(NEAR).await;
    for _ in 0..5 {
        let answer = ask(boxes.proxy, get(&format!("http://{address}/"), &[])).await;
        assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"ok"[..]));
    }
}

#[tokio::test]
async fn a_gateway_is_found_by_its_name() {
    let (_keys, gateway_config, mut terminal_config) = configs();
    let (gateway, _running) = run_gateway(gateway_config).await;
    terminal_config.gateway = format!("localhost:{}", gateway.port());
    let (_, terminal, _running) = run_terminal(terminal_config).await;
    soon(terminal.connected()).await;
}

#[tokio::test]
async fn an_unreachable_server_is_a_bad_gateway() {
    let closed = TcpListener::bind(support::any_port()).await.unwrap().local_addr().unwrap();
    let boxes = Boxes::start(NEAR).await;
    let answer = ask(boxes.proxy, get(&format!("http://{closed}/"), &[])).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(answer.body, Bytes::from_static(b"farhop terminal: the server could not be reached\n"));
}

#[tokio::test]
async fn what_is_no_proxy_request_is_refused() {
    let boxes = Boxes::start(NEAR).await;
    assert_eq!(ask(boxes.proxy, get("/index.html", &[])).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_fetch_even_if_the_server_says_nothing() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"] {
        let server = RawServer::start(answer, Then::Waits).await;
        let boxes = Boxes::start(NEAR).await;
        let mut stream = TcpStream::connect(boxes.proxy).await.unwrap();
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/"));
        stream.write_all(request.as_bytes()).await.unwrap();
        server.received(|text| text.contains("\r\n\r\n")).await;
        if !answer.is_empty() {
            let mut head = Vec::new();
            while !head.ends_with(b"12345") {
                head.push(soon(stream.read_u8()).await.unwrap());
            }
        }
        drop(stream);
        server.received(|text| text.ends_with("<gone>")).await;
    }
}

#[tokio::test]
async fn a_tunnel_that_breaks_does_not_end_in_order() {
    let listener = TcpListener::bind(support::any_port()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let boxes = Boxes::start(NEAR).await;
    for breaks_off in ["server", "client"] {
        let mut client = connect(boxes.proxy, &address.to_string()).await;
        client.write_all(b"abc").await.unwrap();
        let (mut server, _) = soon(listener.accept()).await.unwrap();
        let mut bytes = [0; 3];
        soon(server.read_exact(&mut bytes)).await.unwrap();
        let (gone, mut left) = if breaks_off == "server" { (server, client) } else { (client, server) };
        socket2::SockRef::from(&gone).set_linger(Some(Duration::ZERO)).unwrap();
        drop(gone);
        let mut rest = Vec::new();
        assert!(soon(left.read_to_end(&mut rest)).await.is_err(), "the {breaks_off} broke off");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_one_side_has_ended_harms_no_other() {
    let listener = TcpListener::bind(support::any_port()).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let boxes = Boxes::start(NEAR).await;
    let mut other = connect(boxes.proxy, &address).await;
    let (mut other_server, _) = soon(listener.accept()).await.unwrap();
    let mut client = connect(boxes.proxy, &address).await;
    let (mut server, _) = soon(listener.accept()).await.unwrap();
    client.shutdown().await.unwrap();
    soon(server.read_to_end(&mut Vec::new())).await.unwrap();
    server.set_zero_linger().unwrap();
    drop(server);
    assert!(soon(client.read_to_end(&mut Vec::new())).await.is_err());
    // What the terminal then says about the broken connection comes before this.
    for byte in 0..10 {
        other.write_u8(byte).await.unwrap();
        assert_eq!(soon(other_server.read_u8()).await.unwrap(), byte);
    }
}

#[tokio::test]
async fn connections_that_users_log_in_to_are_not_shared() {
    let resources = BTreeMap::from([("/".to_owned(), resource("text/plain", "x".into()))]);
    let server = Server::start(resources).await;
    let boxes = Boxes::start(NEAR).await;
    let mut opened = Vec::new();
    for login in ["Basic eDp5", "Basic eDp5", "NTLM TlRM", "Basic eDp5", "negotiate YII", "Basic eDp5"] {
        ask(boxes.proxy, get(&server.url("/"), &[("authorization", login)])).await;
        opened.push(server.connections());
    }
    assert_eq!(opened, [1, 1, 1, 2, 2, 3], "who comes after a login gets a connection of their own");
}

async fn until<F: Future<Output = bool>>(mut happens: impl FnMut() -> F) {
    while !happens().await {
        tokio::task::yield_now().await;
    }
}
