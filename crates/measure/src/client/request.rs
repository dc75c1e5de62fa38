//! Requests of an exact size (RFC 9112 §3: origin form to the server itself, absolute form to a proxy, authority form for CONNECT).

use crate::catalogue::target;
use crate::headers::Filler;
use farhop_units::Bytes;
use farhop_web::HttpVersion;
use url::{Position, Url};

/// How the request names what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// Path and query: to the server itself.
    Origin,
    /// The whole URL: to a proxy.
    Absolute,
}

/// A request for `url`, of so many bytes if the necessary fields leave room: a GET, or a POST whose body is the rest.
pub(crate) fn request(url: &Url, form: TargetForm, version: HttpVersion, (is_posted, size): (bool, Bytes)) -> Vec<u8> {
    let target = match form {
        TargetForm::Origin => target(url),
        TargetForm::Absolute => &url[..Position::AfterQuery],
    };
    let (protocol, host) = (protocol(version), host(url));
    if !is_posted {
        let head = |more: &str| format!("GET {target} {protocol}\r\nhost: {host}{more}\r\n\r\n");
        // What is not compared when a response that was pushed may answer the request.
        return match Filler::of("accept", head("").len(), size) {
            Filler::Field(value) => head(&format!("\r\naccept: {value}")),
            Filler::Space(space) => head(&space),
        }
        .into_bytes();
    }
    let size = usize::try_from(size.get()).expect("the page's list bounds a request far below");
    let head = |body: usize, padding: &str| {
        format!("POST {target} {protocol}\r\nhost: {host}{padding}\r\ncontent-length: {body}\r\n\r\n")
    };
    let body = size.saturating_sub(head(size, "").len());
    // The body's length may have a digit less than the whole size.
    let left = size.saturating_sub(body + head(body, "").len());
    let mut request = head(body, &" ".repeat(left)).into_bytes();
    request.resize(request.len() + body, 0);
    request
}

/// A CONNECT to the server of `url`.
pub(crate) fn connect(url: &Url) -> Vec<u8> {
    let port = url.port_or_known_default().unwrap_or(80);
    let authority = format!("{}:{port}", url.host_str().unwrap_or_default());
    format!("CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n").into_bytes()
}

/// The protocol's name in a request line.
fn protocol(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http10 => "HTTP/1.0",
        // Of the others the client speaks none: it refuses them before it connects.
        _ => "HTTP/1.1",
    }
}

/// Host and, if it is not the scheme's own, port.
fn host(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(form: TargetForm, version: HttpVersion, size: u64) -> String {
        text_of(form, version, (false, size))
    }

    fn text_of(form: TargetForm, version: HttpVersion, (is_posted, size): (bool, u64)) -> String {
        let url = Url::parse("http://10.0.0.1:8080/a.png?b#c").unwrap();
        String::from_utf8(request(&url, form, version, (is_posted, Bytes::new(size)))).unwrap()
    }

    #[test]
    fn requests_have_the_size_asked_for_in_every_form() {
        for form in [TargetForm::Origin, TargetForm::Absolute] {
            for size in [80, 81, 350] {
                let version = HttpVersion::Http11;
                assert_eq!(text(form, version, size).len() as u64, size);
            }
        }
        assert!(text(TargetForm::Origin, HttpVersion::Http10, 0).len() < 100, "the necessary fields alone");
    }

    #[test]
    fn what_is_posted_is_a_body() {
        // The last three: the body's length has a digit less than the whole.
        for size in [90, 350, 32_769, 500_000, 100_000, 100_030, 105] {
            let whole = text_of(TargetForm::Origin, HttpVersion::Http11, (true, size));
            assert_eq!(whole.len() as u64, size);
            let (head, body) = whole.split_once("\r\n\r\n").expect("a head ends");
            assert!(head.starts_with("POST /a.png?b HTTP/1.1\r\n"), "{head}");
            assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head} and {}", body.len());
        }
    }

    #[test]
    fn a_proxy_is_told_the_whole_url_but_no_fragment() {
        let request = text(TargetForm::Absolute, HttpVersion::Http11, 0);
        assert!(request == "GET http://10.0.0.1:8080/a.png?b HTTP/1.1\r\nhost: 10.0.0.1:8080\r\n\r\n", "{request}");
        assert!(text(TargetForm::Origin, HttpVersion::Http10, 0).starts_with("GET /a.png?b HTTP/1.0\r\n"));
    }

    #[test]
    fn connect_names_the_port_always() {
        let request = connect(&Url::parse("http://server/x").unwrap());
        assert_eq!(request, b"CONNECT server:80 HTTP/1.1\r\nhost: server:80\r\n\r\n");
    }
}
