//! What lies before the terminal: a connection of its own for each of the client's, over the lan, which brings responses window by window.
//!
//! What comes over the far link waits at the terminal for the window of the client's connection there: slow start (RFC 5681 §3.1) over
//! the lan's round trip, with the delayed acknowledgements of its profile (a window of one segment waits for them even where there is no
//! way at all). Times are those of arrival at the client, whose way the recursion has reckoned already. A window grows by what is
//! acknowledged, by no more than a segment for each acknowledgement where those are counted, if half of it was in use where it
//! is validated (RFC 2861), and decays with idling. Where the terminal answers what it has got unasked, the client asks for it first: a round
//! trip, two on a new connection, and one thing after the other on each. Left out: losses and queues in the lan, HyStart, the windows
//! for requests, and all of it for pages beyond 32 MiB.

use super::breakdown::Ledger;
use super::browser::Progress;
use super::habits::{Acking, Habits};
use super::load::{Load, Planned};
use super::parameters::{Control, Http, Parameters};
use super::ticks::Ticks;
use super::workload::Workload;
use farhop_scenario::{Scenario, TcpConfig};
use farhop_units::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// Most of a response that a frame of farhop's tunnel carries.
const FRAME: u64 = 16 << 10;
/// Of larger pages, which are not gone through packet by packet, nothing waits.
const MOST_BYTES: Bytes = Bytes::new(1 << 25);
/// A window that never limits, with room to add to.
const NO_LIMIT: u64 = u64::MAX / 4;

/// The client's connections with a box near it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The lan's round trip.
    pub round_trip: Duration,
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// How many there may be to a host, where the box answers by itself.
    pub connections: usize,
    /// How requests go on them.
    pub http: Http,
    /// What the terminal answers to each before there is anything of the server's.
    pub answered: Bytes,
}

impl Near {
    /// Those of `scenario`; `None` if nothing waits for them.
    pub(super) fn of(scenario: &Scenario, round_trip: Duration) -> Option<Self> {
        let tcp = scenario.tcp.clone();
        let one_by_one = !matches!(Habits::of(&tcp).acking, Acking::Adaptive { .. }) && tcp.initial_window == 1;
        let (connections, http) = (scenario.http.connections.max(1), scenario.http.version.into());
        let is_waited_for = round_trip > Duration::ZERO || one_by_one;
        is_waited_for.then_some(Self { round_trip, tcp, connections, http, answered: Bytes::ZERO })
    }

    fn largest(&self) -> u64 {
        self.tcp.max_window.map_or(NO_LIMIT, Bytes::get).clamp(1, NO_LIMIT)
    }

    fn initial(&self) -> u64 {
        self.tcp.mss.get().saturating_mul(u64::from(self.tcp.initial_window)).clamp(1, self.largest())
    }
}

/// Part of a response that has come to the terminal.
#[derive(Debug, Clone, Copy)]
struct Held {
    object: usize,
    bytes: u64,
    /// Over which connection, in what time on its serializers, and what that had waited for at that clock.
    place: usize,
    link: Ticks,
    ledger: Ledger,
    at: Ticks,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    Up,
    Closed,
}

/// The time in a load, and what was left out before.
type Clocks = (Ticks, Ticks);

/// One connection: the terminal's sending and the client's acknowledging.
#[derive(Debug)]
struct Leg {
    host: usize,
    /// Something that was asked for on it has not all come.
    is_busy: bool,
    state: State,
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
    held: VecDeque<Held>,
    /// When it is looked at again.
    due: Ticks,
}

impl Leg {
    fn new(near: &Near, host: usize) -> Self {
        // Linux's window is not in use by an answer.
        let is_counted = !Habits::of(&near.tcp).validates;
        let grown = if is_counted { near.answered.min(near.tcp.mss).get() } else { 0 };
        Self {
            host,
            is_busy: false,
            state: State::Up,
            window: (near.initial() + grown).min(near.largest()),
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

    fn hold(&mut self, piece: Held) {
        match self.held.back_mut().filter(|last| last.object == piece.object) {
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
                let growth = if habits.byte_counting { bytes } else { bytes.min(near.tcp.mss.get()) };
                self.window = (self.window + growth).min(near.largest());
            }
        }
    }

    fn acknowledge(&mut self, at: Ticks, near: &Near) {
        let (bytes, _) = core::mem::take(&mut self.owed);
        self.acks.push_back((at + Ticks::of(near.round_trip), bytes));
        self.owed_until = Ticks::NEVER;
    }

    /// The next segment that may go at `now`: where it belongs, and of how many bytes.
    fn next(&mut self, (now, skipped): Clocks, near: &Near, habits: &Habits) -> Option<(Held, u64)> {
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
        if timeouts > 0 {
            let least = near.initial().min(self.window);
            let rest = if habits.gentle_restart { self.window >> timeouts.min(63) } else { least };
            self.window = rest.max(least);
            self.used = [0; 2];
        }
    }

    /// When something changes that what is held may wait for.
    fn next_change(&self, near: &Near) -> Ticks {
        let back = if self.owed.1 > 0 { self.owed_until + Ticks::of(near.round_trip) } else { Ticks::NEVER };
        self.acks.front().map_or(back, |(at, _)| back.min(*at))
    }

    fn bring_forward(&mut self, span: Ticks) {
        self.acks.iter_mut().for_each(|(at, _)| *at = at.since(span));
        for time in [&mut self.owed_until, &mut self.due] {
            *time = if *time == Ticks::NEVER { *time } else { time.since(span) };
        }
        (self.last, self.round_ends) = (self.last.since(span), self.round_ends.since(span));
    }
}

/// What has come to the terminal of one object.
#[derive(Debug, Clone, Copy, Default)]
struct Come {
    bytes: u64,
    /// The last of it, which has not gone on.
    held: Option<Held>,
    /// The connection that brings it to the client.
    leg: Option<usize>,
    windows: Windows,
    /// What had been waited for when the client read of it last, by its connection over the link and in all; and when that was.
    read: Option<(Ledger, Ledger, Ticks)>,
}

impl Come {
    /// What has been waited for in all when the client reads on.
    fn account(&mut self, clock: Ticks, held: &Held) -> Ledger {
        let mut all = held.ledger;
        match self.read {
            None => all.slow_start += clock.since(held.at),
            Some((before, read, at)) => {
                all = read;
                all += held.ledger.since(&before).over(clock.since(at));
            }
        }
        self.read = Some((held.ledger, all, clock));
        all
    }
}

/// What of a response was there at once at the gateway, whose frames have no more: where the windows end that are on the way, as far as
/// they are told apart.
#[derive(Debug, Clone, Copy, Default)]
struct Windows {
    ends: [u64; 6],
    count: usize,
    sent: u64,
    /// Where the last one ended of which all has come.
    whole: u64,
}

impl Windows {
    fn note(&mut self, bytes: u64) {
        self.sent += bytes;
        self.count = (self.count + 1).min(self.ends.len());
        self.ends[self.count - 1] = self.sent;
    }

    /// How much of what has come is in frames that are whole, the first of which has so much.
    fn whole(&mut self, come: u64, first: u64) -> u64 {
        let ended = self.ends[..self.count].iter().take_while(|end| **end <= come).count();
        if ended > 0 {
            self.whole = self.ends[ended - 1];
            self.ends.copy_within(ended..self.count, 0);
            self.count -= ended;
        }
        let begins = if self.whole == 0 { first } else { self.whole };
        come.checked_sub(begins).map_or(self.whole, |rest| begins + rest / FRAME * FRAME)
    }
}

/// All of them, and what waits for them.
#[derive(Debug, Default)]
pub(crate) struct Legs {
    /// By the client's connection; where the box answers by itself, as they were opened.
    legs: Vec<Leg>,
    /// By object.
    come: Vec<Come>,
    /// Pushed objects that the client asks for once a connection is free, the oldest first, and their hosts.
    waiting: VecDeque<(usize, usize)>,
}

impl Legs {
    pub(crate) fn reset(&mut self, objects: usize) {
        self.legs.clear();
        self.waiting.clear();
        self.come.clear();
        self.come.resize(objects, Come::default());
    }

    pub(crate) fn bring_forward(&mut self, span: Ticks) {
        self.legs.iter_mut().for_each(|leg| leg.bring_forward(span));
    }

    /// A new connection takes the place of one that was closed.
    pub(crate) fn renew(&mut self, place: usize, near: &Near, host: usize) {
        self.grow_to(place, near, host);
        self.legs[place] = Leg::new(near, host);
    }

    /// There are connections up to this place.
    fn grow_to(&mut self, place: usize, near: &Near, host: usize) {
        while self.legs.len() <= place {
            self.legs.push(Leg::new(near, host));
        }
    }

    /// The connection to `host` that can carry another request now.
    fn free(&self, near: &Near, host: usize) -> Option<usize> {
        let shares = near.http == Http::Http11Pipelined;
        let is_free = |leg: &Leg| leg.host == host && leg.state == State::Up && (shares || !leg.is_busy);
        self.legs.iter().position(is_free)
    }

    /// Whether more is waited for than connections to `host` are being opened, of which there may be more.
    fn wants_another(&self, near: &Near, host: usize) -> bool {
        let most = if near.http == Http::Http11Pipelined { 1 } else { near.connections };
        let there = self.legs.iter().filter(|leg| leg.host == host && leg.state != State::Closed);
        let opening = there.clone().filter(|leg| leg.state == State::Opening).count();
        let waiting = self.waiting.iter().filter(|(_, other)| *other == host).take(opening + 1).count();
        waiting > opening && there.count() < most
    }
}

impl Parameters {
    /// The client's connections with the terminal, where they are not left out.
    pub(crate) fn near(&self, workload: &Workload) -> Option<&Near> {
        self.near.as_ref().filter(|_| workload.total() <= MOST_BYTES)
    }

    /// What crosses the far link are frames, which are read when they are whole.
    fn has_frames(&self) -> bool {
        self.control == Control::FixedRate && self.flow.is_none()
    }
}

impl Load<'_> {
    /// The terminal answers what has come to it unasked.
    pub(crate) fn answers_near(&self) -> bool {
        self.near.is_some() && self.parameters.pushed > 0
    }

    /// `bytes` of a response have come to the terminal, over a connection for which time went as its ledger says.
    pub(crate) fn come_near(&mut self, (place, ledger): (usize, Ledger), object: usize, bytes: u64, link: Ticks) {
        let piece = Held { object, bytes, place, link, ledger, at: self.clock() };
        let come = &mut self.buffers.legs.come[object];
        come.bytes += bytes;
        let before = come.held.map_or(0, |held| held.bytes);
        come.held = Some(Held { bytes: before + bytes, ..piece });
        self.hand_over(object);
    }

    /// What has come whole of a response goes to the client, once that has asked for it.
    fn hand_over(&mut self, object: usize) {
        let Some(leg) = self.leg_of(object) else { return };
        let is_whole = self.parameters.has_frames();
        // A box that cannot read what comes passes on what comes alone: the server's first segment.
        let head = match self.near {
            Some(near) if self.parameters.pushed == 0 => near.tcp.mss.get(),
            _ => self.workload.header(object, self.parameters.response_header_bytes),
        };
        let Come { bytes: come, windows, .. } = &mut self.buffers.legs.come[object];
        let come = *come;
        let ends = [head, if is_whole { windows.whole(come, head) } else { come }];
        for end in &ends[usize::from(!is_whole || come < head)..] {
            let Some(held) = &mut self.buffers.legs.come[object].held else { return };
            let bytes = end.saturating_sub(come - held.bytes);
            if bytes > 0 {
                let piece = Held { bytes, ..*held };
                held.bytes -= bytes;
                self.buffers.legs.legs[leg].hold(piece);
                self.pass_on(leg);
            }
        }
    }

    /// Which of the client's connections an object comes on, if it is asked for.
    fn leg_of(&mut self, object: usize) -> Option<usize> {
        let near = self.near?;
        let (answers, host) = (self.answers_near(), self.workload.object(object).host);
        let Progress { pushed_by, asked_at, .. } = self.buffers.browser.objects[object];
        let legs = &mut self.buffers.legs;
        let come = &legs.come[object];
        if come.leg.is_none() && !(answers && pushed_by.is_some()) {
            let leg = if answers {
                // The browser has asked for it as one of those that it may: there is a connection, or one more.
                let leg = legs.free(near, host).unwrap_or(legs.legs.len());
                legs.grow_to(leg, near, host);
                legs.legs[leg].is_busy = true;
                leg
            } else {
                asked_at.or(come.held.map(|held| held.place))?
            };
            legs.grow_to(leg, near, host);
            legs.come[object].leg = Some(leg);
        }
        legs.come[object].leg
    }

    /// So much of a response is at the gateway at once.
    pub(crate) fn note_window(&mut self, object: usize, bytes: u64) {
        if self.near.is_some() && self.parameters.has_frames() {
            self.buffers.legs.come[object].windows.note(bytes);
        }
    }

    /// Gives the client what the window of a connection allows.
    pub(crate) fn pass_on(&mut self, leg: usize) {
        let Some(near) = self.near else { return };
        let habits = Habits::of(&near.tcp);
        while let Some((held, bytes)) = self.buffers.legs.legs[leg].next((self.now, self.skipped), near, &habits) {
            let clock = self.clock();
            let ledger = self.buffers.legs.come[held.object].account(clock, &held);
            self.read_response((held.place, ledger), held.object, bytes, held.link);
        }
        let leg_of = &mut self.buffers.legs.legs[leg];
        let due = leg_of.next_change(near);
        if !leg_of.held.is_empty() && due < Ticks::NEVER && leg_of.due != due {
            leg_of.due = due;
            self.plan(due.max(self.now), Planned::Window { leg });
        }
    }

    /// The client asks the terminal for what comes unasked, now or once it can.
    pub(crate) fn ask_near(&mut self, object: usize) {
        let host = self.workload.object(object).host;
        self.buffers.legs.waiting.push_back((object, host));
        self.ask_waiting(host);
    }

    /// Requests to `host` go on connections that are free; others are opened.
    fn ask_waiting(&mut self, host: usize) {
        let Some(near) = self.near else { return };
        let due = self.now + Ticks::of(near.round_trip);
        while let Some(next) = self.buffers.legs.waiting.iter().position(|(_, other)| *other == host)
            && let Some(leg) = self.buffers.legs.free(near, host)
            && let Some((object, _)) = self.buffers.legs.waiting.remove(next)
        {
            self.buffers.legs.legs[leg].is_busy = true;
            self.buffers.browser.await_pushed(object);
            self.plan(due, Planned::Answer { object, leg });
        }
        while self.buffers.legs.wants_another(near, host) {
            let leg = self.buffers.legs.legs.len();
            self.buffers.legs.legs.push(Leg { state: State::Opening, ..Leg::new(near, host) });
            // What was acknowledged before the client's program connects lets segments go that are ahead of the answer.
            let connects = Habits::of(&near.tcp).waking.max(Ticks::from_nanos(1));
            self.plan(due + connects, Planned::Open { leg });
        }
    }

    /// A connection with the terminal is up.
    pub(crate) fn opened_near(&mut self, leg: usize) {
        let leg = &mut self.buffers.legs.legs[leg];
        leg.state = State::Up;
        let host = leg.host;
        self.ask_waiting(host);
    }

    /// The terminal's answer to such a request begins, with what has come so far.
    pub(crate) fn answer_near(&mut self, object: usize, leg: usize) {
        self.buffers.browser.objects[object].withheld = false;
        self.buffers.legs.come[object].leg = Some(leg);
        self.hand_over(object);
    }

    /// All of an object has come to the client, which asks for the next one.
    pub(crate) fn ended_near(&mut self, object: usize) {
        let Some(near) = self.near.filter(|_| self.answers_near()) else { return };
        let Legs { legs, come, .. } = &mut self.buffers.legs;
        let Some(leg) = come[object].leg.and_then(|leg| legs.get_mut(leg)) else { return };
        (leg.is_busy, leg.state) = (false, if near.http == Http::Http10 { State::Closed } else { State::Up });
        let host = leg.host;
        self.ask_waiting(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::open;

    fn near(round_trip_ms: u64, assignments: &[&str]) -> Near {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        let scenario = open("demo", &assignments).unwrap();
        Near::of(&scenario, Duration::from_millis(round_trip_ms)).expect("something waits")
    }

    fn held(bytes: u64) -> Held {
        Held { object: 0, bytes, place: 0, link: Ticks::ZERO, ledger: Ledger::default(), at: Ticks::ZERO }
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
