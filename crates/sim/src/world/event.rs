//! What happens at a time, and the list of what will.
//!
//! An event waits as three words, which are written and read as such: where its parts are written one by one and then moved together, the
//! processor waits for each of them.

use super::outlook::Outlook;
use crate::engine::{EventQueue, Looks};
use crate::network::{Held, Parcel, Side};
use farhop_units::Instant;

/// Something that happens at a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A channel of the network is due.
    Stage(u32),
    /// A parcel comes out of a lane of the network.
    Exit(Parcel),
    /// A timer of an endpoint runs out.
    End { side: Side, leg: u32 },
    /// The trunk's connections at a terminal are opened.
    Trunk(u16),
    /// A client has asked its proxy for a connection.
    Connect(u32),
    /// A station of the trunk has something to do.
    Station { side: Side, terminal: u16 },
    /// An end of the paced datagrams has something to do.
    Paced { side: Side, terminal: u16 },
    /// A server has thought long enough.
    Origin(u32),
    /// A client has something to do by itself.
    Client(u32),
    /// The host at an end gets to a packet that has come.
    Heard { side: Side, leg: u32, packet: Held },
    /// A packet for all terminals comes, this one since the beginning.
    Multicast(u64),
}

/// What is to come.
#[derive(Debug, Default)]
pub(crate) struct Events(EventQueue<Waiting>);

/// An event that waits: what it is about, and in the last byte, which [`Parcel::words`] leaves free, of what kind it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting([u64; 3]);

/// The bit of the last word at which the kind begins.
const KIND: u32 = 56;
/// An exit from a lane, which has nothing in the last byte.
const EXIT: u64 = 0;

impl Events {
    /// Nothing is to come.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// See [`EventQueue::push`].
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: impl Into<Waiting>) {
        self.0.push(at, event.into());
    }

    /// See [`EventQueue::push_last`].
    #[inline]
    pub(crate) fn push_last(&mut self, at: Instant, event: impl Into<Waiting>) {
        self.0.push_last(at, event.into());
    }

    /// The next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.0.pop().map(|(at, waiting)| (at, waiting.into()))
    }

    /// The same, looking ahead.
    #[inline]
    pub(super) fn pop_and_look(&mut self, outlook: Outlook<'_>) -> Option<(Instant, Event)> {
        self.0.pop_and_look(outlook).map(|(at, waiting)| (at, waiting.into()))
    }
}

/// Its exit from a lane.
impl From<&Parcel> for Waiting {
    #[inline]
    fn from(parcel: &Parcel) -> Self {
        Self(parcel.words())
    }
}

impl From<Event> for Waiting {
    #[inline]
    fn from(event: Event) -> Self {
        let at_side = |side: Side, number: u32| [u64::from(number), side as u64, 0];
        let (kind, [first, second, third]) = match event {
            Event::Exit(parcel) => (EXIT, parcel.words()),
            Event::End { side, leg } => (1, at_side(side, leg)),
            Event::Stage(stage) => (2, [stage.into(), 0, 0]),
            Event::Trunk(terminal) => (3, [terminal.into(), 0, 0]),
            Event::Connect(leg) => (4, [leg.into(), 0, 0]),
            Event::Station { side, terminal } => (5, at_side(side, terminal.into())),
            Event::Paced { side, terminal } => (6, at_side(side, terminal.into())),
            Event::Origin(leg) => (7, [leg.into(), 0, 0]),
            Event::Client(client) => (8, [client.into(), 0, 0]),
            Event::Multicast(number) => (9, [number, 0, 0]),
            Event::Heard { side, leg, packet } => (10, [leg.into(), side as u64, packet.word()]),
        };
        Self([first, second, third | kind << KIND])
    }
}

impl From<Waiting> for Event {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "they are what they were made of")]
    fn from(Waiting(words): Waiting) -> Self {
        let [number, second, third] = words;
        let (leg, terminal) = (number as u32, number as u16);
        let side = if second == Side::Near as u64 { Side::Near } else { Side::Far };
        match third >> KIND {
            EXIT => Self::Exit(Parcel::of_words(words)),
            1 => Self::End { side, leg },
            2 => Self::Stage(leg),
            3 => Self::Trunk(terminal),
            4 => Self::Connect(leg),
            5 => Self::Station { side, terminal },
            6 => Self::Paced { side, terminal },
            7 => Self::Origin(leg),
            8 => Self::Client(leg),
            9 => Self::Multicast(number),
            _ => Self::Heard { side, leg, packet: Held::of_word(third) },
        }
    }
}

impl Looks<Waiting> for Outlook<'_> {
    fn look<'e>(&mut self, events: impl Iterator<Item = &'e Waiting>) {
        self.look_again();
        events.for_each(|waiting| self.look_at(&Event::from(*waiting)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events() -> impl Strategy<Value = Event> {
        let sides = || prop_oneof![Just(Side::Near), Just(Side::Far)];
        prop_oneof![
            any::<u32>().prop_map(Event::Stage),
            Parcel::any().prop_map(Event::Exit),
            (sides(), any::<u32>()).prop_map(|(side, leg)| Event::End { side, leg }),
            any::<u16>().prop_map(Event::Trunk),
            any::<u32>().prop_map(Event::Connect),
            (sides(), any::<u16>()).prop_map(|(side, terminal)| Event::Station { side, terminal }),
            (sides(), any::<u16>()).prop_map(|(side, terminal)| Event::Paced { side, terminal }),
            any::<u32>().prop_map(Event::Origin),
            any::<u32>().prop_map(Event::Client),
            any::<u64>().prop_map(Event::Multicast),
            (sides(), any::<u32>(), Held::any()).prop_map(|(side, leg, packet)| Event::Heard { side, leg, packet }),
        ]
    }

    proptest! {
        #[test]
        fn what_waited_is_what_it_was(event in events()) {
            let before = format!("{event:?}");
            prop_assert_eq!(format!("{:?}", Event::from(Waiting::from(event))), before);
        }
    }

    #[test]
    fn one_that_waits_takes_half_a_line_of_the_cache_with_its_time() {
        assert_eq!(size_of::<Waiting>(), 24);
    }
}
