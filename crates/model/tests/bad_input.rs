//! Whatever a scenario says, the model has an answer or an error that names what cannot be: no panic, no NaN, no endless loop.

use farhop_model::{Prediction, Sweep, limit, predict};
use farhop_results::Architecture;
use farhop_scenario::{Over, Scenario, Template, open};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Keys with values at the edge of what is accepted, and beyond it.
const EDGES: [(&str, &[&str]); 17] = [
    ("link.down.rate", &["1 bit/s", "0 bit/s", "18000000000 Gbit/s", "unlimited", "300 bit/s"]),
    ("link.up.rate", &["1 bit/s", "unlimited", "9600 bit/s"]),
    ("link.down.delay", &["0 ms", "20 min", "24 h", "1 ns", "25 h"]),
    ("link.up.delay", &["0 ms", "20 min", "24 h"]),
    ("wan.delay", &["20 min", "0 ms"]),
    ("link.down.loss", &["100 %", "50 %", "1e-9", "gilbert-elliott enter=1e-6 leave=1e-6", "bit-errors rate=1"]),
    ("link.up.loss", &["100 %", "0.001"]),
    ("link.down.queue", &["1 B", "unlimited"]),
    ("tcp.mss", &["88", "8948", "0", "1448"]),
    ("tcp.max_window", &["88 B", "1448 B", "8948 B", "1 GiB", "unlimited", "100 B", "0 B"]),
    ("tcp.initial_window", &["1", "1000", "0"]),
    ("tcp.profile", &["linux", "rfc", "bsd-1997"]),
    ("tcp.congestion", &["reno", "cubic", "bbr"]),
    ("http.version", &["1.0", "1.1", "1.1-pipelined", "2", "3"]),
    ("http.connections", &["1", "256", "0"]),
    ("http.request_bytes", &["1", "65535", "0"]),
    ("page.size", &["0 B", "40 kB", "1000 GB", "1000000 GB", "18446744073709551615 B"]),
];

fn is_sound(prediction: &Prediction, scenario: &Scenario) -> Result<(), TestCaseError> {
    for row in &prediction.rows {
        prop_assert!(row.page_load_s.is_finite() && row.page_load_s > 0.0, "{row:?}");
        prop_assert!(row.goodput_bit_s.is_finite() && row.limit_s.is_finite(), "{row:?}");
        prop_assert!(row.breakdown.iter().all(|wait| wait.time_s.is_finite() && wait.time_s >= 0.0), "{row:?}");
        let own = row.method == "farhop";
        let sum: f64 = row.breakdown.iter().map(|wait| wait.time_s).sum();
        prop_assert!(own != row.breakdown.is_empty(), "{row:?}");
        prop_assert!(!own || (sum - row.page_load_s).abs() <= 1e-6 * row.page_load_s.max(1.0), "{sum} {row:?}");
    }
    for architecture in &scenario.run.architectures {
        let row = prediction.rows.iter().any(|row| row.architecture == *architecture);
        let gap = prediction.gaps.iter().any(|gap| gap.architecture == *architecture && !gap.reason.is_empty());
        prop_assert!(row || gap, "{architecture} has neither a row nor a reason");
    }
    for rank in &prediction.ranking {
        prop_assert!(rank.page_load_s.is_finite() && rank.gain.is_finite() && rank.gain > 0.0, "{rank:?}");
    }
    prop_assert!(prediction.ranking.is_sorted_by(|a, b| a.page_load_s <= b.page_load_s));
    Ok(())
}

/// Some keys, each with one of its values.
fn assignments() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..EDGES.len(), 0_usize..8), 0..5)
}

fn typed((key, value): (usize, usize)) -> (&'static str, &'static str) {
    let (key, values) = EDGES[key];
    (key, values[value % values.len()])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_scenario_is_predicted_or_refused_by_name(chosen in assignments(), one_object: bool) {
        let mut texts = vec![format!("page.objects={}", if one_object { 1 } else { 7 }), "page.size=50 kB".to_owned()];
        texts.push("run.architectures=direct,split,multiplexed,rwbp,prefetch-conventional,tunnel,accelerated".to_owned());
        texts.extend(chosen.iter().map(|chosen| typed(*chosen)).map(|(key, value)| format!("{key}={value}")));
        match open("demo", &texts) {
            Ok(scenario) => {
                is_sound(&predict(&scenario), &scenario)?;
                prop_assert!(limit(&scenario) > Duration::ZERO);
            }
            Err(error) => {
                let error = error.to_string();
                let named = chosen.iter().any(|chosen| error.contains(typed(*chosen).0)) || error.contains("page");
                prop_assert!(named && error.contains("accepted"), "{texts:?}: {error}");
            }
        }
    }

    #[test]
    fn any_grid_has_times_or_an_error_that_names_the_key(
        keys in prop::sample::subsequence((0..EDGES.len()).collect::<Vec<_>>(), 1..3),
    ) {
        let texts: Vec<String> = keys.iter().map(|key| format!("{}={}", EDGES[*key].0, EDGES[*key].1.join(","))).collect();
        let over = Over::parse(&texts).unwrap();
        let template = Template::open("demo", &["page.objects=3".to_owned(), "page.size=50 kB".to_owned()]).unwrap();
        let mut sweep = Sweep::new();
        for index in 0..over.len() {
            match template.resolve(over.point(index)) {
                Ok(scenario) => {
                    for answer in sweep.times(&scenario, Architecture::ALL) {
                        prop_assert!(answer.as_ref().map_or_else(|reason| !reason.is_empty(), |time| *time > Duration::ZERO));
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(keys.iter().any(|key| error.contains(EDGES[*key].0)) || error.contains("page"), "{error}");
                }
            }
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that something ends in time reads the clock")]
fn the_largest_page_over_the_worst_link_is_answered_in_time() {
    let texts = ["page.objects=1", "page.size=1000 GB", "link.down.loss=30 %", "link.down.delay=20 min"];
    let scenario = open("demo", &texts.map(str::to_owned)).unwrap();
    let start = Instant::now();
    let prediction = predict(&scenario);
    assert!(prediction.rows.iter().any(|row| row.method == "farhop" && row.page_load_s > 80_000.0), "{prediction:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
