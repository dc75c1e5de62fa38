//! Responses that share a connection of HTTP/2: whose frame is sent next (RFC 9113 §4, §5.3; RFC 9218 §10).
//!
//! It is decided as bytes leave, as by a server that keeps no more in its socket than that takes (`TCP_NOTSENT_LOWAT`): the most urgent
//! response first; of those, what is of use only as a whole one after the other, what is of use in parts a frame each in turn. Frames are of whole
//! records of TLS. Left out: flow control of HTTP/2's own (browsers grant as much as TCP's window does, 6 MiB a stream in Chromium), server push.

use crate::legs::{Exchange, Message};
use farhop_units::Bytes;
use farhop_web::Priority;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
struct Response {
    exchange: Exchange,
    left: Bytes,
    priority: Priority,
}

/// What of the responses on a connection has not been sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    /// The one whose frame is being sent first; of equal urgency, the one whose turn comes earlier first.
    responses: VecDeque<Response>,
    /// Bytes of a frame at most.
    most: Bytes,
    /// Bytes of the frame that is being sent.
    frame: Bytes,
}

impl Frames {
    /// Frames that take so much at most.
    pub(crate) fn new(most: Bytes) -> Self {
        Self { most, ..Self::default() }
    }

    /// A response is there to be sent.
    pub(crate) fn add(&mut self, Message { exchange, bytes: left }: Message, priority: Priority) {
        self.responses.push_back(Response { exchange, left, priority });
    }

    /// `most` bytes leave at most: whose the first of them are.
    pub(crate) fn next_part(&mut self, most: Bytes) -> Option<Message> {
        if self.frame == Bytes::ZERO {
            self.begin_frame()?;
        }
        let bytes = most.min(self.frame);
        let first = self.responses.front_mut()?;
        let part = Message { exchange: first.exchange, bytes };
        (self.frame, first.left) = (self.frame - bytes, first.left - bytes);
        if self.frame == Bytes::ZERO {
            self.end_frame();
        }
        Some(part)
    }

    fn begin_frame(&mut self) -> Option<()> {
        let urgencies = self.responses.iter().enumerate().map(|(place, response)| (response.priority.urgency(), place));
        let (_, place) = urgencies.min()?;
        let next = self.responses.remove(place)?;
        self.frame = next.left.min(self.most);
        self.responses.push_front(next);
        Some(())
    }

    /// Who takes turns goes to the end.
    fn end_frame(&mut self) {
        let Some(first) = self.responses.pop_front() else { return };
        match first {
            Response { left: Bytes::ZERO, .. } => {}
            Response { priority, .. } if priority.is_incremental() => self.responses.push_back(first),
            _ => self.responses.push_front(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(responses: &[(u32, u64, Priority)]) -> Frames {
        let mut frames = Frames::new(Bytes::kib(16));
        for &(object, bytes, priority) in responses {
            frames.add(Message { exchange: Exchange::Object(object), bytes: Bytes::new(bytes) }, priority);
        }
        frames
    }

    /// Whose bytes leave, in pieces of at most so many.
    fn parts(frames: &mut Frames, most: u64) -> Vec<(u32, u64)> {
        let parts = std::iter::from_fn(|| frames.next_part(Bytes::new(most)));
        parts
            .map(|part| match part.exchange {
                Exchange::Object(object) => (object, part.bytes.get()),
                other => panic!("{other:?} is no response"),
            })
            .collect()
    }

    #[test]
    fn images_take_turns_and_scripts_do_not() {
        let mut images = frames(&[(1, 20_000, Priority::Other), (2, 16_400, Priority::Other)]);
        assert_eq!(parts(&mut images, 1 << 20), [(1, 16_384), (2, 16_384), (1, 3616), (2, 16)]);
        let mut scripts = frames(&[(1, 20_000, Priority::Blocking), (2, 16_000, Priority::Blocking)]);
        assert_eq!(parts(&mut scripts, 1 << 20), [(1, 16_384), (1, 3616), (2, 16_000)]);
    }

    #[test]
    fn what_is_urgent_goes_before_what_came_earlier_but_cuts_no_frame() {
        let mut both = frames(&[(1, 40_000, Priority::Other)]);
        assert_eq!(both.next_part(Bytes::new(1448)).map(|part| part.bytes), Some(Bytes::new(1448)));
        both.add(Message { exchange: Exchange::Object(2), bytes: Bytes::new(500) }, Priority::Document);
        let rest = [(1, 16_384 - 1448), (2, 500), (1, 16_384), (1, 40_000 - 2 * 16_384)];
        assert_eq!(parts(&mut both, 1 << 20), rest);
    }

    #[test]
    fn nothing_is_lost_however_it_is_cut() {
        for most in [1, 7, 1448, 16_384, 100_000] {
            let mut three =
                frames(&[(1, 50_001, Priority::Other), (2, 16_384, Priority::Blocking), (3, 99, Priority::Other)]);
            let mut sums = [0; 4];
            parts(&mut three, most).iter().for_each(|(object, bytes)| sums[*object as usize] += bytes);
            assert_eq!(sums, [0, 50_001, 16_384, 99]);
        }
    }
}
