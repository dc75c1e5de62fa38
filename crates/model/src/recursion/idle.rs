//! Idling: who asks closes a connection that has carried nothing for as long as connections may be idle (RFC 9112 §9.3).
//!
//! It is closed when the next request might have gone over it, and its FIN, which would have left before, costs nothing. A connection is idle once
//! it is up or the last response on it has ended. Left out: the same of what a box that prefetches at the gateway has to servers beyond the client's
//! own, and of farhop's gateway, which keeps its connections for a time of its own.

use super::load::Load;
use super::ticks::Ticks;

impl Load<'_> {
    /// Closes what has been idle for too long.
    pub(crate) fn close_idle(&mut self) {
        let Some(persistence) = self.parameters.persistence.map(Ticks::of) else { return };
        if self.parameters.reads_requests() {
            // What two boxes have between them stays.
            return;
        }
        let (clock, calls) = (self.clock(), &self.buffers.calls);
        let mut closed = Vec::new();
        self.buffers.browser.pool.retain(|pooled| {
            let is_idle = pooled.ready && pooled.outstanding == 0;
            let is_over = is_idle && calls[pooled.place].rested + persistence <= clock;
            closed.extend(is_over.then_some(pooled.place));
            !is_over
        });
        closed.into_iter().for_each(|place| self.forget_client(place));
    }

    /// A connection is idle from now on unless something is asked for.
    pub(crate) fn rest(&mut self, call: usize) {
        let clock = self.clock();
        if let Some(call) = self.buffers.calls.get_mut(call) {
            call.rested = clock;
        }
    }
}
