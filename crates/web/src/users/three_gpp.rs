//! The web user of 3GPP and 3GPP2 (3GPP2 C.R1002, 3GPP TR 25.892 annex A, taken over by WiMAX Forum and IEEE 802.16m).
//!
//! The parameters are those that ns-3's `ThreeGppHttpVariables` has and that table 1 of EURASIP JWCN 2012:287 prints; the standards
//! themselves were not at hand.
//!
//! | part | family |
//! |---|---|
//! | main object | lognormal, mean 10,710 B, deviation 25,032 B, drawn anew until 100 B to 2 MB |
//! | embedded object | lognormal, mean 7,758 B, deviation 126,168 B, drawn anew until 50 B to 2 MB |
//! | embedded objects | Pareto, α = 1.1, k = 2, larger values become m = 55, then less k: mean 5.64, at most 53 |
//! | parsing | exponential, mean 0.13 s |
//! | reading | exponential, mean 30 s |
//! | request | 350 B |
//!
//! Two readings of the number's "truncated Pareto" are about: only with values that become m is the mean the 5.64 that is stated
//! (ns-3 draws anew, and has 3.95). The bounds lower the means of sizes. Left out: the choice between HTTP/1.0 and 1.1 and the
//! MTU's two sizes, which a scenario says, and the server's time.

use super::assemble::{DocumentAndImages, mean_count, whole};
use super::parameters::{Parameter, Parameters, published};
use super::{Behaviour, Purpose, Streams};
use crate::Page;
use crate::distribution::Distribution;
use farhop_units::Bytes;
use std::time::Duration;

/// The parameters of the 3GPP model.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreeGpp {
    /// Sizes of requests.
    pub requests: Distribution<Bytes>,
    /// Sizes of main objects.
    pub main_objects: Distribution<Bytes>,
    /// Sizes of embedded objects.
    pub embedded_sizes: Distribution<Bytes>,
    /// Embedded objects, [`ThreeGpp::LEAST`] too many.
    pub embedded_objects: Distribution<f64>,
    /// From the complete main object to the requests of embedded objects.
    pub parsing: Distribution<Duration>,
    /// Reading between pages.
    pub think: Distribution<Duration>,
}

impl Default for ThreeGpp {
    fn default() -> Self {
        Self {
            requests: published("constant value=350B"),
            main_objects: published("lognormal mean=10710B deviation=25032B from=100B to=2MB"),
            embedded_sizes: published("lognormal mean=7758B deviation=126168B from=50B to=2MB"),
            embedded_objects: published("pareto least=2 shape=1.1 cap=55"),
            parsing: published("exponential mean=130ms"),
            think: published("exponential mean=30s"),
        }
    }
}

impl Parameters for ThreeGpp {
    const NAME: &'static str = "3gpp";

    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)> {
        vec![
            ("requests", &mut self.requests),
            ("main-objects", &mut self.main_objects),
            ("embedded-sizes", &mut self.embedded_sizes),
            ("embedded-objects", &mut self.embedded_objects),
            ("parsing", &mut self.parsing),
            ("think", &mut self.think),
        ]
    }
}

impl ThreeGpp {
    /// What the standards take off the number of embedded objects: the k of its Pareto distribution.
    pub const LEAST: f64 = 2.0;

    const fn shape(&self, parsing: Duration) -> DocumentAndImages<'_> {
        let (document, images) = (&self.main_objects, &self.embedded_sizes);
        DocumentAndImages { requests: &self.requests, document, images, header: None, parsing, gaps: None }
    }
}

impl Behaviour for ThreeGpp {
    fn page(&self, streams: &Streams) -> Page {
        let count = whole(self.embedded_objects.draw(&mut streams.dice(Purpose::Count)) - Self::LEAST);
        let parsing = self.parsing.draw(&mut streams.dice(Purpose::Parsing));
        self.shape(parsing).page(count, |index| streams.object(index))
    }

    fn typical_page(&self) -> Page {
        let count = mean_count(&self.embedded_objects) - Self::LEAST;
        self.shape(self.parsing.mean().unwrap_or_default()).typical_page(count)
    }

    fn think(&self) -> &Distribution<Duration> {
        &self.think
    }
}
