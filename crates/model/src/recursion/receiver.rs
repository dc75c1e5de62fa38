//! The receiving half: when an acknowledgement goes out, and how much more is offered.
//!
//! RFC 5681 §4.2 and 4.4BSD: every second segment or a timer. Linux (tcp_input.c, tcp_output.c): quick ACKs, then every second full
//! segment, at once for pushed data, else an adaptive delay; the offer grows with the data (tcp_rcvbuf_grow(), tcp_grow_window()).
//! Data arrives in order here, so that nothing else demands an acknowledgement but a FIN.

use super::habits::{Acking, Habits, RoundTripTime, next_tick};
use super::jiffies::{self, JIFFY};
use super::ticks::Ticks;
use farhop_scenario::{LINUX_FIRST_ROUND, TcpConfig};

/// TCP_ATO_MIN.
const ATO_MIN: Ticks = Ticks::from_millis(40);
/// A jiffy less than the least timeout (tcp_delack_max()).
const DELAY_MAX: Ticks = Ticks::from_millis(196);
/// Largest window that can be expressed (RFC 7323 §2.3).
const MAX_OFFER: u64 = 1 << 30;
/// The most that a SYN can offer, which is never scaled (RFC 7323 §2.2).
pub(crate) const UNSCALED: u64 = 65_535;
/// tcp_event_data_recv(): smaller segments do not let the offer grow.
const LEAST_TO_GROW: u64 = 128;
/// What timestamps take of a segment.
const TIMESTAMPS: u64 = 12;
/// Between two of the numbers in timestamps.
const MILLISECOND: Ticks = Ticks::from_millis(1);

/// What the sender needs to know of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ack {
    /// All bytes before this have arrived.
    pub(crate) up_to: u64,
    pub(crate) offer: u64,
    /// When the first and the last segment that it newly covers were sent.
    pub(crate) first_sent: Ticks,
    pub(crate) last_sent: Ticks,
    /// The timestamp that is echoed.
    pub(crate) echo: Ticks,
}

/// One direction's receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    habits: Habits,
    mss: u64,
    arrived: u64,
    told: u64,
    /// The furthest byte that was offered room.
    edge: u64,
    /// The timestamp to echo: when the earliest packet was sent that the next acknowledgement answers (RFC 7323 §4.3).
    echo: Ticks,
    /// When an acknowledgement is due, if one is.
    pub(crate) due: Ticks,
    /// Segments not yet acknowledged, and the oldest's arrival.
    segments: u32,
    since: Ticks,
    pending: Ack,
    last_arrival: Option<Ticks>,
    quick: u32,
    delay: Ticks,
    answering: bool,
    offer: Offer,
    /// How long its program takes to read, what it has not read, and when it does.
    reading: Ticks,
    unread: u64,
    read_at: Ticks,
    /// Time that was skipped, by which a clock that ticks on its own has gone on; and when Linux's did, with that time.
    skipped: Ticks,
    tick: Option<Ticks>,
}

/// A segment that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) now: Ticks,
    /// When the program reads it.
    pub(crate) reads: Ticks,
    pub(crate) payload: u64,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) sent: Ticks,
    pub(crate) echo: Ticks,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig, habits: &Habits) -> Self {
        let offer = Offer::new(config, habits.autotunes);
        Self {
            habits: *habits,
            mss: config.mss.get(),
            arrived: 0,
            told: 0,
            edge: offer.size,
            echo: Ticks::ZERO,
            due: Ticks::NEVER,
            segments: 0,
            since: Ticks::ZERO,
            pending: Ack::default(),
            last_arrival: None,
            quick: 0,
            delay: ATO_MIN,
            answering: false,
            offer,
            reading: Ticks::ZERO,
            unread: 0,
            read_at: Ticks::ZERO,
            skipped: Ticks::ZERO,
            tick: None,
        }
    }

    /// This end asks for the connection by a SYN: when that leaves nobody knows yet that timestamps will take their share of every segment
    /// (tcp_connect_init()).
    pub(crate) fn open_actively(&mut self) {
        self.offer.open_actively(self.mss);
        self.edge = self.offer.size;
    }

    /// What arrives is read so long after it: until then there is less room.
    pub(crate) fn read_after(&mut self, reading: Ticks) {
        self.reading = reading;
    }

    /// What the program has not read by now.
    fn unread(&mut self, now: Ticks) -> u64 {
        if now >= self.read_at {
            self.unread = 0;
        }
        self.unread
    }

    /// The first offer.
    pub(crate) fn offer(&self) -> u64 {
        self.offer.size
    }

    /// A packet arrived that was sent `at` then, with data from `start` on or without any.
    pub(crate) fn note_timestamp(&mut self, start: u64, at: Ticks) {
        if start <= self.told && at >= self.echo {
            self.echo = at;
        }
    }

    /// An acknowledgement arrived, with data or without.
    #[inline(always)]
    pub(crate) fn hear(&mut self, ack: &Ack, is_bare: bool) {
        if let Some(tuning) = &mut self.offer.tuning {
            tuning.trip.hear(ack, is_bare);
        }
    }

    /// Data arrived; `rtt` and `timeout` are what this end's own sender knows.
    #[inline(always)]
    pub(crate) fn data_arrived(&mut self, data: Arrival, rtt: &RoundTripTime, timeout: Ticks) {
        self.arrived += data.payload;
        self.segments += 1;
        if self.segments == 1 {
            (self.since, self.pending.first_sent) = (data.now, data.sent);
        }
        self.pending.last_sent = data.sent;
        if self.reading > Ticks::ZERO {
            if self.unread(data.now) == 0 {
                self.read_at = data.now + self.reading;
            }
            self.unread += data.payload;
        }
        let grew = self.offer.data_arrived(&data, self.arrived);
        let at = match self.habits.acking {
            Acking::Adaptive { quick } => self.adaptive(data, quick, grew, (rtt, timeout)),
            acking => self.counted(data.now, acking),
        };
        self.last_arrival = Some(data.now);
        self.due = self.due.min(if data.fin { data.now } else { at });
    }

    /// When what has arrived is acknowledged by those who count segments, or tell of room.
    fn counted(&mut self, now: Ticks, acking: Acking) -> Ticks {
        let is_first = self.last_arrival.is_none() && self.habits.first_at_once;
        let grants = self.habits.grants_quarters && self.grant();
        match acking {
            _ if grants => now,
            Acking::Timer(_) | Acking::Clock(_) if self.segments >= 2 || is_first => now,
            Acking::Count { every, .. } if self.segments >= every => now,
            Acking::Clock(_) if 2 * (self.arrived - self.told) >= self.offer.size => now,
            Acking::Count { delay, .. } | Acking::Timer(delay) => now + delay,
            Acking::Clock(period) => next_tick(period, now, self.skipped),
            Acking::Adaptive { .. } => now,
        }
    }

    /// Offers a quarter more once there is room for it.
    fn grant(&mut self) -> bool {
        let edge = self.arrived.saturating_add(self.offer.size);
        let is_due = edge - self.edge >= (self.offer.size / 4).max(1);
        if is_due {
            self.edge = edge;
        }
        is_due
    }

    /// tcp_event_data_recv(), __tcp_ack_snd_check().
    #[inline(always)]
    fn adaptive(&mut self, data: Arrival, quick: u32, grew: bool, sender: (&RoundTripTime, Ticks)) -> Ticks {
        self.adapt(data.now, quick, sender.1);
        // tcp_grow_window() sets the lowest bit, so that the sender hears of the larger offer soon.
        self.quick |= u32::from(grew);
        let full = self.arrived - self.told > self.mss;
        if full || (!self.answering && (data.push || self.quick > 0)) {
            return data.now;
        }
        self.delayed(data.now, self.bounded_delay(sender.0))
    }

    /// When an acknowledgement is due that is to be delayed by `span`. The first time tells when the host's clock ticks.
    fn delayed(&mut self, now: Ticks, span: Ticks) -> Ticks {
        let clock = now + self.skipped;
        let known = self.tick.and_then(|tick| jiffies::expiry(clock, span, tick));
        let due = known.unwrap_or_else(|| self.habits.expiry(clock, span));
        if self.habits.has_jiffies && self.tick.is_none() {
            self.tick = Some(due.within(JIFFY));
        }
        due.since(self.skipped)
    }

    /// How long ago `earlier` was, as the host's clock has it.
    fn jiffies_since(&self, earlier: Ticks, now: Ticks) -> Ticks {
        jiffies::between(earlier + self.skipped, now + self.skipped, self.tick)
    }

    /// The delay follows the spacing of data, all in jiffies; a gap beyond the timeout starts quick ACKs again.
    #[inline(always)]
    fn adapt(&mut self, now: Ticks, most: u32, timeout: Ticks) {
        let Some(last) = self.last_arrival else { return self.hurry(most) };
        let gap = self.jiffies_since(last, now);
        let half = jiffies::whole(self.delay.per(2));
        if gap <= ATO_MIN.per(2) {
            self.delay = half + ATO_MIN.per(2);
        } else if gap < self.delay {
            self.delay = (half + gap).min(timeout);
        } else if gap > timeout {
            self.hurry(most);
        }
    }

    /// What comes next is acknowledged segment by segment.
    fn hurry(&mut self, most: u32) {
        self.quick = self.quick.max(quick_segments(self.edge.saturating_sub(self.arrived), self.mss, most));
    }

    /// tcp_send_delayed_ack().
    fn bounded_delay(&self, rtt: &RoundTripTime) -> Ticks {
        if self.delay <= ATO_MIN {
            return self.delay;
        }
        let most = rtt.smoothed().map_or(DELAY_MAX, |rtt| DELAY_MAX.min(rtt.max(ATO_MIN)));
        self.delay.min(most)
    }

    /// The delay ran out before anything could carry the acknowledgement (tcp_delack_timer_handler()).
    pub(crate) fn delay_ran_out(&mut self, timeout: Ticks) {
        self.delay = if self.answering { ATO_MIN } else { self.delay.times(2).min(timeout) };
        self.answering = false;
    }

    /// How long the oldest segment has waited that is not acknowledged.
    pub(crate) fn held(&self, now: Ticks) -> Ticks {
        if self.segments > 0 { now.since(self.since) } else { Ticks::ZERO }
    }

    /// A packet leaves at `now` and carries an acknowledgement; one with data within the delay makes the connection one that
    /// answers (tcp_event_data_sent()).
    pub(crate) fn acknowledge(&mut self, now: Ticks, with_data: bool) -> Ack {
        if with_data && matches!(self.habits.acking, Acking::Adaptive { .. }) {
            self.answering |= self.last_arrival.is_some_and(|last| self.jiffies_since(last, now) < self.delay);
        }
        if core::mem::replace(&mut self.due, Ticks::NEVER) < Ticks::NEVER {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.told, self.segments) = (self.arrived, 0);
        if !self.habits.grants_quarters {
            let room = self.offer.size.saturating_sub(self.unread(now));
            self.edge = self.edge.max(self.arrived.saturating_add(room));
        }
        Ack { up_to: self.arrived, offer: self.edge - self.arrived, echo: self.echo, ..self.pending }
    }

    /// All bytes before this have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// So much time has been skipped in all.
    pub(crate) fn set_skipped(&mut self, skipped: Ticks) {
        self.skipped = skipped;
    }

    /// Period of a clock that ticks whether or not there is anything to acknowledge.
    pub(crate) fn clock_period(&self) -> Option<Ticks> {
        match self.habits.acking {
            Acking::Clock(period) => Some(period),
            Acking::Adaptive { .. } => Some(JIFFY),
            Acking::Timer(_) | Acking::Count { .. } => None,
        }
    }

    /// What of the state decides what comes next, relative to `now`.
    pub(crate) fn fingerprint(&self, now: Ticks) -> [u64; 4] {
        let due = if self.due < Ticks::NEVER { self.due.since(now).raw() + 1 } else { 0 };
        let flags = u64::from(self.quick) * 4 + u64::from(self.segments) * 2 + u64::from(self.answering);
        let room = if self.habits.grants_quarters { self.edge - self.arrived } else { self.offer.size };
        [due, flags, self.delay.raw(), room]
    }
}

/// Segments that are acknowledged one by one: those that fill half of the room that was offered, two if none does (tcp_incr_quickack()).
fn quick_segments(room: u64, mss: u64, most: u32) -> u32 {
    let half = room / (2 * mss);
    u32::try_from(if half == 0 { 2 } else { half }).map_or(most, |half| half.min(most))
}

/// What is offered beyond what has arrived.
#[derive(Debug, Clone, Copy)]
struct Offer {
    size: u64,
    limit: u64,
    step: u64,
    tuning: Option<Tuning>,
}

/// Dynamic right-sizing: once per round trip, by what arrived in it.
#[derive(Debug, Clone, Copy)]
struct Tuning {
    last_round: u64,
    room: u64,
    /// What the first buffer has room for once the packets' size is known.
    known_room: u64,
    /// Half of that buffer, and whether this end asks for the connection.
    half: u64,
    asks: bool,
    start: Ticks,
    from: u64,
    trip: Trip,
}

/// The round trip as the receiver of data sees it, in milliseconds: from an acknowledgement's sending to the arrival of a full segment
/// that answers it (tcp_rcv_rtt_measure_ts()). A fall counts at once, a rise by an eighth. Where milliseconds begin is the hosts' secret: what
/// one takes that is measured is in the middle of all cases, of which the first echo of a millisecond is later by half of what lies between it
/// and the one before, or by half a millisecond after a pause.
#[derive(Debug, Clone, Copy, Default)]
struct Trip {
    /// The echo that was last seen, to the nanosecond and in milliseconds.
    last: Ticks,
    echo: Ticks,
    /// The other side's offer as the last packet's field had it.
    told: Option<u64>,
    scale: u8,
    estimate: Option<Ticks>,
}

impl Offer {
    fn new(config: &TcpConfig, autotunes: bool) -> Self {
        let mss = config.mss.get();
        let limit = config.max_window.map_or(MAX_OFFER, |window| window.get().clamp(1, MAX_OFFER));
        if !autotunes {
            return Self { size: limit, limit, step: 0, tuning: None };
        }
        let buffer = TcpConfig::LINUX_INITIAL_BUFFER.min(config.receive_buffer);
        // Until it has seen a packet the kernel takes half of a buffer for the memory around data.
        let half = (buffer.get() / 2).clamp(1, UNSCALED);
        let room = (half / mss * mss).max(mss);
        let known_room = config.payload_in(buffer).get();
        let limit = limit.min(config.payload_in(config.receive_buffer).get());
        let tuning = Tuning {
            last_round: room.min(limit).min(mss * LINUX_FIRST_ROUND),
            room,
            known_room,
            half,
            asks: false,
            start: Ticks::ZERO,
            from: 0,
            trip: Trip { scale: config.window_scale(), ..Trip::default() },
        };
        Self { size: room.min(limit), limit, step: mss * 2, tuning: Some(tuning) }
    }

    /// As many segments without timestamps as half the buffer holds.
    fn open_actively(&mut self, mss: u64) {
        if let Some(tuning) = &mut self.tuning {
            let segment = mss + TIMESTAMPS;
            (tuning.room, tuning.asks) = ((tuning.half / segment * segment).max(segment), true);
            self.size = tuning.room.min(self.limit);
        }
    }

    /// Returns whether the offer grew.
    #[inline(always)]
    fn data_arrived(&mut self, data: &Arrival, arrived: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        let Arrival { now, reads, payload, echo, .. } = *data;
        let is_full = payload >= self.step / 2;
        tuning.trip.measure(now, echo, is_full);
        if is_full && tuning.room < tuning.known_room {
            tuning.room = tuning.known_room;
            if tuning.asks {
                // What the acknowledgement of the SYN said, in units of the scale (tcp_set_window_clamp()).
                let unit = 1 << tuning.trip.scale;
                self.size = (self.size.div_ceil(unit) * unit).min(self.limit);
            }
        }
        let before = self.size;
        let most = tuning.room.min(self.limit);
        if payload >= LEAST_TO_GROW && before < most {
            self.size = (before + self.step).min(most);
        }
        // The room follows when the program reads, which is later.
        if tuning.trip.estimate.is_some_and(|rtt| reads.since(tuning.start) >= rtt) {
            tuning.end_round(reads, arrived);
        }
        self.size > before
    }
}

impl Trip {
    /// An acknowledgement that tells of another window, or is the first, is looked at even without data (tcp_rcv_established()): too small to be
    /// measured by, it leaves no echo to the data that follows.
    fn hear(&mut self, ack: &Ack, is_bare: bool) {
        let told = Some(ack.offer.div_ceil(1 << self.scale));
        if core::mem::replace(&mut self.told, told) != told && is_bare {
            (self.last, self.echo) = (ack.echo, ack.echo.whole_millis());
        }
    }

    fn measure(&mut self, now: Ticks, echo: Ticks, is_full: bool) {
        let last = core::mem::replace(&mut self.last, echo);
        if last == echo {
            return;
        }
        let (trip, since) = (now.since(echo), echo.since(last).min(MILLISECOND));
        let echo = echo.whole_millis();
        if echo == self.echo {
            return;
        }
        self.echo = echo;
        let sample = (trip + since.per(2)).whole_millis();
        if is_full && sample > Ticks::ZERO {
            self.estimate = Some(match self.estimate {
                Some(before) if sample > before => before.since(before.per(8)) + sample.per(8),
                _ => sample,
            });
        }
    }
}

impl Tuning {
    fn end_round(&mut self, now: Ticks, arrived: u64) {
        let bytes = arrived - self.from;
        (self.start, self.from) = (now, arrived);
        if bytes > self.last_round {
            // Twice, as the measurement is a round late; and the growth twice again, to let slow start double.
            let growth =
                u128::from(bytes) * u128::from(bytes - self.last_round) * 4 / u128::from(self.last_round.max(1));
            let room = u128::from(bytes) * 2 + growth;
            self.room = self.room.max(u64::try_from(room).unwrap_or(u64::MAX));
            self.last_round = bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::{FirstAck, Profile};
    use farhop_units::Bytes;

    const MS: fn(u64) -> Ticks = Ticks::from_millis;

    /// When a segment that arrives at `ms` is acknowledged, in ms after it; the acknowledgement leaves then.
    fn delay(receiver: &mut Receiver, ms: u64) -> u64 {
        let (sent, push, fin) = (Ticks::ZERO, false, false);
        let arrival = Arrival { now: MS(ms), reads: MS(ms), payload: 1448, push, fin, sent, echo: sent };
        receiver.data_arrived(arrival, &RoundTripTime::default(), MS(1000));
        let due = receiver.due;
        receiver.acknowledge(due, false);
        due.since(MS(ms)).raw() / 1_000_000
    }

    /// One whose offer does not grow, which the sender would hear of soon.
    fn receiver(profile: Profile, first_ack: FirstAck) -> Receiver {
        let config = TcpConfig { first_ack, max_window: Some(Bytes::kb(60)), ..TcpConfig::of(profile) };
        Receiver::new(&config, &Habits::of(&config))
    }

    #[test]
    fn lone_segments_wait_for_the_profiles_timer() {
        assert_eq!(delay(&mut receiver(Profile::Rfc, FirstAck::Delayed), 50), 200);
        assert_eq!(delay(&mut receiver(Profile::Rfc, FirstAck::Immediate), 50), 0);
        assert_eq!(delay(&mut receiver(Profile::Bsd1997, FirstAck::Delayed), 50), 150, "its clock ticks at 200");
        assert_eq!(delay(&mut receiver(Profile::Linux, FirstAck::Delayed), 50), 42, "half a jiffy more");
    }

    #[test]
    fn linux_delays_by_less_than_the_least_timeout() {
        let mut receiver = receiver(Profile::Linux, FirstAck::Delayed);
        assert_eq!(delay(&mut receiver, 50), 42);
        (0..3).for_each(|_| receiver.delay_ran_out(MS(700)));
        assert_eq!(delay(&mut receiver, 450), 198, "half a jiffy more than 196 ms");
    }

    #[test]
    fn linux_acknowledges_sixteen_segments_one_by_one() {
        let mut receiver = receiver(Profile::Linux, FirstAck::Immediate);
        let delays: Vec<u64> = (0..18).map(|ms| delay(&mut receiver, ms)).collect();
        assert_eq!(delays[..16], [0; 16]);
        assert_eq!(delays[16..], [42, 41], "the first time tells when the clock ticks");
    }

    #[test]
    fn linux_tells_of_the_room_that_it_learns_of_with_the_first_segment() {
        let config = TcpConfig::of(Profile::Linux);
        let mut receiver = Receiver::new(&config, &Habits::of(&config));
        let offers: Vec<u64> = (0..8)
            .map(|ms| {
                delay(&mut receiver, ms);
                receiver.offer()
            })
            .collect();
        assert_eq!(offers[..2], [65_160 + 2 * 1448, 65_160 + 4 * 1448]);
        assert_eq!(offers[6..], [80_896, 80_896], "80,480 B are free of 128 KiB, in units of 1 KiB");
    }

    #[test]
    fn a_bare_acknowledgement_of_another_window_leaves_no_echo_to_measure_by() {
        let config = TcpConfig::of(Profile::Linux);
        let mut receiver = Receiver::new(&config, &Habits::of(&config));
        let estimates = [(1, 64_512), (1000, 64_100), (2000, 70_000), (3000, 70_000)].map(|(ms, offer)| {
            let ack = Ack { echo: MS(ms), offer, ..Ack::default() };
            receiver.hear(&ack, true);
            receiver.hear(&ack, false);
            let now = MS(ms + 500);
            let arrival = Arrival { now, reads: now, payload: 1448, push: false, fin: false, sent: now, echo: MS(ms) };
            receiver.data_arrived(arrival, &RoundTripTime::default(), MS(1000));
            receiver.offer.tuning.as_mut().and_then(|tuning| tuning.trip.estimate.take())
        });
        assert_eq!(estimates, [None, Some(MS(500)), None, Some(MS(500))]);
    }

    #[test]
    fn a_round_trip_is_measured_as_most_clocks_tell_it_wherever_their_milliseconds_begin() {
        let us = Ticks::from_micros;
        let measured = |sent: u64, trip: u64| {
            let mut measured = Trip::default();
            let mut measure = |sent: u64| {
                measured.measure(us(sent + trip), us(sent), true);
                measured.estimate.map(|estimate| estimate.raw() / 1_000_000)
            };
            // After a pause, and soon after that in another millisecond.
            [measure(sent), measure(sent + 1100 - sent % 1000)]
        };
        for sent in [5_019_100, 5_019_876, 5_019_990] {
            assert_eq!(measured(sent, 500_174), [Some(500); 2], "{sent}");
            assert_eq!(measured(sent, 500_700)[0], Some(501), "{sent}");
        }
        assert_eq!(measured(5_019_900, 500_700), [Some(501), Some(500)], "0.2 ms after the one before");
    }

    #[test]
    fn what_a_program_has_not_read_leaves_less_room() {
        let config = TcpConfig { max_window: Some(Bytes::kb(16)), ..TcpConfig::of(Profile::Linux) };
        let mut receiver = Receiver::new(&config, &Habits::of(&config));
        let mut offers = |reading, times: [u64; 3]| {
            receiver.read_after(MS(reading));
            times.map(|ms| {
                let arrival = Arrival {
                    now: MS(ms),
                    reads: MS(ms),
                    payload: 1448,
                    push: false,
                    fin: false,
                    sent: MS(0),
                    echo: MS(0),
                };
                receiver.data_arrived(arrival, &RoundTripTime::default(), MS(1000));
                receiver.acknowledge(MS(ms), false).offer
            })
        };
        // The edge that was offered is not taken back.
        assert_eq!(offers(0, [0, 1, 5]), [16_000; 3]);
        assert_eq!(offers(4, [11, 13, 20]), [14_552, 13_104, 14_552]);
    }

    #[test]
    fn quic_tells_of_room_a_quarter_of_the_window_at_a_time() {
        let config = TcpConfig { max_window: Some(Bytes::kb(10)), ..TcpConfig::of(Profile::Rfc) };
        let mut receiver = Receiver::new(&config, &Habits::of_quic(&config));
        let rooms = [(0, 3000), (1, 2000), (2, 200), (3, 300)].map(|(ms, payload)| {
            let arrival =
                Arrival { now: MS(ms), reads: MS(ms), payload, push: false, fin: false, sent: MS(0), echo: MS(0) };
            receiver.data_arrived(arrival, &RoundTripTime::default(), MS(1000));
            let is_due = receiver.due == MS(ms);
            (is_due, if is_due { receiver.acknowledge(MS(ms), false).offer } else { 0 })
        });
        // The second waits for another one, which tells of no room.
        assert_eq!(rooms, [(true, 10_000), (false, 0), (true, 7800), (true, 10_000)]);
    }

    #[test]
    fn a_clock_goes_on_while_time_is_skipped() {
        let mut receiver = receiver(Profile::Bsd1997, FirstAck::Delayed);
        receiver.set_skipped(MS(30));
        assert_eq!(delay(&mut receiver, 50), 120);
    }
}
