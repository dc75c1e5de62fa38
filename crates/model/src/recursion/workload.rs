//! What is loaded: objects, their sizes, and where each is named.

use super::parameters::RecursionError;
use farhop_scenario::{Object, Page};
use farhop_units::Bytes;

/// 2⁵⁰ B: sums of these stay far from the end of 64 bits.
const MOST_OBJECT: u64 = 1 << 50;

/// An object of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadObject {
    /// Size of the body.
    pub size: Bytes,
    /// The object that names it, and how much of that must have arrived for it to be known; `None` for the document alone.
    pub named: Option<(usize, Bytes)>,
}

/// What is loaded: made once, used for any number of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    sizes: Vec<u64>,
    /// For each object what its body names, in the order in which the names end.
    named: Vec<Vec<(u64, usize)>>,
}

impl Workload {
    /// Objects in any order but with the document first and each after the one that names it: chains (document → style sheet →
    /// font) are as deep as you like.
    ///
    /// # Errors
    /// [`RecursionError::NoObjects`], [`RecursionError::Reference`], an object beyond 2⁵⁰ B.
    pub fn new(objects: &[WorkloadObject]) -> Result<Self, RecursionError> {
        if objects.is_empty() {
            return Err(RecursionError::NoObjects);
        }
        let mut named = vec![Vec::new(); objects.len()];
        for (index, object) in objects.iter().enumerate() {
            let most = Bytes::new(MOST_OBJECT);
            if object.size > most {
                return Err(RecursionError::OutOfRange { name: "size", value: object.size, most });
            }
            if let Some((by, at)) = object.named.filter(|_| index > 0) {
                let size =
                    objects.get(by).filter(|_| by < index).ok_or(RecursionError::Reference { object: index, by })?;
                named[by].push((at.get().min(size.size.get()), index));
            }
        }
        named.iter_mut().for_each(|list: &mut Vec<(u64, usize)>| list.sort_unstable());
        Ok(Self { sizes: objects.iter().map(|object| object.size.get()).collect(), named })
    }

    /// The objects of `page`.
    ///
    /// # Errors
    /// As [`Workload::new`].
    pub fn of(page: &Page) -> Result<Self, RecursionError> {
        let object = |(index, object): (usize, &Object)| WorkloadObject {
            size: object.size,
            named: object.reference.map(|reference| (reference.object, page.discovered_at(index))),
        };
        let objects: Vec<WorkloadObject> = page.objects.iter().enumerate().map(object).collect();
        Self::new(&objects)
    }

    /// One object of `size`.
    pub fn file(size: Bytes) -> Self {
        Self { sizes: vec![size.get().min(MOST_OBJECT)], named: vec![Vec::new()] }
    }

    /// Number of objects.
    #[expect(clippy::len_without_is_empty, reason = "a workload always has its document")]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) fn size(&self, object: usize) -> u64 {
        self.sizes[object]
    }

    pub(crate) fn named_by(&self, object: usize) -> &[(u64, usize)] {
        &self.named[object]
    }

    /// Bytes of all bodies.
    pub fn total(&self) -> Bytes {
        Bytes::new(self.sizes.iter().fold(0_u64, |sum, size| sum.saturating_add(*size)))
    }
}
