//! The model's expectation under loss against the mean of many simulated loads, case by case.
//!
//! `cargo run --release -p farhop-sim --example expected_losses [LOADS]`. Files and pages over several links, TCPs and kinds of loss;
//! each line gives the model's mean, the simulator's with its standard error, and their difference.

use farhop_model::recursion::{Losses, Parameters, Recursion, Workload};
use farhop_results::Architecture;
use farhop_scenario::{ChannelConfig, DirectionConfig, LossModel, Scenario, open};
use farhop_sim::simulate;
use farhop_units::Bytes;

fn main() {
    let loads = std::env::args().nth(1).map_or(Ok(200), |text| text.parse::<u32>());
    let Ok(loads) = loads else {
        report("usage: expected_losses [LOADS]");
        std::process::exit(2);
    };
    let cases = cases();
    let mut errors: Vec<(String, f64, f64)> = cases.iter().map(|case| compare(case, loads)).collect();
    for group in ["file", "page", ""] {
        let mut of_group: Vec<f64> =
            errors.iter().filter(|(name, ..)| name.starts_with(group)).map(|(_, error, _)| error.abs()).collect();
        of_group.sort_by(f64::total_cmp);
        let name = if group.is_empty() { "all" } else { group };
        let (median, most) = (of_group[of_group.len() / 2], of_group[of_group.len() - 1]);
        report(&format!(
            "{name}: {} cases, median {:.1} %, most {:.1} %",
            of_group.len(),
            median * 100.0,
            most * 100.0
        ));
    }
    errors.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    for (name, error, noise) in errors.iter().take(12) {
        report(&format!("worst: {:+6.1} % (noise {:.1} %)  {name}", error * 100.0, noise * 100.0));
    }
}

/// Names and assignments.
fn cases() -> Vec<(String, Vec<String>)> {
    let mut cases = Vec::new();
    for profile in ["linux", "rfc"] {
        for congestion in ["newreno", "cubic"] {
            for loss in [
                "0.01 %",
                "0.1 %",
                "0.5 %",
                "1 %",
                "2 %",
                "5 %",
                "gilbert-elliott enter=0.2% leave=30%",
                "gilbert-elliott enter=1% leave=50%",
            ] {
                for size in ["20 kB", "200 kB", "2 MB", "10 MB"] {
                    let page = ["page.objects=1".to_owned(), format!("page.size={size}")];
                    cases.push(case(&format!("file {size}"), profile, congestion, loss, &page));
                }
                cases.push(case("page demo", profile, congestion, loss, &[]));
                let small = ["page.objects=12", "page.size=15 kB", "http.connections=2"].map(str::to_owned);
                cases.push(case("page of 12", profile, congestion, loss, &small));
                let slow = ["link.down.rate=2 Mbit/s", "link.down.delay=50ms", "link.up.delay=50ms"].map(str::to_owned);
                cases.push(case("page demo slow", profile, congestion, loss, &slow));
            }
        }
    }
    cases
}

fn case(name: &str, profile: &str, congestion: &str, loss: &str, more: &[String]) -> (String, Vec<String>) {
    let mut assignments = vec![
        format!("tcp.profile={profile}"),
        format!("tcp.congestion={congestion}"),
        format!("link.down.loss={loss}"),
        "link.down.queue=unlimited".to_owned(),
        "run.architectures=direct".to_owned(),
    ];
    assignments.extend_from_slice(more);
    (format!("{name}, {profile}, {congestion}, {loss}"), assignments)
}

/// Relative error, and the relative standard error of the simulated mean.
fn compare((name, assignments): &(String, Vec<String>), loads: u32) -> (String, f64, f64) {
    let runs = format!("run.runs={loads}");
    let assignments: Vec<String> = assignments.iter().cloned().chain([runs]).collect();
    let scenario = open("demo", &assignments).expect("a shipped scenario and right assignments");
    let times: Vec<f64> = simulate(&scenario, 1).loads.iter().map(|load| load.page_load_s).collect();
    let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
    let mean = times.iter().sum::<f64>() / count;
    let deviation = (times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / count).sqrt();
    let noise = deviation / count.sqrt() / mean;
    let model = expected(&scenario);
    let error = model / mean - 1.0;
    report(&format!("{:+6.1} %  model {model:8.3}  sim {mean:8.3} ± {:.1} %  {name}", error * 100.0, noise * 100.0));
    (name.clone(), error, noise)
}

fn expected(scenario: &Scenario) -> f64 {
    let of = |way: fn(&ChannelConfig) -> &DirectionConfig| -> [LossModel; 3] {
        [&scenario.wan, &scenario.link, &scenario.lan].map(|channel| way(channel).loss)
    };
    let losses = Losses::of(of(|channel| &channel.down), of(|channel| &channel.up), Bytes::new(1500));
    let (parameters, workload) = (Parameters::of(scenario), Workload::of(&scenario.page).expect("a page"));
    assert!(scenario.run.architectures == [Architecture::Direct]);
    let load = Recursion::new().load_with_losses(&parameters, &workload, &losses).expect("a load");
    load.last_byte.as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "an example reports to people")]
fn report(line: &str) {
    println!("{line}");
}
