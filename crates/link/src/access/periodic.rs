//! Aloha periodic stream (zhou-2004 §V.B): bandwidth for as long as a terminal is active.
//!
//! A terminal without a stream that has something to send asks for one in a random-access request slot, with collisions and
//! backoff. Two hops after its request got through it has `stream` slots in every frame. While its backlog after a burst
//! stays above `threshold` and has not shrunk since it last asked, it asks for as much again, piggybacked on the burst, one
//! request at a time and up to `most` slots. The scheduler ends a stream when no burst of it has arrived for `timeout`
//! (counted, for a new stream, from when the bursts of its first frame have arrived). The release needs a hop to reach the
//! terminal: nobody can use those slots, nor those of the timeout.
//!
//! A request names the slots per frame that the terminal wants in all, so nothing adds up while one is in flight.
//!
//! The paper gives neither frame nor amounts. Here bandwidth is "based on the number of active terminals" in that streams
//! which exceed the frame all become slower alike: with W slots of all streams together and S in a frame, each terminal that
//! has a stream is served at least once in ⌈W/S⌉ frames, which bounds its wait. Until its request got through, nothing does.
//!
//! Left out: streams that shrink before they end, requests lost by errors, several priorities.

use super::format::{Backoff, FrameFormat, REQUEST_FIELD, RequestSlots, bytes, count, some_time, time, write_backoff};
use super::layout::{Need, Shape, usual_request_slots};
use super::policy::{Ask, View};
use core::fmt;
use core::num::NonZeroU32;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, ParseError, Rate};
use std::time::Duration;

/// Aloha periodic stream: `aloha-periodic stream=1 most=8 threshold=1kB timeout=2s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlohaPeriodic {
    /// Frame and slots.
    pub format: FrameFormat,
    /// Where streams are asked for.
    pub requests: RequestSlots,
    /// What follows a collision, counted in request slots; if not given, windows from 8 to 1024 slots, or as many as
    /// terminals.
    pub backoff: Option<Backoff>,
    /// Slots per frame of a new stream, and of every addition.
    pub stream: NonZeroU32,
    /// Most slots per frame of one stream.
    pub most: NonZeroU32,
    /// Backlog above which more is asked for.
    pub threshold: Bytes,
    /// How long the scheduler hears nothing before it ends a stream.
    pub timeout: Duration,
}

/// One slot (16 kbit/s with usual slots) up to eight; the larger of zhou-2004's two request sizes; 2 s, four round trips
/// over a geostationary satellite and within its users' think time of 5 s and more.
impl Default for AlohaPeriodic {
    fn default() -> Self {
        Self {
            format: FrameFormat::default(),
            requests: RequestSlots::default(),
            backoff: None,
            stream: NonZeroU32::MIN,
            most: NonZeroU32::MIN.saturating_add(7),
            threshold: Bytes::kb(1),
            timeout: Duration::from_secs(2),
        }
    }
}

impl AlohaPeriodic {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        let usual = Self::default();
        let stream = terms.get("stream", count)?.unwrap_or(usual.stream);
        let most = terms.get("most", count)?.unwrap_or(usual.most.max(stream));
        if most < stream {
            return Err(ParseError::new(
                format!("most: {most} slots are less than stream={stream}"),
                "at least as many",
            ));
        }
        Ok(Self {
            format: FrameFormat::read(terms)?,
            requests: RequestSlots::read(terms)?,
            backoff: terms.get("backoff", str::parse)?,
            stream,
            most,
            threshold: terms.get("threshold", str::parse)?.unwrap_or(usual.threshold),
            timeout: terms.get("timeout", some_time)?.unwrap_or(usual.timeout),
        })
    }

    pub(super) fn shape(&self, terminals: u16, rate: Rate) -> Result<Shape, ParseError> {
        self.backoff.map_or(Ok(()), |backoff| backoff.check(terminals))?;
        let usual = || usual_request_slots(self.requests.size, terminals, rate);
        let requests = self.requests.slots.map_or_else(usual, NonZeroU32::get);
        let need =
            Need { requests, request: self.requests.size, field: REQUEST_FIELD, ..Need::data(self.stream.get()) };
        Shape::resolve(self.format, need, rate)
    }
}

impl fmt::Display for AlohaPeriodic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.format, self.requests)?;
        write_backoff(f, self.backoff)?;
        let (threshold, timeout) = (bytes(self.threshold), time(self.timeout));
        write!(f, " stream={} most={} threshold={threshold} timeout={timeout}", self.stream, self.most)
    }
}

/// What terminals know.
#[derive(Debug)]
pub(super) struct Streaming {
    config: AlohaPeriodic,
    terminals: Vec<Knowledge>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    /// A request got through and has not taken effect.
    has_asked: bool,
    /// Backlog when more was last asked for; zero if it was below the threshold since.
    backlog: Bytes,
}

impl Streaming {
    pub(super) fn new(config: AlohaPeriodic, terminals: u16) -> Self {
        Self { config, terminals: vec![Knowledge::default(); terminals.into()] }
    }

    /// A first stream, or more of it.
    pub(super) fn ask(&self, terminal: u16, view: &View) -> Ask {
        let Knowledge { has_asked, backlog } = self.terminals[usize::from(terminal)];
        let AlohaPeriodic { stream, most, threshold, .. } = self.config;
        if has_asked {
            return Ask::default();
        }
        if view.weight == 0 {
            return Ask { stream: Some(stream.get()), ..Ask::default() };
        }
        let more = view.weight.saturating_add(stream.get()).min(most.get()).min(view.frame_slots);
        let wants_more = view.backlog > threshold && view.backlog >= backlog && more > view.weight;
        Ask { stream: wants_more.then_some(more), ..Ask::default() }
    }

    pub(super) fn has_asked(&mut self, terminal: u16, view: &View) {
        // What waits for the first stream is no sign that the stream is too small.
        let backlog = if view.weight == 0 { Bytes::ZERO } else { view.backlog };
        self.terminals[usize::from(terminal)] = Knowledge { has_asked: true, backlog };
    }

    /// Whether a request is on its way.
    pub(super) fn is_asking(&self, terminal: u16) -> bool {
        self.terminals[usize::from(terminal)].has_asked
    }

    pub(super) fn takes_effect(&mut self, terminal: u16) {
        self.terminals[usize::from(terminal)].has_asked = false;
    }

    /// A burst has left `view.backlog` behind.
    pub(super) fn has_sent(&mut self, terminal: u16, view: &View) {
        if view.backlog <= self.config.threshold {
            self.terminals[usize::from(terminal)].backlog = Bytes::ZERO;
        }
    }
}
