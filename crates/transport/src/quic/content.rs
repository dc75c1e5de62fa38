//! What datagrams carry: the handshake's messages and the streams.

use super::config::QuicConfig;
use super::handshake::{Handshake, Role};
use super::packet::{Draft, Frame, Packet};
use super::streams::Streams;
use crate::Output;
use farhop_units::Instant;
use std::collections::VecDeque;

/// Both, with what they tell the owner.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) handshake: Handshake,
    pub(super) streams: Streams,
    pub(super) outputs: VecDeque<Output<Packet>>,
}

impl Content {
    pub(super) fn new(role: Role, config: &QuicConfig) -> Self {
        Self { handshake: Handshake::new(role, config), streams: Streams::new(config), outputs: VecDeque::new() }
    }

    /// Whether there may be something to send.
    pub(super) fn wants(&self) -> bool {
        let handshake = &self.handshake;
        let streams = handshake.stream_level().is_some() && self.streams.wants();
        handshake.outgoing.chunk(u64::MAX).is_some() || handshake.done_due || streams
    }

    /// Whether all that is to be sent takes no more than `room` in a datagram.
    pub(super) fn fits(&self, room: u64) -> bool {
        let handshake = &self.handshake;
        let done = if handshake.done_due { Frame::HandshakeDone.overhead() } else { 0 };
        let rest = room.checked_sub(done).filter(|_| handshake.outgoing.chunk(u64::MAX).is_none());
        rest.is_some_and(|rest| self.streams.fit(rest))
    }

    /// Puts into a datagram what fits.
    pub(super) fn fill(&mut self, draft: &mut Draft) {
        let handshake = &mut self.handshake;
        while let Some(chunk) = handshake.outgoing.chunk(u64::MAX) {
            let (level, rest) = handshake.level_at(chunk.offset);
            let frame = |length| Frame::Crypto { offset: chunk.offset, length };
            let room = draft.left(level).saturating_sub(frame(0).overhead());
            let length = chunk.length.min(rest).min(room);
            if length == 0 || draft.is_full() {
                return;
            }
            let short = u16::try_from(length).expect("a datagram is shorter than 64 KiB");
            draft.add(level, frame(short), length);
            handshake.outgoing.send(chunk, length);
        }
        let Some(level) = handshake.stream_level() else { return };
        if handshake.done_due && draft.add(level, Frame::HandshakeDone, 0) {
            handshake.done_due = false;
        }
        self.streams.fill(draft, level);
    }

    /// A frame has arrived in a packet that can be read; the handshake's messages are not among them.
    pub(super) fn receive(&mut self, now: Instant, frame: &Frame) {
        match *frame {
            Frame::Stream { stream, offset, length, fin } => {
                self.streams.receive(now, (stream, offset, length.into(), fin), &mut self.outputs);
            }
            Frame::MaxData { limit } => self.streams.handle_max_data(limit),
            Frame::MaxStreamData { stream, limit } => self.streams.handle_max_stream_data(stream, limit),
            Frame::HandshakeDone => self.handshake.is_confirmed = true,
            Frame::Ping | Frame::Crypto { .. } => {}
        }
    }

    /// A frame that was sent has been acknowledged.
    pub(super) fn arrived(&mut self, now: Instant, frame: &Frame) {
        match *frame {
            Frame::Crypto { offset, length } => self.handshake.outgoing.arrived(offset, length.into(), false),
            Frame::Stream { stream, offset, length, fin } => {
                self.streams.arrived(now, (stream, offset, length.into(), fin), &mut self.outputs);
            }
            Frame::Ping | Frame::MaxData { .. } | Frame::MaxStreamData { .. } | Frame::HandshakeDone => {}
        }
    }

    /// A frame that was sent is to be sent again.
    pub(super) fn lose(&mut self, frame: &Frame) {
        match *frame {
            Frame::Crypto { offset, length } => self.handshake.outgoing.lose(offset, length.into(), false),
            Frame::HandshakeDone => self.handshake.done_due = true,
            _ => self.streams.lose(frame),
        }
    }
}
