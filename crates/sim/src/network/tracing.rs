//! What the network tells a trace of the far link.

use super::parcel::{Content, Parcel, Store};
use super::span::{FAR, Form, Stage};
use super::{Network, Place, ahead};
use crate::trace::{Codes, Frame, Passing, Tracer};
use crate::world::{Event, Events};
use farhop_link::{Direction, Output, Packet, Port};
use farhop_tcp::Codepoint;
use farhop_units::{Bytes, Instant};

impl<P: Content> Network<P> {
    /// From now on `tracer` writes down what the far link does. Nothing has been sent yet.
    pub(crate) fn begin_trace(&mut self, tracer: Option<Box<Tracer>>) {
        let Some(mut tracer) = tracer else { return };
        if let Form::Nothing = self.spans[FAR].form(Direction::Down) {
            // A link that constrains nothing is passed over otherwise.
            let first = u32::try_from(self.stages.len()).expect("there are fewer channels");
            self.spans[FAR].play(first);
            self.stages.push(Stage::new(Place::Terminal, tracer.config(), self.far_seed));
        }
        tracer.begin(self.far_seed);
        self.tracer = Some(tracer);
    }

    /// The run is over: the far link does all that is due now, and the trace ends.
    pub(crate) fn end_trace(&mut self, events: &mut Events) -> Option<Box<Tracer>> {
        if self.tracer.is_some() {
            let end = match *self.spans[FAR].form(Direction::Down) {
                Form::Stages(first) => self.end_stage(first),
                Form::Lanes(_) | Form::Nothing => self.end_lanes(events),
            };
            self.tracer.iter_mut().for_each(|tracer| tracer.finish(end));
        }
        self.tracer.take()
    }

    fn end_stage(&mut self, stage: u32) -> Instant {
        let channel = &mut self.stages[stage as usize].channel;
        let end = channel.now();
        channel.handle_timeout(end);
        while let Some(mut output) = self.stages[stage as usize].channel.poll() {
            self.trace_output(&mut output);
        }
        end
    }

    /// What leaves the far link at the instant at which it was last looked at has left it.
    fn end_lanes(&mut self, events: &mut Events) -> Instant {
        let far_time = self.far_time;
        while let Some((_, event)) = events.pop().filter(|(at, _)| *at == far_time) {
            let Event::Exit(mut parcel) = event else { continue };
            if ahead(parcel.ahead, parcel.from.other()).1 == FAR {
                self.leave_far_lane(far_time, &mut parcel);
            }
        }
        far_time
    }

    /// A parcel comes out of a lane of the far link.
    pub(super) fn leave_far_lane(&mut self, now: Instant, parcel: &mut Parcel) {
        if self.tracer.is_some() {
            self.trace_time(now);
            let port = match parcel.from.direction() {
                Direction::Down => Port::Terminal(parcel.terminal),
                Direction::Up => Port::Gateway,
            };
            self.trace_delivery(now, port, parcel);
        }
        self.far_time = now;
    }

    /// The trace, if there is one.
    pub(crate) fn tracer(&mut self) -> Option<&mut Tracer> {
        self.tracer.as_deref_mut()
    }

    /// Something is about to happen on the far link.
    #[cold]
    pub(super) fn trace_time(&mut self, now: Instant) {
        let Self { tracer: Some(tracer), stages, far_time, spans, .. } = self else { return };
        // Both directions are of one form while somebody traces.
        let last = match spans[FAR].form(Direction::Down) {
            Form::Stages(first) => stages[*first as usize].channel.now(),
            Form::Lanes(_) | Form::Nothing => *far_time,
        };
        tracer.check_size(now, last);
        // What waits is known of the instant at which something happened last, all of which has.
        if last < now && tracer.wants_queues(last) {
            let queued = Direction::BOTH.map(|direction| match spans[FAR].form_mut(direction) {
                Form::Stages(first) => stages[*first as usize].channel.counters(direction).queued.bytes,
                Form::Lanes(lanes) => lanes.all_queued(*far_time),
                Form::Nothing => Bytes::ZERO,
            });
            tracer.queues(last, queued);
        }
    }

    /// A parcel is about to enter the far link. That it is damaged already is for the trace to keep: the link's log tells what the
    /// link has done.
    #[cold]
    pub(super) fn trace_arrival(&mut self, now: Instant, port: Port, parcel: &mut Parcel) {
        self.trace_time(now);
        let Some(tracer) = self.tracer.as_deref_mut().filter(|tracer| tracer.is_on()) else { return };
        tracer.arrival(now, port, passing(parcel), frame(parcel, &self.contents.get(parcel.content)));
        parcel.is_damaged = false;
    }

    /// A parcel leaves the far link, one way or the other.
    #[cold]
    pub(super) fn trace_output(&mut self, output: &mut Output<Parcel>) {
        match output {
            Output::Deliver { at, port, packet } => self.trace_delivery(*at, *port, packet),
            Output::Drop { at, port, packet, reason } => {
                let Some(tracer) = self.tracer.as_deref_mut() else { return };
                let content = self.contents.get(packet.content);
                tracer.dropped(*at, *port, passing(packet), *reason, frame(packet, &content));
            }
        }
    }

    /// That it was damaged before is known again.
    fn trace_delivery(&mut self, at: Instant, port: Port, parcel: &mut Parcel) {
        let Some(tracer) = self.tracer.as_deref_mut() else { return };
        let content = self.contents.get(parcel.content);
        parcel.is_damaged |= tracer.delivery(at, port, passing(parcel), frame(parcel, &content));
    }
}

fn passing(parcel: &Parcel) -> Passing {
    let codes = Codes { is_marked: parcel.codepoint == Codepoint::Experienced, is_damaged: parcel.is_damaged };
    let bytes = Bytes::new(u64::from(parcel.bytes));
    Passing { leg: parcel.leg, from: parcel.from, bytes, place: parcel.content, codes }
}

fn frame<'a>(parcel: &Parcel, content: &'a impl Content) -> Frame<'a> {
    Frame { upper: content.upper(), terminal: parcel.terminal, is_ecn_capable: parcel.is_ecn_capable() }
}
