//! Skipping what repeats, so that a terabyte takes no longer than the rounds that differ.
//!
//! A *round* ends when what was being sent at its beginning is acknowledged. Two kinds of rounds repeat exactly, and are left out
//! as often as whole ones fit before the next event (the end of the response, or a name in it):
//!
//! - the slowest serializer on the way down never stood still in the round, that of the way up did and has no more to carry than it
//!   can, and the receiver acknowledges as it did a round ago: the window never shrinks, so none of it will change, and time
//!   passes by the serializer alone;
//! - the receiver's offer, not the congestion window, limited the sender, and everything is in the same state as some rounds ago: what
//!   is on the way and when it will arrive, what the serializers have still to do, what the receiver waits for, what a send buffer
//!   holds, which is filled every few rounds.
//!
//! Beyond a number of packets everything else is extrapolated at the rates of the last stretch, for each connection its own: that
//! is approximate, and matters beyond some hundred megabytes only.

use super::breakdown::Ledger;
use super::connection::{Answer, Connection, Content, Side};
use super::load::{HEADERS, Load, Making, Mode};
use super::receiver::Ack;
use super::route::MOST_HOPS;
use super::sender::Hold;
use super::ticks::{Fine, Ticks};

/// Shortest stretch worth skipping, in segments.
pub(super) const LEAST_SKIP: u64 = 32;
/// Packets on the way down between two measurements of rates.
const STRETCH: u64 = 1 << 16;
/// The same in round trips, of which there are more if many packets make one.
const STRETCH_ROUNDS: u64 = 2;
/// Measurements before the first extrapolation.
const EXACT_STRETCHES: u64 = 2;
/// More packets than this are never counted through, nor kept on the way at once.
const MOST_PACKETS: u64 = 1 << 22;
/// The same where packets are dropped: every one is followed on its way.
const MOST_REPAIRED: u64 = 1 << 20;
const MOST_ON_THE_WAY: usize = 1 << 20;
/// More timeouts than this are a collapse.
const MOST_TIMEOUTS: u64 = 1 << 13;

/// What a round was like, and what the state was at its end, relative to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Round {
    duration: Ticks,
    bytes: u64,
    /// All that is on the way, mixed.
    digest: u64,
    receiver: [u64; 4],
    sender: [u64; 4],
    backlogs: [[Fine; MOST_HOPS]; 2],
    clock_phase: u64,
}

/// A round's end that later ones are compared with, the next one of which is the end of twice as many rounds (Brent 1980): so that what
/// repeats after any number of rounds is found.
#[derive(Debug, Clone, Copy, Default)]
struct Anchor {
    round: Round,
    from: (Ticks, u64, Ledger),
    age: u32,
    most: u32,
    was_congested: bool,
}

/// The round in progress and the last one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skipping {
    place: usize,
    generation: u32,
    from: (Ticks, u64, Ledger),
    end: u64,
    /// Packets that the client sent.
    acks: u64,
    /// Packets that were sent on the way down.
    carried: u64,
    found_idle: bool,
    found_up_idle: bool,
    timer_ran_out: bool,
    was_congested: bool,
    last: Round,
    anchor: Anchor,
    packets: u64,
    sent: u64,
    timeouts: u64,
    stretch_from: Ticks,
    stretch_ends: u64,
}

impl Skipping {
    /// So many packets were sent on the way down at once.
    pub(crate) fn note_train(&mut self, count: u64, found_idle: bool) {
        (self.sent, self.packets) = (self.sent + count, self.packets + count);
        self.carried += count;
        self.found_idle |= found_idle;
    }

    /// A packet was sent.
    pub(crate) fn note(&mut self, side: Side, found_idle: bool) {
        self.sent += 1;
        if side == Side::Server {
            self.packets += 1;
            self.carried += 1;
            self.found_idle |= found_idle;
        } else {
            self.acks += 1;
            self.found_up_idle |= found_idle;
        }
    }

    /// A delayed acknowledgement's timer ran out.
    pub(crate) fn note_timer(&mut self) {
        self.timer_ran_out = true;
    }

    /// Something was sent again because nothing was heard for long.
    pub(crate) fn note_timeout(&mut self, effort: u64) {
        self.timeouts += effort;
    }

    /// Whether a round ends as the anchor's did, and the congestion window has not limited since.
    fn repeats(&self, round: &Round) -> bool {
        *round == self.anchor.round && !self.anchor.was_congested && !self.was_congested
    }

    /// Whether there is no end in sight, with so many packets on the way.
    pub(crate) fn is_too_long(&self, on_the_way: usize, mode: Mode) -> bool {
        let most = if mode == Mode::Repairing { MOST_REPAIRED } else { MOST_PACKETS };
        self.sent > most || self.timeouts > MOST_TIMEOUTS || on_the_way > MOST_ON_THE_WAY
    }
}

/// Where a connection was when rates were last measured, and the most that it has carried in a stretch so far, in how long.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    acknowledged: u64,
    ledger: Ledger,
    carried: u64,
    duration: Ticks,
}

impl Mark {
    /// Whether so many bytes in so long a time are faster than ever before by more than a quarter, or there is no before. Rates also go up
    /// and down, where buffers are filled by thirds.
    fn is_outpaced(&self, bytes: u64, duration: Ticks) -> bool {
        let [rate, before] = self.rates(bytes, duration);
        rate / 5 * 4 >= before
    }

    /// So many bytes were carried in so long.
    fn note(&mut self, bytes: u64, duration: Ticks) {
        let [rate, before] = self.rates(bytes, duration);
        if rate >= before {
            (self.carried, self.duration) = (bytes, duration);
        }
    }

    /// The rate of so many bytes in so long, and the fastest before, over one denominator.
    fn rates(&self, bytes: u64, duration: Ticks) -> [u128; 2] {
        [(bytes, self.duration), (self.carried, duration)]
            .map(|(bytes, time)| u128::from(bytes) * u128::from(time.raw()))
    }
}

/// Mixes a value into a digest.
fn mix(digest: u64, value: u64) -> u64 {
    (digest.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Connection {
    /// Whether nothing is on the way to the client but the response that is being sent: the end of another would be an event.
    fn carries_one_response(&self) -> bool {
        let content = self.answering.front().map(|answer| answer.content);
        self.stream.iter().all(|chunk| Some(chunk.content) == content)
    }
}

impl Load<'_> {
    /// An acknowledgement arrived at the server of the connection at `place`: is it the end of a round that will come again?
    #[inline(always)]
    pub(crate) fn consider_skipping(&mut self, place: usize) {
        let untouched = self.buffers.connections[place].server.sender.untouched();
        if untouched >= LEAST_SKIP * self.mss {
            self.look_for_repetition(place);
        }
    }

    fn look_for_repetition(&mut self, place: usize) {
        let connection = &self.buffers.connections[place];
        let sender = &connection.server.sender;
        let skipping = &mut self.skipping;
        if (skipping.place, skipping.generation) != (place, connection.generation) {
            let Skipping { packets, sent, timeouts, stretch_from, stretch_ends, .. } = *skipping;
            let generation = connection.generation;
            *skipping = Skipping {
                place,
                generation,
                packets,
                sent,
                timeouts,
                stretch_from,
                stretch_ends,
                ..Skipping::default()
            };
        }
        skipping.was_congested |= sender.hold == Hold::Congestion;
        if self.mode != Mode::Repairing && sender.acknowledged >= skipping.end {
            self.end_round(place);
        }
        let is_whole = self.now.since(self.skipping.stretch_from) >= self.rtt.times(STRETCH_ROUNDS);
        if is_whole && self.skipping.packets >= self.skipping.stretch_ends {
            self.end_stretch();
        }
    }

    fn end_round(&mut self, place: usize) {
        let connection = &self.buffers.connections[place];
        let sender = &connection.server.sender;
        let Skipping { from: (from, before, _), end, .. } = self.skipping;
        let round = Round {
            duration: self.now.since(from),
            bytes: sender.acknowledged - before.min(sender.acknowledged),
            digest: mix(self.on_the_way(place, sender.acknowledged), self.writing(place)),
            receiver: connection.client.receiver.fingerprint(self.now),
            sender: sender.fingerprint(self.now),
            backlogs: [self.down.backlog(self.now), self.up.backlog(self.now)],
            clock_phase: self.clock_phase(connection),
        };
        let ledger = connection.ledger;
        let (room, mss) = (self.uneventful(place), self.mss);
        if end > 0 && room >= LEAST_SKIP * mss && self.is_alone(place) && connection.carries_one_response() {
            if self.is_saturated(&round) {
                let segments = room / mss;
                let time = self.down.slowest_service(segments, mss + HEADERS);
                self.skip(place, segments * mss, Ledger { transmission: time, ..Ledger::default() });
                self.pass(time);
            } else if self.skipping.repeats(&round) {
                let (time, acknowledged, waited) = self.skipping.anchor.from;
                let (duration, bytes) = (self.now.since(time), sender.acknowledged - acknowledged);
                let times = room / bytes.max(1);
                let waited = ledger.since(&waited).times(times).stretched(duration.times(times));
                self.skip(place, times * bytes, waited);
                self.pass(duration.times(times));
            }
        }
        self.begin_round(place, round);
    }

    fn begin_round(&mut self, place: usize, last: Round) {
        let before = self.skipping.anchor;
        let connection = &self.buffers.connections[place];
        let sender = &connection.server.sender;
        let Skipping { packets, sent, timeouts, stretch_from, stretch_ends, generation, .. } = self.skipping;
        let from = (self.now, sender.acknowledged, connection.ledger);
        let anchor = if before.age >= before.most {
            Anchor { round: last, from, age: 0, most: 2 * before.most.max(1), was_congested: false }
        } else {
            Anchor { age: before.age + 1, was_congested: before.was_congested || self.skipping.was_congested, ..before }
        };
        let end = sender.next;
        self.skipping = Skipping {
            place,
            generation,
            from,
            end,
            last,
            anchor,
            packets,
            sent,
            timeouts,
            stretch_from,
            stretch_ends,
            ..Skipping::default()
        };
    }

    /// Whether the slowest serializer on the way down will never stand still again, and the queue before it is never full.
    fn is_saturated(&self, round: &Round) -> bool {
        let skipping = &self.skipping;
        let told = self.up.slowest_service(skipping.acks, HEADERS);
        let way_up = told == Ticks::ZERO || (skipping.found_up_idle && told <= round.duration);
        // What carries nothing, or takes no time for anything, does not stand still either; nor does it in what begins with nothing on the way.
        let carries = round.bytes > 0 && self.down.slowest_service(skipping.carried, HEADERS) > Ticks::ZERO;
        let is_busy = carries && !skipping.found_idle;
        // Quick acknowledgements left, and the delay: as a round ago.
        let fits =
            !self.down.is_bounded() || (!skipping.was_congested && round.receiver[3] == skipping.last.receiver[3]);
        is_busy && way_up && fits && round.receiver[1..3] == skipping.last.receiver[1..3]
    }

    /// What is on the way, and when it will arrive; of no account where others' packets are.
    fn on_the_way(&self, place: usize, acknowledged: u64) -> u64 {
        let down = self.buffers.down.waiting().iter().map(|packet| (packet, packet.payload()));
        let told = |ack: &Ack| ack.up_to.saturating_sub(acknowledged).wrapping_add(ack.offer);
        let up = self.buffers.up.waiting().iter().map(|packet| (packet, told(&packet.ack)));
        let digest = down.chain(up).try_fold(0, |digest, (packet, value)| {
            (packet.place() == place).then(|| mix(mix(digest, packet.arrival.since(self.now).raw()), value))
        });
        digest.unwrap_or(u64::MAX)
    }

    /// When the server's program goes on that waited for room, and how long it has not written on before it does so again.
    fn writing(&self, place: usize) -> u64 {
        let due = self.buffers.connections[place].server.sender.room_due;
        let due = if due == Ticks::NEVER { Ticks::ZERO } else { due.since(self.now) };
        mix(due.raw(), self.programs[Side::Server as usize].since_writing(self.now).raw())
    }

    /// Where a clock that runs on its own stands, if it mattered.
    fn clock_phase(&self, connection: &Connection) -> u64 {
        let period = connection.client.receiver.clock_period().filter(|_| self.skipping.timer_ran_out);
        period.map_or(0, |period| self.clock().since(period.times(self.clock().whole(period))).raw())
    }

    /// Whether no other connection is being opened, or has anything on the way or to send.
    pub(crate) fn is_alone(&self, place: usize) -> bool {
        let buffers = &*self.buffers;
        let mut packets = buffers.down.waiting().iter().chain(buffers.up.waiting());
        let others =
            buffers.connections.iter().enumerate().filter(|(other, connection)| connection.open && *other != place);
        buffers.making.is_empty()
            && buffers.plans.is_empty()
            && packets.all(|packet| packet.place() == place)
            && others.into_iter().all(|(_, other)| other.is_idle())
    }

    /// Bytes that can be left out without leaving out an event.
    fn uneventful(&self, place: usize) -> u64 {
        let connection = &self.buffers.connections[place];
        let Some(Answer { content: content @ Content::Object(object), bytes, .. }) =
            connection.answering.front().copied()
        else {
            return 0;
        };
        if connection.answering.len() > 1 && self.parameters.interleaves() {
            return 0;
        }
        // Of what is left out nobody knows where its frames end.
        let waits_near = self.near.is_some() && self.parameters.has_frames();
        if waits_near || connection.buffer.iter().any(|chunk| chunk.content != content) {
            return 0;
        }
        let ahead = connection.stream.iter().chain(&connection.buffer);
        let of_it = ahead.filter(|chunk| chunk.content == content);
        let on_the_way: u64 = of_it.map(|chunk| chunk.bytes).sum();
        let room = self.buffers.browser.uneventful(object, self.workload).saturating_sub(on_the_way);
        room.min(bytes.saturating_sub(1)).min(connection.server.sender.untouched())
    }

    /// At a set rate nothing waits for acknowledgements: what is behind the next segments only keeps the link busy, if nothing may come that
    /// goes ahead of it.
    #[inline(always)]
    pub(crate) fn leave_out_at_set_rate(&mut self, place: usize) {
        let mss = self.mss;
        if self.buffers.connections[place].server.sender.untouched() <= LEAST_SKIP * mss {
            return;
        }
        let segments = self.uneventful(place) / mss;
        if self.parameters.flow.is_none() && segments > LEAST_SKIP && self.is_foremost(place) {
            self.down.pass_train(self.now, segments, mss + HEADERS);
            self.skip(place, segments * mss, Ledger::default());
            if self.parameters.has_frames() {
                self.buffers.connections[place].server.sender.keep_pace(self.now, segments * mss);
            }
        }
    }

    /// Whether nothing can come that goes ahead of the response that a connection is sending.
    fn is_foremost(&self, place: usize) -> bool {
        let connection = &self.buffers.connections[place];
        let Some(front) = connection.answering.front().filter(|_| self.parameters.reads_requests()) else {
            return true;
        };
        let order = self.order(front.content);
        let is_behind = |making: &Making| self.order(making.exchange.content) >= order;
        connection.asked.is_empty()
            && connection.carries_one_response()
            && self.buffers.plans.is_empty()
            && self.buffers.making.iter().all(is_behind)
    }

    /// Time passes without anything being done in it.
    pub(crate) fn pass(&mut self, span: Ticks) {
        self.skipped += span;
        // The client reads meanwhile.
        self.programs[Side::Client as usize].reads_through(span);
        self.programs[Side::Server as usize].rest(span);
        for connection in self.buffers.connections.iter_mut().filter(|connection| connection.open) {
            connection.client.receiver.set_skipped(self.skipped);
            connection.server.receiver.set_skipped(self.skipped);
            connection.client.sender.rest(span);
            connection.server.sender.rest(span);
        }
    }

    /// Leaves out `bytes` of the response that a connection is sending.
    fn skip(&mut self, place: usize, bytes: u64, waited: Ledger) {
        // Nothing is compared with what was before.
        self.skipping.anchor = Anchor::default();
        let connection = &mut self.buffers.connections[place];
        let Some(chunk) = connection.answering.front_mut() else { return };
        chunk.bytes -= bytes;
        let content = chunk.content;
        connection.server.sender.leave_out(bytes);
        connection.ledger += waited;
        if let Content::Object(object) = content {
            self.buffers.browser.leave_out(object, bytes);
        }
    }

    /// After so many packets: the rates of the last stretch are taken to stay until the next event.
    fn end_stretch(&mut self) {
        let duration = self.now.since(self.skipping.stretch_from);
        let packets = self.skipping.packets;
        if packets >= STRETCH * EXACT_STRETCHES && duration > Ticks::ZERO {
            let places = 0..self.buffers.connections.len();
            let count = places.clone().filter_map(|place| self.repetitions(place, duration)).min().unwrap_or(0);
            let count = count.min(self.next_beginning().since(self.now).whole(duration));
            if count > 0 {
                places.for_each(|place| self.extrapolate(place, count, duration.times(count)));
                self.pass(duration.times(count));
                self.bring_forward(duration.times(count));
            }
        }
        (self.skipping.stretch_from, self.skipping.stretch_ends) = (self.now, packets + STRETCH);
        (self.skipping.last, self.skipping.anchor) = (Round::default(), Anchor::default());
        for place in 0..self.buffers.connections.len() {
            let carried = self.carried(place).unwrap_or(0);
            let connection = &mut self.buffers.connections[place];
            connection.mark.note(carried, duration);
            (connection.mark.acknowledged, connection.mark.ledger) =
                (connection.server.sender.acknowledged, connection.ledger);
        }
    }

    /// Who thinks goes on thinking while others' packets are left out.
    fn bring_forward(&mut self, span: Ticks) {
        self.buffers.making.iter_mut().for_each(|making| making.ready = making.ready.since(span));
        self.buffers.plans.iter_mut().for_each(|plan| plan.due = plan.due.since(span));
        self.buffers.resolved.iter_mut().flatten().for_each(|resolved| *resolved = resolved.since(span));
        for object in &mut self.buffers.browser.objects {
            object.behind.iter_mut().for_each(|behind| behind.bring_forward(span));
            object.fetched = object.fetched.map(|at| at.since(span));
        }
        for call in &mut self.buffers.calls {
            call.last_ready = call.last_ready.since(span);
            call.behind.bring_forward(span);
        }
        for (_, free, behind) in &mut self.buffers.fetching {
            *free = free.since(span);
            behind.bring_forward(span);
        }
        self.buffers.legs.bring_forward(span);
    }

    /// When a server or the browser will have thought next.
    fn next_beginning(&self) -> Ticks {
        let making = self.buffers.making.front().map_or(Ticks::NEVER, |making| making.ready);
        self.buffers.plans.front().map_or(Ticks::NEVER, |plan| plan.due).min(making)
    }

    /// What a connection on which something is under way has carried in this stretch.
    fn carried(&self, place: usize) -> Option<u64> {
        let connection = &self.buffers.connections[place];
        let bytes = connection.server.sender.acknowledged.saturating_sub(connection.mark.acknowledged);
        (connection.open && !connection.is_idle()).then_some(bytes)
    }

    /// How often this stretch can be repeated on a connection on which something is under way: not at all if that stood still, is on its
    /// way to the server, or is faster than in the stretch before, as it is after its beginning.
    fn repetitions(&self, place: usize, duration: Ticks) -> Option<u64> {
        let bytes = self.carried(place)?;
        let connection = &self.buffers.connections[place];
        let is_settled = connection.asked.is_empty() && !connection.mark.is_outpaced(bytes, duration);
        Some(self.uneventful(place).checked_div(bytes).filter(|_| is_settled).unwrap_or(0))
    }

    fn extrapolate(&mut self, place: usize, count: u64, duration: Ticks) {
        let Some(bytes) = self.carried(place).filter(|bytes| *bytes > 0) else { return };
        let connection = &self.buffers.connections[place];
        let waited = connection.ledger.since(&connection.mark.ledger).times(count).stretched(duration);
        self.skip(place, bytes * count, waited);
    }
}
