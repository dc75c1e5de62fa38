//! Packets cut into the slots of a shared channel.
//!
//! A slot carries so many bytes of the packets that wait, framing included; a packet may begin in one slot and end in a later
//! one. It has left when the slot that carries its last byte ends, since a receiver decodes a burst as a whole.

use crate::packet::Slot;
use crate::path::Due;
use crate::{Count, Framing, Packet};
use farhop_units::{Bytes, Instant};
use std::collections::VecDeque;

/// An amount to be sent, in parts of a byte as the framing's redundancy makes them: sums of them are exact.
type Work = u128;

/// The transmitter of one terminal on a shared channel.
#[derive(Debug)]
pub(crate) struct Burst<P> {
    framing: Framing,
    /// The packet of which a part has been sent, and how much of it has not.
    begun: Option<(Slot<P>, Work)>,
    /// Packets whose last byte is in a slot that has not ended.
    ending: VecDeque<(Instant, Slot<P>)>,
    count: Count,
}

impl<P: Packet> Burst<P> {
    /// A transmitter that has sent nothing.
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, begun: None, ending: VecDeque::new(), count: Count::default() }
    }

    /// What is still to be sent on the wire: of the packet begun and of those that are `queued`.
    pub(crate) fn backlog(&self, queued: Count) -> Bytes {
        let begun = self.begun.as_ref().map_or(0, |(_, rest)| *rest);
        let (work, per_byte) = (begun + self.framing.work(queued), self.framing.work_per_byte());
        // Division of 128 bits takes longer than all the rest; hardly ever is there so much to send.
        match (u64::try_from(work), u64::try_from(per_byte)) {
            (Ok(work), Ok(1)) => Bytes::new(work),
            (Ok(work), Ok(per_byte)) => Bytes::new(work.div_ceil(per_byte)),
            _ => Bytes::new(u64::try_from(work.div_ceil(per_byte)).unwrap_or(u64::MAX)),
        }
    }

    /// Fills a slot of `room` bytes that ends at `end` with packets, of which `next` gives one after the other.
    pub(crate) fn fill(&mut self, room: Bytes, end: Instant, mut next: impl FnMut() -> Option<Slot<P>>) {
        let mut room = u128::from(room.get()) * self.framing.work_per_byte();
        while room > 0 {
            let Some((slot, rest)) = self.begun.take().or_else(|| next().map(|slot| self.begin(slot))) else { return };
            if rest > room {
                self.begun = Some((slot, rest - room));
                return;
            }
            room -= rest;
            self.ending.push_back((end, slot));
        }
    }

    /// Takes back the packet that was begun, if there is one.
    pub(crate) fn give_up(&mut self) -> Option<Slot<P>> {
        let (slot, _) = self.begun.take()?;
        self.count.remove(slot.bytes);
        Some(slot)
    }

    /// When the next packet has been sent, and its number.
    pub(crate) fn next_finish(&self) -> Option<Due> {
        self.ending.front().map(|(end, slot)| (*end, slot.number))
    }

    /// The packet that has been sent.
    pub(crate) fn finish(&mut self) -> Option<Slot<P>> {
        let (_, slot) = self.ending.pop_front()?;
        self.count.remove(slot.bytes);
        Some(slot)
    }

    /// Changes the framing from the next packet on; what is left of the packet begun keeps its size.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        let (old, new) = (self.framing.work_per_byte(), framing.work_per_byte());
        self.begun = self.begun.take().map(|(slot, rest)| (slot, (rest * new).div_ceil(old)));
        self.framing = framing;
    }

    /// Packets of which a part or everything is in slots that have not ended.
    pub(crate) fn count(&self) -> Count {
        self.count
    }

    fn begin(&mut self, slot: Slot<P>) -> (Slot<P>, Work) {
        self.count.add(slot.bytes);
        let work = self.framing.work(Count { packets: 1, bytes: slot.bytes });
        (slot, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use crate::packet::tests::Datagram;

    fn slot(number: u64, bytes: u64) -> Slot<Datagram> {
        let packet = Datagram { id: number, bytes };
        Slot { number, bytes: Bytes::new(bytes), entered: Port::Terminal(0), packet }
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Numbers and times of the packets that have been sent.
    fn sent(burst: &mut Burst<Datagram>) -> Vec<(u64, u64)> {
        core::iter::from_fn(|| {
            let (end, number) = burst.next_finish()?;
            burst.finish()?;
            Some((number, end.as_nanos()))
        })
        .collect()
    }

    #[test]
    fn a_packet_leaves_with_the_slot_of_its_last_byte() {
        let mut burst = Burst::new(Framing::default());
        let mut waiting = VecDeque::from([slot(0, 100), slot(1, 30), slot(2, 50)]);
        burst.fill(Bytes::new(60), at(10), || waiting.pop_front());
        assert_eq!(sent(&mut burst), []);
        assert_eq!(burst.backlog(Count { packets: 2, bytes: Bytes::new(80) }), Bytes::new(120));
        burst.fill(Bytes::new(80), at(20), || waiting.pop_front());
        assert_eq!(burst.count(), Count { packets: 3, bytes: Bytes::new(180) });
        assert_eq!(sent(&mut burst), [(0, 20), (1, 20)]);
        burst.fill(Bytes::new(60), at(30), || waiting.pop_front());
        assert_eq!(sent(&mut burst), [(2, 30)]);
        assert_eq!(burst.count(), Count::default());
    }

    #[test]
    fn framing_fills_slots_too() {
        let mut burst = Burst::new("overhead=20B redundancy=2/1".parse().unwrap());
        let mut waiting = VecDeque::from([slot(0, 10)]);
        assert_eq!(burst.backlog(Count { packets: 1, bytes: Bytes::new(10) }), Bytes::new(60));
        burst.fill(Bytes::new(59), at(1), || waiting.pop_front());
        assert_eq!(sent(&mut burst), []);
        burst.fill(Bytes::new(1), at(2), || waiting.pop_front());
        assert_eq!(sent(&mut burst), [(0, 2)]);
    }

    #[test]
    fn a_packet_given_up_is_no_longer_there() {
        let mut burst = Burst::new(Framing::default());
        let mut waiting = VecDeque::from([slot(0, 100)]);
        burst.fill(Bytes::new(60), at(10), || waiting.pop_front());
        assert_eq!(burst.give_up().map(|slot| slot.number), Some(0));
        assert_eq!((burst.count(), burst.backlog(Count::default())), (Count::default(), Bytes::ZERO));
        assert!(burst.give_up().is_none());
    }
}
