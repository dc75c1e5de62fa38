//! Predictions of the formulas that are not for `direct` alone, or not Obata's: prefetch-2013, Cardwell 2000, Lantern.
//!
//! A formula that has no value for a scenario (no loss for Cardwell, a pipeline for Lantern) gives no row.

use crate::cardwell_2000::{self, DELAYED_ACK, SYN_TIMEOUT};
use crate::padhye_1998::{Flow, any_lost};
use crate::path::{directions, slowest_rate};
use crate::predict::no_loss;
use crate::prefetch_2013::{self, Access, Paced, Proposed, Rounds, Stages, Window};
use crate::{ModelError, Path, Segments, lantern, obata_2001};
use core::num::NonZeroU32;
use farhop_results::Architecture;
use farhop_scenario::{
    ChannelConfig, Congestion, DirectionConfig, FirstAck, HEADER_BYTES, HttpVersion, LossModel, Scenario,
};
use farhop_units::{Bytes, Probability};
use std::time::Duration;

/// A formula's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) method: &'static str,
    pub(crate) time: Duration,
    /// What it assumes, beside what the scenario says.
    pub(crate) assumed: Vec<String>,
    /// Whether wan, link and lan are one link to it.
    pub(crate) joins_links: bool,
}

/// Whether any formula here is for `architecture` and this use of HTTP.
pub(crate) fn has_formula(scenario: &Scenario, architecture: Architecture) -> bool {
    match architecture {
        Architecture::Direct => !scenario.http.version.shares_connection(),
        _ => matches!(architecture, Architecture::PrefetchConventional | Architecture::Prefetch2013),
    }
}

/// Every answer there is for `architecture`.
///
/// # Errors
/// Why the first of its formulas has none, if none has.
pub(crate) fn answers(scenario: &Scenario, path: &Path, architecture: Architecture) -> Result<Vec<Answer>, ModelError> {
    let candidates = match architecture {
        Architecture::Direct => vec![cardwell(scenario, path), normal_access(scenario), page_graph(scenario)],
        Architecture::PrefetchConventional => vec![Some(conventional_prefetching(scenario))],
        Architecture::Prefetch2013 => vec![Some(proposed_prefetching(scenario))],
        _ => Vec::new(),
    };
    let results: Vec<_> = candidates.into_iter().flatten().collect();
    let first_error = results.iter().find_map(|result| result.as_ref().err().copied());
    let answers: Vec<_> = results.into_iter().flatten().collect();
    match first_error {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}

/// Body and response header of each object.
pub(crate) fn data_sets(scenario: &Scenario) -> impl Iterator<Item = Bytes> + Clone + '_ {
    let header = |object| scenario.http.header_size(object).get();
    scenario.page.objects.iter().map(move |object| Bytes::new(object.size.get().saturating_add(header(object))))
}

fn rtt(channels: &[&ChannelConfig]) -> Duration {
    let ways = channels.iter().flat_map(|channel| [&channel.down, &channel.up]);
    ways.map(DirectionConfig::least_delay).fold(Duration::ZERO, Duration::saturating_add)
}

/// Whole-path round trip of propagation.
fn whole_rtt(scenario: &Scenario) -> Duration {
    rtt(&[&scenario.wan, &scenario.link, &scenario.lan])
}

/// Round trips by Eq 1 and 2 of prefetch-2013 with the scenario's segments and window.
fn rounds(scenario: &Scenario) -> Result<Rounds, ModelError> {
    Window::new(scenario.tcp.mss, None, scenario.tcp.max_window).map(Rounds::Counted)
}

/// What every equation of prefetch-2013 assumes.
fn prefetch_assumptions(scenario: &Scenario) -> Vec<String> {
    let mut assumed = vec!["no handshake".to_owned(), initial_window(1, scenario.tcp.initial_window)];
    assumed.push("an ACK for every segment".to_owned());
    assumed.push("slow start again for every object".to_owned());
    assumed.extend(no_loss(scenario));
    assumed
}

pub(crate) fn initial_window(assumed: u32, here: u32) -> String {
    let segments = if assumed == 1 { "segment" } else { "segments" };
    let differs = if here == assumed { String::new() } else { format!(" (here {here})") };
    format!("an initial window of {assumed} {segments}{differs}")
}

/// prefetch-2013 Eq 5: normal access over m connections. Not for a pipeline, whose requests do not wait for each other.
fn normal_access(scenario: &Scenario) -> Option<Result<Answer, ModelError>> {
    let objects = scenario.page.objects.len();
    let connections = u32::try_from(scenario.http.connections.min(objects)).unwrap_or(u32::MAX);
    let connections = NonZeroU32::new(connections)?;
    if scenario.http.version.shares_connection() {
        return None;
    }
    let time = rounds(scenario).and_then(|rounds| {
        let rate = slowest_rate(directions(scenario, |channel| &channel.down));
        let access = Access { rtt: whole_rtt(scenario), rate, rounds };
        prefetch_2013::eq5_load_time(&access, data_sets(scenario), connections)
    });
    let mut assumed = prefetch_assumptions(scenario);
    if connections.get() > 1 {
        assumed.push(format!("objects spread evenly over {connections} connections, all of them known at once"));
    }
    Some(time.map(|time| Answer { method: "prefetch-2013 Eq 5", time, assumed, joins_links: true }))
}

/// prefetch-2013 Eq 8, the prefetching server beside the gateway.
fn conventional_prefetching(scenario: &Scenario) -> Result<Answer, ModelError> {
    let (server, client) = (rtt(&[&scenario.wan]), rtt(&[&scenario.link, &scenario.lan]));
    let time = prefetch_2013::eq8_conventional(server, client, data_sets(scenario), &rounds(scenario)?)?;
    let mut assumed = prefetch_assumptions(scenario);
    assumed.push("a prefetching server at the gateway".to_owned());
    assumed.push("one object at a time".to_owned());
    assumed.push("no limit by the link's rate".to_owned());
    Ok(Answer { method: "prefetch-2013 Eq 8", time, assumed, joins_links: false })
}

/// prefetch-2013 Eq 9: prefetching server at the gateway, information storage server at the terminal. UDP is paced as in the paper,
/// or by the link if that is slower.
fn proposed_prefetching(scenario: &Scenario) -> Result<Answer, ModelError> {
    let udp = paced(scenario);
    let proposed = Proposed {
        server_rtt: rtt(&[&scenario.wan]),
        wan_delay: scenario.link.down.least_delay(),
        client_rtt: rtt(&[&scenario.lan]),
        rtt: whole_rtt(scenario),
        udp,
        rounds: rounds(scenario)?,
        stages: Stages::default(),
    };
    let time = prefetch_2013::eq9_proposed(&proposed, data_sets(scenario))?;
    let mut assumed = prefetch_assumptions(scenario);
    let interval = farhop_units::duration::format(udp.interval);
    assumed.push(format!("UDP of {} every {interval}", udp.packet));
    assumed.push("the HTML by TCP".to_owned());
    Ok(Answer { method: "prefetch-2013 Eq 9", time, assumed, joins_links: false })
}

fn paced(scenario: &Scenario) -> Paced {
    /// IPv4 and UDP.
    const UDP_HEADERS: Bytes = Bytes::new(28);
    let on_the_wire = Paced::PAPER.packet + UDP_HEADERS;
    let fastest = scenario.link.down.peak_rate().map_or(Duration::ZERO, |rate| rate.transmission_time(on_the_wire));
    Paced { interval: Paced::PAPER.interval.max(fastest), ..Paced::PAPER }
}

/// Cardwell 2000 Eq 4 and 25 where packets are lost and one connection at a time carries the page.
fn cardwell(scenario: &Scenario, path: &Path) -> Option<Result<Answer, ModelError>> {
    let http = &scenario.http;
    let one_at_a_time = http.connections.min(scenario.page.objects.len()) == 1;
    let [down, up] = [loss(scenario, |channel| &channel.down), loss(scenario, |channel| &channel.up)];
    if !one_at_a_time || http.version.shares_connection() || (down.is_zero() && up.is_zero()) {
        return None;
    }
    Some(cardwell_page(scenario, path, down, up).map(|time| Answer {
        method: "cardwell-2000 Eq 25",
        time,
        assumed: cardwell_assumptions(scenario),
        joins_links: true,
    }))
}

fn cardwell_page(scenario: &Scenario, path: &Path, down: Probability, up: Probability) -> Result<Duration, ModelError> {
    let rtt = obata_2001::eq3_rtt(path);
    let flow = Flow {
        rtt,
        timeout: retransmission_timeout(rtt),
        loss: down,
        per_ack: NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN),
        max_window: path.full_window(),
        mss: scenario.tcp.mss,
    };
    let initial = Segments::new(f64::from(scenario.tcp.initial_window));
    let delayed_ack = if scenario.tcp.first_ack == FirstAck::Delayed { DELAYED_ACK } else { Duration::ZERO };
    let handshake = cardwell_2000::eq4_handshake_time(rtt, SYN_TIMEOUT, down, up)?;
    let mut time = Duration::ZERO;
    for (k, size) in data_sets(scenario).enumerate() {
        if k == 0 || scenario.http.version == HttpVersion::Http10 {
            time = time.saturating_add(handshake);
        }
        time = time.saturating_add(cardwell_2000::eq25_transfer_time(&flow, size, initial, delayed_ack)?);
    }
    Ok(time)
}

/// RFC 6298 §2 for a steady round trip: its time, at least 1 s.
fn retransmission_timeout(rtt: Duration) -> Duration {
    rtt.max(Duration::from_secs(1))
}

fn cardwell_assumptions(scenario: &Scenario) -> Vec<String> {
    let mut assumed = vec!["an ACK for every second segment".to_owned()];
    if !matches!(scenario.tcp.congestion, Congestion::Reno | Congestion::NewReno) {
        assumed.push("Reno".to_owned());
    }
    if scenario.page.objects.len() > 1 {
        assumed.push("slow start again for every object".to_owned());
    }
    assumed.push("no loss of ACKs and requests".to_owned());
    assumed.push("no limit by the link's rate".to_owned());
    assumed
}

/// Loss of a full packet over all parts of the way.
fn loss(scenario: &Scenario, direction: impl Fn(&ChannelConfig) -> &DirectionConfig) -> Probability {
    let packet = scenario.tcp.mss.bits_f64() + HEADER_BYTES.bits_f64();
    let arrives: f64 =
        directions(scenario, direction).into_iter().map(|part| 1.0 - mean_loss(&part.loss, packet)).product();
    Probability::new(1.0 - arrives).unwrap_or(Probability::ONE)
}

/// The share of packets of `bits` that a model loses in the long run.
fn mean_loss(model: &LossModel, bits: f64) -> f64 {
    match model {
        LossModel::None => 0.0,
        LossModel::Bernoulli(probability) => probability.get(),
        LossModel::BitErrors(rate) => any_lost(rate.get(), bits),
        LossModel::GilbertElliott(chain) => {
            let (enter, leave) = (chain.enter.get(), chain.leave.get());
            // A chain that does not move stays where it begins, in the good state.
            let bad = if enter + leave > 0.0 { enter / (enter + leave) } else { 0.0 };
            (1.0 - bad) * chain.good.get() + bad * chain.bad.get()
        }
    }
}

/// Lantern's estimate from the page graph. Not for a pipeline, of which it knows nothing.
fn page_graph(scenario: &Scenario) -> Option<Result<Answer, ModelError>> {
    if scenario.http.version.shares_connection() {
        return None;
    }
    let network = lantern::Network {
        rtt: whole_rtt(scenario),
        rate: slowest_rate(directions(scenario, |channel| &channel.down)),
        connections: scenario.http.connections,
        tls_round_trips: 0,
        persistent: scenario.http.version != HttpVersion::Http10,
    };
    let needs = scenario.page.objects.iter().map(|object| object.reference.map(|reference| reference.object));
    let nodes: Vec<_> = data_sets(scenario).zip(needs).map(|(size, needs)| lantern::Node { size, needs }).collect();
    let mut assumed = vec![
        initial_window(lantern::INITIAL_WINDOW, scenario.tcp.initial_window),
        format!("segments of {}", lantern::SEGMENT),
        "an ACK for every segment".to_owned(),
    ];
    if nodes.len() > 1 {
        assumed.push("objects asked for when the HTML is complete".to_owned());
    }
    assumed.push("no headers on the wire".to_owned());
    assumed.extend(no_loss(scenario));
    Some(lantern::load_time(&network, &nodes).map(|time| Answer {
        method: "lantern",
        time,
        assumed,
        joins_links: true,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::{predict, scenario};
    use farhop_results::Row;
    use proptest::prelude::*;

    fn rows(scenario: &Scenario) -> Vec<Row> {
        predict(scenario).rows
    }

    fn methods(scenario: &Scenario) -> Vec<String> {
        rows(scenario).into_iter().map(|row| row.method).collect()
    }

    fn time_of(scenario: &Scenario, method: &str) -> f64 {
        rows(scenario).iter().find(|row| row.method == method).expect("a row").page_load_s
    }

    /// The test of prefetch-2013 §4: 28 objects, 1,849,285 B, one connection of HTTP/1.0, without headers.
    fn prefetch_page() -> Scenario {
        let mut scenario = scenario(&[28_000]);
        let mut image = scenario.page.objects[0].clone();
        image.size = Bytes::new(67_455);
        scenario.page.objects.extend(std::iter::repeat_n(image, 27));
        scenario.http.version = HttpVersion::Http10;
        scenario.http.connections = 1;
        scenario.http.response_header_bytes = Bytes::ZERO;
        scenario.tcp.mss = prefetch_2013::MSS;
        scenario.tcp.max_window = Some(Bytes::kb(64));
        scenario
    }

    #[test]
    fn prefetching_architectures_have_the_paper_s_equations() {
        let mut scenario = prefetch_page();
        scenario.run.architectures = vec![Architecture::PrefetchConventional, Architecture::Prefetch2013];
        assert_eq!(methods(&scenario), ["prefetch-2013 Eq 8", "prefetch-2013 Eq 9"]);
        assert!((time_of(&scenario, "prefetch-2013 Eq 9") - 4.058).abs() < 1e-6);
        // 5 round trips for the HTML, 6 for each image, none of them shorter with the proxy beside the server.
        let conventional = time_of(&scenario, "prefetch-2013 Eq 8");
        assert!((conventional - 0.5 * (5.0 + 27.0 * 6.0)).abs() < 1e-9, "{conventional}");
        scenario.wan.down.delay = Duration::from_millis(400);
        assert!((time_of(&scenario, "prefetch-2013 Eq 8") - conventional).abs() < 1e-9, "the slower half counts");
    }

    #[test]
    fn a_link_slower_than_the_paper_s_pace_paces_udp() {
        let mut scenario = prefetch_page();
        scenario.run.architectures = vec![Architecture::Prefetch2013];
        let fast = time_of(&scenario, "prefetch-2013 Eq 9");
        scenario.link.down.rate = farhop_units::Rate::from_bits_per_second(1442 * 8 * 100);
        let slow = time_of(&scenario, "prefetch-2013 Eq 9");
        assert!((slow - fast - 1308.0 * 0.009).abs() < 1e-6, "10 ms for a packet: {slow}");
    }

    #[test]
    fn parallel_connections_divide_round_trips() {
        let mut scenario = prefetch_page();
        let one = time_of(&scenario, "prefetch-2013 Eq 5");
        scenario.http.connections = 4;
        let bytes = 1_849_285.0 * 8.0 / 1e8;
        assert!((time_of(&scenario, "prefetch-2013 Eq 5") - bytes - (one - bytes) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn cardwell_answers_where_packets_are_lost() {
        let mut scenario = scenario(&[1_000_000]);
        assert!(!methods(&scenario).contains(&"cardwell-2000 Eq 25".to_owned()));
        scenario.link.down.loss = LossModel::Bernoulli(Probability::new(1e-6).unwrap());
        let rare = time_of(&scenario, "cardwell-2000 Eq 25");
        scenario.link.down.loss = LossModel::Bernoulli(Probability::new(0.01).unwrap());
        let often = time_of(&scenario, "cardwell-2000 Eq 25");
        assert!(often > 2.0 * rare, "{rare} {often}");
        scenario.wan.down.loss = LossModel::BitErrors(Probability::new(1e-6).unwrap());
        assert!(time_of(&scenario, "cardwell-2000 Eq 25") > often);
    }

    #[test]
    fn losses_of_every_model_have_a_mean() {
        let of = |text: &str| mean_loss(&text.parse().unwrap(), 12_000.0);
        assert!((of("1 %") - 0.01).abs() < 1e-12);
        assert!((of("bit-errors rate=1e-6") - 0.011_928).abs() < 1e-5);
        assert!((of("gilbert-elliott enter=1% leave=30%") - 0.01 / 0.31).abs() < 1e-12);
        assert!(of("gilbert-elliott enter=0% leave=0%").abs() < 1e-12);
    }

    const REFERENCE: farhop_scenario::Reference =
        farhop_scenario::Reference { object: 0, offset: Bytes::ZERO, end: Bytes::ZERO };

    #[test]
    fn a_graph_is_estimated_over_every_connection() {
        let mut scenario = scenario(&[5000; 7]);
        for object in &mut scenario.page.objects[1..] {
            object.reference = Some(REFERENCE);
        }
        // Handshake and HTML; then six images, five of them over new connections.
        assert!((time_of(&scenario, "lantern") - 2.0).abs() < 1e-6);
        scenario.http.connections = 1;
        assert!((time_of(&scenario, "lantern") - 4.0).abs() < 1e-6);
        scenario.http.version = HttpVersion::Http11Pipelined;
        assert!(!methods(&scenario).contains(&"lantern".to_owned()));
    }

    #[test]
    fn an_object_that_names_itself_is_no_endless_load() {
        let mut scenario = scenario(&[5000]);
        scenario.page.objects[0].reference = Some(REFERENCE);
        assert!(!methods(&scenario).contains(&"lantern".to_owned()));
    }

    proptest! {
        #[test]
        fn any_scenario_has_an_answer(
            sizes in prop::collection::vec(any::<u64>(), 1..5), mss: u64, window in prop::option::of(any::<u64>()),
            delay in 0..u64::MAX / 8, rate: u64, connections: usize, lost in 0.0..=1.0, version in 0..3,
        ) {
            let mut scenario = scenario(&sizes);
            scenario.tcp.mss = Bytes::new(mss);
            scenario.tcp.max_window = window.map(Bytes::new);
            scenario.link.down.delay = Duration::from_nanos(delay);
            scenario.link.down.rate = farhop_units::Rate::from_bits_per_second(rate);
            scenario.link.down.loss = LossModel::Bernoulli(Probability::new(lost).unwrap());
            scenario.http.connections = connections;
            scenario.http.version = [HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http11Pipelined]
                [usize::try_from(version).unwrap()];
            scenario.run.architectures = Architecture::ALL.to_vec();
            let prediction = predict(&scenario);
            prop_assert!(prediction.rows.iter().all(|row| row.page_load_s > 0.0 && row.goodput_bit_s.is_finite()));
        }
    }
}
