//! A server's side of one connection: agrees on keys, then answers each request when it has arrived in full and has been thought about.
//!
//! Over HTTP/1 responses leave in the order of the requests (RFC 9112 §9.3.2), so that thinking about one holds back those behind it,
//! while the server thinks about all of them at once. Over HTTP/2 and 3 each leaves when it is ready. Left out: errors, and a bound
//! on how many requests a server works on.

use super::frames::Frames;
use super::keys::{ServerKeys, Step};
use farhop_units::{Bytes, Instant};
use farhop_web::HttpConfig;
use std::collections::VecDeque;
use std::time::Duration;

/// One connection as its server sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    keys: ServerKeys,
    /// Responses may overtake each other.
    is_multiplexed: bool,
    /// Requests that are arriving, with how much of each has.
    arriving: Vec<(u32, Bytes)>,
    /// Requests that have arrived, with the time from which on each can be answered, earliest first.
    asked: VecDeque<(Instant, u32)>,
    /// What of the responses has not been sent, where it is decided as they are sent whose turn it is.
    pub(crate) frames: Frames,
}

impl Origin {
    /// A new connection.
    pub(crate) fn new(http: &HttpConfig) -> Self {
        let keys = ServerKeys::new(http.key_flights());
        Self { keys, is_multiplexed: http.version.is_multiplexed(), ..Self::default() }
    }

    /// Bytes of the handshake of keys arrived. Returns what to answer, if anything is to be answered.
    pub(crate) fn agree(&mut self, bytes: Bytes) -> Option<Bytes> {
        match self.keys.hear(bytes) {
            Step::Say(answer) => Some(answer),
            Step::Wait | Step::Done => None,
        }
    }

    /// `bytes` of the request for `object` arrived, which has `size` and takes `think` to answer. Returns whether that was its end.
    pub(crate) fn receive(&mut self, now: Instant, object: u32, bytes: Bytes, size: Bytes, think: Duration) -> bool {
        let place = self.arriving.iter().position(|(of, _)| *of == object).unwrap_or_else(|| {
            self.arriving.push((object, Bytes::ZERO));
            self.arriving.len() - 1
        });
        let (_, received) = &mut self.arriving[place];
        *received += bytes;
        let is_complete = *received >= size;
        if is_complete {
            self.arriving.swap_remove(place);
            self.note_asked(now + think, object);
        }
        is_complete
    }

    fn note_asked(&mut self, ready: Instant, object: u32) {
        let ready = match self.asked.back() {
            Some((last, _)) if !self.is_multiplexed => ready.max(*last),
            _ => ready,
        };
        let place = self.asked.partition_point(|(earlier, _)| *earlier <= ready);
        self.asked.insert(place, (ready, object));
    }

    /// The next request that can be answered now.
    pub(crate) fn next_answer(&mut self, now: Instant) -> Option<u32> {
        self.asked.pop_front_if(|(ready, _)| *ready <= now).map(|(_, object)| object)
    }

    /// When the next request can be answered.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.asked.front().map(|(ready, _)| *ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::HttpVersion;

    const SIZE: Bytes = Bytes::new(100);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn origin(version: HttpVersion) -> Origin {
        Origin::new(&HttpConfig { version, ..HttpConfig::DEFAULT })
    }

    /// A part of the request for an object, which takes so many ms to answer.
    fn part(origin: &mut Origin, ms: u64, object: u32, bytes: u64, think: u64) -> bool {
        origin.receive(at(ms), object, Bytes::new(bytes), SIZE, Duration::from_millis(think))
    }

    #[test]
    fn each_request_is_answered_once_it_is_complete() {
        let mut origin = origin(HttpVersion::Http11);
        assert!(!part(&mut origin, 0, 1, 99, 0));
        assert_eq!(origin.next_answer(at(0)), None);
        assert!(part(&mut origin, 1, 1, 1, 0));
        assert!(part(&mut origin, 1, 0, 100, 0));
        assert_eq!([1, 2, 3].map(|_| origin.next_answer(at(1))), [Some(1), Some(0), None]);
    }

    #[test]
    fn thinking_holds_back_what_is_behind() {
        let mut origin = origin(HttpVersion::Http11Pipelined);
        part(&mut origin, 0, 0, 100, 30);
        part(&mut origin, 10, 1, 100, 5);
        assert_eq!((origin.next_answer(at(15)), origin.next_timeout()), (None, Some(at(30))));
        assert_eq!([1, 2].map(|_| origin.next_answer(at(30))), [Some(0), Some(1)]);
    }

    #[test]
    fn streams_do_not_hold_each_other_back() {
        for version in [HttpVersion::Http2, HttpVersion::Http3] {
            let mut origin = origin(version);
            assert!(!part(&mut origin, 0, 0, 60, 30));
            assert!(!part(&mut origin, 0, 1, 60, 5));
            assert!(part(&mut origin, 10, 0, 40, 30) && part(&mut origin, 10, 1, 40, 5));
            assert_eq!((origin.next_timeout(), origin.next_answer(at(15))), (Some(at(15)), Some(1)));
            assert_eq!((origin.next_answer(at(15)), origin.next_answer(at(40))), (None, Some(0)));
        }
    }
}
