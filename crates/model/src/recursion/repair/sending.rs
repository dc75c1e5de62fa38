//! What a sender that repairs sends next: what is lost before what is new, paced if the controller asks for it.

use super::{Phase, Repair};
use crate::recursion::batch::Batch;
use crate::recursion::connection::Packet;
use crate::recursion::deadline::Deadline;
use crate::recursion::probe::Probe;
use crate::recursion::receiver::{Arrival, Receiver};
use crate::recursion::sender::{Hold, Piece, Sender};
use crate::recursion::ticks::Ticks;
use farhop_units::{Bytes, Rate};

/// The first segment that another has to wait for (tp->data_segs_out counts the one that leaves).
const FIRST_PACED: u64 = 10;

/// Spreads segments over time (tcp_update_skb_after_send()).
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacer {
    /// When the next segment may leave, and when one that wants to will.
    free: Ticks,
    pub(super) due: Ticks,
    /// Of the time for which nothing left before this batch, what it was not given yet.
    credit: Ticks,
    sent: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { free: Ticks::ZERO, due: Ticks::NEVER, credit: Ticks::ZERO, sent: 0 }
    }
}

impl Pacer {
    /// How many segments may leave before the pace begins.
    fn unpaced(&self) -> u64 {
        FIRST_PACED.saturating_sub(self.sent)
    }

    /// How long the next segment has to wait.
    pub(super) fn held_back(&self, now: Ticks) -> Ticks {
        self.free.since(now)
    }

    /// A batch is about to leave, or an acknowledgement without data, which costs nothing but ends what was idle time before.
    fn begin(&mut self, now: Ticks) {
        self.credit = now.since(self.free);
        self.free = self.free.max(now);
    }

    /// A segment leaves of a batch of which `left` more follow; time that was lost before it counts, but for at most half of the batch. QUIC's
    /// bursts are bounded otherwise.
    fn send(&mut self, payload: u64, left: u64, rate: Rate, has_bursts: bool) {
        self.sent += 1;
        if has_bursts || self.sent + left >= FIRST_PACED {
            let span = Ticks::of(rate.transmission_time(Bytes::new(payload)));
            let given = if has_bursts { Ticks::ZERO } else { self.credit.min(span.per(2)) };
            self.credit = self.credit.since(given);
            self.free += span.since(given);
        }
    }
}

impl Repair {
    /// The next segment that may leave now; to be asked until there is none.
    pub(crate) fn transmit(&mut self, sender: &mut Sender, now: Ticks) -> Option<Piece> {
        sender.network = Some(self.in_network());
        sender.note_packets(self.board.packets());
        (sender.is_calm, sender.oldest) = (self.phase == Phase::Open, self.board.first_sent());
        sender.departs = self.pacer.free;
        (sender.pacing, sender.unpaced) =
            (self.pacing_rate().map(|rate| rate.bits_per_second() / 8), self.pacer.unpaced());
        let goes_on = self.repeat_now || sender.batch.is_leaving();
        let paced = self.paced(sender);
        let waits = self.bbr.is_some() && paced > now && !goes_on;
        let mut continues = sender.batch.is_leaving();
        let mut piece = if waits { None } else { self.next_piece(sender, now) };
        if piece.is_none() {
            (sender.batch, continues) = (Batch::default(), false);
            let resumes = sender.resumes();
            if resumes {
                self.note_starvation(sender, sender.accepted - sender.next);
            }
            if resumes && !waits {
                piece = self.next_piece(sender, now);
            }
        }
        self.pacer.due = if waits && self.wants_to_send(sender) { paced } else { Ticks::NEVER };
        match &piece {
            Some(piece) => {
                self.pace(sender, now, piece, continues);
                self.note_sent(sender, now, piece);
            }
            None => self.settle(sender, now),
        }
        piece
    }

    /// When the next segment may leave, which may be ahead of the pace by a burst (RFC 9002 §7.7).
    fn paced(&self, sender: &Sender) -> Ticks {
        let (Some(rate), Some(burst)) = (self.pacing_rate(), sender.window.burst()) else { return self.pacer.free };
        self.pacer.free.since(Ticks::of(rate.transmission_time(Bytes::new(burst))))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.bbr.as_ref().and_then(|bbr| bbr.pacing_rate())
    }

    fn next_piece(&mut self, sender: &mut Sender, now: Ticks) -> Option<Piece> {
        if self.new_first {
            let piece = self.transmit_new(sender, now);
            if piece.is_some() || sender.next > self.recover {
                return piece;
            }
            self.new_first = false;
            self.needless.begin_frto(false);
        }
        let Some(lost) = self.board.next_lost() else { return self.transmit_new(sender, now) };
        if !self.repeat_now && !sender.fits(lost.end - lost.start) {
            sender.hold = Hold::Congestion;
            return None;
        }
        self.repeat(sender, now)
    }

    fn repeat(&mut self, sender: &mut Sender, now: Ticks) -> Option<Piece> {
        let is_last = self.note_repeated_batch(sender);
        let segment = self.board.repeat(now, is_last)?;
        self.needless.note_repetition(now, self.phase != Phase::Open);
        if segment.start == sender.acknowledged {
            // The timer is that of the first segment.
            sender.timer = Deadline::NEVER;
        }
        let (start, payload, push) = (segment.start, segment.end - segment.start, segment.push);
        Some(Piece { start, payload, push, again: true, hold: Hold::Repair })
    }

    fn transmit_new(&mut self, sender: &mut Sender, now: Ticks) -> Option<Piece> {
        let (timer, was_idle) = (sender.timer, self.board.is_empty());
        let begins = !sender.batch.is_leaving();
        sender.probing = self.repeat_now;
        let piece = sender.next_new(now, self.bbr.is_none());
        sender.probing = false;
        sender.timer = timer;
        let piece = piece?;
        if begins {
            self.board.end_packet();
        }
        if let Some(bbr) = self.bbr.as_mut().filter(|_| was_idle) {
            bbr.on_restart(now, self.board.rate.is_starved());
        }
        self.board.push(now, (piece.start, piece.start + piece.payload), piece.push);
        Some(piece)
    }

    /// What selective acknowledgements add to a packet of TCP that leaves now.
    pub(crate) fn option_bytes(&mut self) -> u64 {
        if self.habits.sack && !self.habits.grants_quarters { self.incoming.option_bytes() } else { 0 }
    }

    /// An acknowledgement leaves that no data carries.
    pub(crate) fn note_bare_acknowledgment(&mut self, now: Ticks) {
        self.pacer.begin(now);
    }

    /// What was lost of one packet of the host's leaves again as a batch, as far as the window allows (tcp_xmit_retransmit_queue()); what a timeout
    /// or a probe repeats is one segment. Whether the next segment is the last of one.
    fn note_repeated_batch(&mut self, sender: &mut Sender) -> bool {
        if !self.habits.batches || self.bbr.is_none() {
            return false;
        }
        let room = sender.window.size.saturating_sub(self.in_network()) / self.mss;
        let most = if self.repeat_now { 1 } else { room.min(sender.batch_again()).max(1) };
        _ = sender.batch.send(1, || self.board.lost_of_packet(most));
        !sender.batch.is_leaving()
    }

    /// A segment leaves that begins a batch, or `continues` one.
    fn pace(&mut self, sender: &Sender, now: Ticks, piece: &Piece, continues: bool) {
        let Some(rate) = self.pacing_rate() else { return };
        if !continues {
            self.pacer.begin(now);
        }
        self.pacer.send(piece.payload, sender.batch.left(), rate, sender.window.burst().is_some());
    }

    fn note_sent(&mut self, sender: &mut Sender, now: Ticks, piece: &Piece) {
        let forced = core::mem::take(&mut self.repeat_now);
        (sender.unsettled, sender.departs) = (true, self.pacer.free);
        sender.note_data(now);
        sender.network = Some(self.in_network());
        let charge = self.board.charge(piece.payload);
        if let Some(reduction) = &mut self.reduction {
            reduction.note_sent(charge);
        }
        // A probe restarts it, and what a timeout repeats has the pace's time, too (tcp_retransmit_timer()).
        if forced && matches!(sender.probe, Some(Probe::Sent { .. })) {
            sender.timer = sender.retransmission(now);
        } else if !sender.timer.is_set() {
            sender.timer = if forced { Deadline::new(now, sender.timeout()) } else { sender.retransmission(now) };
        }
    }

    fn wants_to_send(&mut self, sender: &mut Sender) -> bool {
        match self.board.next_lost() {
            Some(lost) => sender.fits(lost.end - lost.start),
            None => sender.has_fitting(),
        }
    }

    fn settle(&mut self, sender: &mut Sender, now: Ticks) {
        if core::mem::take(&mut sender.unsettled) {
            self.schedule_probe(sender, now, true);
            if self.bbr.is_none() {
                sender.network = Some(self.in_network());
                sender.note_usage(now, self.phase == Phase::Open);
            }
        }
    }

    /// The application writes: so far there may have been too little to send (tcp_rate_check_app_limited()).
    pub(crate) fn note_starvation(&mut self, sender: &Sender, unsent: u64) {
        let has_room = self.in_network() < sender.window.size;
        if unsent < self.mss && has_room && self.board.lost() == 0 {
            let in_flight = if self.counts_arrivals() { self.in_network() } else { self.board.in_flight() };
            self.board.rate.starve(in_flight);
        }
    }

    /// A segment with data arrived. Returns how many bytes are newly in order.
    pub(crate) fn receive(
        &mut self,
        (receiver, sender): (&mut Receiver, &Sender),
        (now, reads): (Ticks, Ticks),
        packet: &Packet,
    ) -> u64 {
        let Packet { start, push, fin, sent, order, .. } = *packet;
        let payload = packet.payload();
        let brought = self.incoming.take_in((start, start + payload), order, receiver.arrived());
        if brought.at_once {
            receiver.due = now;
        }
        if brought.bytes > 0 {
            let arrival = Arrival { now, reads, payload: brought.bytes, push, fin, sent, echo: packet.ack.echo };
            receiver.data_arrived(arrival, &sender.rtt, sender.timeout());
        }
        brought.bytes
    }

    /// The last transmission that has arrived.
    pub(crate) fn heard(&self) -> u32 {
        self.incoming.heard()
    }
}
