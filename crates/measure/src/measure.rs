//! Every architecture that can be had for real, several loads each, from fresh hosts.
//!
//! Each run has a testbed of its own: new hosts, new links, new boxes, so that no run knows of another. The accelerator is measured twice
//! in one testbed: *cold* right after its boxes have found each other, then *warm* with what they have learned but an emptied store. The
//! emulator's packet log gives the link's throughput, its lateness says whether a run counts.
//!
//! Direct loads can fall into groups one round trip apart although nothing was late. Which connection is free first is a matter of
//! microseconds, and with it which objects share one; and how much a connection has carried says how large its congestion window and its send
//! buffer are, so that a large object leaves in one flight or in two. The simulator's seeds have such groups, too. Hence medians, with the
//! fastest and the slowest load beside them.

use crate::accelerator::Accelerator;
use crate::client::{self, Observation, TargetForm};
use crate::samples::link_samples;
use crate::session::{Session, Work};
use crate::{HostAnswers, MeasureError};
use farhop_emu::{EmuError, EmulationRecord, LATENESS_BOUND, Lateness};
use farhop_results::{Architecture, CacheState, EmulationQuality, Gap, Load, ObjectTiming, Row, Source};
use farhop_scenario::Scenario;

/// The client behind every measured number.
const METHOD: &str = "farhop client";
/// Runs of a measurement that may be repeated because the emulator was late: such a run says more about a busy machine than about the
/// scenario. What is late time and again is kept and marked.
const REPEATS: u32 = 3;

/// What was measured of one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// One row per architecture and state.
    pub rows: Vec<Row>,
    /// Architectures that cannot be measured, with the reason.
    pub gaps: Vec<Gap>,
    /// Every load, object by object.
    pub loads: Vec<Load>,
    /// How well the emulator kept time, all runs together.
    pub quality: EmulationQuality,
    /// TCP settings that were in force inside, name and value.
    pub tcp: Vec<(String, String)>,
    /// How long programs, and kernels that had rested, took on hosts without boxes between them.
    pub hosts: HostAnswers,
}

/// Loads the scenario's page `scenario.run.runs` times through each of its architectures. `progress` is told what is being done and
/// what came out, line by line.
///
/// # Errors
/// The testbed cannot be had, a part of it fails, or a load does not bring exactly the origin's bytes.
pub fn measure(scenario: &Scenario, progress: &mut dyn FnMut(&str)) -> Result<Measurement, MeasureError> {
    let work = match check(scenario).and_then(|()| Work::new(scenario)) {
        Err(error) if error.is_beyond_measuring() => return Ok(Measurement::impossible(scenario, &error)),
        work => work?,
    };
    let mut measuring = Measuring {
        work,
        progress,
        rows: Vec::new(),
        gaps: Vec::new(),
        loads: Vec::new(),
        lateness: Lateness::default(),
        repeats_left: REPEATS,
        tcp: Vec::new(),
        hosts: HostAnswers::default(),
    };
    for &architecture in &scenario.run.architectures {
        measuring.architecture(architecture)?;
    }
    Ok(measuring.finish())
}

/// Whether real programs can do what the scenario asks for.
fn check(scenario: &Scenario) -> Result<(), MeasureError> {
    match scenario.multicast {
        Some(_) => Err(MeasureError::Unmeasurable("sends no multicast beside")),
        None => client::check(&scenario.page, &scenario.http),
    }
}

impl Measurement {
    /// Nothing but gaps, all for the same reason.
    fn impossible(scenario: &Scenario, reason: &MeasureError) -> Self {
        let gap =
            |&architecture: &Architecture| Gap { architecture, source: Source::Measured, reason: reason.to_string() };
        let gaps = scenario.run.architectures.iter().map(gap).collect();
        let quality = Lateness::default().quality();
        let hosts = HostAnswers::default();
        Self { rows: Vec::new(), gaps, loads: Vec::new(), quality, tcp: Vec::new(), hosts }
    }
}

/// A measurement under way.
struct Measuring<'a> {
    work: Work,
    progress: &'a mut dyn FnMut(&str),
    rows: Vec<Row>,
    gaps: Vec<Gap>,
    loads: Vec<Load>,
    lateness: Lateness,
    repeats_left: u32,
    tcp: Vec<(String, String)>,
    hosts: HostAnswers,
}

/// What one testbed gave.
struct Run {
    loads: Vec<Load>,
    lateness: Lateness,
    quality: EmulationQuality,
    hosts: HostAnswers,
}

/// What the client saw of one load, checked against the origin.
struct Seen {
    state: CacheState,
    observation: Observation,
    objects: Vec<ObjectTiming>,
}

/// The states in which an architecture is measured; empty if it cannot be.
fn states(architecture: Architecture) -> &'static [CacheState] {
    match architecture {
        Architecture::Direct | Architecture::Tunnel => &[CacheState::Cold],
        Architecture::Accelerated => &[CacheState::Cold, CacheState::Warm],
        Architecture::Split
        | Architecture::Multiplexed
        | Architecture::Rwbp
        | Architecture::PrefetchConventional
        | Architecture::Prefetch2013 => &[],
    }
}

impl Measuring<'_> {
    fn architecture(&mut self, architecture: Architecture) -> Result<(), MeasureError> {
        let states = states(architecture);
        if states.is_empty() {
            self.gap(architecture, format!("there is no real program for {architecture} to measure"));
            return Ok(());
        }
        let before = self.repeats_left;
        let runs: Result<Vec<Run>, _> =
            (0..self.work.scenario.run.runs).map(|run| self.run(architecture, run)).collect();
        let runs = match runs {
            // What no Linux can do is no failure of the run.
            Err(MeasureError::Emulation(error @ EmuError::Tcp { .. })) => {
                self.gap(architecture, error.to_string());
                return Ok(());
            }
            runs => runs?,
        };
        let note = note(&self.work, architecture, &runs, before - self.repeats_left);
        let (page, limit) = (self.work.scenario.page.total_bytes(), farhop_model::limit(&self.work.scenario));
        for &state in states {
            let loads: Vec<&Load> = runs.iter().flat_map(|run| &run.loads).filter(|load| load.state == state).collect();
            self.rows.extend(Row::of_loads(&loads, METHOD, page, limit, note.clone()));
            self.loads.extend(loads.into_iter().cloned());
        }
        self.hosts.extend(runs.into_iter().map(|run| run.hosts));
        Ok(())
    }

    fn gap(&mut self, architecture: Architecture, reason: String) {
        self.gaps.push(Gap { architecture, source: Source::Measured, reason });
    }

    /// One run that counts; what the emulator spoiled is repeated as long as [`REPEATS`] allows.
    fn run(&mut self, architecture: Architecture, run: u32) -> Result<Run, MeasureError> {
        let mut repeats_left = self.repeats_left;
        let counting = counting_run(&mut repeats_left, || {
            let attempt = self.attempt(architecture, run)?;
            if !attempt.quality.is_valid() {
                (self.progress)(&format!("the emulator was {:.2} ms late", attempt.quality.lateness_p99_s * 1e3));
            }
            Ok(attempt)
        })?;
        self.repeats_left = repeats_left;
        self.lateness.merge(&counting.lateness);
        Ok(counting)
    }

    /// One testbed: a load in each state.
    fn attempt(&mut self, architecture: Architecture, run: u32) -> Result<Run, MeasureError> {
        let session = Session::start(&self.work, run)?;
        if self.tcp.is_empty() {
            self.tcp = session.testbed().tcp_settings()?;
        }
        let boxes = match architecture {
            Architecture::Direct => None,
            _ => Some(Accelerator::start(&session, &self.work.scenario)?),
        };
        let mut seen = Vec::new();
        for &state in states(architecture) {
            seen.push(self.load(&session, boxes.as_ref(), architecture, state, run)?);
        }
        if let Some(mut boxes) = boxes {
            boxes.end()?;
        }
        let record = session.stop()?;
        let loads = seen.into_iter().map(|seen| seen.into_load(architecture, run, &record)).collect();
        let link = record.link.as_ref().filter(|_| architecture == Architecture::Direct);
        let hosts = link.map(|link| HostAnswers::of_load(link, &self.work.scenario.tcp)).unwrap_or_default();
        Ok(Run { loads, quality: record.quality, lateness: record.lateness, hosts })
    }

    fn load(
        &mut self,
        session: &Session,
        boxes: Option<&Accelerator>,
        architecture: Architecture,
        state: CacheState,
        run: u32,
    ) -> Result<Seen, MeasureError> {
        let what = self.title(architecture, state, run);
        (self.progress)(&what);
        let route = match boxes {
            None => session.direct(),
            Some(boxes) => {
                if state == CacheState::Warm {
                    boxes.empty_store();
                }
                boxes.route(architecture)
            }
        };
        let during = |error| MeasureError::Run { what: what.clone(), source: Box::new(error) };
        let observation = session.load(route).map_err(during)?;
        let objects = observation.verify(&self.work.scenario.page, &self.work.site).map_err(during)?;
        (self.progress)(&format!("{what}: {:.2} s", observation.page_load().as_secs_f64()));
        Ok(Seen { state, observation, objects })
    }

    fn title(&self, architecture: Architecture, state: CacheState, run: u32) -> String {
        let state = if states(architecture).len() > 1 { format!(" {state}") } else { String::new() };
        format!("measuring {architecture}{state} {}/{}", run + 1, self.work.scenario.run.runs)
    }

    fn finish(self) -> Measurement {
        let quality = self.lateness.quality();
        Measurement { rows: self.rows, gaps: self.gaps, loads: self.loads, quality, tcp: self.tcp, hosts: self.hosts }
    }
}

impl Seen {
    fn into_load(self, architecture: Architecture, run: u32, record: &EmulationRecord) -> Load {
        let (started, ended) = (self.observation.started(), self.observation.ended());
        Load {
            architecture,
            source: Source::Measured,
            state: self.state,
            run,
            page_load_s: self.observation.page_load().as_secs_f64(),
            first_byte_s: self.observation.first_byte().as_secs_f64(),
            objects: self.objects,
            link: record.link.as_ref().map_or_else(Vec::new, |link| link_samples(&link.outputs, started, ended)),
            needs: None,
        }
    }
}

/// The first attempt that the emulator did not spoil, or the last one that may be made.
fn counting_run(
    repeats_left: &mut u32,
    mut attempt: impl FnMut() -> Result<Run, MeasureError>,
) -> Result<Run, MeasureError> {
    loop {
        let run = attempt()?;
        if run.quality.is_valid() || *repeats_left == 0 {
            return Ok(run);
        }
        *repeats_left -= 1;
    }
}

/// What a reader of the row must know.
fn note(work: &Work, architecture: Architecture, runs: &[Run], repeated: u32) -> Option<String> {
    let boxes = if architecture == Architecture::Direct { None } else { Accelerator::note(&work.scenario) };
    let repeated = (repeated > 0).then(|| format!("repeated because the emulator was late: {repeated}"));
    let notes = [work.site.note(), request_note(work, architecture), boxes, invalid(runs), repeated];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Says so if requests are longer than the scenario wants because that is too short for what a request must have.
fn request_note(work: &Work, architecture: Architecture) -> Option<String> {
    let (page, http) = (&work.scenario.page, &work.scenario.http);
    let form = match architecture {
        Architecture::Accelerated if work.site.keys().is_none() => TargetForm::Absolute,
        _ => TargetForm::Origin,
    };
    let sizes = page.objects.iter().enumerate().map(|(index, object)| {
        let wanted = http.request_size(object);
        (client::request_size(work.site.url(index), form, http, object), wanted)
    });
    let (longest, wanted) = sizes.filter(|(size, wanted)| size > wanted).max()?;
    Some(format!("requests are up to {longest} long: the scenario's {wanted} is too small"))
}

/// Says how many runs do not count because the emulator was late.
fn invalid(runs: &[Run]) -> Option<String> {
    let late: Vec<f64> =
        runs.iter().filter(|run| !run.quality.is_valid()).map(|run| run.quality.lateness_p99_s).collect();
    let worst = late.iter().copied().max_by(f64::total_cmp)?;
    let bound = LATENESS_BOUND.as_secs_f64() * 1e3;
    Some(format!(
        "{} of {} runs invalid: the emulator delivered 1 % of the packets more than {:.2} ms late, {bound} ms is accepted",
        late.len(),
        runs.len(),
        worst * 1e3,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(late: Duration) -> Run {
        let mut lateness = Lateness::default();
        lateness.record(late);
        Run { loads: Vec::new(), quality: lateness.quality(), lateness, hosts: HostAnswers::default() }
    }

    #[test]
    fn runs_with_a_late_emulator_are_marked_invalid() {
        let punctual = Duration::from_micros(100);
        assert_eq!(invalid(&[run(punctual), run(punctual)]), None);
        let text = invalid(&[run(punctual), run(Duration::from_micros(800)), run(Duration::from_micros(700))]);
        let text = text.expect("two runs are late");
        assert!(text.starts_with("2 of 3 runs invalid") && text.contains(" 0.80 ms late, 0.5 ms"), "{text}");
    }

    #[test]
    fn spoiled_runs_are_repeated_until_one_counts_or_no_repeat_is_left() {
        let counted = |repeats_left: &mut u32, late: &[u64]| {
            let mut attempts = late.iter().map(|late| run(Duration::from_micros(*late)));
            let counting = counting_run(repeats_left, || Ok(attempts.next().expect("no more attempts than allowed")));
            (counting.expect("no attempt fails").quality.is_valid(), attempts.count())
        };
        let mut left = 2;
        assert_eq!((counted(&mut left, &[800, 100, 100]), left), ((true, 1), 1), "the second attempt counts");
        assert_eq!(
            (counted(&mut left, &[800, 900, 100]), left),
            ((false, 1), 0),
            "the budget is spent, the last one stays"
        );
        assert_eq!((counted(&mut left, &[900, 100]), left), ((false, 1), 0), "and nothing is repeated from then on");
    }

    #[test]
    fn a_page_larger_than_memory_is_a_gap() {
        let page = ["page.objects=100", "page.size=1GB"].map(str::to_owned);
        let scenario = farhop_scenario::open("demo", &page).expect("the page can be simulated");
        let measurement = measure(&scenario, &mut |_| {}).expect("no failure");
        assert_eq!((measurement.rows.len(), measurement.gaps.len()), (0, 3));
        assert!(measurement.gaps[0].reason.contains("100 GB is too large"), "{}", measurement.gaps[0].reason);
    }

    #[test]
    fn what_the_client_does_not_know_is_a_gap_that_says_so() {
        for (assignment, reason) in [
            ("http.version=2", "the measuring client speaks HTTP/1.0 and 1.1 only"),
            ("http.dns=far", "the measuring client resolves no names"),
            ("http.persistence=15s", "the measuring client keeps its connections to the end"),
            ("multicast.rate=1 Mbit/s", "the measuring client sends no multicast beside"),
        ] {
            let scenario = farhop_scenario::open("demo", &[assignment.to_owned()]).expect(assignment);
            let measurement = measure(&scenario, &mut |_| {}).expect("no failure");
            assert_eq!((measurement.rows.len(), measurement.gaps[0].reason.as_str()), (0, reason));
        }
        let mut scenario = farhop_scenario::open("demo", &[]).expect("it is shipped");
        let reference = scenario.page.objects[1].reference.as_mut().expect("the document names it");
        reference.end = farhop_units::Bytes::ZERO;
        let reason = measure(&scenario, &mut |_| {}).expect("no failure").gaps.remove(0).reason;
        assert!(reason.starts_with("index.html of 28 kB cannot name i6.png"), "{reason}");
    }

    #[test]
    fn every_architecture_is_either_measured_or_a_gap() {
        let measured = Architecture::ALL.iter().filter(|architecture| !states(**architecture).is_empty());
        assert_eq!(measured.count(), 3, "direct, tunnel and accelerated");
    }
}
