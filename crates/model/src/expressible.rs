//! What no published formula knows of a path.
//!
//! The formulas have one rate and one propagation delay each way and a queue that loses nothing. Losses they ignore, which their
//! rows say; a geostationary path is a delay like any other. Everything else that a link may do changes the time in a way for which
//! there is no term, and a number without it would be a guess. So it is with names to resolve, keys to agree on, several hosts and
//! time that servers and browsers think.

use farhop_scenario::{Access, ChannelConfig, DirectionConfig, Discipline, Dns, Jitter, Orbit, Outages, Scenario, Tls};

/// Why no formula describes `scenario`'s path: the first thing on it that none has a term for, and where it is.
pub(crate) fn why_inexpressible(scenario: &Scenario) -> Option<String> {
    let http = &scenario.http;
    let (tls, dns) = (http.tls != Tls::None, http.dns != Dns::None);
    let objects = &scenario.page.objects;
    let thinks = objects.iter().any(|object| !(object.think.is_zero() && object.delay.is_zero()));
    let several = scenario.page.hosts.len() > 1;
    let asked = [(tls, "TLS"), (dns, "DNS"), (several, "several hosts"), (thinks, "servers and browsers that think")];
    if let Some(what) = first(asked) {
        return Some(format!("no published formula knows {what}"));
    }
    let (place, what) = first_unknown(scenario, |way| {
        let framing = (!way.framing.is_none()).then_some("framing");
        unknown_of_direction(way).or(framing)
    })?;
    Some(format!("no published formula knows {what} ({place})"))
}

/// Why farhop's own model does not describe `scenario`'s path. It knows framing and losses.
pub(crate) fn why_not_recursive(scenario: &Scenario) -> Option<String> {
    let (place, what) = first_unknown(scenario, unknown_of_direction)?;
    Some(format!("farhop's model does not know {what} ({place})"))
}

/// The first place of the path of which `unknown` says something, and what.
fn first_unknown(
    scenario: &Scenario,
    unknown: impl Fn(&DirectionConfig) -> Option<&'static str>,
) -> Option<(String, &'static str)> {
    if scenario.multicast.is_some() {
        return Some(("multicast".to_owned(), "other traffic on the link"));
    }
    let channels = [("link", &scenario.link), ("wan", &scenario.wan), ("lan", &scenario.lan)];
    channels.into_iter().find_map(|(name, channel)| unknown_of_channel(name, channel, &unknown))
}

fn unknown_of_channel(
    name: &str,
    channel: &ChannelConfig,
    unknown: &impl Fn(&DirectionConfig) -> Option<&'static str>,
) -> Option<(String, &'static str)> {
    if channel.access != Access::Dedicated {
        return Some(("access".to_owned(), "medium access on a shared channel"));
    }
    let ways = [("down", &channel.down), ("up", &channel.up)];
    ways.into_iter().find_map(|(way, config)| unknown(config).map(|what| (format!("{name}.{way}"), what)))
}

/// The first thing that is there.
fn first<const N: usize>(things: [(bool, &'static str); N]) -> Option<&'static str> {
    things.into_iter().find_map(|(given, what)| given.then_some(what))
}

/// What neither knows.
fn unknown_of_direction(config: &DirectionConfig) -> Option<&'static str> {
    first([
        (config.trace.is_some(), "a recorded rate or delay"),
        (matches!(config.orbit, Some(Orbit::LowEarth { .. })), "a delay that changes as satellites pass"),
        (config.discipline != Discipline::DropTail, "a queue that is not first in, first out"),
        (config.jitter != Jitter::None, "jitter"),
        (!config.reordering.probability.is_zero(), "reordering"),
        (config.outages != Outages::None, "outages"),
        (!config.corruption.is_zero(), "corruption"),
        (!config.duplication.is_zero(), "duplication"),
    ])
}

#[cfg(test)]
mod tests {
    use crate::limit;
    use crate::predict::tests::{predict, scenario};
    use farhop_scenario::{Discipline, Dns, HttpVersion, Jitter, LossModel, Orbit, Outages, QueueLimit, Scenario, Tls};
    use farhop_units::{Bytes, Probability};
    use std::time::Duration;

    #[test]
    fn what_has_no_term_is_a_gap_that_names_it_and_its_place() {
        let mut jittery = scenario(&[5000]);
        jittery.link.up.jitter = Jitter::Uniform(Duration::from_millis(1));
        let mut intermittent = scenario(&[5000]);
        intermittent.wan.down.outages = Outages::Random { up: Duration::from_secs(9), down: Duration::from_secs(1) };
        let mut fair = scenario(&[5000]);
        fair.link.down.discipline = Discipline::FairQueue { quantum: Bytes::new(1514) };
        for (scenario, reason) in [
            (jittery, "no published formula knows jitter (link.up)"),
            (intermittent, "no published formula knows outages (wan.down)"),
            (fair, "no published formula knows a queue that is not first in, first out (link.down)"),
        ] {
            let prediction = predict(&scenario);
            assert_eq!((prediction.rows.len(), prediction.gaps[0].reason.as_str()), (0, reason));
            assert_eq!((prediction.throughput, prediction.saturation_window), (None, None));
        }
    }

    #[test]
    fn a_geostationary_path_is_a_delay_like_any_other() {
        let (mut orbiting, mut delayed) = (scenario(&[5000]), scenario(&[5000]));
        let orbit = Orbit::Geostationary { terminal_elevation_deg: 40.0, gateway_elevation_deg: 40.0 };
        for way in [&mut orbiting.link.down, &mut orbiting.link.up] {
            (way.delay, way.orbit) = (Duration::ZERO, Some(orbit));
        }
        for way in [&mut delayed.link.down, &mut delayed.link.up] {
            way.delay = orbit.least_delay();
        }
        assert_eq!(predict(&orbiting).rows, predict(&delayed).rows);
        assert_eq!(limit(&orbiting), limit(&delayed));
    }

    #[test]
    fn what_of_page_and_http_has_no_term_is_a_gap_too() {
        let reason = |change: fn(&mut Scenario)| {
            let mut changed = scenario(&[5000, 5000]);
            change(&mut changed);
            let prediction = predict(&changed);
            assert_eq!(prediction.rows, []);
            prediction.gaps[0].reason.clone()
        };
        assert_eq!(reason(|scenario| scenario.http.tls = Tls::V12), "no published formula knows TLS");
        assert_eq!(reason(|scenario| scenario.http.dns = Dns::Near), "no published formula knows DNS");
        let hosts = reason(|scenario| scenario.page.hosts.push("other.test".into()));
        assert_eq!(hosts, "no published formula knows several hosts");
        let thinks = reason(|scenario| scenario.page.objects[1].think = Duration::from_millis(1));
        assert_eq!(thinks, "no published formula knows servers and browsers that think");
        let multiplexed = reason(|scenario| scenario.http.version = HttpVersion::Http3);
        assert_eq!(multiplexed, "no published formula describes requests multiplexed over one connection");
    }

    #[test]
    fn loss_and_a_bounded_queue_are_told_in_the_note() {
        let mut lossy = scenario(&[5000]);
        lossy.link.down.loss = LossModel::Bernoulli(Probability::ONE);
        lossy.link.down.queue = QueueLimit::Packets(3);
        let row = &predict(&lossy).rows[0];
        assert!(row.note.as_deref().is_some_and(|note| note.contains("no loss")));
    }
}
