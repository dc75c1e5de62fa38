//! Which architecture? All that farhop's model knows a time for, the fastest first, each with its gain over `direct`.
//!
//! Every architecture on offer is ranked, not only those that the scenario runs: the ranking is there to choose one.

use crate::{Sweep, own};
use farhop_results::{Architecture, Rank, is_benefit};
use farhop_scenario::Scenario;
use std::time::Duration;

/// The architectures in order of their times; none if `direct`, which they are compared with, has no time.
pub(crate) fn ranking(scenario: &Scenario) -> Vec<Rank> {
    let times = Sweep::new().times(scenario, Architecture::ALL);
    let known = |(architecture, time): (&Architecture, Result<Duration, String>)| Some((*architecture, time.ok()?));
    let mut times: Vec<_> = Architecture::ALL.iter().zip(times).filter_map(known).collect();
    times.retain(|(_, time)| !time.is_zero());
    let direct = times.iter().find(|(architecture, _)| *architecture == Architecture::Direct);
    let Some(&(_, direct)) = direct else { return Vec::new() };
    times.sort_by_key(|(_, time)| *time);
    let rank = |(architecture, time): (Architecture, Duration)| Rank {
        architecture,
        method: own::METHOD.to_owned(),
        page_load_s: time.as_secs_f64(),
        gain: direct.as_secs_f64() / time.as_secs_f64(),
        benefit: is_benefit(direct.as_secs_f64(), time.as_secs_f64()),
    };
    times.into_iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::open;

    fn ranking_of(name: &str, assignments: &[&str]) -> Vec<Rank> {
        let assignments: Vec<String> = assignments.iter().map(|&text| text.to_owned()).collect();
        ranking(&open(name, &assignments).unwrap())
    }

    #[test]
    fn a_satellite_is_worth_two_boxes_and_every_architecture_is_ranked() {
        let ranking = ranking_of("demo", &[]);
        assert_eq!(ranking.len(), Architecture::ALL.len());
        assert!(ranking.is_sorted_by(|a, b| a.page_load_s <= b.page_load_s));
        let first = &ranking[0];
        assert_eq!((first.architecture, first.benefit), (Architecture::Accelerated, true));
        assert!((8.0..10.0).contains(&first.gain), "{first:?}");
        let direct = ranking.iter().find(|rank| rank.architecture == Architecture::Direct).unwrap();
        assert!((direct.gain - 1.0).abs() < 1e-12 && !direct.benefit);
    }

    #[test]
    fn nobody_notices_boxes_in_an_office_or_before_a_large_file() {
        for (name, assignments) in [
            ("office", &[][..]),
            ("demo", &["link.down.delay=12.5ms", "link.up.delay=12.5ms"]),
            ("demo", &["link.down.delay=12.5ms", "link.up.delay=12.5ms", "page.objects=1", "page.size=1 GB"]),
        ] {
            let ranking = ranking_of(name, assignments);
            assert!(ranking.len() > 1 && ranking.iter().all(|rank| !rank.benefit), "{name}: {ranking:#?}");
        }
    }

    #[test]
    fn without_a_time_to_compare_with_there_is_no_ranking() {
        assert_eq!(ranking_of("rwbp-128", &[]), []);
    }
}
