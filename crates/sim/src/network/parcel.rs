//! What travels through the network: the way of a packet, small, while the packet itself waits where it was put.

use core::fmt::Debug;
use farhop_link::{Class, Destination, Direction, Packet};
use farhop_tcp::{Codepoint, Segment};
use farhop_units::Bytes;

/// Where something stands on the line from a client to a server. Stage n of the network lies between place n and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// At a client.
    Client,
    /// At the slow end of the far link.
    Terminal,
    /// At the fast end of the far link.
    Gateway,
    /// At a server.
    Server,
}

impl Place {
    /// All of them, in order.
    const ALL: [Self; 4] = [Self::Client, Self::Terminal, Self::Gateway, Self::Server];
}

/// One line from a client to a server: over which terminal, to which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) terminal: u16,
    pub(crate) server: u32,
}

/// The part of a line that a connection spans, from the client's side to the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) line: Line,
    pub(crate) near: Place,
    pub(crate) far: Place,
}

/// One end of a route, or of what spans it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The client's side.
    Near,
    /// The server's side.
    Far,
}

impl Side {
    /// The other end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Which way packets from here go.
    pub(crate) const fn direction(self) -> Direction {
        match self {
            Self::Near => Direction::Up,
            Self::Far => Direction::Down,
        }
    }
}

/// Keeps packets while they are on their way.
pub(crate) trait Store<P>: Debug + Default {
    /// Finds a place for `packet`.
    fn insert(&mut self, packet: P) -> u32;
    /// Takes the place back; what stands there stays until the place is given out again.
    fn release(&mut self, place: u32);
    /// What stands there.
    fn get(&self, place: u32) -> P;
    /// Asks memory for it.
    fn look_at(&self, place: u32);
    /// How many packets there are.
    fn len(&self) -> usize;
}

/// What can be sent through the network.
pub(crate) trait Content: Clone {
    /// Where such packets are kept.
    type Store: Store<Self>;

    /// Size on the wire, IP header included.
    fn wire_bytes(&self) -> Bytes;

    /// Whether its sender understands explicit congestion notification (RFC 3168).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// A queue has marked it.
    fn mark_congestion(&mut self) {}

    /// It asks for a name or answers that.
    fn is_of_names(&self) -> bool {
        false
    }

    /// What follows the IP header, for captures.
    fn upper(&self) -> Upper<'_> {
        Upper::Other
    }
}

/// What follows a packet's IP header.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upper<'a> {
    Tcp(&'a Segment),
    Udp {
        /// Where the server's side listens.
        port: u16,
    },
    /// UDP from a server to all terminals.
    Multicast,
    /// Something that has no number of its own.
    Other,
}

/// A packet on its way. It is moved from list to list, so it holds no more than is asked for there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// Where the packet is kept.
    pub(super) content: u32,
    /// Which leg it belongs to.
    pub(super) leg: u32,
    /// Size on the wire.
    pub(super) bytes: u32,
    pub(super) server: u32,
    pub(super) terminal: u16,
    /// The place behind the channel that it is in.
    pub(super) ahead: Place,
    /// Where it leaves the network.
    pub(super) to: Place,
    /// The end that sent it.
    pub(super) from: Side,
    /// Whether queues may mark it, or one has.
    pub(super) codepoint: Codepoint,
    /// A bit has been flipped on the way.
    pub(super) is_damaged: bool,
    pub(super) standing: Standing,
}

/// The leg of parcels that are on none: multicast, of which nobody is told what becomes of it.
pub(super) const NO_LEG: u32 = u32::MAX;

/// What a parcel is to the channel that it leaves or enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// A packet like any other.
    Usual,
    /// The link has made this one from another, which leaves the channel right after it and keeps the packet.
    Copy,
    /// The lane that it is about to enter has no room for it.
    Refused,
    /// It waits in front of the far link until that has room for it.
    Patient,
}

impl Parcel {
    /// The line that it is on.
    #[inline]
    pub(super) fn line(&self) -> Line {
        Line { terminal: self.terminal, server: self.server }
    }

    /// The same as three words; nothing is in the last byte.
    #[inline]
    pub(crate) fn words(&self) -> [u64; 3] {
        let Self { content, leg, bytes, server, terminal, .. } = *self;
        let bits = [
            (self.ahead as u64, 16),
            (self.to as u64, 18),
            (self.from as u64, 20),
            (self.codepoint as u64, 21),
            (self.standing as u64, 23),
            (self.is_damaged.into(), 25),
        ];
        let last = bits.into_iter().fold(terminal.into(), |word: u64, (bits, place)| word | bits << place);
        [u64::from(content) | u64::from(leg) << 32, u64::from(bytes) | u64::from(server) << 32, last]
    }

    /// This parcel, where only one of the two is used from now on: a clone is what a link makes of it.
    #[inline]
    pub(super) fn moved(&self) -> Self {
        Self { ..*self }
    }

    /// What [`Self::words`] has made, whatever the last byte holds.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "they are what they were made of")]
    pub(crate) fn of_words([first, second, last]: [u64; 3]) -> Self {
        let two_bits = |place: u32| (last >> place) as usize & 3;
        Self {
            content: first as u32,
            leg: (first >> 32) as u32,
            bytes: second as u32,
            server: (second >> 32) as u32,
            terminal: last as u16,
            ahead: Place::ALL[two_bits(16)],
            to: Place::ALL[two_bits(18)],
            from: if last >> 20 & 1 == Side::Near as u64 { Side::Near } else { Side::Far },
            codepoint: [Codepoint::NotCapable, Codepoint::Capable, Codepoint::Experienced, Codepoint::Experienced]
                [two_bits(21)],
            standing: [Standing::Usual, Standing::Copy, Standing::Refused, Standing::Patient][two_bits(23)],
            is_damaged: last >> 25 & 1 == 1,
        }
    }
}

impl Clone for Parcel {
    /// What a link does to duplicate a packet.
    fn clone(&self) -> Self {
        Self { standing: Standing::Copy, ..*self }
    }
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }

    fn destination(&self) -> Destination {
        // A channel down has no other terminal than its first unless it is the far link.
        let is_on_the_far_link = self.from == Side::Far && self.ahead == Place::Terminal;
        Destination::Terminal(if is_on_the_far_link { self.terminal } else { 0 })
    }

    fn class(&self) -> Class {
        if self.leg == NO_LEG { Class::High } else { Class::Normal }
    }

    fn flow(&self) -> u64 {
        u64::from(self.leg)
    }

    fn is_ecn_capable(&self) -> bool {
        self.codepoint != Codepoint::NotCapable
    }

    fn mark_congestion(&mut self) {
        self.codepoint = Codepoint::Experienced;
    }

    fn corrupt(&mut self, _draw: u64) {
        self.is_damaged = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Parcel {
        /// Any parcel there may be.
        pub(crate) fn any() -> impl Strategy<Value = Self> {
            let places = || prop::sample::select(&Place::ALL[..]);
            let codepoints = [Codepoint::NotCapable, Codepoint::Capable, Codepoint::Experienced];
            let standings = [Standing::Usual, Standing::Copy, Standing::Refused, Standing::Patient];
            let numbers = (any::<[u32; 4]>(), any::<u16>());
            let rest = (
                prop::sample::select(codepoints.to_vec()),
                prop::sample::select(standings.to_vec()),
                any::<[bool; 2]>(),
            );
            (numbers, places(), places(), rest).prop_map(
                |(numbers, ahead, to, (codepoint, standing, [is_near, is_damaged]))| {
                    let ([content, leg, bytes, server], terminal) = numbers;
                    let from = if is_near { Side::Near } else { Side::Far };
                    Self { content, leg, bytes, server, terminal, ahead, to, from, codepoint, is_damaged, standing }
                },
            )
        }
    }

    proptest! {
        #[test]
        fn words_say_all_of_a_parcel_and_leave_a_byte_free(parcel in Parcel::any(), byte in any::<u8>()) {
            let before = format!("{parcel:?}");
            let [first, second, last] = parcel.words();
            prop_assert_eq!(last >> 56, 0);
            prop_assert_eq!(format!("{:?}", Parcel::of_words([first, second, last | u64::from(byte) << 56])), before);
        }
    }
}
