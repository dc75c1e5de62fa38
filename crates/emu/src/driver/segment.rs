//! One emulated link: a channel with a device at each end.

use super::frame::{Buffer, Frame};
use super::recorder::{Files, Recorder, Written};
use super::sleep::Reading;
use super::writer::{Delivery, Handed, MOST_SPARE, Pool};
use super::{LARGEST_BUNDLE, MTU, Writers};
use crate::clock::Clock;
use crate::device::Device;
use crate::record::{DirectionStatus, LinkStatus};
use crate::{EmuError, host};
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Change, Channel, ChannelConfig, Counters, Destination, Direction, DropReason, Output, Port};
use farhop_recording::LinkRecord;
use farhop_units::{Bytes, Instant};
use std::sync::Arc;

/// The devices at the ends of an emulated link. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    /// Towards the servers.
    pub(crate) gateway: Arc<Device>,
    /// Towards the clients, by number of the terminal.
    pub(crate) terminals: Vec<Arc<Device>>,
}

impl Ends {
    pub(super) fn device(&self, port: Port) -> &Device {
        match port {
            Port::Gateway => &self.gateway,
            Port::Terminal(number) => &self.terminals[usize::from(number)],
        }
    }

    /// All places where packets come in.
    pub(super) fn ports(&self) -> impl Iterator<Item = Port> + use<> {
        let terminals = u16::try_from(self.terminals.len()).expect("terminals have numbers of 16 bits");
        [Port::Gateway].into_iter().chain((0..terminals).map(Port::Terminal))
    }
}

/// What to remember of a link's packets.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Every packet, in memory.
    pub(crate) packets: bool,
    /// Every packet, in files.
    pub(crate) files: Files,
}

/// One emulated link.
#[derive(Debug)]
pub(crate) struct Segment {
    channel: Channel<Frame>,
    ends: Ends,
    packets: u64,
    books: Books,
    log: Option<LinkRecord>,
    recorder: Option<Recorder>,
    spare: Vec<Buffer>,
    /// Size of its buffers.
    buffer: usize,
    /// Whether a device had more packets than one batch.
    is_busy: bool,
}

/// What a segment has seen, once it has stopped.
#[derive(Debug)]
pub(crate) struct SegmentRecord {
    pub(crate) status: LinkStatus,
    pub(crate) log: Option<LinkRecord>,
    pub(crate) files: Option<Written>,
}

/// What the channel does not count itself.
#[derive(Debug, Clone, Default)]
struct Books {
    /// By direction and reason, in the order of [`DropReason::ALL`].
    dropped: [[u64; DropReason::ALL.len()]; 2],
    peak_queue: [Bytes; 2],
}

/// Packets read from one device before the channels' due packets get their turn.
pub(super) const READ_BATCH: usize = 16;

impl Segment {
    /// A link between devices, with as many terminals as its configuration says.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn new(
        config: ChannelConfig,
        seed: u64,
        ends: Ends,
        clock: Clock,
        memory: &Memory,
    ) -> Result<Self, EmuError> {
        let buffer = match ends.gateway.header() {
            0 => MTU,
            header => header + LARGEST_BUNDLE,
        };
        Ok(Self {
            recorder: Recorder::start(&memory.files, &config, seed, clock.wall_start())?,
            log: memory.packets.then(|| LinkRecord::new(config.clone(), seed)),
            channel: Channel::new(config, seed),
            ends,
            packets: 0,
            books: Books::default(),
            spare: Vec::new(),
            buffer,
            is_busy: false,
        })
    }

    pub(super) fn ends(&self) -> &Ends {
        &self.ends
    }

    /// When something falls due next.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.channel.next_timeout()
    }

    /// Whether packets to one host do not come together.
    pub(super) fn spaces_packets(&self) -> bool {
        let config = self.channel.config();
        let are_spaced = [&config.down, &config.up].iter().all(|way| way.rate.is_some() || way.trace.is_some());
        are_spaced && self.ends.terminals.len() == 1
    }

    /// Hands over what is due.
    pub(super) fn handle_timeout(&mut self, number: usize, now: Instant, clock: Clock, writers: &Writers) {
        self.channel.handle_timeout(now);
        self.deliver(number, clock, writers);
        self.look_at_queues();
    }

    /// Feeds a batch of packets that wait at `port` to the channel, the first of which was there at `noticed`; how many there
    /// were, `None` if the device has failed.
    pub(super) fn receive(
        &mut self,
        number: usize,
        port: Port,
        noticed: Instant,
        clock: Clock,
        writers: &Writers,
    ) -> Option<usize> {
        let reading = Reading::new(noticed, clock.now());
        let mut arrived = noticed;
        for count in 0..READ_BATCH {
            let mut buffer = self.spare.pop().unwrap_or_else(|| self.more_memory(writers.pool()));
            match self.ends.device(port).read(&mut buffer) {
                Ok(Some(length)) => self.arrive(arrived, port, buffer, length),
                Ok(None) => {
                    self.spare.push(buffer);
                    self.is_busy = false;
                    return Some(count);
                }
                Err(error) => {
                    tracing::debug!(%error, ?port, "a device cannot be read");
                    return None;
                }
            }
            self.deliver(number, clock, writers);
            arrived = reading.came(clock.now());
        }
        self.is_busy = true;
        Some(READ_BATCH)
    }

    /// Changes settings, all at the same time; when that was.
    pub(super) fn reconfigure(
        &mut self,
        changes: Vec<Change>,
        number: usize,
        clock: Clock,
        writers: &Writers,
    ) -> Instant {
        let now = clock.now();
        for change in changes {
            self.channel.reconfigure(now, change.clone());
            let at = self.channel.now();
            if let Some(recorder) = &mut self.recorder {
                recorder.change(at, change.clone());
            }
            if let Some(log) = &mut self.log {
                log.inputs.push(Input::Change { at, change });
            }
        }
        self.deliver(number, clock, writers);
        self.channel.now()
    }

    /// What the link has done so far.
    pub(super) fn status(&mut self, now: Instant, Handed { lateness, refused }: Handed) -> LinkStatus {
        let mut direction = |direction: Direction| {
            let counters = self.channel.counters(direction);
            let Counters { arrived, duplicated, delivered, queued, .. } = counters;
            let dropped = DropReason::ALL.into_iter().zip(self.books.dropped[direction as usize]);
            let dropped = dropped.filter(|(_, count)| *count > 0);
            let peak_queue = self.books.peak_queue[direction as usize];
            let (inside, queued) = (counters.held(), queued.bytes);
            DirectionStatus { arrived, duplicated, delivered, dropped: dropped.collect(), inside, queued, peak_queue }
        };
        LinkStatus { at: now, down: direction(Direction::Down), up: direction(Direction::Up), lateness, refused }
    }

    /// Notes how full the queues are.
    fn look_at_queues(&mut self) {
        for direction in Direction::BOTH {
            let queued = self.channel.counters(direction).queued.bytes;
            let peak = &mut self.books.peak_queue[direction as usize];
            *peak = queued.max(*peak);
        }
    }

    fn more_memory(&mut self, pool: &Pool) -> Buffer {
        pool.take(&mut self.spare);
        // Another segment's may be of another size.
        self.spare.retain(|buffer| buffer.len() == self.buffer);
        self.spare.pop().unwrap_or_else(|| vec![0; self.buffer].into_boxed_slice())
    }

    fn arrive(&mut self, now: Instant, port: Port, buffer: Buffer, length: usize) {
        let place = self.ends.gateway.header()..length;
        let destination = self.destination(port, buffer.get(place.clone()).unwrap_or_default());
        let frame = Frame::new(self.packets, destination, buffer, place);
        self.packets += 1;
        if self.log.is_some() || self.recorder.is_some() {
            self.note_arrival(now, port, &frame);
        }
        self.channel.handle_packet(now, port, frame);
    }

    /// The channel's time never runs back, nor does that of what is noted.
    fn note_arrival(&mut self, now: Instant, port: Port, frame: &Frame) {
        let (at, packet) = (now.max(self.channel.now()), frame.recorded());
        if let Some(recorder) = &mut self.recorder {
            recorder.arrival(at, port, packet, frame.bytes());
        }
        if let Some(log) = &mut self.log {
            log.inputs.push(Input::Arrival { at, port, packet });
        }
    }

    fn destination(&self, port: Port, packet: &[u8]) -> Destination {
        let to_many = port == Port::Gateway && self.ends.terminals.len() > 1;
        if to_many { host::destination(packet) } else { Destination::Terminal(0) }
    }

    /// Gives everything that the channel has ready to the writers.
    fn deliver(&mut self, number: usize, clock: Clock, writers: &Writers) {
        while let Some(output) = self.channel.poll() {
            self.note_output(&output);
            match output {
                Output::Deliver { at, port, packet } => {
                    let delivery = Delivery { due: at, segment: number, port, frame: packet };
                    if self.is_busy || !self.ends.device(port).is_quick() {
                        writers.towards(port).deliver(delivery);
                    } else {
                        self.spare.extend(writers.towards(port).deliver_here(delivery, &self.ends, clock));
                    }
                }
                Output::Drop { port, packet, reason, .. } => {
                    self.books.dropped[port.direction() as usize][place_of(reason)] += 1;
                    self.spare.push(packet.into_buffer());
                }
            }
        }
        // Copies that the link makes come on top of what it was given.
        self.spare.truncate(MOST_SPARE);
    }

    fn note_output(&mut self, output: &Output<Frame>) {
        if self.log.is_none() && self.recorder.is_none() {
            return;
        }
        let (frame, recorded) = recorded(output);
        if let Some(recorder) = &mut self.recorder {
            recorder.output(recorded, frame);
        }
        if let Some(log) = &mut self.log {
            log.outputs.push(recorded);
        }
    }

    /// What was seen until `now`. The log ends when the link did something for the last time.
    pub(super) fn finish(mut self, now: Instant, handed: Handed) -> SegmentRecord {
        let end = self.channel.now();
        let status = self.status(now.max(end), handed);
        if let Some(log) = &mut self.log {
            log.end = end;
        }
        SegmentRecord { status, log: self.log, files: self.recorder.map(|recorder| recorder.finish(end)) }
    }
}

/// Place in [`DropReason::ALL`].
fn place_of(reason: DropReason) -> usize {
    DropReason::ALL.iter().position(|known| *known == reason).expect("all of them are there")
}

fn recorded(output: &Output<Frame>) -> (&Frame, Output<Recorded>) {
    match output {
        Output::Deliver { at, port, packet } => {
            (packet, Output::Deliver { at: *at, port: *port, packet: packet.recorded() })
        }
        Output::Drop { at, port, packet, reason } => {
            (packet, Output::Drop { at: *at, port: *port, packet: packet.recorded(), reason: *reason })
        }
    }
}
