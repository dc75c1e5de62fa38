//! The server's application: answers each request as soon as it has arrived in full.
//!
//! Requests carry no bytes on the wire; what was asked is told beside it. Left out: time to think.

use farhop_units::Bytes;
use farhop_web::{HttpConfig, HttpVersion, Page};
use std::collections::VecDeque;

/// One connection as the server sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    /// Objects asked for and not yet answered, oldest first.
    asked: VecDeque<usize>,
    /// Bytes of the oldest of these requests that have arrived.
    received: Bytes,
}

/// What the server does about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Status line, headers and body.
    pub(crate) bytes: Bytes,
    /// HTTP/1.0: the connection ends with the response (RFC 1945 §1.3).
    pub(crate) close: bool,
}

impl Server {
    /// The client has put a request for `object` on the connection.
    pub(crate) fn ask(&mut self, object: usize) {
        self.asked.push_back(object);
    }

    /// `bytes` of requests arrived in order.
    pub(crate) fn receive(&mut self, bytes: Bytes) {
        self.received += bytes;
    }

    /// The next response, if its request is complete.
    pub(crate) fn answer(&mut self, page: &Page, http: HttpConfig) -> Option<Answer> {
        let object = &page.objects[*self.asked.front()?];
        let request = http.request_size(object);
        if self.received < request {
            return None;
        }
        self.asked.pop_front();
        self.received -= request;
        let bytes = http.header_size(object) + object.size;
        Some(Answer { bytes, close: http.version == HttpVersion::Http10 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_answered_once_it_is_complete() {
        let page = Page::uniform(2, Bytes::new(500)).expect("fits");
        let http = HttpConfig { request_bytes: Bytes::new(100), ..HttpConfig::DEFAULT };
        let mut server = Server::default();
        server.ask(1);
        server.ask(0);
        server.receive(Bytes::new(99));
        assert_eq!(server.answer(&page, http), None);
        server.receive(Bytes::new(101));
        let answer = Answer { bytes: Bytes::new(750), close: false };
        assert_eq!(server.answer(&page, http), Some(answer));
        assert_eq!(server.answer(&page, http), Some(answer));
        assert_eq!(server.answer(&page, http), None);
    }
}
