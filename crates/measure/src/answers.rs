//! How long this machine's hosts take to answer what the link delivers, out of the emulator's packet log.
//!
//! A transfer at the link's pace that nothing disturbs tells what kernels take: an acknowledgement of data that were delivered, and the data that an
//! acknowledgement lets go, are at the link again as soon as a host's kernel has got to what was delivered, and has sent. What waits for a timer or
//! for a program is none of these and takes longer, or has another size. The emulator's own lateness is in it, as it is in every load. On fast links
//! an answer that is slower than the next packet counts as that one's: tails end at the pace.
//!
//! Programs are listened to in loads themselves, since it is the machine's business at such a time that decides how soon they run: how long a server
//! takes to answer a request, and a client to ask for the next object or over a new connection, or to open the first of several, by how long it has not done
//! the same, and others right behind that. Who is awake counts where it has done nothing else meanwhile; who waits for room is not told apart. So are
//! kernels that had nothing to do for a while, which happens once in a transfer and in a load with every round trip: an acknowledgement that comes after
//! a pause and lets data go (of BBR, whose pace may be what they waited for, after a long one), and data behind a gap, which kernels acknowledge. What is
//! acknowledged in order then may wait until a program reads: what that takes longer than a gap is reading. A sender's program may be who
//! sends, too, where all was on the way that its send buffer took, which nobody can tell apart here: most such acknowledgements find data in the buffer.
//!
//! Who opens a connection, and what answers that, counts in loads too, where the kernel was not at another one already: how long it takes to one that waits
//! hangs on the one before.

mod host;

use crate::MeasureError;
use crate::session::{Session, Work};
use farhop_emu::LinkRecord;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{ChannelConfig, DirectionConfig, Output, Port};
use farhop_results::Architecture;
use farhop_scenario::{
    AfterPause, Congestion, HEADER_BYTES, HostTimes, PROGRAM_STAYS_AWAKE, PROGRAM_WRITES, PauseTimes, Profile,
    Scenario, TcpConfig,
};
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpConfig, Page, Tls};
use host::{Answer, Connections, End, Host, Kind, PAUSE, ProgramAnswer, RESTED, Says};
use std::collections::BTreeMap;
use std::time::Duration;

/// Pauses before a packet that are told from each other, in ms, and times in which a program has not done the same.
const PAUSES_MS: [u64; 8] = [0, 1, 3, 10, 30, 60, 120, 300];
/// Another one before packets that open connections, of which one comes right after the other to a kernel at work.
const BETWEEN_OPENINGS: Duration = Duration::from_micros(100);
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
    syns: Vec<Answer>,
    syn_acks: Vec<Answer>,
    clients: Vec<ProgramAnswer>,
    openings: Vec<ProgramAnswer>,
    servers: Vec<ProgramAnswer>,
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
    let kernels = HostAnswers::of(&link, scenario.tcp.mss).kernels.into_iter().filter(is_undisturbed).collect();
    Ok(HostAnswers { kernels, ..HostAnswers::default() })
}

/// Nothing of a transfer waits for a program but what that reads after it has slept, which is for loads to say: their windows grow as they do.
fn is_undisturbed(answer: &Answer) -> bool {
    answer.says != Says::Read || answer.pause <= PROGRAM_STAYS_AWAKE
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

impl HostAnswers {
    /// Those of what entered and left a link between ends with full segments of so much payload.
    fn of(link: &LinkRecord, mss: Bytes) -> Self {
        Self::of_packets((&link.inputs, &link.outputs), mss)
    }

    /// Programs' in a load, and those of kernels that have rested, by what entered and left its link between ends of such TCP.
    pub(crate) fn of_load(link: &LinkRecord, tcp: &TcpConfig) -> Self {
        let mut all = Self::of(link, tcp.mss);
        let is_paced = tcp.congestion == Congestion::Bbr;
        let rested = |says| if is_paced && says == Says::More { RESTED } else { PAUSE };
        all.kernels.retain(|answer| answer.pause >= rested(answer.says));
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
            all.kernels.extend(if is_heard { host.hears(at, kind) } else { host.sends(at, (kind, connection)) });
            let (end, programs) = match (terminal, kind) {
                (None, _) => (End::Server, &mut all.servers),
                (Some(_), Kind::Opening) => (End::Client, &mut all.openings),
                (Some(_), _) => (End::Client, &mut all.clients),
            };
            let opened = if end == End::Server { &mut all.syns } else { &mut all.syn_acks };
            if is_heard {
                if kind == Kind::Opening {
                    host.is_opened(at, connection);
                }
                host.is_asked(at, (kind, connection), end);
            } else {
                opened.extend(host.accepts(at, (kind, connection), end));
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
        let pauses = PAUSES_MS.map(Duration::from_millis).to_vec();
        let taken = |answers: &[Answer]| answers.iter().map(|answer| (answer.pause, answer.takes)).collect::<Vec<_>>();
        let that = |is_that: &dyn Fn(&Answer) -> bool| self.kernels.iter().copied().filter(is_that).collect::<Vec<_>>();
        let fewest = |pause| if pause < PAUSE { FEWEST } else { FEWEST_ONCE };
        let kernel = by_pause(&taken(&that(&|one| one.says == Says::More)), &quiet.kernel, (&pauses, fewest));
        let is_read = |one: &Answer| one.says == Says::Read && one.pause > PROGRAM_STAYS_AWAKE;
        let data = by_pause(&taken(&that(&|one| one.says != Says::More && !is_read(one))), &kernel, (&pauses, fewest));
        let read = that(&is_read);
        let read: Vec<_> = read.iter().map(|one| (one.pause, one.of_reading(&data))).collect();
        let reading = by_pause(&read, &quiet.reading, (&pauses, fewest));
        let [nothing, longer @ ..] = PAUSES_MS.map(Duration::from_millis);
        let openings = [&[nothing, BETWEEN_OPENINGS][..], &longer].concat();
        let opened = |answers: &[Answer], quiet| by_pause(&taken(answers), quiet, (&openings, |_| FEWEST_ONCE));
        let (syn, syn_ack) = (opened(&self.syns, &quiet.syn), opened(&self.syn_acks, &quiet.syn_ack));
        let program = |answers: &[ProgramAnswer], writes: Duration, quiet: &PauseTimes| {
            let of_program = |answer: &ProgramAnswer| answer.of_program(&data).saturating_sub(writes);
            let takes: Vec<_> = answers.iter().map(|answer| (answer.rested, of_program(answer))).collect();
            by_pause(&takes, quiet, (&pauses, |_| FEWEST_ONCE))
        };
        let client = program(&self.clients, PROGRAM_WRITES, &quiet.client);
        let opening = program(&self.openings, Duration::ZERO, &quiet.opening);
        let server = program(&self.servers, PROGRAM_WRITES, &quiet.server);
        HostTimes { kernel, data, syn, syn_ack, reading, client, opening, server }
    }
}

impl Extend<Self> for HostAnswers {
    fn extend<T: IntoIterator<Item = Self>>(&mut self, others: T) {
        for others in others {
            self.kernels.extend(others.kernels);
            self.syns.extend(others.syns);
            self.syn_acks.extend(others.syn_acks);
            self.clients.extend(others.clients);
            self.openings.extend(others.openings);
            self.servers.extend(others.servers);
        }
    }
}

/// Times after pauses in order; after those of which there are fewer what is known, but no less than what was heard after the next shorter one, nor more
/// than after the next longer one: a busy machine's are not quick after a pause that it never had. If there are no others, what is known.
/// `pauses` are those that are told from each other, and of how many answers nothing is concluded after each of them.
fn by_pause(
    answers: &[(Duration, Duration)],
    known: &PauseTimes,
    (pauses, fewest): (&[Duration], impl Fn(Duration) -> usize),
) -> PauseTimes {
    let ends = pauses.iter().copied().skip(1).chain([Duration::MAX]);
    let heard = pauses.iter().copied().zip(ends).map(|(from, end)| {
        let within = |(pause, _): &&(Duration, Duration)| from <= *pause && (*pause < end || end == Duration::MAX);
        let mut takes: Vec<Duration> = answers.iter().filter(within).map(|(_, takes)| *takes).collect();
        takes.sort_unstable();
        (takes.len() >= fewest(from)).then(|| quantiles(&takes))
    });
    let heard: Vec<Option<Quantiles>> = heard.collect();
    if heard.iter().all(Option::is_none) {
        return known.clone();
    }
    let times = pauses.iter().copied().enumerate().map(|(place, pause)| {
        let quantiles = heard[place].unwrap_or_else(|| {
            let known = known.after(Some(pause + Duration::from_nanos(1)));
            let shorter = heard[..place].iter().flatten().next_back();
            between(SHARES.map(|share| known.at(share)), shorter, heard[place..].iter().flatten().next())
        });
        AfterPause { pause, quantiles: SHARES.into_iter().zip(quantiles).collect() }
    });
    PauseTimes::new(times.collect()).expect("quantiles are in order")
}

/// Times of [`SHARES`].
type Quantiles = [Duration; SHARES.len()];

/// What so many sorted times say.
fn quantiles(takes: &[Duration]) -> Quantiles {
    let last = takes.len() - 1;
    SHARES.map(|share| takes[(last * share as usize).div_ceil(PauseTimes::ALL as usize)])
}

/// What is known, as far as it is within what was heard after a shorter and a longer pause.
fn between(known: Quantiles, shorter: Option<&Quantiles>, longer: Option<&Quantiles>) -> Quantiles {
    std::array::from_fn(|place| {
        let [shorter, longer] = [shorter, longer].map(|heard| heard.map(|times| times[place]));
        // What was heard is no more in order than chance has it.
        let least = shorter.map_or(Duration::ZERO, |shorter| longer.map_or(shorter, |longer| shorter.min(longer)));
        let most = longer.map_or(Duration::MAX, |longer| shorter.map_or(longer, |shorter| shorter.max(longer)));
        known[place].clamp(least, most)
    })
}

#[cfg(test)]
mod tests;
