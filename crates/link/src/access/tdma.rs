//! Fixed time-division multiple access: every terminal has its slots in every frame, whether it needs them or not.
//!
//! Slot i of a frame is terminal i mod N's. Nothing is requested, so nothing waits for a round trip. With one slot of T = F/N
//! per terminal and a light load, a packet of one slot waits F/2 on average until its slot begins and leaves T later
//! (Bertsekas and Gallager, Data Networks, §3.5: M/D/1 with vacations; at load ρ of its slots it waits F/(2·(1 − ρ))).
//! Nobody's first byte waits longer than F. Baseline of zhou-2004 §V.
//!
//! Left out: guard times, terminals that share unequally. Slots that are no multiple of N give the first terminals one more.

use super::format::FrameFormat;
use super::layout::{Need, Shape};
use core::fmt;
use farhop_units::terms::Terms;
use farhop_units::{ParseError, Rate};

/// Fixed TDMA: `tdma frame=… slots=…`, with at least one slot per terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedTdma {
    /// Frame and slots; slots not given are a multiple of the terminals.
    pub format: FrameFormat,
}

impl FixedTdma {
    pub(super) fn read(terms: &Terms<'_>) -> Result<Self, ParseError> {
        Ok(Self { format: FrameFormat::read(terms)? })
    }

    pub(super) fn shape(&self, terminals: u16, rate: Rate) -> Result<Shape, ParseError> {
        let n = u32::from(terminals);
        Shape::resolve(self.format, Need { multiple: n, ..Need::data(n) }, rate)
    }
}

impl fmt::Display for FixedTdma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format.fmt(f)
    }
}
