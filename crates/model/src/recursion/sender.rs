//! The sending half: what may be sent now, and what holds it back.
//!
//! RFC 9293 §3.8.6 (windows, silly-window avoidance), RFC 5681 §4.1 (slow start after idle), RFC 2861 as Linux has it
//! (tcp_cwnd_validate(), tcp_cwnd_restart()); its send buffer is in [`super::send_buffer`], its batches are in [`super::batch`], its probes in
//! [`super::probe`]. That the timer for retransmissions has run out is only noted here, and repaired by
//! [`super::repair`].

use super::batch::Batch;
use super::deadline::Deadline;
use super::fifo::Fifo;
use super::habits::{Habits, RoundTripTime};
use super::probe::Probe;
use super::receiver::Ack;
use super::send_buffer::SendBuffer;
use super::short::Short;
use super::ticks::{Pace, Ticks};
use super::usage::Usage;
use super::window::{Acked, Window};

/// What keeps a sender with data from sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hold {
    /// Nothing did, or there was no data.
    #[default]
    Nothing,
    /// The congestion window.
    Congestion,
    /// What the receiver offers, or the sender's buffer holds.
    Offer,
    /// It was sent before, and lost.
    Repair,
}

/// A segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) payload: u64,
    pub(crate) push: bool,
    /// It was sent before.
    pub(crate) again: bool,
    /// What it had waited for.
    pub(crate) hold: Hold,
}

impl Piece {
    /// None of the stream.
    pub(crate) const NOTHING: Self = Self { start: 0, payload: 0, push: false, again: false, hold: Hold::Nothing };
}

/// One direction's sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(super) habits: Habits,
    pub(super) mss: u64,
    initial: u64,
    pub(crate) window: Window,
    pub(crate) rtt: RoundTripTime,
    pub(crate) acknowledged: u64,
    pub(crate) next: u64,
    pub(crate) written: u64,
    /// What the send buffer has taken; without one, all.
    pub(super) accepted: u64,
    /// What has been handed on of what is written, where a buffer before this one keeps the rest.
    handed: Option<u64>,
    pub(super) buffer: Option<SendBuffer>,
    /// A program writes that takes a time to run.
    pub(super) has_program: bool,
    /// There is room in it that its program has not been told of; when a program runs that was.
    pub(super) finds_room: bool,
    pub(super) room_due: Ticks,
    short: Short,
    /// Last byte that the receiver has room for, and the most it ever offered.
    edge: u64,
    pub(super) largest: u64,
    pub(crate) hold: Hold,
    usage: Usage,
    /// When idle time began.
    pub(super) last_data: Ticks,
    /// Time that was skipped since.
    skipped: Ticks,
    /// When what follows it may leave, where it is paced.
    pub(super) departs: Ticks,
    pub(super) batch: Batch,
    /// New data waits for company, and no loss is known.
    is_deferred: bool,
    pub(super) is_calm: bool,
    /// Bytes per second at which a controller spreads segments.
    pub(super) pacing: Option<u64>,
    /// How many segments leave before the pace begins.
    pub(super) unpaced: u64,
    /// Where what left at each time ends, of what is not acknowledged; where batches are sent.
    departures: Fifo<(u64, Ticks)>,
    /// When the first of these was sent, where a repair knows.
    pub(super) oldest: Option<Ticks>,
    pub(super) unsettled: bool,
    /// When pacing allows the next segment but for what may leave ahead of it, and how long that takes.
    paced: Ticks,
    ahead: Ticks,
    /// Bytes in the network as the congestion window counts them, where that is not all that is not acknowledged.
    pub(super) network: Option<u64>,
    /// Payload at this pace, where one is set.
    set_rate: Option<Pace>,
    /// Payload of the last segment.
    pub(super) last_payload: u64,
    /// When the retransmission timer would run out.
    pub(super) timer: Deadline,
    pub(super) probe: Option<Probe>,
    /// When one is due though another was sent whose answer is outstanding.
    pub(super) next_probe: Option<[Deadline; 2]>,
    /// The next segment goes out whatever the congestion window says.
    pub(super) probing: bool,
    /// The segment that a probe has sent again.
    pub(super) repeated: Option<(u64, u64)>,
    /// An acknowledgement came after the timer for retransmission would have run out.
    pub(crate) is_late: bool,
}

impl Sender {
    pub(crate) fn new(habits: Habits, mss: u64, window: Window) -> Self {
        Self {
            has_program: false,
            finds_room: false,
            room_due: Ticks::NEVER,
            buffer: habits.counts_segments.then(|| SendBuffer::new(window.size, mss, window.is_fixed())),
            short: Short::default(),
            habits,
            mss,
            initial: window.size,
            window,
            rtt: RoundTripTime::default(),
            acknowledged: 0,
            next: 0,
            written: 0,
            accepted: 0,
            handed: None,
            edge: 0,
            largest: 0,
            hold: Hold::Nothing,
            usage: Usage::default(),
            last_data: Ticks::ZERO,
            skipped: Ticks::ZERO,
            departs: Ticks::ZERO,
            batch: Batch::default(),
            is_deferred: false,
            is_calm: true,
            pacing: None,
            unpaced: 0,
            departures: Fifo::default(),
            oldest: None,
            unsettled: false,
            paced: Ticks::ZERO,
            ahead: Ticks::ZERO,
            network: None,
            set_rate: None,
            last_payload: 0,
            timer: Deadline::NEVER,
            probe: None,
            next_probe: None,
            probing: false,
            repeated: None,
            is_late: false,
        }
    }

    pub(crate) fn timeout(&self) -> Ticks {
        self.rtt.timeout(&self.habits)
    }

    /// When the timer for retransmissions runs out if it is set now.
    pub(super) fn retransmission(&self, now: Ticks) -> Deadline {
        self.deadline(now, self.timeout())
    }

    /// When a timer runs out that is set now, from when the pace lets the next segment leave on (tcp_reset_xmit_timer()).
    pub(super) fn deadline(&self, now: Ticks, span: Ticks) -> Deadline {
        let held_back = if self.window.burst().is_some() { Ticks::ZERO } else { self.departs.since(now) };
        Deadline::new(now, span + self.habits.held_back(held_back))
    }

    /// How long the host takes to answer what has arrived, if it has something to send.
    pub(crate) fn reaction(&self) -> Ticks {
        if self.written > self.next { self.habits.reaction } else { Ticks::ZERO }
    }

    /// All that is written has been sent, and what follows from that has been done.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.next == self.written && !self.unsettled
    }

    /// Who has nothing to send has had nothing for so much longer.
    pub(crate) fn rest(&mut self, span: Ticks) {
        if self.is_at_rest() {
            self.skipped += span;
        }
    }

    /// Data leaves now.
    pub(super) fn note_data(&mut self, now: Ticks) {
        if !self.habits.idle_unheard {
            (self.last_data, self.skipped) = (now, Ticks::ZERO);
        }
    }

    /// Something arrives now.
    pub(crate) fn note_heard(&mut self, now: Ticks) {
        if self.habits.idle_unheard {
            (self.last_data, self.skipped) = (now, Ticks::ZERO);
        }
    }

    /// How long no data has left, or nothing was heard.
    fn idle(&self, now: Ticks) -> Ticks {
        now.since(self.last_data) + self.skipped
    }

    /// No timer for retransmissions is set for less.
    pub(crate) fn least_timeout(&self) -> Ticks {
        self.habits.rto_min.min(self.habits.rto_max)
    }

    /// The timer for retransmissions does not run out before this.
    pub(crate) fn timer_ends(&self) -> Ticks {
        self.timer.earliest()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.next - self.acknowledged
    }

    /// Bytes that wait.
    pub(crate) fn unsent(&self) -> u64 {
        self.written - self.next
    }

    /// Bytes that wait or are on the way.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.written - self.acknowledged
    }

    /// The round-trip time of a SYN, which ends `now`.
    pub(crate) fn handshake_sample(&mut self, now: Ticks, rtt: Ticks) {
        self.is_late |= self.retransmission(now.since(rtt)).has_passed(now, &self.habits);
        self.rtt.sample(rtt, &self.habits, 0, 0);
    }

    /// The round-trip time is known from before.
    pub(crate) fn start_from(&mut self, rtt: Ticks) {
        self.rtt.sample(rtt, &self.habits, 0, 0);
    }

    /// The receiver takes everything before `up_to` + `offer`. Returns whether that is news.
    pub(crate) fn update_offer(&mut self, up_to: u64, offer: u64) -> bool {
        self.largest = self.largest.max(offer);
        let before = self.edge;
        self.edge = before.max(up_to.saturating_add(offer));
        self.edge > before
    }

    /// An acknowledgement arrived.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Ticks, ack: &Ack) {
        if ack.up_to > self.acknowledged {
            self.is_late |= self.timer.has_passed(now, &self.habits);
            self.advance(now, ack);
            self.restart_timers(now);
        } else {
            self.update_offer(ack.up_to, ack.offer);
            self.judge_probe(ack.up_to, true);
        }
    }

    /// It acknowledges more than was acknowledged before; [`Self::restart_timers`] is to follow.
    pub(crate) fn advance(&mut self, now: Ticks, ack: &Ack) {
        self.update_offer(ack.up_to, ack.offer);
        let bytes = ack.up_to - self.acknowledged;
        while self.departures.front().is_some_and(|(end, _)| *end <= ack.up_to) {
            self.departures.pass(1);
        }
        let counted = bytes + self.short.leave(ack.up_to);
        self.acknowledged = ack.up_to;
        if self.is_clear(ack.up_to - bytes) {
            self.rtt.sample(now.since(ack.first_sent), &self.habits, self.acknowledged, self.next);
            self.rtt.note_least(now.since(ack.last_sent));
        }
        self.grow(now, ack, counted);
        self.note_freed(self.in_flight() + bytes);
    }

    /// The last of some acknowledgements has arrived, no later than a timer runs out after the one before it.
    pub(crate) fn restart_timers(&mut self, now: Ticks) {
        self.timer = if self.in_flight() > 0 { self.retransmission(now) } else { Deadline::NEVER };
        self.judge_probe(self.acknowledged, false);
        self.schedule_probe(now, false);
    }

    /// What is on the way as the congestion window counts it.
    pub(super) fn counted(&self) -> u64 {
        self.network.unwrap_or_else(|| self.in_flight() + self.short.lack())
    }

    fn note_short(&mut self, payload: u64) {
        if self.habits.counts_segments && payload < self.mss {
            self.short.note(self.next, self.mss - payload, self.acknowledged);
        }
    }

    /// Karn's rule (RFC 6298 §3): no time is taken of a segment that was sent twice.
    fn is_clear(&self, from: u64) -> bool {
        self.repeated.is_none_or(|(start, end)| !(start..end).contains(&from))
    }

    #[inline(always)]
    fn grow(&mut self, now: Ticks, ack: &Ack, bytes: u64) {
        let rtt = now.since(ack.last_sent);
        let smoothed = self.rtt.smoothed().unwrap_or(rtt);
        let acked = Acked { now, bytes, rtt: Some(rtt), smoothed, up_to: ack.up_to, next: self.next };
        self.window.on_round_trip(&acked);
        self.note_growth(&acked);
    }

    /// The window grows if it was used.
    #[inline(always)]
    pub(super) fn note_growth(&mut self, acked: &Acked) {
        self.usage.progress(acked.now);
        if self.habits.validates && !self.usage.is_limited(&self.window) {
            self.window.on_unused_ack(acked);
        } else {
            self.window.on_ack(acked);
        }
    }

    /// The next segment that may leave now; to be asked until there is none.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Ticks) -> Option<Piece> {
        if self.is_at_rest() {
            self.hold = Hold::Nothing;
            return None;
        }
        let mut piece = self.next_new(now, true);
        if piece.is_none() {
            self.batch = Batch::default();
            if self.resumes() {
                piece = self.next_new(now, true);
            }
        }
        if piece.is_none() {
            self.pushes();
            self.settle(now);
        }
        piece
    }

    /// The next segment that was never sent; `restarts`: slowly after idling.
    pub(super) fn next_new(&mut self, now: Ticks, restarts: bool) -> Option<Piece> {
        if restarts && self.in_flight() == 0 && self.next > 0 && self.next < self.written {
            self.restart_after_idle(now);
        }
        self.accept();
        let waiting = self.accepted - self.next;
        if waiting == 0 {
            self.hold = if self.written > self.next { Hold::Offer } else { Hold::Nothing };
            return None;
        }
        let payload = self.fitting(waiting, now)?;
        if self.habits.batches && self.defers(now, waiting) {
            (self.is_deferred, self.hold) = (true, Hold::Congestion);
            return None;
        }
        let push = self.habits.batches && self.leaves_in_batch(waiting, 1).1;
        let start = self.next;
        if self.in_flight() == 0 {
            self.window.pause(now, now.since(self.last_data));
        }
        self.unsettled = true;
        self.note_data(now);
        self.next += payload;
        self.note_short(payload);
        self.last_payload = payload;
        self.probing = false;
        if !self.timer.is_set() {
            self.timer = self.retransmission(now);
        }
        self.note_departure(now);
        Some(Piece { start, payload, push: push || payload == waiting, again: false, hold: self.hold })
    }

    /// How many full segments may leave now that nothing is to be decided about one by one, of at most so many bytes: not the first after
    /// all was acknowledged, nor the last.
    pub(super) fn alike(&mut self, most: u64) -> u64 {
        if self.set_rate.is_some() || self.window.is_spread() || self.probing || self.in_flight() == 0 {
            return 0;
        }
        self.accept();
        let room = self.window.size.saturating_sub(self.counted()).min(self.room_offered());
        let bytes = (self.accepted - self.next).saturating_sub(1).min(room).min(most);
        if bytes < self.mss { 0 } else { bytes / self.mss }
    }

    /// Up to `most` of these leave: how many do for certain, and every which of them is pushed; none if they may have to wait. That all
    /// have left is noted by [`Self::note_departure`].
    pub(super) fn leave(&mut self, now: Ticks, most: u64) -> (u64, u64) {
        let (count, every) = if self.habits.batches { self.leave_in_batches(now, most) } else { (most, u64::MAX) };
        if count > 0 {
            self.next += count * self.mss;
            (self.unsettled, self.last_payload) = (true, self.mss);
            self.note_data(now);
        }
        (count, every)
    }

    /// The window has room for them, and more wait: batches are of one size until one is cut short, unless some wait for company.
    fn leave_in_batches(&mut self, now: Ticks, most: u64) -> (u64, u64) {
        let waiting = self.accepted - self.next;
        if !self.batch.is_leaving() {
            if !self.may_defer(now) {
                let size = self.usual_batch();
                if size <= most {
                    let batches = most / size;
                    if let Some(buffer) = &mut self.buffer {
                        buffer.note_batches(batches);
                    }
                    return self.batch.send_whole(batches, size);
                }
            } else if self.defers(now, waiting) {
                return (0, u64::MAX);
            }
        }
        let (count, push) = self.leaves_in_batch(waiting, most);
        (count, if push { count } else { u64::MAX })
    }

    /// Up to `most` segments of `waiting` bytes leave: how many do in one batch, and whether the last of them is the last of one of several.
    fn leaves_in_batch(&mut self, waiting: u64, most: u64) -> (u64, bool) {
        let mut batch = self.batch;
        let begins = !batch.is_leaving();
        let left = batch.send(most, || {
            let room = self.window.size.saturating_sub(self.counted());
            self.batch_of(room, waiting)
        });
        self.batch = batch;
        if let Some(buffer) = self.buffer.as_mut().filter(|_| begins) {
            buffer.note_batches(1);
        }
        left
    }

    pub(super) fn note_departure(&mut self, now: Ticks) {
        if !self.habits.batches || self.network.is_some() {
            return;
        }
        match self.departures.back_mut() {
            Some((end, at)) if *at == now => *end = self.next,
            _ => self.departures.push((self.next, now)),
        }
    }

    /// When the first segment was sent that is not acknowledged.
    pub(super) fn first_sent(&self) -> Option<Ticks> {
        self.oldest.or_else(|| self.departures.front().map(|(_, at)| *at))
    }

    /// How much of what waits may leave.
    fn fitting(&mut self, waiting: u64, now: Ticks) -> Option<u64> {
        let allowed = self.taken_of(waiting);
        if allowed == 0 {
            self.hold = Hold::Offer;
            return None;
        }
        if !self.fits(allowed) && !self.probing {
            self.hold = Hold::Congestion;
            return None;
        }
        if now + self.ahead < self.paced && !self.probing {
            self.hold = Hold::Congestion;
            return None;
        }
        if self.set_rate.is_some() || self.window.is_spread() {
            self.pace(now, allowed);
        }
        Some(allowed)
    }

    #[inline(never)]
    fn pace(&mut self, now: Ticks, bytes: u64) {
        let set = self.set_rate.map(|pace| (pace, 0));
        if let Some((pace, burst)) = set.or_else(|| self.window.pace(self.rtt.smoothed()?)) {
            (self.paced, self.ahead) = (self.paced.max(now) + pace.time(bytes), pace.time(burst));
        }
    }

    /// So many bytes have left that are not gone through: what follows leaves when they have.
    pub(crate) fn keep_pace(&mut self, now: Ticks, bytes: u64) {
        if self.set_rate.is_some() {
            self.pace(now, bytes);
        }
    }

    /// When pacing, and nothing else, lets the next segment go.
    pub(crate) fn paced_until(&self, now: Ticks) -> Option<Ticks> {
        let paced = self.paced.since(self.ahead);
        (paced > now && self.accepted > self.next && self.fits(self.mss) && self.edge > self.next).then_some(paced)
    }

    /// Bytes beyond what was sent that the receiver has room for.
    pub(super) fn room_offered(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// How much of what waits the receiver takes: a full segment, all there is, or half the largest offer (RFC 1122 §4.2.3.4).
    fn taken_of(&self, waiting: u64) -> u64 {
        let wanted = waiting.min(self.mss);
        let allowed = wanted.min(self.room_offered());
        let is_silly = allowed < wanted && allowed.saturating_mul(2) < self.largest && !self.habits.grants_quarters;
        if is_silly { 0 } else { allowed }
    }

    /// The same of what the send buffer holds now.
    pub(super) fn takes(&self) -> u64 {
        self.taken_of(self.accepted - self.next)
    }

    /// Whether something new would be sent if it were time.
    pub(super) fn has_fitting(&mut self) -> bool {
        self.accept();
        let allowed = self.takes();
        allowed > 0 && self.fits(allowed)
    }

    pub(super) fn fits(&self, payload: u64) -> bool {
        let payload = if self.habits.counts_segments { self.mss } else { payload };
        let network = self.counted();
        network == 0 || network + payload <= self.window.size
    }

    /// RFC 5681 §4.1, or gently: halved per timeout.
    #[inline(never)]
    fn restart_after_idle(&mut self, now: Ticks) {
        let (idle, timeout) = (self.idle(now), self.timeout());
        if idle <= timeout {
            return;
        }
        let floor = self.initial.min(self.window.size);
        self.usage.progress(now);
        if self.habits.gentle_restart {
            let halvings = Ticks::whole(idle.since(Ticks::from_nanos(1)), timeout).min(63);
            self.window.decay(self.whole(self.window.size >> halvings).max(floor));
        } else {
            self.window.on_idle(floor, idle);
        }
    }

    /// After sending what could be sent: was the window used?
    fn settle(&mut self, now: Ticks) {
        if !core::mem::take(&mut self.unsettled) {
            return;
        }
        self.schedule_probe(now, true);
        self.note_usage(now, true);
    }

    /// A window that was not used may decay.
    pub(super) fn note_usage(&mut self, now: Ticks, may_decay: bool) {
        if !self.habits.validates {
            return;
        }
        let (limited, in_flight) = (core::mem::take(&mut self.is_deferred) || !self.fits(self.mss), self.counted());
        self.usage.update(limited, in_flight, self.acknowledged, self.next);
        let timeout = self.timeout();
        let decayed = self.usage.decayed(now, in_flight, &self.window, timeout, self.initial);
        if let Some(size) = decayed.filter(|_| may_decay && self.habits.decays) {
            self.window.decay(self.whole(size));
        }
    }

    /// The whole segments of a window, where it is segments that are counted.
    fn whole(&self, window: u64) -> u64 {
        if self.habits.counts_segments { window / self.mss * self.mss } else { window }
    }

    /// From now on what is written has to be handed on.
    pub(crate) fn wait_for_a_hand(&mut self) {
        self.handed = Some(0);
    }

    /// So much more may be sent of what is written.
    pub(crate) fn hand_on(&mut self, bytes: u64) {
        self.handed = self.handed.map(|handed| handed + bytes);
    }

    /// What may be sent of what is written.
    pub(super) fn at_hand(&self) -> u64 {
        self.handed.map_or(self.written, |handed| handed.min(self.written))
    }

    /// Neither the receiver's offer nor a buffer limits from now on, at most a rate that is set.
    pub(crate) fn keep_to(&mut self, rate: Option<Pace>) {
        (self.buffer, self.edge) = (None, u64::MAX);
        self.set_rate = rate;
    }

    /// Leaves out `bytes` that were to be sent later.
    pub(crate) fn leave_out(&mut self, bytes: u64) {
        self.written -= bytes;
        self.accepted = self.accepted.min(self.written);
    }

    /// What of the state decides what comes next without the congestion window's limiting.
    pub(crate) fn fingerprint(&self, now: Ticks) -> [u64; 4] {
        let [unsent, buffer] = self.supply();
        [self.in_flight(), unsent, buffer, now.since(self.last_data).raw()]
    }

    /// What that one has is not used any more.
    pub(crate) fn use_memory_of(&mut self, other: &mut Self) {
        self.departures = core::mem::take(&mut other.departures);
        self.departures.clear();
    }

    /// Bytes of what is written that nothing has touched yet.
    pub(crate) fn untouched(&self) -> u64 {
        let buffered = if self.accepted == self.written { self.next } else { self.accepted };
        self.written - buffered
    }
}
