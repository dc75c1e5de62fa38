//! Sites asked as a server asks them, without sockets.

use super::*;
use crate::request::{Endpoint, Scheme};
use http::header::{HeaderMap, HeaderName};
use http_body_util::BodyExt;
use std::os::unix::fs::symlink;

/// A response taken apart.
struct Got {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn ask(site: &Site, method: &str, url: &str, fields: &[(&str, &str)]) -> Got {
    let url = url::Url::parse(url).unwrap();
    let scheme = Scheme::of(url.scheme()).unwrap();
    let (host, port) = (url.host_str().unwrap().to_owned(), url.port_or_known_default().unwrap());
    // The path as written: URLs would be normalised.
    let mut request =
        http::Request::builder().method(method).uri(&url[url::Position::BeforePath..]).header("host", &host);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    take(site, request.body(()).unwrap(), &Endpoint { host, port, scheme }).await
}

async fn take(site: &Site, request: http::Request<()>, endpoint: &Endpoint) -> Got {
    let (head, ()) = request.into_parts();
    let (response, body) = site.answer(&Asked::new(&head, endpoint).unwrap()).response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Got { status: response.status.as_u16(), headers: response.headers, body }
}

mod directory {
    use super::*;

    fn site() -> (tempfile::TempDir, Site) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(outer.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("index.html"), "<p>hello").unwrap();
        std::fs::write(root.join("sub/index.html"), "sub").unwrap();
        std::fs::write(root.join("a b%.txt"), "0123456789").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("sub/index.html", root.join("in")).unwrap();
        nix::unistd::mkfifo(&root.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let site = Site::open(&root).unwrap();
        (outer, site)
    }

    async fn get(site: &Site, path: &str, fields: &[(&str, &str)]) -> Got {
        let mut request = http::Request::builder().uri(path).header("host", "server");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let endpoint = Endpoint { host: "server".into(), port: 80, scheme: Scheme::Http };
        take(site, request.body(()).unwrap(), &endpoint).await
    }

    #[tokio::test]
    async fn files_are_served_with_their_types() {
        let (_root, site) = site();
        let index = get(&site, "/", &[]).await;
        assert_eq!((index.status, &index.body[..]), (200, &b"<p>hello"[..]));
        assert_eq!(index.header("content-type"), Some("text/html; charset=utf-8"));
        let file = get(&site, "/a%20b%25.txt?x", &[]).await;
        assert_eq!((file.status, file.header("content-length")), (200, Some("10")));
        assert_eq!(get(&site, "/in", &[]).await.body, b"sub");
        let head = ask(&site, "HEAD", "http://server/index.html", &[]).await;
        assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("8"), 0));
    }

    #[tokio::test]
    async fn directories_are_told_to_be_directories() {
        let (_root, site) = site();
        assert_eq!(get(&site, "/sub/", &[]).await.body, b"sub");
        let moved = get(&site, "/sub?q=1", &[]).await;
        assert_eq!((moved.status, moved.header("location")), (301, Some("./sub/?q=1")));
        assert_eq!(get(&site, "/sub/deep/", &[]).await.status, 404);
        assert_eq!(get(&site, "/index.html/", &[]).await.status, 404);
    }

    #[tokio::test]
    async fn nothing_outside_is_ever_served() {
        let (_root, site) = site();
        for path in [
            "/../secret",
            "/sub/../../secret",
            "/%2e%2e/secret",
            "/sub/%2e%2e%2f%2e%2e%2fsecret",
            "/out",
            "/etc/passwd",
            "/%2fetc%2fpasswd",
            "//etc/passwd",
            "/index.html%00.txt",
            "/%ff",
            "/fifo",
            "/proc/self/root/etc/passwd",
        ] {
            assert_eq!(get(&site, path, &[]).await.status, 404, "{path}");
        }
    }

    #[tokio::test]
    async fn parts_and_conditions_are_honoured() {
        let (_root, site) = site();
        let path = "/a%20b%25.txt";
        let part = get(&site, path, &[("range", "bytes=2-4")]).await;
        assert_eq!(
            (part.status, &part.body[..], part.header("content-range")),
            (206, &b"234"[..], Some("bytes 2-4/10"))
        );
        let beyond = get(&site, path, &[("range", "bytes=10-")]).await;
        assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */10")));
        let whole = get(&site, path, &[]).await;
        for (condition, validator) in [("if-none-match", "etag"), ("if-modified-since", "last-modified")] {
            let again = get(&site, path, &[(condition, whole.header(validator).unwrap())]).await;
            assert_eq!((again.status, again.body.len(), again.header("content-length")), (304, 0, None), "{condition}");
            assert_eq!(again.header("etag"), whole.header("etag"));
        }
    }

    #[tokio::test]
    async fn only_reading_is_allowed() {
        let (_root, site) = site();
        let refused = ask(&site, "DELETE", "http://server/index.html", &[]).await;
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
        assert!(
            Site::from_dir(Path::new("/etc/hosts")).unwrap_err().to_string().starts_with("cannot read /etc/hosts: ")
        );
    }
}

mod recording {
    use super::*;
    use proptest::prelude::*;

    fn site(entries: &str) -> Site {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!(r#"{{"log": {{"entries": [{entries}]}}}}"#)).unwrap();
        Site::open(file.path()).unwrap()
    }

    /// An entry with its response's members but the status.
    fn entry(url: &str, status: u16, response: &str) -> String {
        format!(r#"{{"request": {{"method": "GET", "url": "{url}"}}, "response": {{"status": {status}, {response}}}}}"#)
    }

    const PAGE: &str = r#""headers": [
        {"name": ":status", "value": "200"}, {"name": "Content-Encoding", "value": "br"}, {"name": "Content-Length", "value": "7"},
        {"name": "Transfer-Encoding", "value": "chunked"}, {"name": "Connection", "value": "close, X-Hop"}, {"name": "X-Hop", "value": "1"},
        {"name": "Alt-Svc", "value": "h3=\":443\""}, {"name": "Set-Cookie", "value": "a=1\nb=2"}, {"name": "ETag", "value": "\"7\""},
        {"name": "Content-Type", "value": "text/html; charset=iso-8859-1"}],
        "content": {"mimeType": "text/html", "text": "ä äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"}"#;

    #[tokio::test]
    async fn recorded_answers_are_framed_and_coded_anew() {
        let site = site(&entry("https://www.a.test/", 200, PAGE));
        let plain = ask(&site, "GET", "https://www.a.test/", &[]).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
        assert_eq!(plain.header("content-length"), Some(plain.body.len().to_string().as_str()));
        assert_eq!(plain.header("content-type"), Some("text/html; charset=utf-8"));
        let cookies: Vec<_> = plain.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2"]);
        for gone in ["transfer-encoding", "connection", "x-hop", "alt-svc", ":status"] {
            assert!(!plain.headers.keys().any(|name: &HeaderName| name.as_str() == gone), "{gone}");
        }
        let coded = ask(&site, "GET", "https://www.a.test/", &[("accept-encoding", "gzip, br")]).await;
        assert_eq!((coded.header("content-encoding"), coded.header("vary")), (Some("gzip"), Some("accept-encoding")));
        let mut decoded = Vec::new();
        flate2::read::GzDecoder::new(&coded.body[..]).read_to_end(&mut decoded).unwrap();
        assert_eq!(decoded, plain.body);
        let same = ask(&site, "GET", "https://www.a.test/", &[("if-none-match", "\"7\"")]).await;
        assert_eq!(same.status, 304);
    }

    #[tokio::test]
    async fn bodies_that_were_not_recorded_weigh_what_they_weighed() {
        let coded = r#""headers": [{"name": "content-encoding", "value": "gzip"}], "bodySize": -1, "_transferSize": 700,
            "content": {"size": 3000, "mimeType": "text/css"}"#;
        let video = r#""bodySize": 1000000000000, "content": {"mimeType": "video/mp4"}"#;
        let site = site(&[entry("http://a.test/a.css", 200, coded), entry("http://a.test/v", 200, video)].join(","));
        let css = ask(&site, "GET", "http://a.test/a.css", &[]).await;
        assert_eq!(
            (css.body.len(), css.header("content-encoding"), css.header("content-type")),
            (700, None, Some("text/css"))
        );
        let end = ask(&site, "GET", "http://a.test/v", &[("range", "bytes=999999999990-")]).await;
        assert_eq!((end.status, end.body.len()), (206, 10));
        assert_eq!(ask(&site, "HEAD", "http://a.test/v", &[]).await.header("content-length"), Some("1000000000000"));
    }

    #[tokio::test]
    async fn queries_match_exactly_and_then_without_what_is_volatile() {
        let text = |text: &str| format!(r#""content": {{"text": "{text}"}}"#);
        let site = site(
            &[
                entry("http://a.test/x?id=1&_=1700000000001", 200, &text("one")),
                entry("http://a.test/x?id=2", 200, &text("two")),
                entry("http://a.test/x?id=2&t=5", 200, &text("five")),
                entry("http://a.test:8080/x", 200, &text("port")),
            ]
            .join(","),
        );
        let body = async |url: &str| String::from_utf8(ask(&site, "GET", url, &[]).await.body).unwrap();
        assert_eq!(body("http://a.test/x?id=1&_=1700000000001").await, "one");
        assert_eq!(body("http://a.test/x?id=1&_=42").await, "one");
        assert_eq!(body("http://a.test/x?id=1&1799999999999").await, "one");
        assert_eq!(body("http://a.test/x?id=2&t=5").await, "five");
        assert_eq!(body("http://a.test/x?id=2&t=6").await, "two");
        assert_eq!(body("http://a.test:8080/x").await, "port");
        for missing in ["http://a.test/x?id=3", "http://a.test/x", "https://a.test:8443/x?id=2"] {
            assert_eq!(ask(&site, "GET", missing, &[]).await.status, 404, "{missing}");
        }
        assert_eq!(ask(&site, "POST", "http://a.test/x?id=2", &[]).await.status, 404);
        let missed = [
            "GET http://a.test/x",
            "GET http://a.test/x?id=3",
            "GET https://a.test:8443/x?id=2",
            "POST http://a.test/x?id=2",
        ];
        assert_eq!(site.missed(), missed);
        assert_eq!(ask(&site, "GET", "http://b.test/x?id=2", &[]).await.status, 421);
    }

    #[tokio::test]
    async fn schemes_may_be_exchanged_but_lead_to_no_circle() {
        let site = site(
            &[
                entry("http://a.test/x", 200, r#""content": {"text": "x"}"#),
                entry("http://a.test/", 301, r#""headers": [{"name": "Location", "value": "https://a.test/"}]"#),
            ]
            .join(","),
        );
        assert_eq!(ask(&site, "GET", "https://a.test/x", &[]).await.body, b"x");
        assert_eq!(ask(&site, "GET", "http://a.test/", &[]).await.status, 301);
        assert_eq!(ask(&site, "GET", "https://a.test/", &[]).await.status, 404);
    }

    #[tokio::test]
    async fn the_best_of_several_answers_is_given_every_time() {
        let site = site(
            &[
                entry("http://a.test/", 302, r#""headers": [{"name": "Location", "value": "/login"}]"#),
                entry("http://a.test/", 304, r#""content": {"size": 9}"#),
                entry("http://a.test/", 200, r#""content": {"text": "page"}"#),
                entry("http://a.test/", 200, r#""content": {"text": "later"}"#),
                entry("http://a.test/old", 301, r#""headers": [{"name": "Location", "value": "http://a.test/"}]"#),
                entry("http://a.test/held", 304, r#""content": {"size": 9, "mimeType": "image/png"}, "bodySize": 0"#),
            ]
            .join(","),
        );
        for _ in 0..2 {
            assert_eq!(ask(&site, "GET", "http://a.test/", &[]).await.body, b"page");
        }
        let moved = ask(&site, "GET", "http://a.test/old", &[]).await;
        assert_eq!((moved.status, moved.header("location")), (301, Some("http://a.test/")));
        let held = ask(&site, "GET", "http://a.test/held", &[]).await;
        assert_eq!((held.status, held.body.len()), (200, 9), "what the browser held then, it does not hold now");
    }

    #[tokio::test]
    async fn recorded_parts_stay_parts_for_who_asks_for_parts() {
        let part = r#""headers": [{"name": "Content-Range", "value": "bytes 0-3/900"}], "content": {"text": "part"}"#;
        let site = site(&entry("http://a.test/v", 206, part));
        let asked = ask(&site, "GET", "http://a.test/v", &[("range", "bytes=0-")]).await;
        assert_eq!(
            (asked.status, asked.header("content-range"), &asked.body[..]),
            (206, Some("bytes 0-3/900"), &b"part"[..])
        );
        let whole = ask(&site, "GET", "http://a.test/v", &[]).await;
        assert_eq!((whole.status, whole.header("content-range")), (200, None));
    }

    #[test]
    fn what_is_not_served_is_said() {
        let entries = [
            entry("http://a.test/", 200, r#""content": {}"#),
            entry("http://a.test/blocked", 0, r#""content": {}"#),
            entry("wss://a.test/socket", 101, r#""content": {}"#),
            entry("http://server/", 200, r#""content": {}"#),
            entry("nonsense", 200, r#""content": {}"#),
        ];
        assert_eq!(
            site(&entries.join(",")).notes(),
            [
                "not served: server: the name means a machine of the testbed there",
                "not served: wss: only http and https are served",
                "not served: requests without a recorded response (1)",
                "filler of the recorded sizes: bodies that were not recorded (1)",
                "log.entries[4].request.url: \"nonsense\" is no URL (relative URL without a base); the entry is left out",
            ]
        );
    }

    #[test]
    fn a_recording_of_nothing_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"log": {"entries": [{}]}}"#).unwrap();
        let told = Site::open(file.path()).unwrap_err().to_string();
        assert!(told.ends_with("(0 entries, 1 unusable)"), "{told}");
    }

    proptest! {
        #[test]
        fn any_recording_is_survived(
            url in "(https?|ws)://[a-z0-9.*_:@\\[\\]-]{0,12}(/[ -~é]{0,12})?",
            status in 0..1000_u16,
            names in proptest::collection::vec("content-type|content-encoding|expires|cache-control|etag|vary|[ -~]{0,8}", 3),
            values in proptest::collection::vec("text/html; charset=x|gzip|\"|.{0,12}", 3),
            media_type in "text/css|.{0,8}",
            size in any::<i64>(),
            text in proptest::option::of(".{0,40}"),
        ) {
            let headers: Vec<_> =
                names.iter().zip(&values).map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect();
            let content = serde_json::json!({"mimeType": media_type, "size": size, "text": text});
            let response = serde_json::json!({"status": status, "headers": headers, "content": content, "bodySize": size});
            let entry = serde_json::json!({"request": {"method": "GET", "url": url}, "response": response});
            let har = Har::parse(serde_json::json!({"log": {"entries": [entry]}}).to_string().as_bytes()).unwrap();
            let url = har.entries.first().map(|entry| entry.url.clone());
            let (recording, hosts, _) = Recording::new(har).unwrap();
            let site = Site { hosts, content: Content::Recording(recording), notes: Vec::new() };
            let served = site.hosts().iter().next().map(|(name, host)| (name.to_owned(), host.clone()));
            if let (Some(url), Some((host, _))) = (url, served) {
                let scheme = Scheme::of(url.scheme()).unwrap();
                let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
                let endpoint = Endpoint { host: host.clone(), port: url.port_or_known_default().unwrap(), scheme };
                let request = http::Request::get(target).header("host", url.host_str().unwrap()).body(());
                if let Ok(request) = request {
                    let (head, ()) = request.into_parts();
                    let asked = Asked::new(&head, &endpoint).unwrap();
                    let is_found = site.answer(&asked).response.status() != StatusCode::NOT_FOUND;
                    prop_assert!(is_found || status == 404);
                }
            }
        }
    }
}
