//! Asks memory for what is needed soon of legs, step by step: where something is stands where something else was found.

use super::end::{End, Transport};
use super::{Exchange, Legs, Owner};
use crate::network::{Route, Side};
use farhop_units::{Bytes, look_at};

impl Legs {
    /// Asks memory for the beginning of an end, which tells what else there is.
    #[inline]
    pub(crate) fn look_at(&self, leg: u32, side: Side) {
        self.look_at_alarm(leg, side);
        self.legs[leg].ends[side as usize].look_at();
    }

    /// Asks memory for what tells whether an end that is woken has something to do.
    #[inline]
    pub(crate) fn look_at_alarm(&self, leg: u32, side: Side) {
        look_at(&self.alarms[leg as usize][side as usize]);
    }

    /// Asks memory for the beginning of an end that is woken, if it will have something to do, as few have. Returns whether it will.
    #[inline]
    pub(crate) fn look_at_woken(&self, leg: u32, side: Side) -> bool {
        let is_in_time = self.alarms[leg as usize][side as usize].is_in_time();
        if is_in_time {
            self.legs[leg].ends[side as usize].look_at();
        }
        is_in_time
    }

    /// Asks memory for what an end needs whose timer runs out, of which the beginning is known. Returns the way of what it sends.
    #[inline]
    pub(crate) fn look_at_due(&self, leg: u32, side: Side) -> Route {
        let End { transport, route, .. } = &self.legs[leg].ends[side as usize];
        if let Transport::Tcp(endpoint) = transport {
            endpoint.look_at(true);
        }
        *route
    }

    /// Asks memory for what a packet of this size needs that reaches an end, of which the beginning is known. Returns the owner and what the
    /// packet belongs to, if something is to come and the owner will be told, and whether [`Legs::look_at_sent`] finds more to ask for.
    #[inline]
    pub(crate) fn look_at_transport(&self, leg: u32, side: Side, bytes: Bytes) -> (Option<(Owner, Exchange)>, bool) {
        let end = &self.legs[leg].ends[side as usize];
        let exchange = end.next_exchange().filter(|_| end.is_told_with(bytes));
        if exchange.is_some() {
            // Who is told of something mostly answers, which is then to come at the other end.
            self.legs[leg].ends[side.other() as usize].look_at_own();
        }
        let has_more = match &end.transport {
            Transport::Tcp(endpoint) => endpoint.look_at(exchange.is_some()),
            _ => false,
        };
        (exchange.map(|exchange| (end.owner, exchange)), has_more)
    }

    /// Asks memory for what an acknowledgement needs beyond that.
    #[inline]
    pub(crate) fn look_at_sent(&self, leg: u32, side: Side) {
        if let Transport::Tcp(endpoint) = &self.legs[leg].ends[side as usize].transport {
            endpoint.look_at_sent();
        }
    }
}
