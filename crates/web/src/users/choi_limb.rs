//! The user of Choi and Limb, "A behavioral model of Web traffic", Proc. 7th International Conference on Network Protocols, 1999.
//!
//! A Web-request is a main object and its inline objects; the user views the result before the next. The parameters are those of the
//! paper's table, given from memory, since its text was not at hand; those of object sizes are confirmed by the 3GPP model, which took
//! them over.
//!
//! | part | family | mean | standard deviation |
//! |---|---|---|---|
//! | request | lognormal | 360.4 B | 106.5 B |
//! | main object | lognormal | 10,710 B | 25,032 B |
//! | inline object | lognormal | 7,758 B | 126,168 B |
//! | inline objects per page | gamma | 5.55 | 11.4 |
//! | parsing | gamma | 0.13 s | 0.187 s |
//! | viewing (off) time | Weibull | 39.5 s | 92.6 s |
//!
//! Here request sizes have whole bytes as parameters, and the number of inline objects is rounded to the nearest whole number. Left
//! out: requests that the browser's cache answers (a part of the paper's model), the times between inline requests, which the network
//! decides here, and the server's time.

use super::assemble::{DocumentAndImages, mean_count, whole};
use super::parameters::{Parameter, Parameters, published};
use super::{Behaviour, Purpose, Streams};
use crate::Page;
use crate::distribution::Distribution;
use farhop_units::Bytes;
use std::time::Duration;

/// The parameters of the 1999 model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiLimb1999 {
    /// Sizes of requests.
    pub requests: Distribution<Bytes>,
    /// Sizes of main objects.
    pub main_objects: Distribution<Bytes>,
    /// Sizes of inline objects.
    pub inline_sizes: Distribution<Bytes>,
    /// Inline objects beside the main object.
    pub inline_objects: Distribution<f64>,
    /// From the complete main object to the requests of inline objects.
    pub parsing: Distribution<Duration>,
    /// Viewing between pages.
    pub think: Distribution<Duration>,
}

impl Default for ChoiLimb1999 {
    fn default() -> Self {
        Self {
            requests: published("lognormal mean=360.4B deviation=106.5B"),
            main_objects: published("lognormal mean=10710B deviation=25032B"),
            inline_sizes: published("lognormal mean=7758B deviation=126168B"),
            inline_objects: published("gamma mean=5.55 deviation=11.4"),
            parsing: published("gamma mean=130ms deviation=187ms"),
            think: published("weibull mean=39.5s deviation=92.6s"),
        }
    }
}

impl Parameters for ChoiLimb1999 {
    const NAME: &'static str = "choi-limb-1999";

    fn parameters(&mut self) -> Vec<(&'static str, &mut dyn Parameter)> {
        vec![
            ("requests", &mut self.requests),
            ("main-objects", &mut self.main_objects),
            ("inline-sizes", &mut self.inline_sizes),
            ("inline-objects", &mut self.inline_objects),
            ("parsing", &mut self.parsing),
            ("think", &mut self.think),
        ]
    }
}

impl ChoiLimb1999 {
    const fn shape(&self, parsing: Duration) -> DocumentAndImages<'_> {
        let (document, images) = (&self.main_objects, &self.inline_sizes);
        DocumentAndImages { requests: &self.requests, document, images, header: None, parsing }
    }
}

impl Behaviour for ChoiLimb1999 {
    fn page(&self, streams: &Streams) -> Page {
        let count = whole(self.inline_objects.draw(&mut streams.dice(Purpose::Count)));
        let parsing = self.parsing.draw(&mut streams.dice(Purpose::Parsing));
        self.shape(parsing).page(count, |index| streams.object(index))
    }

    fn typical_page(&self) -> Page {
        self.shape(self.parsing.mean().unwrap_or_default()).typical_page(mean_count(&self.inline_objects))
    }

    fn think(&self) -> &Distribution<Duration> {
        &self.think
    }
}
