//! Asks memory for what events will need soon: with thousands of terminals, waiting for that is most of the time.
//!
//! Where something is stands where something else was found, so that each packet that will arrive is looked at four times, one look after the
//! other, with a few events between: what one look has asked for is there at the next. Most need no more than two. Of timers the first look
//! asks whether they are still to run out then, as few are: only those are looked at further.

use super::Event;
use crate::client::Client;
use crate::legs::{Exchange, Legs, Owner};
use crate::network::{Network, Side};
use crate::packet::Packet;
use crate::programs::Origin;
use farhop_units::Bytes;

/// Packets that will arrive soon, by the looks that they have had.
#[derive(Debug, Default)]
pub(super) struct Sights {
    /// Ends that will be woken, and those of them that will have something to do.
    woken: Vec<(u32, Side)>,
    due: Vec<(u32, Side)>,
    /// Clients that have something to do by themselves.
    begins: Vec<u32>,
    once: Vec<Arrival>,
    twice: Vec<Known>,
    thrice: Vec<(u32, Exchange)>,
}

/// A packet of this size will reach an end.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    leg: u32,
    side: Side,
    bytes: Bytes,
}

/// What the first look at the end has told: which client's program is told of the packet, if one is.
#[derive(Debug, Clone, Copy)]
struct Known {
    leg: u32,
    side: Side,
    told: Option<(u32, Exchange)>,
}

/// Everything that is looked at.
pub(super) struct Outlook<'a> {
    pub(super) network: &'a Network<Packet>,
    pub(super) legs: &'a Legs,
    pub(super) clients: &'a [Client],
    pub(super) origins: &'a [Origin],
    pub(super) sights: &'a mut Sights,
}

impl Outlook<'_> {
    /// Looks at what was looked at before, for what is known of it since.
    pub(super) fn look_again(&mut self) {
        let Sights { woken, due, begins, once, twice, thrice } = &mut *self.sights;
        for (client, exchange) in thrice.drain(..) {
            self.clients[client as usize].look_at_exchange(exchange);
        }
        for Known { leg, side, told } in twice.drain(..) {
            self.legs.look_at_sent(leg, side);
            if let Some((client, exchange)) = told {
                self.clients[client as usize].look_at_browser();
                thrice.push((client, exchange));
            }
        }
        for Arrival { leg, side, bytes } in once.drain(..) {
            let (owner, has_more) = self.legs.look_at_transport(leg, side, bytes);
            let told = match owner {
                Some((Owner::Browser { client, .. } | Owner::Origin { client }, exchange)) => Some((client, exchange)),
                _ => None,
            };
            if let Some((client, _)) = told {
                self.clients[client as usize].look_at();
            }
            if let Some((Owner::Origin { .. }, _)) = owner {
                self.origins.get(leg as usize).into_iter().for_each(Origin::look_at);
            }
            if has_more || told.is_some() {
                twice.push(Known { leg, side, told });
            }
        }
        begins.drain(..).for_each(|client| self.clients[client as usize].look_at_browser());
        for (leg, side) in due.drain(..) {
            let route = self.legs.look_at_due(leg, side);
            self.network.look_at_way(side, route);
        }
        due.extend(woken.drain(..).filter(|(leg, side)| self.legs.look_at_woken(*leg, *side)));
    }

    /// Looks for the first time at what an event needs.
    pub(super) fn look_at(&mut self, event: &Event) {
        match event {
            Event::Exit(parcel) => {
                let Some((leg, side, bytes)) = self.network.look_at(parcel) else { return };
                self.legs.look_at(leg, side);
                self.sights.once.push(Arrival { leg, side, bytes });
            }
            Event::End { leg, side } => {
                self.legs.look_at_alarm(*leg, *side);
                self.sights.woken.push((*leg, *side));
            }
            Event::Client(client) => {
                self.clients[*client as usize].look_at();
                self.sights.begins.push(*client);
            }
            _ => {}
        }
    }
}
