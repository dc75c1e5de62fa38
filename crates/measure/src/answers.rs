//! How long this machine's hosts take to answer what the link delivers, out of the emulator's packet log.
//!
//! A transfer at the link's pace that nothing disturbs tells: an acknowledgement of data that were delivered, and the data that an acknowledgement lets go,
//! are at the link again as soon as a host's kernel has got to what was delivered, and has sent. What waits for a timer or for a program is
//! none of these and takes longer, or has another size. The emulator's own lateness is in it, as it is in every load. On fast links an answer
//! that is slower than the next packet counts as that one's: tails end at the pace.

use crate::MeasureError;
use crate::session::{Session, Work};
use farhop_link::replay::{Input, Recorded};
use farhop_link::{ChannelConfig, DirectionConfig, Output, Port};
use farhop_scenario::{AfterPause, Congestion, HEADER_BYTES, KernelTimes, Profile, Scenario, TcpConfig, sending_time};
use farhop_units::{Bytes, Instant};
use farhop_web::{HttpConfig, Page};
use std::collections::BTreeMap;
use std::time::Duration;

/// What takes longer waits for something else: no kernel's timer that delays acknowledgements is as short.
const LONGEST: Duration = Duration::from_millis(1);
/// What leaves so soon after an answer's first packet is of the same.
const TOGETHER: Duration = Duration::from_micros(20);
/// Pauses before a packet that are told from each other, in ms.
const PAUSES_MS: [u64; 8] = [0, 1, 3, 10, 30, 60, 120, 300];
/// Of fewer answers nothing is concluded.
const FEWEST: usize = 50;
/// The quantiles that are told, in thousandths.
const SHARES: [u32; 15] = [0, 10, 50, 100, 250, 500, 750, 900, 950, 970, 980, 990, 995, 999, KernelTimes::ALL];

/// A file that takes so long, of a thousand packets at most and of some on the slowest link.
const TRANSFER: Duration = Duration::from_secs(4);
const MOST_BYTES: Bytes = Bytes::new(1_448_000);
const LEAST_BYTES: Bytes = Bytes::new(144_800);

/// What hosts took to answer packets, and how long after the packet before each came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAnswers(Vec<Answer>);

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    pause: Duration,
    takes: Duration,
}

/// Sends something once at the pace of the scenario's link, over one connection of Reno's without losses and with room for all of it in the
/// queue, and listens to the hosts.
///
/// # Errors
/// The testbed cannot be had, or the transfer fails.
pub fn answers(scenario: &Scenario) -> Result<HostAnswers, MeasureError> {
    let scenario = undisturbed(scenario);
    let session = Session::start(&Work::new(&scenario)?, 0)?;
    session.load(session.direct())?;
    let record = session.stop()?;
    let link = record.link.expect("a session's testbed keeps its packets in memory");
    Ok(HostAnswers::of((&link.inputs, &link.outputs), scenario.tcp.mss + HEADER_BYTES))
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

/// What passes one end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Acknowledgement,
    /// Beginnings, requests, heads and the ends of bodies, which programs have to do with.
    Other,
}

impl Kind {
    /// Of a packet of this size, where full ones have that.
    fn of(bytes: Bytes, full: Bytes) -> Self {
        match bytes {
            HEADER_BYTES => Self::Acknowledgement,
            bytes if bytes == full => Self::Data,
            _ => Self::Other,
        }
    }
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
}

impl HostAnswers {
    /// Those of what entered and left a link, where full packets have this size.
    fn of((inputs, outputs): (&[Input], &[Output<Recorded>]), full: Bytes) -> Self {
        let heard = outputs.iter().filter_map(|output| match output {
            Output::Deliver { at, port, packet } => Some((*at, *port, true, packet.bytes)),
            Output::Drop { .. } => None,
        });
        let sent = inputs.iter().filter_map(|input| match input {
            Input::Arrival { at, port, packet } => Some((*at, *port, false, packet.bytes)),
            Input::Change { .. } => None,
        });
        let mut events: Vec<(Instant, Port, bool, Bytes)> = heard.chain(sent).collect();
        events.sort_by_key(|(at, ..)| *at);
        let (mut hosts, mut answers) = (BTreeMap::<Option<u16>, Host>::new(), Vec::new());
        for (at, port, is_heard, bytes) in events {
            let terminal = if let Port::Terminal(number) = port { Some(number) } else { None };
            let (host, kind) = (hosts.entry(terminal).or_default(), Kind::of(bytes, full));
            answers.extend(if is_heard { host.hears(at, kind) } else { host.sends(at, kind) });
        }
        answers.extend(hosts.values_mut().filter_map(Host::ended));
        Self(answers)
    }

    /// Those of others as well.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What they say of kernels; after pauses of which there are too few what a quiet one takes, and of none a quiet one's.
    pub fn kernel_times(&self) -> KernelTimes {
        if self.count() < FEWEST {
            return KernelTimes::quiet();
        }
        let pauses = PAUSES_MS.map(Duration::from_millis);
        let ends = pauses.iter().skip(1).copied().chain([Duration::MAX]);
        let times = pauses.iter().zip(ends).map(|(pause, end)| {
            let within = |answer: &&Answer| (*pause..end).contains(&answer.pause);
            let mut takes: Vec<Duration> = self.0.iter().filter(within).map(|answer| answer.takes).collect();
            takes.sort_unstable();
            quantiles(*pause, &takes)
        });
        KernelTimes::new(times.collect()).expect("quantiles are in order")
    }
}

/// What so many sorted times say.
fn quantiles(pause: Duration, takes: &[Duration]) -> AfterPause {
    let quiet = KernelTimes::quiet();
    let known = quiet.after(Some(pause + Duration::from_nanos(1)));
    let last = takes.len().saturating_sub(1);
    let at = |share: u32| match takes.get((last * share as usize).div_ceil(KernelTimes::ALL as usize)) {
        Some(time) if takes.len() >= FEWEST => *time,
        _ => known.at(share),
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
            self.answer = Some((now, u32::from(kind == Kind::Data), Answer { pause, takes }));
        }
        ended
    }

    /// The answer under way is whole: what its segments took to send is no part of it. One that took less was no answer, or to something before.
    fn ended(&mut self) -> Option<Answer> {
        let (_, count, answer) = self.answer.take()?;
        let takes = answer.takes.checked_sub(sending_time(count)).filter(|takes| !takes.is_zero())?;
        Some(Answer { takes, ..answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_link::QueueLimit;

    const FULL: Bytes = Bytes::new(1500);

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
        HostAnswers::of((inputs, outputs), FULL)
    }

    fn answers(heard: &[(u64, u64)], sent: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
        of(&record(heard, sent)).0.into_iter().map(|Answer { pause, takes }| (pause, takes)).collect()
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

    #[test]
    fn many_answers_have_quantiles_and_few_say_nothing() {
        let one = |pause: u64, nanos: u64| Answer { pause: micros(pause), takes: Duration::from_nanos(nanos) };
        let mut many = HostAnswers((0..=1000).map(|number| one(5000, 10_000 + number)).collect());
        many.add(HostAnswers((1..FEWEST).map(|_| one(20_000, 1)).collect()));
        let (times, quiet) = (many.kernel_times(), KernelTimes::quiet());
        let after = |times: &KernelTimes, millis: u64| {
            let after = times.after(Some(Duration::from_micros(millis * 1000 + 1)));
            SHARES.map(|share| (share, after.at(share)))
        };
        for (share, time) in after(&times, 3) {
            assert_eq!(time, Duration::from_nanos(10_000 + u64::from(share)));
        }
        assert_eq!(HostAnswers(many.0[..FEWEST - 1].to_vec()).kernel_times(), quiet);
        for millis in [0, 1, 10, 30, 60, 120, 300] {
            assert_eq!(after(&times, millis), after(&quiet, millis), "{millis}");
        }
    }
}
