//! One direction: queue → serializer → pipe → loss.
//!
//! The place where packets go from stage to stage. Medium access will stand between queue and serializer (here the
//! serializer takes the next packet as soon as it is free), outages at both ends of the pipe.

use crate::counters::Counters;
use crate::loss::Loss;
use crate::packet::Slot;
use crate::pipe::Pipe;
use crate::queue::Queue;
use crate::serializer::Serializer;
use crate::{Count, Direction, DirectionConfig, DropReason, Output, Setting};
use farhop_units::Instant;
use std::collections::VecDeque;

/// When something is due, and the number of the packet it happens to. Of two events of one instant the one of the packet
/// that arrived first comes first; events of one direction come in the same order both ways, since no stage reorders.
pub(crate) type Due = (Instant, u64);

/// The stages of one direction and its books.
#[derive(Debug)]
pub(crate) struct Path<P> {
    direction: Direction,
    queue: Queue<P>,
    serializer: Serializer<P>,
    pipe: Pipe<P>,
    loss: Loss,
    arrived: Count,
    delivered: Count,
    dropped: Count,
}

impl<P> Path<P> {
    /// Empty stages.
    pub(crate) fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        Self {
            direction,
            queue: Queue::new(config.queue),
            serializer: Serializer::new(config.rate),
            pipe: Pipe::new(config.delay),
            loss: Loss::new(config.loss, seed, direction),
            arrived: Count::default(),
            delivered: Count::default(),
            dropped: Count::default(),
        }
    }

    /// A packet arrives at the queue, or at the serializer if nobody is before it.
    pub(crate) fn arrive(&mut self, now: Instant, slot: Slot<P>, outputs: &mut VecDeque<Output<P>>) {
        self.arrived.add(slot.bytes);
        if self.serializer.is_idle() {
            self.serializer.start(now, slot);
        } else if let Err(slot) = self.queue.enqueue(slot) {
            self.drop_packet(now, slot, DropReason::QueueFull, outputs);
        }
    }

    /// What happens next.
    pub(crate) fn next_due(&self) -> Option<Due> {
        match (self.pipe.next_exit(), self.serializer.next_finish()) {
            (Some(exit), Some(finish)) => Some(exit.min(finish)),
            (exit, finish) => exit.or(finish),
        }
    }

    /// Lets happen what happens next.
    pub(crate) fn step(&mut self, outputs: &mut VecDeque<Output<P>>) {
        match (self.pipe.next_exit(), self.serializer.next_finish()) {
            (Some(exit), Some(finish)) if finish < exit => self.finish_service(finish.0),
            (Some(_), _) => self.leave_pipe(outputs),
            (None, Some(finish)) => self.finish_service(finish.0),
            (None, None) => {}
        }
    }

    /// Changes one setting from now on.
    pub(crate) fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Rate(rate) => self.serializer.set_rate(rate),
            Setting::Delay(delay) => self.pipe.set_delay(delay),
            Setting::Queue(limit) => self.queue.set_limit(limit),
            Setting::Loss(model) => self.loss.set_model(model),
        }
    }

    /// The books.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            arrived: self.arrived,
            delivered: self.delivered,
            dropped: self.dropped,
            queued: self.queue.count(),
            in_service: self.serializer.count(),
            in_flight: self.pipe.count(),
        }
    }

    /// The packet in service goes into the pipe and the next one into service.
    fn finish_service(&mut self, now: Instant) {
        let next = self.queue.dequeue();
        if let Some(slot) = self.serializer.finish(next) {
            self.pipe.enter(now, slot);
        }
    }

    /// The first packet in the pipe comes out, if it is not lost.
    fn leave_pipe(&mut self, outputs: &mut VecDeque<Output<P>>) {
        let Some((at, slot)) = self.pipe.exit() else { return };
        if self.loss.takes_next() {
            return self.drop_packet(at, slot, DropReason::Lost, outputs);
        }
        self.delivered.add(slot.bytes);
        outputs.push_back(Output::Deliver { at, port: self.direction.exit(), packet: slot.packet });
    }

    fn drop_packet(&mut self, at: Instant, slot: Slot<P>, reason: DropReason, outputs: &mut VecDeque<Output<P>>) {
        self.dropped.add(slot.bytes);
        outputs.push_back(Output::Drop { at, port: slot.entered, packet: slot.packet, reason });
    }
}
