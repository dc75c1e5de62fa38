//! From a representation and a request to a response: methods, conditions, ranges, lengths (RFC 9110 §8, §13, §14, §15).

use super::conditions::{Selection, Validators, select};
use crate::body::{Body, Source};
use crate::request::Asked;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

/// What a URL has to offer.
#[derive(Debug, Clone)]
pub(super) struct Representation {
    pub(super) status: StatusCode,
    /// Fields but for those that depend on what of it is sent.
    pub(super) headers: HeaderMap,
    pub(super) validators: Validators,
    pub(super) source: Source,
    pub(super) length: u64,
}

impl Representation {
    /// The response to a request for it.
    pub(super) fn respond(self, asked: &Asked<'_>) -> Response<Body> {
        let is_retrieval = asked.method == Method::GET || asked.method == Method::HEAD;
        let selection = if is_retrieval && self.status == StatusCode::OK {
            select(asked.headers, self.length, &self.validators)
        } else {
            Selection::Whole
        };
        let whole = 0..self.length;
        match selection {
            Selection::Whole => {
                let status = self.status;
                self.send(asked, status, whole)
            }
            Selection::Part(part) => self.send(asked, StatusCode::PARTIAL_CONTENT, part),
            Selection::NotModified => self.without_body(StatusCode::NOT_MODIFIED),
            Selection::PreconditionFailed => refusal(StatusCode::PRECONDITION_FAILED),
            Selection::NotSatisfiable => {
                let mut response = refusal(StatusCode::RANGE_NOT_SATISFIABLE);
                response.headers_mut().insert(CONTENT_RANGE, value(format!("bytes */{}", self.length)));
                response
            }
        }
    }

    fn send(mut self, asked: &Asked<'_>, status: StatusCode, range: std::ops::Range<u64>) -> Response<Body> {
        if status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED {
            return self.without_body(status);
        }
        if status == StatusCode::PARTIAL_CONTENT && self.status == StatusCode::OK {
            let place = format!("bytes {}-{}/{}", range.start, range.end - 1, self.length);
            self.headers.insert(CONTENT_RANGE, value(place));
        }
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
        if self.status == StatusCode::OK {
            self.headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        let body = if asked.method == Method::HEAD { Body::empty() } else { Body::part(self.source, range) };
        respond(status, self.headers, body)
    }

    fn without_body(mut self, status: StatusCode) -> Response<Body> {
        self.headers.remove(CONTENT_TYPE);
        respond(status, self.headers, Body::empty())
    }
}

/// An answer that says no more than its status.
pub(super) fn refusal(status: StatusCode) -> Response<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
    respond(status, headers, Body::empty())
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("words and digits make a value")
}
