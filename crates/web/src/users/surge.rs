//! The user of SURGE: Barford and Crovella, "Generating representative Web workloads for network and server performance evaluation",
//! ACM SIGMETRICS 1998.
//!
//! A server has a fixed set of files. A page is one of them and the files embedded in it; between the components of a page the
//! browser pauses (active OFF), between pages the user does (inactive OFF). The parameters are those of the paper's table, given from
//! memory, since its text was not at hand.
//!
//! | part | family |
//! |---|---|
//! | file size, body (93 %) | lognormal, μ = 9.357, σ = 1.318 |
//! | file size, tail (7 %) | Pareto, k = 133 kB, α = 1.1 |
//! | popularity | Zipf: the r-th file has a share ∝ 1/r |
//! | embedded references | Pareto, k = 1, α = 2.43, mean 1.7 |
//! | active OFF | Weibull, scale 1.46 s, shape 0.382 |
//! | inactive OFF | Pareto, k = 1 s, α = 1.5, mean 3 s |
//!
//! Ours: 2000 files; the body ends where the tail begins, and the tail at 100 MB; the number of references is rounded; a file that a
//! page names twice is loaded once. File r has the same size for all users of a seed, so that a seed's most popular files decide much
//! of its load: compare over seeds. SURGE assigns sizes to ranks so that requests have a distribution of their own (Pareto, k = 1000 B,
//! α = 1) and orders them by temporal locality; here sizes do not depend on popularity, and visits are independent. Active OFF
//! times add up from one component to the next, without the transfers between them.

use super::assemble::{Draft, mean, mean_count, numbered, page, whole};
use super::parameters::{Parameter, Parameters, published};
use super::{Behaviour, Purpose, Streams};
use crate::Page;
use crate::distribution::Distribution;
use farhop_units::{Bytes, random::Stream};
use std::collections::BTreeSet;
use std::time::Duration;

/// The parameters of SURGE.
#[derive(Debug, Clone, PartialEq)]
pub struct Surge1998 {
    /// Sizes of the server's files.
    pub files: Distribution<Bytes>,
    /// Rank of a requested file, from 1.
    pub popularity: Distribution<f64>,
    /// References to other files in a page's first one.
    pub embedded_references: Distribution<f64>,
    /// Pause before each embedded file (active OFF).
    pub pause: Distribution<Duration>,
    /// Pause between pages (inactive OFF).
    pub think: Distribution<Duration>,
}

impl Default for Surge1998 {
    fn default() -> Self {
        Self {
            files: published("93% lognormal mu=9.357 sigma=1.318 to=133kB | 7% pareto least=133kB shape=1.1 to=100MB"),
            popularity: published("zipf count=2000 exponent=1"),
            embedded_references: published("pareto least=1 shape=2.43"),
            pause: published("weibull scale=1.46s shape=0.382"),
            think: published("pareto least=1s shape=1.5"),
        }
    }
}

impl Parameters for Surge1998 {
    const NAME: &'static str = "surge-1998";

    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)> {
        vec![
            ("files", &mut self.files),
            ("popularity", &mut self.popularity),
            ("embedded-references", &mut self.embedded_references),
            ("pause", &mut self.pause),
            ("think", &mut self.think),
        ]
    }
}

/// Purpose of the stream that says how large each file is.
const FILES: u64 = 0x0066_696c_6573;

impl Surge1998 {
    /// Size of the file of this rank; the same for all users of a population.
    fn size(&self, population: Stream, rank: usize) -> Bytes {
        self.files.at(population.split(FILES).uniform(rank as u64))
    }

    /// The page of a first file and the embedded ones: their ranks, sizes and delays.
    fn assemble(first: (usize, Bytes), embedded: impl Iterator<Item = (usize, Bytes, Duration)>) -> Page {
        let (rank, size) = first;
        let first = Draft::new(numbered("f", rank, ".html"), "text/html", size);
        let embedded = embedded.map(|(rank, embedded, delay)| {
            let draft = Draft::new(numbered("f", rank, ".png"), "image/png", embedded);
            Draft { named_by: Some((0, size)), delay, ..draft }
        });
        page(core::iter::once(first).chain(embedded), 1)
    }
}

impl Behaviour for Surge1998 {
    fn page(&self, streams: &Streams) -> Page {
        let count = whole(self.embedded_references.draw(&mut streams.dice(Purpose::Count)));
        let file = |index: usize| {
            let mut dice = streams.object(index);
            let rank = whole(self.popularity.draw(&mut dice));
            (rank, self.size(streams.population, rank), self.pause.draw(&mut dice))
        };
        let (first, size, _) = file(0);
        let (mut named, mut since_document) = (BTreeSet::new(), Duration::ZERO);
        let new = (1..=count).map(file).filter(|(rank, ..)| named.insert(*rank));
        let embedded = new.map(|(rank, size, pause)| {
            since_document = since_document.saturating_add(pause);
            (rank, size, since_document)
        });
        Self::assemble((first, size), embedded)
    }

    fn typical_page(&self) -> Page {
        let (size, pause) = (mean(&self.files), self.pause.mean().unwrap_or_default());
        let count = u32::try_from(whole(mean_count(&self.embedded_references))).unwrap_or(u32::MAX);
        let embedded = (1..=count).map(|place| (place as usize, size, pause.saturating_mul(place)));
        Self::assemble((0, size), embedded)
    }

    fn think(&self) -> &Distribution<Duration> {
        &self.think
    }
}
