//! The same with other seeds, on all cores, until it has been done often enough.
//!
//! Which replications count follows from their results in order, never from which thread was faster. Of those that come to take more
//! than their share of what one may take ([`World::check_size`]) one goes on at a time, and the others wait for it: all together hold no more than twice
//! as many connections and packets, however many cores there are.

use crate::error::{MOST_LEGS, SimError};
use crate::world::World;
use farhop_results::Sample;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Fewer agree by chance too easily for an end that hangs on it (Law, Simulation Modeling and Analysis, §9.4.1).
pub(crate) const LEAST_REPLICATIONS: usize = 10;

/// What a replication gave; `None` if it was given up because others were enough.
pub(crate) type Replicated<T> = Result<Option<T>, SimError>;

/// What came of each, in order, as far as they are over.
pub(crate) type Results<T> = [Option<Result<T, SimError>>];

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Plan<T> {
    /// On so many threads.
    pub(crate) threads: usize,
    /// The first ones, if they are known.
    pub(crate) known: Vec<T>,
    /// So often in all, if less is not enough.
    pub(crate) most: u32,
}

/// As many threads as there are cores.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Tells of one replication while it runs, and bounds what it takes while others run.
pub(crate) struct Watch<'a, At> {
    tell: &'a mut dyn FnMut(At) -> bool,
    /// So many run at once.
    sharers: usize,
    /// Whose turn it is to be larger than a share.
    turns: Option<&'a Mutex<()>>,
    turn: Option<MutexGuard<'a, ()>>,
}

impl<'a, At> Watch<'a, At> {
    /// Of one that runs alone.
    pub(crate) fn alone(tell: &'a mut dyn FnMut(At) -> bool) -> Self {
        Self { tell, sharers: 1, turns: None, turn: None }
    }

    /// It has come so far; returns whether to go on.
    pub(crate) fn has_reached(&mut self, at: At) -> bool {
        (self.tell)(at)
    }

    /// It is going to have so many connections, or users who will: waits for its turn to be large, if that is more than its share.
    pub(crate) fn expects(&mut self, connections: usize) {
        if connections.saturating_mul(self.sharers) > MOST_LEGS {
            self.wait();
        }
    }

    /// What it took is free again: others may be large.
    pub(crate) fn has_ended(&mut self) {
        self.turn = None;
    }

    fn wait(&mut self) {
        if self.turn.is_none() {
            self.turn = self.turns.map(|turns| turns.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Looks at what it has grown to, and waits for its turn to be large.
    ///
    /// # Errors
    /// It has grown larger than any may be.
    pub(crate) fn check_size(&mut self, world: &mut World<'_>) -> Result<(), SimError> {
        if world.check_size(self.sharers)? {
            self.wait();
        }
        Ok(())
    }
}

/// What a thread tells.
enum News<T, At> {
    /// A replication has come so far.
    Reached(u32, At),
    /// A replication is over.
    Done(u32, Box<Replicated<T>>),
}

/// Replications to be done, for several threads.
struct Work<F> {
    one: F,
    most: u32,
    threads: usize,
    turns: Mutex<()>,
    /// The first that nobody has begun.
    next: AtomicU32,
    is_enough: AtomicBool,
}

/// Does `one` with its number as often as it takes; returns the first ones that are `enough`, in order, or why one of these failed. `heard` is told
/// which has come how far.
pub(crate) fn run<T: Send, At: Send>(
    plan: Plan<T>,
    one: impl Fn(u32, &mut Watch<'_, At>) -> Replicated<T> + Sync,
    enough: impl Fn(&Results<T>) -> Option<usize>,
    heard: &mut dyn FnMut(u32, At),
) -> Result<Vec<T>, SimError> {
    let Plan { threads, known, most } = plan;
    let left = (most as usize).saturating_sub(known.len());
    let threads = threads.min(left).max(1);
    let next = AtomicU32::new(u32::try_from(known.len()).unwrap_or(u32::MAX));
    let work = Work { one, most, threads, turns: Mutex::default(), next, is_enough: AtomicBool::new(false) };
    let mut results: Vec<_> = known.into_iter().map(|known| Some(Ok(known))).collect();
    results.resize_with(most as usize, || None);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let work = &work;
        for sender in vec![sender; threads] {
            scope.spawn(move || work.run(&sender));
        }
        for news in receiver {
            match news {
                News::Reached(number, at) => heard(number, at),
                News::Done(number, result) => {
                    results[number as usize] = result.transpose();
                    work.is_enough.store(enough(&results).is_some(), Ordering::Relaxed);
                }
            }
        }
    });
    let count = enough(&results).unwrap_or(results.len());
    results.into_iter().take(count).flatten().collect()
}

/// How many of the first ones are enough, up to a failure: as many as it takes to know the mean of what each gives with so much `precision` (half of
/// its 95 % confidence interval, relative to it), or all.
pub(crate) fn known<T>(results: &Results<T>, precision: f64, mean: impl Fn(&T) -> Option<f64>) -> Option<usize> {
    if precision <= 0.0 {
        return all(results);
    }
    let mut means = Sample::default();
    for (result, count) in results.iter().zip(1..) {
        let Ok(one) = result.as_ref()? else { return Some(count) };
        mean(one).into_iter().for_each(|mean| means.push(mean));
        if is_known(&means, precision) {
            return Some(count);
        }
    }
    Some(results.len())
}

/// Whether the mean is.
pub(crate) fn is_known(means: &Sample, precision: f64) -> bool {
    let error = means.mean_error().filter(|_| means.count() >= LEAST_REPLICATIONS);
    error.zip(means.mean()).is_some_and(|(half, mean)| half < precision * mean)
}

/// All of them, up to a failure.
pub(crate) fn all<T>(results: &Results<T>) -> Option<usize> {
    for (result, count) in results.iter().zip(1..) {
        if result.as_ref()?.is_err() {
            return Some(count);
        }
    }
    Some(results.len())
}

impl<F> Work<F> {
    /// Does those that nobody else does.
    fn run<T, At>(&self, sender: &Sender<News<T, At>>)
    where
        F: Fn(u32, &mut Watch<'_, At>) -> Replicated<T>,
    {
        while !self.is_enough.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.most {
                return;
            }
            let mut tell =
                |at| sender.send(News::Reached(number, at)).is_ok() && !self.is_enough.load(Ordering::Relaxed);
            let mut watch = Watch { tell: &mut tell, sharers: self.threads, turns: Some(&self.turns), turn: None };
            let result = Box::new((self.one)(number, &mut watch));
            drop(watch);
            if sender.send(News::Done(number, result)).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    fn plan<T>(threads: usize, known: Vec<T>, most: u32) -> Plan<T> {
        Plan { threads, known, most }
    }

    #[test]
    fn results_are_in_order_and_what_is_known_is_not_done_again() {
        for threads in [1, 2, 7] {
            let square = |number: u32, watch: &mut Watch<'_, u32>| {
                assert!(number >= 2 && watch.has_reached(number));
                Ok(Some(number * number))
            };
            let mut heard = Vec::new();
            let results = run(plan(threads, vec![0, 1], 6), square, all, &mut |number, at| heard.push((number, at)));
            assert_eq!(results, Ok(vec![0, 1, 4, 9, 16, 25]));
            heard.sort_unstable();
            assert_eq!(heard, [(2, 2), (3, 3), (4, 4), (5, 5)]);
        }
    }

    #[test]
    fn the_first_failure_in_order_is_told() {
        for threads in [1, 2, 7] {
            let fails = |number: u32, _: &mut Watch<'_, ()>| match number {
                0 | 2 => Ok(Some(number)),
                _ => Err(SimError::OutOfPatience(Duration::from_secs(number.into()))),
            };
            let first = SimError::OutOfPatience(Duration::from_secs(1));
            assert_eq!(run(plan(threads, Vec::new(), 5), fails, all, &mut |_, ()| {}), Err(first));
            let two = |results: &Results<u32>| results[0].is_some().then_some(1);
            assert_eq!(run(plan(threads, Vec::new(), 5), fails, two, &mut |_, ()| {}), Ok(vec![0]));
        }
    }

    #[test]
    fn no_more_are_begun_when_there_are_enough() {
        let begun = AtomicUsize::new(0);
        let one = |number: u32, watch: &mut Watch<'_, ()>| {
            begun.fetch_add(1, Ordering::Relaxed);
            // The others go on until they are told that these are enough.
            while number > 0 && watch.has_reached(()) {
                std::thread::yield_now();
            }
            Ok((number == 0).then_some(number))
        };
        let first = |results: &Results<u32>| results[0].is_some().then_some(1);
        assert_eq!(run(plan(3, Vec::new(), 100), one, first, &mut |_, ()| {}), Ok(vec![0]));
        assert!(begun.into_inner() <= 4, "whoever has done the first may begin another before it is told");
    }

    #[test]
    fn those_that_make_the_mean_known_are_enough() {
        let results = |values: &[f64], all: usize| {
            let mut results: Vec<_> = values.iter().map(|value| Some(Ok(*value))).collect();
            results.resize_with(all, || None);
            results
        };
        let count = |results: &Results<f64>, precision| {
            known(results, precision, |value| Some(*value).filter(|value| *value > 0.0))
        };
        let twelve = [1.0, 1.02].repeat(6);
        assert_eq!(count(&results(&twelve, 50), 0.01), Some(10), "ten at least");
        assert_eq!(count(&results(&twelve[..9], 50), 0.01), None);
        assert_eq!([0.001, 0.0].map(|precision| count(&results(&twelve, 50), precision)), [None; 2]);
        assert_eq!(count(&results(&twelve, 12), 0.001), Some(12), "there are no more");
        let without = [&[0.0, 0.0], &twelve[..]].concat();
        assert_eq!(count(&results(&without, 50), 0.01), Some(12), "what has no mean says nothing of it");
        let mut failed = results(&twelve, 50);
        failed[3] = Some(Err(SimError::NoTime));
        assert_eq!(count(&failed, 0.01), Some(4));
    }

    #[test]
    fn large_ones_take_turns() {
        let most_at_once = |connections: usize, threads: usize| {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let one = |_: u32, watch: &mut Watch<'_, ()>| {
                watch.expects(connections);
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                // Long enough for others to come, if they may.
                (0..1000).for_each(|_| std::thread::yield_now());
                now.fetch_sub(1, Ordering::Relaxed);
                watch.has_ended();
                Ok(Some(()))
            };
            assert_eq!(run(plan(threads, Vec::new(), 12), one, all, &mut |_, ()| {}), Ok(vec![(); 12]));
            most.into_inner()
        };
        assert_eq!(most_at_once(MOST_LEGS / 4 + 1, 4), 1);
        assert!((1..=4).contains(&most_at_once(MOST_LEGS / 4, 4)));
        assert_eq!(most_at_once(MOST_LEGS, 1), 1);
    }

    #[test]
    fn a_share_is_one_of_as_many_as_run() {
        let turns = Mutex::default();
        let waits = |sharers, connections| {
            let mut goes_on = |()| true;
            let mut watch = Watch { tell: &mut goes_on, sharers, turns: Some(&turns), turn: None };
            watch.expects(connections);
            watch.turn.is_some()
        };
        assert!(waits(4, MOST_LEGS / 4 + 1) && !waits(4, MOST_LEGS / 4) && !waits(1, MOST_LEGS));
    }
}
