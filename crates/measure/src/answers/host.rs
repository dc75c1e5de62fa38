//! What is known of a host as its packets pass the link, and which of them are answers.

use farhop_scenario::{DUPLICATE_THRESHOLD, HEADER_BYTES, PROGRAM_STAYS_AWAKE, PauseTimes, sending_time};
use farhop_units::{Bytes, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// What takes longer waits for something else: no kernel's timer that delays acknowledgements is as short. So does a program at work; and who wakes up has
/// done so by then, or answers nothing that is heard.
const LONGEST: Duration = Duration::from_millis(1);
/// And no program that has slept, or has not done that for long.
const LONGEST_OF_PROGRAMS: Duration = Duration::from_millis(10);
/// Behind packets that came later it may be one of these that names what a connection is opened for.
const LONGEST_OPENING: Duration = Duration::from_millis(2);
/// What leaves so soon after an answer's first packet is of the same.
const TOGETHER: Duration = Duration::from_micros(20);
/// A program that has not done something for so long may take longer than one at work, and what a host sends that had nothing to do for so long is an answer
/// even if it has a pace of its own.
pub(super) const RESTED: Duration = Duration::from_millis(30);
/// After such a pause kernels are listened to in loads, too: what others send then is no answer to something before.
pub(super) const PAUSE: Duration = Duration::from_millis(3);

/// One answer, and how long after the packet before it came what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) pause: Duration,
    pub(super) takes: Duration,
    pub(super) says: Says,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// Data that an acknowledgement lets go, or what the answer to a SYN is.
    More,
    /// An acknowledgement of data in order, which may wait until a program has read them.
    Read,
    /// One that tells of a gap, which the kernel sends.
    Gap,
}

/// One of a program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProgramAnswer {
    /// How long it has not done the same.
    pub(super) rested: Duration,
    pub(super) takes: Duration,
    pub(super) since: Since,
}

/// From when a program's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// Its kernel has acknowledged by itself what it answers.
    Acknowledgement,
    /// It was delivered, so long after the packet before.
    Delivery { pause: Duration },
    /// It has opened another connection, and nothing was delivered since.
    Opening,
}

/// Options of an acknowledgement with one to three blocks (RFC 2018).
const SELECTIVE: [Bytes; 3] = [Bytes::new(12), Bytes::new(20), Bytes::new(28)];

/// What passes one end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Acknowledgement,
    /// An acknowledgement that names what has arrived behind a gap.
    Selective,
    /// What opens a connection or asks whether one may.
    Opening,
    /// Requests, and the ends of what answers them.
    Other,
}

impl Kind {
    /// Of a packet of this size, where full ones and those that open connections have these.
    pub(super) fn of(bytes: Bytes, [full, opening]: [Bytes; 2]) -> Self {
        match bytes {
            // Who gives up a connection says so in less.
            bytes if bytes <= HEADER_BYTES => Self::Acknowledgement,
            bytes if bytes == full => Self::Data,
            bytes if bytes == opening => Self::Opening,
            bytes if SELECTIVE.map(|options| HEADER_BYTES + options).contains(&bytes) => Self::Selective,
            _ => Self::Other,
        }
    }
}

/// Which end of a connection a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

impl End {
    /// Whether its program does something about what is delivered: kernels answer who opens a connection.
    fn asks(self, kind: Kind) -> bool {
        matches!((self, kind), (_, Kind::Data | Kind::Other) | (Self::Client, Kind::Opening))
    }

    /// Whether its kernel acknowledges that by itself: what else a client acknowledges it does as its program reads.
    fn acknowledges(self, kind: Kind) -> bool {
        matches!((self, kind), (Self::Client, Kind::Opening) | (Self::Server, Kind::Other))
    }
}

/// What a program has to answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    kind: Kind,
    /// How long the program had slept when it came.
    slept: Duration,
    /// From when its answer counts.
    from: Instant,
    since: Since,
}

impl Asked {
    /// The answer, if it is none to something else, of a program that has done the same before or never.
    fn answer(&self, now: Instant, last: Option<Instant>) -> Option<ProgramAnswer> {
        let takes = now.since(self.from);
        let rested = last.map_or(Duration::MAX, |last| self.from.since(last.min(self.from)));
        let is_at_work = self.slept <= PROGRAM_STAYS_AWAKE && rested < RESTED;
        let longest = if is_at_work { LONGEST } else { LONGEST_OF_PROGRAMS };
        (takes <= longest).then_some(ProgramAnswer { rested, takes, since: self.since })
    }
}

/// A SYN, or what answers one.
#[derive(Debug, Clone, Copy)]
struct Opening {
    came: Instant,
    pause: Duration,
    /// No other one was waiting then.
    is_first: bool,
}

/// What is known of a host.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// When something was delivered last.
    heard: Option<Instant>,
    /// How many acknowledgements have told of a gap since one that did not, by connection.
    gaps: BTreeMap<u64, u32>,
    /// What was, if it has no answer yet: its kind, and how long after the one before it came.
    question: Option<(Kind, Duration)>,
    /// Who has opened a connection, or answered that, by connection; nobody any more once that has an answer.
    opening: BTreeMap<u64, Option<Opening>>,
    /// The answer under way: when its first packet left, and how many of data there are.
    answer: Option<(Instant, u32, Answer)>,
    /// When the program had something to do last, when it sent last, and when it has opened a connection and anything else.
    ran: Option<Instant>,
    sent: Option<Instant>,
    opened: Option<Instant>,
    answered: Option<Instant>,
    /// When it was woken up, if it has sent nothing since.
    wakes: Option<Instant>,
    /// What was delivered to it that it has not answered, by connection.
    asked: BTreeMap<u64, Asked>,
    /// What has woken the program, which has sent nothing since: it may name objects for which connections are opened, whatever follows it.
    names: Option<Asked>,
}

/// Which connection packets belong to: flows are of one direction.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Those that servers were asked for and have not answered, and all that they were.
    opening: VecDeque<u64>,
    asked: BTreeSet<u64>,
    /// The way up, by the way down.
    ways: BTreeMap<u64, u64>,
}

impl Connections {
    /// The connection of a packet on a way up or down, that is heard or sent there. Servers' kernels answer who opens connections in their order.
    pub(super) fn of(&mut self, is_up: bool, (is_heard, kind): (bool, Kind), flow: u64) -> u64 {
        match (is_up, is_heard, kind) {
            (true, true, Kind::Opening) if self.asked.insert(flow) => self.opening.push_back(flow),
            (false, false, Kind::Opening) if !self.ways.contains_key(&flow) => {
                self.ways.extend(self.opening.pop_front().map(|up| (flow, up)));
            }
            _ => {}
        }
        if is_up { flow } else { self.ways.get(&flow).copied().unwrap_or(flow) }
    }
}

impl Answer {
    /// What a program took that has read first, as [`ProgramAnswer::of_program`].
    pub(super) fn of_reading(&self, kernel: &PauseTimes) -> Duration {
        ProgramAnswer { rested: self.pause, takes: self.takes, since: Since::Delivery { pause: self.pause } }
            .of_program(kernel)
    }
}

impl ProgramAnswer {
    /// What the program took beyond a kernel that gets to what is delivered in such a time. Where the kernel's own share is not known it is taken
    /// to be the middle one, so that its scatter is the program's as well.
    pub(super) fn of_program(&self, kernel: &PauseTimes) -> Duration {
        let before = match self.since {
            Since::Acknowledgement | Since::Opening => Duration::ZERO,
            Since::Delivery { pause } => kernel.after(Some(pause)).at(PauseTimes::ALL / 2),
        };
        self.takes.saturating_sub(before)
    }
}

impl Host {
    /// A packet is delivered to it. The answer that is whole by then.
    pub(super) fn hears(&mut self, now: Instant, kind: Kind) -> Option<Answer> {
        let pause = self.heard.replace(now).map_or(Duration::MAX, |before| now.since(before));
        self.question = Some((kind, pause));
        self.ended()
    }

    /// One of its packets is at the link. The answer before it, which is whole by then.
    pub(super) fn sends(&mut self, now: Instant, (kind, connection): (Kind, u64)) -> Option<Answer> {
        let gaps = self.gaps.entry(connection).or_default();
        *gaps = match kind {
            Kind::Selective => gaps.saturating_add(1),
            Kind::Acknowledgement => 0,
            _ => *gaps,
        };
        // Acknowledgements that follow may wait for each other.
        let is_told_at_once = u64::from(*gaps) <= DUPLICATE_THRESHOLD;
        if let Some((first, count, _)) = &mut self.answer
            && now.since(*first) <= TOGETHER
        {
            *count += u32::from(kind == Kind::Data);
            return None;
        }
        let ended = self.ended();
        let (Some((question, pause)), Some(heard)) = (self.question.take(), self.heard) else { return ended };
        let takes = now.since(heard);
        let says = match (question, kind) {
            (Kind::Acknowledgement | Kind::Selective, Kind::Data) => Some(Says::More),
            (Kind::Data, Kind::Acknowledgement) => Some(Says::Read),
            (Kind::Data, Kind::Selective) if is_told_at_once => Some(Says::Gap),
            _ => None,
        };
        if let Some(says) = says.filter(|_| takes <= LONGEST) {
            self.answer = Some((now, u32::from(says == Says::More), Answer { pause, takes, says }));
        }
        ended
    }

    /// The answer under way is whole: what its segments took to send is no part of it. One that took less was no answer, or to something before.
    pub(super) fn ended(&mut self) -> Option<Answer> {
        let (_, count, answer) = self.answer.take()?;
        let takes = answer.takes.checked_sub(sending_time(count)).filter(|takes| !takes.is_zero())?;
        Some(Answer { takes, ..answer })
    }

    /// A SYN, or what answers one, is delivered to it, of which it has heard.
    pub(super) fn is_opened(&mut self, now: Instant, connection: u64) {
        let Some((_, pause)) = self.question else { return };
        let is_first = self.opening.values().flatten().all(|other| now.since(other.came) > LONGEST);
        // What has the same size later is something else.
        self.opening.entry(connection).or_insert(Some(Opening { came: now, pause, is_first }));
    }

    /// One of its packets is at the link. The kernel's answer to who has opened the connection, if it is one, and the kernel not at another one
    /// already when that came.
    pub(super) fn accepts(&mut self, now: Instant, (kind, connection): (Kind, u64), end: End) -> Option<Answer> {
        let Opening { came, pause, is_first } = self.opening.get_mut(&connection)?.take()?;
        let is_answer = matches!((end, kind), (End::Server, Kind::Opening) | (End::Client, Kind::Acknowledgement));
        let takes = now.since(came);
        (is_answer && is_first && takes <= LONGEST).then_some(Answer { pause, takes, says: Says::More })
    }

    /// A packet of a connection is delivered to it, of which it has heard: so a program may be asked for something. Of several within the time that it
    /// stays awake it answers the first one first, but nothing that is in pieces before the last of them.
    pub(super) fn is_asked(&mut self, now: Instant, (kind, connection): (Kind, u64), end: End) {
        if matches!(kind, Kind::Acknowledgement | Kind::Selective) {
            // Whether that lets go what is sent next over the connection, or the program writes it, nobody knows.
            let may_answer = self.asked.remove(&connection).is_some() && end == End::Server;
            self.answered = if may_answer { Some(now) } else { self.answered };
            self.names = None;
            return;
        }
        let Some((_, pause)) = self.question else { return };
        let slept = self.ran.replace(now).map_or(Duration::MAX, |ran| now.since(ran));
        let waits =
            |asked: &Asked| now.since(asked.from) <= PROGRAM_STAYS_AWAKE && asked.kind == kind && kind != Kind::Data;
        let asked = Asked { kind, slept, from: now, since: Since::Delivery { pause } };
        if end.asks(kind) && self.asked.get(&connection).is_none_or(|asked| !waits(asked)) {
            self.asked.insert(connection, asked);
        }
        if end.asks(kind) {
            let may_name = |names: &Asked| now.since(names.from) <= LONGEST_OPENING;
            let wakes = slept > PROGRAM_STAYS_AWAKE;
            self.names = if wakes { Some(asked) } else { self.names.filter(may_name) };
            self.wakes = if wakes { Some(now) } else { self.wakes };
        }
    }

    /// Whether the program has done meanwhile what others have asked, or was awake, but may still have been waking up: so this takes longer.
    fn is_busy(&self, asked: &Asked) -> bool {
        let is_waking = |wakes: Instant| asked.slept <= PROGRAM_STAYS_AWAKE && asked.from <= wakes + LONGEST;
        self.wakes.is_some_and(is_waking) || self.sent.is_some_and(|sent| sent >= asked.from)
    }

    /// One of its packets is at the link. The program's answer, if it is one.
    pub(super) fn runs(&mut self, now: Instant, (kind, connection): (Kind, u64), end: End) -> Option<ProgramAnswer> {
        if kind == Kind::Acknowledgement {
            let is_first = |asked: &&mut Asked| asked.since != Since::Acknowledgement && end.acknowledges(asked.kind);
            if let Some(asked) = self.asked.get_mut(&connection).filter(is_first) {
                (asked.from, asked.since) = (now, Since::Acknowledgement);
            }
            return None;
        }
        match (kind, end) {
            (Kind::Selective, _) => None,
            // Its kernel accepts, which may wake the program.
            (Kind::Opening, End::Server) => {
                self.ran = Some(now);
                None
            }
            (Kind::Opening, End::Client) => self.opens(now),
            _ => self.answers(now, connection),
        }
    }

    /// The program opens a connection: for something that it may just have read, or right behind another one.
    fn opens(&mut self, now: Instant) -> Option<ProgramAnswer> {
        let names = self.names.take();
        let last_sent = self.sent;
        self.does_something(now);
        let last = self.opened.replace(now);
        let behind_another = || {
            let takes = last.filter(|_| last_sent == last && self.heard < last).map(|last| now.since(last))?;
            (takes <= LONGEST).then_some(ProgramAnswer { rested: takes, takes, since: Since::Opening })
        };
        names.map_or_else(behind_another, |names| names.answer(now, last))
    }

    /// Something is sent over a connection: by the program if it was asked for something there, else by the kernel.
    fn answers(&mut self, now: Instant, connection: u64) -> Option<ProgramAnswer> {
        self.names = None;
        let asked = self.asked.remove(&connection)?;
        let is_busy = self.is_busy(&asked);
        self.does_something(now);
        let last = self.answered.replace(now);
        asked.answer(now, last).filter(|_| !is_busy)
    }

    fn does_something(&mut self, now: Instant) {
        (self.ran, self.sent, self.wakes) = (Some(now), Some(now), None);
    }
}
