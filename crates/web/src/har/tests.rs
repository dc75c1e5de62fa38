//! Recordings in the ways of several recorders, and files that mean harm.

use super::*;
use proptest::prelude::*;

/// One page as Chrome's developer tools write it: two entries with their bodies, one blocked.
const CHROME: &str = r#"{
  "log": {
    "version": "1.2",
    "creator": {"name": "WebInspector", "version": "537.36"},
    "pages": [{"startedDateTime": "2026-11-02T10:00:00.000Z", "id": "page_1", "title": "https://www.example.test/",
               "pageTimings": {"onContentLoad": 812.5, "onLoad": null}}],
    "entries": [
      {"_initiator": {"type": "other"}, "_priority": "VeryHigh", "_resourceType": "document", "cache": {}, "connection": "443",
       "pageref": "page_1", "serverIPAddress": "192.0.2.1", "startedDateTime": "2026-11-02T10:00:00.004Z", "time": 61.2,
       "request": {"method": "GET", "url": "https://www.example.test/?q=1#top", "httpVersion": "h2",
                   "headers": [{"name": ":method", "value": "GET"}, {"name": "Accept", "value": "text/html"}],
                   "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
       "response": {"status": 200, "statusText": "", "httpVersion": "h2", "cookies": [], "redirectURL": "",
                    "headers": [{"name": "Content-Encoding", "value": "br"}, {"name": "set-cookie", "value": "a=1\nb=2"}],
                    "content": {"size": 19, "mimeType": "text/html", "text": "<img src=\"a.png\">\ud83d\n"},
                    "headersSize": -1, "bodySize": -1, "_transferSize": 17, "_error": null},
       "timings": {"blocked": 1.5, "dns": -1, "ssl": 12, "connect": 20.25, "send": 0, "wait": 40, "receive": 0.2, "_blocked_queueing": 1}},
      {"_initiator": {"type": "script", "stack": {"callFrames": [],
          "parent": {"callFrames": [{"functionName": "", "url": "https://www.example.test/a.js", "lineNumber": 7}]}}},
       "startedDateTime": "2026-11-02T10:00:00.104Z", "time": 3,
       "request": {"method": "GET", "url": "https://img.example.test/a.png", "headers": []},
       "response": {"status": 200, "headers": [], "bodySize": 6,
                    "content": {"size": 6, "mimeType": "image/png", "text": "iVBO\nRw0K", "encoding": "base64"}}},
      {"request": {"method": "GET", "url": "https://ads.example.test/"}, "response": {"status": 0, "_error": "net::ERR_BLOCKED"}}
    ]
  }
}"#;

fn parse(text: &str) -> Har {
    Har::parse(text.as_bytes()).unwrap()
}

/// A recording of one entry, of which the given members differ from the least there can be.
fn entry_with(members: &str, content: &str) -> Entry {
    let request = r#"{"method": "GET", "url": "http://a.test/"}"#;
    let text = format!(
        r#"{{"log": {{"entries": [{{"request": {request}, {members} "response": {{"status": 200, {content} "headers": null}}}}]}}}}"#
    );
    let har = parse(&text);
    assert_eq!(har.problems, []);
    har.entries.into_iter().next().unwrap()
}

#[test]
fn chrome_records_initiators_priorities_and_what_was_blocked() {
    let har = parse(CHROME);
    assert_eq!(har.creator.as_deref(), Some("WebInspector 537.36"));
    let [document, image, blocked] = &har.entries[..] else { panic!("{har:?}") };
    assert_eq!(document.url.as_str(), "https://www.example.test/?q=1#top");
    assert_eq!((document.priority.as_deref(), document.resource_type.as_deref()), (Some("VeryHigh"), Some("document")));
    assert_eq!(document.protocol.as_deref(), Some("h2"));
    assert_eq!(document.body.as_deref(), Some("<img src=\"a.png\">\u{fffd}\n".as_bytes()));
    assert_eq!(document.response_header("Set-Cookie"), Some("a=1\nb=2"));
    assert_eq!(document.request_header("accept"), Some("text/html"));
    assert_eq!(document.body_on_the_wire(), Some(Bytes::new(17)), "a coded body weighs what was transferred");
    assert_eq!(image.body.as_deref(), Some(&b"\x89PNG\r\n"[..]));
    let initiator = image.initiator.as_ref().unwrap();
    assert_eq!((initiator.url.as_deref(), initiator.line), (Some("https://www.example.test/a.js"), Some(7)));
    assert_eq!((blocked.status, blocked.body_on_the_wire()), (None, None));
}

#[test]
fn times_count_from_the_beginning_of_the_recording() {
    let har = parse(CHROME);
    let started: Vec<_> = har.entries.iter().map(|entry| entry.started).collect();
    assert_eq!(started, [Some(Duration::ZERO), Some(Duration::from_millis(100)), None]);
    let timings = har.entries[0].timings;
    assert_eq!((timings.dns, timings.tls), (None, Some(Duration::from_millis(12))));
    assert_eq!((timings.connect, timings.send), (Some(Duration::from_micros(20_250)), Some(Duration::ZERO)));
    assert_eq!(har.entries[2].timings, Timings::default());
    assert_eq!(har.pages[0].content_loaded, Some(Duration::from_micros(812_500)));
    assert_eq!(har.pages[0].loaded, None);
}

#[test]
fn webpagetest_records_initiators_and_sizes_beside_the_standard() {
    let members = r#""_initiator": "http://a.test/", "_initiator_line": "31", "_initiator_type": "parser", "_bytesIn": "900", "_objectSize": 512,"#;
    let entry = entry_with(members, r#""content": {"size": 2000, "mimeType": "text/css"}, "bodySize": -1,"#);
    let expected = Initiator { kind: Some("parser".into()), url: Some("http://a.test/".into()), line: Some(31) };
    assert_eq!(entry.initiator, Some(expected));
    assert_eq!((entry.coded_size, entry.transferred), (Some(Bytes::new(512)), Some(Bytes::new(900))));
}

#[test]
fn a_cache_that_transferred_nothing_says_nothing_about_the_size() {
    let entry = entry_with("", r#""content": {"size": 2000}, "bodySize": 0,"#);
    assert_eq!((entry.coded_size, entry.body_on_the_wire()), (None, Some(Bytes::new(2000))));
    let saved = entry_with("", r#""content": {"size": 2000, "compression": 1500},"#);
    assert_eq!(saved.body_on_the_wire(), Some(Bytes::new(500)));
    let unknown = |members, content| entry_with(members, content).body_on_the_wire();
    let both = r#""_transferSize": 700, "content": {"size": 2000},"#;
    assert_eq!(unknown("", both), Some(Bytes::new(700)), "without fields what is smaller counts");
    let cached = r#""content": {"size": 2000}, "_transferSize": 0,"#;
    assert_eq!(unknown("", cached), Some(Bytes::new(2000)), "a cache transfers nothing");
}

#[test]
fn a_body_without_a_size_weighs_what_its_response_says() {
    let response = |method: &str, status: u16, length: &str, more: &str| {
        let headers = format!(r#"[{{"name": "content-length", "value": "{length}"}}{more}]"#);
        let request = format!(r#"{{"method": "{method}", "url": "http://a.test/"}}"#);
        let content = if more.is_empty() { "" } else { r#""size": 20000"# };
        let response =
            format!(r#"{{"status": {status}, "bodySize": -1, "content": {{{content}}}, "headers": {headers}}}"#);
        let entry = format!(r#"{{"request": {request}, "response": {response}}}"#);
        parse(&format!(r#"{{"log": {{"entries": [{entry}]}}}}"#)).entries[0].body_on_the_wire()
    };
    for status in [200, 304] {
        assert_eq!(response("GET", status, " 4321 ", ""), Some(Bytes::new(4321)));
    }
    assert_eq!(response("HEAD", 200, "4321", ""), None);
    let none =
        [(200, "-1"), (200, "+1"), (200, "many"), (200, ""), (200, "1000000000001"), (204, "4321"), (205, "4321")];
    assert!(none.into_iter().all(|(status, length)| response("GET", status, length, "").is_none()));
    let coded = r#", {"name": "content-encoding", "value": "br"}"#;
    assert_eq!(response("GET", 200, "4321", coded), Some(Bytes::new(4321)), "what was on the wire");
    assert_eq!(response("GET", 200, "no", coded), Some(Bytes::new(20_000)));
    let held = entry_with("", r#""content": {"size": 2000},"#);
    assert_eq!(held.body_on_the_wire(), Some(Bytes::new(2000)));
}

#[test]
fn a_byte_order_mark_is_no_error_and_other_codings_are_character_sets() {
    let text = format!("\u{feff}{CHROME}");
    assert_eq!(Har::parse(text.as_bytes()).unwrap(), parse(CHROME));
    let entry = entry_with("", r#""content": {"text": "abc", "encoding": "utf-8"},"#);
    assert_eq!(entry.body.as_deref(), Some(&b"abc"[..]));
}

#[test]
fn what_cannot_be_used_is_left_out_and_named() {
    let har = parse(
        r#"{"log": {"entries": [
            {"request": {"method": "GET", "url": "no url"}},
            {"request": {"method": "G E T", "url": "http://a.test/"}},
            null,
            {"request": {"method": "GET", "url": "http://a.test/"},
             "response": {"status": 200, "content": {"text": "===", "encoding": "base64"}}}
        ]}}"#,
    );
    let problems: Vec<_> = har.problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        problems[..3],
        [
            "log.entries[0].request.url: \"no url\" is no URL (relative URL without a base); the entry is left out",
            "log.entries[1].request.method: \"G E T\" is no HTTP method; the entry is left out",
            "log.entries[2].request.url: missing; the entry is left out",
        ]
    );
    assert!(problems[3].starts_with("log.entries[3].response.content.text: Invalid"), "{}", problems[3]);
    assert!(problems[3].ends_with("; the body is left out"), "{}", problems[3]);
    assert_eq!((har.entries.len(), &har.entries[0].body), (1, &None));
}

#[test]
fn a_size_that_cannot_be_is_unknown_and_named_with_what_is_accepted() {
    let har = parse(
        r#"{"log": {"entries": [
            {"_objectSize": "x", "_bytesIn": 0.5, "request": {"method": "GET", "url": "http://a.test/"},
             "response": {"bodySize": 1000000000001, "content": {"size": 12.7, "compression": 1e30}}},
            {"request": {"method": "GET", "url": "http://a.test/"},
             "response": {"bodySize": 1000000000000, "content": {"size": null, "compression": -5}}}
        ]}}"#,
    );
    let told: Vec<_> = har.problems.iter().map(Problem::to_string).collect();
    let problem = |field: &str, value: &str| {
        format!(
            "log.entries[0]{field}: {value} is no size; accepted: 0 B to 1 TB in whole bytes, -1 for unknown; it counts as unknown"
        )
    };
    assert_eq!(
        told,
        [
            problem(".response.content.size", "12.7"),
            problem(".response.content.compression", "1e+30"),
            problem(".response.bodySize", "1000000000001"),
            problem("._objectSize", "\"x\""),
            problem("._bytesIn", "0.5"),
        ]
    );
    let [wrong, largest] = &har.entries[..] else { panic!("{har:?}") };
    assert_eq!((wrong.size, wrong.coded_size, wrong.transferred), (None, None, None));
    assert_eq!(largest.coded_size, Some(crate::page::MAX_SIZE), "and a negative saving is what chunks cost");
}

#[test]
fn what_is_no_recording_is_refused_with_its_place() {
    let told = |text: &str| Har::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(told("{\n \"log\": {}\n}"), "not a HAR file: missing field `entries` at line 2 column 10");
    assert_eq!(
        told("{\"log\":\n{\"entries\": 3}}"),
        "not a HAR file: invalid type: integer `3`, expected the array `entries` at line 2 column 13"
    );
    assert!(told("<html>").starts_with("not a HAR file: expected value at line 1"), "{}", told("<html>"));
    assert!(told("").contains("EOF"), "{}", told(""));
}

#[test]
fn nesting_and_numbers_of_entries_are_bounded() {
    let deep = format!("{{\"log\": {{\"entries\": [{}{}]}}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Har::parse(deep.as_bytes()).unwrap_err().to_string().contains("recursion limit"));
    let many = format!("{{\"log\": {{\"entries\": [{}0]}}}}", "0,".repeat(MAX_OBJECTS));
    assert!(Har::parse(many.as_bytes()).unwrap_err().to_string().contains("more than 100000 entries"));
}

/// JSON that looks like a recording here and there.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~é]{0,20}".prop_map(Value::from),
        Just(Value::from("base64")),
        Just(Value::from("http://a.test/")),
    ];
    const NAMES: &str = "log|entries|request|response|url|method|content|text|encoding|size|headers|name|value|timings|wait|_initiator|stack|parent|callFrames|pages|startedDateTime";
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(NAMES, inner, 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_survived(bytes: Vec<u8>, entry in json()) {
        let text = serde_json::json!({"log": {"pages": entry, "entries": [entry, {"request": entry, "response": entry}]}}).to_string();
        let har = Har::parse(text.as_bytes()).unwrap();
        prop_assert!(har.entries.len() <= 2);
        let _ = Har::parse(&bytes);
    }

    #[test]
    fn any_damage_to_a_recording_is_survived(place in 0..CHROME.len(), byte: u8, cut in 0..CHROME.len()) {
        let mut file = CHROME.as_bytes().to_vec();
        file[place] = byte;
        let _ = Har::parse(&file);
        let _ = Har::parse(&file[..cut]);
    }
}
