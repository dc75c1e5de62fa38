//! Points: a link, a workload and a TCP, drawn with a seed.
//!
//! Two sets. *Model*: what a formula can know, without losses on the link. *Simulator*: losses, small buffers and uploads as well. The
//! ranges are those of the fields; within them rates, times and sizes are drawn log-uniformly. A size is at most what the link
//! carries in a few seconds, losses considered (the square-root law of Mathis et al. 1997), so that slow links get smaller transfers instead
//! of making a run take days; the bound is part of the point's text.

use farhop_scenario::{Scenario, ScenarioError};
use farhop_units::random::{Dice, Stream};
use farhop_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which ranges a point is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// 10 kB to 10 MB, 50 to 800 ms, 1 to 100 Mbit/s, 1 and 6 connections, no loss, a queue of one bandwidth-delay product.
    Model,
    /// 0.5 to 100 Mbit/s, 20 to 800 ms, losses of 0, 0.1 and 1 % each way, queues of 0.25 to 2 bandwidth-delay products but at least two
    /// packets, 1 and 6 connections, down and up.
    Simulator,
}

impl Set {
    /// Both, in the order of the table.
    pub const ALL: [Self; 2] = [Self::Model, Self::Simulator];
}

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Seed of all draws and of every engine's dice.
    pub seed: u64,
    /// Points of [`Set::Model`].
    pub cases: u32,
    /// Points of [`Set::Simulator`].
    pub points: u32,
    /// Runs of a point with losses, simulated and measured each; where loads differ without, at least as many are, and where they do not, three
    /// are measured.
    pub runs: u32,
}

impl Default for Plan {
    /// Twenty cases, sixty points, twenty runs where dice are rolled.
    fn default() -> Self {
        Self { seed: 1, cases: 20, points: 60, runs: 20 }
    }
}

impl Plan {
    /// Every point, in the order in which they are run.
    pub fn draw(&self) -> Vec<Point> {
        let points = |set: Set, count: u32| (0..count).map(move |number| Point::draw(self.seed, set, number));
        points(Set::Model, self.cases).chain(points(Set::Simulator, self.points)).collect()
    }
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its set.
    pub set: Set,
    /// Which of its set, from 0.
    pub number: u32,
    /// Bit/s of both directions of the link.
    pub rate_bit_s: u64,
    /// Delay of each way, in ms.
    pub delay_ms: u64,
    /// Queue of each direction, in bytes.
    pub queue_bytes: u64,
    /// The same as a share of the bandwidth-delay product, as drawn.
    pub queue_share: f64,
    /// Probability that a packet is lost on the link, each way.
    pub loss: f64,
    /// The word of the congestion control.
    pub congestion: String,
    /// The browser's connections.
    pub connections: u32,
    /// Objects of the page.
    pub objects: u32,
    /// Bytes of each object, or of each request of an upload.
    pub object_bytes: u64,
    /// Whether the bytes go up, in the requests, instead of down.
    pub upload: bool,
}

/// Bytes of headers and payload of a full packet.
const PACKET: u64 = 1500;
/// Objects of a page that is loaded over six connections: a document and two objects for each.
const OBJECTS: u32 = 13;
/// One point in so many carries its bytes up.
const UPLOADS: u64 = 5;
/// Kinds of points: congestion controls, connections, losses and directions.
const KINDS: u64 = 3 * 2 * 3 * UPLOADS;
/// How long a point's bytes may take at the link's rate, and at what losses leave of it.
const LONGEST_S: f64 = 6.0;
/// The smallest document that can name twelve others.
const SMALLEST_OBJECT: u64 = 1000;

impl Point {
    /// Point `number` of `set` for this seed.
    pub fn draw(seed: u64, set: Set, number: u32) -> Self {
        let mut dice = Dice::new(Stream::new(seed, set as u64).split(u64::from(number)));
        let (rates, delays) = match set {
            Set::Model => ([1e6, 100e6], [25.0, 400.0]),
            Set::Simulator => ([0.5e6, 100e6], [10.0, 400.0]),
        };
        let rate = log_uniform(&mut dice, rates);
        let delay = log_uniform(&mut dice, delays).round();
        // Kinds take turns, each seed's from another one on: what is missing from one plan is in others.
        let kind = Dice::new(Stream::new(seed, set as u64)).below(KINDS) + u64::from(number);
        let turn = |kinds: u64, each: u64| usize::try_from(kind / each % kinds).expect("a handful");
        let (congestion, connections) = (["reno", "cubic", "bbr"][turn(3, 1)], [1, 6][turn(2, 3)]);
        let (loss, share, upload) = match set {
            Set::Model => (0.0, 1.0, false),
            Set::Simulator => {
                ([0.0, 0.001, 0.01][turn(3, 6)], log_uniform(&mut dice, [0.25, 2.0]), kind % UPLOADS == UPLOADS - 1)
            }
        };
        let most = (most_bytes(rate, delay, loss) * f64::from(connections)).min(rate * LONGEST_S / 8.0);
        let size = log_uniform(&mut dice, [10e3, 10e6]).min(most.max(10e3));
        let objects = if connections == 1 { 1 } else { OBJECTS };
        let product = rate * 2.0 * delay / 1e3 / 8.0;
        Self {
            set,
            number,
            rate_bit_s: whole(rate / 1e3) * 1000,
            delay_ms: whole(delay),
            queue_bytes: whole(product * share).max(2 * PACKET),
            queue_share: share,
            loss,
            congestion: congestion.to_owned(),
            connections,
            objects,
            object_bytes: (whole(size) / u64::from(objects)).max(if objects == 1 { 1 } else { SMALLEST_OBJECT }),
            upload,
        }
    }

    /// The point as a scenario file.
    pub fn text(&self) -> String {
        let Self { rate_bit_s, delay_ms, queue_bytes, loss, congestion, connections, objects, object_bytes, .. } = self;
        let page = if self.upload {
            let document = std::iter::once(("index.html".to_owned(), "text/html", 0));
            let others = (1..*objects).map(|number| (format!("i{number}.png"), "image/png", 200 + 50 * number));
            let lines = document.chain(others).map(|(name, media_type, offset)| {
                format!("{name},{media_type},{SMALLEST_OBJECT},{offset},{object_bytes}\n")
            });
            let lines: String = lines.collect();
            format!("table = \"\"\"\nname,type,bytes,offset_of_reference_in_html,request_bytes\n{lines}\"\"\"")
        } else {
            format!("objects = {objects}\nsize = \"{object_bytes} B\"")
        };
        let direction = format!(
            "rate = \"{rate_bit_s} bit/s\"\ndelay = \"{delay_ms} ms\"\nqueue = \"{queue_bytes} B\"\nloss = \"{} %\"",
            loss * 100.0
        );
        format!(
            "version = 1\ntitle = \"conformance point\"\n[link.down]\n{direction}\n[link.up]\n{direction}\n\
             [tcp]\nprofile = \"linux\"\ncongestion = \"{congestion}\"\n[page]\n{page}\n[http]\nversion = \"1.1\"\n\
             connections = {connections}\nrequest_bytes = 200\nresponse_header_bytes = 96\n[run]\narchitectures = [\"direct\"]\n"
        )
    }

    /// The point as a scenario that is run `runs` times with dice of its own, for the plan's `seed`.
    ///
    /// # Errors
    /// The scenario cannot be: a point outside the ranges.
    pub fn scenario(&self, runs: u32, seed: u64) -> Result<Scenario, ScenarioError> {
        let mut scenario = farhop_scenario::parse(&self.name(), &self.text(), &[])?;
        let dice = Stream::new(seed, self.set as u64).split(u64::from(self.number));
        // Scenario files say seeds of 63 bits.
        (scenario.run.runs, scenario.run.seed) = (runs, dice.split(1).bits(0) >> 1);
        Ok(scenario)
    }

    /// Whether the other is this one, written down and read again: shares lose their last digit by that.
    pub fn is_same(&self, other: &Self) -> bool {
        let Self { loss, queue_share, .. } = *other;
        let is_close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        Self { loss, queue_share, ..self.clone() } == *other
            && is_close(self.loss, loss)
            && is_close(self.queue_share, queue_share)
    }

    /// The queue as a share of the bandwidth-delay product: more than was drawn where that has no room for two packets.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn queue_of_product(&self) -> f64 {
        let product = self.rate_bit_s as f64 * self.round_trip().as_secs_f64() / 8.0;
        self.queue_bytes as f64 / product
    }

    /// A name that no other point of a plan has.
    pub fn name(&self) -> String {
        match self.set {
            Set::Model => format!("case-{}", self.number + 1),
            Set::Simulator => format!("point-{}", self.number + 1),
        }
    }

    /// Whether runs differ by dice of the link.
    pub fn is_random(&self) -> bool {
        self.loss > 0.0
    }

    /// Bytes that count.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.object_bytes * u64::from(self.objects))
    }

    /// Bit/s of both directions.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.rate_bit_s).expect("no point is drawn with a rate of zero")
    }

    /// There and back.
    pub fn round_trip(&self) -> Duration {
        Duration::from_millis(2 * self.delay_ms)
    }
}

/// What one connection carries in [`LONGEST_S`] where the square-root law bounds it: MSS/RTT · √(3/2p).
fn most_bytes(rate: f64, delay_ms: f64, loss: f64) -> f64 {
    let at_rate = rate * LONGEST_S / 8.0;
    if loss == 0.0 {
        return at_rate;
    }
    at_rate.min(1448.0 / (2.0 * delay_ms / 1e3) * (1.5 / loss).sqrt() * LONGEST_S)
}

fn log_uniform(dice: &mut Dice, [least, most]: [f64; 2]) -> f64 {
    least * libm::pow(most / least, dice.uniform())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "drawn from ranges far below 2⁶³")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_point_of_every_seed_is_a_scenario_within_its_ranges(seed in any::<u64>(), number in 0_u32..500) {
            for set in Set::ALL {
                let point = Point::draw(seed, set, number);
                prop_assert_eq!(&point, &Point::draw(seed, set, number));
                let scenario = point.scenario(3, seed).map_err(|error| TestCaseError::fail(error.to_string()))?;
                let least = if set == Set::Model { 1_000_000 } else { 500_000 };
                prop_assert!((least..=100_000_000).contains(&point.rate_bit_s));
                prop_assert!(point.queue_bytes >= 2 * PACKET);
                let (share, floored) = (point.queue_of_product(), point.queue_bytes == 2 * PACKET);
                prop_assert!((share - point.queue_share).abs() < 0.01 || (floored && share > point.queue_share));
                prop_assert!(point.size() >= Bytes::new(9_990) && point.size() <= Bytes::new(10_000_000));
                prop_assert_eq!(scenario.http.connections as u64, u64::from(point.connections));
                prop_assert_eq!(scenario.link.down.loss.is_none(), !point.is_random());
                // What the page carries, one way or the other, is the point's size.
                let asked = || scenario.page.objects.iter().map(|object| object.request_bytes).sum();
                let carried = if point.upload { asked() } else { Some(scenario.page.total_bytes()) };
                prop_assert_eq!(carried, Some(point.size()));
            }
        }
    }

    #[test]
    fn a_plan_has_every_kind_of_point() {
        let points = Plan::default().draw();
        assert_eq!(points.len(), 80);
        let simulator: Vec<&Point> = points.iter().filter(|point| point.set == Set::Simulator).collect();
        for congestion in ["reno", "cubic", "bbr"] {
            for loss in [0.0, 0.001, 0.01] {
                let of = |point: &&&Point| point.congestion == congestion && point.loss.total_cmp(&loss).is_eq();
                assert!(simulator.iter().filter(of).count() >= 4, "{congestion} at {loss}");
            }
        }
        assert!(simulator.iter().filter(|point| point.upload).count() >= 10);
        assert!(simulator.iter().filter(|point| point.connections == 6).count() >= 15);
    }

    #[test]
    fn every_kind_of_upload_is_in_some_plan() {
        let plans = (1..40).map(|seed| Plan { seed, ..Plan::default() }.draw());
        let kind = |point: &Point| (point.congestion.clone(), point.connections, point.loss.to_bits());
        let uploads: BTreeSet<_> = plans.flatten().filter(|point| point.upload).map(|point| kind(&point)).collect();
        assert_eq!(uploads.len(), 3 * 2 * 3);
    }
}
