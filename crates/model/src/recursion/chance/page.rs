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

/// What an object takes, whatever is lost.
struct Piece {
    /// Segments of its response, and of its request all but one.
    segments: u64,
    asking: u64,
    /// The server's time, on a new connection and on one that was used.
    server: [f64; 2],
}

/// A page and its path.
struct Course<'a> {
    path: Path,
    up: Path,
    parameters: &'a Parameters,
    workload: &'a Workload,
    pieces: Vec<Piece>,
    places: usize,
}

/// The same, ready to be loaded in rounds.
pub(super) struct Rounds<'a> {
    course: Course<'a>,
    /// Objects that wait, by when they became known.
    waiting: Vec<(f64, usize)>,
    connections: Vec<Place>,
    /// Hosts whose names have been looked up.
    resolved: Vec<usize>,
}

impl Piece {
    fn of(object: usize, parameters: &Parameters, workload: &Workload, mss: u64) -> Self {
        let delays = &parameters.delays;
        let response = delays.response.as_secs_f64() + delays.ahead.as_secs_f64() + workload.think(object).seconds();
        let document = if object == 0 { delays.document.as_secs_f64() } else { 0.0 };
        Self {
            segments: parameters.response(workload, object).div_ceil(mss).max(1),
            asking: parameters.request(workload, object).saturating_sub(1) / mss,
            server: [response + delays.connection.as_secs_f64() + document, response + document],
        }
    }
}

impl<'a> Course<'a> {
    fn new(parameters: &'a Parameters, workload: &'a Workload) -> Self {
        let places = match parameters.most_on_connection() > 1 {
            true => 1,
            false => parameters.connections,
        };
        let path = Path::new(parameters, Side::Server);
        let piece = |object| Piece::of(object, parameters, workload, path.mss.max(1));
        Self {
            path,
            up: Path::new(parameters, Side::Client),
            parameters,
            workload,
            pieces: (0..workload.len()).map(piece).collect(),
            places: places.clamp(1, workload.len()),
        }
    }

    /// Whether all that follows the document comes behind it without a wait for one another.
    fn is_one_stream(&self) -> bool {
        let asks = self.parameters.most_on_connection() > 1 && self.places == 1;
        self.workload.len() == 1 || self.parameters.pushed > 0 || asks
    }

    /// Segments of some responses.
    fn segments(&self, objects: Range<usize>) -> u64 {
        self.pieces[objects].iter().map(|piece| piece.segments).sum()
    }

    /// The transport's handshake, or the answer of the box that has connections up.
    fn hello(&self, fate: &mut Fate) -> f64 {
        if self.parameters.is_established {
            return self.parameters.delays.opening.unwrap_or_default().as_secs_f64();
        }
        let ahead = self.parameters.delays.ahead.as_secs_f64();
        let (mut time, mut wait) = (self.path.rtt + ahead, self.path.rto_initial);
        while !fate.is_none() && fate.loses_exchange() && wait < 100.0 {
            (time, wait) = (time + wait, wait * 2.0);
        }
        time
    }

    /// What a lost request costs.
    fn request_delay(&self, fate: &mut Fate, samples: f64) -> f64 {
        if fate.is_none() || !fate.loses_request() {
            return 0.0;
        }
        let (mut time, mut wait) = (0.0, self.path.silence(samples, true));
        while wait < 100.0 {
            (time, wait) = (time + wait, wait * 2.0);
            if !fate.loses_request() {
                break;
            }
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
        match self.pieces[objects].iter().map(|piece| piece.asking).sum::<u64>() {
            0 => start + self.request_delay(fate, samples),
            full => asking.transfer(&self.up, fate, (full + 1, start, sharing), &mut |_, _| {}),
        }
    }

    fn server(&self, object: usize, responses: u32) -> f64 {
        self.pieces[object].server[usize::from(responses > 0)]
    }
}

impl<'a> Rounds<'a> {
    pub(super) fn new(parameters: &'a Parameters, workload: &'a Workload) -> Self {
        let course = Course::new(parameters, workload);
        Self { course, waiting: Vec::new(), connections: Vec::new(), resolved: Vec::new() }
    }

    /// How many steps a load takes, roughly.
    pub(super) fn work(&self) -> u64 {
        let Course { path, parameters, workload, .. } = &self.course;
        let requests = (0..workload.len()).map(|object| parameters.request(workload, object));
        let bytes = requests.fold(workload.total().get(), u64::saturating_add);
        let segments = bytes / path.mss.max(1);
        workload.len() as u64 * 8 + (segments / 8).min(20_000) + 1
    }

    /// One load.
    pub(super) fn load(&mut self, fate: &mut Fate) -> Times {
        self.waiting.clear();
        self.connections.clear();
        self.resolved.clear();
        if self.course.is_one_stream() { self.load_stream(fate) } else { self.load_objects(fate) }
    }

    /// From the first action to a connection that can carry a request.
    fn handshake(&mut self, fate: &mut Fate, host: usize) -> f64 {
        let Course { path, parameters, .. } = &self.course;
        let mut time = 0.0;
        if !self.resolved.contains(&host) {
            self.resolved.push(host);
            time += parameters.lookup.as_secs_f64();
        }
        time += self.course.hello(fate);
        for _ in parameters.tls_rounds() {
            time += path.rtt
                + parameters.delays.ahead.as_secs_f64()
                + parameters.delays.behind.map_or(0.0, |behind| behind.round_trip.as_secs_f64())
                + self.course.request_delay(fate, 1.0);
        }
        time
    }

    /// The document, and what it names in one stream behind it.
    fn load_stream(&mut self, fate: &mut Fate) -> Times {
        let mut flow = Flow::new(&self.course.path, fate);
        let mut asking = Flow::new(&self.course.up, fate);
        let up = self.handshake(fate, 0);
        let (course, count) = (&self.course, self.course.workload.len());
        let path = &course.path;
        let to_end: &mut dyn FnMut(u64, f64) = &mut |_, _| {};
        let asked = course.ask(fate, &mut asking, 0..1, (up, 1.0), 1.0);
        let first = asked + path.rtt + course.server(0, 0);
        if course.parameters.pushed > 0 || count == 1 {
            return Times { first, last: flow.transfer(path, fate, (course.segments(0..count), first, 1.0), to_end) };
        }
        let document = flow.transfer(path, fate, (course.segments(0..1), first, 1.0), to_end);
        let asked = course.ask(fate, &mut asking, 1..count, (document, 1.0), 3.0);
        let next = asked + path.rtt + course.server(1, 1);
        Times { first, last: flow.transfer(path, fate, (course.segments(1..count), next, 1.0), to_end) }
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
        let place = self.place(fate, known, self.course.workload.object(object).host);
        let newest = self.connections.len() - 1;
        self.connections.swap(place, newest);
        let (course, place) = (&self.course, &mut self.connections[newest]);
        let sharing = course.places.min(waiting).max(1);
        let shared = u32::try_from(sharing).map_or(1.0, f64::from);
        let samples = 2.0 + f64::from(place.responses);
        let could = place.free.max(known);
        let asked = course.ask(fate, &mut place.asking, object..object + 1, (could, shared), samples);
        let start = asked + course.path.rtt + course.server(object, place.responses);
        let (mut told, mss, waiting) = (0, course.path.mss.max(1), &mut self.waiting);
        let names = course.workload.named_by(object);
        let mut learn = |segments: u64, at: f64| {
            let arrived = segments.saturating_mul(mss);
            while let Some(&(_, name)) = names.get(told).filter(|(end, _)| *end <= arrived) {
                told += 1;
                let known = at + course.workload.object(name).delay.as_secs_f64();
                let behind = waiting.partition_point(|(time, _)| *time <= known);
                waiting.insert(behind, (known, name));
            }
        };
        let segments = course.pieces[object].segments;
        let end = place.flow.transfer(&course.path, fate, (segments, start, shared), &mut learn);
        learn(u64::MAX, end);
        (place.free, place.responses) = (end, place.responses.saturating_add(1));
        Times { first: start, last: end }
    }

    /// The connection to `host` that can carry the next request first: an open one, or one that is opened for it.
    fn place(&mut self, fate: &mut Fate, known: f64, host: usize) -> usize {
        let count = self.connections.iter().filter(|place| place.host == host).count();
        let reusable = self.course.parameters.http != Http::Http10;
        let (is_full, rtt) = (count >= self.course.places, self.course.path.rtt);
        match self.first_free(host) {
            Some((place, free)) if reusable && (is_full || free <= known + rtt) => place,
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
        let Course { path, up, .. } = &self.course;
        Place { free, flow: Flow::new(path, fate), asking: Flow::new(up, fate), responses: 0, host }
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
