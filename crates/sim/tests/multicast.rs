//! What the gateway sends to all terminals goes before what users ask for, and keeps to its share.

use farhop_results::{Architecture, Row};
use farhop_scenario::{Scenario, open};
use farhop_sim::simulate;

fn scenario(name: &str, assignments: &[&str]) -> Scenario {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    open(name, &assignments).expect("the assignments are right")
}

fn row(scenario: &Scenario, architecture: Architecture) -> Row {
    let simulation = simulate(scenario, 5);
    let row = simulation.rows.into_iter().find(|row| row.architecture == architecture);
    row.unwrap_or_else(|| panic!("{architecture}: {:?}", simulation.gaps))
}

/// Many users over 1 Mbit/s and a short queue, with or without multicast.
fn busy(architecture: Architecture, queue: &str, multicast: Option<&str>) -> Row {
    let settings = [
        format!("run.architectures={architecture}"),
        format!("link.down.queue={queue}"),
        "link.down.rate=1 Mbit/s".to_owned(),
        "access.terminals=64".to_owned(),
        "access.scheme=dedicated".to_owned(),
        "users.model=zhou-2004, sizes = fixed".to_owned(),
        "users.duration=3 min".to_owned(),
        "users.warm_up=0 s".to_owned(),
        "run.runs=1".to_owned(),
    ];
    let multicast = multicast.map(|rate| format!("multicast.rate={rate}"));
    let all: Vec<&str> = settings.iter().chain(&multicast).map(String::as_str).collect();
    row(&scenario("rwbp-128", &all), architecture)
}

fn drops_nothing(row: &Row) -> bool {
    row.note.as_deref().expect("it says what was dropped").contains("the link dropped 0 packets")
}

#[test]
fn nothing_of_rwbp_is_dropped_beside_multicast() {
    for queue in ["20 kB", "4 kB", "6 packets"] {
        let row = busy(Architecture::Rwbp, queue, Some("400 kbit/s"));
        assert!(drops_nothing(&row), "{queue}: {:?}", row.note);
        assert!(row.note.is_some_and(|note| note.contains("; beside 400 kbit/s of multicast")));
    }
    assert!(!drops_nothing(&busy(Architecture::Direct, "20 kB", Some("400 kbit/s"))), "TCP finds the queue full");
}

#[test]
fn users_have_what_multicast_leaves() {
    let mean = |multicast| {
        let row = busy(Architecture::Rwbp, "20 kB", multicast);
        row.users.expect("users have times").page_load_mean_s
    };
    let [alone, beside] = [mean(None), mean(Some("400 kbit/s"))];
    assert!(beside > 1.4 * alone, "{beside} s, {alone} s alone");
}

/// Each packet of multicast waits for the end of one other at most, however many others wait.
#[test]
fn a_file_takes_as_long_as_the_rest_of_the_rate_lets_it() {
    for (architecture, most) in [(Architecture::Rwbp, 1.05), (Architecture::Tunnel, 1.15), (Architecture::Direct, 1.6)]
    {
        let one = ["page.objects=1", "page.size=10 MB", "link.down.rate=8 Mbit/s", "link.down.discipline=priority"];
        let architectures = format!("run.architectures={architecture}");
        let time = |more: &[&str]| row(&scenario("demo", &[&one[..], &[&*architectures], more].concat()), architecture);
        let (half, beside) = (time(&["link.down.rate=4 Mbit/s"]), time(&["multicast.rate=4 Mbit/s"]));
        let ratio = beside.page_load_s / half.page_load_s;
        assert!((0.95..most).contains(&ratio), "{architecture}: {ratio}");
    }
}
