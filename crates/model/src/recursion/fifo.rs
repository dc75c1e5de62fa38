//! What comes first goes first, in one piece of memory: a place is found without asking where a ring ends, and what waits is a slice.

/// Items in the order in which they came.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<T> {
    items: Vec<T>,
    /// Those before this have gone.
    first: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { items: Vec::new(), first: 0 }
    }
}

impl<T: Copy> Fifo<T> {
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.first = 0;
    }

    /// All that wait.
    pub(crate) fn waiting(&self) -> &[T] {
        &self.items[self.first..]
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.first
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(self.first)
    }

    pub(crate) fn back(&self) -> Option<&T> {
        self.waiting().last()
    }

    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        self.items[self.first..].last_mut()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Memory of what has gone is used again once it is three quarters of all, so that few are moved.
    #[inline(never)]
    fn make_room(&mut self) {
        if self.first > self.items.len() / 4 * 3 {
            self.items.drain(..self.first);
            self.first = 0;
        } else {
            self.items.reserve(1);
        }
    }

    /// The first `count` go; there are so many.
    #[inline(always)]
    pub(crate) fn pass(&mut self, count: usize) {
        self.first += count;
        if self.first >= self.items.len() {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn what_comes_first_goes_first(steps in prop::collection::vec((0..9_usize, 0..9_usize), 0..200)) {
            let (mut fifo, mut known, mut next, mut most) = (Fifo::default(), VecDeque::new(), 0.., 0);
            for (come, go) in steps {
                next.by_ref().take(come).for_each(|item| {
                    fifo.push(item);
                    known.push_back(item);
                });
                most = most.max(known.len());
                let go = go.min(known.len());
                fifo.pass(go);
                known.drain(..go);
                prop_assert_eq!(fifo.waiting(), known.make_contiguous() as &[_]);
                prop_assert_eq!((fifo.len(), fifo.front(), fifo.back()), (known.len(), known.front(), known.back()));
                prop_assert!(fifo.items.capacity() <= 8 * (most + 1));
            }
        }
    }
}
