//! How much may leave now, by the windows and by what there is, and how much of it the application has put into the send buffer.

use super::Sender;
use crate::congestion::CongestionControl;
use crate::recovery::Phase;
use crate::send_buffer::{Filling, SendBuffer};
use farhop_units::{Bytes, Instant};

/// RFC 3042 §2: outside of recovery the first two duplicates let a new segment out each, two beyond the window at most.
const LIMITED_TRANSMIT: u64 = 2;

impl Sender {
    /// The application fills the send buffer, unless it waits for room in it.
    pub(super) fn accept(&mut self) {
        if self.accepted == self.written {
            return;
        }
        let filling = self.filling();
        match &mut self.buffer {
            None => self.accepted = self.written,
            Some(buffer) if !buffer.takes_more() => {}
            Some(buffer) => self.accepted = self.accepted + buffer.fill(&filling),
        }
    }

    /// Whether the application is in a call that sends what it writes.
    pub(crate) fn is_written(&self) -> bool {
        self.buffer.is_some_and(|buffer| buffer.is_written())
    }

    /// Everything was sent that may be: the application brings nothing until [`Sender::go_on`]. Returns whether its call goes on then.
    pub(crate) fn pause(&mut self) -> bool {
        self.buffer.as_mut().is_some_and(SendBuffer::pause)
    }

    /// The kernel has heard what has arrived meanwhile.
    pub(crate) fn go_on(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.go_on();
        }
    }

    /// An acknowledgement may have freed some of the send buffer.
    pub(crate) fn note_freed(&mut self) {
        if self.buffer.is_none_or(|buffer| !buffer.lacks_room()) {
            return;
        }
        let (window, batch) = (self.congestion.window(), self.batch_circumstances().most(u64::MAX));
        let (room, batch) = (window.saturating_sub(self.in_network()), self.mss * batch);
        if let Some(buffer) = &mut self.buffer {
            buffer.acknowledge();
            buffer.note_room(room, batch, window, self.mss);
        }
    }

    /// Whether an application goes on at once that has waited for room in the send buffer, now that everything was sent that may be.
    pub(super) fn makes_room(&mut self) -> bool {
        if self.buffer.is_none_or(|buffer| !buffer.is_asked()) {
            return false;
        }
        let filling = self.filling();
        let unfilled = self.fits(self.mss).then(|| self.congestion.window());
        if !self.buffer.as_mut().is_some_and(|buffer| buffer.makes_room(unfilled, &filling)) {
            return false;
        }
        if !self.tells_program_of_room() {
            self.note_starvation(filling.unsent);
            return true;
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.wake();
        }
        false
    }

    /// When the program runs that has waited for room, if there is some and that is known.
    pub(super) fn uses_room(&self) -> Option<Instant> {
        if self.wakes_writer() { self.program_uses_room() } else { None }
    }

    /// Whether there is room for a program that has not run since.
    pub(crate) fn wakes_writer(&self) -> bool {
        self.buffer.is_some_and(|buffer| buffer.wakes())
    }

    /// It does.
    pub(super) fn use_room(&mut self) {
        self.note_starvation(self.accepted - self.next);
        if let Some(buffer) = &mut self.buffer {
            buffer.go_on_writing();
        }
    }

    pub(super) fn filling(&self) -> Filling {
        let batch = self.batch_circumstances().most(u64::MAX);
        let room = self.congestion.window().saturating_sub(self.in_network()).min(self.window_edge - self.next);
        // Who paces sends a batch at a time, but for the first.
        let room = match self.congestion.pacing_rate() {
            Some(_) => room.min(self.mss * self.pacer.unpaced(batch)),
            None => room,
        };
        Filling {
            mss: self.mss,
            in_flight: self.next - self.unacknowledged,
            unsent: self.accepted - self.next,
            sent: self.scoreboard.packets(),
            waiting: self.written - self.accepted,
            room,
            batch,
            largest_window: self.largest_window,
        }
    }

    /// How much of what was never sent the receiver takes in one segment now.
    pub(crate) fn takes(&self) -> Option<Bytes> {
        let wanted = (self.accepted - self.next).min(self.mss);
        let allowed = wanted.min(self.window_edge - self.next);
        // RFC 9293 §3.8.6.2.1: a full segment, all there is, or half the largest window; the timer of a closed window overrides.
        let worthwhile = allowed == wanted || allowed * 2 >= self.largest_window || self.repeat_now;
        (allowed > Bytes::ZERO && worthwhile).then_some(allowed)
    }

    /// How much of what was never sent may go now, in any number of segments.
    pub(crate) fn takes_in_all(&self) -> Bytes {
        let room = self.congestion.window().saturating_sub(self.in_network());
        (self.accepted - self.next).min(self.window_edge - self.next).min(room)
    }

    /// How much of what was never sent may go in one segment now.
    pub(crate) fn next_new_size(&self) -> Option<Bytes> {
        self.takes().filter(|allowed| self.fits(*allowed))
    }

    /// Whether there is new data that the receiver takes.
    pub(crate) fn has_new_data(&self) -> bool {
        self.takes().is_some()
    }

    /// Whether something would be sent if it were time.
    pub(crate) fn wants_to_send(&mut self) -> bool {
        match self.scoreboard.next_lost() {
            Some(payload) => self.fits(payload),
            None => {
                self.accept();
                self.next_new_size().is_some() || (self.closing && self.next == self.written)
            }
        }
    }

    /// Bytes in the network, duplicate acknowledgements taken into account.
    pub(crate) fn in_network(&self) -> Bytes {
        let left = if self.behavior.emulates_sack || self.phase == Phase::Recovery {
            self.duplicates
        } else if self.behavior.limited_transmit {
            self.duplicates.min(LIMITED_TRANSMIT)
        } else {
            0
        };
        self.scoreboard.in_flight().saturating_sub(self.mss * left)
    }

    pub(super) fn fits(&self, payload: Bytes) -> bool {
        let in_network = self.in_network();
        let charge = self.scoreboard.charge(payload);
        self.repeat_now || in_network == Bytes::ZERO || in_network + charge <= self.congestion.window()
    }
}
