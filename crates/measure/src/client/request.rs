//! Requests of an exact size (RFC 9112 §3: origin form to the server itself, absolute form to a proxy, authority form for CONNECT).

use crate::catalogue::target;
use crate::headers::padding;
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

/// A GET for `url`, `size` bytes long if the necessary fields leave room.
pub(crate) fn get(url: &Url, form: TargetForm, version: HttpVersion, size: Bytes) -> Vec<u8> {
    let target = match form {
        TargetForm::Origin => target(url),
        TargetForm::Absolute => &url[..Position::AfterQuery],
    };
    let protocol = protocol(version);
    let head = |padding: &str| format!("GET {target} {protocol}\r\nhost: {}{padding}\r\n\r\n", host(url));
    head(&padding(head("").len(), size)).into_bytes()
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
        HttpVersion::Http11 | HttpVersion::Http11Pipelined => "HTTP/1.1",
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
        let url = Url::parse("http://10.0.0.1:8080/a.png?b#c").unwrap();
        String::from_utf8(get(&url, form, version, Bytes::new(size))).unwrap()
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
