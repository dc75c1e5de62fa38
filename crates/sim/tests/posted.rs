//! What is posted: nobody but the client asks for it, through any boxes, and it crosses the way up.

mod loads;

use farhop_results::Architecture;
use farhop_scenario::{Scenario, open};
use farhop_sim::simulate;

/// A page on a slow way up, which posts so much to one of its parts and little to another; `method` is the document's.
fn scenario(architecture: Architecture, method: &str, posted: u32) -> Scenario {
    let table = format!(
        "page.table=name,type,bytes,offset_of_reference_in_html,request_bytes,method\n\
         index.html,text/html,60000,0,,{method}\na.png,image/png,40000,1000,,\nup.json,application/json,2000,1200,{posted},POST\n\
         b.png,image/png,40000,1300,,\ns.txt,text/plain,4000,1500,,POST\nc.js,text/javascript,20000,50000,,\n"
    );
    let only = format!("run.architectures={architecture}");
    let rest = ["link.down.rate=10 Mbit/s", "link.up.rate=1 Mbit/s", "run.runs=1"];
    let assignments: Vec<String> = [&table, &only].into_iter().cloned().chain(rest.map(String::from)).collect();
    open("demo", &assignments).expect("the assignments are right")
}

fn simulated(architecture: Architecture, method: &str) -> f64 {
    let simulation = simulate(&scenario(architecture, method, 1000), 1);
    assert!(simulation.gaps.is_empty(), "{architecture}: {:?}", simulation.gaps);
    simulation.rows[0].page_load_s
}

const ALL: [Architecture; 8] = [
    Architecture::Direct,
    Architecture::Split,
    Architecture::Multiplexed,
    Architecture::Rwbp,
    Architecture::PrefetchConventional,
    Architecture::Prefetch2013,
    Architecture::Tunnel,
    Architecture::Accelerated,
];

#[test]
fn what_is_posted_crosses_the_way_up_through_any_boxes() {
    for architecture in ALL {
        let scenario = scenario(architecture, "GET", 300_000);
        let prediction = farhop_model::predict(&scenario);
        let own = prediction.rows.iter().find(|row| row.method == "farhop");
        let predicted = own.unwrap_or_else(|| panic!("{architecture}: {:?}", prediction.gaps)).page_load_s;
        let limit = farhop_model::limit(&scenario).as_secs_f64();
        let simulated = loads::beside(predicted, &scenario);
        // 300 kB at 1 Mbit/s, and there and back.
        let fastest = simulate(&scenario, 1).rows[0].page_load_min_s;
        assert!(limit > 2.9 && fastest > limit, "{architecture}: {fastest} s, limit {limit} s");
        let off = simulated / predicted - 1.0;
        assert!(off.abs() < 0.015, "{architecture}: {simulated} s simulated, {predicted} s predicted");
    }
}

#[test]
fn the_answer_to_what_was_posted_is_not_read() {
    let [read, passed] = ["GET", "POST"].map(|method| simulated(Architecture::Accelerated, method));
    assert!(read < passed - 0.05, "{read} s where the document is read, {passed} s where it is not");
    let tunnel = simulated(Architecture::Tunnel, "POST");
    assert!((passed / tunnel - 1.0).abs() < 0.02, "{passed} s, {tunnel} s through the tunnel alone");
}

/// A program that wakes opens further connections, then writes what it asks over the one that is up: their handshakes are ahead of it.
#[test]
fn posting_over_several_connections_takes_as_long_as_predicted() {
    let lines: String =
        (1..13).map(|number| format!("i{number}.png,image/png,1000,{},12898\n", 200 + 50 * number)).collect();
    let table = format!(
        "page.table=name,type,bytes,offset_of_reference_in_html,request_bytes\nindex.html,text/html,1000,0,12898\n{lines}"
    );
    // A proxy at the gateway has the client's own connections in front of it.
    let rates = ["4 Mbit/s", "800 kbit/s"];
    let all =
        [(Architecture::Direct, "linux"), (Architecture::Direct, "rfc"), (Architecture::PrefetchConventional, "rfc")];
    for ((architecture, profile), rate) in all.into_iter().flat_map(|one| rates.map(|rate| (one, rate))) {
        let pairs = [("down.rate", rate), ("up.rate", rate), ("down.delay", "72 ms"), ("up.delay", "72 ms")];
        let link = pairs.map(|(key, value)| format!("link.{key}={value}"));
        let only = format!("run.architectures={architecture}");
        let profile = format!("tcp.profile={profile}");
        let rest = [&only, &profile, "prefetch.at=gateway", "http.connections=6", "link.up.queue=unlimited"];
        let assignments = link.into_iter().chain(rest.map(String::from)).chain([table.clone()]).collect::<Vec<_>>();
        let scenario = open("demo", &assignments).expect("the assignments are right");
        let prediction = farhop_model::predict(&scenario);
        let predicted = prediction.rows.iter().find(|row| row.method == "farhop").expect("it is predicted").page_load_s;
        let simulated = loads::beside(predicted, &scenario);
        let off = simulated / predicted - 1.0;
        assert!(
            off.abs() < 1e-3,
            "{architecture}, {profile}, {rate}: {simulated} s simulated, {predicted} s predicted"
        );
    }
}
