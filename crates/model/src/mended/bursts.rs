//! Windows in parts: segments that ACKs release one after the other, with the links' own clocks.
//!
//! A burst is what one group of ACKs releases. Its first segment leaves at max(the first ACK's arrival, the downlink free), its last no
//! earlier than the last ACK's arrival; the downlink is free again when all have left. Pairs of segments are acknowledged as
//! they arrive, and these ACKs, one after the other over the uplink, release the next burst: the segments acknowledged and, while
//! the window grows, one more for each ACK. If segments are odd, the last one's ACK waits for the next burst, or 200 ms, and then
//! releases a burst of its own. So a burst costs the same few operations whatever its size.
//!
//! Once the window is full, bursts repeat: when the state has been seen before (Brent's method), whole cycles are skipped by
//! a division. A state that has not come back after [`MOST_STEPS`] bursts is extrapolated.

use super::{Ending, Mends, Sent, Transfer};
use crate::path::seconds;
use crate::{Path, Segments};
use farhop_units::Bytes;

/// Parts of a window at once. A round trip of R has at most R/200 ms + 1; beyond these an odd segment waits without timer, which
/// concerns round trips above 3 s.
const MOST_BURSTS: usize = 16;
/// Bursts after which the time is extrapolated.
const MOST_STEPS: u32 = 4096;
/// How long the ACK of an odd segment waits (BSD, RFC 1122 §4.2.3.2 allows 500 ms).
const ACK_DELAY_S: f64 = 0.2;
/// A segment that comes no more than this after the timer comes first. Timers start bursts which meet later timers to the nanosecond.
const TIE_S: f64 = 1e-9;
/// Two states are the same if their times differ by less, relative to the time passed.
const SAME: f64 = 1e-9;

/// T of `size` bytes, from the first segment sent to the last byte received.
pub(super) fn transfer(path: &Path, size: Bytes, start: &Transfer, mends: Mends) -> Sent {
    let mut sender = Sender::new(path, size, start, mends);
    loop {
        if let Some(time) = sender.step() {
            return Sent { time: seconds(time), window: Segments::new(sender.window) };
        }
    }
}

/// Segments released by one group of ACKs; times in seconds since the transfer began.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Burst {
    /// The first ACK arrives, and the last.
    first_ack: f64,
    last_ack: f64,
    acks: f64,
    segments: f64,
}

/// Bursts not sent yet, in their order.
#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    bursts: [Burst; MOST_BURSTS],
    head: usize,
    len: usize,
}

impl Ring {
    fn push(&mut self, burst: Burst) {
        self.bursts[(self.head + self.len) % MOST_BURSTS] = burst;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<Burst> {
        let burst = self.front()?;
        (self.head, self.len) = ((self.head + 1) % MOST_BURSTS, self.len - 1);
        Some(burst)
    }

    fn front(&self) -> Option<Burst> {
        (self.len > 0).then(|| self.bursts[self.head])
    }

    fn is_full(&self) -> bool {
        self.len == MOST_BURSTS
    }

    fn iter(&self) -> impl Iterator<Item = &Burst> {
        (0..self.len).map(|i| &self.bursts[(self.head + i) % MOST_BURSTS])
    }
}

/// The path in seconds and bytes.
#[derive(Debug, Clone, Copy)]
struct Terms {
    packet_s: f64,
    ack_s: f64,
    down_s: f64,
    up_s: f64,
    header_s: f64,
    down_ack_s: f64,
    byte_s: f64,
    mss: f64,
    first_ack_delay_s: f64,
    full: f64,
}

/// What one transfer has come to.
#[derive(Debug, Clone, Copy)]
struct Sender {
    terms: Terms,
    mends: Mends,
    ending: Ending,
    waiting: Ring,
    /// The links' serializers are free from then on.
    down_free: f64,
    up_free: f64,
    /// A segment that arrived and is not acknowledged.
    held: bool,
    /// A single first segment, acknowledged on its own.
    single_first: bool,
    /// ACKs of the burst before, for Eq 6 where they do not queue.
    previous_acks: f64,
    window: f64,
    /// Payload not sent yet, in bytes.
    left: f64,
    cycle: Cycle,
}

/// Where a cycle may have begun.
#[derive(Debug, Clone, Copy, Default)]
struct Cycle {
    steps: u32,
    /// Step at which `seen` was taken, doubled each time.
    taken: u32,
    seen: State,
    /// Payload sent since then, in bytes.
    sent: f64,
    is_over: bool,
}

/// Everything that the future depends on, but for what is left.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    waiting: Ring,
    down_free: f64,
    up_free: f64,
    held: bool,
}

impl Terms {
    fn new(path: &Path, start: &Transfer) -> Self {
        let symbols = path.symbols();
        let alpha = start.redundancy.as_f64();
        let down = |bytes: f64| alpha * path.down_time(bytes).as_secs_f64();
        Self {
            packet_s: down(path.packet()),
            ack_s: path.up_time(symbols.ack.as_f64()).as_secs_f64(),
            down_s: symbols.down_delay.as_secs_f64(),
            up_s: symbols.up_delay.as_secs_f64(),
            header_s: down(symbols.headers.as_f64()),
            down_ack_s: down(symbols.ack.as_f64()),
            byte_s: down(symbols.mss.as_f64()) / symbols.mss.as_f64(),
            mss: symbols.mss.as_f64(),
            first_ack_delay_s: start.first_ack_delay.as_secs_f64(),
            full: path.full_window().map_or(f64::MAX, Segments::as_f64),
        }
    }
}

impl Sender {
    fn new(path: &Path, size: Bytes, start: &Transfer, mends: Mends) -> Self {
        let terms = Terms::new(path, start);
        let window = start.window.as_f64().min(terms.full);
        let mut waiting = Ring::default();
        waiting.push(Burst { first_ack: 0.0, last_ack: 0.0, acks: 1.0, segments: window });
        Self {
            terms,
            mends,
            ending: start.ending,
            waiting,
            down_free: 0.0,
            up_free: 0.0,
            held: false,
            single_first: start.window <= Segments::ONE,
            previous_acks: 0.0,
            window,
            left: size.as_f64(),
            cycle: Cycle::default(),
        }
    }

    /// Sends the next burst; the time if it was the last.
    fn step(&mut self) -> Option<f64> {
        // A single first segment is acknowledged as no later one is.
        if self.window >= self.terms.full && !self.single_first && !self.cycle.is_over {
            self.skip_cycles();
        }
        let burst = self.waiting.pop().expect("every burst's ACKs release another");
        let leaves = burst.first_ack.max(self.down_free);
        let payload = (burst.segments * self.terms.mss).round();
        let ends_here = if self.mends.no_jump { payload >= self.left } else { payload > self.left };
        if ends_here {
            let acks = (self.left / self.terms.mss / 2.0).ceil();
            self.window = (self.window + acks).min(self.terms.full);
            return Some(self.last_byte(&burst, leaves));
        }
        self.left -= payload;
        self.cycle.sent += payload;
        let per_ack = burst.segments / burst.acks;
        let sent = (leaves + burst.segments * self.terms.packet_s).max(burst.last_ack + per_ack * self.terms.packet_s);
        self.down_free = sent;
        self.acknowledge(&burst, leaves, sent);
        (self.left <= 0.0).then(|| self.published_end(sent))
    }

    /// The published end of a transfer without remainder: the next send, in 2002 an ACK's way down after it.
    fn published_end(&self, sent: f64) -> f64 {
        let next_send = self.waiting.front().map_or(sent, |next| next.first_ack);
        match self.ending {
            Ending::Paper2001 => next_send,
            Ending::Paper2002 => next_send + self.terms.down_ack_s + self.terms.down_s,
        }
    }

    /// When the last byte of the rest, which `burst` holds, is received.
    fn last_byte(&self, burst: &Burst, leaves: f64) -> f64 {
        let packets = (self.left / self.terms.mss).ceil();
        let before = packets - 1.0;
        let per_ack = burst.segments / burst.acks;
        let ack = ((packets / per_ack).ceil() - 1.0).clamp(0.0, burst.acks - 1.0);
        let between = if burst.acks > 1.0 { ack / (burst.acks - 1.0) } else { 0.0 };
        let released = burst.first_ack + (burst.last_ack - burst.first_ack) * between;
        let behind = (before - ack * per_ack).max(0.0);
        let starts = (leaves + before * self.terms.packet_s).max(released + behind * self.terms.packet_s);
        let last = (self.left - before * self.terms.mss) * self.terms.byte_s + self.terms.header_s;
        let bare = match self.ending {
            _ if self.mends.headers => 0.0,
            Ending::Paper2001 => packets * self.terms.header_s,
            Ending::Paper2002 => packets * self.terms.header_s - self.terms.down_ack_s,
        };
        starts + last - bare + self.terms.down_s
    }

    /// The receiver's ACKs for a burst that left from `leaves` to `sent`.
    fn acknowledge(&mut self, burst: &Burst, leaves: f64, sent: f64) {
        let Terms { packet_s, down_s, first_ack_delay_s, .. } = self.terms;
        let received = sent + down_s;
        if std::mem::take(&mut self.single_first) {
            let at = received + first_ack_delay_s;
            return self.release(1.0, burst.segments, at, at, burst);
        }
        if !self.mends.odd_windows {
            let pair = leaves + burst.segments.min(2.0) * packet_s + down_s;
            let acks = (burst.segments / 2.0).ceil();
            return self.release(acks, burst.segments, pair, received, burst);
        }
        let held = f64::from(u8::from(self.held));
        let pair = leaves + (2.0 - held) * packet_s + down_s;
        let segments = burst.segments + held;
        let acks = (segments / 2.0).floor();
        self.held = segments > 2.0 * acks;
        if acks > 0.0 {
            let last = if self.held { received - packet_s } else { received };
            self.release(acks, 2.0 * acks, pair, last, burst);
        }
        self.acknowledge_odd_segment(received + ACK_DELAY_S, burst);
    }

    /// The odd segment's ACK at `timer`, unless another segment comes before.
    fn acknowledge_odd_segment(&mut self, timer: f64, burst: &Burst) {
        let arrival = |next: Burst| next.first_ack.max(self.down_free) + self.terms.packet_s + self.terms.down_s;
        let comes_first = self.waiting.front().is_some_and(|next| arrival(next) < timer + TIE_S);
        if self.held && !comes_first && !self.waiting.is_full() {
            self.held = false;
            self.release(1.0, 1.0, timer, timer, burst);
        }
    }

    /// ACKs that leave the receiver from `first` to `last` and release the next burst.
    fn release(&mut self, acks: f64, acknowledged: f64, first: f64, last: f64, burst: &Burst) {
        let Terms { ack_s, up_s, full, .. } = self.terms;
        let (first, last) = if self.mends.ack_queueing {
            let first = first.max(self.up_free) + ack_s;
            let last = (first + (acks - 1.0) * ack_s).max(last + ack_s);
            self.up_free = last;
            (first, last)
        } else {
            // Eq 2 and 6: not before the ACKs of the window before have left.
            let first = (first + ack_s).max(burst.first_ack + self.previous_acks * ack_s - up_s);
            (first, first.max(last + ack_s))
        };
        self.previous_acks = acks;
        let growth = acks.min(full - self.window).max(0.0);
        self.window += growth;
        let burst = Burst { first_ack: first + up_s, last_ack: last + up_s, acks, segments: acknowledged + growth };
        self.push(burst, growth);
    }

    /// Adds a burst of which the first `growth` ACKs release one segment more than the others: two bursts, if the window gets full
    /// amid it.
    fn push(&mut self, burst: Burst, growth: f64) {
        let others = burst.acks - growth;
        if growth < 1.0 || others < 1.0 || self.waiting.len + 2 >= MOST_BURSTS {
            return self.waiting.push(burst);
        }
        let each = (burst.segments - growth) / burst.acks;
        let between = (burst.last_ack - burst.first_ack) / (burst.acks - 1.0);
        let last_growing = burst.first_ack + between * (growth - 1.0);
        let growing = Burst { last_ack: last_growing, acks: growth, segments: growth * (each + 1.0), ..burst };
        let steady = Burst { first_ack: last_growing + between, acks: others, segments: others * each, ..burst };
        self.waiting.push(growing);
        self.waiting.push(steady);
    }

    /// If everything is as it was some bursts ago, goes on as often as it will be again.
    fn skip_cycles(&mut self) {
        let Some(now) = self.waiting.front().map(|burst| burst.first_ack) else { return };
        let state = State { waiting: self.waiting, down_free: self.down_free, up_free: self.up_free, held: self.held };
        let comes_back = self.cycle.sent > 0.0 && state.is_same(&self.cycle.seen);
        if comes_back || self.cycle.steps >= MOST_STEPS {
            let span = now - self.cycle.seen.now();
            let count = ((self.left / self.cycle.sent).floor() - 1.0).max(0.0);
            self.left -= count * self.cycle.sent;
            self.shift(count * span);
            self.cycle.is_over = true;
        } else if self.cycle.steps >= 2 * self.cycle.taken {
            self.cycle = Cycle { taken: self.cycle.steps.max(1), seen: state, sent: 0.0, ..self.cycle };
        }
        self.cycle.steps += 1;
    }

    /// Moves all times by `span`.
    fn shift(&mut self, span: f64) {
        for burst in &mut self.waiting.bursts {
            burst.first_ack += span;
            burst.last_ack += span;
        }
        self.down_free += span;
        self.up_free += span;
    }
}

impl State {
    fn now(&self) -> f64 {
        self.waiting.front().map_or(0.0, |burst| burst.first_ack)
    }

    /// Whether both states are alike but for the time at which they are.
    fn is_same(&self, other: &Self) -> bool {
        let (now, then) = (self.now(), other.now());
        let near = |a: f64, b: f64| ((a - now) - (b - then)).abs() <= SAME * (1.0 + now);
        let same = |(a, b): (&Burst, &Burst)| {
            near(a.first_ack, b.first_ack)
                && near(a.last_ack, b.last_ack)
                && (a.acks - b.acks).abs() < 0.5
                && (a.segments - b.segments).abs() < SAME * a.segments
        };
        self.held == other.held
            && self.waiting.len == other.waiting.len
            && near(self.down_free.max(now), other.down_free.max(then))
            && near(self.up_free.max(now), other.up_free.max(then))
            && self.waiting.iter().zip(other.waiting.iter()).all(same)
    }
}
