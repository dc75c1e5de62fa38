//! The user of Zhou, Liu and Baras, "Web access over a multiple access channel: evaluations and improvements", CSHCN TR 2004-10, §III.
//!
//! The browser loads a document; once it is complete, it requests the inline objects; when the last has come the user thinks.
//!
//! | part | the paper | here |
//! |---|---|---|
//! | request | bimodal, a large peak at 250 B, a smaller at 1 kB (after Mah 1997) | 82 % and 18 %, our reading of the 390 B on average in its Table I (385 B here) |
//! | reply | Pareto, k = 1 kB, α = 1.1, mean 11 kB; in Fig 5 exponential and fixed of the same mean | the same; the reply's head counts as part of it |
//! | inline objects | gamma, mean 5.55, standard deviation 1.14 | the nearest whole number |
//! | think time | Pareto, k = 5 s, α = 1.5, mean 15 s | the same |
//!
//! The Pareto distribution of replies has no variance, and a mean that samples reach very slowly: half of all runs of 27,000 replies see a
//! mean below 7.2 kB. The paper names no largest reply, so the default has none (a page's limit of 1 TB cuts one reply in 8·10⁹). With
//! `sizes = pareto least=1kB shape=1.1 to=100MB` replies are drawn anew until they are no larger; their mean, which
//! [`Distribution::mean`] says, is then 7.52 kB (8.24 kB at 1 GB, 6.62 kB at 10 MB), and the variants to compare with are
//! `constant value=7.52kB` and `exponential mean=7.52kB`.
//!
//! Left out, as in the paper: parsing, the server's time, more than one server per page.

use super::assemble::{DocumentAndImages, mean_count, whole};
use super::parameters::{Parameter, Parameters, published};
use super::{Behaviour, Purpose, Streams};
use crate::Page;
use crate::distribution::Distribution;
use core::fmt;
use core::str::FromStr;
use farhop_units::{Bytes, ParseError};
use std::time::Duration;

/// The parameters of the 2004 paper's users.
#[derive(Debug, Clone, PartialEq)]
pub struct Zhou2004 {
    /// Sizes of requests.
    pub requests: Distribution<Bytes>,
    /// Sizes of replies.
    pub sizes: ReplySizes,
    /// Inline objects beside the document.
    pub inline_objects: Distribution<f64>,
    /// Thinking between pages.
    pub think: Distribution<Duration>,
}

/// How replies are distributed; written as a distribution or as a word for one of the paper's three, whose mean is 11 kB: `pareto`,
/// `exponential`, `fixed`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySizes(pub Distribution<Bytes>);

/// The variants of the paper's Fig 5.
const VARIANTS: [(&str, &str); 3] = [
    ("pareto", "pareto least=1kB shape=1.1"),
    ("exponential", "exponential mean=11kB"),
    ("fixed", "constant value=11kB"),
];

impl FromStr for ReplySizes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let variant = VARIANTS.iter().find(|(word, _)| *word == text);
        variant.map_or(text, |(_, meaning)| meaning).parse().map(Self)
    }
}

impl fmt::Display for ReplySizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let variant = VARIANTS.iter().find(|(_, meaning)| *meaning == text);
        f.write_str(variant.map_or(&text, |(word, _)| word))
    }
}

impl Default for Zhou2004 {
    fn default() -> Self {
        Self {
            requests: published("82% constant value=250B | 18% constant value=1kB"),
            sizes: published("pareto"),
            inline_objects: published("gamma mean=5.55 deviation=1.14"),
            think: published("pareto least=5s shape=1.5"),
        }
    }
}

impl Parameters for Zhou2004 {
    const NAME: &'static str = "zhou-2004";

    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)> {
        vec![
            ("requests", &mut self.requests),
            ("sizes", &mut self.sizes),
            ("inline-objects", &mut self.inline_objects),
            ("think", &mut self.think),
        ]
    }
}

impl Zhou2004 {
    const fn shape(&self) -> DocumentAndImages<'_> {
        let (requests, replies) = (&self.requests, &self.sizes.0);
        let (header, parsing) = (Some(Bytes::ZERO), Duration::ZERO);
        DocumentAndImages { requests, document: replies, images: replies, header, parsing, gaps: None }
    }
}

impl Behaviour for Zhou2004 {
    fn page(&self, streams: &Streams) -> Page {
        let count = whole(self.inline_objects.draw(&mut streams.dice(Purpose::Count)));
        self.shape().page(count, |index| streams.object(index))
    }

    fn typical_page(&self) -> Page {
        self.shape().typical_page(mean_count(&self.inline_objects))
    }

    fn think(&self) -> &Distribution<Duration> {
        &self.think
    }
}
