//! Hearing: a box near the client that asks ahead hears of what it did not foresee when the client's request has crossed the lan.
//!
//! What no document named the box learns of from the client alone, whose request crosses the lan on a connection to that host which is
//! free, or on a new one, before whose handshake a new host's name is resolved; so does the request for what has been fetched for a browser that asks
//! later. Such requests are late by all of that on the recursion's clock, which is ahead of the box's by the lan's way down. What is fetched and
//! asked for at once comes over the link after the client's request, whose way costs nothing.

use super::load::{Load, Planned};
use super::parameters::{Hearing, Http, Parameters};
use super::progress::Trigger;
use super::ticks::Ticks;

/// The client's connections with the box to one host.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    is_resolved: bool,
    connections: usize,
    busy: usize,
    /// Since when none is busy, if none is.
    rested: Ticks,
}

/// Those to all hosts.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    hosts: Vec<Heard>,
    /// Objects that the client waits for.
    awaited: Vec<bool>,
}

impl Hosts {
    pub(crate) fn reset(&mut self) {
        self.hosts.clear();
        self.awaited.clear();
    }

    /// The client asks for an object at `host`: how long that takes to the box. What `is_there` already keeps no connection busy.
    fn ask(&mut self, clock: Ticks, (object, host): (usize, usize), is_there: bool, parameters: &Parameters) -> Ticks {
        let Some(Hearing { request, connection, name }) = parameters.delays.hearing else { return Ticks::ZERO };
        self.hosts.resize(self.hosts.len().max(host + 1), Heard::default());
        self.awaited.resize(self.awaited.len().max(object + 1), false);
        let heard = &mut self.hosts[host];
        if parameters.persistence.is_some_and(|most| heard.busy == 0 && heard.rested + Ticks::of(most) <= clock) {
            heard.connections = 0;
        }
        let most = if parameters.http == Http::Http11Pipelined { 1 } else { parameters.connections.max(1) };
        let is_free = heard.busy < heard.connections || heard.connections >= most;
        let mut way = Ticks::of(request);
        heard.rested = clock;
        if !is_free {
            way += Ticks::of(connection);
            heard.connections += 1;
        }
        if !core::mem::replace(&mut heard.is_resolved, true) {
            way += Ticks::of(name);
        }
        if !is_there {
            heard.busy += usize::from(parameters.http != Http::Http11Pipelined);
            self.awaited[object] = true;
        }
        way
    }

    /// All of an object has come.
    fn end(&mut self, clock: Ticks, (object, host): (usize, usize), http: Http) {
        if !self.awaited.get_mut(object).is_some_and(core::mem::take) {
            return;
        }
        let heard = &mut self.hosts[host];
        (heard.busy, heard.rested) = (heard.busy.saturating_sub(1), clock);
        if http == Http::Http10 {
            heard.connections = heard.connections.saturating_sub(1);
        }
    }
}

impl Load<'_> {
    /// The client asks for what comes anyway, and for the document.
    pub(crate) fn ask_in_passing(&mut self, object: usize) {
        _ = self.way_to_box(object);
    }

    /// The client asks for something that a box near it does not bring by itself by then.
    pub(crate) fn ask_from_afar(&mut self, object: usize, trigger: Trigger) {
        let (way, host) = (self.way_to_box(object), self.workload.object(object).host);
        match trigger {
            Trigger::Named { by, ledger, delay } if way > Ticks::ZERO => {
                let due = self.now + way;
                let resolved = &mut self.buffers.resolved;
                resolved.resize(resolved.len().max(host + 1), None);
                // The client's connection tells the host's address.
                resolved[host] = Some(resolved[host].map_or(due, |at| at.min(due)));
                self.plan(due, Planned::Hear { object, trigger: Trigger::Named { by, ledger, delay: delay + way } });
            }
            _ => self.ask(object, trigger),
        }
    }

    /// All of an object has come to the client.
    pub(crate) fn ended_at_box(&mut self, object: usize) {
        let clock = self.clock();
        if self.parameters.delays.hearing.is_some() {
            self.buffers.hosts.end(clock, (object, self.workload.object(object).host), self.parameters.http);
        }
    }

    fn way_to_box(&mut self, object: usize) -> Ticks {
        let (host, is_there) = (self.workload.object(object).host, self.buffers.browser.objects[object].end.is_some());
        let clock = self.clock();
        self.buffers.hosts.ask(clock, (object, host), is_there, self.parameters)
    }
}
