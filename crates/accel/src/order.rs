//! Which frames may follow each other on a flow, so that a receiver holds no more than credit allows, whatever its peer sends.
//!
//! ```text
//! terminal, of a request:     Request (Data)* End
//! gateway, of its response:   Response (Data | Announce)* End
//! gateway, of a push:         Response (Data)* End
//! either, of a connection:    (Data)* End                      after the terminal's Connect
//! ```
//!
//! `Reset` may stand for whatever was to come, and follow `End` when the other direction is given up; `Credit` and `More` are about the way and may come at any time. Leaves out: whether a
//! frame suits what the flow carries beyond that (an answer without a response, say), which whoever carries it on finds out.

use crate::wire::Frame;

/// How far a peer has come with its frames of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It was asked and may answer.
    Asked,
    /// Bytes follow.
    Bytes,
    /// Its bytes are complete.
    Ended,
    /// It gave the flow up.
    GivenUp,
}

impl Order {
    /// Whether `frame` may come now; if so it has.
    pub fn handle_frame(&mut self, frame: &Frame) -> bool {
        let next = match (*self, frame) {
            (order, Frame::Credit { .. } | Frame::More { .. }) => order,
            (Self::Asked, Frame::Response { .. }) | (Self::Asked | Self::Bytes, Frame::Data { .. }) => Self::Bytes,
            (Self::Bytes, Frame::Announce { .. }) => Self::Bytes,
            (Self::Asked | Self::Bytes, Frame::End { .. }) => Self::Ended,
            (Self::Asked | Self::Bytes | Self::Ended, Frame::Reset { .. }) => Self::GivenUp,
            _ => return false,
        };
        *self = next;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::ResponseHead;
    use crate::wire::{FlowId, ResetReason};
    use http::{HeaderMap, StatusCode};

    const FLOW: FlowId = FlowId(0);

    fn is_taken(mut order: Order, frames: &[Frame]) -> bool {
        frames.iter().all(|frame| order.handle_frame(frame))
    }

    #[test]
    fn a_flow_ends_once_and_begins_once() {
        let response =
            || Frame::Response { flow: FLOW, head: ResponseHead { status: StatusCode::OK, headers: HeaderMap::new() } };
        let announce = || {
            let url = "http://a.example/".parse().unwrap();
            Frame::Announce { page: FLOW, push: FlowId(1), url }
        };
        let data = || Frame::Data { flow: FLOW, offset: 0, bytes: bytes::Bytes::new() };
        let end = || Frame::End { flow: FLOW, length: 0 };
        let reset = || Frame::Reset { flow: FLOW, reason: ResetReason::Broken };
        let credit = || Frame::Credit { flow: FLOW, limit: 0 };
        let connect = || Frame::Connect { flow: FLOW, authority: String::new() };
        assert!(is_taken(Order::Asked, &[credit(), response(), announce(), data(), announce(), end(), credit()]));
        assert!(is_taken(Order::Asked, &[data(), data(), end()]), "a connection's bytes");
        assert!(is_taken(Order::Asked, &[reset()]) && is_taken(Order::Bytes, &[data(), reset()]));
        assert!(!is_taken(Order::Asked, &[response(), response()]));
        assert!(!is_taken(Order::Bytes, &[response()]) && !is_taken(Order::Asked, &[announce()]));
        for after in [data(), end(), announce(), response()] {
            assert!(!is_taken(Order::Bytes, &[end(), after.clone()]) && !is_taken(Order::Bytes, &[reset(), after]));
        }
        assert!(is_taken(Order::Bytes, &[end(), reset()]) && !is_taken(Order::Bytes, &[end(), reset(), reset()]));
        assert!(!is_taken(Order::Asked, &[connect()]) && !is_taken(Order::Bytes, &[connect()]));
    }
}
