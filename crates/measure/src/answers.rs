//! How long this machine's hosts take to answer what the link delivers, out of the emulator's packet log.
//!
//! A transfer at the link's pace that nothing disturbs tells what kernels take: an acknowledgement of data that were delivered, and the data that an
//! acknowledgement lets go, are at the link again as soon as a host's kernel has got to what was delivered, and has sent. What waits for a timer or
//! for a program is none of these and takes longer, or has another size. The emulator's own lateness is in it, as it is in every load. On fast links
//! an answer that is slower than the next packet counts as that one's: tails end at the pace.
//!
//! Programs are listened to in loads themselves, since it is the machine's business at such a time that decides how soon they run: how long a server
//! takes to answer a request, and a client to ask for the next object or over a new connection, or to open the first of several, by how long it has not done
//! the same. Who is awake counts where it has done nothing else meanwhile; who opens further connections, and who waits for room, are not told apart. So are
//! kernels that had nothing to do for long, which happens once in a transfer and in a load with every round trip: an acknowledgement that comes after
//! a pause and lets data go. What clients acknowledge then may wait for their programs, so it does not count; a sender's program may be who sends, too,
//! where all was on the way that its send buffer took, which nobody can tell apart here: most such acknowledgements find data in the buffer.

use crate::MeasureError;
use crate::session::{Session, Work};
use farhop_emu::LinkRecord;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{ChannelConfig, DirectionConfig, Output, Port};
use farhop_results::Architecture;
use farhop_scenario::{
    AfterPause, Congestion, HEADER_BYTES, HostTimes, PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PauseTimes, Profile,
    Scenario, TcpConfig, sending_time,
};
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpConfig, Page, Tls};
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
/// Pauses before a packet that are told from each other, in ms, and times in which a program has not done the same.
const PAUSES_MS: [u64; 8] = [0, 1, 3, 10, 30, 60, 120, 300];
/// After such a pause kernels are listened to in loads, too.
const RESTED: Duration = Duration::from_millis(30);
/// Of fewer answers nothing is concluded: of kernels, whose rare long ones count, and of what happens once in a round trip.
const FEWEST: usize = 50;
const FEWEST_ONCE: usize = 10;
/// The quantiles that are told, in thousandths.
const SHARES: [u32; 15] = [0, 10, 50, 100, 250, 500, 750, 900, 950, 970, 980, 990, 995, 999, PauseTimes::ALL];

/// A file that takes so long, of a thousand packets at most and of some on the slowest link.
const TRANSFER: Duration = Duration::from_secs(4);
const MOST_BYTES: Bytes = Bytes::new(1_448_000);
const LEAST_BYTES: Bytes = Bytes::new(144_800);

/// What hosts took to answer packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAnswers {
    kernels: Vec<Answer>,
    clients: Vec<ProgramAnswer>,
    openings: Vec<ProgramAnswer>,
    servers: Vec<ProgramAnswer>,
}

/// One answer, and how long after the packet before it came what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    pause: Duration,
    takes: Duration,
    /// It is data, and no acknowledgement.
    sends_data: bool,
}

/// One of a program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProgramAnswer {
    /// How long it has not done the same.
    rested: Duration,
    takes: Duration,
    since: Since,
}

/// From when a program's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// Its kernel has acknowledged by itself what it answers.
    Acknowledgement,
    /// It was delivered, so long after the packet before.
    Delivery { pause: Duration },
}

/// Sends something once at the pace of the scenario's link, over one connection of Reno's without losses and with room for all of it in the
/// queue, and listens to the hosts' kernels.
///
/// # Errors
/// The testbed cannot be had, or the transfer fails.
pub fn answers(scenario: &Scenario) -> Result<HostAnswers, MeasureError> {
    let scenario = undisturbed(scenario);
    let session = Session::start(&Work::new(&scenario)?, 0)?;
    session.load(session.direct())?;
    let record = session.stop()?;
    let link = record.link.expect("a session's testbed keeps its packets in memory");
    Ok(HostAnswers { kernels: HostAnswers::of(&link, scenario.tcp.mss).kernels, ..HostAnswers::default() })
}

/// A scenario without boxes, whose programs do nothing but what any does: what is on the way to them, who thinks and who encrypts takes no time,
/// so that all that passes between a packet and its answer is the hosts'.
pub fn with_plain_programs(scenario: &Scenario) -> Scenario {
    let mut plain = scenario.clone();
    (plain.wan, plain.lan) = (ChannelConfig::default(), ChannelConfig::default());
    plain.http.tls = Tls::None;
    plain.page.objects.iter_mut().for_each(|object| object.think = Duration::ZERO);
    plain.run.architectures = vec![Architecture::Direct];
    plain
}

/// Nothing but rates and delays of a scenario's link, and a file.
fn undisturbed(scenario: &Scenario) -> Scenario {
    let way = |way: &DirectionConfig| DirectionConfig {
        rate: way.told_rate(),
        delay: way.least_delay(),
        ..DirectionConfig::default()
    };
    let link = ChannelConfig { down: way(&scenario.link.down), up: way(&scenario.link.up), ..ChannelConfig::default() };
    let soon = link.down.rate.map(|rate| Bytes::new(rate.bits_per_second() / 8 * TRANSFER.as_secs()));
    let file = soon.unwrap_or(MOST_BYTES).clamp(LEAST_BYTES, MOST_BYTES);
    Scenario {
        link,
        wan: ChannelConfig::default(),
        lan: ChannelConfig::default(),
        tcp: TcpConfig { congestion: Congestion::Reno, mss: scenario.tcp.mss, ..TcpConfig::of(Profile::Linux) },
        page: Page::uniform(1, file).expect("one file is a page"),
        page_notes: Vec::new(),
        page_is_sealed: false,
        users: None,
        log: None,
        http: HttpConfig { connections: 1, ..HttpConfig::DEFAULT },
        multicast: None,
        ..scenario.clone()
    }
}

/// Options of an acknowledgement with one to three blocks (RFC 2018).
const SELECTIVE: [Bytes; 3] = [Bytes::new(12), Bytes::new(20), Bytes::new(28)];

/// What passes one end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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
    fn of(bytes: Bytes, [full, opening]: [Bytes; 2]) -> Self {
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
enum End {
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
struct Asked {
    kind: Kind,
    /// How long the program had slept when it came.
    slept: Duration,
    /// From when its answer counts.
    from: Instant,
    since: Since,
}

/// What is known of a host.
#[derive(Debug, Default)]
struct Host {
    /// When something was delivered last.
    heard: Option<Instant>,
    /// What was, if it has no answer yet: its kind, and how long after the one before it came.
    question: Option<(Kind, Duration)>,
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
struct Connections {
    /// Those that servers were asked for and have not answered, and all that they were.
    opening: VecDeque<u64>,
    asked: BTreeSet<u64>,
    /// The way up, by the way down.
    ways: BTreeMap<u64, u64>,
}

impl Connections {
    /// The connection of a packet on a way up or down, that is heard or sent there. Servers' kernels answer who opens connections in their order.
    fn of(&mut self, is_up: bool, (is_heard, kind): (bool, Kind), flow: u64) -> u64 {
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

impl HostAnswers {
    /// Those of what entered and left a link between ends with full segments of so much payload.
    fn of(link: &LinkRecord, mss: Bytes) -> Self {
        Self::of_packets((&link.inputs, &link.outputs), mss)
    }

    /// Programs' in a load, and those of kernels that have rested, by what entered and left its link between ends with full segments of so much payload.
    pub(crate) fn of_load(link: &LinkRecord, mss: Bytes) -> Self {
        let mut all = Self::of(link, mss);
        all.kernels.retain(|answer| answer.sends_data && answer.pause >= RESTED);
        all
    }

    fn of_packets((inputs, outputs): (&[Input], &[Output<Recorded>]), mss: Bytes) -> Self {
        let heard = outputs.iter().filter_map(|output| match output {
            Output::Deliver { at, port, packet } => Some((*at, *port, true, *packet)),
            Output::Drop { .. } => None,
        });
        let sent = inputs.iter().filter_map(|input| match input {
            Input::Arrival { at, port, packet } => Some((*at, *port, false, *packet)),
            Input::Change { .. } => None,
        });
        let mut events: Vec<(Instant, Port, bool, Recorded)> = heard.chain(sent).collect();
        events.sort_by_key(|(at, ..)| *at);
        // Real hosts are Linux's whatever the scenario's are.
        let sizes = [mss + HEADER_BYTES, TcpConfig::of(Profile::Linux).syn_bytes()];
        let (mut hosts, mut all) = (BTreeMap::<Option<u16>, Host>::new(), Self::default());
        let mut connections = Connections::default();
        for (at, port, is_heard, packet) in events {
            let terminal = if let Port::Terminal(number) = port { Some(number) } else { None };
            let (host, kind) = (hosts.entry(terminal).or_default(), Kind::of(packet.bytes, sizes));
            let connection = connections.of(terminal.is_none() == is_heard, (is_heard, kind), packet.flow);
            all.kernels.extend(if is_heard { host.hears(at, kind) } else { host.sends(at, kind) });
            let (end, programs) = match (terminal, kind) {
                (None, _) => (End::Server, &mut all.servers),
                (Some(_), Kind::Opening) => (End::Client, &mut all.openings),
                (Some(_), _) => (End::Client, &mut all.clients),
            };
            if is_heard {
                host.is_asked(at, (kind, connection), end);
            } else {
                programs.extend(host.runs(at, (kind, connection), end));
            }
        }
        all.kernels.extend(hosts.values_mut().filter_map(Host::ended));
        all
    }

    /// How many of kernels there are, of clients that ask and that open connections, and of servers.
    pub fn counts(&self) -> [usize; 4] {
        [self.kernels.len(), self.clients.len(), self.openings.len(), self.servers.len()]
    }

    /// What they say of hosts; after pauses of which there are too few what a quiet machine's take, and of none a quiet one's.
    pub fn host_times(&self) -> HostTimes {
        let quiet = HostTimes::quiet();
        let answers = self.kernels.iter().map(|answer| (answer.pause, answer.takes));
        let kernel = by_pause(answers, &quiet.kernel, |pause| if pause < RESTED { FEWEST } else { FEWEST_ONCE });
        let program = |answers: &[ProgramAnswer], writes: Duration, quiet: &PauseTimes| {
            let of_program = |answer: &ProgramAnswer| answer.of_program(&kernel).saturating_sub(writes);
            let takes = answers.iter().map(|answer| (answer.rested, of_program(answer)));
            by_pause(takes, quiet, |_| FEWEST_ONCE)
        };
        let client = program(&self.clients, PROGRAM_WRITES, &quiet.client);
        let opening = program(&self.openings, Duration::ZERO, &quiet.opening);
        let server = program(&self.servers, PROGRAM_WRITES, &quiet.server);
        HostTimes { kernel, client, opening, server }
    }
}

impl Extend<Self> for HostAnswers {
    fn extend<T: IntoIterator<Item = Self>>(&mut self, others: T) {
        for others in others {
            self.kernels.extend(others.kernels);
            self.clients.extend(others.clients);
            self.openings.extend(others.openings);
            self.servers.extend(others.servers);
        }
    }
}

impl ProgramAnswer {
    /// What the program took beyond a kernel of these times. Where the kernel's own share is not known it is taken
    /// to be the middle one, so that its scatter is the program's as well.
    fn of_program(&self, kernel: &PauseTimes) -> Duration {
        let before = match self.since {
            Since::Acknowledgement => Duration::ZERO,
            Since::Delivery { pause } => kernel.after(Some(pause)).at(PauseTimes::ALL / 2),
        };
        self.takes.saturating_sub(before)
    }
}

/// Times after pauses in order; after those of which there are fewer, and if there are no others, what is known.
fn by_pause(
    answers: impl Iterator<Item = (Duration, Duration)>,
    known: &PauseTimes,
    fewest: impl Fn(Duration) -> usize,
) -> PauseTimes {
    let answers: Vec<(Duration, Duration)> = answers.collect();
    let pauses = PAUSES_MS.into_iter().map(Duration::from_millis);
    let ends = pauses.clone().skip(1).chain([Duration::MAX]);
    let heard = pauses.zip(ends).map(|(from, end)| {
        let within = |(pause, _): &&(Duration, Duration)| from <= *pause && (*pause < end || end == Duration::MAX);
        let mut takes: Vec<Duration> = answers.iter().filter(within).map(|(_, takes)| *takes).collect();
        takes.sort_unstable();
        (from, if takes.len() < fewest(from) { Vec::new() } else { takes })
    });
    let heard: Vec<(Duration, Vec<Duration>)> = heard.collect();
    if heard.iter().all(|(_, takes)| takes.is_empty()) {
        return known.clone();
    }
    let times = heard.into_iter().map(|(from, takes)| quantiles(from, &takes, known));
    PauseTimes::new(times.collect()).expect("quantiles are in order")
}

/// What so many sorted times say, or what is known if there are none.
fn quantiles(pause: Duration, takes: &[Duration], known: &PauseTimes) -> AfterPause {
    let known = known.after(Some(pause + Duration::from_nanos(1)));
    let last = takes.len().saturating_sub(1);
    let at = |share: u32| {
        let place = (last * share as usize).div_ceil(PauseTimes::ALL as usize);
        takes.get(place).copied().unwrap_or_else(|| known.at(share))
    };
    AfterPause { pause, quantiles: SHARES.map(|share| (share, at(share))).to_vec() }
}

impl Host {
    /// A packet is delivered to it. The answer that is whole by then.
    fn hears(&mut self, now: Instant, kind: Kind) -> Option<Answer> {
        let pause = self.heard.replace(now).map_or(Duration::MAX, |before| now.since(before));
        self.question = Some((kind, pause));
        self.ended()
    }

    /// One of its packets is at the link. The answer before it, which is whole by then.
    fn sends(&mut self, now: Instant, kind: Kind) -> Option<Answer> {
        if let Some((first, count, _)) = &mut self.answer
            && now.since(*first) <= TOGETHER
        {
            *count += u32::from(kind == Kind::Data);
            return None;
        }
        let ended = self.ended();
        let (Some((question, pause)), Some(heard)) = (self.question.take(), self.heard) else { return ended };
        let takes = now.since(heard);
        let is_answer =
            matches!((question, kind), (Kind::Data, Kind::Acknowledgement) | (Kind::Acknowledgement, Kind::Data));
        if is_answer && takes <= LONGEST {
            let sends_data = kind == Kind::Data;
            self.answer = Some((now, u32::from(sends_data), Answer { pause, takes, sends_data }));
        }
        ended
    }

    /// The answer under way is whole: what its segments took to send is no part of it. One that took less was no answer, or to something before.
    fn ended(&mut self) -> Option<Answer> {
        let (_, count, answer) = self.answer.take()?;
        let takes = answer.takes.checked_sub(sending_time(count)).filter(|takes| !takes.is_zero())?;
        Some(Answer { takes, ..answer })
    }

    /// A packet of a connection is delivered to it, of which it has heard: so a program may be asked for something. Of several within the time that it
    /// stays awake it answers the first one first, but nothing that is in pieces before the last of them.
    fn is_asked(&mut self, now: Instant, (kind, connection): (Kind, u64), end: End) {
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
    fn runs(&mut self, now: Instant, (kind, connection): (Kind, u64), end: End) -> Option<ProgramAnswer> {
        if kind == Kind::Acknowledgement {
            let is_first = |asked: &&mut Asked| asked.since != Since::Acknowledgement && end.acknowledges(asked.kind);
            if let Some(asked) = self.asked.get_mut(&connection).filter(is_first) {
                (asked.from, asked.since) = (now, Since::Acknowledgement);
            }
            return None;
        }
        if kind == Kind::Selective {
            return None;
        }
        let is_opening = kind == Kind::Opening;
        if is_opening && end == End::Server {
            self.ran = Some(now);
            return None;
        }
        let (asked, names) = (self.asked.remove(&connection), self.names.take());
        let is_busy = !is_opening && asked.is_some_and(|asked| self.is_busy(&asked));
        // What else is sent is a kernel's.
        if is_opening || asked.is_some() {
            (self.ran, self.sent, self.wakes) = (Some(now), Some(now), None);
        }
        let asked = if is_opening { names } else { asked };
        let last = if is_opening { self.opened.replace(now) } else { asked.and_then(|_| self.answered.replace(now)) };
        let Asked { slept, from, since, .. } = asked?;
        let (rested, takes) = (last.map_or(Duration::MAX, |last| from.since(last.min(from))), now.since(from));
        let is_at_work = slept <= PROGRAM_STAYS_AWAKE && rested < RESTED;
        let longest = if is_at_work { LONGEST } else { LONGEST_OF_PROGRAMS };
        (!is_busy && takes <= longest).then_some(ProgramAnswer { rested, takes, since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_link::QueueLimit;

    const FULL: Bytes = Bytes::new(1500);
    const SYN: u64 = 60;

    fn at(micros: u64) -> Instant {
        Instant::START + Duration::from_micros(micros)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    type Record = (Vec<Input>, Vec<Output<Recorded>>);

    /// What was heard and sent at a terminal: µs and bytes.
    fn record(heard: &[(u64, u64)], sent: &[(u64, u64)]) -> Record {
        let (port, packet) = (Port::Terminal(0), |bytes: u64| Recorded::new(0, Bytes::new(bytes)));
        let heard = heard.iter().map(|(time, bytes)| Output::Deliver { at: at(*time), port, packet: packet(*bytes) });
        let sent = sent.iter().map(|(time, bytes)| Input::Arrival { at: at(*time), port, packet: packet(*bytes) });
        (sent.collect(), heard.collect())
    }

    fn of((inputs, outputs): &Record) -> HostAnswers {
        HostAnswers::of_packets((inputs, outputs), FULL - HEADER_BYTES)
    }

    fn answers(heard: &[(u64, u64)], sent: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
        of(&record(heard, sent)).kernels.into_iter().map(|answer| (answer.pause, answer.takes)).collect()
    }

    #[test]
    fn nothing_of_a_scenario_but_its_pace_is_listened_to() {
        for (name, change) in
            [("geo-consumer", "link.down.loss=3%"), ("demo", "link.up.queue=3 kB"), ("starlink", "tcp.mss=1000")]
        {
            let scenario = farhop_scenario::open(name, &[change.to_owned()]).expect(name);
            let quiet = undisturbed(&scenario);
            let pace = |scenario: &Scenario| {
                let way = |way: &DirectionConfig| (way.told_rate(), way.least_delay());
                (way(&scenario.link.down), way(&scenario.link.up), scenario.tcp.mss)
            };
            assert_eq!(pace(&quiet), pace(&scenario));
            assert!(quiet.link.down.loss.is_none() && quiet.link.up.queue == QueueLimit::Unlimited);
            assert!((LEAST_BYTES..=MOST_BYTES).contains(&quiet.page.total_bytes()));
        }
    }

    #[test]
    fn programs_are_listened_to_where_nobody_thinks_and_nothing_is_on_the_way() {
        let set = ["wan.delay=3 ms", "lan.delay=1 ms", "http.tls=1.3", "run.architectures=tunnel, direct"];
        let mut scenario = farhop_scenario::open("demo", &set.map(str::to_owned)).expect("demo");
        scenario.page.objects[1].think = Duration::from_millis(5);
        let plain = with_plain_programs(&scenario);
        assert!(plain.wan.is_transparent() && plain.lan.is_transparent() && plain.http.tls == Tls::None);
        assert!(plain.page.objects.iter().all(|object| object.think.is_zero()));
        assert_eq!((plain.run.architectures, plain.link), (vec![Architecture::Direct], scenario.link));
    }

    #[test]
    fn acknowledgements_of_data_and_data_let_go_are_answers_without_what_it_took_to_send() {
        let second_of_two = answers(&[(1000, 1500), (7000, 1500)], &[(7012, 52)]);
        assert_eq!(second_of_two, [(micros(6000), micros(12))]);
        let two_segments = answers(&[(1000, 52), (12_000, 52)], &[(12_015, 1500), (12_016, 1500)]);
        assert_eq!(two_segments, [(micros(11_000), micros(15) - sending_time(2))]);
    }

    #[test]
    fn what_waits_for_something_else_is_no_answer() {
        let none: [(Duration, Duration); 0] = [];
        assert_eq!(answers(&[(1000, 1500), (7000, 1500)], &[(8100, 52)]), none, "a timer");
        assert_eq!(answers(&[(7000, 252)], &[(7030, 1500)]), none, "a request's answer waits for the program");
        assert_eq!(answers(&[(7000, 1500)], &[(7030, 252)]), none, "so does the next request");
        assert_eq!(answers(&[(7000, 1500)], &[(7030, 1500)]), none, "data are no answer to data");
        assert_eq!(
            answers(&[(1000, 52), (7000, 52)], &[(7001, 1500)]),
            none,
            "nobody sends a segment in a microsecond"
        );
        let once = answers(&[(1000, 52), (7000, 52)], &[(7015, 1500), (7100, 1500)]);
        assert_eq!(once.len(), 1, "what leaves later is paced or written later: {once:?}");
    }

    #[test]
    fn both_ends_and_all_terminals_are_hosts_of_their_own() {
        let mut both = record(&[(1000, 1500), (7000, 1500)], &[(7012, 52)]);
        let packet = Recorded::new(0, FULL);
        both.1.push(Output::Deliver { at: at(7005), port: Port::Gateway, packet });
        both.0.push(Input::Arrival { at: at(7006), port: Port::Terminal(1), packet });
        assert_eq!(of(&both), of(&record(&[(1000, 1500), (7000, 1500)], &[(7012, 52)])));
    }

    /// What was heard and sent: µs and bytes.
    type Packets<'a> = (&'a [(u64, u64)], &'a [(u64, u64)]);

    /// How long ago the clients' and the servers' programs had answered, if ever, and what they and their kernels took.
    fn programs((heard, sent): Packets<'_>) -> [Vec<(Duration, Duration)>; 2] {
        let (mut inputs, mut outputs) = record(heard, sent);
        let clients = of(&(inputs.clone(), outputs.clone()));
        assert_eq!(clients.servers, []);
        for input in &mut inputs {
            if let Input::Arrival { port, .. } = input {
                *port = Port::Gateway;
            }
        }
        for output in &mut outputs {
            if let Output::Deliver { port, .. } = output {
                *port = Port::Gateway;
            }
        }
        let servers = of(&(inputs, outputs));
        assert_eq!(servers.clients, []);
        [spans(&clients.clients), spans(&servers.servers)]
    }

    fn spans(answers: &[ProgramAnswer]) -> Vec<(Duration, Duration)> {
        answers.iter().map(|one| (one.rested, one.takes)).collect()
    }

    fn one(rested: u64, takes: u64) -> Vec<(Duration, Duration)> {
        vec![(micros(rested), micros(takes))]
    }

    /// Nothing has been answered before.
    fn first(takes: u64) -> Vec<(Duration, Duration)> {
        vec![(Duration::MAX, micros(takes))]
    }

    fn after_first(rested: u64, takes: u64) -> Vec<(Duration, Duration)> {
        [first(30), one(rested, takes)].concat()
    }

    #[test]
    fn programs_that_have_slept_answer_requests_and_the_ends_of_objects() {
        let none = || [first(30), first(30)];
        let second = |rested, takes| [(); 2].map(|()| after_first(rested, takes));
        let asked = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (31_050, 252)][..]);
        assert_eq!(programs(asked), second(29_970, 50));
        let acknowledged = (asked.0, &[(1030, 252), (31_012, 52), (31_050, 252)][..]);
        assert_eq!(
            programs(acknowledged),
            [after_first(29_970, 50), after_first(29_982, 38)],
            "servers' kernels do that by themselves"
        );
        let data = (&[(1000, 402), (31_000, 1500), (32_500, 302)][..], &[(1030, 252), (32_550, 1500)][..]);
        assert_eq!(programs(data), second(31_470, 50), "the last of several packets");
        let late = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (41_001, 252)][..]);
        assert_eq!(programs(late), none(), "it waits for something else");
        let burst = (asked.0, &[(1030, 252), (31_050, 1500), (31_051, 1500)][..]);
        assert_eq!(programs(burst), second(29_970, 50), "one answer, several packets");
        let gap = (&[(1000, 402), (31_000, 72)][..], &[(1030, 252), (31_050, 1500)][..]);
        assert_eq!(programs(gap), none(), "an acknowledgement lets data go");
        let repeated = (&[(1000, 402), (31_000, 1500)][..], &[(1030, 252), (31_020, 64), (31_050, 252)][..]);
        assert_eq!(programs(repeated), second(29_970, 50), "a kernel tells of a gap");
        let both = (&[(1000, 402), (31_000, 402), (31_020, 402)][..], &[(1030, 252), (31_050, 252), (31_060, 252)][..]);
        assert_eq!(programs(both), second(29_970, 50), "the first of two");
        let sent = &[(1030, 252), (31_012, 52), (31_032, 52), (31_050, 252)][..];
        assert_eq!(programs((both.0, sent))[1], after_first(29_982, 38), "since the first of two acknowledgements");
        let last = (&[(1000, 402), (31_000, 402), (34_000, 52)][..], &[(1030, 252), (34_015, 1500)][..]);
        assert_eq!(programs(last), none(), "after the last answer an acknowledgement lets other data go");
        let streams = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (25_000, 1500), (31_050, 252)][..]);
        assert_eq!(programs(streams), second(29_970, 50), "what a kernel sends wakes no program");
    }

    #[test]
    fn programs_that_are_awake_answer_where_they_do_nothing_else() {
        let answers = |heard: &[u64], sent: &[u64]| {
            // All but the last are no requests' ends.
            let (last, others) = heard.split_last().expect("some");
            let heard = [(1000, 402)].into_iter().chain(others.iter().map(|time| (*time, 1500)));
            let heard: Vec<_> = heard.chain([(*last, 402)]).collect();
            let sent: Vec<_> = [1030].iter().chain(sent).map(|time| (*time, 252)).collect();
            programs((&heard, &sent))
        };
        let (none, second) = ([first(30), first(30)], |rested, takes| [(); 2].map(|()| after_first(rested, takes)));
        assert_eq!(answers(&[1900], &[1950]), second(870, 50));
        assert_eq!(answers(&[1900], &[2901]), none, "it waits for something else");
        assert_eq!(answers(&[31_000, 31_900], &[31_950]), none, "it may still be waking up");
        assert_eq!(answers(&[31_000, 32_100, 33_001], &[33_051]), none, "it was woken again");
        assert_eq!(answers(&[31_000, 31_900, 32_800], &[32_850]), second(31_770, 50));
    }

    #[test]
    fn acknowledgements_over_other_connections_are_none_of_the_answers() {
        let packet = |flow: u64, bytes: u64| Recorded { flow, ..Recorded::new(0, Bytes::new(bytes)) };
        let heard = |&(time, flow, bytes): &(u64, u64, u64)| Output::Deliver {
            at: at(time),
            port: Port::Gateway,
            packet: packet(flow, bytes),
        };
        let sent = |&(time, flow, bytes): &(u64, u64, u64)| Input::Arrival {
            at: at(time),
            port: Port::Gateway,
            packet: packet(flow, bytes),
        };
        // Ways down are told from each other by the order in which connections were opened, of which one was asked for twice.
        let opened = [(100, 1, SYN), (150, 2, SYN), (400, 1, SYN)];
        let accepted = [(120, 8, SYN), (170, 9, SYN), (420, 8, SYN)];
        let servers = |heard_later: &[(u64, u64, u64)], sent_later: &[(u64, u64, u64)]| {
            let outputs = opened.iter().chain(heard_later).map(heard).collect();
            let inputs = accepted.iter().chain(sent_later).map(sent).collect();
            spans(&of(&(inputs, outputs)).servers)
        };
        let asked = [(31_000, 1, 402), (31_100, 2, 52), (31_200, 2, 52)];
        assert_eq!(servers(&asked, &[(31_110, 9, 1500), (31_300, 8, 1500)]), first(300));
        assert_eq!(servers(&asked, &[(31_110, 9, 1500), (31_300, 9, 1500)]), [], "all of that is the other one's");
        let both = [(31_000, 1, 402), (31_020, 2, 402)];
        assert_eq!(servers(&both, &[(31_050, 8, 1500), (31_060, 9, 1500)]), first(50), "it has answered before");
        let in_turn = [(31_000, 1, 402), (31_055, 2, 402)];
        let answered = [first(50), one(5, 30)].concat();
        assert_eq!(servers(&in_turn, &[(31_050, 8, 1500), (31_085, 9, 1500)]), answered);
        let third = [(31_000, 1, 402), (31_100, 3, SYN), (31_200, 2, 402)];
        let kernel_first = [(31_110, 10, SYN), (31_250, 9, 1500), (31_300, 8, 1500)];
        assert_eq!(servers(&third, &kernel_first), [], "it was a kernel that sent while the program woke up");
        let own = [(31_000, 1, 402), (31_100, 1, 52)];
        assert_eq!(servers(&own, &[(31_300, 8, 1500)]), [], "its own may let data go");
        let next = [&own[..], &[(61_000, 2, 402)]].concat();
        let rested = one(61_000 - 31_100, 40);
        assert_eq!(servers(&next, &[(31_300, 8, 1500), (61_040, 9, 1500)]), rested, "but an answer it may have been");
    }

    #[test]
    fn clients_that_have_opened_a_connection_ask_over_it() {
        let client = (&[(31_000, SYN)][..], &[(1000, SYN), (31_020, 52), (31_060, 252)][..]);
        assert_eq!(programs(client), [first(40), Vec::new()], "from the handshake's end on");
        let two = (
            &[(31_000, SYN), (31_010, SYN)][..],
            &[(1000, SYN), (1010, SYN), (31_020, 52), (31_030, 52), (31_060, 252)][..],
        );
        assert_eq!(programs(two)[0], first(40), "the first of two");
        let server =
            (&[(1000, SYN), (31_000, 52), (31_030, 252)][..], &[(1020, SYN), (31_042, 52), (31_060, 1500)][..]);
        assert_eq!(programs(server)[1], first(18), "it has slept since the connection was opened");
        let others = (&[(1000, SYN), (31_000, SYN)][..], &[(1020, SYN), (31_020, SYN), (31_030, 1500)][..]);
        assert_eq!(programs(others)[1], [], "nobody has asked the server for anything");
    }

    #[test]
    fn the_first_connection_for_what_is_named_is_opened_after_its_first_packet() {
        let openings = |heard: &[(u64, u64)], sent: &[(u64, u64)]| spans(&of(&record(heard, sent)).openings);
        let heard = [(1000, SYN), (31_000, 1500), (31_120, 1500), (31_240, 1500)];
        let sent = [(1100, 252), (31_012, 52), (31_200, SYN), (31_220, SYN)];
        assert_eq!(openings(&heard, &sent), first(200), "whatever follows that, and whatever its kernel says");
        assert_eq!(openings(&heard[..1], &[(500, SYN), (1100, SYN)]), [], "it was awake");
        assert_eq!(openings(&heard, &[(31_100, 252), (31_200, SYN)]), [], "it has done something since");
        assert_eq!(openings(&heard, &[(42_000, SYN)]), [], "it waited for something else");
        let again = [&heard[..], &[(61_000, 1500)]].concat();
        let twice = [first(200), one(61_000 - 31_220, 300)].concat();
        assert_eq!(openings(&again, &[&sent[..], &[(61_300, SYN)]].concat()), twice, "by how long it has opened none");
        let train: Vec<_> = (0..30).map(|number| (31_000 + 120 * number, 1500)).collect();
        let after = |count: usize| openings(&[&heard[..1], &train[..count]].concat(), &[(34_500, SYN)]);
        assert_eq!([after(16), after(20)], [first(3500), Vec::new()], "what comes later may be what names it");
        let acknowledged = [(1000, SYN), (31_000, 1500), (31_100, 52)];
        assert_eq!(openings(&acknowledged, &sent), [], "nobody knows whether it was told more");
        let both = programs((&heard[..2], &[(1100, 252), (31_200, SYN), (31_300, 252)]));
        assert_eq!(both, [first(100), first(300)], "a server opens none, and who opens some asks afterwards");
    }

    #[test]
    fn programs_take_what_their_kernels_do_not() {
        let pause = micros(40_000);
        let kernels = (0..100).map(|_| Answer { pause, takes: micros(20), sends_data: true }).collect();
        let program = |takes, since| ProgramAnswer { rested: micros(39_000), takes: micros(takes), since };
        let delivered = |takes| program(takes, Since::Delivery { pause });
        let enough = vec![delivered(50); FEWEST_ONCE];
        let mut answers =
            HostAnswers { kernels, servers: enough.clone(), openings: enough.clone(), clients: enough[1..].to_vec() };
        let (times, quiet) = (answers.host_times(), HostTimes::quiet());
        let after = |times: &PauseTimes, millis| times.after(Some(Duration::from_millis(millis))).at(500);
        assert_eq!(after(&times.server, 50), micros(50) - micros(20) - PROGRAM_WRITES);
        assert_eq!(after(&times.opening, 50), micros(50) - micros(20), "until it leaves");
        for millis in [2, 20, 70] {
            assert_eq!(after(&times.server, millis), after(&quiet.server, millis), "{millis}");
        }
        assert_eq!(times.client, quiet.client, "one fewer says nothing");
        answers.servers[0] = delivered(2);
        let ends = |answers: &HostAnswers| {
            let after = answers.host_times().server.after(Some(Duration::from_millis(50))).clone();
            [0, PauseTimes::ALL].map(|share| after.at(share))
        };
        assert_eq!(ends(&answers)[0], Duration::ZERO, "it took less than its kernel usually does");
        answers.servers[0] = program(60, Since::Acknowledgement);
        assert_eq!(ends(&answers)[1], micros(60) - PROGRAM_WRITES, "its kernel was done");
    }

    #[test]
    fn in_loads_only_kernels_that_have_rested_and_let_data_go_are_listened_to() {
        let (heard, sent) = ([52, 52, 52, 1500], [1500, 1500, 1500, 52]);
        let times = [1000, 30_900, 61_000, 100_000];
        let heard: Vec<_> = times.into_iter().zip(heard).collect();
        let sent: Vec<_> = times.map(|time| time + 100).into_iter().zip(sent).collect();
        let (inputs, outputs) = record(&heard, &sent);
        let config = ChannelConfig::default();
        let link = LinkRecord { config, seed: 1, inputs, outputs, end: at(200_000) };
        let kernels = HostAnswers::of_load(&link, FULL - HEADER_BYTES).kernels;
        assert_eq!(kernels.iter().map(|answer| answer.pause).collect::<Vec<_>>(), [Duration::MAX, micros(30_100)]);
        let some = |count: usize, pause| vec![Answer { pause, takes: micros(500), sends_data: true }; count];
        let (rested, quiet) = (micros(40_000), HostTimes::quiet());
        let after = |count, pause| {
            let kernels = some(count, pause);
            HostAnswers { kernels, ..HostAnswers::default() }.host_times().kernel.after(Some(pause)).at(500)
        };
        assert_eq!(after(FEWEST_ONCE, rested), micros(500));
        assert_eq!(after(FEWEST_ONCE - 1, rested), quiet.kernel.after(Some(rested)).at(500));
        assert_eq!(after(FEWEST_ONCE, micros(20_000)), quiet.kernel.after(Some(micros(20_000))).at(500));
    }

    #[test]
    fn many_answers_have_quantiles_and_few_say_nothing() {
        let one = |pause: u64, nanos: u64| Answer {
            pause: micros(pause),
            takes: Duration::from_nanos(nanos),
            sends_data: true,
        };
        let heard = |kernels: Vec<Answer>| HostAnswers { kernels, ..HostAnswers::default() };
        let mut many = heard((0..=1000).map(|number| one(5000, 10_000 + number)).collect());
        many.extend([heard((1..FEWEST).map(|_| one(20_000, 1)).collect())]);
        let (times, quiet) = (many.host_times(), HostTimes::quiet());
        let after = |times: &HostTimes, millis: u64| {
            let after = times.kernel.after(Some(Duration::from_micros(millis * 1000 + 1)));
            SHARES.map(|share| (share, after.at(share)))
        };
        for (share, time) in after(&times, 3) {
            assert_eq!(time, Duration::from_nanos(10_000 + u64::from(share)));
        }
        assert_eq!(heard(many.kernels[..FEWEST - 1].to_vec()).host_times(), quiet);
        for millis in [0, 1, 10, 30, 60, 120, 300] {
            assert_eq!(after(&times, millis), after(&quiet, millis), "{millis}");
        }
    }
}
