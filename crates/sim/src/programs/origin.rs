//! A server's side of one connection: answers each request when it has arrived in full and has been thought about.
//!
//! Responses leave in the order of the requests (RFC 9112 §9.3.2), so that thinking about one holds back those behind it, while
//! the server thinks about all of them at once. Left out: errors, and a bound on how many requests a server works on.

use crate::legs::Message;
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::time::Duration;

/// One connection as its server sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// Bytes of the request that is arriving.
    received: Bytes,
    /// Requests that have arrived, with the time from which on each can be answered.
    asked: VecDeque<(Instant, u32)>,
}

impl Origin {
    /// A new connection.
    pub(crate) fn reset(&mut self) {
        self.received = Bytes::ZERO;
        self.asked.clear();
    }

    /// A part of a request of `size` bytes arrived, which takes `think` to answer. Returns whether that was its end.
    pub(crate) fn receive(&mut self, now: Instant, part: Message, size: Bytes, think: Duration) -> bool {
        self.received += part.bytes;
        let is_complete = self.received >= size;
        if is_complete {
            self.received = Bytes::ZERO;
            let earliest = self.asked.back().map_or(now, |(ready, _)| *ready);
            self.asked.push_back((earliest.max(now + think), part.exchange));
        }
        is_complete
    }

    /// The next request that can be answered now.
    pub(crate) fn next_answer(&mut self, now: Instant) -> Option<u32> {
        self.asked.pop_front_if(|(ready, _)| *ready <= now).map(|(_, exchange)| exchange)
    }

    /// When the next request can be answered.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.asked.front().map(|(ready, _)| *ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn part(exchange: u32, bytes: u64) -> Message {
        Message { exchange, bytes: Bytes::new(bytes) }
    }

    #[test]
    fn each_request_is_answered_once_it_is_complete() {
        let mut origin = Origin::default();
        assert!(!origin.receive(at(0), part(1, 99), SIZE, Duration::ZERO));
        assert_eq!(origin.next_answer(at(0)), None);
        assert!(origin.receive(at(1), part(1, 1), SIZE, Duration::ZERO));
        assert!(origin.receive(at(1), part(0, 100), SIZE, Duration::ZERO));
        assert_eq!([1, 2, 3].map(|_| origin.next_answer(at(1))), [Some(1), Some(0), None]);
    }

    #[test]
    fn thinking_holds_back_what_is_behind() {
        let mut origin = Origin::default();
        origin.receive(at(0), part(0, 100), SIZE, Duration::from_millis(30));
        origin.receive(at(10), part(1, 100), SIZE, Duration::from_millis(5));
        assert_eq!((origin.next_answer(at(15)), origin.next_timeout()), (None, Some(at(30))));
        assert_eq!([1, 2].map(|_| origin.next_answer(at(30))), [Some(0), Some(1)]);
    }
}
