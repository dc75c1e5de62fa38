//! One scenario through every architecture it names.

use crate::direct::{self, LoadError, Outcome};
use farhop_link::{Access, Cfdama, ChannelConfig, DirectionConfig, Jitter, Outages, Requests};
use farhop_results::{Architecture, Gap, Load, Row, Source};
use farhop_scenario::{Congestion, Dns, Scenario, Tls};

/// What simulating a scenario gave and what it cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simulation {
    /// One row per architecture that could be simulated.
    pub rows: Vec<Row>,
    /// The architectures that could not, with the reason.
    pub gaps: Vec<Gap>,
    /// Every load behind the rows.
    pub loads: Vec<Load>,
    /// Events handled.
    pub event_count: u64,
    /// Packets passing a serializer with a finite rate or a delay.
    pub packet_hops: u64,
}

/// Simulates `scenario`; the same scenario and seed give the same result on every machine.
///
/// Where something is random the page is loaded as often as the scenario says, with seeds that count up from `seed`, and the row
/// gives the median; otherwise once, as every load is the same.
pub fn simulate(scenario: &Scenario, seed: u64) -> Simulation {
    let mut simulation = Simulation::default();
    for architecture in &scenario.run.architectures {
        let result = match architecture {
            Architecture::Direct => match unknown(scenario) {
                Some(what) => Err(format!("the simulator does not know {what} yet")),
                None => simulation.load_directly(scenario, seed).map_err(|error| error.to_string()),
            },
            _ => Err("the simulated accelerator comes with the simulator's transports".to_owned()),
        };
        if let Err(reason) = result {
            simulation.gaps.push(Gap { architecture: *architecture, source: Source::Simulated, reason });
        }
    }
    simulation
}

impl Simulation {
    fn load_directly(&mut self, scenario: &Scenario, seed: u64) -> Result<(), LoadError> {
        let runs = if is_random(scenario) { scenario.run.runs.max(1) } else { 1 };
        let load = |run: u32| direct::load(scenario, seed.wrapping_add(u64::from(run)), run);
        let outcomes = (0..runs).map(load).collect::<Result<Vec<Outcome>, LoadError>>()?;
        self.event_count += outcomes.iter().map(|outcome| outcome.events).sum::<u64>();
        self.packet_hops += outcomes.iter().map(|outcome| outcome.traffic.hops).sum::<u64>();
        let loads: Vec<Load> = outcomes.into_iter().map(|outcome| outcome.load).collect();
        self.rows.extend(row(scenario, &loads));
        self.loads.extend(loads);
        Ok(())
    }
}

/// What of the scenario's page and its use of HTTP cannot be simulated.
fn unknown(scenario: &Scenario) -> Option<&'static str> {
    let (http, objects) = (&scenario.http, &scenario.page.objects);
    let thinks = objects.iter().any(|object| !(object.think.is_zero() && object.delay.is_zero()));
    let unknowns = [
        (http.version.is_multiplexed(), "HTTP/2 and 3"),
        (http.tls != Tls::None, "TLS"),
        (http.dns != Dns::None, "DNS"),
        (http.persistence.is_some(), "idle timeouts of connections"),
        (scenario.page.hosts.len() > 1, "several hosts"),
        (thinks, "servers and browsers that think"),
    ];
    unknowns.into_iter().find_map(|(given, what)| given.then_some(what))
}

/// Whether loads can differ from seed to seed.
fn is_random(scenario: &Scenario) -> bool {
    let random = |channel: &ChannelConfig| {
        is_contended(&channel.access) || [&channel.down, &channel.up].into_iter().any(rolls_dice)
    };
    [&scenario.lan, &scenario.link, &scenario.wan].into_iter().any(random)
}

/// Whether terminals back off at random after collisions.
fn is_contended(access: &Access) -> bool {
    matches!(
        access,
        Access::AlohaPeriodic(_)
            | Access::SlottedAloha(_)
            | Access::Cfdama(Cfdama { requests: Requests::Random { .. }, .. })
    )
}

fn rolls_dice(direction: &DirectionConfig) -> bool {
    let probabilities = [direction.reordering.probability, direction.corruption, direction.duplication];
    !direction.loss.is_none()
        || direction.jitter != Jitter::None
        || matches!(direction.outages, Outages::Random { .. })
        || probabilities.into_iter().any(|probability| !probability.is_zero())
}

fn row(scenario: &Scenario, loads: &[Load]) -> Option<Row> {
    let loads: Vec<&Load> = loads.iter().collect();
    let idle = match scenario.link.terminals {
        1 => String::new(),
        terminals => format!("; {} other terminals are idle", terminals - 1),
    };
    let note = format!("TCP {}{idle}", controller(scenario.tcp.congestion));
    let (page, limit) = (scenario.page.total_bytes(), farhop_model::limit(scenario));
    Row::of_loads(&loads, scenario.tcp.profile.word(), page, limit, Some(note))
}

fn controller(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Reno => "Reno",
        Congestion::NewReno => "NewReno",
        Congestion::Cubic => "CUBIC with HyStart",
        Congestion::Bbr => "BBR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_with(assignment: &str) -> Row {
        let scenario = farhop_scenario::open("obata-2002", &[assignment.to_owned()]).expect("the assignment is right");
        simulate(&scenario, 1).rows.remove(0)
    }

    #[test]
    fn what_is_random_is_loaded_several_times() {
        for random in [
            "link.down.loss=0.1 %",
            "link.up.loss=bit-errors rate=1e-7",
            "link.down.jitter=uniform max=5ms",
            "link.up.reordering=probability=1% by=10ms",
            "wan.outages=random up=60s down=1s",
            "lan.corruption=0.1 %",
            "link.down.duplication=0.1 %",
            "access.scheme=slotted-aloha",
            "access.scheme=cfdama requests=random",
        ] {
            assert_eq!(row_with(random).runs, 3, "{random}");
        }
        for certain in [
            "link.down.queue=100 packets",
            "link.down.discipline=fq-codel",
            "link.down.framing=redundancy=16/15",
            "link.up.outages=at windows=1s+100ms",
            "link.orbit=leo altitude=550km elevation=25deg pause=30ms",
            "access.scheme=cfdama",
        ] {
            assert_eq!(row_with(certain).runs, 1, "{certain}");
        }
    }

    #[test]
    fn every_setting_costs_time() {
        let before = row_with("title=x").page_load_s;
        for slower in [
            "link.down.framing=redundancy=16/15",
            "link.up.outages=at windows=250ms+200ms",
            "link.orbit=geo elevation=40deg",
            "link.down.jitter=uniform max=50ms",
            "link.down.corruption=5 %",
            "access.scheme=tdma",
        ] {
            let after = row_with(slower).page_load_s;
            assert!(after > before, "{slower}: {after} s instead of {before} s");
        }
    }

    #[test]
    fn idle_terminals_are_told_in_the_note() {
        let scenario = farhop_scenario::open("rwbp-128", &[]).expect("it is shipped");
        let simulation = simulate(&scenario, 1);
        assert_eq!(simulation.rows[0].note.as_deref(), Some("TCP Reno; 127 other terminals are idle"));
    }
}
