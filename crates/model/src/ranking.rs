//! Which architecture? All that farhop's model knows a time for, the fastest first, each with its gain over `direct`.
//!
//! Every architecture on offer is ranked, not only those that the scenario runs: the ranking is there to choose one. Whether a gain
//! is a benefit is a question about people, not about links:
//!
//! - below one second a user's flow of thought stays uninterrupted (Miller, "Response time in man-computer conversational
//!   transactions", AFIPS 1968; Nielsen, "Usability Engineering", 1993, §5.5). Where `direct` already stays below, nobody would notice
//!   two boxes, whatever their ratio: an office a few milliseconds from its servers;
//! - a change of duration of less than a fifth is not noticed either (Weber's law; Seow, "Designing and Engineering Time", 2008, ch. 3):
//!   a large file, for which the link's rate is what counts.

use crate::{Sweep, own};
use farhop_results::{Architecture, Rank};
use farhop_scenario::Scenario;
use std::time::Duration;

/// `direct` below it needs nothing else.
const UNDISTURBED: Duration = Duration::from_secs(1);
/// The least share of a time whose absence is noticed, as a divisor.
const NOTICED: u32 = 5;

/// Whether loading in `time` instead of `direct` is worth while.
pub fn is_benefit(direct: Duration, time: Duration) -> bool {
    direct > UNDISTURBED && direct.saturating_sub(time) >= direct / NOTICED
}

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
        benefit: is_benefit(direct, time),
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
    fn a_benefit_takes_a_second_before_and_a_fifth_less() {
        let ms = Duration::from_millis;
        assert!(is_benefit(ms(1001), ms(800)));
        assert!(!is_benefit(ms(1000), ms(100)), "fast enough by itself");
        assert!(!is_benefit(ms(10_000), ms(8001)), "hardly less");
        assert!(!is_benefit(ms(10_000), ms(20_000)), "slower");
    }

    #[test]
    fn without_a_time_to_compare_with_there_is_no_ranking() {
        assert_eq!(ranking_of("rwbp-128", &[]), []);
    }
}
