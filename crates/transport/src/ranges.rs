//! Sets of numbers kept as ranges: what has arrived, what is to be sent again.

/// A range of numbers from `start` up to but not including `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Disjoint ranges in ascending order, no two of which touch.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    spans: Vec<Span>,
}

impl RangeSet {
    pub(crate) const fn new() -> Self {
        Self { spans: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn first(&self) -> Option<Span> {
        self.spans.first().copied()
    }

    pub(crate) fn last(&self) -> Option<Span> {
        self.spans.last().copied()
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Span> + '_ {
        self.spans.iter().copied()
    }

    /// Adds a range and returns how many of its numbers are new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // What arrives in order extends the last range.
        if let Some(last) = self.spans.last_mut().filter(|last| last.end == start) {
            last.end = end;
            return end - start;
        }
        let from = self.spans.partition_point(|span| span.end < start);
        let to = from + self.spans[from..].partition_point(|span| span.start <= end);
        if from == to {
            self.spans.insert(from, Span { start, end });
            return end - start;
        }
        let touched = &self.spans[from..to];
        let had: u64 = touched.iter().map(|span| span.end.min(end).saturating_sub(span.start.max(start))).sum();
        let merged = Span { start: touched[0].start.min(start), end: touched[touched.len() - 1].end.max(end) };
        self.spans[from] = merged;
        self.spans.drain(from + 1..to);
        end - start - had
    }

    /// Whether a number is in it.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let index = self.spans.partition_point(|span| span.end <= number);
        self.spans.get(index).is_some_and(|span| span.start <= number)
    }

    /// Removes a range.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        let from = self.spans.partition_point(|span| span.end <= start);
        let to = from + self.spans[from..].partition_point(|span| span.start < end);
        if start >= end || from == to {
            return;
        }
        let (left, right) = (self.spans[from].start, self.spans[to - 1].end);
        self.spans.drain(from..to);
        if right > end {
            self.spans.insert(from, Span { start: end, end: right });
        }
        if left < start {
            self.spans.insert(from, Span { start: left, end: start });
        }
    }

    /// Removes the lowest ranges until at most `count` are left.
    pub(crate) fn keep_highest(&mut self, count: usize) {
        self.spans.drain(..self.spans.len().saturating_sub(count));
    }

    /// Removes every number below `end`.
    pub(crate) fn remove_below(&mut self, end: u64) {
        let whole = self.spans.partition_point(|span| span.end <= end);
        self.spans.drain(..whole);
        if let Some(first) = self.spans.first_mut() {
            first.start = first.start.max(end);
        }
    }

    /// The ranges that are missing between `start` and the highest number, ascending.
    pub(crate) fn gaps_from(&self, start: u64) -> impl Iterator<Item = Span> + '_ {
        let mut reached = start;
        self.spans.iter().filter_map(move |span| {
            let gap = Span { start: reached, end: span.start };
            reached = reached.max(span.end);
            (gap.start < gap.end).then_some(gap)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set(
            pieces in prop::collection::vec((0_u64..60, 0_u64..12, prop::bool::weighted(0.7)), 1..40), below in 0_u64..70,
        ) {
            let (mut ranges, mut set) = (RangeSet::new(), BTreeSet::new());
            for (start, length, adds) in pieces {
                let piece = start..start + length;
                if adds {
                    let new = piece.filter(|number| set.insert(*number)).count() as u64;
                    prop_assert_eq!(ranges.insert(start, start + length), new);
                } else {
                    piece.for_each(|number| _ = set.remove(&number));
                    ranges.remove(start, start + length);
                }
            }
            prop_assert!((0..80).all(|number| ranges.contains(number) == set.contains(&number)));
            prop_assert!(ranges.spans.windows(2).all(|pair| pair[0].end < pair[1].start));
            let missing: Vec<u64> = ranges.gaps_from(0).flat_map(|gap| gap.start..gap.end).collect();
            let highest = set.last().copied().unwrap_or(0);
            let expected: Vec<u64> = (0..highest).filter(|number| !set.contains(number)).collect();
            prop_assert_eq!(missing, expected);
            ranges.remove_below(below);
            let left: Vec<u64> = ranges.iter().flat_map(|span| span.start..span.end).collect();
            prop_assert_eq!(left, set.range(below..).copied().collect::<Vec<_>>());
        }
    }
}
