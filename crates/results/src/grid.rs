//! Times over a grid of one or several scenario keys: what `predict --over` finds.
//!
//! A point names the value of every key as it would be typed in `--set`; it has no entry for an architecture that gives no number
//! there. Which method is behind a time is not kept: a grid compares architectures by one method.

use crate::{Architecture, is_benefit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Predicted times over every combination of the values of some keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The keys that vary, as in `--set`, outermost first.
    pub keys: Vec<String>,
    /// The points; the last key varies fastest.
    pub points: Vec<GridPoint>,
}

/// One combination of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridPoint {
    /// The value of each key of the grid, with its unit.
    pub values: Vec<String>,
    /// Page load time of each architecture that gives one, in s; a map in JSON.
    #[serde(rename = "page_load_s", with = "times")]
    pub times: Vec<(Architecture, f64)>,
}

impl Grid {
    /// The architectures that have a time at some point, in their usual order.
    pub fn architectures(&self) -> Vec<Architecture> {
        let is_in = |architecture: &Architecture| self.points.iter().any(|point| point.time(*architecture).is_some());
        Architecture::ALL.iter().copied().filter(is_in).collect()
    }

    /// The values of the key of this number, in order of their first appearance.
    pub fn values(&self, key: usize) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let values = self.points.iter().filter_map(|point| point.values.get(key));
        values.map(String::as_str).filter(|value| known.insert(*value)).collect()
    }
}

impl GridPoint {
    /// The time of an architecture, in s, where it gives one.
    pub fn time(&self, architecture: Architecture) -> Option<f64> {
        self.times.iter().find(|(of, _)| *of == architecture).map(|(_, time)| *time)
    }

    /// The fastest architecture and its time in s; of equals the one given first.
    pub fn best(&self) -> Option<(Architecture, f64)> {
        self.times.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How many times faster than `direct` an architecture is, where both have a time.
    pub fn gain(&self, architecture: Architecture) -> Option<f64> {
        Some(self.time(Architecture::Direct)? / self.time(architecture)?)
    }

    /// Whether an architecture is worth while here in place of `direct`, where both have a time.
    pub fn is_benefit(&self, architecture: Architecture) -> Option<bool> {
        Some(is_benefit(self.time(Architecture::Direct)?, self.time(architecture)?))
    }
}

/// Times by architecture as a map, in the order given.
mod times {
    use crate::Architecture;
    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(times: &[(Architecture, f64)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(times.iter().map(|(architecture, time)| (architecture, time)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Architecture, f64)>, D::Error> {
        deserializer.deserialize_map(Times)
    }

    struct Times;

    impl<'de> Visitor<'de> for Times {
        type Value = Vec<(Architecture, f64)>;

        fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("a map of architectures to times in s")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut times = Vec::new();
            while let Some(entry) = map.next_entry()? {
                times.push(entry);
            }
            Ok(times)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let point = |delay: &str, rate: &str, times: &[(Architecture, f64)]| GridPoint {
            values: vec![delay.to_owned(), rate.to_owned()],
            times: times.to_vec(),
        };
        let (direct, split) = (Architecture::Direct, Architecture::Split);
        Grid {
            keys: vec!["link.down.delay".to_owned(), "link.down.rate".to_owned()],
            points: vec![
                point("10 ms", "1 Mbit/s", &[(split, 0.5), (direct, 0.5)]),
                point("10 ms", "2 Mbit/s", &[(split, 0.25), (direct, 0.4)]),
                point("20 ms", "1 Mbit/s", &[(direct, 0.9)]),
            ],
        }
    }

    #[test]
    fn a_point_is_a_map_with_its_unit_in_the_key_and_comes_back() {
        let text = serde_json::to_string(&grid().points[1]).unwrap();
        assert_eq!(text, r#"{"values":["10 ms","2 Mbit/s"],"page_load_s":{"split":0.25,"direct":0.4}}"#);
        assert_eq!(serde_json::from_str::<GridPoint>(&text).unwrap(), grid().points[1]);
    }

    #[test]
    fn values_and_architectures_are_listed_once() {
        assert_eq!(grid().values(0), ["10 ms", "20 ms"]);
        assert_eq!(grid().values(1), ["1 Mbit/s", "2 Mbit/s"]);
        assert!(grid().values(2).is_empty());
        assert_eq!(grid().architectures(), [Architecture::Direct, Architecture::Split]);
    }

    #[test]
    fn the_best_is_the_fastest_and_a_gain_needs_both_times() {
        let grid = grid();
        assert_eq!(grid.points[0].best(), Some((Architecture::Split, 0.5)));
        assert_eq!(grid.points[1].gain(Architecture::Split), Some(1.6));
        assert_eq!(grid.points[2].gain(Architecture::Split), None);
    }
}
