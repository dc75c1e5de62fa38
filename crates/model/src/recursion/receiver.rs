//! The receiving half: when an acknowledgement goes out, and how much more is offered.
//!
//! RFC 5681 §4.2 and 4.4BSD: every second segment or a timer. Linux (tcp_input.c, tcp_output.c): quick ACKs, then every second full
//! segment, at once for pushed data, else an adaptive delay; the offer grows with the data (tcp_rcvbuf_grow(), tcp_grow_window()).
//! Data arrives in order here, so that nothing else demands an acknowledgement but a FIN.

use super::habits::{Acking, Habits, RoundTripTime};
use super::ticks::Ticks;
use farhop_scenario::TcpConfig;

/// TCP_ATO_MIN.
const ATO_MIN: Ticks = Ticks::from_millis(40);
/// TCP_DELACK_MAX, for connections that answer what they receive.
const DELAY_MAX_ANSWERING: Ticks = Ticks::from_millis(200);
const DELAY_MAX: Ticks = Ticks::from_millis(500);
/// Largest window that can be expressed (RFC 7323 §2.3).
const MAX_OFFER: u64 = 1 << 30;
/// The most that an unscaled SYN can offer.
const UNSCALED: u64 = 65_535;
/// TCP_INIT_CWND: segments that count as the round before the first.
const LINUX_FIRST_ROUND: u64 = 10;
/// tcp_event_data_recv(): smaller segments do not let the offer grow.
const LEAST_TO_GROW: u64 = 128;

/// What the sender needs to know of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ack {
    /// All bytes before this have arrived.
    pub(crate) up_to: u64,
    pub(crate) offer: u64,
    /// When the first and the last segment that it newly covers were sent.
    pub(crate) first_sent: Ticks,
    pub(crate) last_sent: Ticks,
    /// How long the oldest segment waited for it.
    pub(crate) held: Ticks,
    /// The timestamp that is echoed; told where packets are dropped.
    pub(crate) echo: Ticks,
}

/// One direction's receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    acking: Acking,
    first_at_once: bool,
    mss: u64,
    arrived: u64,
    told: u64,
    /// An acknowledgement is due.
    pub(crate) due: Option<Ticks>,
    /// Segments not yet acknowledged, and the oldest's arrival.
    segments: u32,
    since: Ticks,
    pending: Ack,
    last_arrival: Option<Ticks>,
    quick: u32,
    delay: Ticks,
    answering: bool,
    offer: Offer,
    /// Time that was skipped, by which a clock that ticks on its own has gone on.
    skipped: Ticks,
}

/// A segment that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) now: Ticks,
    pub(crate) payload: u64,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) sent: Ticks,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig, habits: &Habits) -> Self {
        Self {
            acking: habits.acking,
            first_at_once: habits.first_at_once,
            mss: config.mss.get(),
            arrived: 0,
            told: 0,
            due: None,
            segments: 0,
            since: Ticks::ZERO,
            pending: Ack::default(),
            last_arrival: None,
            quick: 0,
            delay: ATO_MIN,
            answering: false,
            offer: Offer::new(config, habits.autotunes),
            skipped: Ticks::ZERO,
        }
    }

    /// The first offer.
    pub(crate) fn offer(&self) -> u64 {
        self.offer.size
    }

    /// Data arrived; `rtt` and `timeout` are what this end's own sender knows.
    pub(crate) fn data_arrived(&mut self, data: Arrival, rtt: &RoundTripTime, timeout: Ticks) {
        let first = self.last_arrival.is_none();
        self.arrived += data.payload;
        self.segments += 1;
        if self.segments == 1 {
            (self.since, self.pending.first_sent) = (data.now, data.sent);
        }
        self.pending.last_sent = data.sent;
        let grew = self.offer.data_arrived(data.now, (data.payload, self.arrived), rtt.least);
        let at = match self.acking {
            Acking::Adaptive { quick } => self.adaptive(data, quick, grew, (rtt, timeout)),
            _ if self.segments >= 2 || (first && self.first_at_once) => data.now,
            Acking::Timer(delay) => data.now + delay,
            Acking::Clock(period) => period.times((data.now + self.skipped).whole(period) + 1).since(self.skipped),
        };
        let at = if data.fin { data.now } else { at };
        self.last_arrival = Some(data.now);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// tcp_event_data_recv(), __tcp_ack_snd_check().
    fn adaptive(&mut self, data: Arrival, quick: u32, grew: bool, sender: (&RoundTripTime, Ticks)) -> Ticks {
        self.adapt(data.now, quick, sender.1);
        // tcp_grow_window() sets the lowest bit, so that the sender hears of the larger offer soon.
        self.quick |= u32::from(grew);
        let full = self.arrived - self.told > self.mss;
        if full || (!self.answering && (data.push || self.quick > 0)) {
            return data.now;
        }
        data.now + self.bounded_delay(data.push, sender.0)
    }

    /// The delay follows the spacing of data; a gap beyond the timeout starts quick ACKs again.
    fn adapt(&mut self, now: Ticks, quick: u32, timeout: Ticks) {
        let Some(last) = self.last_arrival else {
            self.quick = quick;
            return;
        };
        let gap = now.since(last);
        if gap <= ATO_MIN.per(2) {
            self.delay = self.delay.per(2) + ATO_MIN.per(2);
        } else if gap < self.delay {
            self.delay = (self.delay.per(2) + gap).min(timeout);
        } else if gap > timeout {
            self.quick = quick;
        }
    }

    /// tcp_send_delayed_ack().
    fn bounded_delay(&self, push: bool, rtt: &RoundTripTime) -> Ticks {
        if self.delay <= ATO_MIN {
            return self.delay;
        }
        let most = if self.answering || push { DELAY_MAX_ANSWERING } else { DELAY_MAX };
        let most = rtt.smoothed().map_or(most, |rtt| most.min(rtt.max(ATO_MIN)));
        self.delay.min(most)
    }

    /// The delay ran out before anything could carry the acknowledgement (tcp_delack_timer_handler()).
    pub(crate) fn delay_ran_out(&mut self, timeout: Ticks) {
        self.delay = if self.answering { ATO_MIN } else { self.delay.times(2).min(timeout) };
        self.answering = false;
    }

    /// A packet leaves at `now` and carries an acknowledgement; one with data within the delay makes the connection one that
    /// answers (tcp_event_data_sent()).
    pub(crate) fn acknowledge(&mut self, now: Ticks, with_data: bool) -> Ack {
        if with_data && matches!(self.acking, Acking::Adaptive { .. }) {
            self.answering |= self.last_arrival.is_some_and(|last| now.since(last) < self.delay);
        }
        if self.due.take().is_some() {
            self.quick = self.quick.saturating_sub(1);
        }
        let held = if self.segments > 0 { now.since(self.since) } else { Ticks::ZERO };
        (self.told, self.segments) = (self.arrived, 0);
        Ack { up_to: self.arrived, offer: self.offer.size, held, ..self.pending }
    }

    /// All bytes before this have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// All bytes before this are acknowledged.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// So much time has been skipped in all.
    pub(crate) fn set_skipped(&mut self, skipped: Ticks) {
        self.skipped = skipped;
    }

    /// Period of a clock that ticks whether or not there is anything to acknowledge.
    pub(crate) fn clock_period(&self) -> Option<Ticks> {
        if let Acking::Clock(period) = self.acking { Some(period) } else { None }
    }

    /// What of the state decides what comes next, relative to `now`.
    pub(crate) fn fingerprint(&self, now: Ticks) -> [u64; 4] {
        let due = self.due.map_or(0, |due| due.since(now).raw() + 1);
        let flags = u64::from(self.quick) * 4 + u64::from(self.segments) * 2 + u64::from(self.answering);
        [due, flags, self.delay.raw(), self.offer.size]
    }
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
    start: Ticks,
    from: u64,
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
        let initial = (buffer.get() / 2).clamp(1, UNSCALED);
        let room = (initial / mss * mss).max(mss);
        let known_room = config.payload_in(buffer).get();
        let limit = limit.min(config.payload_in(config.receive_buffer).get());
        let tuning = Tuning { last_round: mss * LINUX_FIRST_ROUND, room, known_room, start: Ticks::ZERO, from: 0 };
        Self { size: room.min(limit), limit, step: mss * 2, tuning: Some(tuning) }
    }

    /// Returns whether the offer grew.
    fn data_arrived(&mut self, now: Ticks, (payload, arrived): (u64, u64), rtt: Option<Ticks>) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        if rtt.is_some_and(|rtt| now.since(tuning.start) >= rtt) {
            tuning.end_round(now, arrived);
        }
        if payload >= self.step / 2 {
            tuning.room = tuning.room.max(tuning.known_room);
        }
        if payload < LEAST_TO_GROW {
            return false;
        }
        let before = self.size;
        self.size = before.max((before + self.step).min(tuning.room).min(self.limit));
        self.size > before
    }
}

impl Tuning {
    fn end_round(&mut self, now: Ticks, arrived: u64) {
        let bytes = arrived - self.from;
        (self.start, self.from) = (now, arrived);
        if bytes > self.last_round {
            // Twice, as the measurement is a round late; and the growth twice again, to let slow start double.
            let twice = u128::from(bytes) * 2;
            let growth = twice * u128::from(bytes - self.last_round) / u128::from(self.last_round.max(1));
            self.room = self.room.max(u64::try_from(twice + growth * 2).unwrap_or(u64::MAX));
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
        let arrival = Arrival { now: MS(ms), payload: 1448, push, fin, sent };
        receiver.data_arrived(arrival, &RoundTripTime::default(), MS(1000));
        let due = receiver.due.unwrap();
        receiver.acknowledge(due, false);
        due.since(MS(ms)).raw() / 1_000_000
    }

    /// One whose offer does not grow, which the sender would hear of soon.
    fn receiver(profile: Profile, first_ack: FirstAck) -> Receiver {
        let config = TcpConfig { first_ack, max_window: Some(Bytes::kib(32)), ..TcpConfig::of(profile) };
        Receiver::new(&config, &Habits::of(&config))
    }

    #[test]
    fn lone_segments_wait_for_the_profiles_timer() {
        assert_eq!(delay(&mut receiver(Profile::Rfc, FirstAck::Delayed), 50), 200);
        assert_eq!(delay(&mut receiver(Profile::Rfc, FirstAck::Immediate), 50), 0);
        assert_eq!(delay(&mut receiver(Profile::Bsd1997, FirstAck::Delayed), 50), 150, "its clock ticks at 200");
        assert_eq!(delay(&mut receiver(Profile::Linux, FirstAck::Delayed), 50), 40);
    }

    #[test]
    fn linux_acknowledges_sixteen_segments_one_by_one() {
        let mut receiver = receiver(Profile::Linux, FirstAck::Immediate);
        let delays: Vec<u64> = (0..18).map(|ms| delay(&mut receiver, ms)).collect();
        assert_eq!(delays[..16], [0; 16]);
        assert_eq!(delays[16..], [40, 40]);
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
        assert_eq!(offers[6..], [80_896, 80_896], "158 of each 256 bytes of 128 KiB");
    }

    #[test]
    fn a_clock_goes_on_while_time_is_skipped() {
        let mut receiver = receiver(Profile::Bsd1997, FirstAck::Delayed);
        receiver.set_skipped(MS(30));
        assert_eq!(delay(&mut receiver, 50), 120);
    }
}
