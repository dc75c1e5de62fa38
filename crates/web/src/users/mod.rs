//! Users: what they load, how large it is, and how long they think between pages.
//!
//! A user alternates between a visit (a page with everything in it) and thinking. What the n-th user's m-th visit consists of depends on
//! the seed, n and m alone, not on how fast pages come or what other users do: architectures are compared on common random numbers.
//! Within a visit every object has a stream of its own, so that a parameter of one kind of draw leaves the others as they are.
//!
//! Models, each with its source and what it leaves out in its own file: `zhou-2004`, `choi-limb-1999`, `surge-1998`, `3gpp`, `page-2025`. A
//! model is written as its name, then, behind commas, the parameters that differ from the published ones:
//! `zhou-2004, sizes = fixed, think = exponential mean=15s`.
//!
//! Left out by all: caches of the browser, aborted loads, users who leave and come back, and the time of day.
//!
//! ```
//! use farhop_web::users::{User, UserModel};
//! let model: UserModel = "zhou-2004, sizes = fixed".parse()?;
//! let mut user = User::new(&model, 7, 0);
//! let visit = user.next_visit();
//! assert!(visit.page.objects.iter().all(|object| object.size.get() == 11_000));
//! # Ok::<(), farhop_units::ParseError>(())
//! ```

mod assemble;
mod choi_limb;
mod page_2025;
mod parameters;
mod surge;
mod text;
mod three_gpp;
mod zhou;

#[cfg(test)]
mod tests;

pub use choi_limb::ChoiLimb1999;
pub use page_2025::{Kind, Page2025};
pub use surge::Surge1998;
pub use three_gpp::ThreeGpp;
pub use zhou::{ReplySizes, Zhou2004};

use crate::Page;
use crate::distribution::Distribution;
use farhop_units::random::{Dice, Stream};
use std::sync::Arc;
use std::time::Duration;

/// How a population of users behaves.
#[derive(Debug, Clone, PartialEq)]
pub enum UserModel {
    /// Zhou, Liu and Baras 2004.
    Zhou2004(Arc<Zhou2004>),
    /// Choi and Limb 1999.
    ChoiLimb1999(Arc<ChoiLimb1999>),
    /// Barford and Crovella 1998.
    Surge1998(Arc<Surge1998>),
    /// 3GPP and 3GPP2.
    ThreeGpp(Arc<ThreeGpp>),
    /// Percentiles of the Web Almanac 2025.
    Page2025(Arc<Page2025>),
}

impl UserModel {
    /// The page that is loaded on average: counts and sizes at their means (`page-2025`: counts and the document at their medians, which are
    /// what is published).
    pub fn typical_page(&self) -> Page {
        self.behaviour().typical_page()
    }

    /// How long users think between pages.
    pub fn think(&self) -> &Distribution<Duration> {
        self.behaviour().think()
    }

    /// On how many hosts a page can be.
    pub fn most_hosts(&self) -> usize {
        self.behaviour().most_hosts()
    }

    fn behaviour(&self) -> &dyn Behaviour {
        match self {
            Self::Zhou2004(model) => &**model,
            Self::ChoiLimb1999(model) => &**model,
            Self::Surge1998(model) => &**model,
            Self::ThreeGpp(model) => &**model,
            Self::Page2025(model) => &**model,
        }
    }
}

/// What every model can do.
trait Behaviour {
    /// The page of the visit whose random numbers are `streams`.
    fn page(&self, streams: &Streams) -> Page;
    /// The page at the means.
    fn typical_page(&self) -> Page;
    /// Time from a page's end to the next page's beginning.
    fn think(&self) -> &Distribution<Duration>;
    /// On how many hosts a page can be.
    fn most_hosts(&self) -> usize {
        1
    }
}

/// A page and the thinking that follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// What is loaded.
    pub page: Page,
    /// Time from the end of the load to the next visit.
    pub think: Duration,
}

/// One user: a model, and where in its random numbers it is.
#[derive(Debug, Clone)]
pub struct User {
    model: UserModel,
    seed: u64,
    number: u32,
    visits: u64,
}

impl User {
    /// User `number` of the population with this seed.
    pub fn new(model: &UserModel, seed: u64, number: u32) -> Self {
        Self { model: model.clone(), seed, number, visits: 0 }
    }

    /// How long the user thinks before the first visit.
    pub fn first_think(&self) -> Duration {
        self.model.think().draw(&mut self.streams(0).dice(Purpose::FirstThink))
    }

    /// The next page and the thinking after it.
    pub fn next_visit(&mut self) -> Visit {
        let streams = self.streams(self.visits);
        self.visits += 1;
        let behaviour = self.model.behaviour();
        Visit { page: behaviour.page(&streams), think: behaviour.think().draw(&mut streams.dice(Purpose::Think)) }
    }

    fn streams(&self, visit: u64) -> Streams {
        let population = Stream::new(self.seed, POPULATION);
        Streams { population, visit: population.split(u64::from(self.number)).split(visit) }
    }
}

/// Users' purpose among the streams of a seed.
const POPULATION: u64 = 0x0075_7365_7273;

/// Where a visit's random numbers come from.
#[derive(Debug, Clone, Copy)]
struct Streams {
    /// Of the population: for what all its users share.
    population: Stream,
    visit: Stream,
}

/// What is drawn once for a visit.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    FirstThink,
    Think,
    Count,
    Parsing,
}

impl Streams {
    /// Objects' streams begin here, above those of every [`Purpose`].
    const OBJECTS: u64 = 1 << 16;

    const fn dice(&self, purpose: Purpose) -> Dice {
        Dice::new(self.visit.split(purpose as u64))
    }

    /// The dice for object `index`, the document being 0.
    const fn object(&self, index: usize) -> Dice {
        Dice::new(self.visit.split(Self::OBJECTS + index as u64))
    }
}
