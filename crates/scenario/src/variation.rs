//! A scenario that follows a grid: from one point to the next only those parts are read again that the values are of.
//!
//! Nearly all points of a grid differ in the link, in TCP or in HTTP, and then have one page, one path around the link, one list of
//! architectures. Where a value is of anything else, or wrong, [`Template::resolve`] answers.

use crate::reader::Document;
use crate::resolve::Part;
use crate::template::Template;
use crate::{Scenario, ScenarioError, open};

/// A template, and the scenario that was resolved from it last.
#[derive(Debug, Clone)]
pub struct Variation {
    template: Template,
    last: Option<Last>,
}

#[derive(Debug, Clone)]
struct Last {
    scenario: Scenario,
    keys: Vec<String>,
    /// What the keys are of, and the tables that it is read from.
    parts: Vec<Part>,
    document: Document,
}

impl Variation {
    /// Nothing resolved yet.
    pub fn new(template: Template) -> Self {
        Self { template, last: None }
    }

    /// What it is resolved from.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// What [`Template::resolve`] gives for these values.
    ///
    /// # Errors
    /// A value is wrong.
    pub fn resolve<'a>(
        &mut self,
        values: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<&Scenario, ScenarioError> {
        let last = self.last.take().and_then(|last| last.changed(&self.template, values.clone()));
        let last = match last {
            Some(last) => last,
            None => Last::of(&self.template, values)?,
        };
        Ok(&self.last.insert(last).scenario)
    }
}

impl Last {
    fn of<'a>(
        template: &Template,
        values: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<Self, ScenarioError> {
        let scenario = template.resolve(values.clone())?;
        let keys: Vec<String> = values.map(|(key, _)| key.to_owned()).collect();
        let parts: Option<Vec<Part>> = keys.iter().map(|key| Part::of(key)).collect();
        let mut parts = parts.unwrap_or_default();
        parts.sort_unstable();
        parts.dedup();
        let tables: Vec<&str> = parts.iter().flat_map(|part| part.tables()).copied().collect();
        Ok(Self { scenario, keys, parts, document: template.document().only(&tables) })
    }

    /// The scenario with other values for the same keys; `None` if that takes more than reading their parts again.
    fn changed<'a>(
        mut self,
        template: &Template,
        values: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Option<Self> {
        if self.parts.is_empty() || !values.clone().map(|(key, _)| key).eq(self.keys.iter().map(String::as_str)) {
            return None;
        }
        let mut document = self.document.clone();
        values.for_each(|(key, value)| document.assign(key, value));
        open::replace(&mut document).ok()?;
        for part in &self.parts {
            part.read(&document, template.files(), &mut self.scenario).ok()?;
        }
        document.finish().ok()?;
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Over;
    use proptest::prelude::*;

    /// Every point of a grid is what it is by itself.
    fn follows(name: &str, assignments: &[&str], over: &[&str]) {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<String>>();
        let template = Template::open(name, &texts(assignments)).expect("a shipped scenario");
        let over = Over::parse(&texts(over)).expect("a grid");
        let mut variation = Variation::new(template.clone());
        for index in 0..over.len() {
            let alone = template.resolve(over.point(index)).map_err(|error| error.to_string());
            let followed = variation.resolve(over.point(index)).map_err(|error| error.to_string());
            assert_eq!(followed, alone.as_ref().map_err(Clone::clone), "{name} {assignments:?} {index}");
        }
    }

    #[test]
    fn every_point_is_what_it_is_by_itself() {
        // A queue that is not given follows both delays and the rate.
        let link = ["link.down.delay=1ms,300ms", "link.down.rate=64kbit/s,1Gbit/s", "link.up.delay=5ms,700ms"];
        follows("geo-consumer", &[], &link);
        follows(
            "vsat-2001",
            &["wan.delay=3ms"],
            &["wan.rate=1Mbit/s,2Mbit/s", "lan.delay=0ms,9ms", "lan.queue=9kB,1MB"],
        );
        follows("demo", &[], &["link.down.loss=none,gilbert-elliott enter=1% leave=30%", "link.down.loss.enter=2%,3%"]);
        follows("demo", &[], &["link.down.trace=steps length=1s at=0s:1Mbit/s,none", "link.down.rate=1Mbit/s,2Mbit/s"]);
        follows("demo", &[], &["tcp.profile=rfc,linux,bsd-1997", "tcp.mss=536,1448", "tcp.congestion=bbr,reno"]);
        follows("demo", &["http.tls=1.2"], &["http.version=1.1,2,3,1.0", "http.request_bytes=100,900"]);
        follows("demo", &[], &["http.connections=1..3", "tcp.initial_window=1,10", "link.up.rate=1Mbit/s,2Mbit/s"]);
        follows("train-2013", &[], &["link.down.delay=1ms,2ms", "link.up.loss=0,1%"]);
    }

    #[test]
    fn what_others_depend_on_is_resolved_as_a_whole() {
        follows("demo", &[], &["page.objects=1..3", "page.size=1kB,2kB", "link.up.delay=1ms,2ms"]);
        follows("rwbp-128", &[], &["access.terminals=1,128,64", "users.per_terminal=1,2", "link.up.delay=1ms,2ms"]);
        follows("demo", &[], &["http.response_header_bytes=100,200", "multiplexed.connections=1,2"]);
    }

    #[test]
    fn heads_that_a_log_leaves_out_are_the_scenarios_at_every_point() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("access.log");
        let line = "10.0.0.1 - - [14/Jul/1997:10:00:01 +1200] \"GET http://www.example.com/a HTTP/1.0\" 200 2326\n";
        std::fs::write(&path, line).expect("there is room");
        let log = format!("log.file={}", path.display());
        let assignments = [log.as_str(), "log.format=common"];
        let texts = assignments.map(str::to_owned);
        open::open("nz-us-log", &texts).expect("a log in the common format");
        follows("nz-us-log", &assignments, &["http.response_header_bytes=100,200"]);
    }

    #[test]
    fn what_was_recorded_over_tls_is_loaded_over_it_at_every_point() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("page.har");
        let document = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.test/"},
            "response": {"status": 200, "bodySize": 2000, "content": {"mimeType": "text/html"}}}]}}"#;
        std::fs::write(&path, document).expect("there is room");
        let page = format!("page.har={}", path.display());
        follows("demo", &[&page], &["http.version=1.0,1.1,2", "http.request_bytes=100,900"]);
    }

    #[test]
    fn a_wrong_value_is_told_as_ever_and_leaves_nothing_behind() {
        follows("demo", &[], &["link.down.delay=1ms,2 days,3ms", "link.up.delay=1ms,x,2ms"]);
        follows("demo", &[], &["link.up.delay=1ms,2ms", "link.down.delya=1ms,2ms"]);
        follows("demo", &[], &["http.version=1.1,2", "http.connections=1,2,1"]);
        follows("demo", &[], &["tcp.mss=536,1448", "tcp.max_window=1000,unlimited,2kB"]);
    }

    /// A key and values for it.
    type Key = (&'static str, [&'static str; 3]);

    /// Keys with values that are right for each, whatever the others have.
    const RIGHT: [Key; 18] = [
        ("link.down.rate", ["64 kbit/s", "1 Gbit/s", "unlimited"]),
        ("link.down.delay", ["0 ms", "270 ms", "20 min"]),
        ("link.down.queue", ["9 kB", "100 packets", "unlimited"]),
        ("link.up.delay", ["1 ms", "300 ms", "24 h"]),
        ("link.up.loss", ["none", "1 %", "gilbert-elliott enter=1% leave=30%"]),
        ("link.up.jitter", ["none", "uniform max=5ms", "exponential mean=2ms"]),
        ("wan.rate", ["1 Mbit/s", "34.368 Mbit/s", "unlimited"]),
        ("wan.delay", ["0 ms", "40 ms", "1 s"]),
        ("lan.discipline", ["drop-tail", "codel", "fq-codel quantum=300B"]),
        ("tcp.profile", ["linux", "bsd-1997", "rfc"]),
        ("tcp.congestion", ["reno", "cubic", "bbr"]),
        ("tcp.initial_window", ["1", "10", "1000"]),
        ("http.version", ["1.0", "1.1", "3"]),
        ("http.tls_record", ["64 B", "1400 B", "16 KiB"]),
        ("http.request_bytes", ["1", "350", "65535"]),
        ("http.response_header_bytes", ["1", "250", "65535"]),
        ("run.seed", ["0", "7", "9223372036854775807"]),
        ("multiplexed.connections", ["1", "4", "1000"]),
    ];
    /// Values of the same keys, and keys, that are wrong.
    const WRONG: [(&str, &str); 9] = [
        ("link.down.rate", "fast"),
        ("link.up.delay", "25 h"),
        ("link.up.loss", "gilbert-eliott enter=1% leave=30%"),
        ("wan.delay", "-1 ms"),
        ("tcp.congestion", "vegas"),
        ("http.tls_record", "17 KiB"),
        ("http.request_bytes", "0"),
        ("run.seed", "-1"),
        ("link.down.dealy", "1 ms"),
    ];
    const SCENARIOS: [&str; 5] = ["demo", "demo-http10", "vsat-2001", "rwbp-128", "nz-us-log"];

    /// Where a point's values stand among those of each key; a key without one is left out.
    type Choice = Vec<Option<usize>>;

    fn points() -> impl Strategy<Value = (&'static str, Vec<Key>, Vec<Choice>)> {
        let choice = prop::collection::vec(prop::option::weighted(0.9, 0..3_usize), 4);
        let keys = prop::sample::subsequence(RIGHT.to_vec(), 1..=4);
        (prop::sample::select(SCENARIOS.to_vec()), keys, prop::collection::vec(choice, 2..6))
    }

    fn point(keys: &[Key], choice: &Choice) -> Vec<(&'static str, &'static str)> {
        let chosen = |((key, values), place): (&Key, &Option<usize>)| place.map(|place| (*key, values[place]));
        keys.iter().zip(choice).filter_map(chosen).collect()
    }

    proptest! {
        #[test]
        fn a_point_is_the_same_alone_and_behind_any_other((name, keys, choices) in points()) {
            let template = Template::open(name, &[]).expect("a shipped scenario");
            let mut variation = Variation::new(template.clone());
            for choice in &choices {
                let values = point(&keys, choice);
                let alone = template.resolve(values.iter().copied()).expect("right values");
                prop_assert_eq!(variation.resolve(values.iter().copied()).expect("right values"), &alone);
            }
        }

        #[test]
        fn an_error_is_the_same_alone_and_behind_any_other(
            (name, keys, choices) in points(),
            (key, wrong) in prop::sample::select(WRONG.to_vec()),
            place in 0..2_usize,
        ) {
            let template = Template::open(name, &[]).expect("a shipped scenario");
            let mut variation = Variation::new(template.clone());
            for (number, choice) in choices.iter().enumerate() {
                let mut values = point(&keys, choice);
                if number % 2 == place {
                    values.retain(|(known, _)| *known != key);
                    values.push((key, wrong));
                }
                let alone = template.resolve(values.iter().copied()).map_err(|error| error.to_string());
                prop_assert_eq!(alone.is_err(), number % 2 == place, "{:?}", values);
                let followed = variation.resolve(values.iter().copied()).map_err(|error| error.to_string());
                prop_assert_eq!(followed, alone.as_ref().map_err(Clone::clone));
            }
        }
    }

    #[test]
    fn other_keys_may_follow() {
        let template = Template::open("demo", &[]).expect("a shipped scenario");
        let mut variation = Variation::new(template.clone());
        for values in [[("link.up.delay", "5 ms")], [("tcp.mss", "536")], [("link.up.delay", "6 ms")]] {
            let alone = template.resolve(values).expect("right values");
            assert_eq!(variation.resolve(values.into_iter()).expect("right values"), &alone);
        }
    }
}
