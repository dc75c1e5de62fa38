//! farhop's own model ([`crate::recursion`]) as a row of a prediction.

use crate::expressible::why_not_recursive;
use crate::recursion::{
    Breakdown, Losses, PageLoad, Parameters, ProxySettings, Recursion, RoundTrips, Workload, carried_as,
};
use farhop_results::{Architecture, Wait, Waiting};
use farhop_scenario::{ChannelConfig, HEADER_BYTES, HttpVersion, PrefetchSide, Scenario};
use farhop_units::{Bytes, counted};
use std::time::Duration;

/// The method's name in results.
pub const METHOD: &str = "farhop";

/// What the model says of one architecture.
pub(crate) struct OwnAnswer {
    pub(crate) time: Duration,
    pub(crate) first_byte: Duration,
    /// What the last byte waited for; the times add up to `time`.
    pub(crate) waits: Vec<Wait>,
    /// Why it takes so long, and what was assumed.
    pub(crate) note: String,
}

/// The scenario's page through `architecture`.
///
/// # Errors
/// What the model does not know of the scenario, or the parameter that cannot be.
pub(crate) fn answer(scenario: &Scenario, architecture: Architecture) -> Result<OwnAnswer, String> {
    let workload = Workload::of(&scenario.page).map_err(|error| error.to_string())?;
    let question = Question::of(scenario, architecture)?;
    let load = question.load(&mut Recursion::new(), &workload)?;
    let note = format!("nothing but {} on the link; {}", loaded(scenario), note(&load, question.losses.are_none()));
    Ok(OwnAnswer { time: load.last_byte, first_byte: load.first_byte, waits: waits(&load), note })
}

/// What the model is asked: scenarios and architectures with the same question have the same answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    parameters: Parameters,
    losses: Losses,
}

impl Question {
    /// # Errors
    /// What the model does not know of the scenario.
    pub(crate) fn of(scenario: &Scenario, architecture: Architecture) -> Result<Self, String> {
        match why_not_recursive(scenario).or_else(|| why_not_through(scenario, architecture)) {
            Some(reason) => Err(reason),
            None => {
                let parameters = Parameters::of_architecture(scenario, architecture, &ProxySettings::of(scenario));
                Ok(Self { parameters, losses: losses(scenario, architecture) })
            }
        }
    }

    /// When the last byte arrives.
    ///
    /// # Errors
    /// The parameter that cannot be.
    pub(crate) fn time(&self, recursion: &mut Recursion, workload: &Workload) -> Result<Duration, String> {
        recursion.time_with_losses(&self.parameters, workload, &self.losses).map_err(|error| error.to_string())
    }

    /// # Errors
    /// The parameter that cannot be.
    pub(crate) fn load(&self, recursion: &mut Recursion, workload: &Workload) -> Result<PageLoad, String> {
        recursion.load_with_losses(&self.parameters, workload, &self.losses).map_err(|error| error.to_string())
    }
}

/// Losses on the way of the connections that [`Parameters::of_architecture`] describes: behind a gateway or before a terminal they are
/// repaired there, which is not counted.
fn losses(scenario: &Scenario, architecture: Architecture) -> Losses {
    let channels = match carried_as(scenario, architecture, scenario.prefetch_at) {
        Architecture::Direct => [Some(&scenario.wan), Some(&scenario.link), Some(&scenario.lan)],
        Architecture::PrefetchConventional if scenario.prefetch_at == PrefetchSide::Near => {
            [Some(&scenario.wan), Some(&scenario.link), None]
        }
        _ => [None, Some(&scenario.link), Some(&scenario.lan)],
    };
    let segment = Bytes::new(scenario.tcp.mss.get().saturating_add(HEADER_BYTES.get()));
    let (down, up) = (|channel: &ChannelConfig| channel.down.loss, |channel: &ChannelConfig| channel.up.loss);
    let channels = || channels.into_iter().flatten();
    Losses::of(channels().map(down), channels().map(up), segment)
}

/// The breakdown of a load in the words of results; what it did not wait for is left out.
fn waits(load: &PageLoad) -> Vec<Wait> {
    let Breakdown {
        lookup,
        handshake,
        tls,
        request,
        discovery,
        slow_start,
        receive_window,
        delayed_ack,
        queueing,
        transmission,
        server,
        loss,
    } = load.breakdown;
    let trips = &load.round_trips;
    let kinds = [
        (Waiting::Dns, u64::from(trips.lookup), lookup),
        (Waiting::Handshake, u64::from(trips.handshake), handshake),
        (Waiting::Tls, u64::from(trips.tls), tls),
        (Waiting::Request, u64::from(trips.request), request),
        (Waiting::Discovery, u64::from(trips.discovery), discovery),
        (Waiting::SlowStart, trips.slow_start, slow_start),
        (Waiting::ReceiveWindow, trips.receive_window, receive_window),
        (Waiting::Transmission, 0, transmission),
        (Waiting::Queueing, 0, queueing),
        (Waiting::Recovery, 0, loss),
        (Waiting::DelayedAck, 0, delayed_ack),
        (Waiting::Thinking, 0, server),
    ];
    let wait =
        |(waiting, round_trips, time): (_, _, Duration)| Wait { waiting, round_trips, time_s: time.as_secs_f64() };
    kinds.into_iter().filter(|(_, trips, time)| *trips > 0 || !time.is_zero()).map(wait).collect()
}

/// Why the model does not describe `architecture` for this use of HTTP.
fn why_not_through(scenario: &Scenario, architecture: Architecture) -> Option<String> {
    let has_farhops_boxes = matches!(architecture, Architecture::Tunnel | Architecture::Accelerated);
    (has_farhops_boxes && scenario.http.version == HttpVersion::Http3)
        .then(|| "farhop's terminal is a proxy for TCP connections and carries no UDP".to_owned())
}

/// What the time is of.
fn loaded(scenario: &Scenario) -> String {
    match (&scenario.page.objects[..], &scenario.log) {
        _ if !scenario.has_typical_page() => "this page".to_owned(),
        ([mean, ..], Some(_)) => format!(
            "the log's mean request ({} in {:.2} s of its server; simulated is the median of all)",
            mean.size,
            mean.think.as_secs_f64()
        ),
        _ => "a typical page of the users".to_owned(),
    }
}

/// What the last byte waited for; `loses_nothing` but what finds a queue full.
fn note(load: &PageLoad, loses_nothing: bool) -> String {
    let waited = round_trips(&load.round_trips);
    let late = match load.late_acks {
        0 => String::new(),
        1 => "; 1 timer runs out though nothing is lost".to_owned(),
        count => format!("; {count} timers run out though nothing is lost"),
    };
    let lost = match load.breakdown.loss {
        Duration::ZERO => String::new(),
        loss => {
            let (mean, most) = (loss.as_secs_f64(), load.last_byte.as_secs_f64());
            let why = if loses_nothing { "what full queues drop" } else { "losses, the mean of what can happen" };
            format!("; {mean:.2} s of the {most:.2} s are for {why}")
        }
    };
    format!("{waited}{lost}{late}")
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
        count => format!("{} ({})", counted(count, "round trip"), told.join(", ")),
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
        assert!(direct.contains("12 round trips (1 handshake, 7 request, 2 slow start, 2 receive window)"), "{direct}");
        let accelerated = note_of("demo", Architecture::Accelerated).unwrap();
        assert!(accelerated.contains("1 round trip (1 request)"), "{accelerated}");
        for note in [&direct, &accelerated] {
            assert!(note.starts_with("nothing but this page on the link; "), "{note}");
        }
        let log = note_of("nz-us-log", Architecture::Direct).unwrap();
        assert!(log.starts_with("nothing but the log's mean request ("), "{log}");
        let lunar = note_of("lunar", Architecture::Direct).unwrap();
        assert!(lunar.contains("timers run out"), "{lunar}");
    }

    #[test]
    fn losses_are_an_expectation_and_a_part_of_the_breakdown() {
        for (name, architecture) in
            [("inflight-geo", Architecture::Direct), ("quic4sat-50-10-lossy", Architecture::Tunnel)]
        {
            let answer = answer(&open(name, &[]).unwrap(), architecture).unwrap();
            assert!(answer.note.contains("for losses, the mean of what can happen"), "{}", answer.note);
            let recovery = answer.waits.iter().find(|wait| wait.waiting == Waiting::Recovery).unwrap();
            assert!(recovery.time_s > 0.0 && recovery.time_s < answer.time.as_secs_f64());
        }
    }

    #[test]
    fn the_breakdown_adds_up_to_the_time() {
        for name in ["demo", "office", "obata-2002", "inflight-geo", "lunar", "demo-http10"] {
            for architecture in Architecture::ALL {
                let answer = answer(&open(name, &[]).unwrap(), *architecture).unwrap();
                let sum: f64 = answer.waits.iter().map(|wait| wait.time_s).sum();
                assert!((sum - answer.time.as_secs_f64()).abs() < 1e-6, "{name} {architecture}: {:?}", answer.waits);
                assert!(answer.waits.iter().all(|wait| wait.time_s >= 0.0));
            }
        }
    }

    #[test]
    fn names_keys_and_versions_have_answers_where_their_cost_is_known() {
        let answer = |assignments: &[&str], architecture| {
            let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
            answer(&open("demo", &assignments).unwrap(), architecture).map(|answer| answer.note)
        };
        let direct = answer(&["http.version=2", "http.dns=far"], Architecture::Direct).unwrap();
        assert!(direct.contains("1 lookup, 1 handshake, 1 TLS, 1 request, 1 discovery"), "{direct}");
        let accelerated = answer(&["http.dns=far"], Architecture::Accelerated).unwrap();
        assert!(accelerated.contains("1 round trip (1 request)"), "{accelerated}");
        let reason = |assignment: &str, architecture| answer(&[assignment], architecture).unwrap_err();
        let keys = answer(&["http.tls=1.2", "http.connections=1"], Architecture::Tunnel).unwrap();
        assert!(keys.contains("30 round trips (2 TLS, 27 request, 1 discovery)"), "{keys}");
        assert!(reason("http.version=3", Architecture::Accelerated).contains("carries no UDP"));
    }

    #[test]
    fn boxes_pass_on_what_they_cannot_read() {
        let time = |assignments: &[&str], architecture| {
            // How long Linux's hosts take is known without boxes alone.
            let assignments = assignments.iter().chain(&["tcp.profile=rfc"]).map(ToString::to_string);
            answer(&open("demo", &assignments.collect::<Vec<_>>()).unwrap(), architecture).map(|answer| answer.time)
        };
        let plain_http2 = ["http.version=2", "http.tls=none"];
        for (http, reader, like) in [
            (&plain_http2[..], Architecture::Accelerated, Architecture::Tunnel),
            (&["http.tls=1.3"], Architecture::Accelerated, Architecture::Tunnel),
            (&["http.tls=1.3"], Architecture::Prefetch2013, Architecture::Split),
            (&["http.tls=1.3"], Architecture::PrefetchConventional, Architecture::Direct),
            (&["http.version=3"], Architecture::Prefetch2013, Architecture::Direct),
            (&["http.version=3"], Architecture::Rwbp, Architecture::Direct),
        ] {
            let [passed_on, carried] = [reader, like].map(|architecture| time(http, architecture).unwrap());
            assert_eq!(passed_on, carried, "{http:?} {reader}");
        }
    }

    #[test]
    fn what_the_recursion_does_not_know_is_a_reason() {
        let assignments = ["link.down.corruption=1%".to_owned()];
        let reason = answer(&open("demo", &assignments).unwrap(), Architecture::Direct).err().unwrap();
        assert_eq!(reason, "farhop's model does not know corruption (link.down)");
        assert!(note_of("rwbp-128", Architecture::Tunnel).unwrap_err().contains("medium access on a shared channel"));
    }
}
