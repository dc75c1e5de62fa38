//! What the processor is told of memory.

use prefetch_index::prefetch_index;

/// Asks for the cache line with the first byte of `thing`, which is needed soon. Nobody waits for it, so that whoever is about to work on
/// many things that are not in the cache asks for all of them first. No more than speed depends on it.
#[inline]
pub fn look_at<T>(thing: &T) {
    prefetch_index(core::slice::from_ref(thing), 0);
}

/// The same of so many lines, the first of which has the first byte of `thing`; its size divides a line's.
#[inline]
pub fn look_at_lines<T>(thing: &T, lines: usize) {
    let things = LINE / size_of::<T>();
    (0..lines).for_each(|line| prefetch_index(core::slice::from_ref(thing), line * things));
}

/// Bytes in a line of the cache.
const LINE: usize = 64;
