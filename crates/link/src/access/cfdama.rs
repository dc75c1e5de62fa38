//! Combined free and demand assignment (Le-Ngoc and Mohammed 1993 and 1998, zhou-2004 §V.A).
//!
//! The scheduler grants requested slots first, in order of the requests' arrival, and deals out what is left to all
//! terminals in turn, asked for or not: a lightly loaded channel answers within a round of free slots instead of two hops, a
//! loaded one wastes nothing. Requests travel
//! - piggybacked in a field of every data burst (CFDAMA-PB),
//! - in pre-assigned request slots, terminal after terminal (CFDAMA-PA), or
//! - in random-access request slots, by slotted Aloha with backoff (CFDAMA-RA).
//!
//! A request is an increment: the slots that the present backlog takes, less those asked for that have not come yet. So
//! nothing is granted twice for one packet because a request is in flight. What goes in free slots meanwhile leaves granted
//! slots to later packets or to nobody, as in the original.
//!
//! At light load a packet of one slot waits for the terminal's next free slot: N slots of length T come round, so (N − 1)·T/2
//! until it begins from the start of a slot, or N·T/2 from any time, and T to send it.
//!
//! Every backlog is served in bounded time: at least `free` slots of every frame are dealt in turn, so a terminal has a slot
//! in any ⌈N/free⌉ + 1 frames whatever the others have reserved. The papers leave open what becomes of a terminal that
//! could request only in a data slot while all are reserved. For pre-assigned requests the bound is needed less, and `free`
//! is 0 by default: a request goes within ⌈N/r⌉ frames for r request slots, takes effect two hops later, and then waits
//! for what was requested before.
//!
//! Left out: the paper's reordering of the round robin after each grant, a limit on one request, requests lost by errors,
//! on-board scheduling.

use super::format::{Backoff, FrameFormat, REQUEST_FIELD, RequestSlots, bytes, number, some_bytes, write_backoff};
use super::layout::{Need, Shape, usual_request_slots};
use super::policy::{Ask, View};
use core::fmt;
use farhop_units::terms::Terms;
use farhop_units::{Bytes, ParseError, Rate};

/// CFDAMA: `cfdama requests=piggyback`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cfdama {
    /// Frame and slots.
    pub format: FrameFormat,
    /// How terminals ask.
    pub requests: Requests,
    /// Slots of every frame that are dealt in turn even if more is requested; by default 1, with pre-assigned requests 0.
    pub free: Option<u32>,
}

/// How terminals ask for slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// In a field of every data burst.
    Piggyback {
        /// Bytes of a slot that the field takes.
        field: Bytes,
    },
    /// In request slots of their own, terminal after terminal.
    PreAssigned(RequestSlots),
    /// In request slots for which all contend.
    Random {
        /// The slots.
        slots: RequestSlots,
        /// What follows a collision, counted in request slots; if not given, windows from 8 to 1024 slots, or as many as
        /// terminals.
        backoff: Option<Backoff>,
    },
}

/// Piggyback, the variant analysed in the 1998 paper, with a field of 2 B.
impl Default for Requests {
    fn default() -> Self {
        Self::Piggyback { field: REQUEST_FIELD }
    }
}

const ACCEPTED: &str = "piggyback, pre-assigned or random";

impl Cfdama {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        let format = FrameFormat::read(terms)?;
        let kind = terms.get("requests", |text| Ok(text.to_owned()))?;
        let requests = match kind.as_deref() {
            None | Some("piggyback") => {
                Requests::Piggyback { field: terms.get("field", some_bytes)?.unwrap_or(REQUEST_FIELD) }
            }
            Some("pre-assigned") => Requests::PreAssigned(RequestSlots::read(terms)?),
            Some("random") => {
                let backoff = terms.get("backoff", str::parse)?;
                Requests::Random { slots: RequestSlots::read(terms)?, backoff }
            }
            Some(other) => return Err(ParseError::new(format!("requests: \"{other}\""), ACCEPTED)),
        };
        Ok(Self { format, requests, free: terms.get("free", number)? })
    }

    pub(super) fn shape(&self, terminals: u16, rate: Rate) -> Result<Shape, ParseError> {
        let data = Need::data(self.free_slots().saturating_add(1));
        let need = match self.requests {
            Requests::Piggyback { field } => Need { field, ..data },
            Requests::PreAssigned(slots) | Requests::Random { slots, .. } => Need {
                requests: slots
                    .slots
                    .map_or_else(|| usual_request_slots(slots.size, terminals, rate), |slots| slots.get()),
                request: slots.size,
                ..data
            },
        };
        if let Requests::Random { backoff: Some(backoff), .. } = self.requests {
            backoff.check(terminals)?;
        } else if need.requests > u32::from(terminals) {
            let problem = format!("request-slots: {} for {terminals} terminals", need.requests);
            return Err(ParseError::new(problem, "at most one per terminal"));
        }
        Shape::resolve(self.format, need, rate)
    }

    pub(super) fn free_slots(&self) -> u32 {
        let usual = u32::from(!matches!(self.requests, Requests::PreAssigned(_)));
        self.free.unwrap_or(usual)
    }
}

/// What a terminal asks for: slots for what it has not asked for yet.
pub(super) fn ask(view: &View) -> Ask {
    Ask { volume: view.slots(view.backlog).saturating_sub(view.promised), stream: None }
}

impl fmt::Display for Cfdama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.format)?;
        match self.requests {
            Requests::Piggyback { field } => write!(f, " requests=piggyback field={}", bytes(field))?,
            Requests::PreAssigned(slots) => write!(f, " requests=pre-assigned{slots}")?,
            Requests::Random { slots, backoff } => {
                write!(f, " requests=random{slots}")?;
                write_backoff(f, backoff)?;
            }
        }
        self.free.map_or(Ok(()), |free| write!(f, " free={free}"))
    }
}
