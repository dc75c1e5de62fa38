//! Demand assignment in the manner of DVB-RCS2 (ETSI EN 301 545-2, capacity request categories): four kinds of capacity.
//!
//! - CRA, constant rate: a terminal's slots in every frame, agreed beforehand, used or not.
//! - RBDC, rate requested: slots in every frame until a later request or, without one, until `timeout` after the last. The
//!   terminal measures the rate at which bytes arrive, four times per timeout at most, and asks for it less its CRA, rounded
//!   to the nearest whole slots per frame and up to `rbdc`.
//! - VBDC, volume requested: slots once. A request is an increment, as in CFDAMA, and adds to what the scheduler still owes:
//!   the slots of the backlog, less those asked for that have not come, less what CRA and RBDC will carry within two hops
//!   beyond what arrives at the measured rate.
//!   So nothing is granted twice for one packet because a request is in flight.
//! - FCA, free capacity: what is left, to all terminals in turn, without asking.
//!
//! Requests go in control slots, which the terminals have in turn, and in a field of every data burst. The scheduler
//! deals CRA first, then RBDC (all slower alike if it exceeds the frame), VBDC in order of arrival, FCA.
//!
//! Every backlog is served in bounded time: at least `free` slots per frame are free capacity, so a terminal has a slot in
//! any ⌈N/free⌉ + 1 frames, and with CRA in every frame.
//!
//! Left out: superframes of several carriers and burst sizes (one carrier, one size), absolute volume requests (AVBDC),
//! request classes, random-access data slots, log-on and synchronisation bursts, requests lost by errors.

use super::format::{FrameFormat, REQUEST_FIELD, RequestSlots, number, rate, some_time, time};
use super::layout::{Layout, Need, Shape, usual_request_slots};
use super::policy::{Ask, View};
use core::fmt;
use core::num::NonZeroU32;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, Instant, ParseError, Rate};
use std::time::Duration;

/// DVB-RCS2-like demand assignment: `dama cra=16kbit/s rbdc=128kbit/s timeout=2s free=1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dama {
    /// Frame and slots.
    pub format: FrameFormat,
    /// Control slots, dealt to the terminals in turn.
    pub requests: RequestSlots,
    /// Constant rate of every terminal, rounded up to whole slots per frame.
    pub cra: Option<Rate>,
    /// Highest rate a terminal may ask for; `None`: volumes only.
    pub rbdc: Option<Rate>,
    /// How long a requested rate lasts.
    pub timeout: Duration,
    /// Slots of every frame that are free capacity even if more is requested.
    pub free: u32,
}

/// No constant rate; up to 128 kbit/s on request, for 2 s (four round trips over a geostationary satellite); one free slot.
impl Default for Dama {
    fn default() -> Self {
        Self {
            format: FrameFormat::default(),
            requests: RequestSlots::default(),
            cra: None,
            rbdc: Some(Rate::kbps(128)),
            timeout: Duration::from_secs(2),
            free: 1,
        }
    }
}

const NONE: &str = "none";

impl Dama {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        let usual = Self::default();
        Ok(Self {
            format: FrameFormat::read(terms)?,
            requests: RequestSlots::read(terms)?,
            cra: terms.get("cra", rate_or_none)?.unwrap_or(usual.cra),
            rbdc: terms.get("rbdc", rate_or_none)?.unwrap_or(usual.rbdc),
            timeout: terms.get("timeout", some_time)?.unwrap_or(usual.timeout),
            free: terms.get("free", number)?.unwrap_or(usual.free),
        })
    }

    pub(super) fn shape(&self, terminals: u16, rate: Rate) -> Result<Shape, ParseError> {
        let RequestSlots { slots, size } = self.requests;
        let requests = slots.map_or_else(|| usual_request_slots(size, terminals, rate), NonZeroU32::get);
        if requests > u32::from(terminals) {
            let problem = format!("request-slots: {requests} for {terminals} terminals");
            return Err(ParseError::new(problem, "at most one per terminal"));
        }
        let least = self.free.saturating_add(1);
        let need = Need { requests, request: size, field: REQUEST_FIELD, ..Need::data(least) };
        let shape = Shape::resolve(self.format, need, rate)?;
        let constant = u64::from(self.constant_slots(&Layout::new(shape, rate)));
        let (wanted, slots) = (constant * u64::from(terminals), u64::from(shape.slots.saturating_sub(self.free)));
        if wanted > slots {
            let problem = format!("cra: {constant} slots per frame for each of {terminals} terminals");
            let accepted = format!("at most {slots} slots in all: a lower cra, a longer frame or fewer terminals");
            return Err(ParseError::new(problem, accepted));
        }
        Ok(shape)
    }

    /// Slots per frame of every terminal's constant rate.
    pub(super) fn constant_slots(&self, layout: &Layout) -> u32 {
        let per_frame = self.cra.map_or(Bytes::ZERO, |rate| rate.bytes_in(layout.frame()));
        u32::try_from(per_frame.get().div_ceil(layout.payload.get().max(1))).unwrap_or(u32::MAX)
    }
}

fn rate_or_none(text: &str) -> Result<Option<Rate>, ParseError> {
    if text == NONE { Ok(None) } else { text.parse().map(Some) }
}

impl fmt::Display for Dama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |value: Option<Rate>| value.map_or_else(|| NONE.to_owned(), rate);
        let (cra, rbdc, timeout) = (word(self.cra), word(self.rbdc), time(self.timeout));
        let Self { format, requests, free, .. } = self;
        write!(f, "{format}{requests} cra={cra} rbdc={rbdc} timeout={timeout} free={free}")
    }
}

/// What terminals know of their own traffic.
#[derive(Debug)]
pub(super) struct Measuring {
    config: Dama,
    /// Slots per frame of every terminal's constant rate.
    constant: u32,
    terminals: Vec<Measured>,
}

/// Since when, how much waited then, how much was sent since, and the rate until then in slots per frame.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    since: Instant,
    backlog: Bytes,
    sent: Bytes,
    rate: u32,
}

impl Measuring {
    pub(super) fn new(config: Dama, terminals: u16) -> Self {
        Self { config, constant: 0, terminals: vec![Measured::default(); terminals.into()] }
    }

    /// The frame has changed: the slots per frame of every terminal's constant rate, of which there are `most`.
    pub(super) fn set_layout(&mut self, layout: &Layout, most: u32) -> u32 {
        self.constant = self.config.constant_slots(layout).min(most);
        self.constant
    }

    /// A rate, a volume or both.
    pub(super) fn ask(&self, terminal: u16, view: &View) -> Ask {
        let measured = self.measure(terminal, view);
        let rate = measured.unwrap_or(self.terminals[usize::from(terminal)].rate);
        // What arrives takes up the streams; only what they have to spare works off the backlog.
        let spare = view.weight.saturating_add(self.constant).saturating_sub(rate);
        let carried = u64::from(spare).saturating_mul(view.frames(view.two_hops));
        let wanted = u64::from(view.slots(view.backlog)).saturating_sub(carried);
        let volume = u32::try_from(wanted).unwrap_or(u32::MAX).saturating_sub(view.promised);
        Ask { volume, stream: measured.and_then(|rate| self.stream(rate, view)) }
    }

    /// The rate to ask for, if there is or was one.
    fn stream(&self, rate: u32, view: &View) -> Option<u32> {
        let most = view.whole_slots(self.config.rbdc?).min(view.frame_slots);
        let slots = rate.saturating_sub(self.constant).min(most);
        (slots > 0 || view.weight > 0).then_some(slots)
    }

    /// The rate since the last measurement in slots per frame, once it is time for another.
    fn measure(&self, terminal: u16, view: &View) -> Option<u32> {
        let Measured { since, backlog, sent, .. } = self.terminals[usize::from(terminal)];
        let span = view.now - since;
        let arrived = (view.backlog + sent).saturating_sub(backlog);
        let rate = || Rate::of(arrived, span).map_or(0, |rate| view.nearest_slots(rate));
        (span >= self.config.timeout / 4).then(rate)
    }

    /// A request was sent, or there was an occasion and nothing to ask for.
    pub(super) fn has_considered(&mut self, terminal: u16, view: &View) {
        if let Some(rate) = self.measure(terminal, view) {
            let (since, backlog) = (view.now, view.backlog);
            self.terminals[usize::from(terminal)] = Measured { since, backlog, sent: Bytes::ZERO, rate };
        }
    }

    pub(super) fn has_sent(&mut self, terminal: u16, bytes: Bytes) {
        self.terminals[usize::from(terminal)].sent += bytes;
    }
}
