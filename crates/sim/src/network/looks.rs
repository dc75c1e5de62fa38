//! Asks memory for what packets need soon: with thousands of terminals, lanes and packets are mostly not in the cache.

use super::parcel::NO_LEG;
use super::span::Form;
use super::{Content, Line, Network, Parcel, Place, Route, Side, Store, lane_of};
use farhop_units::Bytes;

impl<P: Content> Network<P> {
    /// Asks memory for what a parcel needs when it comes out of its lane; returns the end of a leg that it then reaches, and its size.
    #[inline]
    pub(crate) fn look_at(&self, parcel: &Parcel) -> Option<(u32, Side, Bytes)> {
        let arrives = parcel.ahead == parcel.to;
        if arrives {
            self.contents.look_at(parcel.content);
        }
        // What answers it goes back.
        let from = if arrives { parcel.from.other() } else { parcel.from };
        self.look_at_lanes(parcel.ahead, from, parcel.line());
        // Multicast reaches nobody's end.
        let reaches_end = arrives && parcel.leg != NO_LEG;
        reaches_end.then(|| (parcel.leg, parcel.from.other(), Bytes::new(parcel.bytes.into())))
    }

    /// Asks memory for what a packet needs that the end of a leg at this side of it will send.
    #[inline]
    pub(crate) fn look_at_way(&self, from: Side, route: Route) {
        let start = match from {
            Side::Near => route.near,
            Side::Far => route.far,
        };
        self.look_at_lanes(start, from, route.line);
    }

    #[inline]
    fn look_at_lanes(&self, place: Place, from: Side, line: Line) {
        for span in self.ways[from as usize][place as usize] {
            let Some(span) = span else { return };
            if let Form::Lanes(lanes) = self.spans[span].form(from.direction()) {
                lanes.look_at(lane_of(span, from, line, self.bits_of_host));
            }
        }
    }
}
