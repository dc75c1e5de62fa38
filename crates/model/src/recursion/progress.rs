//! How far an object of a page is: what let it be asked for, when its response began, and what its span to that time was spent on.

use super::behind::Behind;
use super::breakdown::Ledger;
use super::breakdown::RoundTrips;
use super::breakdown::Spans;
use super::ticks::Ticks;

/// What let a request go or a connection be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trigger {
    Start,
    /// A body named the object; what the arrivals on its connection had waited for by then, and how long the browser waited before it
    /// asked.
    Named {
        by: usize,
        ledger: Ledger,
        delay: Ticks,
    },
    /// The response before it ended.
    Ended {
        object: usize,
    },
}

/// Why a request was sent when it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    pub(crate) trigger: Trigger,
    /// When the connection that had to come up first was opened, dialled and connected.
    pub(crate) opening: Option<[Ticks; 3]>,
}

/// How far an object is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) known: bool,
    /// When its name was read, in whose body, and what that body's connection had waited for by then.
    pub(crate) named: Option<(Ticks, usize, Ledger)>,
    /// How long the browser waits from there until it asks, and waited before it read the name.
    pub(crate) waits: Ticks,
    pub(crate) pushed_by: Option<usize>,
    /// Its place among what is pushed, from 1; what is asked for goes before.
    pub(crate) push_order: usize,
    /// The connection over which a box fetches it.
    pub(crate) behind: Option<Behind>,
    /// When it began to come to a box that fetches it and waits for the browser's request; and how much of it that has by then.
    pub(crate) fetched: Option<Ticks>,
    pub(crate) there: u64,
    /// It comes unasked, and the browser has not asked for it yet: it waits where it has come to.
    pub(crate) withheld: bool,
    /// The browser waits for it, as for what it has asked for itself.
    pub(crate) awaited: bool,
    /// What let the browser ask for it when all of it was there.
    pub(crate) held: Option<Trigger>,
    /// Size of the response's head; how much of the response has come, and of its body can be read.
    pub(crate) header: u64,
    pub(crate) come: u64,
    pub(crate) body: u64,
    /// References in its body that have been read.
    pub(crate) read: usize,
    /// As long as less than this of it has come, nothing comes of what arrives.
    pub(crate) quiet: u64,
    pub(crate) cause: Option<Cause>,
    pub(crate) requested: Ticks,
    /// The call over which it was asked for.
    pub(crate) asked_at: Option<usize>,
    /// A connection between client and proxy, and one to the server, is opened for it: all there were are in use.
    pub(crate) is_first: bool,
    pub(crate) request_waited: Ticks,
    /// How long the request waited for a handshake.
    pub(crate) handshake: Ticks,
    /// How long the response was in the making.
    pub(crate) delay: Ticks,
    pub(crate) start: Option<Start>,
    pub(crate) first_byte: Option<Ticks>,
    pub(crate) end: Option<(Ticks, Ledger)>,
}

/// The arrival of a response's first byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: Ticks,
    pub(crate) place: usize,
    pub(crate) ledger: Ledger,
    /// Time that its packet spent in and before serializers.
    pub(crate) link: Ticks,
}

impl Start {
    /// What the response has waited for at `clock`, where it now comes over the connection at `place` with this ledger: if that is another
    /// one than at first, there was nothing to send in between, or it would have stayed where it was.
    pub(crate) fn ledger_at(&self, clock: Ticks, place: usize, ledger: Ledger) -> Ledger {
        if self.place == place {
            return ledger;
        }
        let mut moved = self.ledger;
        moved += Ledger { nothing: clock.since(self.at), ..Ledger::default() };
        moved
    }
}

impl Progress {
    /// The span from what let the request go to the response's first byte.
    pub(crate) fn add_request(&self, spans: &mut Spans, [hello, keys]: [u32; 2]) {
        let (Some(start), Some(cause)) = (self.start, self.cause) else { return };
        let mut rest = start.at.since(self.requested);
        let mut take = |most: Ticks| {
            let part = rest.min(most);
            rest = rest.since(part);
            part
        };
        let handshake = take(self.handshake);
        spans.handshake += handshake;
        spans.queueing += take(self.request_waited);
        spans.server += take(self.delay);
        spans.transmission += take(start.link);
        let trips: &mut RoundTrips = &mut spans.trips;
        trips.handshake += u32::from(handshake > Ticks::ZERO);
        if matches!(cause.trigger, Trigger::Named { .. }) {
            spans.discovery += rest;
            trips.discovery += 1;
        } else {
            spans.request += rest;
            trips.request += 1;
        }
        if let Some([opened, dialled, connected]) = cause.opening {
            spans.lookup += dialled.since(opened);
            trips.lookup += u32::from(dialled > opened);
            spans.handshake += connected.since(dialled);
            spans.tls += self.requested.since(connected);
            trips.handshake += hello.min(u32::from(connected > dialled));
            trips.tls += keys;
        }
    }
}
