//! A page in rounds: connections that take the next object as they come free, each carrying requests up and responses down.

use super::flow::{Flow, Path};
use super::losses::Fate;
use crate::recursion::connection::Side;
use crate::recursion::parameters::{Http, Parameters};
use crate::recursion::workload::Workload;
use core::ops::Range;

/// When a load's first byte and its last one arrive, in s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first: f64,
    pub(super) last: f64,
}

/// A connection, and when it can take the next request.
#[derive(Debug)]
struct Place {
    free: f64,
    /// What the server sends on it, and what the client does.
    flow: Flow,
    asking: Flow,
    responses: u32,
    host: usize,
}

/// A page and its path, ready to be loaded in rounds.
pub(super) struct Rounds<'a> {
    path: Path,
    up: Path,
    parameters: &'a Parameters,
    workload: &'a Workload,
    places: usize,
    /// Objects that wait, by when they became known.
    waiting: Vec<(f64, usize)>,
    connections: Vec<Place>,
    /// Hosts whose names have been looked up.
    resolved: Vec<usize>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(parameters: &'a Parameters, workload: &'a Workload) -> Self {
        let places = match parameters.most_on_connection() > 1 {
            true => 1,
            false => parameters.connections,
        };
        Self {
            path: Path::new(parameters, Side::Server),
            up: Path::new(parameters, Side::Client),
            parameters,
            workload,
            places: places.clamp(1, workload.len()),
            waiting: Vec::new(),
            connections: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// How many steps a load takes, roughly.
    pub(super) fn work(&self) -> u64 {
        let requests = (0..self.workload.len()).map(|object| self.parameters.request(self.workload, object));
        let bytes = requests.fold(self.workload.total().get(), u64::saturating_add);
        let segments = bytes / self.path.mss.max(1);
        self.workload.len() as u64 * 8 + (segments / 8).min(20_000) + 1
    }

    /// One load.
    pub(super) fn load(&mut self, fate: &mut Fate) -> Times {
        self.waiting.clear();
        self.connections.clear();
        self.resolved.clear();
        if self.is_one_stream() { self.load_stream(fate) } else { self.load_objects(fate) }
    }

    /// Whether all that follows the document comes behind it without a wait for one another.
    fn is_one_stream(&self) -> bool {
        let asks = self.parameters.most_on_connection() > 1 && self.places == 1;
        self.workload.len() == 1 || self.parameters.pushed > 0 || asks
    }

    fn segments(&self, object: usize) -> u64 {
        let bytes = self.parameters.response(self.workload, object);
        bytes.div_ceil(self.path.mss.max(1)).max(1)
    }

    /// From the first action to a connection that can carry a request.
    fn handshake(&mut self, fate: &mut Fate, host: usize) -> f64 {
        let mut time = 0.0;
        if !self.resolved.contains(&host) {
            self.resolved.push(host);
            time += self.parameters.lookup.as_secs_f64();
        }
        time += self.hello(fate);
        for _ in self.parameters.tls_rounds() {
            time += self.path.rtt
                + self.parameters.delays.behind.map_or(0.0, |behind| behind.round_trip.as_secs_f64())
                + self.request_delay(fate, 1.0);
        }
        time
    }

    /// The transport's handshake, or the answer of the box that has connections up.
    fn hello(&self, fate: &mut Fate) -> f64 {
        if self.parameters.is_established {
            return self.parameters.delays.opening.unwrap_or_default().as_secs_f64();
        }
        let (mut time, mut wait) = (self.path.rtt, self.path.rto_initial);
        while !fate.is_none() && fate.loses_exchange() && wait < 100.0 {
            (time, wait) = (time + wait, wait * 2.0);
        }
        time
    }

    /// What a lost request costs.
    fn request_delay(&self, fate: &mut Fate, samples: f64) -> f64 {
        let (mut time, mut wait) = (0.0, self.path.silence(samples, true));
        while !fate.is_none() && fate.loses_request() && wait < 100.0 {
            (time, wait) = (time + wait, wait * 2.0);
        }
        time
    }

    /// When the last of these objects' requests, which can go at `start`, has left on its last way. Those of several segments are sent as
    /// responses are; short ones share one.
    fn ask(
        &self,
        fate: &mut Fate,
        asking: &mut Flow,
        objects: Range<usize>,
        (start, sharing): (f64, f64),
        samples: f64,
    ) -> f64 {
        let mss = self.path.mss.max(1);
        let request = |object| self.parameters.request(self.workload, object);
        match objects.map(|object| request(object).saturating_sub(1) / mss).sum::<u64>() {
            0 => start + self.request_delay(fate, samples),
            full => asking.transfer(&self.up, fate, (full + 1, start, sharing), &mut |_, _| {}),
        }
    }

    fn server(&self, object: usize, responses: u32) -> f64 {
        let delays = &self.parameters.delays;
        let mut delay = delays.response.as_secs_f64() + self.workload.think(object).seconds();
        if responses == 0 {
            delay += delays.connection.as_secs_f64();
        }
        if object == 0 {
            delay += delays.document.as_secs_f64();
        }
        delay
    }

    /// The document, and what it names in one stream behind it.
    fn load_stream(&mut self, fate: &mut Fate) -> Times {
        let (mut flow, mut asking) = (Flow::new(&self.path, fate), Flow::new(&self.up, fate));
        let up = self.handshake(fate, 0);
        let asked = self.ask(fate, &mut asking, 0..1, (up, 1.0), 1.0);
        let first = asked + self.path.rtt + self.server(0, 0);
        if self.parameters.pushed > 0 || self.workload.len() == 1 {
            let all: u64 = (0..self.workload.len()).map(|object| self.segments(object)).sum();
            return Times { first, last: flow.transfer(&self.path, fate, (all, first, 1.0), &mut |_, _| {}) };
        }
        let document = flow.transfer(&self.path, fate, (self.segments(0), first, 1.0), &mut |_, _| {});
        let rest: u64 = (1..self.workload.len()).map(|object| self.segments(object)).sum();
        let asked = self.ask(fate, &mut asking, 1..self.workload.len(), (document, 1.0), 3.0);
        let next = asked + self.path.rtt + self.server(1, 1);
        Times { first, last: flow.transfer(&self.path, fate, (rest, next, 1.0), &mut |_, _| {}) }
    }

    /// Each object on the connection that can take it first.
    fn load_objects(&mut self, fate: &mut Fate) -> Times {
        self.waiting.push((0.0, 0));
        let (mut next, mut first, mut last) = (0, None, 0.0_f64);
        while let Some(&(known, object)) = self.waiting.get(next) {
            next += 1;
            let ends = self.load_object(fate, known, object, self.waiting.len() - next + 1);
            first.get_or_insert(ends.first);
            last = last.max(ends.last);
        }
        Times { first: first.unwrap_or(last), last }
    }

    fn load_object(&mut self, fate: &mut Fate, known: f64, object: usize, waiting: usize) -> Times {
        let place = self.place(fate, known, self.workload.object(object).host);
        let sharing = self.places.min(waiting).max(1);
        let shared = u32::try_from(sharing).map_or(1.0, f64::from);
        let Place { free, responses, mut flow, mut asking, host } = self.connections.swap_remove(place);
        let samples = 2.0 + f64::from(responses);
        let asked = self.ask(fate, &mut asking, object..object + 1, (free.max(known), shared), samples);
        let start = asked + self.path.rtt + self.server(object, responses);
        let (mut told, mss) = (0, self.path.mss.max(1));
        let (segments, workload, waiting) = (self.segments(object), self.workload, &mut self.waiting);
        let mut learn = |segments: u64, at: f64| {
            let arrived = segments.saturating_mul(mss);
            while let Some(&(_, name)) = workload.named_by(object).get(told).filter(|(end, _)| *end <= arrived) {
                told += 1;
                let known = at + workload.object(name).delay.as_secs_f64();
                let behind = waiting.partition_point(|(time, _)| *time <= known);
                waiting.insert(behind, (known, name));
            }
        };
        let end = flow.transfer(&self.path, fate, (segments, start, shared), &mut learn);
        learn(u64::MAX, end);
        self.connections.push(Place { free: end, flow, asking, responses: responses.saturating_add(1), host });
        Times { first: start, last: end }
    }

    /// The connection to `host` that can carry the next request first: an open one, or one that is opened for it.
    fn place(&mut self, fate: &mut Fate, known: f64, host: usize) -> usize {
        let count = self.connections.iter().filter(|place| place.host == host).count();
        let (is_full, reusable) = (count >= self.places, self.parameters.http != Http::Http10);
        match self.first_free(host) {
            Some((place, free)) if reusable && (is_full || free <= known + self.path.rtt) => place,
            Some((place, free)) if is_full => {
                self.connections[place] = self.open(fate, free.max(known), host);
                place
            }
            _ => {
                let opened = self.open(fate, known, host);
                self.connections.push(opened);
                // Another may come free while a lost handshake is repeated.
                let first = self.first_free(host).filter(|_| reusable);
                first.map_or(self.connections.len() - 1, |(place, _)| place)
            }
        }
    }

    /// The connection to `host` that is free first, and when.
    fn first_free(&self, host: usize) -> Option<(usize, f64)> {
        let own = self.connections.iter().enumerate().filter(|(_, place)| place.host == host);
        own.map(|(place, connection)| (place, connection.free)).min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// A connection that is opened at `at`.
    fn open(&mut self, fate: &mut Fate, at: f64, host: usize) -> Place {
        let free = at + self.handshake(fate, host);
        Place { free, flow: Flow::new(&self.path, fate), asking: Flow::new(&self.up, fate), responses: 0, host }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recursion::WorkloadObject;
    use crate::recursion::chance::Losses;
    use farhop_scenario::{LossModel, open};
    use farhop_units::{Bytes, Probability};

    fn mean(name: &str, assignments: &[&str], loss: f64) -> f64 {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        let scenario = open(name, &assignments).unwrap();
        let (parameters, workload) = (Parameters::of(&scenario), Workload::of(&scenario.page).unwrap());
        let mut rounds = Rounds::new(&parameters, &workload);
        let losses = Losses::independent(Probability::new(loss).unwrap());
        (0..100).map(|sample| rounds.load(&mut Fate::new(&losses, sample)).last).sum::<f64>() / 100.0
    }

    #[test]
    fn without_loss_rounds_are_near_the_recursion() {
        for (name, assignments) in [
            ("demo", &[][..]),
            ("demo", &["http.version=1.0"]),
            ("demo", &["page.objects=1", "page.size=2 MB"]),
            ("demo", &["http.version=2"]),
        ] {
            let texts: Vec<String> = assignments.iter().map(|&text: &&str| text.to_owned()).collect();
            let scenario = open(name, &texts).unwrap();
            let (parameters, workload) = (Parameters::of(&scenario), Workload::of(&scenario.page).unwrap());
            let rounds = Rounds::new(&parameters, &workload).load(&mut Fate::none()).last;
            let exact = crate::recursion::Recursion::new().load(&parameters, &workload).unwrap();
            let error = rounds / exact.last_byte.as_secs_f64() - 1.0;
            assert!(error.abs() < 0.2, "{name} {assignments:?}: {rounds} {exact:?}");
        }
    }

    #[test]
    fn more_losses_take_longer_and_more_connections_hide_them() {
        let few = ["http.connections=1"];
        let times = [0.0, 0.001, 0.01, 0.05].map(|loss| mean("demo", &few, loss));
        assert!(times.is_sorted() && times[3] > 1.3 * times[0], "{times:?}");
        let cost = |assignments: &[&str]| mean("demo", assignments, 0.02) - mean("demo", assignments, 0.0);
        assert!(cost(&[]) < cost(&few));
    }

    #[test]
    fn what_is_pushed_at_a_set_rate_costs_a_round_trip_more() {
        let scenario = open("demo", &[]).unwrap();
        let settings = crate::recursion::ProxySettings::default();
        let parameters = Parameters::of_architecture(&scenario, farhop_results::Architecture::Accelerated, &settings);
        let workload = Workload::of(&scenario.page).unwrap();
        let mut rounds = Rounds::new(&parameters, &workload);
        let without = rounds.load(&mut Fate::none()).last;
        let losses = Losses::independent(Probability::new(0.01).unwrap());
        let mean = (0..200).map(|sample| rounds.load(&mut Fate::new(&losses, sample)).last).sum::<f64>() / 200.0;
        // Of 1300 segments about 13 are lost, hardly one of them twice.
        assert!((0.2..0.7).contains(&(mean - without)), "{mean} {without}");
    }

    /// A symmetric link that loses one packet in a hundred each way.
    fn lossy(assignments: &[&str]) -> Parameters {
        let link =
            ["link.down.rate=30 Mbit/s", "link.up.rate=30 Mbit/s", "link.down.delay=50 ms", "link.up.delay=50 ms"];
        let texts = link.iter().chain(assignments).map(|&text| text.to_owned()).collect::<Vec<_>>();
        Parameters::of(&open("demo", &texts).unwrap())
    }

    /// One packet in a hundred.
    fn one_in_a_hundred() -> LossModel {
        LossModel::Bernoulli(Probability::new(0.01).unwrap())
    }

    fn mean_of(parameters: &Parameters, objects: &[WorkloadObject]) -> f64 {
        mean_with(parameters, objects, [one_in_a_hundred(), one_in_a_hundred()])
    }

    /// With losses down and up.
    fn mean_with(parameters: &Parameters, objects: &[WorkloadObject], [down, up]: [LossModel; 2]) -> f64 {
        let workload = Workload::new(objects).unwrap();
        let losses = Losses::of([down], [up], Bytes::new(1500));
        let mut rounds = Rounds::new(parameters, &workload);
        (0..1000).map(|sample| rounds.load(&mut Fate::new(&losses, sample)).last).sum::<f64>() / 1000.0
    }

    fn download() -> WorkloadObject {
        WorkloadObject::new(Bytes::kb(1000), None)
    }

    fn upload() -> WorkloadObject {
        WorkloadObject { request: Some(Bytes::kb(1000)), ..WorkloadObject::new(Bytes::kb(1), None) }
    }

    #[test]
    fn a_way_loses_only_what_it_carries() {
        let parameters = lossy(&["tcp.congestion=cubic"]);
        let (down, up) = ([one_in_a_hundred(), LossModel::None], [LossModel::None, one_in_a_hundred()]);
        // On the way back travel acknowledgements, of which the next one makes up for one that is lost.
        for (object, its_own, other) in [(download(), down, up), (upload(), up, down)] {
            let [slow, fast] = [its_own, other].map(|losses| mean_with(&parameters, &[object], losses));
            assert!(slow > 1.5 * fast, "{slow} s and {fast} s");
        }
    }

    #[test]
    fn what_goes_up_is_lost_as_what_comes_down_is() {
        for congestion in ["tcp.congestion=reno", "tcp.congestion=cubic", "tcp.congestion=bbr"] {
            let parameters = lossy(&[congestion]);
            let [down, up] = [download(), upload()].map(|object| mean_of(&parameters, &[object]));
            assert!((up / down - 1.0).abs() < 0.15, "{congestion}: {up} s up, {down} s down");
        }
    }

    #[test]
    fn objects_take_the_connection_that_is_up_first() {
        // A lost handshake costs a second; of six connections the other five carry the page meanwhile.
        let objects = |count| {
            let named = |index| (index > 0).then_some((0, Bytes::kb(1)));
            (0..count).map(|index| WorkloadObject::new(Bytes::kb(1), named(index))).collect::<Vec<_>>()
        };
        let parameters = lossy(&["http.connections=6"]);
        let more = mean_of(&parameters, &objects(13)) - mean_of(&parameters, &objects(1));
        assert!((0.3..0.45).contains(&more), "{more}");
    }
}
