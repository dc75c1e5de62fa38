//! Which redirection a request follows.

use super::{Timed, place};
use crate::har::address;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The redirections so far that nothing has followed yet. A browser follows each of them once, as soon as its head has come.
#[derive(Debug, Default)]
pub(super) struct Redirections {
    /// By address of the target: when the head had come, and the place.
    open: BTreeMap<String, BTreeSet<(Duration, usize)>>,
}

impl Redirections {
    /// What is at `place` may lead elsewhere.
    pub(super) fn note(&mut self, place: usize, timed: &Timed<'_>) {
        if let Some(target) = timed.entry.redirects_to() {
            let (answered, _) = place::reception(timed);
            self.open.entry(address(&target).to_owned()).or_default().insert((answered, place));
        }
    }

    /// The place of the redirection that led to `timed`: of those to its URL the one that was answered nearest to its beginning.
    pub(super) fn follow(&mut self, timed: &Timed<'_>) -> Option<usize> {
        let open = self.open.get_mut(timed.entry.address())?;
        let before = open.range(..=(timed.started, usize::MAX)).next_back();
        // Recorded times are rounded, and may be missing.
        let after = open.range((timed.started, usize::MAX)..).next();
        let nearest = *before.into_iter().chain(after).min_by_key(|(answered, _)| answered.abs_diff(timed.started))?;
        open.remove(&nearest);
        Some(nearest.1)
    }
}
