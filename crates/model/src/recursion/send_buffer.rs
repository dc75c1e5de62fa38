//! What Linux's kernel takes of what is written, sent or not (tcp_sendmsg_locked()).
//!
//! It takes pieces of half the largest offer, of 64 KiB at most, and begins one while the memory in use is below what the buffer may have,
//! which is not looked at again until the piece is full. A piece has memory of its own beside its payload, and so has each batch that was
//! cut from one to be sent. What the windows let go is sent meanwhile: batch by batch, and all of it after half the largest offer. A
//! writer that was stopped goes on when a third is free and its program runs ([`super::program`]); an acknowledgement lets the buffer grow if
//! that leaves the congestion window unfilled, or lets two batches go. So it does until a third is free if the first write of who accepted the
//! connection left less, though it was taken.

use super::sender::Sender;
use super::ticks::Ticks;

/// `tcp_wmem`'s largest.
const MOST: u64 = 4 << 20;
/// Memory of a packet beside its payload: for headers and shared information, and its description.
const ROOM: u64 = 256 + 320;
const DESCRIPTION: u64 = 256;
/// A piece that is cut into segments by the device is smaller than 64 KiB with headers.
const LARGEST: u64 = 65_535 - 256;
/// Offers of no more than this are not halved (TCP_MSS_DEFAULT).
const SMALLEST: u64 = 536;
/// An acknowledgement takes its share of what is on the way.
const PARTS: u64 = 1 << 10;
/// TCP_INIT_CWND, in segments; what the handshake's largest segment holds beyond a later one's payload, for timestamps.
const INITIAL: u64 = 10;
const OPTIONS: u64 = 12;

/// What may be in use, and what is beside payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendBuffer {
    most: u64,
    /// Batches on the way, in [`PARTS`] of one.
    batches: u64,
    /// What the last piece holds that was not sent.
    last: u64,
    /// The writer was stopped; and there was an acknowledgement since.
    pub(super) has_stopped: bool,
    is_asked: bool,
    /// There is room for a writer that was stopped, and its program has not run since.
    wakes: bool,
    /// Nobody was stopped, but the kernel was asked for room in vain; and that may happen to the first write.
    is_short: bool,
    is_new: bool,
    /// How many windows it has room for.
    windows: u8,
    /// A batch of the only piece that was not sent leaves as the piece is full, whatever it might wait for (tcp_push_one()).
    pushes: bool,
}

impl SendBuffer {
    /// Of a connection that begins with a window of so many bytes; BBR sets its own and asks for more room.
    pub(super) fn new(window: u64, mss: u64, sets_window: bool) -> Self {
        let windows = if sets_window { 3 } else { 2 };
        let mut buffer = Self {
            most: 0,
            batches: 0,
            last: 0,
            has_stopped: false,
            is_asked: false,
            wakes: false,
            is_short: false,
            is_new: true,
            windows,
            pushes: false,
        };
        buffer.grow(window, mss);
        buffer
    }

    /// Twice the window, in packets, three times BBR's (tcp_sndbuf_expand()).
    fn grow(&mut self, window: u64, mss: u64) {
        let packet = (mss + OPTIONS + ROOM).next_power_of_two() + DESCRIPTION;
        let segments = (window / mss).max(INITIAL);
        self.most = self.most.max(segments.saturating_mul(u64::from(self.windows) * packet).min(MOST));
    }

    pub(super) fn note_batches(&mut self, count: u64) {
        self.batches += count * PARTS;
    }

    /// Of `before` bytes on the way `left` are not acknowledged.
    pub(super) fn note_ack(&mut self, before: u64, left: u64) {
        self.batches = (self.batches * left).checked_div(before).unwrap_or(0);
        self.is_asked = self.lacks_room();
    }

    fn lacks_room(&self) -> bool {
        self.has_stopped || self.is_short
    }

    fn is_writeable(&self, in_use: u64) -> bool {
        in_use * 3 <= self.most * 2
    }

    /// What decides what it takes next.
    fn fingerprint(&self) -> u64 {
        // Each has a place of its own: at most 4 MiB, some thousand batches in parts, 64 KiB.
        let flags = u64::from(self.is_short) << 17 | u64::from(self.has_stopped);
        (self.most << 42) ^ u64::from(self.wakes) << 41 ^ (self.batches << 18) ^ (self.last << 1) ^ flags
    }

    /// Those of which something is on the way.
    fn batches(&self) -> u64 {
        self.batches.div_ceil(PARTS)
    }

    fn in_use(&self, on_the_way: u64, unsent: u64, batches: u64, piece: u64) -> u64 {
        let last = self.last.min(unsent);
        let pieces = u64::from(last > 0) + (unsent - last).div_ceil(piece);
        on_the_way + unsent + (batches + pieces) * (ROOM + DESCRIPTION)
    }
}

impl Sender {
    /// Whether the next batch waits for nothing; if so it alone.
    pub(super) fn pushes(&mut self) -> bool {
        self.buffer.as_mut().is_some_and(|buffer| core::mem::take(&mut buffer.pushes))
    }

    /// In so many batches is what is on the way, whatever cut them.
    pub(super) fn note_packets(&mut self, packets: u64) {
        if let Some(buffer) = &mut self.buffer {
            buffer.batches = packets * PARTS;
        }
    }

    /// The writer goes on until it is stopped.
    #[inline(always)]
    pub(super) fn accept(&mut self) {
        if self.accepted < self.written {
            self.accept_more();
        }
    }

    #[inline(never)]
    fn accept_more(&mut self) {
        let Some(mut buffer) = self.buffer else {
            self.accepted = self.at_hand();
            return;
        };
        if !buffer.has_stopped && !buffer.wakes {
            self.fill(&mut buffer);
            self.buffer = Some(buffer);
        }
    }

    /// Of so many bytes on the way some were acknowledged.
    pub(super) fn note_freed(&mut self, before: u64) {
        let left = self.in_flight();
        let Some(buffer) = &mut self.buffer else { return };
        buffer.note_ack(before, left);
        if buffer.lacks_room() {
            self.grow_buffer();
        }
    }

    /// It opens the connection: whether it may write was told before it does.
    pub(super) fn opens(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.is_new = false;
        }
    }

    #[inline(never)]
    fn grow_buffer(&mut self) {
        let room = self.window.size.saturating_sub(self.counted());
        let two_batches = 2 * self.mss * self.usual_batch();
        if let Some(buffer) = self.buffer.as_mut().filter(|_| room >= two_batches) {
            buffer.grow(self.window.size, self.mss);
        }
    }

    /// Whether the writer waits for room, or for its program to run since there is some.
    pub(super) fn has_stopped(&self) -> bool {
        self.buffer.is_some_and(|buffer| buffer.has_stopped || buffer.wakes)
    }

    /// Whether there is room now that the writer's program has not been told of.
    #[inline(always)]
    pub(super) fn finds_room(&mut self) -> bool {
        core::mem::take(&mut self.finds_room)
    }

    /// The program runs that was told of it.
    pub(super) fn use_room(&mut self) {
        self.room_due = Ticks::NEVER;
        if let Some(buffer) = &mut self.buffer {
            buffer.wakes = false;
        }
    }

    /// All has been sent that may be: whether a writer that was stopped goes on at once; one whose program takes a time does when it runs.
    pub(super) fn resumes(&mut self) -> bool {
        let Some(mut buffer) = self.buffer.filter(|buffer| buffer.is_asked) else { return false };
        buffer.is_asked = false;
        if self.fits(self.mss) {
            buffer.grow(self.window.size, self.mss);
        }
        let unsent = self.accepted - self.next;
        let in_use = buffer.in_use(self.in_flight(), unsent, buffer.batches(), self.piece());
        let (has_stopped, is_writeable) = (buffer.has_stopped, buffer.is_writeable(in_use));
        (buffer.has_stopped, buffer.is_short) = (has_stopped && !is_writeable, buffer.is_short && !is_writeable);
        let goes_on = has_stopped && is_writeable;
        buffer.wakes |= goes_on && self.has_program;
        self.finds_room = buffer.wakes && goes_on;
        self.buffer = Some(buffer);
        goes_on && !self.finds_room
    }

    /// What decides what is sent of what is written: what was taken, and what is taken next.
    pub(super) fn supply(&self) -> [u64; 2] {
        [self.accepted - self.next, self.buffer.map_or(0, |buffer| buffer.fingerprint())]
    }

    /// Payload of a piece, in whole segments (tcp_xmit_size_goal()).
    fn piece(&self) -> u64 {
        let half = if self.largest > SMALLEST { self.largest / 2 } else { self.largest };
        (half.min(LARGEST) / self.mss * self.mss).max(self.mss)
    }

    /// As much as can be leaves meanwhile, in batches as they are now.
    fn fill(&mut self, buffer: &mut SendBuffer) {
        let (piece, batch) = (self.piece(), self.usual_batch() * self.mss);
        let mut room = self.window.size.saturating_sub(self.counted()).min(self.room_offered());
        if self.pacing.is_some() {
            room = room.min(batch.max(self.unpaced * self.mss));
        }
        let (mut unsent, mut on_the_way, mut batches) = (self.accepted - self.next, self.in_flight(), buffer.batches());
        let mut since_all_left = 0;
        buffer.last = buffer.last.min(unsent);
        while self.accepted < self.written {
            if buffer.last == 0 || buffer.last >= piece {
                buffer.has_stopped = buffer.in_use(on_the_way, unsent, batches, piece) >= buffer.most;
                if buffer.has_stopped {
                    buffer.is_new = false;
                    return;
                }
                buffer.last = 0;
            }
            let more = (piece - buffer.last).min(self.written - self.accepted);
            self.accepted += more;
            (buffer.last, unsent, since_all_left) = (buffer.last + more, unsent + more, since_all_left + more);
            let all_leaves = since_all_left > self.largest / 2;
            if buffer.last < piece || !(all_leaves || unsent == buffer.last) {
                continue;
            }
            let leaving = room.min(unsent).min(if all_leaves { u64::MAX } else { batch });
            buffer.pushes |= leaving > 0 && !all_leaves;
            since_all_left = if all_leaves { 0 } else { since_all_left };
            (room, unsent, on_the_way) = (room - leaving, unsent - leaving, on_the_way + leaving);
            (batches, buffer.last) = (batches + leaving.div_ceil(batch), buffer.last.min(unsent));
        }
        if core::mem::take(&mut buffer.is_new) {
            buffer.is_short = !buffer.is_writeable(buffer.in_use(on_the_way, unsent, batches, piece));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::habits::Habits;
    use super::super::ticks::Ticks;
    use super::super::window::Window;
    use super::*;
    use farhop_scenario::{ByteCounting, Congestion, Profile, TcpConfig};

    const MSS: u64 = 1448;

    /// A sender with so many segments of window that was offered `offer`, on a path of 200 ms.
    fn sender(window: u64, offer: u64) -> Sender {
        let habits = Habits::of(&TcpConfig::of(Profile::Linux));
        let mut sender =
            Sender::new(habits, MSS, Window::new(Congestion::Reno, (MSS, window * MSS), ByteCounting::Unlimited, true));
        sender.start_from(Ticks::from_millis(200));
        sender.update_offer(0, offer);
        (sender.written, sender.has_program) = (122_329, true);
        sender
    }

    /// Programs run at once.
    fn send_all(sender: &mut Sender) -> u64 {
        while sender.transmit(Ticks::ZERO).is_some() || goes_on(sender) {}
        sender.next
    }

    /// Whether a program that was stopped runs now.
    fn goes_on(sender: &mut Sender) -> bool {
        let finds_room = sender.finds_room();
        if finds_room {
            assert!(sender.has_stopped());
            sender.use_room();
        }
        finds_room
    }

    #[test]
    fn what_linux_was_seen_to_take_is_taken() {
        let mut sender = sender(10, 64_512);
        assert_eq!(send_all(&mut sender), 10 * MSS);
        let buffer = sender.buffer.unwrap();
        assert_eq!((sender.accepted, buffer.most, buffer.batches()), (32 * MSS, 46_080, 5));
        assert_eq!(buffer.in_use(10 * MSS, 22 * MSS, 5, 22 * MSS), 51_328);
    }

    #[test]
    fn a_window_that_is_not_filled_lets_the_buffer_grow() {
        let mut sender = sender(10, 64_512);
        send_all(&mut sender);
        sender.window.size = 40 * MSS;
        let ack = |sender: &mut Sender, segments: u64| {
            let before = sender.in_flight();
            sender.acknowledged = segments * MSS;
            let left = sender.in_flight();
            sender.buffer.as_mut().unwrap().note_ack(before, left);
            send_all(sender)
        };
        assert_eq!(ack(&mut sender, 2), 42 * MSS, "what was held has left, and room for more was found");
        let buffer = sender.buffer.unwrap();
        assert_eq!((buffer.most, buffer.has_stopped), (80 * 2304, false));
        assert_eq!(sender.accepted, 122_329);
    }

    #[test]
    fn batches_of_two_segments_fill_it_sooner() {
        let mut sender = sender(95, 155_648);
        sender.buffer = Some(SendBuffer::new(22 * MSS, MSS, false));
        assert_eq!(send_all(&mut sender), 55 * MSS);
        let buffer = sender.buffer.unwrap();
        assert!(buffer.has_stopped && buffer.batches() == 28);
    }

    #[test]
    fn an_acknowledgement_of_two_segments_lets_it_grow_in_slow_start() {
        let mut sender = sender(10, 64_512);
        send_all(&mut sender);
        let most_after = |sender: &mut Sender, segments: u64, window: u64| {
            let before = sender.in_flight();
            sender.acknowledged += segments * MSS;
            sender.window.size = window * MSS;
            sender.note_freed(before);
            sender.buffer.unwrap().most
        };
        assert_eq!(most_after(&mut sender, 1, 11), 46_080);
        send_all(&mut sender);
        assert_eq!(most_after(&mut sender, 2, 13), 13 * 4608);
    }

    #[test]
    fn a_first_answer_that_leaves_less_than_a_third_lets_it_grow_though_nobody_was_stopped() {
        let most_after = |segments: u64, opens: bool| {
            let mut sender = sender(10, 64_512);
            if opens {
                sender.opens();
            }
            sender.written = segments * MSS;
            send_all(&mut sender);
            assert!(sender.accepted == sender.written && !sender.has_stopped());
            sender.acknowledged += 2 * MSS;
            sender.window.size = 34 * MSS;
            sender.note_freed(10 * MSS);
            assert!(!sender.resumes(), "nobody was stopped");
            let most = sender.buffer.unwrap().most;
            // A third is free now: that is over.
            (sender.acknowledged, sender.window.size) = (sender.next, 80 * MSS);
            sender.note_freed(10 * MSS);
            sender.resumes();
            let before = sender.buffer.unwrap().most;
            sender.window.size = 120 * MSS;
            sender.note_freed(10 * MSS);
            assert_eq!((sender.resumes(), sender.buffer.unwrap().most), (false, before));
            most
        };
        let all = [(30, false), (30, true), (16, false)].map(|(segments, opens)| most_after(segments, opens));
        assert_eq!(all, [34 * 4608, 46_080, 46_080]);
    }

    #[test]
    fn who_was_stopped_is_not_asked_for_when_it_has_gone_on() {
        let mut sender = sender(10, 64_512);
        send_all(&mut sender);
        assert!(sender.has_stopped());
        (sender.acknowledged, sender.window.size) = (sender.next, 200 * MSS);
        sender.note_freed(10 * MSS);
        send_all(&mut sender);
        let buffer = sender.buffer.unwrap();
        assert!(!buffer.has_stopped && !buffer.is_short, "its first write was over when it was stopped");
    }

    #[test]
    fn acknowledgements_of_half_a_batch_leave_half_of_it() {
        let mut buffer = SendBuffer::new(10 * MSS, MSS, false);
        (0..20).for_each(|_| buffer.note_batches(1));
        for _ in 0..400 {
            buffer.note_ack(40, 39);
            buffer.note_ack(39, 38);
            buffer.note_batches(1);
        }
        assert_eq!(buffer.batches(), 20);
    }

    #[test]
    fn who_was_stopped_goes_on_when_a_third_is_free() {
        let mut sender = sender(10, 64_512);
        send_all(&mut sender);
        let mut resumes = |next: u64, acknowledged: u64| {
            (sender.next, sender.acknowledged) = (next * MSS, acknowledged * MSS);
            sender.note_freed(MSS);
            assert!(!sender.resumes(), "its program takes a time");
            goes_on(&mut sender)
        };
        assert_eq!([resumes(11, 11), resumes(12, 12)], [false, true], "21 segments of at most 30,720 B, then 20");
        assert!(!resumes(12, 12), "it goes on already");
        // Nothing more is taken until its program runs.
        let mut waiting = self::sender(10, 64_512);
        send_all(&mut waiting);
        (waiting.acknowledged, waiting.window.size) = (waiting.next, 40 * MSS);
        waiting.note_freed(10 * MSS);
        while waiting.transmit(Ticks::ZERO).is_some() {}
        assert_eq!(waiting.accepted, 32 * MSS);
        assert!(goes_on(&mut waiting) && send_all(&mut waiting) > 40 * MSS);
    }

    #[test]
    fn what_fills_the_only_unsent_piece_waits_for_no_company() {
        let mut sender = sender(40, u64::MAX / 4);
        sender.written = 300 * MSS;
        while sender.transmit(Ticks::ZERO).is_some() {}
        sender.acknowledged = MSS;
        sender.last_data = Ticks::from_millis(199);
        let mut defers = |pushes: bool| {
            sender.buffer.as_mut().expect("it has one").pushes |= pushes;
            sender.defers(Ticks::from_millis(199), 200 * MSS)
        };
        assert_eq!([defers(false), defers(true), defers(false)], [true, false, true]);
        // The first piece of a new connection is full and leaves; what waits behind others is not pushed.
        let mut new = self::sender(10, 64_512);
        new.accept();
        assert_eq!([new.pushes(), new.pushes()], [true, false]);
        let mut full = self::sender(0, 64_512);
        full.accept();
        assert!(!full.pushes());
    }
}
