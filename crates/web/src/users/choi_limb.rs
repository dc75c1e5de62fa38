//! The user of Choi and Limb, "A behavioral model of Web traffic", Proc. 7th International Conference on Network Protocols, 1999.
//!
//! A Web-request is a main object and its inline objects; the user views the result before the next. A complete main object is parsed, then
//! the first inline object is requested; the others follow at their inter-arrival times, whether or not those before have come.
//!
//! Its Table 4, all of which is a parameter but the last two lines:
//!
//! | part | family | mean | standard deviation | median of the trace |
//! |---|---|---|---|---|
//! | request | lognormal | 360.4 B | 106.52 B | 344 B |
//! | main object | lognormal | 10,709.8 B | 25,032.1 B | 6094 B |
//! | inline object | lognormal | 7757.74 B | 126,168 B | 1931 B |
//! | inline objects | gamma | 5.55 | 11.35 | 2 |
//! | parsing | gamma | 0.132 s | 0.187 s | 0.056 s |
//! | inline inter-arrival | gamma | 0.86 s | 2.15 s | 0.17 s |
//! | viewing (off) time | Weibull | 39.45 s | 92.57 s | 11.71 s |
//! | requests not from the browser's cache in a row | lognormal | 12.58 | 21.623 | 5 |
//! | requests from it in a row | geometric | 1.74 | 1.74 | 1 |
//!
//! The families with these moments have other medians than the trace, since a few very large values make up the deviations: 4213 B
//! for main objects, 476 B for inline ones, 0.9 inline objects, 8.7 s for viewing. Sizes are rounded to whole bytes, the number of
//! inline objects to the nearest whole number. Inter-arrival times were measured with the connections and the network of the trace;
//! whoever wants the browser alone to decide sets `inline-gaps = constant value=0s`. Left out: requests that the browser's cache
//! answers, the correlation of 0.59 between the sizes of successive requests (as in the paper), and the server's time, which the
//! paper models by stalls of TCP.

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
    /// From the complete main object to the request for the first inline object.
    pub parsing: Distribution<Duration>,
    /// From the request for an inline object to the next one's.
    pub inline_gaps: Distribution<Duration>,
    /// Viewing between pages.
    pub think: Distribution<Duration>,
}

impl Default for ChoiLimb1999 {
    fn default() -> Self {
        Self {
            requests: published("lognormal mean=360B deviation=107B"),
            main_objects: published("lognormal mean=10710B deviation=25032B"),
            inline_sizes: published("lognormal mean=7758B deviation=126168B"),
            inline_objects: published("gamma mean=5.55 deviation=11.35"),
            parsing: published("gamma mean=132ms deviation=187ms"),
            inline_gaps: published("gamma mean=860ms deviation=2.15s"),
            think: published("weibull mean=39.45s deviation=92.57s"),
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
            ("inline-gaps", &mut self.inline_gaps),
            ("think", &mut self.think),
        ]
    }
}

impl ChoiLimb1999 {
    const fn shape(&self, parsing: Duration) -> DocumentAndImages<'_> {
        let (document, images) = (&self.main_objects, &self.inline_sizes);
        let gaps = Some(&self.inline_gaps);
        DocumentAndImages { requests: &self.requests, document, images, header: None, parsing, gaps }
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
