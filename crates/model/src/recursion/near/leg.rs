//! One connection between the terminal and the client: the terminal's sending and the client's acknowledging.

use super::super::breakdown::Ledger;
use super::super::connection::Content;
use super::super::habits::{Acking, Habits};
use super::super::ticks::Ticks;
use super::super::window::counted;
use super::Near;
use farhop_scenario::Congestion;
use farhop_units::Bytes;
use std::collections::VecDeque;

/// Part of what the server said that has come to the terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) content: Content,
    pub(super) bytes: u64,
    /// Over which connection, in what time on its serializers, and what that had waited for at that clock.
    pub(super) place: usize,
    pub(super) link: Ticks,
    pub(super) ledger: Ledger,
    pub(super) at: Ticks,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Opening,
    Up,
    Closed,
}

/// The time in a load, and what was left out before.
type Clocks = (Ticks, Ticks);

/// One connection: the terminal's sending and the client's acknowledging.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) host: usize,
    /// Something that was asked for on it has not all come.
    pub(super) is_busy: bool,
    pub(super) state: State,
    /// Since when it is idle, if it is.
    pub(super) rested: Ticks,
    window: u64,
    in_flight: u64,
    /// The most that was under way in this round trip and the one before, and when this one ends.
    used: [u64; 2],
    round_ends: Ticks,
    /// When acknowledgements come back, and of how much.
    acks: VecDeque<(Ticks, u64)>,
    /// Arrived and not acknowledged: how much, in how many segments, and when it will be.
    owed: (u64, u32),
    owed_until: Ticks,
    /// Segments that have arrived.
    segments: u32,
    last: Ticks,
    pub(super) held: VecDeque<Held>,
    /// When it is looked at again.
    pub(super) due: Ticks,
}

impl Leg {
    pub(super) fn new(near: &Near, host: usize) -> Self {
        // Linux's window is not in use by an answer.
        let is_counted = !Habits::of(&near.tcp).validates;
        let grown = if is_counted { near.answered.min(near.tcp.mss).get() } else { 0 };
        let least = if near.answered > Bytes::ZERO { near.least() } else { 0 };
        Self {
            host,
            is_busy: false,
            state: State::Up,
            rested: Ticks::ZERO,
            window: (near.initial() + grown).max(least).min(near.largest()),
            in_flight: 0,
            used: [0; 2],
            round_ends: Ticks::ZERO,
            acks: VecDeque::new(),
            owed: (0, 0),
            owed_until: Ticks::NEVER,
            segments: u32::from(near.answered > Bytes::ZERO),
            last: Ticks::ZERO,
            held: VecDeque::new(),
            due: Ticks::NEVER,
        }
    }

    pub(super) fn hold(&mut self, piece: Held) {
        match self.held.back_mut().filter(|last| last.content == piece.content) {
            Some(last) => *last = Held { bytes: last.bytes + piece.bytes, ..piece },
            None => self.held.push_back(piece),
        }
    }

    /// Takes in the acknowledgements that are back at `now`.
    fn catch_up(&mut self, now: Ticks, near: &Near, habits: &Habits) {
        if self.owed.1 > 0 && self.owed_until <= now {
            self.acknowledge(self.owed_until, near);
        }
        while let Some((_, bytes)) = self.acks.pop_front_if(|(back, _)| *back <= now) {
            self.in_flight -= bytes;
            if !habits.validates || 2 * self.used[0].max(self.used[1]) > self.window {
                let growth = counted(habits.counting, bytes, near.tcp.mss.get(), false);
                self.window = (self.window + growth).max(near.least()).min(near.largest());
            }
        }
    }

    /// The client says something, which acknowledges what has come.
    pub(super) fn speak(&mut self, now: Ticks, near: &Near) {
        if self.owed.1 > 0 {
            self.acknowledge(now, near);
        }
    }

    fn acknowledge(&mut self, at: Ticks, near: &Near) {
        let (bytes, _) = core::mem::take(&mut self.owed);
        self.acks.push_back((at + Ticks::of(near.round_trip), bytes));
        self.owed_until = Ticks::NEVER;
    }

    /// The next segment that may go at `now`: where it belongs, and of how many bytes.
    pub(super) fn next(&mut self, (now, skipped): Clocks, near: &Near, habits: &Habits) -> Option<(Held, u64)> {
        self.catch_up(now, near, habits);
        let mss = near.tcp.mss.get();
        let first = *self.held.front()?;
        let bytes = first.bytes.min(mss);
        // Linux counts segments, however small.
        let cost = if habits.counts_segments { mss } else { bytes };
        if self.in_flight == 0 {
            self.restart_after_idle(now, near, habits);
        } else if self.in_flight + cost > self.window {
            return None;
        }
        match self.held.front_mut() {
            Some(left) if left.bytes > bytes => left.bytes -= bytes,
            _ => _ = self.held.pop_front(),
        }
        (self.in_flight, self.last, self.segments) = (self.in_flight + cost, now, self.segments.saturating_add(1));
        if now >= self.round_ends {
            (self.used, self.round_ends) = ([0, self.used[0]], now + Ticks::of(near.round_trip));
        }
        self.used[0] = self.used[0].max(self.in_flight);
        let pushes = self.held.is_empty() || self.in_flight + cost > self.window;
        self.receive((now, skipped), cost, pushes, (near, habits));
        Some((first, bytes))
    }

    /// The client acknowledges, or waits for more: not where Linux's sender `pushes`, since what it has or may send ends here.
    fn receive(&mut self, (now, skipped): Clocks, cost: u64, pushes: bool, (near, habits): (&Near, &Habits)) {
        self.owed = (self.owed.0 + cost, self.owed.1 + 1);
        let every = match habits.acking {
            Acking::Adaptive { quick } if self.segments <= quick || pushes => 1,
            Acking::Timer(_) | Acking::Clock(_) if habits.first_at_once && self.segments == 1 => 1,
            Acking::Count { every, .. } => every,
            Acking::Adaptive { .. } | Acking::Timer(_) | Acking::Clock(_) => 2,
        };
        if self.owed.1 >= every {
            self.acknowledge(now, near);
        } else if self.owed.1 == 1 {
            self.owed_until = habits.acks_late(now, skipped);
        }
    }

    fn restart_after_idle(&mut self, now: Ticks, near: &Near, habits: &Habits) {
        let round_trip = Ticks::of(near.round_trip);
        let timeout = (round_trip + habits.rto_min_variance).max(habits.rto_min);
        let timeouts = now.since(self.last).whole(timeout);
        if timeouts > 0 && near.tcp.congestion != Congestion::Bbr {
            let least = near.initial().min(self.window);
            let rest = if habits.gentle_restart { self.window >> timeouts.min(63) } else { least };
            self.window = rest.max(least);
            self.used = [0; 2];
        }
    }

    /// When something changes that what is held may wait for.
    pub(super) fn next_change(&self, near: &Near) -> Ticks {
        let back = if self.owed.1 > 0 { self.owed_until + Ticks::of(near.round_trip) } else { Ticks::NEVER };
        self.acks.front().map_or(back, |(at, _)| back.min(*at))
    }

    pub(super) fn bring_forward(&mut self, span: Ticks) {
        self.acks.iter_mut().for_each(|(at, _)| *at = at.since(span));
        for time in [&mut self.owed_until, &mut self.due] {
            *time = if *time == Ticks::NEVER { *time } else { time.since(span) };
        }
        (self.last, self.round_ends) = (self.last.since(span), self.round_ends.since(span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::open;
    use std::time::Duration;

    fn near(round_trip_ms: u64, assignments: &[&str]) -> Near {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        let scenario = open("demo", &assignments).unwrap();
        Near::of(&scenario, Duration::from_millis(round_trip_ms)).expect("something waits")
    }

    fn held(bytes: u64) -> Held {
        Held {
            content: Content::Object(0),
            bytes,
            place: 0,
            link: Ticks::ZERO,
            ledger: Ledger::default(),
            at: Ticks::ZERO,
        }
    }

    /// What goes on of so many bytes that are there at once, and when, in ms.
    fn windows(near: &Near, leg: &mut Leg, from_ms: u64, bytes: u64) -> Vec<(u64, u64)> {
        let (habits, mut now, mut all) = (Habits::of(&near.tcp), Ticks::from_millis(from_ms), Vec::new());
        leg.hold(held(bytes));
        while !leg.held.is_empty() {
            let mut passed = 0;
            while let Some((_, bytes)) = leg.next((now, Ticks::ZERO), near, &habits) {
                passed += bytes;
            }
            all.push((passed, now.whole(Ticks::from_millis(1))));
            now = leg.next_change(near);
        }
        all
    }

    fn fresh(near: &Near, bytes: u64) -> Vec<(u64, u64)> {
        windows(near, &mut Leg::new(near, 0), 0, bytes)
    }

    #[test]
    fn each_round_trip_brings_twice_as_much() {
        let linux = near(40, &["tcp.mss=1000"]);
        let mut leg = Leg::new(&linux, 0);
        let first = windows(&linux, &mut leg, 0, 60_000);
        let by = |ms: u64| first.iter().filter(|(_, at)| *at <= ms).map(|(bytes, _)| bytes).sum::<u64>();
        assert_eq!([0, 40, 80].map(by), [10_000, 30_000, 60_000], "{first:?}");
        assert_eq!(windows(&linux, &mut leg, 160, 30_000), [(30_000, 160)], "it stays open");
        assert_eq!(windows(&linux, &mut leg, 10_000, 30_000)[0], (10_000, 10_000), "until nothing has come for long");
        let bounded = fresh(&near(40, &["tcp.mss=1000", "tcp.max_window=12 kB"]), 36_000);
        assert_eq!(bounded, [(10_000, 0), (12_000, 40), (12_000, 80), (2000, 120)]);
    }

    #[test]
    fn a_window_of_one_segment_waits_for_what_is_acknowledged_late() {
        let rfc = ["tcp.mss=1000", "tcp.profile=rfc", "tcp.congestion=reno", "tcp.initial_window=1"];
        // The first segment is acknowledged at once, which makes two of one.
        let immediate = near(0, &[&rfc[..], &["tcp.first_ack=immediate"]].concat());
        assert_eq!(fresh(&immediate, 5000), [(5000, 0)]);
        let mut leg = Leg::new(&immediate, 0);
        windows(&immediate, &mut leg, 0, 200);
        assert_eq!(windows(&immediate, &mut leg, 0, 5000), [(1000, 0), (4000, 200)], "a head does not");
        let delayed = near(10, &[&rfc[..], &["tcp.first_ack=delayed"]].concat());
        assert_eq!(fresh(&delayed, 2000), [(1000, 0), (1000, 210)]);
        let more = ["tcp.profile=rfc", "tcp.initial_window=2"].map(String::from);
        assert_eq!(Near::of(&open("demo", &more).unwrap(), Duration::ZERO), None);
    }
}
