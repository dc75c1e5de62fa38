//! The largest or the least of the values of late (Kathleen Nichols' algorithm, as in Linux's lib/win_minmax.c).
//!
//! Three candidates are kept: the best of the window and, for when that is too old, the best of what came after it. The answer is
//! exact while the best is young enough; afterwards it is of the window still, and mostly no worse than the best of its last quarter.

/// The best of the values of a window; what is measured on the axis (time, rounds) is the owner's to choose.
#[derive(Debug, Clone)]
pub(crate) struct Windowed<T> {
    span: u64,
    largest: bool,
    /// Best, second and third best, each later than the one before.
    best: Option<[(u64, T); 3]>,
}

impl<T: Copy + PartialOrd> Windowed<T> {
    /// Keeps the largest value of the last `span`.
    pub(crate) fn largest(span: u64) -> Self {
        Self { span, largest: true, best: None }
    }

    /// Keeps the least value of the last `span`.
    pub(crate) fn least(span: u64) -> Self {
        Self { span, largest: false, best: None }
    }

    /// The best value of late.
    pub(crate) fn get(&self) -> Option<T> {
        self.best.map(|best| best[0].1)
    }

    /// Forgets everything but this.
    pub(crate) fn reset(&mut self, at: u64, value: T) {
        self.best = Some([(at, value); 3]);
    }

    fn beats(&self, one: T, other: T) -> bool {
        if self.largest { one >= other } else { one <= other }
    }

    /// A value came, not earlier than the last one.
    pub(crate) fn update(&mut self, at: u64, value: T) {
        let Some([first, second, third]) = self.best else { return self.reset(at, value) };
        if self.beats(value, first.1) || at - third.0 > self.span {
            return self.reset(at, value);
        }
        let new = (at, value);
        let best = match (self.beats(value, second.1), self.beats(value, third.1)) {
            (true, _) => [first, new, new],
            (false, true) => [first, second, new],
            (false, false) => [first, second, third],
        };
        self.best = Some(self.aged(best, new));
    }

    /// Makes room for later candidates as time passes (minmax_subwin_update()).
    fn aged(&self, best: [(u64, T); 3], new: (u64, T)) -> [(u64, T); 3] {
        let [first, second, third] = best;
        let age = new.0 - first.0;
        if age > self.span {
            let moved = [second, third, new];
            return if new.0 - second.0 > self.span { [third, new, new] } else { moved };
        }
        if second.0 == first.0 && age > self.span / 4 {
            [first, new, new]
        } else if third.0 == second.0 && age > self.span / 2 {
            [first, second, new]
        } else {
            best
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_best_is_forgotten_after_the_window() {
        let mut most = Windowed::largest(10);
        most.update(0, 100);
        (1..=10).for_each(|at| most.update(at, 50));
        assert_eq!(most.get(), Some(100));
        most.update(11, 40);
        assert_eq!(most.get(), Some(50));
        (12..30).for_each(|at| most.update(at, 40));
        assert_eq!(most.get(), Some(40));
        most.update(30, 41);
        assert_eq!(most.get(), Some(41));
    }

    proptest! {
        #[test]
        fn the_answer_is_of_the_window_and_no_worse_than_the_latest_value(
            values in prop::collection::vec((0_u64..8, 0_u32..100), 1..200), largest: bool) {
            let mut filter = if largest { Windowed::largest(40) } else { Windowed::least(40) };
            let (mut now, mut seen) = (0, Vec::new());
            for (gap, value) in values {
                now += gap;
                seen.push((now, value));
                filter.update(now, value);
                let best = |span| {
                    let late = seen.iter().filter(|(at, _)| now - at <= span).map(|(_, value)| *value);
                    if largest { late.max() } else { late.min() }
                };
                let (answer, all, late) = (filter.get(), best(40), Some(value));
                let within = if largest { late <= answer && answer <= all } else { all <= answer && answer <= late };
                prop_assert!(within, "{:?} is not between {:?} and {:?}", answer, all, late);
            }
        }
    }
}
