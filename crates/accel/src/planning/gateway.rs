//! The gateway's side of a page: which of its references to announce and fetch, in which order.
//!
//! What a page names beyond the bounds is left to the client. Its requests for that keep their place in the page behind what is pushed.
//!
//! Leaves out: what a client has stored already (nothing is known about it here).

use super::prefetch;
use super::priority::Content;
use crate::content::Unpacker;
use crate::discovery::{Discovery, Reference, ReferenceKind};
use crate::head::{RequestHead, ResponseHead};
use crate::wire::{FlowId, Frame};
use http::Method;
use http::header::CONTENT_ENCODING;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use url::Url;

/// Bounds of what a gateway does for one terminal on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parts of one page.
    pub per_page: u32,
    /// Pushes not yet complete, of all pages.
    pub at_once: u32,
}

impl Default for Limits {
    /// Four times the parts of a page at the 90th percentile (Web Almanac 2025: 185), and four such pages at once.
    fn default() -> Self {
        Self { per_page: 768, at_once: 3072 }
    }
}

/// What the gateway pushes through one tunnel.
#[derive(Debug)]
pub struct Gateway {
    limits: Limits,
    next_push: u64,
    under_way: u32,
    left: Left,
}

/// A page on its way to the terminal.
#[derive(Debug)]
pub struct Page {
    flow: FlowId,
    request: RequestHead,
    unpacker: Unpacker,
    discovery: Discovery,
    announced: u32,
    /// Parts left to the client.
    left: u32,
}

/// A part to be announced, fetched and pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefetch {
    /// The flow that will carry it.
    pub push: FlowId,
    /// The request to make.
    pub request: RequestHead,
    /// Its place, for the priority of its bytes.
    pub content: Content,
    page: FlowId,
}

impl Prefetch {
    /// What tells the terminal; must be sent before the bytes that refer to the part.
    pub fn announcement(&self) -> Frame {
        Frame::Announce { page: self.page, push: self.push, url: self.request.url.clone() }
    }
}

impl Page {
    /// The response to `request`, which the terminal sent as `flow`; `None` if it is nothing to be read for references.
    pub fn new(flow: FlowId, request: &RequestHead, response: &ResponseHead) -> Option<Self> {
        if !prefetch::is_page(request) || !response.is_html() {
            return None;
        }
        Some(Self {
            flow,
            request: request.clone(),
            unpacker: Unpacker::new(response.text(CONTENT_ENCODING))?,
            discovery: Discovery::new(request.url.clone()),
            announced: 0,
            left: 0,
        })
    }
}

impl Gateway {
    /// A tunnel with nothing under way.
    pub fn new(limits: Limits) -> Self {
        Self { limits, next_push: 1, under_way: 0, left: Left::default() }
    }

    /// The page's next bytes: what they refer to is to be announced before they are sent, then fetched at once.
    pub fn handle_body(&mut self, page: &mut Page, bytes: &[u8]) -> Vec<Prefetch> {
        let mut found = Vec::new();
        page.unpacker.push(bytes, |text| found.extend(page.discovery.push(text)));
        found.into_iter().filter_map(|reference| self.handle_reference(page, &reference)).collect()
    }

    /// The page refers to something: what [`Self::handle_body`] asks for everything that it finds, and who has no bytes to read by itself.
    pub fn handle_reference(&mut self, page: &mut Page, reference: &Reference) -> Option<Prefetch> {
        if !is_loaded_whole(reference.kind) {
            return None;
        }
        let request = prefetch::request_for(&page.request, &reference.url)?;
        let order = page.announced + page.left;
        if page.announced >= self.limits.per_page || self.under_way >= self.limits.at_once {
            page.left += 1;
            self.left.add(&reference.url, order);
            return None;
        }
        let content = Content::Pushed { order };
        // Odd, as flows are that the gateway opens.
        let push = FlowId(self.next_push);
        self.next_push += 2;
        self.under_way += 1;
        page.announced += 1;
        Some(Prefetch { push, request, content, page: page.flow })
    }

    /// A client asks: for what decides when the bytes of the response go.
    pub fn handle_request(&mut self, request: &RequestHead) -> Content {
        let is_plain = request.method == Method::GET && !request.has_body;
        let order = if is_plain { self.left.take(&request.url) } else { None };
        order.map_or(Content::Requested, |order| Content::Left { order })
    }

    /// A push has ended, one way or another.
    pub fn handle_push_ended(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

/// The last parts that were left to clients, and their places. An address is known by its hash: whoever has the same one is at worst sent
/// later.
#[derive(Debug, Default)]
struct Left {
    orders: BTreeMap<u64, u32>,
    /// The longest known first; some may have been asked for.
    hashes: VecDeque<u64>,
}

impl Left {
    /// Two pages of as many parts as are read of one.
    const MOST: usize = 8192;

    fn add(&mut self, url: &Url, order: u32) {
        let hash = Self::hash(url);
        self.orders.insert(hash, order);
        self.hashes.push_back(hash);
        if self.hashes.len() > Self::MOST
            && let Some(oldest) = self.hashes.pop_front()
        {
            self.orders.remove(&oldest);
        }
    }

    fn take(&mut self, url: &Url) -> Option<u32> {
        self.orders.remove(&Self::hash(url))
    }

    fn hash(url: &Url) -> u64 {
        let mut hasher = DefaultHasher::new();
        url.hash(&mut hasher);
        hasher.finish()
    }
}

/// Whether a browser that meets such a reference asks for the whole of it. It takes one of several candidate images, which one depends
/// on its screen, media piece by piece, if at all, and a frame perhaps only once somebody looks at it; it posts what nobody else knows, and that does
/// something at the server.
fn is_loaded_whole(kind: ReferenceKind) -> bool {
    use ReferenceKind::{Form, Frame, ImageCandidate, Media};
    !matches!(kind, ImageCandidate | Media | Frame | Form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, Method, StatusCode, header};
    use std::io::Write;

    fn request(method: Method) -> RequestHead {
        let get = RequestHead::get("http://a.example/".parse().unwrap(), HeaderMap::new()).unwrap();
        RequestHead { method, ..get }
    }

    fn html() -> ResponseHead {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "text/html".parse().unwrap());
        ResponseHead { status: StatusCode::OK, headers }
    }

    fn page() -> Page {
        Page::new(FlowId(2), &request(Method::GET), &html()).expect("HTML")
    }

    #[test]
    fn only_html_that_was_asked_for_is_read() {
        assert!(Page::new(FlowId(2), &request(Method::POST), &html()).is_none());
        let image = ResponseHead { status: StatusCode::OK, headers: HeaderMap::new() };
        assert!(Page::new(FlowId(2), &request(Method::GET), &image).is_none());
    }

    #[test]
    fn compressed_pages_are_read() {
        let mut response = html();
        response.headers.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
        let mut page = Page::new(FlowId(2), &request(Method::GET), &response).expect("HTML");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"<img src=a.png>").unwrap();
        let planned = Gateway::new(Limits::default()).handle_body(&mut page, &encoder.finish().unwrap());
        assert_eq!(planned.len(), 1);
        response.headers.insert(header::CONTENT_ENCODING, "br".parse().unwrap());
        assert!(Page::new(FlowId(2), &request(Method::GET), &response).is_none());
    }

    #[test]
    fn parts_are_planned_in_the_order_of_the_page() {
        let mut gateway = Gateway::new(Limits::default());
        let mut page = page();
        let html = b"<img src=a.png srcset='b.png 2x'><video src=c.mp4></video><form action=f method=post><img src=https://a.example/d.png><script src=e.js></script>";
        let planned = gateway.handle_body(&mut page, html);
        let planned: Vec<_> = planned.iter().map(|p| (p.push.0, p.request.url.path(), p.content)).collect();
        let pushed = |order| Content::Pushed { order };
        assert_eq!(planned, [(1, "/a.png", pushed(0)), (3, "/e.js", pushed(1))]);
    }

    #[test]
    fn announcements_name_page_push_and_url() {
        let planned = Gateway::new(Limits::default()).handle_body(&mut page(), b"<img src=a.png>");
        let url = "http://a.example/a.png".parse().unwrap();
        assert_eq!(planned[0].announcement(), Frame::Announce { page: FlowId(2), push: FlowId(1), url });
    }

    #[test]
    fn a_page_gets_no_more_than_its_share() {
        let mut gateway = Gateway::new(Limits { per_page: 2, at_once: 3 });
        let html = b"<img src=a.png><img src=b.png><img src=c.png>";
        assert_eq!(gateway.handle_body(&mut page(), html).len(), 2, "of one page");
        assert_eq!(gateway.handle_body(&mut page(), html).len(), 1, "of all pages");
        gateway.handle_push_ended();
        assert_eq!(gateway.handle_body(&mut page(), html).len(), 1, "after a push has ended");
    }

    #[test]
    fn what_is_left_to_the_client_keeps_its_place_behind_what_is_pushed() {
        let mut gateway = Gateway::new(Limits { per_page: 2, at_once: 9 });
        let html = b"<img src=a.png><img src=b.png><img src=c.png><img srcset='d.png 2x'><img src=e.png>";
        assert_eq!(gateway.handle_body(&mut page(), html).len(), 2);
        let mut content = |method: Method, path: &str| {
            let url = format!("http://a.example/{path}").parse().unwrap();
            let get = RequestHead::get(url, HeaderMap::new()).unwrap();
            gateway.handle_request(&RequestHead { method, ..get })
        };
        assert_eq!(content(Method::POST, "e.png"), Content::Requested, "which is something else");
        assert_eq!(content(Method::GET, "e.png"), Content::Left { order: 3 });
        assert_eq!(content(Method::GET, "c.png"), Content::Left { order: 2 });
        assert_eq!(content(Method::GET, "c.png"), Content::Requested, "once");
        assert_eq!(
            content(Method::GET, "a.png"),
            Content::Requested,
            "somebody waits for it, as it was pushed to somebody else"
        );
    }

    #[test]
    fn only_the_last_parts_that_were_left_are_known() {
        let mut left = Left::default();
        let url = |number: usize| format!("http://a.example/{number}").parse::<Url>().unwrap();
        (0..=Left::MOST).for_each(|number| left.add(&url(number), u32::try_from(number).unwrap()));
        assert_eq!((left.orders.len(), left.hashes.len()), (Left::MOST, Left::MOST));
        assert_eq!((left.take(&url(0)), left.take(&url(1))), (None, Some(1)));
    }
}
