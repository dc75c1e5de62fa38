//! The real-time driver: moves packets between devices through `farhop_link` channels.
//!
//! ```text
//! devices ── read ──▶ link's thread: channels ──────────────── write ──▶ devices
//!                                        └─▶ a thread per direction ┘
//! ```
//!
//! The link's thread reads what has arrived, feeds the channel with the time at which it noticed and sleeps until a packet arrives
//! or one is about to fall due; on a dense link it handles what comes within 50 µs together ([`sleep`]). The channel decides
//! everything from arrival times; a late wake-up makes a delivery late but changes no decision. Lateness is the time at which a
//! packet is handed to the kernel minus the time it was due.
//!
//! A packet is handed over by the link's thread itself where that takes hardly longer than copying it ([`Device::is_quick`])
//! and no more wait to be read; else by a thread of its direction ([`writer`]).
//!
//! A host that takes its packets more slowly than the link delivers them makes the driver read less: what has not been read
//! waits in the device of its sender, where it has not arrived at the link yet.
//!
//! As long as there is little to do all threads run on one processor, and hosts take what they are handed at once ([`placement`]).
//!
//! The threads ask for real-time priority (`SCHED_FIFO`) and a timer slack of 1 ns.
//!
//! [`Device::is_quick`]: crate::device::Device::is_quick

mod frame;
mod placement;
mod poller;
mod recorder;
mod remote;
mod segment;
mod sleep;
mod writer;

pub(crate) use recorder::Files;
pub use recorder::Written;
pub(crate) use remote::Remote;
pub(crate) use segment::{Ends, Memory, Segment, SegmentRecord};

use crate::clock::Clock;
use crate::real_time::{self, Priority};
use farhop_link::{Direction, Port};
use farhop_units::Instant;
use nix::unistd::Pid;
use placement::Placement;
use poller::{Poller, Ready};
use remote::{Command, Commands};
use segment::READ_BATCH;
use sleep::{Nap, Sleep};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use writer::{Handed, Pool, Writer};

/// Largest packet on an emulated link: the devices' MTU.
pub(crate) const MTU: usize = 1500;

/// Largest bundle of packets where they are bundled: the largest that an IPv4 header can tell.
const LARGEST_BUNDLE: usize = 65535;

/// The running threads.
#[derive(Debug)]
pub(crate) struct Driver {
    thread: Option<JoinHandle<thread::Result<Vec<SegmentRecord>>>>,
    remote: Remote,
}

impl Driver {
    /// Starts driving `segments`.
    pub(crate) fn start(segments: Vec<Segment>, clock: Clock) -> io::Result<Self> {
        let (remote, commands) = remote::pair()?;
        let ends: Vec<Ends> = segments.iter().map(|segment| segment.ends().clone()).collect();
        let poller = Poller::new(&ends)?;
        let writers = Writers::start(&ends, clock)?;
        let takers: Vec<Pid> =
            ends.iter().flat_map(|ends| ends.ports().filter_map(|port| ends.device(port).taker())).collect();
        let thread = thread::Builder::new().name("farhop-link".to_owned()).spawn(move || {
            real_time::become_real_time(Priority::Link);
            Round {
                segments,
                writers,
                clock,
                commands,
                placement: Placement::new(takers.into_iter()),
                noticed: Instant::START,
                sleep: Sleep::default(),
                ready: Vec::new(),
            }
            .drive(poller)
        })?;
        Ok(Self { thread: Some(thread), remote })
    }

    /// What other threads may ask of the links while they run.
    pub(crate) fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Stops and gives what was seen, segment by segment in the order given, or a thread's panic. Packets still inside are
    /// lost.
    pub(crate) fn stop(&mut self) -> thread::Result<Vec<SegmentRecord>> {
        self.remote.stop();
        self.thread.take().map_or_else(|| Ok(Vec::new()), |thread| thread.join()?)
    }
}

/// The threads that hand packets to hosts.
#[derive(Debug)]
struct Writers {
    down: Writer,
    up: Writer,
    pool: Arc<Pool>,
}

impl Writers {
    fn start(ends: &[Ends], clock: Clock) -> io::Result<Self> {
        let pool = Arc::new(Pool::default());
        let start = |direction| Writer::start(direction, ends.to_vec(), clock, Arc::clone(&pool));
        Ok(Self { down: start(Direction::Down)?, up: start(Direction::Up)?, pool: Arc::clone(&pool) })
    }

    fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The one that delivers at `port`.
    fn towards(&self, port: Port) -> &Writer {
        match port {
            Port::Gateway => &self.up,
            Port::Terminal(_) => &self.down,
        }
    }

    /// Whether packets that enter at `port` should wait outside.
    fn are_behind(&self, port: Port) -> bool {
        let writer = match port.direction() {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        };
        writer.backlog() > MOST_BEHIND
    }

    /// What came of the deliveries of a link so far.
    fn handed(&self, segment: usize) -> Handed {
        let mut handed = self.down.handed(segment);
        handed.merge(&self.up.handed(segment));
        handed
    }

    fn finish(&mut self) -> thread::Result<()> {
        self.down.finish()?;
        self.up.finish()
    }
}

/// Deliveries that may wait for their host before the driver stops reading more for the same direction: at some 5 µs each,
/// less than a run may be late.
const MOST_BEHIND: usize = 48;

/// How long to wait before looking again whether a host has caught up.
const CATCH_UP: Duration = Duration::from_micros(50);

/// The link's thread.
#[derive(Debug)]
struct Round {
    segments: Vec<Segment>,
    writers: Writers,
    clock: Clock,
    commands: Commands,
    sleep: Sleep,
    placement: Option<Placement>,
    /// When the last wait ended, or what ended it arrived: what is found then had arrived, however long reading it takes on an idle
    /// machine's cold caches.
    noticed: Instant,
    /// Where packets may be waiting.
    ready: Vec<Ready>,
}

impl Round {
    fn drive(mut self, mut poller: Poller) -> thread::Result<Vec<SegmentRecord>> {
        loop {
            self.handle_timeouts();
            let progress = self.receive(&mut poller);
            if self.wait(&mut poller, progress) && self.obey() {
                return self.finish();
            }
        }
    }

    /// Waits until there is something to do; whether there are commands.
    fn wait(&mut self, poller: &mut Poller, progress: Progress) -> bool {
        let now = self.clock.now();
        let due = self.segments.iter().filter_map(Segment::next_timeout).min();
        let nap = match progress {
            // Even a busy link looks for commands between batches.
            Progress::Busy => Nap::NONE,
            Progress::Idle => self.sleep.nap(now, due.map(|due| due.since(now))),
            Progress::Behind => {
                let Nap { span, .. } = self.sleep.nap(now, due.map(|due| due.since(now)));
                Nap { span: Some(span.map_or(CATCH_UP, |span| span.min(CATCH_UP))), deaf: true }
            }
        };
        let (is_called, noticed) = poller.wait(&self.commands, nap, self.clock, &mut self.ready);
        self.noticed = noticed;
        if !self.ready.is_empty() {
            self.noticed = self.sleep.arrived(nap, noticed);
        }
        let is_undisturbed = !is_called && (nap.deaf || self.ready.is_empty());
        if let Some(slept) = nap.span.filter(|slept| !slept.is_zero() && is_undisturbed) {
            self.sleep.woken(now + slept, noticed);
        }
        is_called
    }

    /// Does what other threads have asked for; whether that is to stop.
    fn obey(&mut self) -> bool {
        while let Some(command) = self.commands.next() {
            let Self { segments, writers, clock, .. } = self;
            match command {
                Command::Stop => return true,
                // Whoever asked may have gone.
                Command::Change { segment, changes, done } => {
                    let _ = done.send(segments[segment].reconfigure(changes, segment, *clock, writers));
                }
                Command::Status { segment, answer } => {
                    let _ = answer.send(segments[segment].status(clock.now(), writers.handed(segment)));
                }
            }
        }
        false
    }

    fn handle_timeouts(&mut self) {
        for (number, segment) in self.segments.iter_mut().enumerate() {
            segment.handle_timeout(number, self.noticed, self.clock, &self.writers);
        }
    }

    /// Reads a batch from every device that had something.
    fn receive(&mut self, poller: &mut Poller) -> Progress {
        let (mut progress, mut packets) = (Progress::Idle, 0);
        for ready in self.ready.drain(..) {
            let Ready { segment, port } = ready;
            if self.writers.are_behind(port) {
                progress = progress.max(Progress::Behind);
                continue;
            }
            let count = self.segments[segment].receive(segment, port, self.noticed, self.clock, &self.writers);
            packets += count.unwrap_or(0);
            match count {
                Some(READ_BATCH) => progress = Progress::Busy,
                // Nothing more waits.
                Some(_) => {}
                // A device that was deleted by hand would wake the thread for ever, at real-time priority.
                None => poller.forget(self.segments[segment].ends().device(port)),
            }
        }
        if let Some(placement) = &mut self.placement {
            placement.handled(self.noticed, packets, self.segments.iter().all(Segment::spaces_packets));
        }
        progress
    }

    fn finish(mut self) -> thread::Result<Vec<SegmentRecord>> {
        let now = self.clock.now();
        self.writers.finish()?;
        let writers = &self.writers;
        let segments = self.segments.into_iter().enumerate();
        Ok(segments.map(|(number, segment)| segment.finish(now, writers.handed(number))).collect())
    }
}

/// What a round of reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// Nothing was waiting.
    Idle,
    /// Something waits whose receiver is behind.
    Behind,
    /// Something was read.
    Busy,
}
