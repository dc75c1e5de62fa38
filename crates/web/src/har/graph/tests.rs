//! Recordings as graphs: causes, places, times and sizes; and recordings that mean harm.

use super::*;
use farhop_units::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A recording of these entries, without pages.
fn har(entries: &Value) -> Har {
    Har::parse(json!({"log": {"entries": entries}}).to_string().as_bytes()).unwrap()
}

fn graph(entries: &Value) -> Graph {
    Page::from_har(&har(entries), None).unwrap()
}

/// An answered GET, begun so many milliseconds into the recording; `members` replace what is at their JSON pointers.
fn entry(url: &str, media_type: &str, at: u64, members: &[(&str, Value)]) -> Value {
    let mut entry = json!({
        "startedDateTime": format!("2026-11-02T10:00:{:02}.{:03}Z", at / 1000, at % 1000),
        "request": {"method": "GET", "url": url, "httpVersion": "HTTP/1.1", "headers": []},
        "response": {"status": 200, "headers": [], "bodySize": 1000, "content": {"size": 1000, "mimeType": media_type}},
        "timings": {"blocked": 0, "dns": -1, "connect": -1, "send": 0, "wait": 50, "receive": 10}
    });
    for (pointer, value) in members {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        entry.pointer_mut(parent).unwrap()[name] = value.clone();
    }
    entry
}

fn told(error: &GraphError) -> String {
    format!("{error}; accepted: {}", error.accepted())
}

fn by(url: &str) -> (&'static str, Value) {
    ("/_initiator", json!({"type": "parser", "url": url}))
}

fn referrers(page: &Page) -> Vec<Option<usize>> {
    page.objects.iter().map(|object| object.reference.map(|reference| reference.object)).collect()
}

const DOCUMENT: &str = "https://a.test/";

#[test]
fn initiators_then_referers_then_the_document_name_objects() {
    let referer = ("/request/headers", json!([{"name": "Referer", "value": "https://a.test/a.css"}]));
    let graph = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry("https://a.test/a.css", "text/css", 60, &[by(DOCUMENT)]),
        entry("https://f.test/x.woff2", "font/woff2", 130, &[by("https://a.test/a.css")]),
        entry("https://a.test/bg.png", "image/png", 130, &[referer]),
        entry("https://a.test/i.png", "image/png", 140, &[by("https://a.test/i.png")]),
        entry("https://a.test/j.png", "image/png", 140, &[by("https://a.test/bg.png")]),
    ]));
    assert_eq!(referrers(&graph.page), [None, Some(0), Some(1), Some(1), Some(0), Some(0)]);
    assert_eq!(graph.page.hosts, ["a.test", "f.test"]);
    let names: Vec<_> = graph.page.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["index.html", "a.css", "x.woff2", "bg.png", "i.png", "j.png"]);
    assert_eq!(
        graph.notes[0],
        "6 objects at 2 hosts; named by recorded initiators (2), by redirections (0), by Referer (1), by the document for want of these (2)"
    );
}

#[test]
fn redirections_to_the_document_begin_the_page() {
    // The second is recorded beside the fields, as some recorders leave these out.
    let to = |url: &str| {
        let location = json!([{"name": "Location", "value": url}]);
        [("/response/status", json!(301)), ("/response/headers", location)]
    };
    let beside = [("/response/status", json!(301)), ("/response/redirectURL", json!("/home"))];
    let graph = graph(&json!([
        entry("https://other.test/early.js", "text/javascript", 0, &[]),
        entry("http://a.test/", "", 10, &to("https://a.test/")),
        entry("https://a.test/", "", 100, &beside),
        entry("https://a.test/home", "text/html", 200, &[]),
        entry("https://a.test/a.png", "image/png", 300, &[by("https://a.test/home")]),
    ]));
    let names: Vec<_> = graph.page.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["index.html", "early.js", "index.html-2", "home", "a.png"]);
    assert_eq!(referrers(&graph.page), [None, Some(0), Some(0), Some(2), Some(3)]);
    assert_eq!(graph.page.hosts, ["a.test:80", "other.test", "a.test"]);
    // Known with the redirection's head, 50 ms after it was asked for; asked for 40 ms later.
    let home = &graph.page.objects[2];
    assert_eq!((graph.page.discovered_at(2), home.delay), (Bytes::ZERO, Duration::from_millis(40)));
    assert_eq!(graph.page.objects[0].media_type, "text/html");
}

#[test]
fn boxes_ask_for_redirected_parts_and_do_not_follow() {
    let wanted = |what: &str| ("/_resourceType", json!(what));
    let to = |what: &str| [("/response/status", json!(302)), ("/response/redirectURL", json!("/next")), wanted(what)];
    for what in ["image", "script", "stylesheet", "font"] {
        let page = graph(&json!([
            entry(DOCUMENT, "text/html", 0, &[wanted("document")]),
            entry("https://a.test/p", "text/html", 100, &to(what)),
            entry("https://a.test/next", "image/png", 150, &[wanted(what)]),
        ]))
        .page;
        let [_, first, _] = &page.objects[..] else { panic!("{:?}", page.objects) };
        assert!(first.is_fetched_by_boxes() && !first.is_read_by_boxes(), "{what}: {}", first.media_type);
        assert_eq!(referrers(&page), [None, Some(0), Some(1)], "{what}");
    }
    let frame = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[wanted("document")]),
        entry("https://a.test/p", "", 100, &to("iframe")),
        entry("https://a.test/next", "text/html", 150, &[wanted("iframe")]),
        entry("https://a.test/beacon", "text/html", 150, &[wanted("image")]),
        entry("https://a.test/beacon2", "text/plain", 150, &[wanted("image")]),
        entry("https://a.test/data", "text/plain", 150, &[wanted("xhr")]),
    ]))
    .page;
    let fetched: Vec<bool> = frame.objects.iter().map(|object| object.is_fetched_by_boxes()).collect();
    assert_eq!(fetched, [false, false, false, true, true, false]);
}

#[test]
fn each_redirection_to_a_url_names_the_request_that_follows_it() {
    let to = |url: &str| [("/response/status", json!(302)), ("/response/redirectURL", json!(url))];
    let named = |entries: Value| {
        let page = graph(&entries).page;
        let delays: Vec<_> = page.objects.iter().map(|object| object.delay.as_millis()).collect();
        (referrers(&page), delays)
    };
    // Heads come 50 ms after they were asked for.
    let pixels = named(json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry("https://a.test/p1", "", 100, &to("/pixel")),
        entry("https://a.test/pixel", "image/png", 150, &[]),
        entry("https://a.test/p2", "", 1100, &to("/pixel")),
        entry("https://a.test/pixel", "image/png", 1151, &[]),
        entry("https://a.test/pixel", "image/png", 2000, &[]),
    ]));
    assert_eq!(pixels.0, [None, Some(0), Some(1), Some(0), Some(3), Some(0)], "none is followed twice");
    assert_eq!(pixels.1[4], 1);
    let at_once = named(json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry("https://a.test/p1", "", 100, &to("/pixel")),
        entry("https://a.test/p2", "", 120, &to("/pixel")),
        entry("https://a.test/pixel", "image/png", 149, &[]),
        entry("https://a.test/pixel", "image/png", 170, &[]),
    ]));
    assert_eq!(at_once.0, [None, Some(0), Some(0), Some(1), Some(2)], "by when they were answered, to the rounding");
    let cookies = named(json!([
        entry(DOCUMENT, "", 0, &to(DOCUMENT)),
        entry(DOCUMENT, "", 50, &to(DOCUMENT)),
        entry(DOCUMENT, "text/html", 300, &[]),
    ]));
    assert_eq!(cookies, (vec![None, Some(0), Some(1)], vec![0, 0, 200]));
    let round = named(json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry("https://a.test/a", "", 100, &to("/b")),
        entry("https://a.test/b", "", 150, &to("/a")),
        entry("https://a.test/a", "", 200, &to("/b")),
        entry("https://a.test/b", "text/html", 250, &[]),
    ]));
    assert_eq!(round.0, [None, Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn documents_name_where_their_bodies_do_and_else_where_the_recording_says() {
    let text = format!("{}<img src=\"/i.png\">{}", "x".repeat(72), "\n".repeat(10));
    let body = ("/response/content/text", json!(text));
    let at_line = |line: u64| ("/_initiator", json!({"type": "parser", "url": DOCUMENT, "lineNumber": line}));
    let with_body = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[body]),
        entry("https://a.test/i.png", "image/png", 60, &[by(DOCUMENT)]),
        entry("https://a.test/j.png", "image/png", 60, &[at_line(5)]),
        entry("https://a.test/k.png", "image/png", 53, &[by(DOCUMENT)]),
        entry("https://a.test/l.png", "image/png", 75, &[by(DOCUMENT)]),
    ]))
    .page;
    let known = |name: &str| {
        let index = with_body.objects.iter().position(|object| object.name == name).unwrap();
        (with_body.discovered_at(index).get(), with_body.objects[index].delay.as_micros())
    };
    // 1000 B on the wire arrive from 50 to 60 ms. The name ends at 88 of 100 B: at 58.8 ms, and is asked for at 60.
    assert_eq!(known("i.png"), (880, 1200));
    assert_eq!(known("j.png"), (455, 5454), "line 5 of 11");
    assert_eq!(known("k.png"), (300, 0), "3 of 10 ms of reception");
    assert_eq!(known("l.png"), (1000, 15_000), "after the end");
    let without = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry("https://a.test/i.png", "image/png", 60, &[at_line(9)]),
        entry("https://a.test/j.png", "image/png", 60, &[at_line(5)]),
    ]))
    .page;
    assert_eq!((without.discovered_at(1), without.discovered_at(2)), (Bytes::new(900), Bytes::new(500)));
}

#[test]
fn sheets_and_scripts_name_when_they_are_complete() {
    let page = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        entry(
            "https://a.test/a.js",
            "application/octet-stream",
            60,
            &[by(DOCUMENT), ("/_resourceType", json!("script"))]
        ),
        entry("https://a.test/d", "application/json", 150, &[by("https://a.test/a.js")]),
    ]))
    .page;
    assert_eq!(page.objects[1].media_type, "text/javascript", "what runs is a script");
    assert_eq!((page.discovered_at(2), page.objects[2].delay), (Bytes::kb(1), Duration::from_millis(30)));
}

#[test]
fn servers_think_for_what_a_round_trip_does_not_explain() {
    let connect = [("/timings/connect", json!(30)), ("/timings/ssl", json!(12))];
    let quic = [("/timings/connect", json!(20)), ("/timings/ssl", json!(20))];
    let wait = |wait: u64| ("/timings/wait", json!(wait));
    let page = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &connect),
        entry("https://a.test/a", "image/png", 60, &[wait(10)]),
        entry("https://q.test/a", "image/png", 60, &quic),
        entry("https://w.test/a", "image/png", 60, &[wait(70)]),
        entry("https://w.test/b", "image/png", 60, &[wait(25)]),
    ]))
    .page;
    let think: Vec<_> = page.objects.iter().map(|object| object.think.as_millis()).collect();
    assert_eq!(think, [32, 0, 30, 45, 0]);
}

/// Firefox writes down how long TCP took to connect, others that and TLS; the entry's time is the sum of what is apart.
#[test]
fn tls_counts_once_whether_recorded_beside_the_connect_or_in_it() {
    let by_browser = |browser: &str, connect: u64, tls: u64, time: Value| {
        let members = [("/timings/connect", json!(connect)), ("/timings/ssl", json!(tls)), ("/time", time)];
        let entries = json!([
            entry(DOCUMENT, "text/html", 0, &members),
            entry("https://a.test/a", "image/png", 300, &[by(DOCUMENT)]),
        ]);
        let file = json!({"log": {"creator": {"name": browser, "version": "128.0"}, "entries": entries}}).to_string();
        let page = Page::from_har(&Har::parse(file.as_bytes()).unwrap(), None).unwrap().page;
        (page.objects[0].think.as_millis(), page.objects[1].delay.as_millis())
    };
    let page = |connect, tls, time| by_browser("WebInspector", connect, tls, time);
    // 20 ms to connect, 25 for TLS, 50 to wait, 10 to receive.
    let once = (30, 300 - 105);
    assert_eq!(page(45, 25, json!(105)), once, "in it");
    assert_eq!(page(20, 25, json!(105)), once, "beside it");
    assert_eq!(page(20, 25, Value::Null), once, "the longer one cannot be in the shorter one");
    assert_eq!(page(26, 19, json!(105)), (24, 300 - 105), "beside it, and the shorter one");
    let untold = [Value::Null, json!(7)].map(|time| by_browser("Firefox", 26, 19, time));
    assert_eq!(untold, [(24, 300 - 105); 2], "what wrote it tells where the sum does not");
    assert_eq!(by_browser("Firefox", 45, 25, json!(105)), once, "as others write it");
    assert_eq!(page(45, 25, json!(7)), once);
}

#[test]
fn a_window_shows_a_document_whatever_its_status() {
    let failed = ("/response/status", json!(404));
    let document = ("/_resourceType", json!("document"));
    let names = |graph: &Graph| graph.page.objects.iter().map(|object| object.name.clone()).collect::<Vec<_>>();
    let of = |members: &[(&str, Value)]| {
        graph(&json!([
            entry("https://a.test/page", "text/html", 0, members),
            entry("https://a.test/a.css", "text/css", 60, &[by("https://a.test/page")]),
            entry("https://ad.test/frame", "text/html", 90, &[by("https://a.test/page")]),
        ]))
    };
    for members in [&[failed.clone()][..], &[failed.clone(), document]] {
        let graph = of(members);
        assert_eq!(names(&graph), ["page", "a.css", "frame"]);
        assert_eq!(referrers(&graph.page), [None, Some(0), Some(0)]);
        assert!(graph.notes[0].contains("initiators (2)"), "{}", graph.notes[0]);
    }
    // Asked for again with a password.
    let again = graph(&json!([
        entry("https://a.test/page", "text/html", 0, &[("/response/status", json!(401))]),
        entry("https://a.test/page", "text/html", 500, &[]),
        entry("https://a.test/a.png", "image/png", 600, &[by("https://a.test/page")]),
    ]));
    assert_eq!(again.page.objects[0].delay, Duration::ZERO);
    assert_eq!(referrers(&again.page), [None, Some(0), Some(0)]);
}

#[test]
fn times_that_cannot_be_are_told_and_count_as_unknown() {
    let wait = |wait: Value| ("/timings/wait", wait);
    let late = ("/startedDateTime", json!("2026-11-04T10:00:00.000Z"));
    let graph = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[("/timings/connect", json!(20)), wait(json!(1e300))]),
        entry("https://a.test/a", "image/png", 60, &[wait(json!(-500))]),
        entry("https://a.test/b", "image/png", 60, &[wait(json!("soon"))]),
        entry("https://a.test/c", "image/png", 60, &[wait(json!("55"))]),
        entry("https://a.test/d", "image/png", 60, &[late]),
    ]));
    let think: Vec<_> = graph.page.objects.iter().map(|object| object.think.as_millis()).collect();
    assert_eq!(think, [0, 0, 0, 35, 30]);
    assert_eq!(
        graph.notes[2..],
        [
            "requests more than a day after what names them, which count as a day after it (1)",
            "values of the file that are not as they should be (3)",
            "log.entries[0].timings.wait: 1e+300 is no time; accepted: 0 to 86400000 ms, -1 for unknown; it counts as unknown",
            "log.entries[1].timings.wait: -500 is no time; accepted: 0 to 86400000 ms, -1 for unknown; it counts as unknown",
            "log.entries[2].timings.wait: \"soon\" is no time; accepted: 0 to 86400000 ms, -1 for unknown; it counts as unknown",
        ]
    );
}

#[test]
fn sizes_are_those_on_the_wire() {
    let coded = ("/response/headers", json!([{"name": "Content-Encoding", "value": "br"}]));
    let unknown = ("/response/bodySize", json!(-1));
    let head = |size: i64| ("/response/headersSize", json!(size));
    let sizes = |members: &[(&str, Value)]| {
        let object = graph(&json!([entry(DOCUMENT, "text/html", 0, members)])).page.objects.remove(0);
        (object.size.get(), object.response_header_bytes.map(Bytes::get))
    };
    let transferred = ("/response/_transferSize", json!(700));
    let http2 = ("/response/httpVersion", json!("h2"));
    assert_eq!(sizes(&[head(310)]), (1000, Some(310)));
    assert_eq!(sizes(&[]), (1000, None), "neither sizes nor fields");
    assert_eq!(sizes(&[coded.clone(), unknown.clone(), transferred.clone(), head(200)]), (500, Some(200)));
    let counted = "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n".len() as u64;
    assert_eq!(sizes(&[coded.clone(), unknown.clone(), transferred.clone()]), (700 - counted, Some(counted)));
    assert_eq!(sizes(&[coded, unknown, transferred, head(200), http2.clone()]), (700, None), "heads are compressed");
    let beyond = ("/response/_transferSize", json!(1100));
    assert_eq!(sizes(&[beyond, head(400), http2]), (1000, Some(100)));
    let request = graph(&json!([entry(
        DOCUMENT,
        "text/html",
        0,
        &[("/request/headersSize", json!(400)), ("/request/bodySize", json!(20))]
    )]));
    assert_eq!(request.page.objects[0].request_bytes, Some(Bytes::new(420)));
}

#[test]
fn what_was_posted_is_the_clients_alone_to_ask_for() {
    let posted = |more: &[(&str, Value)]| {
        let method = [("/request/method", json!("POST")), ("/request/bodySize", json!(5000))];
        let document = entry(DOCUMENT, "text/html", 100, &[]);
        let part = entry("https://a.test/log", "text/plain", 0, &[&method, more].concat());
        graph(&json!([document, part])).page.objects.remove(1)
    };
    let head = ("/request/headersSize", json!(400));
    let known = posted(std::slice::from_ref(&head));
    assert_eq!((known.is_posted(), known.request_bytes), (true, Some(Bytes::new(5400))));
    let compressed = posted(&[head, ("/request/httpVersion", json!("h2"))]);
    assert_eq!(compressed.request_bytes, Some(Bytes::new(5350)), "behind a usual head");
    assert!(!graph(&json!([entry(DOCUMENT, "text/html", 0, &[])])).page.objects[0].is_posted());
    assert!(posted(&[("/request/method", json!("HEAD"))]).is_posted(), "no markup makes a browser ask so");
}

#[test]
fn what_is_missing_is_counted_and_what_is_no_part_of_the_page_left_out() {
    let graph = graph(&json!([
        entry(DOCUMENT, "text/html", 0, &[]),
        {"request": {"method": "GET", "url": "https://a.test/x"}, "response": {"status": 200}},
        {"request": {"method": "GET", "url": "https://ads.test/x"}, "response": {"status": 0}},
        {"request": {"method": "GET", "url": "data:text/plain,x"}, "response": {"status": 200}},
        null,
    ]));
    assert_eq!(graph.page.objects.len(), 2);
    assert_eq!(graph.page.objects[1].size, Bytes::ZERO);
    assert_eq!(
        graph.notes[2..],
        [
            "bodies without a recorded size, which count 0 B (1)",
            "requests without a recorded time, which count as begun with the one before (3)",
            "left out: requests without a response (1)",
            "left out: requests that are not HTTP (1)",
            "values of the file that are not as they should be (1)",
            "log.entries[4].request.url: missing; the entry is left out",
        ]
    );
}

#[test]
fn sizes_that_cannot_be_are_told_and_weigh_what_unknown_ones_do() {
    let sized = |size: Value| {
        let members = [
            ("/request/headersSize", size.clone()),
            ("/request/bodySize", size.clone()),
            ("/response/headersSize", size.clone()),
            ("/response/bodySize", size.clone()),
            ("/response/_transferSize", size.clone()),
            ("/response/content/size", size),
        ];
        graph(&json!([entry(DOCUMENT, "text/html", 0, &members)]))
    };
    let unknown = sized(json!(-1));
    assert_eq!(unknown.notes[2..], ["bodies without a recorded size, which count 0 B (1)"]);
    for size in [json!(1e18), json!(1e30), json!(12.7), json!(-5), json!("many")] {
        let graph = sized(size.clone());
        assert_eq!(graph.page, unknown.page, "{size}");
        let head = "accepted: 0 B to 1 GB in whole bytes, -1 for unknown; it counts as unknown";
        assert_eq!(
            graph.notes[2..],
            [
                "bodies without a recorded size, which count 0 B (1)".to_owned(),
                "values of the file that are not as they should be (6)".to_owned(),
                format!("log.entries[0].request.headersSize: {size} is no size; {head}"),
                format!("log.entries[0].request.bodySize: {size} is no size; {head}"),
                format!("log.entries[0].response.headersSize: {size} is no size; {head}"),
                "…".to_owned(),
            ]
        );
    }
}

#[test]
fn a_page_is_one_of_the_recording_and_ends_with_the_next_navigation() {
    let of = |page: &str| ("/pageref", json!(page));
    let entries = json!([
        entry("https://a.test/", "text/html", 0, &[of("p1")]),
        entry("https://b.test/", "text/html", 0, &[of("p2")]),
        entry("https://a.test/x.png", "image/png", 60, &[]),
        entry("https://a.test/y.png", "image/png", 60, &[of("p9")]),
    ]);
    let pages = json!([{"id": "p1", "title": "A"}, {"id": "p2", "title": "B"}]);
    let har = Har::parse(json!({"log": {"pages": pages, "entries": entries}}).to_string().as_bytes()).unwrap();
    let hosts = |id: Option<&str>| Page::from_har(&har, id).map(|graph| (graph.page.hosts, graph.page.objects.len()));
    assert_eq!(hosts(None), Ok((vec!["a.test".into()], 2)), "what belongs to none belongs to the first");
    assert_eq!(hosts(Some("p2")), Ok((vec!["b.test".into()], 1)));
    let notes = Page::from_har(&har, None).unwrap().notes;
    let left_out = ["the recording's other pages (1)", "pages that the recording does not have (1)"];
    assert_eq!(notes[2..], left_out.map(|pages| format!("left out: requests of {pages}")));
    let others = &Page::from_har(&har, Some("p2")).unwrap().notes[2];
    assert_eq!(
        others, "left out: requests of the recording's other pages (2)",
        "one of them has no page, so has the first"
    );
    let known = "no page \"p3\" in the recording; accepted: \"p1\", \"p2\"";
    assert_eq!(told(&hosts(Some("p3")).unwrap_err()), known);
    let navigation = ("/request/headers", json!([{"name": "Sec-Fetch-Dest", "value": "document"}]));
    let twice = graph(&json!([
        entry("https://a.test/", "text/html", 0, std::slice::from_ref(&navigation)),
        entry("https://a.test/x.png", "image/png", 60, &[]),
        entry("https://a.test/2", "text/html", 9000, &[navigation]),
    ]));
    assert_eq!(twice.page.objects.len(), 2);
    assert!(twice.notes.contains(&"left out: requests after the next navigation (1)".to_owned()));
}

#[test]
fn the_first_page_is_the_first_with_answered_requests() {
    let of = |page: &str| ("/pageref", json!(page));
    let failed = ("/response/status", json!(0));
    let pixel = entry("https://a.test/x.png", "image/png", 60, &[of("p3")]);
    let entries = json!([
        entry("https://blank.test/", "text/html", 0, &[of("p1"), failed]),
        entry("https://a.test/", "text/html", 0, &[of("p2")]),
        entry("https://a.test/x.png", "image/png", 60, &[]),
        pixel,
        pixel,
    ]);
    let read = |pages: Value, id: Option<&str>| {
        let har = Har::parse(json!({"log": {"pages": pages, "entries": entries}}).to_string().as_bytes()).unwrap();
        Page::from_har(&har, id).map(|graph| (graph.page.objects.len(), graph.notes))
    };
    let listed = || json!([{"id": "p1"}, {"id": "p2"}, {"id": "p3"}]);
    assert_eq!(read(listed(), None).unwrap().0, 2, "what belongs to none belongs to the first");
    let error = |id: &str| told(&read(listed(), Some(id)).unwrap_err());
    assert_eq!(
        error("p1"),
        "page \"p1\" of the recording has no answered HTTP request; accepted: at least one, its document, or \
         another page: \"p2\", \"p3\""
    );
    assert_eq!(
        error("p3"),
        "page \"p3\" of the recording has no HTML document that was answered; accepted: one that begins the page, or \
         another page: \"p2\""
    );
    for nameless in [json!([{"title": "no id"}]), json!([{"id": null}]), json!([{"id": ""}])] {
        let (objects, notes) = read(nameless.clone(), None).unwrap();
        assert_eq!(objects, 2, "entries say what belongs together");
        assert!(notes.contains(&"log.pages[0].id: missing; the page is left out".to_owned()), "{notes:?}");
        assert_eq!(read(nameless, Some("p2")).map(|(objects, _)| objects), Ok(2));
    }
}

#[test]
fn what_the_browser_answers_itself_and_what_is_for_later_are_no_part_of_the_page() {
    let header = |name: &str, value: &str| json!([{"name": name, "value": value}]);
    let window = |purpose: &[Value]| {
        let fields = [&[json!({"name": "Sec-Fetch-Dest", "value": "document"})][..], purpose].concat();
        ("/request/headers", Value::Array(fields))
    };
    let purpose = json!({"name": "Sec-Purpose", "value": "prefetch;prerender"});
    let own = [
        ("/response/status", json!(307)),
        ("/response/redirectURL", json!("https://a.test/")),
        ("/response/headers", header("Non-Authoritative-Reason", "HSTS")),
    ];
    let found = graph(&json!([
        entry("http://a.test/", "text/html", 0, &own),
        entry("https://a.test/", "text/html", 5, &[window(&[])]),
        entry("https://a.test/later", "text/html", 50, &[window(&[purpose])]),
        entry("https://a.test/x.png", "image/png", 60, &[]),
    ]));
    let names: Vec<&str> = found.page.objects.iter().map(|object| &*object.name).collect();
    assert_eq!((names.len(), found.page.hosts.len()), (2, 1), "{names:?}");
    for note in ["left out: redirections of the browser's own (1)", "left out: requests for a page that may come (1)"] {
        assert!(found.notes.contains(&note.to_owned()), "{:?}", found.notes);
    }
}

#[test]
fn what_gives_no_page_says_why() {
    let error = |entries: Value| told(&Page::from_har(&har(&entries), None).unwrap_err());
    assert_eq!(error(json!([])), "the recording has no answered HTTP request; accepted: at least one, its document");
    let image = entry("https://a.test/x.png", "image/png", 0, &[]);
    assert_eq!(
        error(json!([image, image])),
        "the recording has no HTML document that was answered; accepted: one that begins the page"
    );
    assert_eq!(graph(&json!([image])).page.objects.len(), 1, "a single object needs no document");
}

#[test]
fn five_thousand_entries_are_a_page() {
    let mut entries = vec![entry(DOCUMENT, "text/html", 0, &[])];
    let mut text = String::new();
    for number in 1..5000_u64 {
        let url = format!("https://h{}.test/{number}.png", number % 50);
        text.push_str(&format!("<img src=\"{url}\">\n"));
        entries.push(entry(&url, "image/png", number, &[by(DOCUMENT)]));
    }
    entries[0]["response"]["content"]["text"] = json!(text);
    let page = graph(&json!(entries)).page;
    assert_eq!((page.objects.len(), page.hosts.len()), (5000, 51));
    assert!(page.objects[1..].is_sorted_by_key(|object| object.reference.map(|reference| reference.end)));
    assert_eq!(Page::from_csv(&page.to_csv()), Ok(page));
}

/// Entries whose URLs, causes, times and sizes are at odds with each other.
fn at_odds() -> impl Strategy<Value = Value> {
    let url = || "http://[ab].test/[a-c]?|https://a.test:8/\\?[&=é]|https://\\[::1\\]/|data:x|[^\"]{0,3}";
    let number =
        || prop_oneof![Just(Value::Null), any::<f64>().prop_map(Value::from), (-2_i64..9000).prop_map(Value::from)];
    let media_type = prop_oneof![
        Just("text/html"),
        Just("text/css"),
        Just("text/javascript"),
        Just("image/png"),
        Just(""),
        Just("é/é")
    ];
    let head = (url(), url(), url(), media_type, prop_oneof![Just(200_i64), Just(302), Just(304), Just(0), Just(-1)]);
    let numbers = proptest::collection::vec(number(), 9);
    let time =
        prop_oneof![Just(Value::Null), (0_u32..60).prop_map(|at| Value::from(format!("2026-11-02T10:00:{at:02}Z")))];
    (head, numbers, time, "(<img src=/[a-c]>|\n|http://a.test/b){0,4}").prop_map(|((url, cause, target, media_type, status), n, time, text)| {
        json!({
            "startedDateTime": time,
            "_initiator": {"type": "parser", "url": cause, "lineNumber": n[0]},
            "request": {"method": "GET", "url": url, "headersSize": n[1], "bodySize": n[2],
                        "headers": [{"name": "Referer", "value": cause}, {"name": "Sec-Fetch-Dest", "value": target}]},
            "response": {"status": status, "bodySize": n[3], "headersSize": n[4], "_transferSize": n[5],
                         "headers": [{"name": "Location", "value": target}],
                         "content": {"size": n[6], "mimeType": media_type, "text": text}},
            "timings": {"connect": n[7], "ssl": n[8], "wait": n[0], "receive": n[1], "blocked": n[2]}
        })
    })
}

proptest! {
    /// Cycles, contradictions and nonsense give a page that can be listed and read again, or a reason.
    #[test]
    fn any_recording_gives_a_page_or_a_reason(entries in proptest::collection::vec(at_odds(), 0..12)) {
        let har = har(&json!(entries));
        if let Ok(Graph { page, notes, .. }) = Page::from_har(&har, None) {
            prop_assert!(page.objects.len() <= har.entries.len());
            prop_assert!(notes.len() >= 2);
            prop_assert_eq!(Page::from_csv(&page.to_csv()), Ok(page));
        }
    }
}
