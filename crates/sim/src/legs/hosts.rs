//! The hosts that legs begin and end at: their clocks, and the programs on them.

use super::Side;
use crate::network::{Place, Route};
use farhop_scenario::seeds;
use farhop_tcp::{Endpoint, HostTimes, Kernel, Program, Segment, TcpConfig};
use farhop_units::Instant;
use farhop_units::random::Stream;
use std::time::Duration;

/// A timer of the pace that has run out while a packet was taken in lets data go so much after that: between an emulated link's ends, which are hosts on
/// one processor, 13 µs with what it takes to send two segments, and 5 less where nothing is taken in.
const AFTER_PACKET: Duration = Duration::from_micros(8);
/// Where packets come so fast that one processor is not enough there are two: nobody waits for longer than a quiet machine takes for one packet.
const ONE_PACKET: Duration = Duration::from_micros(12);

/// Hosts were switched on some time within the hour before a run, so that the ticks of their clocks are anywhere.
const LONGEST_UPTIME_NS: u64 = 3_600_000_000_000;

/// Streams of random numbers, of either side. Legs are counted from 0, so that none has these.
const OF_PROGRAMS: u64 = u64::MAX;
const OF_KERNELS: u64 = u64::MAX - 2;

/// All hosts. A terminal's clients are one, and all servers, as they are where a page is loaded over the emulated link.
///
/// What goes through boxes is taken to find all programs asleep, kernels at once and bursts in one piece, as the model takes it to; how long hosts
/// take was only measured without.
#[derive(Debug)]
pub(super) struct Hosts {
    /// What they do at random.
    random: Stream,
    /// Of clients by terminal, and of servers, if they take any time.
    programs: Option<[Vec<Program>; 2]>,
    /// Of each terminal's clients and servers, when the last burst goes on that was begun.
    bursts: Vec<[Instant; 2]>,
    /// How long they take.
    times: HostTimes,
    /// Of each terminal's clients and servers.
    kernels: Vec<[Kernel; 2]>,
}

impl Hosts {
    /// Of a run with this `seed`.
    pub(super) fn new(tcp: &TcpConfig, seed: u64) -> Self {
        let programs = Program::takes_time(tcp).then(Default::default);
        let (bursts, kernels) = (Vec::new(), Vec::new());
        let times = tcp.host_times.clone();
        Self { random: Stream::new(seeds::of_hosts(seed), 0), programs, bursts, times, kernels }
    }

    /// An end of leg `number` is on a host. All hosts of one side have one clock.
    pub(super) fn put_on_host(&self, number: u64, (route, side): (Route, Side), end: &mut Endpoint) {
        let side = side as u64;
        let uptime = Duration::from_nanos(self.random.below(side, LONGEST_UPTIME_NS));
        end.set_host(uptime, self.random.split(number).split(side));
        if is_direct(route) {
            end.answer_when_heard();
        }
    }

    /// When the program at one end of a route from a client to a server does something that happens now.
    fn program(
        &mut self,
        now: Instant,
        (route, side): (Route, Side),
        does: impl Fn(&mut Program, Instant) -> Instant,
    ) -> Option<Instant> {
        if !is_direct(route) {
            return None;
        }
        let Some(programs) = &mut self.programs else { return Some(now) };
        let (number, times) = match side {
            Side::Near => (usize::from(route.line.terminal), &self.times.client),
            Side::Far => (0, &self.times.server),
        };
        let programs = &mut programs[side as usize];
        while programs.len() <= number {
            let random = self.random.split(OF_PROGRAMS - side as u64).split(programs.len() as u64);
            programs.push(Program::new(&self.times, times, random));
        }
        Some(does(&mut programs[number], now))
    }

    /// When the program at one end reads what arrives now, if it is known.
    pub(super) fn reads(&mut self, now: Instant, route: Route, side: Side) -> Option<Instant> {
        self.program(now, (route, side), Program::reads)
    }

    /// One end has begun a burst, which goes on then.
    pub(super) fn begins_burst(&mut self, goes_on: Instant, route: Route, side: Side) {
        let terminal = usize::from(route.line.terminal);
        if self.bursts.len() <= terminal {
            self.bursts.resize(terminal + 1, [Instant::START; 2]);
        }
        let last = &mut self.bursts[terminal][side as usize];
        *last = goes_on.max(*last);
    }

    /// Until when one end has to wait that would send now: a host sends one burst after the other.
    pub(super) fn waits_for_burst(&self, now: Instant, route: Route, side: Side) -> Option<Instant> {
        let bursts = self.bursts.get(usize::from(route.line.terminal))?;
        Some(bursts[side as usize]).filter(|goes_on| *goes_on > now)
    }

    /// Until when a timer of the pace has to wait that was due then: until a packet is taken in that was on its way by then.
    pub(super) fn waits_for_kernels(&self, now: Instant, due: Instant, route: Route) -> Option<Instant> {
        if now > due {
            return None;
        }
        let kernels = self.kernels.get(usize::from(route.line.terminal)).filter(|_| is_direct(route))?;
        let taken = kernels.iter().filter_map(Kernel::last).max()?;
        (taken > now).then(|| taken + AFTER_PACKET)
    }

    /// Whether hosts take any time.
    pub(super) fn take_time(&self) -> bool {
        self.programs.is_some()
    }

    /// When the kernel at one end gets to a segment that comes now, if it is known and later. A terminal's servers are one host here.
    pub(super) fn hears(&mut self, now: Instant, (route, side): (Route, Side), segment: &Segment) -> Option<Instant> {
        if !self.take_time() || !is_direct(route) {
            return None;
        }
        let terminal = usize::from(route.line.terminal);
        while self.kernels.len() <= terminal {
            let number = self.kernels.len() as u64;
            let random = |side: u64| self.random.split(OF_KERNELS - side).split(number);
            self.kernels.push([0, 1].map(|side| Kernel::new(&self.times, random(side))));
        }
        let kernels = &mut self.kernels[terminal];
        let free = kernels[side.other() as usize].last().map_or(now, |last| last.clamp(now, now + ONE_PACKET));
        let heard = kernels[side as usize].hears(free, segment);
        (heard > now).then_some(heard)
    }

    /// When the program there opens a connection now, if it is known.
    pub(super) fn opens(&mut self, now: Instant, route: Route, side: Side) -> Option<Instant> {
        self.program(now, (route, side), Program::opens)
    }

    /// When what the program does there now leaves, if it is known.
    pub(super) fn answers(&mut self, now: Instant, route: Route, side: Side) -> Option<Instant> {
        self.program(now, (route, side), Program::answers)
    }

    /// When the program there writes on that finds room now, if it is known.
    pub(super) fn writes_on(&mut self, now: Instant, route: Route, side: Side) -> Option<Instant> {
        self.program(now, (route, side), Program::writes_on)
    }
}

/// Whether no box is between a client and its server.
fn is_direct(route: Route) -> bool {
    route.near == Place::Client && route.far == Place::Server
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Line;
    use farhop_tcp::{AfterPause, PROGRAM_WRITES, PROGRAM_WRITES_ON_SPEEDUP, PauseTimes, Profile};

    fn route(terminal: u16, near: Place, far: Place) -> Route {
        Route { line: Line { terminal, server: 0 }, near, far }
    }

    #[test]
    fn requests_over_connections_that_come_up_together_leave_together() {
        let mut hosts = Hosts::new(&TcpConfig::of(Profile::Linux), 1);
        let [ours, theirs] = [0, 1].map(|terminal| route(terminal, Place::Client, Place::Server));
        let now = Instant::START + Duration::from_secs(1);
        let mut asks = |route, micros| hosts.answers(now + Duration::from_micros(micros), route, Side::Near);
        let [first, last] = [asks(ours, 0), asks(ours, 10)].map(|time| time.expect("no box is between them"));
        assert!(first <= last && last.since(first) < Duration::from_micros(60), "{first:?} {last:?}");
        assert_ne!(asks(theirs, 0), Some(first), "each client has a host of its own");
        // The servers' have slept.
        let served = hosts.reads(now, ours, Side::Far);
        assert!(served.is_some_and(|time| time > now && Some(time) != Some(first)), "{served:?}");
    }

    #[test]
    fn clients_and_servers_take_their_own_times() {
        let always = |micros| AfterPause {
            pause: Duration::ZERO,
            quantiles: [0, PauseTimes::ALL].map(|share| (share, Duration::from_micros(micros))).to_vec(),
        };
        let times = |micros| PauseTimes::new(vec![always(micros)]).expect("in order");
        // A connection opens at once behind another one.
        let later = |after: AfterPause| AfterPause { pause: Duration::from_millis(1), ..after };
        let opening = PauseTimes::new(vec![always(5), later(always(200))]).expect("in order");
        let (client, server) = (times(100), times(300));
        let host_times =
            HostTimes { kernel: times(10), reading: times(70), client, opening, server, ..HostTimes::quiet() };
        let mut hosts = Hosts::new(&TcpConfig { host_times, ..TcpConfig::of(Profile::Linux) }, 1);
        let (now, direct) = (Instant::START + Duration::from_secs(1), route(0, Place::Client, Place::Server));
        let heard = hosts.hears(now, (direct, Side::Far), &Segment::default());
        assert_eq!(heard, Some(now + Duration::from_micros(10)));
        for (side, micros) in [(Side::Near, 100), (Side::Far, 300)] {
            let answers = hosts.answers(now, direct, side).expect("no box is between them");
            assert_eq!(answers, now + Duration::from_micros(micros) + PROGRAM_WRITES, "{side:?}");
        }
        let later = now + Duration::from_secs(1);
        let writes_on = hosts.writes_on(later, direct, Side::Far).expect("no box is between them");
        assert_eq!(writes_on, later + Duration::from_micros(300) / PROGRAM_WRITES_ON_SPEEDUP + PROGRAM_WRITES);
        let read = hosts.reads(later, direct, Side::Near).expect("no box is between them");
        assert_eq!(read, later + Duration::from_micros(70));
        assert_eq!(hosts.opens(read, direct, Side::Near), Some(later + Duration::from_micros(200)));
    }

    #[test]
    fn only_who_is_on_the_same_host_waits_for_a_burst() {
        let mut hosts = Hosts::new(&TcpConfig::of(Profile::Linux), 1);
        let [now, goes_on] = [100, 105].map(|micros| Instant::START + Duration::from_micros(micros));
        let [ours, theirs, others] = [2, 1, 3].map(|terminal| route(terminal, Place::Client, Place::Server));
        hosts.begins_burst(goes_on, ours, Side::Far);
        let waits = |route, side| hosts.waits_for_burst(now, route, side);
        assert_eq!(waits(ours, Side::Far), Some(goes_on));
        assert_eq!([waits(ours, Side::Near), waits(theirs, Side::Far), waits(others, Side::Far)], [None; 3]);
        assert_eq!(hosts.waits_for_burst(goes_on, ours, Side::Far), None, "the burst is over");
    }

    #[test]
    fn kernels_take_a_while_where_hosts_do_and_no_box_is_between() {
        let (now, direct) = (Instant::START + Duration::from_secs(1), route(0, Place::Client, Place::Server));
        let heard =
            |profile, route| Hosts::new(&TcpConfig::of(profile), 1).hears(now, (route, Side::Far), &Segment::default());
        assert!(heard(Profile::Linux, direct).is_some_and(|heard| heard > now));
        assert_eq!(heard(Profile::Rfc, direct), None);
        assert_eq!(heard(Profile::Linux, route(0, Place::Terminal, Place::Gateway)), None);
    }

    #[test]
    fn what_boxes_pass_on_is_taken_to_find_programs_asleep() {
        let mut hosts = Hosts::new(&TcpConfig::of(Profile::Linux), 1);
        for (near, far) in
            [(Place::Client, Place::Terminal), (Place::Terminal, Place::Gateway), (Place::Gateway, Place::Server)]
        {
            assert_eq!(hosts.answers(Instant::START, route(0, near, far), Side::Near), None);
        }
    }

    #[test]
    fn both_ends_take_one_packet_after_the_other_and_timers_of_the_pace_wait_for_them() {
        let mut hosts = Hosts::new(&TcpConfig::of(Profile::Linux), 1);
        let (ours, boxes) = (route(0, Place::Client, Place::Server), route(0, Place::Client, Place::Terminal));
        let at = |micros: u64| Instant::START + Duration::from_micros(1_000_000 + micros);
        let segment = Segment::default();
        let waits = |hosts: &Hosts, micros: u64, route| hosts.waits_for_kernels(at(micros), at(micros), route);
        assert_eq!(waits(&hosts, 0, ours), None, "nothing has come");
        [Side::Near, Side::Far].into_iter().for_each(|side| _ = hosts.hears(at(0), (ours, side), &segment));
        let first = hosts.hears(at(500), (ours, Side::Far), &segment).expect("it takes a time");
        assert_eq!(waits(&hosts, 501, ours), Some(first + AFTER_PACKET));
        let second = hosts.hears(at(502), (ours, Side::Near), &segment).expect("it takes a time");
        assert!(second >= first + Duration::from_micros(8), "{first:?} {second:?}");
        assert_eq!(waits(&hosts, 503, ours), Some(second + AFTER_PACKET));
        assert_eq!([waits(&hosts, 600, ours), waits(&hosts, 503, boxes)], [None; 2]);
        assert_eq!(hosts.waits_for_kernels(at(503), at(502), ours), None, "once");
        // Faster than one processor: nobody falls behind by more than a packet.
        for micros in 600..1600 {
            let side = if micros % 2 == 0 { Side::Far } else { Side::Near };
            let heard = hosts.hears(at(micros), (ours, side), &segment).expect("it takes a time");
            assert!(heard < at(micros) + Duration::from_micros(340), "{micros}: {heard:?}");
        }
    }
}
