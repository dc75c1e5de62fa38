//! What the processor is told of memory.

use prefetch_index::prefetch_index;

/// Asks for the cache line with the first byte of `thing`, which is needed soon. Nobody waits for it, so that whoever is about to work on
/// many things that are not in the cache asks for all of them first. No more than speed depends on it.
#[inline]
pub fn look_at<T>(thing: &T) {
    prefetch_index(core::slice::from_ref(thing), 0);
}

/// The same of all lines with any of so many bytes, of which `first` are the first ones; its size divides a line's.
#[inline]
pub fn look_at_all<T>(first: &T, bytes: usize) {
    let things = bytes / size_of::<T>();
    let last = things.checked_sub(1);
    let begins = (0..things).step_by(LINE / size_of::<T>());
    begins.chain(last).for_each(|thing| prefetch_index(core::slice::from_ref(first), thing));
}

/// Bytes in a line of the cache.
const LINE: usize = 64;
