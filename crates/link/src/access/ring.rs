//! Streams: terminals that get a number of slots in every frame, as weights on a ring.
//!
//! The ring lists every terminal as often as its weight, in order of number. While all weights fit a frame, every frame
//! serves the whole ring; when they do not, each frame goes on where the last one stopped, so that all streams become
//! slower alike and each is served at least once in ⌈W/slots⌉ frames, W being the sum of the weights. Prefix sums are kept
//! in a Fenwick tree (Fenwick 1994), so that places are found in O(log N).

/// Weights of N terminals, and where the next frame goes on.
#[derive(Debug)]
pub(super) struct Ring {
    weights: Vec<u32>,
    /// Fenwick tree of the weights, from index 1.
    sums: Vec<u32>,
    /// Terminal, and how many of its places are already served.
    pointer: (u16, u32),
}

impl Ring {
    /// No streams.
    pub(super) fn new(terminals: u16) -> Self {
        let count = usize::from(terminals);
        Self { weights: vec![0; count], sums: vec![0; count + 1], pointer: (0, 0) }
    }

    /// Slots of `terminal` in every frame.
    pub(super) fn weight(&self, terminal: u16) -> u32 {
        self.weights[usize::from(terminal)]
    }

    /// Gives `terminal` another weight.
    pub(super) fn set(&mut self, terminal: u16, weight: u32) {
        let old = core::mem::replace(&mut self.weights[usize::from(terminal)], weight);
        let mut node = usize::from(terminal) + 1;
        while let Some(sum) = self.sums.get_mut(node) {
            *sum = *sum - old + weight;
            node += lowest_bit(node);
        }
    }

    /// The sum of all weights: places on the ring.
    pub(super) fn total(&self) -> u32 {
        self.rank(self.weights.len())
    }

    /// The first place of `terminal`.
    pub(super) fn place(&self, terminal: u16) -> u32 {
        self.rank(terminal.into())
    }

    /// Who is at `place`, which must be below the total.
    pub(super) fn at(&self, place: u32) -> u16 {
        self.locate(place).0
    }

    /// The place at which a frame goes on that does not hold the whole ring.
    pub(super) fn next_place(&self) -> u32 {
        let (terminal, served) = self.pointer;
        let place = self.place(terminal) + served.min(self.weight(terminal));
        place.checked_rem(self.total()).unwrap_or(0)
    }

    /// Goes on by `places`.
    pub(super) fn advance(&mut self, places: u64) {
        if let Some(next) = (u64::from(self.next_place()) + places).checked_rem(self.total().into()) {
            self.pointer = self.locate(u32::try_from(next).expect("below the total"));
        }
    }

    /// Places before those of terminal number `before`.
    fn rank(&self, before: usize) -> u32 {
        let (mut node, mut sum) = (before, 0);
        while node > 0 {
            sum += self.sums[node];
            node -= lowest_bit(node);
        }
        sum
    }

    /// Terminal and offset within its places.
    fn locate(&self, place: u32) -> (u16, u32) {
        let (mut node, mut rest) = (0, place);
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.sums.get(node + step).filter(|&&sum| sum <= rest) {
                node += step;
                rest -= sum;
            }
            step /= 2;
        }
        (u16::try_from(node).unwrap_or(u16::MAX), rest)
    }
}

const fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ring_is_the_list_written_out(
            terminals in 1_u16..70,
            changes in prop::collection::vec((any::<u16>(), 0_u32..4), 1..60),
            steps in 0_u64..1000,
        ) {
            let mut ring = Ring::new(terminals);
            for (terminal, weight) in changes {
                ring.set(terminal % terminals, weight);
            }
            let list: Vec<u16> = (0..terminals).flat_map(|t| (0..ring.weight(t)).map(move |_| t)).collect();
            prop_assert_eq!(ring.total() as usize, list.len());
            for (place, &terminal) in (0..).zip(&list) {
                prop_assert_eq!(ring.at(place), terminal);
                prop_assert!((ring.place(terminal)..ring.place(terminal) + ring.weight(terminal)).contains(&place));
            }
            ring.advance(steps);
            let expected = steps.checked_rem(list.len() as u64).unwrap_or(0);
            prop_assert_eq!(u64::from(ring.next_place()), expected);
        }
    }

    #[test]
    fn a_stream_that_ends_leaves_the_pointer_at_the_next_one() {
        let mut ring = Ring::new(4);
        (0..4).for_each(|terminal| ring.set(terminal, 2));
        ring.advance(3);
        ring.set(1, 0);
        assert_eq!(ring.at(ring.next_place()), 2);
        (0..4).for_each(|terminal| ring.set(terminal, 0));
        ring.advance(5);
        assert_eq!((ring.total(), ring.next_place()), (0, 0));
    }
}
