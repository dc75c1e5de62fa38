//! What one run leaves behind of every packet: the far link's log and capture, and series over time, for whoever wants to look.
//!
//! The packet log and the capture are those of the emulator (`farhop_results`), so that whatever reads the one reads the other;
//! the series are CSV. A run that is traced takes the same course as one that is not. All files together are bounded: where the
//! bound is reached the trace ends, whole up to there, and says so.
//!
//! Left out: what happens on lans and wans, and everything but the first run of the first architecture.

mod far_link;
mod headers;
mod series;
mod thinned;

pub(crate) use headers::{Addresses, Codes, Frame};
pub(crate) use series::SenderSight;

use crate::network::{Content, Route, Side};
use far_link::LinkTrace;
use farhop_link::{ChannelConfig, DropReason, Port};
use farhop_recording::words;
use farhop_results::TraceSeries;
use farhop_scenario::Scenario;
use farhop_units::{Bytes, Instant};
use series::SeriesTrace;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that all files of a trace may have together: some five million packets. They are looked at by the megabyte.
const MOST_BYTES: u64 = 2_000_000_000;

/// Where a trace goes; files, or memory.
pub struct TraceFiles {
    /// The far link's packet log, for `farhop replay`.
    pub packets: Box<dyn Write + Send>,
    /// The far link's packets, headers alone, in the format pcapng.
    pub capture: Box<dyn Write + Send>,
    /// Bytes that wait for the far link over time.
    pub queue: Box<dyn Write + Send>,
    /// Which connections there were.
    pub connections: Box<dyn Write + Send>,
    /// Windows and round-trip times of every connection, whenever they change.
    pub windows: Box<dyn Write + Send>,
    /// Every segment as it is sent.
    pub segments: Box<dyn Write + Send>,
}

impl TraceFiles {
    /// Keeps nothing but what is to be drawn.
    pub fn nowhere() -> Self {
        let nothing = || Box::new(io::sink());
        Self {
            packets: nothing(),
            capture: nothing(),
            queue: nothing(),
            connections: nothing(),
            windows: nothing(),
            segments: nothing(),
        }
    }
}

impl fmt::Debug for TraceFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceFiles")
    }
}

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TraceSummary {
    /// Arrivals, deliveries and drops of the far link in the packet log.
    pub records: u64,
    /// How much of the run is there.
    pub end: Instant,
    /// Why the rest is not; absent if everything is there.
    pub problem: Option<String>,
    /// A file could not be written.
    pub has_failed: bool,
    /// Some of it, to be drawn.
    pub series: TraceSeries,
}

/// A parcel, as far as the trace of the far link looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing {
    pub(crate) leg: u32,
    pub(crate) from: Side,
    pub(crate) bytes: Bytes,
    /// Where the packet is kept; no other packet on its way is there.
    pub(crate) place: u32,
    pub(crate) codes: Codes,
}

/// A trace that is being written.
#[derive(Debug)]
pub(crate) struct Tracer {
    config: ChannelConfig,
    addresses: Addresses,
    link: Option<LinkTrace>,
    series: SeriesTrace,
    files: Option<TraceFiles>,
    written: Arc<AtomicU64>,
    most: u64,
    summary: TraceSummary,
}

impl Tracer {
    /// A trace into `files`, once a run begins.
    pub(crate) fn new(scenario: &Scenario, files: TraceFiles) -> Self {
        Self::bounded(scenario, files, MOST_BYTES)
    }

    fn bounded(scenario: &Scenario, files: TraceFiles, most: u64) -> Self {
        Self {
            config: scenario.link.clone(),
            addresses: Addresses::new(scenario),
            link: None,
            series: SeriesTrace::new(scenario),
            files: Some(files),
            written: Arc::default(),
            most,
            summary: TraceSummary::default(),
        }
    }

    /// A run begins; the far link has this seed.
    pub(crate) fn begin(&mut self, seed: u64) {
        let Some(files) = self.files.take() else { return };
        let (config, addresses) = (&self.config, self.addresses);
        let count = |out| Counted { out, written: Arc::clone(&self.written) };
        let TraceFiles { packets, capture, queue, connections, windows, segments } = files;
        let begun =
            LinkTrace::new(count(packets), count(capture), config.terminals, &words::header(config, seed), addresses);
        let begun = begun.and_then(|link| {
            self.series.begin([queue, connections, windows, segments].map(count))?;
            Ok(link)
        });
        match begun {
            Ok(link) => self.link = Some(link),
            Err(error) => self.fail(&error),
        }
    }

    /// The far link.
    pub(crate) const fn config(&self) -> &ChannelConfig {
        &self.config
    }

    /// Whether anything more is written.
    pub(crate) const fn is_on(&self) -> bool {
        self.link.is_some()
    }

    /// An endpoint sends a packet. The number of a leg tells its connections apart, one after the other.
    pub(crate) fn sent(&mut self, now: Instant, leg: (u32, u64), route: Route, from: Side, packet: &impl Content) {
        let Some(link) = &mut self.link else { return };
        let upper = packet.upper();
        let ends = link.identify(leg, route, upper);
        let written = self.series.sent(now, leg.1, (route, ends), from, upper);
        self.note(written);
    }

    /// What an endpoint's sender is like now.
    pub(crate) fn observe(&mut self, now: Instant, number: u64, side: Side, sight: &SenderSight) {
        if self.is_on() {
            let written = self.series.observe(now, number, side, sight);
            self.note(written);
        }
    }

    /// Whether to look at the far link's queues.
    pub(crate) fn wants_queues(&self, now: Instant) -> bool {
        self.is_on() && self.series.wants_queues(now)
    }

    /// What waits for the far link, down and up.
    pub(crate) fn queues(&mut self, now: Instant, queued: [Bytes; 2]) {
        let written = self.series.queues(now, queued);
        self.note(written);
    }

    /// A packet enters the far link. Whether it was damaged before is remembered: the link does not know.
    pub(crate) fn arrival(&mut self, now: Instant, port: Port, passing: Passing, frame: Frame<'_>) {
        let Some(link) = &mut self.link else { return };
        self.summary.records += 1;
        let written = link.arrival(now, port, passing, frame);
        self.note(written);
    }

    /// A packet leaves the far link on the other side. Returns whether it was damaged before it had entered.
    pub(crate) fn delivery(&mut self, at: Instant, port: Port, passing: Passing, frame: Frame<'_>) -> bool {
        let Some(link) = &mut self.link else { return false };
        self.summary.records += 1;
        let written = link.delivery(at, port, passing, frame);
        let was_damaged = link.was_damaged(passing.place);
        self.note(written);
        was_damaged
    }

    /// A packet goes no further in the far link.
    pub(crate) fn dropped(&mut self, at: Instant, port: Port, passing: Passing, reason: DropReason, frame: Frame<'_>) {
        let Some(link) = &mut self.link else { return };
        self.summary.records += 1;
        let written = link.dropped(at, port, passing, reason, frame);
        self.note(written);
    }

    /// Something is about to happen on the link after `last`, when it was last run. Ends the trace where it has become too large:
    /// between two instants, so that it holds everything up to there.
    pub(crate) fn check_size(&mut self, now: Instant, last: Instant) {
        if now > last && self.is_on() && self.written.load(Ordering::Relaxed) > self.most {
            self.finish(last);
            self.summary.problem.get_or_insert_with(|| {
                format!(
                "the trace ends after {:.3} s of the run: its files have {}; a smaller page, fewer users or a shorter time can be \
                 traced whole",
                (last - Instant::START).as_secs_f64(),
                Bytes::new(self.most),
            )
            });
        }
    }

    /// Ends the files; the far link was last run at `end`, and has done all that was due until then.
    pub(crate) fn finish(&mut self, end: Instant) {
        let Some(link) = self.link.take() else { return };
        self.summary.end = end;
        let finished = link.finish(end).and_then(|()| self.series.finish());
        if let Err(error) = finished {
            self.fail(&error);
        }
    }

    /// What became of it.
    pub(crate) fn into_summary(mut self) -> TraceSummary {
        if self.files.is_some() {
            self.summary.problem = Some("nothing was traced: the first architecture could not be simulated".to_owned());
        }
        TraceSummary { series: self.series.into_series(), ..self.summary }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.fail(&error);
        }
    }

    /// A file cannot be written: nothing more is, and the log has no end.
    fn fail(&mut self, error: &io::Error) {
        self.link = None;
        self.summary.has_failed = true;
        self.summary.problem.get_or_insert_with(|| format!("the trace was cut short: {error}"));
    }
}

/// A file whose bytes count.
struct Counted {
    out: Box<dyn Write + Send>,
    written: Arc<AtomicU64>,
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted")
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The tracer of a simulation, until the run that is traced takes it, and again from its end on.
#[derive(Debug, Default)]
pub(crate) struct Slot(std::sync::Mutex<Option<Box<Tracer>>>);

impl Slot {
    /// Holds a tracer.
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self(std::sync::Mutex::new(Some(Box::new(tracer))))
    }

    /// The tracer, for run number `run`, from 0: the first one gets it.
    pub(crate) fn take(&self, run: u32) -> Option<Box<Tracer>> {
        self.lock().take_if(|tracer| run == 0 && tracer.files.is_some())
    }

    /// Gives it back.
    pub(crate) fn put(&self, tracer: Option<Box<Tracer>>) {
        if tracer.is_some() {
            *self.lock() = tracer;
        }
    }

    /// What became of the trace, if there was one.
    pub(crate) fn into_summary(self) -> Option<TraceSummary> {
        self.lock().take().map(|tracer| tracer.into_summary())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Box<Tracer>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_load;
    use crate::replications::Watch;
    use farhop_recording::replay::verify_log;
    use farhop_results::Architecture;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody has panicked").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_trace_that_becomes_too_large_ends_whole() {
        let settings = ["page.size=60 MB", "page.objects=1", "http.connections=1"].map(str::to_owned);
        let scenario = farhop_scenario::open("demo", &settings).expect("the assignments are right");
        let packets = Memory::default();
        let files = TraceFiles { packets: Box::new(packets.clone()), ..TraceFiles::nowhere() };
        let most = 3_000_000;
        let slot = Slot::new(Tracer::bounded(&scenario, files, most));
        let mut goes_on = |_| true;
        let outcome = page_load::load(&scenario, Architecture::Direct, (1, 0), &slot, &mut Watch::alone(&mut goes_on));
        let outcome = outcome.expect("it loads").expect("nobody has given it up");
        let summary = slot.into_summary().expect("there is a trace");
        let end = (summary.end - Instant::START).as_secs_f64();
        let (takes, told) = (outcome.load.page_load_s, summary.problem.expect("it is not whole"));
        assert!(end < takes && told.contains("its files have 3 MB"), "{end} of {takes} s: {told}");
        let log = packets.0.lock().expect("nobody has panicked");
        assert!(log.len() > 500_000 && log.len() < 5_000_000, "{} bytes", log.len());
        let replayed = verify_log(&log[..]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(replayed.end, summary.end);
    }
}
