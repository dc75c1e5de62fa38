//! Where one message ends and the next begins, on either side of the boxes (RFC 9112 §6, §7, §9), whatever clients and servers say.

mod support;

use std::time::Duration;
use support::Boxes;
use support::link::LinkConfig;
use support::raw::{RawServer, Then, say};

const NEAR: LinkConfig = LinkConfig { delay: Duration::from_millis(2), loss: 0, rate: None, queue: None };

/// What a client of HTTP/1.1 gets for a GET of a server's only answer.
async fn answered(answer: &'static [u8], then: Then) -> (String, bool) {
    let server = RawServer::start(answer, then).await;
    let boxes = Boxes::start(NEAR).await;
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", server.url("/"));
    say(boxes.proxy, &request).await
}

#[tokio::test]
async fn a_response_with_two_lengths_is_as_long_as_its_chunks() {
    let answer =
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n";
    let (answer, is_whole) = answered(answer, Then::Waits).await;
    assert!(is_whole && answer.contains("0123456789"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("content-length"), "{answer}");
}

#[tokio::test]
async fn a_request_with_two_lengths_is_as_long_as_its_chunks() {
    let server = RawServer::start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::Waits).await;
    let boxes = Boxes::start(NEAR).await;
    let body = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n";
    let request = format!("POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{body}", server.url("/"));
    let (answer, _) = say(boxes.proxy, &request).await;
    assert!(answer.ends_with("ok"), "{answer}");
    let received = server.received(|text| text.contains("\r\n\r\n")).await;
    assert!(!received.to_ascii_lowercase().contains("content-length"), "{received}");
    server.received(|text| text.contains("0123456789")).await;
}

#[tokio::test]
async fn a_get_with_a_body_of_unknown_length_keeps_it() {
    let server = RawServer::start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::Waits).await;
    let boxes = Boxes::start(NEAR).await;
    let body = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{body}", server.url("/"));
    let (answer, _) = say(boxes.proxy, &request).await;
    assert!(answer.ends_with("ok"), "{answer}");
    server.received(|text| text.contains("abc")).await;
}

#[tokio::test]
async fn codings_that_would_be_lost_are_refused() {
    let coded = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let (answer, _) = answered(coded, Then::Waits).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    let boxes = Boxes::start(NEAR).await;
    let body = "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let request = format!("POST http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{body}");
    let (answer, _) = say(boxes.proxy, &request).await;
    assert!(answer.starts_with("HTTP/1.1 501"), "{answer}");
}

#[tokio::test]
async fn an_upgrade_nobody_asked_for_is_a_bad_gateway() {
    let (answer, _) = answered(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nraw", Then::Waits).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
}

#[tokio::test]
async fn interim_responses_are_not_the_answer() {
    let answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let (answer, is_whole) = answered(answer, Then::Waits).await;
    assert!(is_whole && answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok"), "{answer}");
}

#[tokio::test]
async fn answers_without_bodies_keep_their_heads() {
    let (answer, is_whole) = answered(b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", Then::Waits).await;
    assert!(is_whole && answer.starts_with("HTTP/1.1 204") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(!answer.contains("chunked") && answer.contains("x-a: 1"), "{answer}");
    let (answer, is_whole) = answered(b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n", Then::Waits).await;
    assert!(is_whole && answer.starts_with("HTTP/1.1 304") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(!answer.contains("chunked") && answer.contains("etag: \"1\""), "{answer}");
}

#[tokio::test]
async fn an_old_client_gets_no_chunks() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let server = RawServer::start(answer, Then::Waits).await;
    let boxes = Boxes::start(NEAR).await;
    let (answer, is_whole) = say(boxes.proxy, &format!("GET {} HTTP/1.0\r\n\r\n", server.url("/"))).await;
    assert!(is_whole && answer.ends_with("\r\n\r\nabc") && !answer.contains("chunked"), "{answer}");
}

#[tokio::test]
async fn an_old_client_sees_that_something_is_missing() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let server = RawServer::start(answer, Then::Closes).await;
    let boxes = Boxes::start(NEAR).await;
    let (answer, is_whole) = say(boxes.proxy, &format!("GET {} HTTP/1.0\r\n\r\n", server.url("/"))).await;
    assert!(!is_whole, "for a client that reads until the end, an orderly end would be the end: {answer}");
}

#[tokio::test]
async fn a_client_that_waits_for_a_word_before_its_body_gets_it() {
    let server = RawServer::start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::Waits).await;
    let boxes = Boxes::start(NEAR).await;
    let head = "Expect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
    let (answer, _) = say(boxes.proxy, &format!("POST {} HTTP/1.1\r\nHost: x\r\n{head}", server.url("/"))).await;
    assert!(answer.starts_with("HTTP/1.1 100") && answer.ends_with("ok"), "{answer}");
    server.received(|text| text.ends_with("abc")).await;
}

#[tokio::test]
async fn the_server_is_asked_for_what_the_client_wrote() {
    // Quotes grow threefold when a URL parser rewrites them, past what the HTTP library takes as a target.
    let long = format!("/x?{}", "'".repeat(40_000));
    for target in ["/a/../b", "/a/%2e%2e/b", "/it's?it's", "/a\\b", "/a^|b", "", "?q", &long] {
        let server = RawServer::start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::Waits).await;
        let boxes = Boxes::start(NEAR).await;
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", server.url(target));
        let (answer, _) = say(boxes.proxy, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{target}: {answer}");
        let slash = if target.starts_with('/') { "" } else { "/" };
        let received = server.received(|text| text.contains("\r\n\r\n")).await;
        assert!(received.starts_with(&format!("GET {slash}{target} HTTP/1.1\r\n")), "{target}: {answer}{received}");
    }
}
