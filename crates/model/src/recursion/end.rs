//! One side of a connection: it sends and receives, and has timers for both.

use super::connection::Packet;
use super::deadline::Deadline;
use super::habits::Habits;
use super::hello::Hello;
use super::program::Program;
use super::receiver::Ack;
use super::receiver::Arrival;
use super::receiver::Receiver;
use super::repair::Repair;
use super::sender::Piece;
use super::sender::Sender;
use super::ticks::Ticks;
use super::window::Window;
use farhop_scenario::TcpConfig;

/// Both halves of one side.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Where packets are dropped, or may be thought so.
    pub(crate) repair: Option<Box<Repair>>,
    pub(crate) hello: Hello,
    /// When the host gets to answer what has arrived.
    answering: Ticks,
    /// When pacing lets the next segment go.
    paced: Ticks,
    /// Nothing happens here by itself before this.
    pub(crate) earliest: Ticks,
}

impl End {
    pub(crate) fn new(config: &TcpConfig, habits: Habits, window: Window) -> Self {
        let (sender, receiver) = (Sender::new(habits, config.mss.get(), window), Receiver::new(config, &habits));
        let [answering, paced, earliest] = [Ticks::NEVER; 3];
        Self { sender, receiver, repair: None, hello: Hello::default(), answering, paced, earliest }
    }

    /// Another one, in the memory of this one.
    pub(crate) fn renew(&mut self, mut other: Self) {
        other.sender.use_memory_of(&mut self.sender);
        *self = other;
    }

    /// The same, but able to repair; `models`: by a model of the path.
    pub(crate) fn repairing(self, config: &TcpConfig, habits: Habits, models: bool) -> Self {
        let path = models.then_some(self.sender.window.size);
        let repair = Repair::new(habits, config.mss.get(), path);
        Self { repair: Some(Box::new(repair)), ..self }
    }

    /// Whether anything may leave now.
    pub(crate) fn may_send(&self, now: Ticks) -> bool {
        !self.sender.is_at_rest() || self.is_answering() || self.acks_at(now) || self.repair.is_some()
    }

    /// The next segment that may leave now; to be asked until there is none.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Ticks) -> Option<Piece> {
        match &mut self.repair {
            None => self.sender.transmit(now),
            Some(repair) => repair.transmit(&mut self.sender, now),
        }
    }

    /// There is more to send.
    pub(crate) fn write(&mut self, bytes: u64) {
        // Who waits for room in the send buffer calls the kernel again when there is some.
        if let Some(repair) = self.repair.as_mut().filter(|_| !self.sender.has_stopped()) {
            repair.note_starvation(&self.sender, self.sender.written - self.sender.next);
        }
        self.sender.written += bytes;
    }

    /// An acknowledgement and data arrived. Returns how many bytes are newly in order.
    #[inline(always)]
    pub(crate) fn take_in(&mut self, now: Ticks, program: &mut Program<'_>, packet: &Packet) -> u64 {
        self.sender.note_heard(now);
        self.receiver.note_timestamp(packet.start, packet.sent);
        self.receiver.hear(&packet.ack, packet.payload == 0);
        if let Some(repair) = &mut self.repair {
            repair.hear(&mut self.sender, now, packet);
            let ends = (&mut self.receiver, &self.sender);
            return if packet.payload > 0 { repair.receive(ends, (now, program.reads(now)), packet) } else { 0 };
        }
        self.sender.on_ack(now, &packet.ack);
        let payload = packet.payload();
        if payload > 0 {
            let Packet { push, fin, sent, ack: Ack { echo, .. }, .. } = *packet;
            let (reads, timeout) = (program.reads(now), self.sender.timeout());
            let arrival = Arrival { now, reads, payload, push, fin, sent, echo };
            self.receiver.data_arrived(arrival, &self.sender.rtt, timeout);
        }
        payload
    }

    /// One of several acknowledgements arrived where nothing is to be repaired, if it is of more than the one before. Timers are restarted
    /// after the last.
    #[inline(always)]
    pub(crate) fn hear_more(&mut self, now: Ticks, packet: &Packet) -> bool {
        let is_news = packet.ack.up_to > self.sender.acknowledged;
        if is_news {
            self.receiver.note_timestamp(packet.start, packet.sent);
            self.receiver.hear(&packet.ack, packet.payload == 0);
            self.sender.note_heard(now);
            self.sender.advance(now, &packet.ack);
        }
        is_news
    }

    /// An acknowledgement arrived where nothing is to be sent. Gives the timeout, when something may happen by itself, and whether anything
    /// is still on the way.
    #[inline(never)]
    pub(crate) fn hear(&mut self, now: Ticks, ack: &Ack) -> (Ticks, Ticks, bool) {
        self.sender.note_heard(now);
        self.sender.on_ack(now, ack);
        self.receiver.hear(ack, false);
        (self.sender.timeout(), self.deadlines(), self.sender.in_flight() > 0)
    }

    /// Data arrived, from `start` on, where nothing is to be repaired, and what it acknowledges is known.
    #[inline(always)]
    pub(crate) fn listen(&mut self, start: u64, arrival: Arrival, timeout: Ticks) {
        self.receiver.note_timestamp(start, arrival.sent);
        self.receiver.data_arrived(arrival, &self.sender.rtt, timeout);
    }

    /// Whether what has arrived is acknowledged then.
    pub(crate) fn acks_at(&self, now: Ticks) -> bool {
        self.receiver.due <= now
    }

    /// The other side has answered the handshake's packet that was sent at `echo`.
    pub(crate) fn heard_hello(&mut self, now: Ticks, echo: Ticks) {
        if let Some(repair) = &mut self.repair {
            repair.board.deliver_hello();
        }
        self.hello.heard(&mut self.sender, now, echo);
        if let Some(repair) = &mut self.repair {
            repair.open(&self.sender, now);
        }
    }

    /// Runs what timers run out now.
    pub(crate) fn run_timers(&mut self, now: Ticks) -> Expired {
        let mut expired = Expired { room: self.sender.room_due <= now, ..Expired::default() };
        if expired.room {
            if let Some(repair) = &mut self.repair {
                repair.note_starvation(&self.sender, self.sender.accepted - self.sender.next);
            }
            self.sender.use_room();
        }
        if let Some(repair) = &mut self.repair {
            expired.timeout = repair.run_timers(&mut self.sender, now);
            expired.effort = expired.timeout.map_or(0, |_| repair.board.effort());
        }
        if self.hello.runs_out(&mut self.sender, now) {
            (expired.hello, expired.timeout, expired.effort) = (true, Some(false), 1);
        }
        if self.acks_at(now) {
            let timeout = self.sender.timeout();
            self.receiver.delay_ran_out(timeout);
            expired.delay = true;
        }
        if self.repair.is_none() && self.sender.is_probe_due(now) {
            expired.probe = self.sender.send_probe(now);
        }
        expired
    }

    /// The acknowledgement that a packet carries which leaves now.
    pub(crate) fn acknowledge(&mut self, now: Ticks, with_data: bool) -> Ack {
        if let (Some(repair), false) = (&mut self.repair, with_data) {
            repair.note_bare_acknowledgment(now);
        }
        self.receiver.acknowledge(now, with_data)
    }

    /// When what has arrived is answered, together with what arrives until then, if not at once.
    pub(crate) fn answers_later(&self, now: Ticks) -> Option<Ticks> {
        let has_lost = self.repair.as_ref().is_some_and(|repair| repair.has_lost());
        let reaction = if has_lost { self.sender.habits.reaction } else { self.sender.reaction() };
        let is_later = reaction > Ticks::ZERO && !self.acks_at(now);
        is_later.then(|| self.answering.min(now + reaction))
    }

    /// What has arrived will be answered then.
    pub(crate) fn set_answering(&mut self, at: Ticks) {
        self.answering = at;
    }

    /// Whether what the program has written leaves later, when its host lets it run: `then`, if that is known.
    pub(crate) fn writes_later(&mut self, now: Ticks, then: Option<Ticks>) -> bool {
        let then = then.unwrap_or(now + self.sender.habits.waking);
        if then > now {
            self.answering = self.answering.min(then);
        }
        then > now
    }

    /// Something is to be answered.
    pub(crate) fn is_answering(&self) -> bool {
        self.answering < Ticks::NEVER
    }

    /// The host gets to it now.
    pub(crate) fn answers_at(&self, now: Ticks) -> bool {
        self.answering <= now
    }

    /// Something is, but later, and nothing else is due.
    pub(crate) fn is_still_reacting(&self, now: Ticks) -> bool {
        self.is_answering() && self.timer() > now
    }

    /// It is answered now.
    pub(crate) fn set_answered(&mut self) {
        self.answering = Ticks::NEVER;
    }

    /// When something happens here by itself.
    pub(crate) fn timer(&self) -> Ticks {
        let others = self.others();
        let habits = &self.sender.habits;
        if self.deadline(Deadline::earliest) < others {
            others.min(self.deadline(|each| each.due(habits)))
        } else {
            others
        }
    }

    /// None of the deadlines that are often put off comes before this.
    pub(crate) fn deadlines(&self) -> Ticks {
        self.deadline(Deadline::earliest)
    }

    /// When the first of the deadlines comes that are often put off, each at some `time`.
    fn deadline(&self, time: impl Fn(Deadline) -> Ticks) -> Ticks {
        let probe = self.sender.probe_time(&time);
        if self.repair.is_some() { time(self.sender.timer).min(probe) } else { probe }
    }

    /// Of what is known to the nanosecond the first.
    fn others(&self) -> Ticks {
        let repairs = self.repair.as_ref().map_or(Ticks::NEVER, |repair| repair.timer());
        let paced = self.paced.min(self.sender.room_due);
        self.receiver.due.min(self.answering).min(paced).min(self.hello.due).min(repairs)
    }

    /// All that could happen now has.
    #[inline(always)]
    pub(crate) fn settle_timer(&mut self, now: Ticks) {
        self.paced = self.sender.paced_until(now).unwrap_or(Ticks::NEVER);
        self.earliest = self.deadline(Deadline::earliest).min(self.others());
    }
}

/// What timers that ran out ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expired {
    /// The handshake's packet is to be sent again.
    pub(crate) hello: bool,
    /// Something is thought to be lost; whether it is.
    pub(crate) timeout: Option<bool>,
    /// How much there was to go through.
    pub(crate) effort: u64,
    /// An acknowledgement was delayed long enough.
    pub(crate) delay: bool,
    /// A probe sends the last segment again, which is of so many bytes.
    pub(crate) probe: Option<u64>,
    /// A program fills its send buffer.
    pub(crate) room: bool,
}

impl Expired {
    /// Whether it is only that a program fills its send buffer.
    pub(crate) fn only_fills(&self) -> bool {
        self.room && !self.hello && self.timeout.is_none() && !self.delay && self.probe.is_none()
    }
}
