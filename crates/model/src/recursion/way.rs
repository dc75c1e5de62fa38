//! Packets on their way in one direction, and what each of them has waited for where that is told.

use super::connection::Packet;
use super::fifo::Fifo;
use super::route::Passage;
use super::sender::Hold;
use super::ticks::Ticks;

/// What a packet waited for before it left and on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Story {
    /// Why it was not sent earlier.
    pub(crate) hold: Hold,
    /// Time in queues on the way, and with that on serializers.
    pub(crate) waited: Ticks,
    pub(crate) link: Ticks,
    /// How the acknowledgement that it waited for was late: delayed, queued.
    pub(crate) late: (Ticks, Ticks),
    /// How long the oldest segment that it acknowledges waited for it.
    pub(crate) held: Ticks,
}

impl Story {
    /// Of what passed a direction so.
    pub(crate) fn of(passage: &Passage) -> Self {
        let Passage { waited, served, .. } = *passage;
        Self { waited, link: waited + served.rounded_up(), ..Self::default() }
    }
}

/// Packets in the order in which they were sent. Stories are apart from them: few ask for any.
#[derive(Debug, Default)]
pub(crate) struct Way {
    packets: Fifo<Packet>,
    stories: Fifo<Story>,
    is_told: bool,
}

impl Way {
    /// Nothing is on its way; `is_told`: what each waits for will be.
    pub(crate) fn reset(&mut self, is_told: bool) {
        self.packets.clear();
        self.stories.clear();
        self.is_told = is_told;
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Packet, story: impl FnOnce() -> Story) {
        self.packets.push(packet);
        if self.is_told {
            self.stories.push(story());
        }
    }

    /// The first `count` have arrived.
    #[inline(always)]
    pub(crate) fn pass(&mut self, count: usize) {
        self.packets.pass(count);
        if self.is_told {
            self.stories.pass(count);
        }
    }

    /// What the packet at this place waited for; nothing if that is not told.
    #[inline(always)]
    pub(crate) fn story(&self, place: usize) -> Story {
        if self.is_told { self.stories.waiting()[place] } else { Story::default() }
    }

    /// The same of the last packet, if there is one.
    pub(crate) fn last_story(&self) -> Story {
        self.stories.back().copied().unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// All that are on the way.
    pub(crate) fn waiting(&self) -> &[Packet] {
        self.packets.waiting()
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_has_its_story_where_any_is_told() {
        for is_told in [true, false] {
            let mut way = Way::default();
            // What was on its way before is forgotten.
            for round in 0..2 {
                way.reset(is_told);
                for nanos in 1..=3 {
                    let waited = Ticks::from_nanos(nanos + round);
                    way.push(Packet::bare(0, Ticks::from_nanos(nanos)), || Story { waited, ..Story::default() });
                }
            }
            way.pass(1);
            let sent: Vec<u64> = way.waiting().iter().map(|packet| packet.sent.raw()).collect();
            let waited = [way.story(0), way.story(1), way.last_story()].map(|story| story.waited.raw());
            assert_eq!((sent, waited), (vec![2, 3], if is_told { [3, 4, 4] } else { [0; 3] }));
        }
    }
}
