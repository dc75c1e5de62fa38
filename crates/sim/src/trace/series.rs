//! What changes over time, as CSV: the far link's queues, the windows of every connection of TCP and QUIC, every segment sent.
//!
//! `queue.csv` has a line for each change of either queue, at most one in a certain time; `windows.csv` one whenever anything in it
//! changes; `segments.csv` one for each segment as its sender sends it, so that a plot of `sequence` over `t_s` for one connection
//! and direction is the usual time-sequence graph; `connections.csv` says whose connection a number is. Of all this, some is kept to
//! be drawn: the queues, and the first connections.

use super::far_link::BUFFER;
use super::headers::Ends;
use super::thinned::Thinned;
use super::{Counted, Route};
use crate::network::{Place, Side, Upper};
use farhop_link::Direction;
use farhop_results::{ConnectionSeries, QueuePoint, SegmentPoint, TraceSeries, WindowPoint};
use farhop_scenario::Scenario;
use farhop_tcp::{SenderState, Sequence};
use farhop_units::{Bytes, Instant};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

/// Lines about queues in an hour or whatever a run takes.
const QUEUE_LINES: u32 = 100_000;
/// Never closer than this.
const LEAST_STEP: Duration = Duration::from_millis(1);
/// Connections that are drawn.
const DRAWN: u64 = 6;

/// What a sender of TCP or QUIC is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SenderSight {
    pub(crate) window: Bytes,
    pub(crate) threshold: Option<Bytes>,
    pub(crate) in_flight: Bytes,
    pub(crate) smoothed_rtt: Option<Duration>,
    /// The first number that is not acknowledged; QUIC's packets have no such numbers.
    pub(crate) acknowledged: Option<Sequence>,
}

impl From<SenderState> for SenderSight {
    fn from(state: SenderState) -> Self {
        let SenderState { window, threshold, in_flight, smoothed_rtt, unacknowledged } = state;
        Self { window, threshold, in_flight, smoothed_rtt, acknowledged: Some(unacknowledged) }
    }
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Sender {
    sight: Option<SenderSight>,
    /// The number after the last one that was sent.
    next: Sequence,
}

/// Files of series.
#[derive(Debug)]
struct Files {
    queue: BufWriter<Counted>,
    connections: BufWriter<Counted>,
    windows: BufWriter<Counted>,
    segments: BufWriter<Counted>,
}

/// A drawn direction.
#[derive(Debug)]
struct Drawn {
    windows: Thinned<SenderSight>,
    sent: Thinned<Sequence>,
    repeated: Thinned<Sequence>,
    acknowledged: Thinned<Sequence>,
}

/// All series.
#[derive(Debug)]
pub(super) struct SeriesTrace {
    files: Option<Files>,
    step: Duration,
    next_look: Instant,
    last_queues: Option<[Bytes; 2]>,
    senders: BTreeMap<u64, [Sender; 2]>,
    queues: Thinned<[Bytes; 2]>,
    drawn: Vec<(u64, [Drawn; 2])>,
}

impl SeriesTrace {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let step = scenario.users.as_ref().map_or(LEAST_STEP, |users| (users.duration / QUEUE_LINES).max(LEAST_STEP));
        let largest = |a: [Bytes; 2], b: [Bytes; 2]| [a[0].max(b[0]), a[1].max(b[1])];
        Self {
            files: None,
            step,
            next_look: Instant::START,
            last_queues: None,
            senders: BTreeMap::new(),
            queues: Thinned::new(largest),
            drawn: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, files: [Counted; 4]) -> io::Result<()> {
        let [queue, connections, windows, segments] = files.map(|file| BufWriter::with_capacity(BUFFER, file));
        let mut files = Files { queue, connections, windows, segments };
        writeln!(files.queue, "t_s,down_bytes,up_bytes")?;
        writeln!(
            files.connections,
            "connection,t_s,terminal,server,near,far,near_address,near_port,far_address,far_port"
        )?;
        writeln!(
            files.windows,
            "t_s,connection,direction,window_bytes,threshold_bytes,in_flight_bytes,smoothed_rtt_s,acknowledged"
        )?;
        writeln!(files.segments, "t_s,connection,direction,sequence,length_bytes,acknowledgment,flags,retransmission")?;
        self.files = Some(files);
        Ok(())
    }

    /// A packet is sent on connection `number`, a segment if it is TCP's.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        number: u64,
        (route, ends): (Route, Ends),
        from: Side,
        upper: Upper<'_>,
    ) -> io::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let senders = match self.senders.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                write_connection(&mut files.connections, now, number, route, ends)?;
                entry.insert(Default::default())
            }
        };
        // Of what is not TCP the packet log has all there is to tell.
        let Upper::Tcp(segment) = upper else { return Ok(()) };
        let sender = &mut senders[from as usize];
        let is_again = !segment.is_pure_ack() && segment.sequence < sender.next;
        sender.next = sender.next.max(segment.end());
        let flags =
            [(segment.syn, 'S'), (segment.fin, 'F'), (segment.push, 'P'), (segment.ece, 'E'), (segment.cwr, 'C')];
        let flags: String = flags.into_iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
        let acknowledgment = segment.acknowledgment.map(|number| number.number().to_string()).unwrap_or_default();
        writeln!(
            files.segments,
            "{},{number},{},{},{},{acknowledgment},{flags},{}",
            Seconds(now),
            from.direction().word(),
            segment.sequence.number(),
            segment.payload.get(),
            if is_again { "yes" } else { "no" },
        )?;
        if segment.payload > Bytes::ZERO
            && let Some(drawn) = self.drawn(number, from)
        {
            let line = if is_again { &mut drawn.repeated } else { &mut drawn.sent };
            line.push(now, segment.end());
        }
        Ok(())
    }

    /// A sender is like this now.
    pub(super) fn observe(&mut self, now: Instant, number: u64, side: Side, sight: &SenderSight) -> io::Result<()> {
        let (Some(files), Some(senders)) = (&mut self.files, self.senders.get_mut(&number)) else { return Ok(()) };
        let sender = &mut senders[side as usize];
        if sender.sight.as_ref() == Some(sight) {
            return Ok(());
        }
        let before = sender.sight.replace(*sight).and_then(|sight| sight.acknowledged);
        let SenderSight { window, threshold, in_flight, smoothed_rtt, acknowledged } = *sight;
        let threshold = threshold.map(|threshold| threshold.get().to_string()).unwrap_or_default();
        let smoothed_rtt = smoothed_rtt.map(|rtt| format!("{:.6}", rtt.as_secs_f64())).unwrap_or_default();
        let direction = side.direction().word();
        writeln!(
            files.windows,
            "{},{number},{direction},{},{threshold},{},{smoothed_rtt},{}",
            Seconds(now),
            window.get(),
            in_flight.get(),
            acknowledged.map(|number| number.number().to_string()).unwrap_or_default(),
        )?;
        // Without numbers there is nothing to draw beside the window.
        if let Some(acknowledged) = acknowledged
            && let Some(drawn) = self.drawn(number, side)
        {
            drawn.windows.push(now, *sight);
            if acknowledged > before.unwrap_or(Sequence::FIRST_BYTE).max(Sequence::FIRST_BYTE) {
                drawn.acknowledged.push(now, acknowledged);
            }
        }
        Ok(())
    }

    pub(super) fn wants_queues(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// What waits for the far link now, down and up.
    pub(super) fn queues(&mut self, now: Instant, queues: [Bytes; 2]) -> io::Result<()> {
        self.next_look = now + self.step;
        let Some(files) = self.files.as_mut().filter(|_| self.last_queues != Some(queues)) else { return Ok(()) };
        self.last_queues = Some(queues);
        self.queues.push(now, queues);
        writeln!(files.queue, "{},{},{}", Seconds(now), queues[0].get(), queues[1].get())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        let Some(Files { queue, connections, windows, segments }) = self.files.take() else { return Ok(()) };
        [queue, connections, windows, segments].into_iter().try_for_each(|mut file| file.flush())
    }

    /// Where to draw one direction of a connection, if it is one of the first.
    fn drawn(&mut self, number: u64, side: Side) -> Option<&mut Drawn> {
        if number >= DRAWN {
            return None;
        }
        let place = self.drawn.iter().position(|(known, _)| *known == number).unwrap_or_else(|| {
            self.drawn.push((number, [Drawn::new(), Drawn::new()]));
            self.drawn.len() - 1
        });
        Some(&mut self.drawn[place].1[side as usize])
    }

    /// What is to be drawn: of each connection the direction that carries more.
    pub(super) fn into_series(self) -> TraceSeries {
        let queue = |(at, [down, up]): (Instant, [Bytes; 2])| QueuePoint {
            t_s: at.as_secs_f64(),
            down_bytes: down.get(),
            up_bytes: up.get(),
        };
        let senders = &self.senders;
        let connection = |(number, drawn): (u64, [Drawn; 2])| {
            let next = |side: Side| senders.get(&number).map(|senders| senders[side as usize].next);
            let side = if next(Side::Near) > next(Side::Far) { Side::Near } else { Side::Far };
            let [near, far] = drawn;
            if side == Side::Near { near } else { far }.into_series(number, side.direction())
        };
        TraceSeries {
            queue: self.queues.into_points().into_iter().map(queue).collect(),
            connections: self.drawn.into_iter().map(connection).collect(),
        }
    }
}

impl Drawn {
    fn new() -> Self {
        let numbers = || Thinned::new(|_, last| last);
        let [sent, repeated, acknowledged] = [numbers(), numbers(), numbers()];
        Self { windows: Thinned::new(|_, last| last), sent, repeated, acknowledged }
    }

    fn into_series(self, number: u64, direction: Direction) -> ConnectionSeries {
        let window = |(at, state): (Instant, SenderSight)| WindowPoint {
            t_s: at.as_secs_f64(),
            window_bytes: state.window.get(),
            threshold_bytes: state.threshold.map(Bytes::get),
            in_flight_bytes: state.in_flight.get(),
        };
        let segment = |(at, end): (Instant, Sequence)| SegmentPoint { t_s: at.as_secs_f64(), sequence: end.number() };
        ConnectionSeries {
            connection: number,
            direction: direction.word().to_owned(),
            windows: self.windows.into_points().into_iter().map(window).collect(),
            sent: self.sent.into_points().into_iter().map(segment).collect(),
            retransmitted: self.repeated.into_points().into_iter().map(segment).collect(),
            acknowledged: self.acknowledged.into_points().into_iter().map(segment).collect(),
        }
    }
}

fn write_connection(out: &mut impl Write, now: Instant, number: u64, route: Route, ends: Ends) -> io::Result<()> {
    let place = |place| match place {
        Place::Client => "client",
        Place::Terminal => "terminal",
        Place::Gateway => "gateway",
        Place::Server => "server",
    };
    let ((near_address, near_port), (far_address, far_port)) = (ends.source, ends.destination);
    let Route { line, near, far } = route;
    let (near, far) = (place(near), place(far));
    writeln!(
        out,
        "{number},{},{},{},{near},{far},{near_address},{near_port},{far_address},{far_port}",
        Seconds(now),
        line.terminal,
        line.server,
    )
}

/// A time in s, exactly.
struct Seconds(Instant);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.0 - Instant::START;
        write!(f, "{}.{:09}", since.as_secs(), since.subsec_nanos())
    }
}
