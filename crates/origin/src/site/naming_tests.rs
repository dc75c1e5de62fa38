//! What a browser is made to load by filler: documents read again by a parser of HTML, style sheets and scripts by their text.

use super::*;
use crate::request::{Endpoint, Scheme};
use farhop_accel::discovery::{Discovery, ReferenceKind};
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

const PAGE: &str = "https://www.a.test/";

/// An entry without a body: its URL, media type, size and what caused it.
fn entry(url: &str, media_type: &str, size: u64, initiator: Value) -> Value {
    json!({
        "pageref": "page", "_initiator": initiator, "request": {"method": "GET", "url": url},
        "response": {"status": 200, "content": {"mimeType": media_type, "size": size}},
    })
}

fn by(url: &str) -> Value {
    json!({"type": "parser", "url": url})
}

fn site(entries: &[Value]) -> Site {
    let har = Har::parse(json!({"log": {"entries": entries}}).to_string().as_bytes()).unwrap();
    let (recording, hosts, notes) = Recording::new(har).unwrap();
    Site { hosts, content: Content::Recording(recording), notes }
}

fn body(site: &Site, url: &str) -> Vec<u8> {
    let url = Url::parse(url).unwrap();
    let (host, scheme) = (url.host_str().unwrap().to_owned(), Scheme::of(url.scheme()).unwrap());
    let request = http::Request::get(&url[url::Position::BeforePath..]).header("host", &host).body(()).unwrap();
    let (head, ()) = request.into_parts();
    let endpoint = Endpoint { host, port: url.port_or_known_default().unwrap(), scheme };
    let response = site.answer(&Asked::new(&head, &endpoint).unwrap()).response;
    assert_eq!(response.status(), StatusCode::OK);
    let collected = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(response.collect());
    collected.unwrap().to_bytes().to_vec()
}

fn text(site: &Site, url: &str) -> String {
    String::from_utf8(body(site, url)).unwrap()
}

/// What a document refers to, frames apart.
fn found(document: &[u8]) -> Vec<(String, ReferenceKind)> {
    let mut discovery = Discovery::new(Url::parse(PAGE).unwrap());
    let mut found = discovery.push(document);
    found.extend(discovery.finish());
    found.into_iter().map(|reference| (reference.url.to_string(), reference.kind)).collect()
}

#[test]
fn documents_name_what_they_caused_in_recorded_order() {
    let site = site(&[
        entry(PAGE, "text/html", 20_000, Value::Null),
        entry("https://www.a.test/a.css", "text/css", 1000, by(PAGE)),
        entry("https://cdn.b.test/a.js?x=1&y=2", "text/javascript", 1000, by(PAGE)),
        entry("https://www.a.test/bg.png", "image/png", 1000, by("https://www.a.test/a.css")),
        entry("https://www.a.test/a.woff2", "font/woff2", 1000, by("https://www.a.test/a.css")),
        entry("https://www.a.test/late.jpg", "image/jpeg", 1000, by("https://cdn.b.test/a.js?x=1&y=2")),
        entry("https://www.a.test/frame", "text/html", 1000, by(PAGE)),
        entry("https://www.a.test/in.png", "image/png", 1000, by("https://www.a.test/frame")),
        entry("https://www.a.test/b.woff2", "font/woff2", 1000, by(PAGE)),
        entry("https://www.a.test/data", "application/json", 1000, by(PAGE)),
        entry("https://www.a.test/a.png", "image/png", 1000, by(PAGE)),
        entry("https://www.a.test/a.png#again", "image/png", 1000, by(PAGE)),
        entry("https://www.a.test/lost.png", "image/png", 1000, by("https://www.a.test/unknown.js")),
        entry("https://www.a.test/a.mp4", "video/mp4", 1000, json!({"type": "other"})),
        entry("https://www.a.test/favicon.ico", "image/x-icon", 1000, json!({"type": "other"})),
    ]);
    let document = body(&site, PAGE);
    assert_eq!(document.len(), 20_000);
    use ReferenceKind::*;
    let expected = [
        ("https://www.a.test/a.css", Stylesheet),
        ("https://cdn.b.test/a.js?x=1&y=2", Script),
        ("https://www.a.test/frame", Frame),
        ("https://www.a.test/b.woff2", Preload),
        ("https://www.a.test/data", Preload),
        ("https://www.a.test/a.png", Image),
        ("https://www.a.test/lost.png", Image),
        ("https://www.a.test/a.mp4", Preload),
    ];
    assert_eq!(found(&document), expected.map(|(url, kind)| (url.to_owned(), kind)));
    let document = text(&site, PAGE);
    assert_eq!(document.matches("<iframe src=\"https://www.a.test/frame\">").count(), 1);
    assert_eq!(found(&body(&site, "https://www.a.test/frame"))[0].0, "https://www.a.test/in.png");
    let sheet = text(&site, "https://www.a.test/a.css");
    assert!(sheet.contains("{--images0:url(\"https://www.a.test/bg.png\")}"), "{sheet}");
    assert!(sheet.contains("src:url(\"https://www.a.test/a.woff2\")"), "{sheet}");
    let script = text(&site, "https://cdn.b.test/a.js?x=1&y=2");
    assert!(script.contains("new Image().src=\"https://www.a.test/late.jpg\";"), "{script}");
}

#[test]
fn without_initiators_the_document_names_all_that_came_later() {
    let mut posted = entry("https://www.a.test/post", "text/plain", 9, Value::Null);
    posted["request"]["method"] = json!("POST");
    let mut moved = entry("http://www.a.test/", "", 0, Value::Null);
    moved["response"] = json!({"status": 301, "headers": [{"name": "Location", "value": PAGE}]});
    let mut hop = entry("https://www.a.test/hop", "", 0, Value::Null);
    hop["response"] = json!({"status": 302, "headers": [{"name": "location", "value": "landed.gif"}]});
    let mut blocked = entry("https://www.a.test/blocked.js", "text/javascript", 0, Value::Null);
    blocked["response"]["status"] = json!(0);
    let mut other = entry("https://www.a.test/next.png", "image/png", 9, Value::Null);
    other["pageref"] = json!("next");
    let site = site(&[
        moved,
        entry(PAGE, "text/html; charset=utf-8", 9000, Value::Null),
        entry("https://www.a.test/a.css", "text/css", 1000, Value::Null),
        posted,
        hop,
        entry("https://www.a.test/landed.gif", "image/gif", 43, Value::Null),
        blocked,
        entry("wss://www.a.test/socket", "image/png", 43, Value::Null),
        entry("https://server/a.png", "image/png", 43, Value::Null),
        other,
        entry("https://www.a.test/a.woff", "application/x-font-woff", 1000, Value::Null),
    ]);
    let document = body(&site, PAGE);
    let urls: Vec<_> = found(&document).into_iter().map(|(url, _)| url).collect();
    assert_eq!(urls, ["https://www.a.test/a.css", "https://www.a.test/hop", "https://www.a.test/a.woff"]);
    assert_eq!(document.len(), 9000);
}

#[test]
fn without_pages_each_navigation_begins_one() {
    let fetched = |url: &str, media_type: &str, destination: &str| {
        let mut entry = entry(url, media_type, 5000, Value::Null);
        entry["request"]["headers"] = json!([{"name": "Sec-Fetch-Dest", "value": destination}]);
        entry.as_object_mut().unwrap().remove("pageref");
        entry
    };
    let second = "https://www.a.test/second";
    let site = site(&[
        fetched(PAGE, "text/html", "document"),
        fetched("https://www.a.test/1", "text/html", "empty"),
        fetched("https://www.a.test/frame", "text/html", "iframe"),
        fetched(second, "text/html", "document"),
        fetched("https://www.a.test/2", "text/plain", "style"),
    ]);
    let urls = |url| found(&body(&site, url));
    let first = [("https://www.a.test/1", ReferenceKind::Preload), ("https://www.a.test/frame", ReferenceKind::Frame)];
    assert_eq!(urls(PAGE), first.map(|(url, kind)| (url.to_owned(), kind)));
    assert_eq!(text(&site, PAGE).matches("<iframe src=\"https://www.a.test/frame\">").count(), 1);
    assert_eq!(urls(second), [("https://www.a.test/2".to_owned(), ReferenceKind::Stylesheet)]);
}

#[test]
fn entries_are_put_in_the_order_of_time() {
    let at = |mut entry: Value, second: u32| {
        entry["startedDateTime"] = json!(format!("2026-11-02T10:00:0{second}Z"));
        entry
    };
    let site = site(&[
        at(entry("https://www.a.test/2.png", "image/png", 50, by(PAGE)), 2),
        at(entry("https://www.a.test/1.png", "image/png", 50, by(PAGE)), 1),
        at(entry(PAGE, "text/html", 5000, Value::Null), 0),
    ]);
    let urls: Vec<_> = found(&body(&site, PAGE)).into_iter().map(|(url, _)| url).collect();
    assert_eq!(urls, ["https://www.a.test/1.png", "https://www.a.test/2.png"]);
}

#[test]
fn recorded_bodies_speak_for_themselves() {
    let mut document = entry(PAGE, "text/html", 20, Value::Null);
    document["response"]["content"]["text"] = json!("<p>recorded");
    let site = site(&[document, entry("https://www.a.test/a.png", "image/png", 1000, by(PAGE))]);
    assert_eq!(text(&site, PAGE), "<p>recorded");
    let image = body(&site, "https://www.a.test/a.png");
    assert_eq!(image.len(), 1000);
}

#[test]
fn bodies_that_had_to_grow_are_said() {
    let site = site(&[
        entry(PAGE, "text/html", 20, Value::Null),
        entry("https://www.a.test/a.png", "image/png", 1000, by(PAGE)),
    ]);
    assert_eq!(found(&body(&site, PAGE)).len(), 1);
    assert_eq!(
        site.notes(),
        [
            "filler of the recorded sizes: bodies that were not recorded (2)",
            "longer than recorded, to name all that they loaded: filler bodies (1)",
        ]
    );
}

/// The hosts and paths of whoever means harm.
fn hostile() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        "[ -~é\n\t\u{2028}]{0,30}",
        Just("\"><script>alert(1)</script>".to_owned()),
        Just("'\"</style>*/\\\");url(x)//".to_owned()),
        Just("&quot;onerror=x&#34;".to_owned()),
    ];
    let scheme = prop_oneof![
        4 => Just("https://b.test/"), 1 => Just("http://b.test/?"), 1 => Just("javascript:"), 1 => Just("data:text/html,"),
        1 => Just("file:///"), 1 => Just("//"), 1 => Just("https://b.test:99999/"), 1 => Just("https://u:p@b.test/#"),
    ];
    (scheme, text).prop_map(|(scheme, text)| format!("{scheme}{text}"))
}

proptest! {
    #[test]
    fn no_url_breaks_out_and_every_size_is_kept(
        urls in proptest::collection::vec(hostile(), 0..12),
        media_type in "text/html|text/css|text/javascript",
        size in 20_000..100_000_u64,
    ) {
        let namer = "https://www.a.test/namer";
        let mut entries = vec![entry(namer, &media_type, size, Value::Null)];
        entries.extend(urls.iter().map(|url| entry(url, "image/png", 9, by(namer))));
        let site = site(&entries);
        let text = text(&site, namer);
        prop_assert_eq!(text.len() as u64, size);
        let mut expected: Vec<String> = Vec::new();
        for url in urls.iter().filter_map(|url| Url::parse(url).ok()) {
            let address = url[..url::Position::AfterQuery].to_owned();
            if matches!(url.scheme(), "http" | "https") && !expected.contains(&address) {
                expected.push(address);
            }
        }
        match media_type.as_str() {
            "text/html" => {
                let urls: Vec<String> = found(text.as_bytes()).into_iter().map(|(url, _)| url).collect();
                prop_assert_eq!(&urls, &expected);
                // Head, title, body, their ends, and the images: no other tag.
                prop_assert_eq!(text.matches('<').count(), 9 + expected.len());
                prop_assert_eq!(text.matches('>').count(), 9 + expected.len());
                prop_assert_eq!(text.matches('"').count(), 4 + 4 * expected.len());
            }
            "text/css" => {
                prop_assert_eq!(text.matches("url(\"").count(), expected.len());
                let fallbacks = if expected.is_empty() { 0 } else { 2 };
                prop_assert_eq!(text.matches('"').count(), fallbacks + 2 * expected.len());
            }
            _ => {
                prop_assert_eq!(text.matches("new Image().src=\"").count(), expected.len());
                prop_assert_eq!(text.matches('"').count(), 2 * expected.len());
            }
        }
    }
}
