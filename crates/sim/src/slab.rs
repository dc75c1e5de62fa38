//! Things that come and go by the million, kept in one piece of memory: a place that becomes free is used again, the last one first.
//! As a list grows it is copied, unless it has been said how many things are to be expected.

/// A list whose places are given out and taken back.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// There may be so many things; memory that is never used is only set aside.
    pub(crate) fn expecting(count: usize) -> Self {
        Self { places: Vec::with_capacity(count), free: Vec::new() }
    }

    /// Finds a place for `thing`.
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = thing;
            return place;
        }
        self.places.push(thing);
        u32::try_from(self.places.len() - 1).expect("memory is full before")
    }

    /// Takes the place back; what stands there stays until the place is given out again.
    pub(crate) fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// How many places are given out.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, place: u32) -> &T {
        &self.places[place as usize]
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::new();
        let places = ['a', 'b', 'c'].map(|thing| slab.insert(thing));
        slab.release(places[1]);
        assert_eq!((slab.len(), slab.insert('d')), (2, places[1]));
        assert_eq!((slab[places[0]], slab[places[1]], slab.len()), ('a', 'd', 3));
    }
}
