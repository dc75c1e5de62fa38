//! A server's side of one connection: agrees on keys, then answers each request when it has arrived in full and has been thought about.
//!
//! Over HTTP/1 responses leave in the order of the requests (RFC 9112 §9.3.2), so that thinking about one holds back those behind it,
//! while the server thinks about all of them at once. Over HTTP/2 and 3 each leaves when it is ready. A response with a [`Pace`] leaves part
//! by part, over HTTP/2 and 3 as a whole when its time is over. Left out: errors, and a bound on how many requests a server works on.

use super::Pace;
use super::frames::Frames;
use super::keys::{ServerKeys, Step};
use crate::wake::Wake;
use farhop_units::{Bytes, Instant, look_at_all};
use farhop_web::HttpConfig;
use std::collections::VecDeque;
use std::time::Duration;

/// What a request is to its server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// The request's size.
    pub(crate) request: Bytes,
    /// What it takes to answer.
    pub(crate) think: Duration,
    /// Absent where the response leaves as a whole.
    pub(crate) pace: Option<Pace>,
}

impl Work {
    /// A request of this size that is answered at once and as a whole.
    pub(crate) const fn at_once(request: Bytes) -> Self {
        Self { request, think: Duration::ZERO, pace: None }
    }
}

/// What leaves of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) object: u32,
    /// A part of it; absent where it leaves as a whole.
    pub(crate) part: Option<Bytes>,
    pub(crate) is_last: bool,
}

/// A request that has arrived.
#[derive(Debug, Clone, Copy)]
struct Asked {
    object: u32,
    /// When its response begins to be made.
    at: Instant,
    /// When the next part of the response can leave.
    ready: Instant,
    pace: Option<Pace>,
    released: Bytes,
}

/// One connection as its server sees it.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(crate) struct Origin {
    /// When a wake-up is scheduled, if one is.
    wake: Wake,
    keys: ServerKeys,
    /// Responses may overtake each other.
    is_multiplexed: bool,
    /// Requests that are arriving, with how much of each has.
    arriving: Vec<(u32, Bytes)>,
    /// Requests that have arrived and are not answered, those that can be answered first at the front.
    asked: VecDeque<Asked>,
    /// What of the responses has not been sent, where it is decided as they are sent whose turn it is.
    pub(crate) frames: Frames,
}

impl Origin {
    /// A new connection.
    pub(crate) fn new(http: &HttpConfig) -> Self {
        let keys = ServerKeys::new(http.key_flights());
        let frames = Frames::new(http.frame_bytes());
        Self { keys, is_multiplexed: http.version.is_multiplexed(), frames, ..Self::default() }
    }

    /// Asks memory for all of it.
    pub(crate) fn look_at(&self) {
        look_at_all(&self.wake, size_of::<Self>());
    }

    /// Bytes of the handshake of keys arrived. Returns what to answer, if anything is to be answered.
    pub(crate) fn agree(&mut self, bytes: Bytes) -> Option<Bytes> {
        match self.keys.hear(bytes) {
            Step::Say(answer) => Some(answer),
            Step::Wait | Step::Done => None,
        }
    }

    /// `bytes` of the request for `object` arrived. Returns whether that was its end.
    pub(crate) fn receive(&mut self, now: Instant, object: u32, bytes: Bytes, work: Work) -> bool {
        let place = self.arriving.iter().position(|(of, _)| *of == object);
        let received = bytes + place.map_or(Bytes::ZERO, |place| self.arriving[place].1);
        let is_complete = received >= work.request;
        match place {
            Some(place) if is_complete => drop(self.arriving.swap_remove(place)),
            Some(place) => self.arriving[place].1 = received,
            None if is_complete => {}
            None => self.arriving.push((object, received)),
        }
        if is_complete {
            self.note_asked(now + work.think, object, work.pace);
        }
        is_complete
    }

    fn note_asked(&mut self, at: Instant, object: u32, pace: Option<Pace>) {
        let asked = match pace {
            Some(pace) if self.is_multiplexed => Asked::new(at + pace.takes, object, None),
            _ => Asked::new(at, object, pace),
        };
        let ready = match self.asked.back() {
            Some(last) if !self.is_multiplexed => asked.ready.max(last.end()),
            _ => asked.ready,
        };
        let place = self.asked.partition_point(|earlier| earlier.ready <= ready);
        self.asked.insert(place, Asked { ready, ..asked });
    }

    /// The next part of a response that can leave now.
    pub(crate) fn next_answer(&mut self, now: Instant) -> Option<Answer> {
        let asked = self.asked.front_mut().filter(|asked| asked.ready <= now)?;
        let answer = asked.release(now);
        if answer.is_last {
            self.asked.pop_front();
        }
        Some(answer)
    }

    /// When to be woken because something can leave then, if no wake-up at that time or before it is scheduled yet.
    pub(crate) fn rearm(&mut self) -> Option<Instant> {
        self.wake.arm(self.asked.front().map(|asked| asked.ready))
    }

    /// A wake-up has come. Returns whether it is the one that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        self.wake.counts(now)
    }
}

impl Asked {
    fn new(at: Instant, object: u32, pace: Option<Pace>) -> Self {
        let ready = pace.map_or(at, |pace| pace.due(at, pace.next(Bytes::ZERO)));
        Self { object, at, ready, pace, released: Bytes::ZERO }
    }

    /// When its response has left.
    fn end(&self) -> Instant {
        self.pace.map_or(self.ready, |pace| self.ready.max(pace.due(self.at, pace.whole)))
    }

    /// Lets the next part of the response leave.
    fn release(&mut self, now: Instant) -> Answer {
        let part = self.pace.map(|pace| {
            let released = pace.next(self.released);
            self.ready = now.max(pace.due(self.at, pace.next(released)));
            released - core::mem::replace(&mut self.released, released)
        });
        let is_last = self.pace.is_none_or(|pace| self.released == pace.whole);
        Answer { object: self.object, part, is_last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_web::HttpVersion;

    /// When something can leave next.
    fn next_timeout(origin: &Origin) -> Option<Instant> {
        origin.asked.front().map(|asked| asked.ready)
    }

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn origin(version: HttpVersion) -> Origin {
        Origin::new(&HttpConfig { version, ..HttpConfig::DEFAULT })
    }

    /// A part of the request for an object, which takes so many ms to answer.
    fn part(origin: &mut Origin, ms: u64, object: u32, bytes: u64, think: u64) -> bool {
        origin.receive(at(ms), object, Bytes::new(bytes), work(think))
    }

    fn work(think: u64) -> Work {
        Work { request: Bytes::new(100), think: Duration::from_millis(think), pace: None }
    }

    fn answered(origin: &mut Origin, now: u64) -> Option<u32> {
        origin.next_answer(at(now)).map(|answer| answer.object)
    }

    #[test]
    fn each_request_is_answered_once_it_is_complete() {
        let mut origin = origin(HttpVersion::Http11);
        assert!(!part(&mut origin, 0, 1, 99, 0));
        assert_eq!(origin.next_answer(at(0)), None);
        assert!(part(&mut origin, 1, 1, 1, 0));
        assert!(part(&mut origin, 1, 0, 100, 0));
        assert_eq!([1, 2, 3].map(|_| answered(&mut origin, 1)), [Some(1), Some(0), None]);
    }

    #[test]
    fn thinking_holds_back_what_is_behind() {
        let mut origin = origin(HttpVersion::Http11Pipelined);
        part(&mut origin, 0, 0, 100, 30);
        part(&mut origin, 10, 1, 100, 5);
        assert_eq!((origin.next_answer(at(15)), next_timeout(&origin)), (None, Some(at(30))));
        assert_eq!([1, 2].map(|_| answered(&mut origin, 30)), [Some(0), Some(1)]);
    }

    #[test]
    fn the_last_segment_leaves_when_the_servers_time_is_over() {
        let mut origin = origin(HttpVersion::Http11);
        let pace = Pace { takes: Duration::from_millis(100), segment: Bytes::new(400), whole: Bytes::new(1000) };
        origin.receive(at(10), 7, Bytes::new(100), Work { pace: Some(pace), ..work(0) });
        origin.receive(at(20), 8, Bytes::new(100), work(0));
        let mut left = Vec::new();
        while let Some(due) = next_timeout(&origin) {
            let answer = origin.next_answer(due).expect("it is due");
            let part = answer.part.map(Bytes::get);
            left.push((due.as_nanos() / 1_000_000, answer.object, part, answer.is_last));
        }
        let expected =
            [(50, 7, Some(400), false), (90, 7, Some(400), false), (110, 7, Some(200), true), (110, 8, None, true)];
        assert_eq!(left, expected);
    }

    #[test]
    fn streams_do_not_hold_each_other_back() {
        for version in [HttpVersion::Http2, HttpVersion::Http3] {
            let mut origin = origin(version);
            assert!(!part(&mut origin, 0, 0, 60, 30));
            assert!(!part(&mut origin, 0, 1, 60, 5));
            assert!(part(&mut origin, 10, 0, 40, 30) && part(&mut origin, 10, 1, 40, 5));
            assert_eq!((next_timeout(&origin), answered(&mut origin, 15)), (Some(at(15)), Some(1)));
            assert_eq!((answered(&mut origin, 15), answered(&mut origin, 40)), (None, Some(0)));
        }
    }

    #[test]
    fn of_all_that_is_thought_about_the_first_needs_a_wake_up() {
        let http = HttpConfig { version: HttpVersion::Http2, ..HttpConfig::DEFAULT };
        let mut origin = Origin::new(&http);
        let work = |think| Work { think: Duration::from_millis(think), ..Work::at_once(Bytes::new(100)) };
        let mut scheduled = Vec::new();
        for (object, think) in [(0, 50), (1, 60), (2, 20), (3, 70)] {
            origin.receive(at(0), object, Bytes::new(100), work(think));
            scheduled.extend(origin.rearm());
        }
        assert_eq!(scheduled, [at(50), at(20)]);
        assert!(origin.handle_timeout(at(20)));
        assert!(origin.next_answer(at(20)).is_some_and(|answer| answer.object == 2));
        assert_eq!(origin.rearm(), Some(at(50)));
        // It was scheduled twice, and one of them counts.
        assert_eq!([origin.handle_timeout(at(50)), origin.handle_timeout(at(50))], [true, false]);
    }
}
