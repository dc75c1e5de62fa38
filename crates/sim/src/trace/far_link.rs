//! The far link's packets, one by one: packet log and capture.
//!
//! Packets are numbered in order of arrival; a copy that the link makes has the number of its original.

use super::headers::{Addresses, Ends, Frame};
use super::{Counted, Passing};
use crate::network::{Route, Side, Upper};
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Class, Destination, DropReason, Output, Port};
use farhop_recording::words::{log_input, log_output};
use farhop_results::capture::Capture;
use farhop_results::packet_log::{Header, Record, Writer};
use farhop_units::Instant;
use std::io::{self, BufWriter};
use std::time::SystemTime;

/// A system call per megabyte at most.
pub(super) const BUFFER: usize = 1 << 20;

/// Log and capture of the far link.
#[derive(Debug)]
pub(super) struct LinkTrace {
    log: Writer<Counted>,
    capture: Capture<BufWriter<Counted>>,
    addresses: Addresses,
    /// By leg: the number of its present connection, and its ends.
    ends: Vec<Option<(u64, Ends)>>,
    /// By the place where it is kept: the packet inside.
    inside: Vec<Recorded>,
    next: u64,
    /// The packet's first bytes.
    headers: Vec<u8>,
}

impl LinkTrace {
    pub(super) fn new(
        log: Counted,
        capture: Counted,
        terminals: u16,
        header: &Header,
        addresses: Addresses,
    ) -> io::Result<Self> {
        let capture = BufWriter::with_capacity(BUFFER, capture);
        Ok(Self {
            log: Writer::new(log, header)?,
            // Virtual time begins in 1970, so that the same run gives the same file.
            capture: Capture::new(capture, terminals.max(1), SystemTime::UNIX_EPOCH)?,
            addresses,
            ends: Vec::new(),
            inside: Vec::new(),
            next: 0,
            headers: Vec::new(),
        })
    }

    /// Notes whose a leg is now.
    pub(super) fn identify(&mut self, (leg, number): (u32, u64), route: Route, upper: Upper<'_>) -> Ends {
        let leg = leg as usize;
        if self.ends.len() <= leg {
            self.ends.resize(leg + 1, None);
        }
        match self.ends[leg] {
            Some((known, ends)) if known == number => ends,
            _ => self.ends[leg].insert((number, self.addresses.of(route, number, upper))).1,
        }
    }

    pub(super) fn arrival(&mut self, at: Instant, port: Port, passing: Passing, frame: Frame<'_>) -> io::Result<()> {
        let packet = Recorded {
            destination: Destination::Terminal(frame.terminal),
            flow: u64::from(passing.leg),
            class: if let Upper::Multicast = frame.upper { Class::High } else { Class::Normal },
            ecn_capable: frame.is_ecn_capable,
            marked: passing.codes.is_marked,
            // What was damaged before is for the host to find out; to the link it is as good as any.
            corrupted: passing.codes.is_damaged,
            ..Recorded::new(self.next, passing.bytes)
        };
        self.next += 1;
        let place = passing.place as usize;
        if self.inside.len() <= place {
            self.inside.resize(place + 1, packet);
        }
        self.inside[place] = packet;
        let packet = Recorded { corrupted: false, ..packet };
        self.write(&log_input(&Input::Arrival { at, port, packet }), passing, frame)
    }

    pub(super) fn delivery(&mut self, at: Instant, port: Port, passing: Passing, frame: Frame<'_>) -> io::Result<()> {
        let packet = self.left(passing);
        self.write(&log_output(&Output::Deliver { at, port, packet }), passing, frame)
    }

    pub(super) fn dropped(
        &mut self,
        at: Instant,
        port: Port,
        passing: Passing,
        reason: DropReason,
        frame: Frame<'_>,
    ) -> io::Result<()> {
        let packet = self.left(passing);
        self.write(&log_output(&Output::Drop { at, port, packet, reason }), passing, frame)
    }

    /// Whether the packet that is kept there had been damaged before it entered.
    pub(super) fn was_damaged(&self, place: u32) -> bool {
        self.inside[place as usize].corrupted
    }

    /// The packet as the link has left it.
    fn left(&self, Passing { place, codes, .. }: Passing) -> Recorded {
        let packet = self.inside[place as usize];
        Recorded { marked: codes.is_marked, corrupted: codes.is_damaged, ..packet }
    }

    fn write(&mut self, record: &Record, passing: Passing, frame: Frame<'_>) -> io::Result<()> {
        self.log.write(record)?;
        self.headers.clear();
        let known = self.ends.get(passing.leg as usize).copied().flatten();
        match (frame.upper, known) {
            (Upper::Multicast, _) => frame.put(Ends::MULTICAST, passing, &mut self.headers),
            (_, Some((_, ends))) => {
                let ends = if passing.from == Side::Near { ends } else { ends.reversed() };
                frame.put(ends, passing, &mut self.headers);
            }
            _ => {}
        }
        self.capture.write(record, &self.headers)
    }

    pub(super) fn finish(mut self, end: Instant) -> io::Result<()> {
        io::Write::flush(&mut self.log.finish(end)?)?;
        self.capture.flush()
    }
}
