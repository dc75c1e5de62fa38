//! Which requests a push may answer, end to end: only those that would have got the same response.

mod support;

use farhop_units::Rate;
use http::{HeaderMap, StatusCode};
use std::collections::BTreeMap;
use std::time::Duration;
use support::client::{Answer, ask, get};
use support::link::LinkConfig;
use support::server::{Resource, Server, noise, resource};
use support::{Boxes, soon};

const NEAR: LinkConfig = LinkConfig { delay: Duration::from_millis(2), loss: 0, rate: None, queue: None };
const BROWSER: [(&str, &str); 3] = [("user-agent", "Browser/1"), ("accept-language", "de"), ("cookie", "session=1")];

/// A page that names `/a.png`, which is given with `headers`.
fn site(headers: &[(&'static str, &'static str)]) -> BTreeMap<String, Resource> {
    let html = "<img src=a.png><img src=/gone.png><a href=/logout>x</a>";
    let mut image = resource("image/png", "image".into());
    for (name, value) in headers {
        image.headers.insert(*name, value.parse().expect("a header value"));
    }
    BTreeMap::from([
        ("/".to_owned(), resource("text/html", html.into())),
        ("/a.png".to_owned(), image),
        ("/plain".to_owned(), resource("text/plain", "<img src=a.png>".into())),
    ])
}

async fn started(headers: &[(&'static str, &'static str)]) -> (Server, Boxes) {
    let server = Server::start(site(headers)).await;
    let boxes = Boxes::start(NEAR).await;
    let page = ask(boxes.proxy, get(&server.url("/"), &BROWSER)).await;
    assert_eq!(page.status, StatusCode::OK);
    (server, boxes)
}

/// Asks for the image with more headers, and says whether a push answered.
async fn image(server: &Server, boxes: &Boxes, more: &[(&str, &str)]) -> (Answer, bool) {
    let before = boxes.terminal.statistics().pushed;
    let answer = ask(boxes.proxy, get(&server.url("/a.png"), &[&BROWSER, more].concat())).await;
    (answer, boxes.terminal.statistics().pushed > before)
}

#[tokio::test]
async fn a_browsers_request_is_answered_once() {
    let (server, boxes) = started(&[]).await;
    let (answer, is_pushed) = image(&server, &boxes, &[("accept", "image/*"), ("referer", "x")]).await;
    assert_eq!((answer.status, &answer.body[..], is_pushed), (StatusCode::OK, &b"image"[..], true));
    assert_eq!(answer.headers["cache-control"], "no-store");
    let (_, is_pushed) = image(&server, &boxes, &[]).await;
    assert!(!is_pushed, "the second time it is asked for again");
    assert_eq!(server.counts()["/a.png"], 2);
}

#[tokio::test]
async fn the_prefetch_carries_the_clients_headers() {
    let (server, boxes) = started(&[]).await;
    let (_, is_pushed) = image(&server, &boxes, &[]).await;
    assert!(is_pushed);
    let asked = server.asked.lock().unwrap().clone();
    let prefetched = asked.iter().find(|asked| asked.path == "/a.png").unwrap();
    for (name, value) in BROWSER {
        assert_eq!(prefetched.headers[name], value);
    }
    assert_eq!(prefetched.headers["referer"], server.url("/"));
    assert!(!server.counts().contains_key("/logout"), "links are not followed");
}

#[tokio::test]
async fn a_different_request_is_forwarded() {
    for more in
        [("range", "bytes=0-1"), ("if-none-match", "\"x\""), ("x-requested-with", "script"), ("origin", "http://b")]
    {
        let (server, boxes) = started(&[]).await;
        let (answer, is_pushed) = image(&server, &boxes, &[more]).await;
        assert_eq!((answer.status, is_pushed), (StatusCode::OK, false), "{more:?}");
        let asked = server.asked.lock().unwrap().clone();
        assert!(asked.iter().any(|asked| asked.headers.get(more.0).is_some_and(|value| value == more.1)));
    }
}

#[tokio::test]
async fn another_session_is_not_answered() {
    let (server, boxes) = started(&[]).await;
    let request = get(&server.url("/a.png"), &[BROWSER[0], BROWSER[1], ("cookie", "session=2")]);
    assert_eq!(ask(boxes.proxy, request).await.status, StatusCode::OK);
    assert_eq!(boxes.terminal.statistics().pushed, 0);
    let cookies = |cookie: &str| {
        let has = |headers: &HeaderMap| headers.get("cookie").is_some_and(|value| value == cookie);
        let asked = server.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.path == "/a.png" && has(&asked.headers)).count()
    };
    assert_eq!((cookies("session=1"), cookies("session=2")), (1, 1));
}

#[tokio::test]
async fn a_response_that_varies_by_accept_is_not_used() {
    let (server, boxes) = started(&[("vary", "Accept")]).await;
    let (answer, is_pushed) = image(&server, &boxes, &[("accept", "image/webp")]).await;
    assert_eq!((answer.status, is_pushed), (StatusCode::OK, false));
}

#[tokio::test]
async fn errors_are_passed_as_they_came() {
    let (server, boxes) = started(&[]).await;
    let answer = ask(boxes.proxy, get(&server.url("/gone.png"), &BROWSER)).await;
    assert_eq!((answer.status, boxes.terminal.statistics().pushed), (StatusCode::NOT_FOUND, 1));
}

#[tokio::test]
async fn what_is_no_html_is_not_read() {
    let server = Server::start(site(&[])).await;
    let boxes = Boxes::start(NEAR).await;
    assert_eq!(ask(boxes.proxy, get(&server.url("/plain"), &[])).await.body, "<img src=a.png>");
    assert_eq!(server.counts(), BTreeMap::from([("/plain".to_owned(), 1)]));
}

#[tokio::test]
async fn what_nobody_asks_for_is_given_up() {
    let server = Server::start(site(&[])).await;
    let boxes = Boxes::start_with(NEAR, |_, terminal| terminal.limits.keep = Duration::from_millis(300)).await;
    ask(boxes.proxy, get(&server.url("/"), &BROWSER)).await;
    soon(async {
        while boxes.terminal.statistics().discarded < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (_, is_pushed) = soon(image(&server, &boxes, &[])).await;
    assert!(!is_pushed);
}

#[tokio::test]
async fn head_has_no_body_and_is_not_answered_from_a_push() {
    let (server, boxes) = started(&[]).await;
    let request = http::Request::head(server.url("/a.png")).header("user-agent", "Browser/1");
    let answer = ask(boxes.proxy, request.body(http_body_util::Full::default()).unwrap()).await;
    assert_eq!((answer.status, answer.body.len(), boxes.terminal.statistics().pushed), (StatusCode::OK, 0, 0));
    assert_eq!(answer.headers["content-length"], "5");
}

#[tokio::test]
async fn compressed_pages_are_read_and_passed_as_they_came() {
    // `printf '<img src=a.png>' | gzip -9n`
    let packed: &[u8] = &[
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xb3, 0xc9, 0xcc, 0x4d, 0x57, 0x28, 0x2e, 0x4a,
        0xb6, 0x4d, 0xd4, 0x2b, 0xc8, 0x4b, 0xb7, 0x03, 0x00, 0x2e, 0x96, 0x8a, 0xc4, 0x0f, 0x00, 0x00, 0x00,
    ];
    let mut resources = site(&[]);
    let mut page = resource("text/html", packed.into());
    page.headers.insert("content-encoding", "gzip".parse().unwrap());
    resources.insert("/packed".to_owned(), page);
    let server = Server::start(resources).await;
    let boxes = Boxes::start(NEAR).await;
    assert_eq!(ask(boxes.proxy, get(&server.url("/packed"), &BROWSER)).await.body, packed);
    let (_, is_pushed) = image(&server, &boxes, &[]).await;
    assert!(is_pushed);
}

#[tokio::test]
async fn large_parts_that_nobody_asks_for_do_not_hold_up_others() {
    let parts = 40;
    let html: String = (0..parts).map(|part| format!("<img src={part}.png>")).collect();
    let mut resources = BTreeMap::from([("/".to_owned(), resource("text/html", html.into()))]);
    for part in 0..parts {
        resources.insert(format!("/{part}.png"), resource("image/png", noise(part, 1_500_000)));
    }
    let server = Server::start(resources).await;
    let boxes = Boxes::start_with(NEAR, |gateway, _| gateway.rate = Rate::mbps(1000)).await;
    ask(boxes.proxy, get(&server.url("/"), &[])).await;
    let last = parts - 1;
    let answer = ask(boxes.proxy, get(&server.url(&format!("/{last}.png")), &[])).await;
    assert!(answer.body == noise(last, 1_500_000));
    assert_eq!(boxes.terminal.statistics().pushed, 1);
}
