//! Pages in which sheets and scripts name more, at several hosts: what boxes do not read, clients ask for, who resolve names and open connections.

mod loads;
mod opening;

use farhop_results::Architecture;
use farhop_scenario::{Object, Page, Reference, Scenario};
use farhop_units::Bytes;
use farhop_units::random::{Dice, Stream};
use opening::scenario;
use std::time::Duration;

/// Numbers that a seed gives.
struct Draws(Dice);

impl Draws {
    fn of(number: u64) -> Self {
        Self(Dice::new(Stream::new(2027, number)))
    }

    /// One of so many.
    fn one_of(&mut self, count: usize) -> usize {
        usize::try_from(self.0.below(count as u64)).expect("a few")
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.one_of(choices.len())]
    }
}

/// A document that names sheets, scripts and images, which name fonts and images, at up to four hosts.
fn page(draws: &mut Draws) -> Page {
    let hosts = 1 + draws.one_of(4);
    let mut objects = vec![Object::new("index.html", "text/html", Bytes::new(2000 + 900 * draws.one_of(30) as u64))];
    for number in 1..3 + draws.one_of(12) {
        let names = |object: &Object| matches!(&*object.media_type, "text/html" | "text/css" | "text/javascript");
        let by: Vec<usize> = (0..objects.len()).filter(|by| names(&objects[*by])).collect();
        let by = if draws.one_of(2) == 0 { 0 } else { by[draws.one_of(by.len())] };
        let kind = draws.pick(&["text/css", "text/javascript", "image/png", "image/png"]);
        let size = Bytes::new(500 + 700 * draws.one_of(40) as u64);
        let end = Bytes::new((objects[by].size.get() * (1 + draws.one_of(10) as u64)) / 10);
        let reference = Some(Reference { object: by, offset: Bytes::ZERO, end });
        let delay = Duration::from_millis(if draws.one_of(5) == 0 { 40 * draws.one_of(8) as u64 } else { 0 });
        let host = draws.one_of(hosts);
        objects.push(Object { reference, host, delay, ..Object::new(format!("o{number}"), kind, size) });
    }
    let names = (0..hosts).map(|host| format!("h{host}.example").into()).collect();
    Page::new(objects, names).expect("it is a page")
}

/// Such a page over some link without losses.
fn page_over_a_link(number: u64, assignments: &[&str]) -> Scenario {
    let mut draws = Draws::of(number);
    let down = draws.pick(&["1 Mbit/s", "4 Mbit/s", "20 Mbit/s", "100 Mbit/s"]);
    let up = draws.pick(&["500 kbit/s", "2 Mbit/s", "10 Mbit/s"]);
    let delay = draws.pick(&["60 ms", "150 ms", "270 ms"]);
    let many = draws.pick(&["2", "4", "6"]);
    let shares = |text: &&str| matches!(*text, "http.version=1.1-pipelined" | "http.version=2" | "http.version=3");
    let connections = if assignments.iter().any(shares) { "1" } else { many };
    let pairs = [
        ("link.down.rate", down),
        ("link.up.rate", up),
        ("link.down.delay", delay),
        ("link.up.delay", delay),
        ("link.down.queue", "unlimited"),
        ("link.up.queue", "unlimited"),
        ("http.connections", connections),
        ("tcp.profile", "rfc"),
    ];
    let link = pairs.map(|(key, value)| format!("{key}={value}"));
    let link: Vec<&str> = link.iter().map(String::as_str).chain(assignments.iter().copied()).collect();
    Scenario { page: page(&mut draws), ..scenario("demo", &link) }
}

/// How far the simulated time is from the predicted one.
fn off_the_prediction(scenario: &Scenario) -> f64 {
    let prediction = farhop_model::predict(scenario);
    let own = prediction.rows.iter().find(|row| row.method == "farhop");
    let predicted = own.unwrap_or_else(|| panic!("{:?}", prediction.gaps)).page_load_s;
    loads::beside(predicted, scenario) / predicted - 1.0
}

/// The errors of so many pages, the smallest first.
fn errors(architecture: Architecture, numbers: core::ops::Range<u64>, assignments: &[&str]) -> Vec<f64> {
    let only = format!("run.architectures={architecture}");
    let assignments = [assignments, &[&only]].concat();
    let error = |number| off_the_prediction(&page_over_a_link(number, &assignments)).abs();
    let mut errors: Vec<f64> = numbers.map(error).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

/// Pages through a box that prefetches, over a lan of so many milliseconds: the error of half of them and of three in four.
fn of_boxes(architecture: Architecture, at: &str, [dns, version, lan]: [&str; 3]) -> [f64; 2] {
    let [at, dns] = [format!("prefetch.at={at}"), format!("http.dns={dns}")];
    let [version, lan] = [format!("http.version={version}"), format!("lan.delay={lan}")];
    let errors = errors(architecture, 0..16, &[&at, &dns, &version, &lan]);
    [errors[8], errors[12]]
}

/// Whoever has to find a server asks a resolver: the client, and a box at the terminal that asks for more than its client has.
#[test]
fn names_are_resolved_by_whoever_connects() {
    use Architecture::{Prefetch2013, PrefetchConventional};
    for (architecture, at) in
        [(PrefetchConventional, "terminal"), (PrefetchConventional, "gateway"), (Prefetch2013, "gateway")]
    {
        for version in ["1.0", "1.1"] {
            for lan in ["0 ms", "20 ms"] {
                let [half, most] = of_boxes(architecture, at, ["far", version, lan]);
                assert!(half < 0.015 && most < 0.025, "{architecture} at the {at}, {version}, {lan}: {half} {most}");
            }
        }
    }
}

/// What sheets and scripts name a box at the terminal hears of once the client's request has crossed the lan.
#[test]
fn what_a_box_does_not_read_crosses_the_lan_before_it_asks() {
    for dns in ["none", "near"] {
        for version in ["1.0", "1.1"] {
            let [half, most] = of_boxes(Architecture::PrefetchConventional, "terminal", [dns, version, "20 ms"]);
            assert!(half < 1e-4 && most < 0.02, "{dns}, {version}: {half} {most}");
        }
    }
}

/// What the browser asks for later than connections may idle it asks for over new ones.
#[test]
fn connections_that_idle_are_opened_again() {
    use Architecture::{Direct, Multiplexed, Prefetch2013, PrefetchConventional, Rwbp, Split, Tunnel};
    for (architecture, half, most) in [
        (Direct, 1e-4, 1e-3),
        (Split, 1e-3, 1e-3),
        (Rwbp, 1e-3, 1e-3),
        (Multiplexed, 1e-3, 0.006),
        (Tunnel, 0.004, 0.017),
        (PrefetchConventional, 0.01, 0.015),
        (Prefetch2013, 0.015, 0.04),
    ] {
        for version in ["http.version=1.1", "http.version=1.1-pipelined", "http.version=2"] {
            let errors = errors(architecture, 0..16, &[version, "http.persistence=60 ms", "lan.delay=5 ms"]);
            assert!(errors[8] < half && errors[12] < most, "{architecture} {version}: {errors:?}");
        }
    }
    let over_quic = errors(Direct, 0..16, &["http.version=3", "http.persistence=60 ms"]);
    assert!(over_quic[8] < 1e-3 && over_quic[12] < 0.01, "{over_quic:?}");
}
