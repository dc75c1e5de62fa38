//! A series that never has more than so many points: when it would, it gets coarser as a whole.

use farhop_units::Instant;
use std::time::Duration;

/// Most points of a series.
const MOST: usize = 500;

/// Points over time, with at least a certain time between them.
#[derive(Debug, Clone)]
pub(super) struct Thinned<T> {
    points: Vec<(Instant, T)>,
    gap: Duration,
    /// What stands for two points that are too near.
    merge: fn(T, T) -> T,
}

impl<T: Copy> Thinned<T> {
    pub(super) const fn new(merge: fn(T, T) -> T) -> Self {
        Self { points: Vec::new(), gap: Duration::ZERO, merge }
    }

    /// Adds a point, not earlier than the last one.
    pub(super) fn push(&mut self, at: Instant, value: T) {
        if !self.absorb(at, value) {
            self.points.push((at, value));
        }
        if self.points.len() > MOST {
            self.thin();
        }
    }

    /// Whether the last point stands for this one too.
    fn absorb(&mut self, at: Instant, value: T) -> bool {
        let Some((last, kept)) = self.points.last_mut().filter(|(last, _)| at < *last + self.gap) else { return false };
        debug_assert!(*last <= at, "time goes on");
        *kept = (self.merge)(*kept, value);
        true
    }

    fn thin(&mut self) {
        let Some(((first, _), (last, _))) = self.points.first().zip(self.points.last()) else { return };
        // Half as many points if they are spread evenly, and so few at most in any case.
        self.gap = (self.gap * 2).max((*last - *first) * 2 / MOST as u32).max(Duration::from_nanos(1));
        for (at, value) in core::mem::take(&mut self.points) {
            if !self.absorb(at, value) {
                self.points.push((at, value));
            }
        }
    }

    pub(super) fn into_points(self) -> Vec<(Instant, T)> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_become_fewer_and_the_largest_stays() {
        let mut series = Thinned::new(u32::max);
        for number in 0..100_000_u32 {
            series.push(Instant::from_nanos(u64::from(number) * 1000), if number == 77_777 { 9 } else { number % 7 });
        }
        let points = series.into_points();
        assert!(points.len() > MOST / 4 && points.len() <= MOST, "{}", points.len());
        assert!(points.is_sorted_by_key(|(at, _)| *at));
        assert!(points.last().is_some_and(|(at, _)| at.as_nanos() > 99_000_000));
        let peak = points.iter().position(|(_, value)| *value == 9).expect("the peak is there");
        assert!(points[peak].0.as_nanos() <= 77_777_000 && points[peak + 1].0.as_nanos() > 77_777_000);
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let mut series = Thinned::new(|_, last| last);
        (0..MOST as u64).for_each(|number| series.push(Instant::from_nanos(number / 2), number));
        assert_eq!(series.into_points().len(), MOST);
    }
}
