//! farhop's own model ([`crate::recursion`]) as a row of a prediction.

use crate::expressible::why_not_recursive;
use crate::recursion::{PageLoad, ProxySettings, Recursion, RoundTrips, Workload};
use farhop_results::Architecture;
use farhop_scenario::{HttpVersion, Scenario, Tls};
use std::time::Duration;

/// The method's name in results.
pub(crate) const METHOD: &str = "farhop";

/// What the model says of one architecture.
pub(crate) struct OwnAnswer {
    pub(crate) time: Duration,
    pub(crate) first_byte: Duration,
    /// Why it takes so long, and what was assumed.
    pub(crate) note: String,
}

/// The scenario's page through `architecture`.
///
/// # Errors
/// What the model does not know of the scenario, or the parameter that cannot be.
pub(crate) fn answer(scenario: &Scenario, architecture: Architecture) -> Result<OwnAnswer, String> {
    if let Some(reason) = why_not_recursive(scenario).or_else(|| why_not_through(scenario, architecture)) {
        return Err(reason);
    }
    let workload = Workload::of(&scenario.page).map_err(|error| error.to_string())?;
    let settings = ProxySettings::default();
    let load = Recursion::new().load_through(scenario, &workload, architecture, &settings);
    let load = load.map_err(|error| error.to_string())?;
    Ok(OwnAnswer { time: load.last_byte, first_byte: load.first_byte, note: note(&load) })
}

/// Why the model does not describe `architecture` for this use of HTTP.
fn why_not_through(scenario: &Scenario, architecture: Architecture) -> Option<String> {
    use Architecture::{Multiplexed, Rwbp, Split, Tunnel};
    let http = &scenario.http;
    let splits = matches!(architecture, Split | Rwbp | Multiplexed | Tunnel);
    let is_up = matches!(architecture, Rwbp | Multiplexed | Tunnel);
    let unknowns = [
        (splits && http.version == HttpVersion::Http3, "QUIC through two proxies"),
        (is_up && http.tls != Tls::None, "TLS from end to end over connections that are up"),
    ];
    let what = unknowns.into_iter().find_map(|(given, what)| given.then_some(what))?;
    Some(format!("farhop's model does not know {what}"))
}

/// What the last byte waited for.
fn note(load: &PageLoad) -> String {
    let waited = round_trips(&load.round_trips);
    let late = match load.late_acks {
        0 => String::new(),
        count => format!("; takes longer than said: {count} timers run out though nothing is lost, which is left out"),
    };
    format!("queues that never drop; {waited}{late}")
}

/// Round trips by kind, those that there are.
fn round_trips(trips: &RoundTrips) -> String {
    let RoundTrips { lookup, handshake, tls, request, discovery, slow_start, receive_window } = *trips;
    let kinds = [
        ("lookup", u64::from(lookup)),
        ("handshake", u64::from(handshake)),
        ("TLS", u64::from(tls)),
        ("request", u64::from(request)),
        ("discovery", u64::from(discovery)),
        ("slow start", slow_start),
        ("receive window", receive_window),
    ];
    let told: Vec<String> =
        kinds.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {kind}")).collect();
    match kinds.iter().map(|(_, count)| count).sum::<u64>() {
        0 => "no round trip".to_owned(),
        1 => format!("1 round trip ({})", told.join(", ")),
        count => format!("{count} round trips ({})", told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_scenario::open;

    fn note_of(name: &str, architecture: Architecture) -> Result<String, String> {
        answer(&open(name, &[]).unwrap(), architecture).map(|answer| answer.note)
    }

    #[test]
    fn the_note_says_what_the_page_waits_for() {
        let direct = note_of("demo", Architecture::Direct).unwrap();
        assert!(direct.contains("12 round trips (2 handshake, 5 request, 1 discovery, 4 slow start)"), "{direct}");
        let accelerated = note_of("demo", Architecture::Accelerated).unwrap();
        assert!(accelerated.contains("1 round trip (1 request)"), "{accelerated}");
        let lunar = note_of("lunar", Architecture::Direct).unwrap();
        assert!(lunar.contains("timers run out"), "{lunar}");
    }

    #[test]
    fn names_keys_and_versions_have_answers_where_their_cost_is_known() {
        let answer = |assignments: &[&str], architecture| {
            let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
            answer(&open("demo", &assignments).unwrap(), architecture).map(|answer| answer.note)
        };
        let direct = answer(&["http.version=2", "http.dns=far"], Architecture::Direct).unwrap();
        assert!(direct.contains("1 lookup, 1 handshake, 1 TLS, 1 request, 1 discovery"), "{direct}");
        let accelerated = answer(&["http.version=2", "http.dns=far"], Architecture::Accelerated).unwrap();
        assert!(accelerated.contains("1 round trip (1 request)"), "{accelerated}");
        let reason = |assignment: &str, architecture| answer(&[assignment], architecture).unwrap_err();
        for architecture in [Architecture::Tunnel, Architecture::Rwbp, Architecture::Multiplexed] {
            let reason = reason("http.tls=1.3", architecture);
            assert_eq!(reason, "farhop's model does not know TLS from end to end over connections that are up");
        }
        assert!(answer(&["http.tls=1.3"], Architecture::Split).is_ok());
        assert!(reason("http.version=3", Architecture::Split).contains("QUIC through two proxies"));
    }

    #[test]
    fn what_the_recursion_does_not_know_is_a_reason() {
        let reason = note_of("inflight-geo", Architecture::Direct).unwrap_err();
        assert_eq!(reason, "farhop's model does not know losses (link.down)");
        assert!(note_of("rwbp-128", Architecture::Tunnel).unwrap_err().contains("medium access on a shared channel"));
    }
}
