//! Linux's send buffer: how much of what the application writes the kernel takes, sent or not (tcp_sendmsg_locked(), Linux 6.18).
//!
//! The kernel takes data in pieces of up to half the largest window that was ever offered, at most 64 KiB. It begins a piece whenever
//! less memory is in use than the buffer may have, and fills it whatever that takes. Each piece has some memory of its own, and is cut
//! into batches ([`crate::batch`]) as it is sent, each of which has as much again; so slow senders, whose batches are two segments,
//! have room for a fifth less, and losses cut what is on the way into more pieces ([`crate::scoreboard`]). While it fills pieces the kernel sends what the windows take: a batch for each piece that was filled,
//! everything after half the largest window.
//!
//! An application that found the buffer full goes on when a third is free (sk_stream_is_writeable()) and its program runs ([`crate::Program`]), if
//! that is known to take a time. An acknowledgement lets the buffer grow, to twice the congestion window's segments (three times BBR's), if the
//! application waits and the congestion window is not filled (tcp_should_expand_sndbuf()). It is seen to grow, too, when an acknowledgement lets two
//! batches go, which in slow start is one of two segments (`ss -m` after every acknowledgement, Linux 6.18). So it is where nobody waits, but the kernel was asked in vain whether there is room,
//! which a program does that has just accepted a connection (epoll still has the event that it may be written to): if its first answer leaves less than a
//! third free, later ones find more room. Each write is taken to be one call with everything in it. What arrives while the
//! call sends, which takes its time ([`crate::host`]), is heard when it is over or has begun sixteen pieces (sk_flush_backlog()): ten
//! megabytes take ten milliseconds, in which acknowledgements come to a stop.

use crate::config::OPTION_BYTES;
use farhop_units::Bytes;

/// `tcp_wmem`'s maximum.
const MOST: u64 = 4_194_304;
/// Memory for headers (MAX_TCP_HEADER; 320 B in kernels with drivers for wireless networks), struct skb_shared_info and struct sk_buff.
const HEADERS: u64 = 256;
const SHARED: u64 = 320;
const DESCRIPTION: u64 = 256;
/// What a piece takes beside its payload (seen by `ss -m`).
const PIECE: u64 = HEADERS + SHARED + DESCRIPTION;
/// GSO_LEGACY_MAX_SIZE without what is kept for headers (sk_dst_gso_max_size()).
const LARGEST: u64 = 65_536 - (HEADERS + 1);
/// TCP_MSS_DEFAULT: pieces are half of larger windows (tcp_bound_to_half_wnd()).
const SMALL_WINDOW: u64 = 536;
/// TCP_INIT_CWND: smaller windows have no smaller buffer.
const LEAST_SEGMENTS: u64 = 10;
/// A call that has begun so many pieces lets the kernel hear what has arrived meanwhile, and goes on.
const AT_ONCE: u32 = 16;
/// Timestamps, which the largest segment of a handshake does not count.
const TIMESTAMPS: u64 = OPTION_BYTES.get();

/// What one direction's buffer may have, and what its payload occupies beside its own length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendBuffer {
    /// sk_sndbuf.
    limit: u32,
    /// Unsent bytes of the last piece.
    tail: u32,
    /// How many windows' segments it has room for.
    windows: u8,
    writer: Writer,
    /// There was not enough when the kernel was asked for it (SOCK_NOSPACE), though nobody waits.
    is_short: bool,
    /// It will be asked when something was written for the first time.
    is_new: bool,
    /// An acknowledgement has arrived since, and the windows have not been looked at.
    may_expand: bool,
    /// A call has brought something since the last one was over; and it goes on when the kernel has heard what has arrived.
    is_written: bool,
    pauses: bool,
    /// What fills the only piece that was not sent leaves without waiting for company (tcp_push_one()).
    pushes: bool,
}

/// What the application does that has more to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Writes,
    /// It waits for room.
    Waits,
    /// There is some, and its program has not run since.
    Wakes,
}

/// What else the filling of a buffer depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filling {
    pub(crate) mss: Bytes,
    /// Payload that is held: on the way, and never sent.
    pub(crate) in_flight: Bytes,
    pub(crate) unsent: Bytes,
    /// Pieces with what is on the way.
    pub(crate) sent: u64,
    /// What the application has that was not taken.
    pub(crate) waiting: Bytes,
    /// What congestion and offered window let go now.
    pub(crate) room: Bytes,
    /// Segments of a batch.
    pub(crate) batch: u64,
    /// The largest window ever offered.
    pub(crate) largest_window: Bytes,
}

impl SendBuffer {
    /// Of a connection with this initial window; BBR asks for more room (bbr_sndbuf_expand()).
    pub(crate) fn new(initial_window: Bytes, mss: Bytes, models_the_path: bool) -> Self {
        let windows = if models_the_path { 3 } else { 2 };
        let mut buffer = Self {
            limit: 0,
            tail: 0,
            windows,
            writer: Writer::Writes,
            is_short: false,
            is_new: true,
            may_expand: false,
            is_written: false,
            pauses: false,
            pushes: false,
        };
        buffer.expand(initial_window, mss);
        buffer
    }

    /// It is of the end that opens the connection, whose program has heard that it may write before it does.
    pub(crate) fn open_actively(&mut self) {
        self.is_new = false;
    }

    /// An acknowledgement lets so much go.
    pub(crate) fn note_room(&mut self, room: Bytes, batch: Bytes, window: Bytes, mss: Bytes) {
        if self.lacks_room() && room >= batch * 2 {
            self.expand(window, mss);
        }
    }

    /// tcp_sndbuf_expand(): so often the segments of the window, each as large as a packet of its own may be in memory.
    fn expand(&mut self, window: Bytes, mss: Bytes) {
        let segments = (window.get() / mss.get().max(1)).max(LEAST_SEGMENTS);
        let packet = (mss.get() + TIMESTAMPS + HEADERS + SHARED).next_power_of_two() + DESCRIPTION;
        let wanted = (u64::from(self.windows) * segments).saturating_mul(packet);
        self.limit = self.limit.max(small(wanted.min(MOST)));
    }

    /// Whether acknowledgements let it grow.
    pub(crate) fn lacks_room(&self) -> bool {
        self.writer == Writer::Waits || self.is_short
    }

    /// Whether the application waits for room, or for its program to run since there is some.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.writer != Writer::Writes
    }

    /// There is room for who has waited, whose program runs later.
    pub(crate) fn wake(&mut self) {
        self.writer = Writer::Wakes;
    }

    /// Whether its program is to run.
    pub(crate) fn wakes(&self) -> bool {
        self.writer == Writer::Wakes
    }

    /// It does.
    pub(crate) fn go_on_writing(&mut self) {
        self.writer = Writer::Writes;
    }

    /// Whether a call may bring more.
    pub(crate) fn takes_more(&self) -> bool {
        !self.is_waited_for() && !self.pauses
    }

    /// Whether a call is under way, as long as what it has brought is being sent.
    pub(crate) fn is_written(&self) -> bool {
        self.is_written
    }

    /// What a call has brought was sent as far as it may be: nothing is brought until [`SendBuffer::go_on`]. Returns whether the call goes on
    /// then.
    pub(crate) fn pause(&mut self) -> bool {
        (self.is_written, self.pushes) = (false, false);
        core::mem::replace(&mut self.pauses, true)
    }

    /// Whether the next batch leaves though it might wait for company; if so once.
    pub(crate) fn pushes(&mut self) -> bool {
        core::mem::take(&mut self.pushes)
    }

    /// The kernel has heard what has arrived meanwhile.
    pub(crate) fn go_on(&mut self) {
        self.pauses = false;
    }

    /// Some of what was on the way is acknowledged.
    pub(crate) fn acknowledge(&mut self) {
        self.may_expand = self.lacks_room();
    }

    /// Whether room was asked for in vain, and an acknowledgement may have changed that.
    pub(crate) fn is_asked(&self) -> bool {
        self.may_expand && !self.pauses
    }

    /// After everything was sent that may be since an acknowledgement: whether an application that waited goes on; `window`, if that is not filled.
    pub(crate) fn makes_room(&mut self, window: Option<Bytes>, filling: &Filling) -> bool {
        self.may_expand = false;
        if let Some(window) = window {
            self.expand(window, filling.mss);
        }
        let used = self.used(filling.in_flight.get(), filling.unsent.get(), filling.sent, goal(filling));
        let is_writeable = self.is_writeable(used);
        let goes_on = self.writer == Writer::Waits && is_writeable;
        if goes_on {
            self.writer = Writer::Writes;
        }
        self.is_short &= !is_writeable;
        goes_on
    }

    /// Whether a third is free of so much in use (sk_stream_is_writeable()).
    fn is_writeable(&self, used: u64) -> bool {
        used * 3 <= u64::from(self.limit) * 2
    }

    /// Memory in use by payload on the way in so many pieces, and unsent in pieces of `goal`.
    fn used(&self, in_flight: u64, unsent: u64, sent: u64, goal: u64) -> u64 {
        let tail = u64::from(self.tail).min(unsent);
        let pieces = sent + u64::from(tail > 0) + (unsent - tail).div_ceil(goal);
        in_flight + unsent + PIECE * pieces
    }

    /// The application writes: how much of it is taken. What of it leaves at once is to be sent right after.
    pub(crate) fn fill(&mut self, filling: &Filling) -> Bytes {
        let goal = goal(filling);
        let (half, batch) = (filling.largest_window.get() / 2, filling.batch.max(1) * filling.mss.get());
        let (waiting, mut room) = (filling.waiting.get(), filling.room.get());
        let (mut unsent, mut in_flight) = (filling.unsent.get(), filling.in_flight.get());
        let (mut sent, mut taken, mut pushed) = (filling.sent, 0, 0);
        self.tail = self.tail.min(small(unsent));
        let mut begun = 0;
        while taken < waiting {
            if self.tail == 0 || u64::from(self.tail) >= goal {
                let is_full = self.used(in_flight, unsent, sent, goal) >= u64::from(self.limit);
                self.writer = if is_full { Writer::Waits } else { Writer::Writes };
                self.pauses = !is_full && begun == AT_ONCE;
                if !self.takes_more() {
                    break;
                }
                (self.tail, begun) = (0, begun + 1);
            }
            let more = (goal - u64::from(self.tail)).min(waiting - taken);
            self.tail += small(more);
            (taken, unsent) = (taken + more, unsent + more);
            if u64::from(self.tail) < goal {
                break;
            }
            // Half the window since the last time, or the first that was not sent.
            let leaves = if taken - pushed > half {
                pushed = taken;
                room.min(unsent)
            } else if unsent == u64::from(self.tail) {
                let leaves = room.min(batch).min(unsent);
                self.pushes |= leaves > 0;
                leaves
            } else {
                0
            };
            (room, unsent, in_flight) = (room - leaves, unsent - leaves, in_flight + leaves);
            sent += leaves.div_ceil(batch);
            self.tail = self.tail.min(small(unsent));
        }
        if taken > 0 && core::mem::take(&mut self.is_new) {
            self.is_short = !self.is_writeable(self.used(in_flight, unsent, sent, goal));
        }
        self.is_written |= taken > 0;
        Bytes::new(taken)
    }
}

/// Payload of a piece (tcp_xmit_size_goal()): whole segments.
fn goal(filling: &Filling) -> u64 {
    let (window, mss) = (filling.largest_window.get(), filling.mss.get().max(1));
    let half = if window > SMALL_WINDOW { window / 2 } else { window };
    (LARGEST.min(half) / mss * mss).max(mss)
}

fn small(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);
    const RESPONSE: Bytes = Bytes::new(122_329);

    fn filling(in_flight: u64, waiting: Bytes, room: u64, largest_window: u64) -> Filling {
        let (unsent, largest_window, sent) = (Bytes::ZERO, Bytes::new(largest_window), in_flight.div_ceil(2));
        Filling {
            mss: MSS,
            in_flight: MSS * in_flight,
            unsent,
            sent,
            waiting,
            room: MSS * room,
            batch: 2,
            largest_window,
        }
    }

    #[test]
    fn a_new_connection_takes_what_linux_was_seen_to_take() {
        let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
        assert_eq!(buffer.limit, 46_080);
        // Ten segments leave in five pieces, the other 22 wait in one: 51,328 B of memory.
        assert_eq!(buffer.fill(&filling(0, RESPONSE, 10, 64_512)), MSS * 32);
        assert!(buffer.is_waited_for());
        assert_eq!(buffer.tail, 22 * 1448);
    }

    #[test]
    fn what_is_left_is_taken_when_the_window_is_not_filled() {
        let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
        let left = RESPONSE - buffer.fill(&filling(0, RESPONSE, 10, 64_512));
        buffer.acknowledge();
        let now = filling(20, left, 2, 79_872);
        assert!(buffer.is_asked() && buffer.makes_room(Some(MSS * 22), &now));
        assert_eq!(buffer.limit, 101_376);
        assert_eq!((buffer.fill(&now), buffer.is_waited_for()), (left, false), "pieces are filled whatever that takes");
    }

    #[test]
    fn batches_of_two_segments_have_room_for_less_than_the_window() {
        let mut buffer = SendBuffer::new(MSS * 22, MSS, false);
        assert_eq!(buffer.limit, 101_376);
        // One piece of 45 segments, then batch by batch up to half the largest window, when all leaves; then the buffer is full.
        assert_eq!(buffer.fill(&filling(0, RESPONSE, 95, 155_648)), MSS * 55);
        assert!(buffer.is_waited_for());
        let large = Filling { batch: 45, ..filling(0, RESPONSE, 95, 155_648) };
        assert_eq!(SendBuffer::new(MSS * 22, MSS, false).fill(&large), RESPONSE, "batches as large as pieces");
    }

    #[test]
    fn who_found_it_full_waits_for_a_third() {
        let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
        let left = RESPONSE - buffer.fill(&filling(0, RESPONSE, 0, 64_512));
        assert!(!buffer.is_asked(), "nothing was acknowledged");
        let held = |unsent| Filling { unsent: MSS * unsent, ..filling(0, left, 0, 64_512) };
        for (unsent, goes_on) in [(21, false), (20, true)] {
            buffer.acknowledge();
            assert_eq!(buffer.makes_room(None, &held(unsent)), goes_on, "{unsent} segments of at most 30,720 B in all");
        }
        assert_eq!(buffer.limit, 46_080);
    }

    #[test]
    fn an_acknowledgement_that_lets_two_batches_go_lets_the_buffer_grow() {
        let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
        let mut after = |room: u64, window: u64| {
            buffer.note_room(MSS * room, MSS * 2, MSS * window, MSS);
            buffer.limit
        };
        assert_eq!(after(4, 34), 46_080, "nobody waits");
        buffer.fill(&filling(0, RESPONSE, 10, 64_512));
        let mut after = |room: u64, window: u64| {
            buffer.note_room(MSS * room, MSS * 2, MSS * window, MSS);
            buffer.limit
        };
        assert_eq!([after(3, 33), after(4, 34), after(4, 36)], [46_080, 34 * 4608, 36 * 4608]);
    }

    #[test]
    fn a_first_answer_that_leaves_less_than_a_third_lets_the_buffer_grow_though_nobody_waits() {
        // All of thirty segments is taken: 30,720 B may be in use where a third is free.
        let after = |segments: u64, opens: bool| {
            let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
            if opens {
                buffer.open_actively();
            }
            assert_eq!(buffer.fill(&filling(0, MSS * segments, 10, 64_512)), MSS * segments);
            assert!(!buffer.is_waited_for());
            buffer.acknowledge();
            buffer.note_room(MSS * 4, MSS * 2, MSS * 34, MSS);
            (buffer.limit, buffer)
        };
        let grown = 34 * 4608;
        assert_eq!(
            [(30, false), (30, true), (16, false)].map(|(one, opens)| after(one, opens).0),
            [grown, 46_080, 46_080]
        );
        // A third is free now, and nobody goes on that had waited; who writes again is not asked for.
        let (_, mut buffer) = after(30, false);
        assert!(buffer.is_asked() && !buffer.makes_room(None, &filling(20, Bytes::ZERO, 0, 64_512)));
        buffer.fill(&filling(20, MSS * 80, 0, 64_512));
        buffer.acknowledge();
        buffer.note_room(MSS * 4, MSS * 2, MSS * 40, MSS);
        assert!(!buffer.is_waited_for() && !buffer.is_asked() && u64::from(buffer.limit) == u64::from(grown));
    }

    #[test]
    fn what_fills_the_only_unsent_piece_is_pushed_once_if_there_is_room() {
        let pushes = |unsent: u64, room: u64, pauses: bool| {
            let mut buffer = SendBuffer::new(MSS * 60, MSS, false);
            buffer.tail = small((MSS * unsent.min(22)).get());
            // A piece is 27 segments.
            buffer.fill(&Filling { unsent: MSS * unsent, ..filling(30, RESPONSE, room, 80_896) });
            if pauses {
                buffer.pause();
            }
            [buffer.pushes(), buffer.pushes()]
        };
        assert_eq!(pushes(22, 1, false), [true, false]);
        assert_eq!([pushes(44, 1, false), pushes(22, 0, false), pushes(22, 1, true)], [[false; 2]; 3]);
    }

    #[test]
    fn what_was_cut_into_more_packets_leaves_less_room() {
        let mut buffer = SendBuffer::new(MSS * 10, MSS, false);
        buffer.fill(&filling(0, RESPONSE, 10, 64_512));
        let mut goes_on = |sent| {
            buffer.acknowledge();
            buffer.makes_room(None, &Filling { sent, ..filling(18, RESPONSE, 0, 64_512) })
        };
        // 26,064 B of payload; two thirds of the buffer are 30,720.
        assert_eq!([goes_on(6), goes_on(5)], [false, true]);
    }

    #[test]
    fn a_call_stops_for_what_has_arrived_after_sixteen_pieces() {
        let mut buffer = SendBuffer::new(MSS * 1_000_000, MSS, false);
        let waiting = MSS * 2000;
        let whole = Filling { batch: 45, ..filling(0, waiting, 5000, 20_000_000) };
        let piece = MSS * 45;
        assert_eq!((buffer.fill(&whole), buffer.is_waited_for(), buffer.takes_more()), (piece * 16, false, false));
        assert!(buffer.is_written());
        assert!(buffer.pause(), "the call goes on");
        assert!(!buffer.is_written() && !buffer.takes_more());
        buffer.go_on();
        assert!(buffer.takes_more());
        // Batches that leave a part of each piece let the next one be filled up without being begun.
        let mut buffer = SendBuffer::new(MSS * 1_000_000, MSS, false);
        assert_eq!(buffer.fill(&Filling { batch: 40, ..whole }), waiting);
        assert!(!buffer.pause(), "all was taken");
    }

    #[test]
    fn a_buffer_does_not_outgrow_the_largest() {
        let buffer = SendBuffer::new(MSS * 1_000_000, MSS, false);
        assert_eq!(u64::from(buffer.limit), MOST);
        assert_eq!(SendBuffer::new(MSS * 10, MSS, true).limit, 69_120, "BBR's, as getsockopt(SO_SNDBUF) tells it");
        assert_eq!(SendBuffer::new(MSS, MSS, false).limit, 46_080, "nor is that of a small window smaller");
    }
}
