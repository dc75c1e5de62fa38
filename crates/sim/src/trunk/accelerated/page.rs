//! A page's objects as the boxes see them: addresses, heads, and what a document names where.

use super::Want;
use farhop_accel::discovery::{Reference, ReferenceKind};
use farhop_accel::head::{RequestHead, ResponseHead};
use farhop_scenario::HttpConfig;
use farhop_units::Bytes;
use farhop_web::Page;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::Url;

/// Request line and `Host` of a request in origin form, without target and host.
const REQUEST_BYTES: u64 = "GET  HTTP/1.1\r\nhost: \r\n\r\n".len() as u64;
/// Status line and the empty line at the end.
const STATUS_BYTES: u64 = "HTTP/1.1 200 OK\r\n\r\n".len() as u64;
/// What separates a field's name and value, and ends it.
const FIELD_BYTES: u64 = ": \r\n".len() as u64;

/// Where an object is; `None` if its name cannot be part of an address.
pub(super) fn url(page: &Page, object: usize) -> Option<Url> {
    let object = &page.objects[object];
    let host = page.hosts.get(object.host).map_or(Page::HOST, |host| host);
    Url::parse(&format!("http://{host}/")).ok()?.join(&object.name).ok()
}

impl Want {
    /// The request for it.
    pub(super) fn request(&self) -> RequestHead {
        let named = url(&self.page, self.object).and_then(|url| RequestHead::get(url, HeaderMap::new()));
        let get = named.unwrap_or_else(|| {
            let url = Url::parse(&format!("http://{}/{}", Page::HOST, self.object)).expect("a name and a number");
            RequestHead::get(url, HeaderMap::new()).expect("it has a path")
        });
        if self.page.objects[self.object].is_posted() {
            RequestHead { method: Method::POST, has_body: true, ..get }
        } else {
            get
        }
    }

    /// The head of the response with it.
    pub(super) fn response(&self) -> ResponseHead {
        let object = &self.page.objects[self.object];
        let mut headers = HeaderMap::new();
        if let Ok(media_type) = HeaderValue::from_str(&object.media_type) {
            headers.insert(CONTENT_TYPE, media_type);
        }
        headers.insert(CONTENT_LENGTH, object.size.get().into());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        ResponseHead { status: StatusCode::OK, headers }
    }

    /// What the client's request takes beyond this head, to a proxy: more fields, or a body.
    pub(super) fn more_of_request(&self, http: &HttpConfig, head: &RequestHead) -> Bytes {
        let written = request_bytes(head) + Bytes::new("http://".len() as u64 + head.authority().len() as u64);
        http.request_size(&self.page.objects[self.object]).saturating_sub(written)
    }

    /// What the head of the response takes beyond this one.
    pub(super) fn more_of_response(&self, http: &HttpConfig, head: &ResponseHead) -> Bytes {
        http.header_size(&self.page.objects[self.object]).saturating_sub(response_bytes(head))
    }

    /// What it names if it is a document, in the order in which a reader of its bytes finds it, with how much must have been read: what
    /// [`Discovery`](farhop_accel::discovery::Discovery) finds in the bytes that `web` makes of it.
    pub(super) fn references(&self) -> Vec<(Bytes, usize)> {
        self.page.references().swap_remove(self.object)
    }
}

/// How a document names an object.
pub(super) fn reference(page: &Page, object: usize) -> Option<Reference> {
    let media_type = page.objects[object].media_type.as_str();
    let kind = match media_type.split(';').next().unwrap_or_default().trim() {
        _ if page.objects[object].is_posted() => ReferenceKind::Form,
        _ if !page.objects[object].is_fetched_by_boxes() => ReferenceKind::Frame,
        "text/css" => ReferenceKind::Stylesheet,
        "text/javascript" | "application/javascript" => ReferenceKind::Script,
        _ => ReferenceKind::Image,
    };
    url(page, object).map(|url| Reference { url, kind })
}

/// The size of a request as the gateway writes it.
pub(super) fn request_bytes(request: &RequestHead) -> Bytes {
    Bytes::new(REQUEST_BYTES + request.target.as_str().len() as u64 + request.authority().len() as u64)
        + fields_bytes(&request.headers)
}

/// The size of a response's head as its server writes it.
fn response_bytes(response: &ResponseHead) -> Bytes {
    Bytes::new(STATUS_BYTES) + fields_bytes(&response.headers)
}

fn fields_bytes(fields: &HeaderMap) -> Bytes {
    Bytes::new(fields.iter().map(|(name, value)| name.as_str().len() as u64 + value.len() as u64 + FIELD_BYTES).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Line;
    use farhop_accel::discovery::Discovery;
    use farhop_web::body;
    use std::sync::Arc;

    /// What a reader of the document's bytes finds, with how much it has read by then.
    fn read(page: &Page) -> Vec<(Bytes, Reference)> {
        let bytes = body::render(page, 0, 7);
        let mut discovery = Discovery::new(url(page, 0).expect("a document has an address"));
        let found = (1..=bytes.len()).flat_map(|end| {
            let read = Bytes::new(end as u64);
            discovery.push(&bytes[end - 1..end]).into_iter().map(move |reference| (read, reference))
        });
        found.collect()
    }

    #[test]
    fn what_the_page_says_is_what_its_bytes_say() {
        for assignments in [&[][..], &["page.objects=40", "page.size=9 kB"]] {
            let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
            let scenario = farhop_scenario::open("demo", &assignments).expect("the assignments are right");
            let mut page = scenario.page;
            page.objects[2].media_type = "text/css".into();
            page.objects[3].media_type = "text/javascript".into();
            page.objects[4].method = farhop_web::Method::Post;
            page.objects[5].media_type = "text/html".into();
            body::check(&page).expect("there is room for every name");
            let line = Line { terminal: 0, server: 0 };
            let want = Want { client: 0, line, page: Arc::new(page.clone()), object: 0 };
            let named = want.references().into_iter();
            let named: Vec<_> =
                named.map(|(end, object)| (end, reference(&page, object).expect("an address"))).collect();
            let closing = |reference: &Reference| match reference.kind {
                // It is found at the end of its first tag.
                ReferenceKind::Script => Bytes::new("</script>".len() as u64),
                _ => Bytes::ZERO,
            };
            let found = read(&page).into_iter().map(|(read, reference)| (read + closing(&reference), reference));
            assert_eq!(named, found.collect::<Vec<_>>());
            assert!(named.len() > 20);
        }
    }
}
