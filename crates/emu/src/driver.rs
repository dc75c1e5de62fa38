//! The real-time driver: one thread that moves packets between TUN devices through `farhop_link` channels.
//!
//! It reads what has arrived, feeds the channel with the time of reading, writes what the channel delivers and sleeps until a
//! packet arrives or one falls due. The channel decides everything from arrival times; a late wake-up makes a delivery late
//! but changes no decision. Lateness is the time at which a packet is handed to the kernel minus the time it was due.
//!
//! Handing a packet to the kernel runs the receiving host's network stack, up to its TCP's answer, so that one thread
//! carries some 50,000 packets a second: full packets at 100 Mbit/s both ways, but not hundreds of ACKs in a row at that rate.
//!
//! The thread asks for real-time priority (`SCHED_FIFO`) and a timer slack of 1 ns. Without the right to have the former it
//! goes on and the recorded lateness says what that cost.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::record::LinkRecord;
use crate::tun::Tun;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Channel, ChannelConfig, Output, Packet, Port};
use farhop_units::{Bytes, Instant};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Largest packet on an emulated link: the devices' MTU.
pub(crate) const MTU: usize = 1500;

/// Packets read from one device before the channels' due packets get their turn.
const READ_BATCH: usize = 16;

type Buffer = Box<[u8; MTU]>;

/// A real packet inside a channel.
#[derive(Debug)]
struct Frame {
    id: u64,
    length: usize,
    buffer: Buffer,
}

impl Frame {
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    fn recorded(&self) -> Recorded {
        Recorded { id: self.id, bytes: self.wire_bytes() }
    }
}

impl Packet for Frame {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.length as u64)
    }
}

/// The devices at the ends of an emulated link. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    pub(crate) gateway_side: Arc<Tun>,
    pub(crate) terminal_side: Arc<Tun>,
}

/// One emulated link: a channel with a device at each end.
#[derive(Debug)]
pub(crate) struct Segment {
    channel: Channel<Frame>,
    ends: Ends,
    packets: u64,
    dropped: u64,
    lateness: Lateness,
    log: Option<LinkRecord>,
    spare: Vec<Buffer>,
}

/// What a segment has seen, once it has stopped.
#[derive(Debug)]
pub(crate) struct SegmentRecord {
    pub(crate) dropped: u64,
    pub(crate) lateness: Lateness,
    pub(crate) log: Option<LinkRecord>,
}

/// The only terminal of a segment.
const TERMINAL: Port = Port::Terminal(0);

impl Segment {
    /// A link between two devices; keeps a packet log if `logged`.
    pub(crate) fn new(config: ChannelConfig, seed: u64, ends: Ends, logged: bool) -> Self {
        Self {
            log: logged.then(|| LinkRecord::new(config.clone(), seed)),
            channel: Channel::new(config, seed),
            ends,
            packets: 0,
            dropped: 0,
            lateness: Lateness::default(),
            spare: Vec::new(),
        }
    }

    /// Serves what is due, then what has arrived; whether anything had.
    fn serve(&mut self, clock: Clock) -> bool {
        self.channel.handle_timeout(clock.now());
        self.deliver(clock);
        let from_gateway = self.receive(Port::Gateway, clock);
        let from_terminal = self.receive(TERMINAL, clock);
        from_gateway || from_terminal
    }

    /// Feeds a batch of packets that wait at `port` to the channel; whether there were any.
    fn receive(&mut self, port: Port, clock: Clock) -> bool {
        let device = self.device(port);
        for count in 0..READ_BATCH {
            let mut buffer = self.spare.pop().unwrap_or_else(|| Box::new([0; MTU]));
            match device.read(&mut buffer[..]) {
                Ok(Some(length)) => self.arrive(clock.now(), port, buffer, length),
                // A device that was set down by hand has no packets.
                Ok(None) | Err(_) => {
                    self.spare.push(buffer);
                    return count > 0;
                }
            }
            self.deliver(clock);
        }
        true
    }

    fn arrive(&mut self, now: Instant, port: Port, buffer: Buffer, length: usize) {
        let frame = Frame { id: self.packets, length, buffer };
        let (id, bytes) = (frame.id, frame.wire_bytes());
        self.packets += 1;
        self.channel.handle_packet(now, port, frame);
        if let Some(log) = &mut self.log {
            log.inputs.push(Input::Arrival { at: self.channel.now(), port, id, bytes });
        }
    }

    /// Writes everything the channel has ready.
    fn deliver(&mut self, clock: Clock) {
        while let Some(output) = self.channel.poll() {
            let (frame, recorded) = match output {
                Output::Deliver { at, port, packet } => {
                    self.lateness.record(clock.now().since(at));
                    // The host's own queues may be full or its device down; that is its loss, as with any network card.
                    let _ = self.device(port).write(packet.bytes());
                    let recorded = Output::Deliver { at, port, packet: packet.recorded() };
                    (packet, recorded)
                }
                Output::Drop { at, port, packet, reason } => {
                    self.dropped += 1;
                    let recorded = Output::Drop { at, port, packet: packet.recorded(), reason };
                    (packet, recorded)
                }
            };
            if let Some(log) = &mut self.log {
                log.outputs.push(recorded);
            }
            self.spare.push(frame.buffer);
        }
    }

    fn device(&self, port: Port) -> Arc<Tun> {
        Arc::clone(match port {
            Port::Gateway => &self.ends.gateway_side,
            Port::Terminal(_) => &self.ends.terminal_side,
        })
    }

    fn finish(mut self) -> SegmentRecord {
        if let Some(log) = &mut self.log {
            log.end = self.channel.now();
        }
        SegmentRecord { dropped: self.dropped, lateness: self.lateness, log: self.log }
    }
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct Driver {
    thread: Option<JoinHandle<Vec<SegmentRecord>>>,
    stop: Option<PipeWriter>,
}

impl Driver {
    /// Starts driving `segments`.
    pub(crate) fn start(segments: Vec<Segment>, clock: Clock) -> std::io::Result<Self> {
        let (stopped, stop) = std::io::pipe()?;
        let thread = thread::Builder::new().name("farhop-link".to_owned()).spawn(move || {
            become_real_time();
            drive(segments, clock, &stopped)
        })?;
        Ok(Self { thread: Some(thread), stop: Some(stop) })
    }

    /// Stops and gives what was seen, segment by segment in the order given, or the thread's panic. Packets still inside are
    /// lost.
    pub(crate) fn stop(&mut self) -> thread::Result<Vec<SegmentRecord>> {
        // The pipe's end is the thread's sign.
        self.stop = None;
        self.thread.take().map_or_else(|| Ok(Vec::new()), JoinHandle::join)
    }
}

fn drive(mut segments: Vec<Segment>, clock: Clock, stopped: &PipeReader) -> Vec<SegmentRecord> {
    let ends: Vec<Ends> = segments.iter().map(|segment| segment.ends.clone()).collect();
    let devices = ends.iter().flat_map(|ends| [&ends.gateway_side, &ends.terminal_side]);
    let mut events: Vec<PollFd<'_>> = vec![PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
    events.extend(devices.map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN)));
    loop {
        let mut busy = false;
        for segment in &mut segments {
            busy |= segment.serve(clock);
        }
        // Even a busy link looks at the stop sign between batches.
        let timeout = if busy { Some(TimeSpec::new(0, 0)) } else { next_timeout(&segments, clock) };
        // An interrupted wait is a short wait.
        let _ = ppoll(&mut events, timeout, None);
        if events[0].any() == Some(true) {
            return segments.into_iter().map(Segment::finish).collect();
        }
        // A device that was deleted by hand would wake the thread for ever, at real-time priority.
        events.retain(|event| !event.revents().is_some_and(|seen| seen.contains(PollFlags::POLLERR)));
    }
}

/// What going to sleep and being woken costs in processor time: a packet due sooner is waited for awake.
const SLEEP_COST: Duration = Duration::from_micros(20);

/// How long to sleep until the first packet falls due.
fn next_timeout(segments: &[Segment], clock: Clock) -> Option<TimeSpec> {
    let due = segments.iter().filter_map(|segment| segment.channel.next_timeout()).min()?;
    let left = due.since(clock.now());
    Some(TimeSpec::from_duration(if left > SLEEP_COST { left } else { Duration::ZERO }))
}

/// Above every ordinary thread, below the kernel's own (`FIFO` 50 is where threaded interrupt handlers run).
const PRIORITY: libc::c_int = 40;

#[expect(unsafe_code, reason = "sched_setscheduler is not in nix")]
fn become_real_time() {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the parameters live through the call; 0 names the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if let Err(error) = nix::errno::Errno::result(answer) {
        tracing::debug!(%error, "no real-time priority for the link's thread");
    }
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(%error, "the link's timer keeps its slack");
    }
}
