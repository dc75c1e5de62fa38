//! What lies before the terminal: a connection of its own for each of the client's, over the lan, which brings responses window by window.
//!
//! What comes over the far link waits at the terminal for the window of the client's connection there: slow start (RFC 5681 §3.1) over
//! the lan's round trip, with the delayed acknowledgements of its profile (a window of one segment waits for them even where there is no
//! way at all). Times are those of arrival at the client, whose way the recursion has reckoned already. A window grows by what is
//! acknowledged, by no more than a segment for each acknowledgement where those are counted, if half of it was in use where it
//! is validated (RFC 2861), and decays with idling. Where the terminal answers what it has got unasked, the client asks for it first: a round
//! trip, two on a new connection, and one thing after the other on each. Left out: losses and queues in the lan, HyStart, the windows
//! for requests, and all of it for pages beyond 32 MiB.

mod leg;

use super::breakdown::Ledger;
use super::call::FRAME;
use super::connection::Content;
use super::habits::{Acking, Habits};
use super::load::{Load, Planned};
use super::parameters::{Http, Parameters};
use super::progress::Progress;
use super::ticks::Ticks;
use super::workload::Workload;
use farhop_scenario::{Congestion, Scenario, TcpConfig};
use farhop_units::Bytes;
use leg::{Held, Leg, State};
use std::collections::VecDeque;
use std::time::Duration;

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
    /// How long one may be idle.
    pub persistence: Option<Duration>,
    /// What the terminal answers to each before there is anything of the server's.
    pub answered: Bytes,
}

impl Near {
    /// Those of `scenario`; `None` if nothing waits for them.
    pub(super) fn of(scenario: &Scenario, round_trip: Duration) -> Option<Self> {
        let tcp = &scenario.tcp;
        let one_by_one = !matches!(Habits::of(tcp).acking, Acking::Adaptive { .. }) && tcp.initial_window == 1;
        let is_waited_for = round_trip > Duration::ZERO || one_by_one;
        is_waited_for.then(|| Self::lining_up(scenario, round_trip))
    }

    /// The same where requests wait for each other, however short the lan is.
    pub(super) fn lining_up(scenario: &Scenario, round_trip: Duration) -> Self {
        let (connections, http) = (scenario.http.connections.max(1), scenario.http.version.into());
        let persistence = scenario.http.persistence;
        Self { round_trip, tcp: scenario.tcp.clone(), connections, http, persistence, answered: Bytes::ZERO }
    }

    /// What BBR has on the way at least once anything has been acknowledged (bbr_cwnd_min_target).
    fn least(&self) -> u64 {
        let segments = if self.tcp.congestion == Congestion::Bbr { 4 } else { 1 };
        self.tcp.mss.get().saturating_mul(segments)
    }

    fn largest(&self) -> u64 {
        self.tcp.max_window.map_or(NO_LIMIT, Bytes::get).clamp(1, NO_LIMIT)
    }

    fn initial(&self) -> u64 {
        self.tcp.mss.get().saturating_mul(u64::from(self.tcp.initial_window)).clamp(1, self.largest())
    }
}

/// What has come to the terminal of one object, or of keys.
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
    /// Where the first one ends.
    first: u64,
    /// Where the last one ended of which all has come.
    whole: u64,
}

impl Windows {
    fn note(&mut self, bytes: u64) {
        self.first = if self.sent == 0 { bytes } else { self.first };
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
        let begins = self.begins(first);
        come.checked_sub(begins).map_or(self.whole, |rest| begins + rest / FRAME * FRAME)
    }

    /// The end of the first frame, of so much unless the first window has less.
    fn head(&self, first: u64) -> u64 {
        first.min(self.first)
    }

    /// Where frames of so much each begin.
    fn begins(&self, first: u64) -> u64 {
        if self.whole == 0 { first } else { self.whole }
    }

    /// How much must come after so much until more of it is in frames that are whole.
    fn next(&self, come: u64, first: u64) -> u64 {
        let begins = self.begins(first);
        let frame = come.checked_sub(begins).map_or(begins, |rest| begins + (rest / FRAME + 1) * FRAME);
        self.ends[..self.count].first().map_or(frame, |end| frame.min(*end))
    }
}

/// All of them, and what waits for them.
#[derive(Debug, Default)]
pub(crate) struct Legs {
    /// By the client's connection; where the box answers by itself, as they were opened.
    legs: Vec<Leg>,
    /// By object; and by the client's connection what is said about keys.
    come: Vec<Come>,
    keys: Vec<Come>,
    /// Pushed objects that the client asks for once a connection is free, the oldest first, and their hosts.
    waiting: VecDeque<(usize, usize)>,
}

impl Legs {
    pub(crate) fn reset(&mut self, objects: usize) {
        self.legs.clear();
        self.waiting.clear();
        self.come.clear();
        self.come.resize(objects, Come::default());
        self.keys.clear();
    }

    pub(crate) fn bring_forward(&mut self, span: Ticks) {
        self.legs.iter_mut().for_each(|leg| leg.bring_forward(span));
    }

    /// A new connection takes the place of one that was closed.
    pub(crate) fn renew(&mut self, place: usize, near: &Near, host: usize) {
        self.grow_to(place, near, host);
        self.legs[place] = Leg::new(near, host);
        self.keys.resize(self.keys.len().max(place + 1), Come::default());
        self.keys[place] = Come::default();
    }

    fn come_of(&mut self, content: Content) -> &mut Come {
        match content {
            Content::Keys { call } => &mut self.keys[call],
            Content::Object(object) => &mut self.come[object],
        }
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

    /// The client closes those to `host` that have been idle for too long.
    fn close_idle(&mut self, clock: Ticks, near: &Near, host: usize) {
        let Some(persistence) = near.persistence.map(Ticks::of) else { return };
        let of_host = self.legs.iter_mut().filter(|leg| leg.host == host && leg.state == State::Up && !leg.is_busy);
        of_host.filter(|leg| leg.rested + persistence <= clock).for_each(|leg| leg.state = State::Closed);
    }

    /// Those to `host` that are being opened, oldest first.
    fn opening(&self, host: usize) -> impl Iterator<Item = usize> + '_ {
        let is_opening = move |leg: &Leg| leg.host == host && leg.state == State::Opening;
        self.legs.iter().enumerate().filter(move |(_, leg)| is_opening(leg)).map(|(place, _)| place)
    }

    /// Whether there may be one more to `host`.
    fn has_room(&self, near: &Near, host: usize) -> bool {
        let most = if near.http == Http::Http11Pipelined { 1 } else { near.connections };
        self.legs.iter().filter(|leg| leg.host == host && leg.state != State::Closed).count() < most
    }
}

impl Parameters {
    /// The client's connections with the terminal, where they are not left out.
    pub(crate) fn near(&self, workload: &Workload) -> Option<&Near> {
        self.near.as_ref().filter(|_| workload.total() <= MOST_BYTES)
    }
}

impl Load<'_> {
    /// The client asks the terminal for everything, each thing in its turn: what does not come unasked the terminal asks for then.
    pub(crate) fn lines_up(&self) -> bool {
        self.answers_near() && self.parameters.pushed_rate.is_some()
    }

    /// The terminal answers what has come to it unasked.
    pub(crate) fn answers_near(&self) -> bool {
        self.near.is_some() && self.parameters.pushed > 0
    }

    /// `bytes` of what the server says have come to the terminal, over a connection for which time went as its ledger says.
    pub(crate) fn come_near(&mut self, from: (usize, Ledger), content: Content, bytes: u64, link: Ticks) {
        self.hold_near(from, content, bytes, link);
        self.hand_over(content);
    }

    /// The terminal holds what has come so.
    pub(crate) fn hold_near(&mut self, (place, ledger): (usize, Ledger), content: Content, bytes: u64, link: Ticks) {
        let piece = Held { content, bytes, place, link, ledger, at: self.clock() };
        let come = self.buffers.legs.come_of(content);
        come.bytes += bytes;
        let before = come.held.map_or(0, |held| held.bytes);
        come.held = Some(Held { bytes: before + bytes, ..piece });
    }

    /// How many more bytes of an object can come to the terminal without any of them going on.
    pub(crate) fn quiet_near(&self, object: usize) -> u64 {
        let Come { bytes: come, leg, windows, .. } = &self.buffers.legs.come[object];
        let is_withheld = self.answers_near() && self.buffers.browser.objects[object].pushed_by.is_some();
        match leg {
            None if is_withheld => u64::MAX,
            Some(_) if self.parameters.has_frames() => {
                let head = self.head(Content::Object(object));
                windows.next(*come, head).saturating_sub(come + 1)
            }
            Some(_) | None => 0,
        }
    }

    /// The client says something on one of its connections, which acknowledges what has come on it.
    pub(crate) fn speak_near(&mut self, leg: usize) {
        if let Some(near) = self.near
            && let Some(speaking) = self.buffers.legs.legs.get_mut(leg)
        {
            speaking.speak(self.now, near);
            self.await_window(leg, near);
        }
    }

    /// What has come whole goes to the client, once that has asked for it.
    fn hand_over(&mut self, content: Content) {
        let leg = match content {
            Content::Keys { call } => Some(call),
            Content::Object(object) => self.leg_of(object),
        };
        let Some(leg) = leg else { return };
        let (is_whole, head) = (self.parameters.has_frames(), self.head(content));
        let Come { bytes: come, windows, .. } = self.buffers.legs.come_of(content);
        let (come, head) = (*come, windows.head(head));
        let ends = [head, if is_whole { windows.whole(come, head) } else { come }];
        for end in &ends[usize::from(!is_whole || come < head)..] {
            let Some(held) = &mut self.buffers.legs.come_of(content).held else { return };
            let bytes = end.saturating_sub(come - held.bytes);
            if bytes > 0 {
                let piece = Held { bytes, ..*held };
                held.bytes -= bytes;
                self.buffers.legs.legs[leg].hold(piece);
                self.pass_on(leg);
            }
        }
    }

    /// How much of what comes goes on before a frame is whole. A box that cannot read what comes passes on what comes alone: the server's
    /// first segment, if it comes from afar.
    fn head(&self, content: Content) -> u64 {
        match (self.near, content) {
            (_, Content::Object(object)) if self.parameters.pushed > 0 => {
                self.workload.header(object, self.parameters.response_header_bytes)
            }
            (near, _) => near.filter(|_| self.parameters.is_far_behind()).map_or(0, |near| near.tcp.mss.get()),
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

    /// So much of what the server says is at the gateway at once.
    pub(crate) fn note_window(&mut self, content: Content, bytes: u64) {
        if self.near.is_some() && self.parameters.has_frames() {
            self.buffers.legs.come_of(content).windows.note(bytes);
        }
    }

    /// Gives the client what the window of a connection allows.
    pub(crate) fn pass_on(&mut self, leg: usize) {
        let Some(near) = self.near else { return };
        let habits = Habits::of(&near.tcp);
        while let Some((held, bytes)) = self.buffers.legs.legs[leg].next((self.now, self.skipped), near, &habits) {
            match held.content {
                Content::Keys { call } => self.read_keys(call, bytes),
                Content::Object(object) => {
                    let clock = self.clock();
                    let come = &mut self.buffers.legs.come[object];
                    let ledger = if self.explains { come.account(clock, &held) } else { held.ledger };
                    if !self.buffers.browser.takes_quietly(object, bytes) {
                        self.read_response((held.place, ledger), object, bytes, held.link);
                    }
                }
            }
        }
        self.await_window(leg, near);
    }

    /// What a connection holds is looked at again when that may go on.
    fn await_window(&mut self, leg: usize, near: &Near) {
        let leg_of = &mut self.buffers.legs.legs[leg];
        let due = leg_of.next_change(near);
        if !leg_of.held.is_empty() && due < Ticks::NEVER && leg_of.due != due {
            leg_of.due = due;
            self.plan(due.max(self.now), Planned::Window { leg });
        }
    }

    /// The client asks the terminal for something, now or once it can.
    pub(crate) fn ask_near(&mut self, object: usize) {
        let host = self.workload.object(object).host;
        self.buffers.legs.waiting.push_back((object, host));
        self.ask_waiting(host);
    }

    /// Requests to `host` go on connections that are free, the oldest first; others are opened.
    fn ask_waiting(&mut self, host: usize) {
        let Some(near) = self.near else { return };
        let (mut place, mut spoken_for) = (0, 0);
        let clock = self.clock();
        self.buffers.legs.close_idle(clock, near, host);
        while let Some(&(object, other)) = self.buffers.legs.waiting.get(place) {
            let is_pushed = self.buffers.browser.objects[object].pushed_by.is_some();
            let legs = &mut self.buffers.legs;
            let opening = legs.opening(host).nth(spoken_for);
            if other != host {
                place += 1;
            } else if let Some(leg) = legs.free(near, host) {
                legs.waiting.remove(place);
                self.ask_on(leg, object, near);
            } else if let Some(leg) = opening {
                if is_pushed {
                    (place, spoken_for) = (place + 1, spoken_for + 1);
                } else {
                    // What the terminal has to ask for waits for the handshake over the link, of which the lan is part.
                    legs.legs[leg].state = State::Up;
                }
            } else if legs.has_room(near, host) {
                self.open_near(host, near);
            } else {
                return;
            }
        }
    }

    /// Something is asked for on a connection: the terminal has it, or asks for it.
    fn ask_on(&mut self, leg: usize, object: usize, near: &Near) {
        self.buffers.legs.legs[leg].is_busy = true;
        self.speak_near(leg);
        if self.buffers.browser.objects[object].pushed_by.is_some() {
            self.buffers.browser.await_pushed(object);
            return self.plan(self.now + Ticks::of(near.round_trip), Planned::Answer { object, leg });
        }
        self.buffers.legs.come[object].leg = Some(leg);
        self.buffers.browser.discover(object);
        self.may_act = true;
    }

    fn open_near(&mut self, host: usize, near: &Near) {
        let leg = self.buffers.legs.legs.len();
        let mut opening = Leg::new(near, host);
        opening.state = State::Opening;
        self.buffers.legs.legs.push(opening);
        // What was acknowledged before the client's program connects lets segments go that are ahead of the answer.
        let connects = Habits::of(&near.tcp).waking.max(Ticks::from_nanos(1));
        let begins = self.now.max(self.resolve(host));
        self.plan(begins + Ticks::of(near.round_trip) + connects, Planned::Open { leg });
    }

    /// A connection with the terminal is up.
    pub(crate) fn opened_near(&mut self, leg: usize) {
        let clock = self.clock();
        let leg = &mut self.buffers.legs.legs[leg];
        (leg.state, leg.rested) = (State::Up, clock);
        let host = leg.host;
        self.ask_waiting(host);
    }

    /// The terminal's answer to such a request begins, with what has come so far.
    pub(crate) fn answer_near(&mut self, object: usize, leg: usize) {
        self.buffers.browser.objects[object].withheld = false;
        self.buffers.legs.come[object].leg = Some(leg);
        self.hand_over(Content::Object(object));
    }

    /// All of an object has come to the client, which asks for the next one.
    pub(crate) fn ended_near(&mut self, object: usize) {
        let clock = self.clock();
        let Some(near) = self.near.filter(|_| self.answers_near()) else { return };
        let Legs { legs, come, .. } = &mut self.buffers.legs;
        let Some(leg) = come[object].leg.and_then(|leg| legs.get_mut(leg)) else { return };
        leg.rested = clock;
        (leg.is_busy, leg.state) = (false, if near.http == Http::Http10 { State::Closed } else { State::Up });
        let host = leg.host;
        self.ask_waiting(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_whole_before_the_next_that_is(
            windows in prop::collection::vec(1..4 * FRAME, 1..6),
            head in 0..2000_u64,
            steps in prop::collection::vec(0..2 * FRAME, 1..9),
        ) {
            let (mut all, mut come) = (Windows::default(), 0);
            windows.iter().for_each(|bytes| all.note(*bytes));
            for bytes in steps {
                come = (come + bytes).min(all.sent);
                let whole = all.whole(come, head);
                let next = all.next(come, head);
                let at = |come: u64| {
                    let mut all = all;
                    all.whole(come, head)
                };
                prop_assert!(next > come && at(next - 1) == whole && at(next) > whole, "{all:?}: {whole} at {come}, {next}");
            }
        }
    }
}
