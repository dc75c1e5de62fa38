//! The request made ahead of the client's, and whether its response may stand for the response to the client's.
//!
//! A browser asks for a page's part with headers of its own; the gateway must guess them from those of the page. The rule is: a header
//! that is known not to change the response (or that the response's own `Vary` would name if it did) is not compared; every other
//! header must be the same in both requests, and a client's request that is more than a plain GET is never answered from a push.
//! RFC 9111 §4.1 gives `Vary`'s meaning. Credentials go to the page's own origin only (RFC 6454), as a browser would never send a
//! page's `Authorization` elsewhere and its cookies for elsewhere are not known.

use crate::head::{RequestHead, ResponseHead};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use url::{Position, Url};

/// Headers of the page's request that a browser repeats for the page's parts wherever they are.
const REPEATED: [HeaderName; 11] = [
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::USER_AGENT,
    header::DNT,
    // Whoever reloads a page past all caches wants its parts so, too.
    header::CACHE_CONTROL,
    header::PRAGMA,
    HeaderName::from_static("sec-ch-ua"),
    HeaderName::from_static("sec-ch-ua-mobile"),
    HeaderName::from_static("sec-ch-ua-platform"),
    HeaderName::from_static("sec-gpc"),
    HeaderName::from_static("save-data"),
];

/// Headers that a browser repeats only for parts of the same origin.
const CREDENTIALS: [HeaderName; 2] = [header::COOKIE, header::AUTHORIZATION];

/// How fresh a response must be. A push may be some time old, and caches may stand between gateway and server; so who asks for more than
/// the gateway did is not answered from it.
const FRESHNESS: [HeaderName; 2] = [header::CACHE_CONTROL, header::PRAGMA];

/// Headers that say what the response is for, or how urgent, and not what it is. A server that chooses by one of them says so in `Vary`.
const NOT_COMPARED: [HeaderName; 8] = [
    header::ACCEPT,
    header::REFERER,
    header::UPGRADE_INSECURE_REQUESTS,
    HeaderName::from_static("priority"),
    HeaderName::from_static("sec-fetch-dest"),
    HeaderName::from_static("sec-fetch-mode"),
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("sec-fetch-user"),
];

/// Whether the gateway reads the response to `request` for references, and the terminal expects announcements.
pub fn is_page(request: &RequestHead) -> bool {
    request.method == Method::GET && !request.has_body && !request.headers.contains_key(header::RANGE)
}

/// The request for a part of the page that `page` asked for. `None` for what cannot be seen or must not be asked for.
pub fn request_for(page: &RequestHead, url: &Url) -> Option<RequestHead> {
    if url.scheme() != "http" || url.host().is_none() || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let is_same_origin = page.url.origin() == url.origin();
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    let credentials = CREDENTIALS.iter().filter(|_| is_same_origin);
    for name in REPEATED.iter().chain(credentials) {
        for value in page.headers.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    if let Some(referrer) = referrer(&page.url, is_same_origin) {
        headers.insert(header::REFERER, referrer);
    }
    RequestHead::get(url.clone(), headers)
}

/// Referrer Policy §8.4, `strict-origin-when-cross-origin`, which is what browsers do by default.
fn referrer(page: &Url, is_same_origin: bool) -> Option<HeaderValue> {
    let start = Position::BeforeScheme..Position::BeforeUsername;
    let end = if is_same_origin { Position::AfterQuery } else { Position::AfterPort };
    let rest = &page[Position::BeforeHost..end];
    let slash = if is_same_origin { "" } else { "/" };
    format!("{}{rest}{slash}", &page[start]).parse().ok()
}

/// Whether the client's request asks for what `made` asked for, as far as requests can tell; [`may_answer`] looks at the response too.
pub fn asks_for_the_same(client: &RequestHead, made: &RequestHead) -> bool {
    let is_asked = |name: &HeaderName| !FRESHNESS.contains(name) || client.headers.contains_key(name);
    let compared = |name: &&HeaderName| !NOT_COMPARED.contains(name) && is_asked(name);
    let names = || client.headers.keys().chain(made.headers.keys());
    client.method == made.method
        && client.url == made.url
        && client.target == made.target
        && !client.has_body
        && names().filter(compared).all(|name| is_equal(name, &client.headers, &made.headers))
}

/// Whether `response`, got with `made`, is the response to the client's request too (RFC 9111 §4.1). A server that is overloaded or in
/// trouble may be so because the gateway asked for much at once; it is asked again.
pub fn may_answer(client: &RequestHead, made: &RequestHead, response: &ResponseHead) -> bool {
    let vary = response.headers.get_all(header::VARY);
    let named = vary.iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let is_same = |name: &[u8]| match HeaderName::from_bytes(name.trim_ascii()) {
        // "*" is a valid header name, too.
        Ok(name) => name != "*" && is_equal(&name, &client.headers, &made.headers),
        Err(_) => name.trim_ascii().is_empty(),
    };
    let is_trouble = response.status.is_server_error() || response.status == StatusCode::TOO_MANY_REQUESTS;
    !is_trouble && asks_for_the_same(client, made) && named.into_iter().all(is_same)
}

fn is_equal(name: &HeaderName, one: &HeaderMap, other: &HeaderMap) -> bool {
    one.get_all(name).iter().eq(other.get_all(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str, headers: &[(&'static str, &'static str)]) -> RequestHead {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers = headers.iter().map(pair).collect();
        RequestHead::get(url.parse().unwrap(), headers).unwrap()
    }

    fn page() -> RequestHead {
        let headers = [
            ("user-agent", "Browser/1"),
            ("accept", "text/html"),
            ("accept-encoding", "gzip"),
            ("cookie", "session=1"),
            ("authorization", "Basic x"),
            ("if-none-match", "\"1\""),
            ("x-api-key", "secret"),
        ];
        request("http://a.example/dir/page?q#f", &headers)
    }

    fn response(vary: &[&'static str]) -> ResponseHead {
        let vary = vary.iter().map(|value| (header::VARY, HeaderValue::from_static(value)));
        ResponseHead { status: StatusCode::OK, headers: vary.collect() }
    }

    /// What a browser asks for a part of the same origin.
    fn client(extra: &[(&'static str, &'static str)]) -> RequestHead {
        let usual = [
            ("user-agent", "Browser/1"),
            ("accept-encoding", "gzip"),
            ("cookie", "session=1"),
            ("authorization", "Basic x"),
            ("accept", "image/*"),
            ("referer", "http://a.example/dir/page?q"),
            ("sec-fetch-dest", "image"),
        ];
        request("http://a.example/i.png", &[&usual[..], extra].concat())
    }

    fn made(url: &str) -> RequestHead {
        request_for(&page(), &url.parse().unwrap()).expect("an http URL")
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let same = made("http://a.example/i.png").headers;
        assert_eq!(same["cookie"], "session=1");
        assert_eq!(same["authorization"], "Basic x");
        assert_eq!(same["referer"], "http://a.example/dir/page?q");
        for other in ["http://b.example/i.png", "http://a.example:81/i.png", "http://sub.a.example/"] {
            let headers = made(other).headers;
            assert!(!headers.contains_key("cookie") && !headers.contains_key("authorization"), "{other}");
            assert_eq!(headers["referer"], "http://a.example/");
            assert_eq!(headers["user-agent"], "Browser/1");
        }
    }

    #[test]
    fn headers_of_the_page_alone_are_not_repeated() {
        let headers = made("http://a.example/i.png").headers;
        assert!(!headers.contains_key("if-none-match") && !headers.contains_key("x-api-key"));
        assert_eq!(headers["accept"], "*/*");
    }

    #[test]
    fn only_plain_http_is_asked_for() {
        for url in ["https://a.example/i.png", "ftp://a.example/", "http://user@a.example/", "data:,x"] {
            assert_eq!(request_for(&page(), &url.parse().unwrap()), None, "{url}");
        }
    }

    #[test]
    fn a_browsers_request_is_answered() {
        assert!(may_answer(&client(&[]), &made("http://a.example/i.png"), &response(&["Accept-Encoding, Cookie"])));
    }

    #[test]
    fn any_other_request_is_not() {
        let made = made("http://a.example/i.png");
        for extra in [
            ("range", "bytes=0-1"),
            ("if-none-match", "\"1\""),
            ("if-modified-since", "x"),
            ("origin", "http://a.example"),
            ("x-requested-with", "XMLHttpRequest"),
            ("accept-language", "de"),
            ("content-length", "0"),
        ] {
            assert!(!asks_for_the_same(&client(&[extra]), &made), "{extra:?}");
        }
        let changed = |change: fn(&mut RequestHead)| {
            let mut request = client(&[]);
            change(&mut request);
            asks_for_the_same(&request, &made)
        };
        assert!(!changed(|r| drop(r.headers.remove("cookie"))));
        assert!(!changed(|r| drop(r.headers.insert("cookie", HeaderValue::from_static("session=2")))));
        assert!(!changed(|r| assert!(r.headers.append("cookie", HeaderValue::from_static("session=1")))));
        assert!(!changed(|r| r.method = Method::HEAD));
        assert!(!changed(|r| r.has_body = true));
        assert!(!changed(|r| r.url.set_query(Some("x"))));
        assert!(!changed(|r| r.target = "/%69.png".parse().unwrap()), "the server may tell them apart");
    }

    #[test]
    fn who_wants_it_fresh_is_answered_if_the_page_was_wanted_fresh() {
        let fresh = [("cache-control", "no-cache"), ("pragma", "no-cache")];
        assert!(!asks_for_the_same(&client(&fresh), &made("http://a.example/i.png")));
        let mut page = page();
        for (name, value) in fresh {
            page.headers.insert(name, HeaderValue::from_static(value));
        }
        let made = request_for(&page, &"http://a.example/i.png".parse().unwrap()).unwrap();
        assert_eq!(made.headers["cache-control"], "no-cache", "no cache on the way may answer, either");
        assert!(asks_for_the_same(&client(&fresh), &made));
        assert!(asks_for_the_same(&client(&[]), &made), "fresher than asked for");
    }

    #[test]
    fn a_server_in_trouble_is_asked_again() {
        let made = made("http://a.example/i.png");
        let may_answer = |status| may_answer(&client(&[]), &made, &ResponseHead { status, headers: HeaderMap::new() });
        assert!(may_answer(StatusCode::OK) && may_answer(StatusCode::NOT_FOUND) && may_answer(StatusCode::FOUND));
        assert!(!may_answer(StatusCode::TOO_MANY_REQUESTS) && !may_answer(StatusCode::SERVICE_UNAVAILABLE));
    }

    #[test]
    fn vary_makes_other_headers_count() {
        let made = made("http://a.example/i.png");
        assert!(!may_answer(&client(&[]), &made, &response(&["Accept"])));
        assert!(!may_answer(&client(&[]), &made, &response(&["accept-encoding", "*"])));
        assert!(!may_answer(&client(&[]), &made, &response(&["sec-fetch-dest"])));
        assert!(!may_answer(&client(&[]), &made, &response(&["a b"])));
        assert!(may_answer(&client(&[]), &made, &response(&["", "Referer, "])));
    }
}
