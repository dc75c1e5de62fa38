//! What the network tells a trace of the far link.

use super::parcel::{Content, Parcel};
use super::stage::Stage;
use super::{Network, Place};
use crate::trace::{Codes, Frame, Passing, Tracer};
use farhop_link::{Direction, Output, Port};
use farhop_units::{Bytes, Instant};

impl<P: Content> Network<P> {
    /// From now on `tracer` writes down what the far link does. Nothing has been sent yet.
    pub(crate) fn begin_trace(&mut self, tracer: Option<Box<Tracer>>) {
        let Some(mut tracer) = tracer else { return };
        // A link that constrains nothing is passed over otherwise.
        let far_link = *self.far_link.get_or_insert_with(|| {
            self.stages.push(Stage::new(Place::Terminal, tracer.config(), 0));
            u32::try_from(self.stages.len() - 1).expect("there are fewer channels")
        });
        tracer.begin(self.stages[far_link as usize].seed);
        self.tracer = Some(tracer);
    }

    /// The run is over: the far link does all that is due now, and the trace ends.
    pub(crate) fn end_trace(&mut self) -> Option<Box<Tracer>> {
        if let Some(far_link) = self.far_link.filter(|_| self.tracer.is_some()) {
            let channel = &mut self.stages[far_link as usize].channel;
            let end = channel.now();
            channel.handle_timeout(end);
            while let Some(mut output) = self.stages[far_link as usize].channel.poll() {
                self.trace_output(&mut output);
            }
            self.tracer.iter_mut().for_each(|tracer| tracer.finish(end));
        }
        self.tracer.take()
    }

    /// The trace, if there is one.
    pub(crate) fn tracer(&mut self) -> Option<&mut Tracer> {
        self.tracer.as_deref_mut()
    }

    /// Something is about to happen on the far link.
    #[cold]
    pub(super) fn trace_time(&mut self, now: Instant) {
        let (Some(tracer), Some(far_link)) = (&mut self.tracer, self.far_link) else { return };
        let channel = &mut self.stages[far_link as usize].channel;
        tracer.check_size(now, channel.now());
        if tracer.wants_queues(now) {
            tracer.queues(now, Direction::BOTH.map(|direction| channel.counters(direction)));
        }
    }

    /// A parcel is about to enter the far link. That it is damaged already is for the trace to keep: the link's log tells what the
    /// link has done.
    #[cold]
    pub(super) fn trace_arrival(&mut self, now: Instant, port: Port, parcel: &mut Parcel) {
        self.trace_time(now);
        let Some(tracer) = self.tracer.as_deref_mut().filter(|tracer| tracer.is_on()) else { return };
        tracer.arrival(now, port, passing(parcel), frame(parcel, &self.contents[parcel.content]));
        parcel.is_damaged = false;
    }

    /// A parcel leaves the far link, one way or the other.
    #[cold]
    pub(super) fn trace_output(&mut self, output: &mut Output<Parcel>) {
        let Some(tracer) = self.tracer.as_deref_mut() else { return };
        match output {
            Output::Deliver { at, port, packet } => {
                let frame = frame(packet, &self.contents[packet.content]);
                packet.is_damaged |= tracer.delivery(*at, *port, passing(packet), frame);
            }
            Output::Drop { at, port, packet, reason } => {
                tracer.dropped(*at, *port, passing(packet), *reason, frame(packet, &self.contents[packet.content]));
            }
        }
    }
}

fn passing(parcel: &Parcel) -> Passing {
    let codes = Codes { is_marked: parcel.is_marked, is_damaged: parcel.is_damaged };
    let bytes = Bytes::new(u64::from(parcel.bytes));
    Passing { leg: parcel.leg, from: parcel.from, bytes, place: parcel.content, codes }
}

fn frame<'a>(parcel: &Parcel, content: &'a impl Content) -> Frame<'a> {
    Frame { upper: content.upper(), terminal: parcel.terminal, is_ecn_capable: parcel.is_ecn_capable }
}
