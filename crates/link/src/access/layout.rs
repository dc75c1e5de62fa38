//! Where frames and slots lie in time, and how many bytes a slot carries.
//!
//! ```text
//!  |<------------------------------ frame F ------------------------------>|
//!  | request slots |  slot 0  |  slot 1  |    …    |  slot S − 1           |
//! ```
//!
//! All data slots are of one length, (F − H)/S with H the time of the request slots, and carry
//! ⌊R·(F − H)/(8·S)⌋ bytes less the request field that a scheme has in every burst. Times are exact: slot i starts ⌈i·(F −
//! H)/S⌉ ns after the request slots, so that no rounding adds up. Guard times and preambles of data slots are left out; they
//! can be counted into the request field or the link's framing.

use super::format::FrameFormat;
use farhop_units::{Bytes, Instant, ParseError, Rate};
use std::time::Duration;

/// An ATM cell.
const SLOT: Bytes = Bytes::new(53);
/// See [`FrameFormat`].
const FRAME: Duration = Duration::from_micros(26_500);
/// Longest frame: a slot's time in ns times the slots of a frame stays within 64 bits.
const MAX_FRAME: Duration = Duration::from_secs(3600);
/// Shortest frame, far below any in use: whoever waits for two hops of half a second does so for 50,000 frames at most.
pub(super) const SHORTEST_FRAME: Duration = Duration::from_micros(10);
const MAX_SLOTS: u32 = 1_000_000;

/// Frames of a scheme, as they are where nothing changes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// From the start of one to the start of the next.
    pub length: Duration,
    /// Data slots.
    pub slots: u32,
    /// What a data slot holds, the request field included.
    pub slot: Bytes,
    /// Request slots.
    pub requests: u32,
}

impl Frame {
    pub(super) fn of(layout: &Layout) -> Self {
        let Shape { slots, requests, field, .. } = layout.shape;
        Self { length: layout.frame(), slots, slot: layout.payload + field, requests }
    }
}

/// What a scheme needs of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    /// Fewest data slots.
    pub(super) slots: u32,
    /// Data slots come in multiples of this where their number is not given.
    pub(super) multiple: u32,
    /// Request slots.
    pub(super) requests: u32,
    /// Size of each.
    pub(super) request: Bytes,
    /// Bytes of every data slot that carry no data.
    pub(super) field: Bytes,
}

impl Need {
    /// Nothing but data slots.
    pub(super) const fn data(slots: u32) -> Self {
        Self { slots, multiple: 1, requests: 0, request: Bytes::ZERO, field: Bytes::ZERO }
    }
}

/// Request slots of `size` in a tenth of the usual frame, at least one and at most one per terminal.
pub(super) fn usual_request_slots(size: Bytes, terminals: u16, rate: Rate) -> u32 {
    let fit = rate.bytes_in(FRAME / 10).get() / size.get().max(1);
    u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, terminals.into())
}

/// A frame whose slots are counted, at any rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    frame: Option<Duration>,
    /// Data slots.
    pub(super) slots: u32,
    /// Request slots.
    pub(super) requests: u32,
    request: Bytes,
    field: Bytes,
}

impl Shape {
    /// Fills in what `format` leaves open; refuses what does not meet `need` at `rate`.
    pub(super) fn resolve(format: FrameFormat, need: Need, rate: Rate) -> Result<Self, ParseError> {
        let Need { requests, request, field, .. } = need;
        let slots = format.slots.map_or_else(|| usual_slots(format.frame, need, rate), |slots| slots.get());
        if slots < need.slots {
            let accepted = format!("slots={} or more", need.slots);
            return Err(ParseError::new(
                format!("slots: {slots} slots are too few for this scheme and its terminals"),
                accepted,
            ));
        }
        let shape = Self { frame: format.frame, slots, requests, request, field };
        shape.check(rate).map(|()| shape)
    }

    fn check(&self, rate: Rate) -> Result<(), ParseError> {
        let frame = self.frame_time(rate);
        let text = super::format::time(frame);
        for (name, slots) in [("slots", self.slots), ("request-slots", self.requests)] {
            if slots > MAX_SLOTS {
                return Err(ParseError::new(format!("{name}: {slots} slots"), format!("at most {MAX_SLOTS} slots")));
            }
        }
        if frame < SHORTEST_FRAME {
            let accepted = format!("at least {}", super::format::time(SHORTEST_FRAME));
            return Err(ParseError::new(format!("frame: {text} is too short"), accepted));
        }
        if frame > MAX_FRAME {
            return Err(ParseError::new(
                format!("frame: {text} at {rate}"),
                "at most 1 h: fewer slots or a higher rate",
            ));
        }
        let data_time = frame.saturating_sub(self.header_time(rate));
        if self.payload(data_time, rate) == Bytes::ZERO || data_time.as_nanos() < self.slots.into() {
            let problem = format!(
                "frame: {} slots and {} request slots in {text} at {rate} carry no byte each",
                self.slots, self.requests
            );
            return Err(ParseError::new(problem, "a longer frame, fewer slots or a higher rate"));
        }
        Ok(())
    }

    /// Time of all request slots, none shorter than a nanosecond.
    fn header_time(&self, rate: Rate) -> Duration {
        let size = Bytes::new(self.request.get().saturating_mul(self.requests.into()));
        rate.transmission_time(size).max(Duration::from_nanos(self.requests.into()))
    }

    fn frame_time(&self, rate: Rate) -> Duration {
        let fitting = || self.header_time(rate).saturating_add(self.data_time(SLOT, rate)).max(SHORTEST_FRAME);
        self.frame.unwrap_or_else(fitting)
    }

    /// Time of all data slots if each takes `slot` and none is shorter than a nanosecond.
    fn data_time(&self, slot: Bytes, rate: Rate) -> Duration {
        rate.transmission_time(Bytes::new(slot.get().saturating_mul(self.slots.into())))
            .max(Duration::from_nanos(self.slots.into()))
    }

    fn payload(&self, data_time: Duration, rate: Rate) -> Bytes {
        Bytes::new(rate.bytes_in(data_time).get() / u64::from(self.slots)).saturating_sub(self.field)
    }
}

/// As many data slots as fit, and as many as needed.
fn usual_slots(frame: Option<Duration>, need: Need, rate: Rate) -> u32 {
    let header = rate.transmission_time(Bytes::new(need.request.get().saturating_mul(need.requests.into())));
    let fit = rate.bytes_in(frame.unwrap_or(FRAME).saturating_sub(header)).get() / SLOT.get();
    let fit = u32::try_from(fit).unwrap_or(u32::MAX).min(MAX_SLOTS);
    (fit / need.multiple * need.multiple).max(need.slots)
}

/// Frames of a shape at a rate, from some frame on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    shape: Shape,
    /// When frame number `first` starts.
    epoch: Instant,
    first: u64,
    frame: u64,
    header: u64,
    /// Length of a frame.
    length: Duration,
    /// Bytes of data in a slot.
    pub(super) payload: Bytes,
}

impl Layout {
    /// Frames from number 0 at the beginning of the run.
    pub(super) fn new(shape: Shape, rate: Rate) -> Self {
        Self::from_frame(shape, rate, 0, Instant::START)
    }

    /// Frames of another shape from the next change of the rate on.
    pub(super) fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The same frames up to `first`, which is the first one at `rate`.
    pub(super) fn at_rate(&self, rate: Rate, first: u64) -> Self {
        Self::from_frame(self.shape, rate, first, self.start(first))
    }

    /// A frame in which a slot would carry less than a byte at the new rate is stretched until it does, but to no more than
    /// an hour: a rate still lower is exceeded, since nothing would ever be sent.
    fn from_frame(shape: Shape, rate: Rate, first: u64, epoch: Instant) -> Self {
        let header = shape.header_time(rate);
        let least = header.saturating_add(shape.data_time(shape.field + Bytes::new(1), rate));
        let frame = shape.frame_time(rate).max(least).min(MAX_FRAME);
        let payload = shape.payload(frame.saturating_sub(header), rate).max(Bytes::new(1));
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let header = nanos(header.min(frame / 2));
        Self { shape, epoch, first, frame: nanos(frame), header, length: frame, payload }
    }

    /// Length of a frame.
    pub(super) fn frame(&self) -> Duration {
        self.length
    }

    /// Data slots of a frame.
    pub(super) fn slots(&self) -> u32 {
        self.shape.slots
    }

    /// Request slots of a frame.
    pub(super) fn requests(&self) -> u32 {
        self.shape.requests
    }

    /// Positions in a frame: its request slots, then its data slots.
    pub(super) fn positions(&self) -> u32 {
        self.shape.requests + self.shape.slots
    }

    /// When frame number `frame` starts.
    pub(super) fn start(&self, frame: u64) -> Instant {
        let passed = self.frame.saturating_mul(frame.saturating_sub(self.first));
        Instant::from_nanos(self.epoch.as_nanos().saturating_add(passed))
    }

    /// The frame in which `now` lies, of those at the present rate; one that starts at `now` counts.
    pub(super) fn frame_at(&self, now: Instant) -> u64 {
        let passed = now.as_nanos().saturating_sub(self.epoch.as_nanos());
        self.first + passed / self.frame
    }

    /// The first frame that starts after `now`.
    pub(super) fn next_frame(&self, now: Instant) -> u64 {
        if now < self.epoch { self.first } else { self.frame_at(now) + 1 }
    }

    /// The first frame that starts at `at` or later.
    pub(super) fn frame_from(&self, at: Instant) -> u64 {
        let passed = at.as_nanos().saturating_sub(self.epoch.as_nanos());
        self.first + passed.div_ceil(self.frame)
    }

    /// When `position` of `frame` starts, which is when the one before it ends.
    pub(super) fn position_start(&self, frame: u64, position: u32) -> Instant {
        let Shape { slots, requests, .. } = self.shape;
        let offset = match position.checked_sub(requests) {
            None => (self.header * u64::from(position)).div_ceil(requests.into()),
            Some(slot) => self.header + ((self.frame - self.header) * u64::from(slot)).div_ceil(slots.into()),
        };
        Instant::from_nanos(self.start(frame).as_nanos().saturating_add(offset))
    }

    /// The first position of `frame` that starts after `now`; one past the last if there is none.
    pub(super) fn position_after(&self, frame: u64, now: Instant) -> u32 {
        let Shape { slots, requests, .. } = self.shape;
        let start = self.start(frame);
        if now < start {
            return 0;
        }
        let passed = (now.as_nanos() - start.as_nanos()).min(self.frame);
        let position = match passed.checked_sub(self.header) {
            None => passed * u64::from(requests) / self.header,
            Some(passed) => u64::from(requests) + passed * u64::from(slots) / (self.frame - self.header),
        };
        u32::try_from(position + 1).unwrap_or(u32::MAX).min(self.positions())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroU32;
    use proptest::prelude::*;

    fn format(frame: u64, slots: u32) -> FrameFormat {
        FrameFormat { frame: Some(Duration::from_nanos(frame)), slots: NonZeroU32::new(slots) }
    }

    #[test]
    fn cfdamas_own_frame_is_the_usual_one() {
        let shape = Shape::resolve(FrameFormat::default(), Need::data(1), Rate::kbps(2048)).unwrap();
        assert_eq!(shape.slots, 128);
        let layout = Layout::new(shape, Rate::kbps(2048));
        assert_eq!((layout.frame(), layout.payload), (Duration::from_micros(26_500), Bytes::new(53)));
    }

    #[test]
    fn what_cannot_carry_a_byte_is_refused() {
        let refused = |format, need, rate| Shape::resolve(format, need, rate).unwrap_err().to_string();
        assert_eq!(
            refused(format(1_000_000, 128), Need::data(1), Rate::kbps(64)),
            "frame: 128 slots and 0 request slots in 1ms at 64 kbit/s carry no byte each; accepted: a longer frame, fewer slots \
             or a higher rate"
        );
        assert_eq!(
            refused(format(1_000_000_000, 8), Need::data(9), Rate::mbps(1)),
            "slots: 8 slots are too few for this scheme and its terminals; accepted: slots=9 or more"
        );
        assert!(
            refused(format(7_200_000_000_000, 8), Need::data(8), Rate::mbps(1)).starts_with("frame: 7200s at 1 Mbit/s")
        );
        assert!(
            refused(format(7_200_000, 1_000_001), Need::data(8), Rate::mbps(1)).starts_with("slots: 1000001 slots")
        );
    }

    #[test]
    fn a_rate_too_low_for_a_byte_per_slot_stretches_the_frame() {
        let shape = Shape::resolve(format(26_500_000, 128), Need::data(1), Rate::kbps(400)).unwrap();
        let layout = Layout::new(shape, Rate::kbps(400)).at_rate(Rate::kbps(4), 10);
        assert_eq!((layout.payload, layout.frame()), (Bytes::new(1), Duration::from_millis(256)));
        assert_eq!(layout.start(10), Instant::START + Duration::from_millis(265));
        assert_eq!(layout.start(11), Instant::START + Duration::from_millis(265 + 256));
    }

    proptest! {
        #[test]
        fn positions_and_times_agree(
            frame in 1_000_000_u64..1_000_000_000, slots in 1_u32..200, requests in 0_u32..20, number in 0_u64..1 << 20,
            within in 0.0..1.0, kbps in 64_u64..100_000,
        ) {
            let need = Need { requests, request: Bytes::new(8), ..Need::data(1) };
            let shape = Shape::resolve(format(frame, slots), need, Rate::kbps(kbps));
            prop_assume!(shape.is_ok());
            let layout = Layout::new(shape.unwrap(), Rate::kbps(kbps));
            let start = |position| layout.position_start(number, position);
            prop_assert_eq!(start(0), layout.start(number));
            prop_assert_eq!(start(layout.positions()), layout.start(number + 1));
            let now = layout.start(number) + layout.frame().mul_f64(within);
            prop_assume!(now < layout.start(number + 1));
            let position = layout.position_after(number, now);
            prop_assert!(start(position) > now && position > 0 && start(position - 1) <= now);
            prop_assert_eq!(layout.frame_at(now), number);
            prop_assert_eq!(layout.frame_from(now), number + u64::from(now > layout.start(number)));
            // What all slots carry is what the rate carries, less than a byte per slot.
            let carried = layout.payload.get() * u64::from(slots);
            let data_time = start(layout.positions()) - start(requests);
            let possible = Rate::kbps(kbps).bytes_in(data_time).get();
            prop_assert!(carried <= possible && possible < carried + u64::from(slots) + 1);
        }
    }
}
