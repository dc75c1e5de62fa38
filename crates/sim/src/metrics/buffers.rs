//! What relays hold: what they have received and not passed on, because their next leg was slow.
//!
//! Left out: what transports themselves keep until it is acknowledged, or until what is missing before it has come.

use crate::network::{Place, Route, Side};
use farhop_units::Bytes;

/// The relays of all boxes.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// What waits at the two ends of every leg, and in which box.
    legs: Vec<[(usize, Bytes); 2]>,
    /// What waits in all of one box: the gateway, then every terminal.
    boxes: Vec<Bytes>,
    /// The most that waited at once, at the gateway and at any one terminal.
    peaks: [Option<Bytes>; 2],
}

/// The place of the gateway among the boxes.
const GATEWAY: usize = 0;

impl Buffers {
    /// So much waits at one end of a leg now.
    pub(crate) fn note(&mut self, (leg, route): (u32, Route), side: Side, waiting: Bytes) {
        self.forget(leg, side);
        let place = if side == Side::Near { route.near } else { route.far };
        let number = if place == Place::Gateway { GATEWAY } else { 1 + usize::from(route.line.terminal) };
        if self.boxes.len() <= number {
            self.boxes.resize(number + 1, Bytes::ZERO);
        }
        self.legs[leg as usize][side as usize] = (number, waiting);
        let held = &mut self.boxes[number];
        *held += waiting;
        let peak = &mut self.peaks[usize::from(number != GATEWAY)];
        *peak = (*peak).max(Some(*held));
    }

    /// Nothing waits at one end of a leg, which may soon be another leg's.
    pub(crate) fn forget(&mut self, leg: u32, side: Side) {
        let leg = leg as usize;
        if self.legs.len() <= leg {
            self.legs.resize(leg + 1, [(GATEWAY, Bytes::ZERO); 2]);
        }
        let (number, waiting) = core::mem::take(&mut self.legs[leg][side as usize]);
        if let Some(held) = self.boxes.get_mut(number) {
            *held -= waiting;
        }
    }

    /// The most that waited at once in the gateway, and in any one terminal; `None` where there is no relay.
    pub(crate) const fn peaks(&self) -> [Option<Bytes>; 2] {
        self.peaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Line;

    fn route(terminal: u16) -> Route {
        Route { line: Line { terminal, server: 0 }, near: Place::Terminal, far: Place::Gateway }
    }

    #[test]
    fn the_gateway_is_one_box_and_every_terminal_its_own() {
        let mut buffers = Buffers::default();
        assert_eq!(buffers.peaks(), [None, None]);
        for (leg, terminal, side, waiting) in [
            (0, 0, Side::Far, 500),
            (1, 1, Side::Far, 300),
            (0, 0, Side::Far, 100),
            (1, 1, Side::Near, 40),
            (0, 0, Side::Near, 30),
            (2, 1, Side::Near, 20),
        ] {
            buffers.note((leg, route(terminal)), side, Bytes::new(waiting));
        }
        buffers.forget(1, Side::Far);
        buffers.note((1, route(7)), Side::Far, Bytes::new(750));
        assert_eq!(buffers.peaks(), [Some(Bytes::new(850)), Some(Bytes::new(60))]);
    }
}
