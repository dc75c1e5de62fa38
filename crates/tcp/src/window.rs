//! How much a receiver offers to take (RFC 9293 §3.8.6).
//!
//! The application reads at once, unless it [says](ReceiveWindow::hold) how much it has not read; then the window may close. Its
//! right edge never moves back, and moves on by a full segment or half the buffer at least (§3.8.6.2.2). Linux's offer starts at
//! 64 kB (half of `tcp_rmem`'s default of 131072 bytes) and follows the data: the first full segment tells how much memory packets
//! take, so that more of the buffer can be offered; once per round trip, when the application reads, the buffer becomes twice what arrived in it, and more while
//! that still grows or data waits out of order (tcp_rcvbuf_grow(), Linux 6.18); and the offer opens by two segments per segment
//! received up to that (tcp_grow_window()). The round trip is the receiver's own (tcp_rcv_rtt_measure_ts()). Left out: windows in
//! units of the window scale while they grow, but for the first of who asks, what is not read of more than the last arrival, an acknowledgement that tells of room once more is read than was told of
//! (tcp_cleanup_rbuf()), memory pressure, offers that shrink when packets turn out to be
//! small: these begin at what such packets leave.

use crate::behavior::Behavior;
use crate::config::OPTION_BYTES;
use crate::{Segment, Sequence, TcpConfig};
use farhop_units::{Bytes, Instant, look_at};
use std::time::Duration;

/// Largest window that can be expressed (RFC 7323 §2.3).
const MAX_WINDOW: Bytes = Bytes::new(1 << 30);
/// The most that a SYN can say, as its window is never scaled (RFC 7323 §2.2): a byte less than half of Linux's initial buffer.
pub(crate) const UNSCALED: Bytes = Bytes::new(65_535);
/// tcp_event_data_recv(): smaller segments do not let the offer grow.
const LEAST_TO_GROW: Bytes = Bytes::new(128);
/// TCP_INIT_CWND: what is taken to have arrived in the round trip before the first, in segments, if that was offered (tcp_init_buffer_space()).
pub const LINUX_FIRST_ROUND: u64 = 10;

/// What is offered, and how it grows.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    /// What has arrived and was not read; `None` if the application reads at once.
    unread: Option<Bytes>,
    /// The furthest number that was promised.
    edge: Sequence,
    offer: Bytes,
    mss: Bytes,
    /// The largest offer.
    limit: u32,
    /// How much of what has arrived last is in order that the application has not read, and when it does.
    fresh: u32,
    reads_at: Option<Instant>,
    tuning: Option<Tuning>,
}

/// Dynamic right-sizing, one round trip at a time.
#[derive(Debug, Clone)]
#[repr(C)]
struct Tuning {
    trip: ReceiverTrip,
    /// What the buffer has room for; and what the first buffer has once the packets' size is known, and half of it.
    room: Bytes,
    known_room: u32,
    half: u32,
    /// What arrived in the round trip before.
    last_round: Bytes,
    round_start: Instant,
    round_from: Sequence,
}

/// The round trip as the receiver of data sees it (tcp_rcv_rtt_update()): a fall counts at once, a rise by an eighth.
#[derive(Debug, Clone, Default)]
struct ReceiverTrip {
    echo: u32,
    /// The other side's window as the field of its last segment had it, which is scaled by so many bits; zero before the first.
    told: u16,
    scale: u8,
    /// This end asks for the connection.
    asks: bool,
    estimate: Option<Duration>,
}

impl ReceiverTrip {
    /// An acknowledgement without data that does not tell of the same window as before, or is the first, goes the slow way through
    /// tcp_rcv_established(), which looks at its echo: too small to be measured by, it leaves none to the data that follows with the same echo. So
    /// the first response on a connection whose request was acknowledged by itself says nothing of the round trip.
    fn hear(&mut self, segment: &Segment) {
        let told = u16::try_from(segment.window.get().div_ceil(1 << self.scale)).unwrap_or(u16::MAX);
        if core::mem::replace(&mut self.told, told) != told && segment.is_pure_ack() {
            self.echo = segment.timestamps.echo;
        }
    }

    /// From the acknowledgement that the segment answers to its arrival, when the clock of timestamps says `reading`.
    fn measure(&mut self, reading: u32, echo: u32, is_full: bool) {
        if echo == self.echo {
            return;
        }
        self.echo = echo;
        let ticks = reading.wrapping_sub(echo);
        if !is_full || ticks == 0 || ticks >= 1 << 31 {
            return;
        }
        let sample = Duration::from_millis(u64::from(ticks));
        self.estimate = Some(match self.estimate {
            Some(before) if sample > before => before - before / 8 + sample / 8,
            _ => sample,
        });
    }
}

impl ReceiveWindow {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let mss = config.mss;
        let limit = config.max_window.unwrap_or(MAX_WINDOW).clamp(Bytes::new(1), MAX_WINDOW);
        if !Behavior::of(config).autotunes_window {
            let (tuning, edge, offer, limit) = (None, Sequence::SYN, limit, small(limit));
            return Self { offer, limit, mss, tuning, unread: None, edge, reads_at: None, fresh: 0 };
        }
        let buffer = TcpConfig::LINUX_INITIAL_BUFFER.min(config.receive_buffer);
        // Until it has seen a packet the kernel takes half of a buffer for the memory around data.
        let half = Bytes::new(buffer.get() / 2).max(Bytes::new(1)).min(UNSCALED);
        let limit = limit.min(config.payload_in(config.receive_buffer));
        let room = whole_segments(half, mss);
        let tuning = Tuning {
            last_round: room.min(limit).min(mss * LINUX_FIRST_ROUND),
            room,
            known_room: small(config.payload_in(buffer)),
            half: small(half),
            round_start: Instant::START,
            round_from: Sequence::FIRST_BYTE,
            trip: ReceiverTrip { scale: config.window_scale(), ..ReceiverTrip::default() },
        };
        let (tuning, edge) = (Some(tuning), Sequence::SYN);
        Self { offer: room.min(limit), limit: small(limit), mss, tuning, unread: None, edge, reads_at: None, fresh: 0 }
    }

    /// This end asks for the connection: when its SYN leaves nobody knows yet that timestamps will take their share of every segment, so that the
    /// offer is so many segments without (tcp_connect_init()).
    pub(crate) fn open_actively(&mut self) {
        if let Some(tuning) = &mut self.tuning {
            tuning.room = whole_segments(Bytes::new(tuning.half.into()), self.mss + OPTION_BYTES);
            self.offer = tuning.room.min(Bytes::new(self.limit.into()));
            tuning.trip.asks = true;
        }
    }

    /// Asks memory for what every segment needs of it.
    pub(crate) fn look_at(&self) {
        look_at(&self.offer);
    }

    /// The buffer that is offered.
    #[cfg(test)]
    fn offer(&self) -> Bytes {
        self.offer
    }

    /// The window that the other side knows of.
    pub(crate) fn promised(&self, expected: Sequence) -> Bytes {
        self.edge - expected
    }

    /// The round trip as the receiver sees it.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.tuning.as_ref().and_then(|tuning| tuning.trip.estimate)
    }

    /// The window to advertise now, beyond `expected`, while so much is `held` beyond a hole (__tcp_select_window(): no more than there is room for
    /// beside that, and beside what the application is about to read).
    pub(crate) fn promise(&mut self, now: Instant, expected: Sequence, held: Bytes) -> Bytes {
        let room = self.room_beside(now, held);
        let possible = self.possible_edge(expected);
        let edge = room.map_or(possible, |room| possible.min(expected + room));
        // RFC 9293 §3.8.6.2.2.
        let step = self.mss.min(Bytes::new(self.offer.get() / 2));
        if self.unread.is_none() || edge - self.edge >= step {
            self.edge = self.edge.max(edge);
        }
        self.edge - expected
    }

    /// What there is room for beside what is held and what the application is about to read, if there is any.
    fn room_beside(&self, now: Instant, held: Bytes) -> Option<Bytes> {
        let held = held + self.fresh(now);
        self.tuning.as_ref().filter(|_| held > Bytes::ZERO).map(|tuning| tuning.room_beside(held, self.mss))
    }

    /// When the application reads what has arrived last.
    pub(crate) fn reads(&self, now: Instant) -> Instant {
        self.reads_at.map_or(now, |reads| reads.max(now))
    }

    /// What the application is about to read.
    fn fresh(&self, now: Instant) -> Bytes {
        Bytes::new(if self.reads(now) > now { self.fresh.into() } else { 0 })
    }

    /// Whether a window told now were smaller than the one told last, beyond `told`.
    pub(crate) fn narrows(&self, now: Instant, told: Sequence, held: Bytes) -> bool {
        self.room_beside(now, held).is_some_and(|room| room.min(self.offer) < self.edge - told)
    }

    fn possible_edge(&self, expected: Sequence) -> Sequence {
        expected + self.offer.saturating_sub(self.unread.unwrap_or(Bytes::ZERO))
    }

    /// The application has not read this much; from now on what arrives counts as unread until it says so again.
    pub(crate) fn hold(&mut self, unread: Bytes) {
        self.unread = Some(unread);
    }

    /// More has arrived in order.
    pub(crate) fn note_received(&mut self, bytes: Bytes) {
        if let Some(unread) = &mut self.unread {
            *unread += bytes;
        }
    }

    /// Whether the other side should be told of the room at once: it has at least doubled (tcp_cleanup_rbuf()).
    pub(crate) fn is_update_due(&self, expected: Sequence) -> bool {
        let (promised, possible) = (self.edge - expected, self.possible_edge(expected) - expected);
        let step = self.mss.min(Bytes::new(self.offer.get() / 2));
        possible >= promised * 2 && possible.saturating_sub(promised) >= step
    }

    /// The application reads what arrives now, and what it has not read by then, at `runs`: what is not in order is no news to it.
    pub(crate) fn read_at(&mut self, now: Instant, runs: Instant) {
        self.fresh = small(self.fresh(now));
        self.reads_at = Some(runs);
    }

    /// A segment of a connection that is up has arrived, with data or without.
    pub(crate) fn hear(&mut self, segment: &Segment) {
        if let Some(tuning) = self.tuning.as_mut().filter(|_| !segment.syn) {
            tuning.trip.hear(segment);
        }
    }

    /// A segment of data has arrived, in order or not.
    pub(crate) fn measure(&mut self, reading: u32, segment: &Segment) {
        if let Some(tuning) = &mut self.tuning {
            tuning.trip.measure(reading, segment.timestamps.echo, segment.payload >= self.mss);
        }
    }

    /// `payload` arrived in order up to `end`, and with what waited behind it everything up to `expected`, while so much was `held` beyond a hole, and
    /// `waiting` bytes span what is now. Returns whether the offer grew.
    pub(crate) fn data_arrived(
        &mut self,
        now: Instant,
        (payload, held): (Bytes, Bytes),
        (end, expected): (Sequence, Sequence),
        waiting: Bytes,
    ) -> bool {
        // The buffer follows when the application reads, which is later.
        let grew = self.grow(payload, held + self.mss);
        let read = self.reads(now);
        self.fresh = small(payload + (expected - end));
        let Some(tuning) = &mut self.tuning else { return false };
        if tuning.trip.estimate.is_some_and(|rtt| read.since(tuning.round_start) >= rtt) {
            // What the application has not read says nothing about how fast it reads; it reads segment by segment.
            let read_up_to = Sequence::SYN + (expected - Sequence::SYN).saturating_sub(self.unread.unwrap_or_default());
            tuning.end_round(read, (end.min(read_up_to), expected), waiting);
        }
        grew
    }

    /// `payload` arrived out of order, while so much was `held`; `waiting` bytes span all that did. Returns whether the offer grew: the buffer follows
    /// behind (tcp_data_queue_ofo()).
    pub(crate) fn data_waits(&mut self, payload: Bytes, held: Bytes, waiting: Bytes) -> bool {
        let grew = self.grow(payload, held);
        if let Some(tuning) = &mut self.tuning {
            tuning.make_room(waiting, Bytes::ZERO);
        }
        grew
    }

    /// tcp_grow_window(), as far as there is room beside what is held: also by what arrives in order, until it is read.
    fn grow(&mut self, payload: Bytes, held: Bytes) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        let known_room = Bytes::new(tuning.known_room.into());
        if payload >= self.mss && tuning.room < known_room {
            tuning.room = known_room;
            // So much was told by then, in units of the scale, by the end that has acknowledged a SYN (tcp_set_window_clamp()).
            let unit = if tuning.trip.asks { 1 << tuning.trip.scale } else { 1 };
            self.offer = Bytes::new(self.offer.get().div_ceil(unit) * unit).min(Bytes::new(self.limit.into()));
        }
        if payload < LEAST_TO_GROW {
            return false;
        }
        let before = self.offer;
        self.offer = self.offer.max(
            (self.offer + self.mss * 2).min(tuning.room_beside(held, self.mss)).min(Bytes::new(self.limit.into())),
        );
        self.offer > before
    }
}

/// Windows, what is in one of them, and the first buffer are no more than 32 bits say.
fn small(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

/// As many segments of `mss` as fit, one at least.
fn whole_segments(bytes: Bytes, mss: Bytes) -> Bytes {
    Bytes::new(bytes.get() / mss.get().max(1) * mss.get()).max(mss)
}

impl Tuning {
    /// The room beside so much: that beside one segment is known.
    fn room_beside(&self, held: Bytes, mss: Bytes) -> Bytes {
        (self.room + mss).saturating_sub(held)
    }

    /// The application has read so far of what has arrived up to `expected` (tcp_rcv_space_adjust(): what it has not is taken from what it has).
    fn end_round(&mut self, now: Instant, (read, expected): (Sequence, Sequence), waiting: Bytes) {
        let arrived = (read - self.round_from).saturating_sub(expected - read);
        (self.round_start, self.round_from) = (now, read);
        if arrived > self.last_round {
            let before = core::mem::replace(&mut self.last_round, arrived);
            // The growth twice, to let slow start double.
            let growth = u128::from(arrived.get()) * u128::from((arrived - before).get()) * 4;
            let growth = u64::try_from(growth / u128::from(before.get().max(1))).unwrap_or(u64::MAX / 4);
            self.make_room(waiting, Bytes::new(growth));
        }
    }

    /// tcp_rcvbuf_grow(): twice what arrived in a round, as the measurement is one round trip late, and what waits out of order.
    fn make_room(&mut self, waiting: Bytes, growth: Bytes) {
        self.room = self.room.max(self.last_round * 2 + growth + waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Timestamps};

    const RTT: Duration = Duration::from_millis(500);

    /// Offers after each round of slow start from ten segments.
    fn offers(config: &TcpConfig, rounds: u32) -> Vec<(Bytes, Bytes)> {
        let mut window = ReceiveWindow::new(config);
        let mut expected = Sequence::FIRST_BYTE;
        let mut segments = 10;
        let mut rounds_seen = Vec::new();
        for round in 1..=rounds {
            for _ in 0..segments {
                let now = Instant::START + RTT * round;
                let timestamps = Timestamps { value: 0, echo: Timestamps::at(Instant::START + RTT * (round - 1)) };
                window.measure(Timestamps::at(now), &Segment { payload: config.mss, timestamps, ..Segment::default() });
                expected = expected + config.mss;
                window.data_arrived(now, (config.mss, Bytes::ZERO), (expected, expected), Bytes::ZERO);
            }
            segments *= 2;
            rounds_seen.push((window.offer(), config.mss * segments));
        }
        rounds_seen
    }

    #[test]
    fn linux_keeps_ahead_of_slow_start() {
        let config = TcpConfig::of(Profile::Linux);
        assert_eq!(ReceiveWindow::new(&config).offer(), Bytes::new(65_160));
        for (offer, next_round) in offers(&config, 9) {
            assert!(offer >= next_round, "{offer} offered, {next_round} to come");
        }
        let (last, _) = offers(&config, 20)[19];
        assert_eq!(last, Bytes::new(20_970_496));
    }

    #[test]
    fn who_asks_for_a_connection_offers_segments_without_timestamps_and_then_whole_units_of_the_scale() {
        let config = TcpConfig::of(Profile::Linux);
        let offers = |mut window: ReceiveWindow| {
            let mut offers = vec![window.offer()];
            for _ in 0..2 {
                window.data_arrived(
                    Instant::START,
                    (config.mss, Bytes::ZERO),
                    (Sequence::FIRST_BYTE, Sequence::FIRST_BYTE),
                    Bytes::ZERO,
                );
                offers.push(window.offer());
            }
            offers.into_iter().map(Bytes::get).collect::<Vec<_>>()
        };
        let passive = ReceiveWindow::new(&config);
        let mut active = passive.clone();
        active.open_actively();
        // 44 × 1460, 63 × 1024 + 2896; as Linux's SYN says, and tcpi_rcv_ssthresh.
        assert_eq!(offers(active), [64_240, 67_408, 70_304]);
        assert_eq!(offers(passive), [65_160, 68_056, 70_952]);
    }

    #[test]
    fn linux_grows_to_what_the_largest_buffer_holds_and_no_further() {
        let last = |buffer| offers(&TcpConfig { receive_buffer: buffer, ..TcpConfig::of(Profile::Linux) }, 20)[19].0;
        // As Linux's packets tell, with windows in units of 128 bytes.
        assert_eq!(last(Bytes::kib(512)), Bytes::new(326_272));
        assert_eq!(last(Bytes::kb(50)), Bytes::new(29_824));
        // No larger than where it starts: the size of packets is all that is learned.
        assert_eq!(last(TcpConfig::LINUX_INITIAL_BUFFER), Bytes::new(80_512));
        assert_eq!(last(Bytes::kib(16)), Bytes::new(8832));
        let small = TcpConfig { receive_buffer: Bytes::kb(50), mss: Bytes::new(1200), ..TcpConfig::of(Profile::Linux) };
        assert_eq!(small.payload_in(small.receive_buffer), Bytes::new(24_832));
    }

    #[test]
    fn a_window_closes_as_data_stays_unread_and_opens_by_segments() {
        let config = TcpConfig { max_window: Some(Bytes::new(10_000)), ..TcpConfig::of(Profile::Rfc) };
        let mut window = ReceiveWindow::new(&config);
        let at = |bytes| Sequence::FIRST_BYTE + Bytes::new(bytes);
        window.hold(Bytes::ZERO);
        assert_eq!(window.promise(Instant::START, at(0), Bytes::ZERO), Bytes::new(10_000));
        window.note_received(Bytes::new(10_000));
        assert_eq!(window.promise(Instant::START, at(10_000), Bytes::ZERO), Bytes::ZERO);
        window.hold(Bytes::new(9000));
        assert!(!window.is_update_due(at(10_000)));
        assert_eq!(
            window.promise(Instant::START, at(10_000), Bytes::ZERO),
            Bytes::ZERO,
            "less than a segment is no window"
        );
        window.hold(Bytes::new(8000));
        assert!(window.is_update_due(at(10_000)));
        assert_eq!(window.promise(Instant::START, at(10_000), Bytes::ZERO), Bytes::new(2000));
        window.hold(Bytes::new(6100));
        assert!(!window.is_update_due(at(10_000)), "not yet twice as much");
        window.hold(Bytes::new(6000));
        assert!(window.is_update_due(at(10_000)));
    }

    #[test]
    fn a_configured_window_is_kept() {
        for profile in [Profile::Linux, Profile::Bsd1997, Profile::Rfc] {
            let config = TcpConfig { max_window: Some(Bytes::kib(16)), ..TcpConfig::of(profile) };
            assert!(offers(&config, 6).iter().all(|(offer, _)| *offer == Bytes::kib(16)), "{profile:?}");
        }
    }

    /// tcp_init_buffer_space(): where ten segments are more than is offered at first, no round would be larger than they.
    #[test]
    fn the_round_before_the_first_brought_no_more_than_was_offered() {
        for (mss, brought) in [(1448, 14_480), (8948, 62_636)] {
            let window = ReceiveWindow::new(&TcpConfig { mss: Bytes::new(mss), ..TcpConfig::of(Profile::Linux) });
            let last_round = window.tuning.map(|tuning| tuning.last_round);
            assert_eq!(last_round, Some(Bytes::new(brought)), "segments of {mss} B");
        }
    }

    #[test]
    fn a_bare_acknowledgement_that_tells_of_another_window_leaves_no_echo_to_be_measured_by() {
        let mut window = ReceiveWindow::new(&TcpConfig::of(Profile::Linux));
        // A request is sent at each of these times, acknowledged with this window, and answered.
        let estimates =
            [(0, 64_512), (1000, 64_100), (2000, 64_512), (3000, 70_000), (4000, 70_000)].map(|(ms, told)| {
                let [sent, answered] = [ms, ms + 500].map(|ms| Timestamps { value: 0, echo: ms });
                let told = Bytes::new(told);
                window.hear(&Segment { window: told, timestamps: sent, ..Segment::default() });
                let response =
                    Segment { window: told, timestamps: sent, payload: Bytes::new(1448), ..Segment::default() };
                window.hear(&response);
                window.measure(answered.echo, &response);
                window
                    .tuning
                    .as_mut()
                    .and_then(|tuning| tuning.trip.estimate.take())
                    .map(|estimate| estimate.as_millis())
            });
        assert_eq!(estimates, [None, Some(500), Some(500), None, Some(500)]);
    }

    #[test]
    fn a_round_is_over_when_the_application_reads_and_not_when_data_arrives() {
        let config = TcpConfig::of(Profile::Linux);
        let last_round = |reads: Option<Duration>| {
            let (mut window, mut expected) = (ReceiveWindow::new(&config), Sequence::FIRST_BYTE);
            let mut arrive = |at: Duration, reads: Option<Duration>| {
                let now = Instant::START + at;
                let timestamps = Timestamps { value: 0, echo: Timestamps::at(Instant::START + (at - RTT)) };
                window.measure(Timestamps::at(now), &Segment { payload: config.mss, timestamps, ..Segment::default() });
                expected = expected + config.mss;
                reads.into_iter().for_each(|reads| window.read_at(now, Instant::START + reads));
                window.data_arrived(now, (config.mss, Bytes::ZERO), (expected, expected), Bytes::ZERO);
                window.tuning.as_ref().map(|tuning| tuning.last_round)
            };
            (0..20).for_each(|_| _ = arrive(RTT * 2, None));
            let ended = arrive(RTT * 3 - Duration::from_micros(100), reads);
            // The next one begins then, too.
            let known = (0..40).map(|_| arrive(RTT * 3 + Duration::from_millis(10), None)).last();
            assert_eq!(Some(arrive(RTT * 4 - Duration::from_micros(50), None)), known);
            ended
        };
        assert_eq!(last_round(None), Some(config.mss * LINUX_FIRST_ROUND));
        assert_eq!(last_round(Some(RTT * 3 - Duration::from_micros(1))), Some(config.mss * LINUX_FIRST_ROUND));
        assert_eq!(last_round(Some(RTT * 3)), Some(config.mss * 20));
    }

    /// As Linux 6.18 was seen to do: windows of 79 KiB stay as they are while 20 segments arrive of which each second one is missing.
    #[test]
    fn what_is_held_beyond_a_hole_takes_the_room_to_grow() {
        let config = TcpConfig::of(Profile::Linux);
        let mss = config.mss;
        let grown = |holds: bool| {
            let mut window = ReceiveWindow::new(&config);
            let expected = Sequence::FIRST_BYTE + mss * 30;
            while window.data_arrived(Instant::START, (mss, Bytes::ZERO), (expected, expected), Bytes::ZERO) {}
            let before = window.promise(Instant::START, expected, Bytes::ZERO);
            for number in 0..20 {
                let held = if holds { mss * number } else { Bytes::ZERO };
                window.data_waits(mss, held, mss * (2 * number + 2));
            }
            let held = if holds { mss * 20 } else { Bytes::ZERO };
            (before, window.promise(Instant::START, expected, held))
        };
        let (before, after) = grown(true);
        assert_eq!((before, after), (Bytes::kib(79), before));
        assert!(grown(false).1 > before);
    }

    /// As tcp:tcp_rcvbuf_grow says of Linux 6.18 (copied=21720 inq=1448): the first segment that fills a hole is read before what waited behind it.
    #[test]
    fn what_waits_behind_what_ends_a_round_is_not_read_and_taken_from_what_is() {
        let config = TcpConfig::of(Profile::Linux);
        let copied = |waits: u64| {
            let (mut window, mss, start) = (ReceiveWindow::new(&config), config.mss, Instant::START + RTT * 2);
            let timestamps = Timestamps { value: 0, echo: Timestamps::at(Instant::START + RTT) };
            window.measure(Timestamps::at(start), &Segment { payload: mss, timestamps, ..Segment::default() });
            let end = Sequence::FIRST_BYTE + mss * 16;
            window.data_arrived(start, (mss, Bytes::ZERO), (end, end + mss * waits), Bytes::ZERO);
            window.tuning.map(|tuning| (tuning.last_round, tuning.round_from))
        };
        let end = Sequence::FIRST_BYTE + config.mss * 16;
        assert_eq!(copied(0), Some((config.mss * 16, end)));
        assert_eq!(copied(1), Some((Bytes::new(21_720), end)));
        assert_eq!(copied(9), Some((config.mss * LINUX_FIRST_ROUND, end)), "seven are less than in the round before");
    }

    #[test]
    fn more_than_a_segment_that_is_not_read_leaves_less_room_until_it_is() {
        let config = TcpConfig::of(Profile::Linux);
        let (mut window, mss) = (ReceiveWindow::new(&config), config.mss);
        let told = Sequence::FIRST_BYTE;
        let [now, soon, reads, later] = [0, 1, 2, 9].map(|ms| Instant::START + Duration::from_millis(ms));
        while window.data_arrived(now, (mss, Bytes::ZERO), (told, told), Bytes::ZERO) {}
        let most = window.promise(now, told, Bytes::ZERO);
        let mut arrives = |now: Instant, end: Sequence, waits: Bytes| {
            window.read_at(now, reads.max(now));
            window.data_arrived(now, (mss, Bytes::ZERO), (end, end + waits), Bytes::ZERO);
            let room = [now, reads].map(|time| window.clone().promise(time, end + waits, Bytes::ZERO));
            (room, [now, reads].map(|time| window.narrows(time, told, Bytes::ZERO)))
        };
        assert_eq!(arrives(now, told + mss, Bytes::ZERO), ([most; 2], [false; 2]), "beside one segment");
        let (room, narrows) = arrives(soon, told + mss * 2, mss * 3);
        assert_eq!((room, narrows), ([most - mss * 3, most], [true, false]), "what fills a hole");
        // Something comes later that is no news to the application, which has read by then.
        window.read_at(later, later + Duration::from_millis(1));
        assert_eq!(window.promise(later, told + mss * 5, Bytes::ZERO), most);
    }

    #[test]
    fn the_first_segment_beyond_a_hole_finds_the_room_that_one_in_order_takes_itself() {
        let config = TcpConfig::of(Profile::Linux);
        let mut window = ReceiveWindow::new(&config);
        while window.data_arrived(
            Instant::START,
            (config.mss, Bytes::ZERO),
            (Sequence::FIRST_BYTE, Sequence::FIRST_BYTE),
            Bytes::ZERO,
        ) {}
        assert!(window.data_waits(config.mss, Bytes::ZERO, config.mss * 2));
        assert!(!window.data_waits(config.mss, config.mss, config.mss * 4));
    }
}
