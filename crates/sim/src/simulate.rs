//! One scenario through every architecture it names.

use crate::direct::{self, LoadError, Outcome};
use farhop_link::{ChannelConfig, DirectionConfig, LossModel};
use farhop_results::{Architecture, Gap, Load, Row, Source};
use farhop_scenario::{Congestion, Scenario};

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
            Architecture::Direct => simulation.load_directly(scenario, seed).map_err(|error| error.to_string()),
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

fn is_random(scenario: &Scenario) -> bool {
    let loses = |direction: &DirectionConfig| direction.loss != LossModel::None;
    let random = |channel: &ChannelConfig| loses(&channel.down) || loses(&channel.up);
    [&scenario.lan, &scenario.link, &scenario.wan].into_iter().any(random)
}

fn row(scenario: &Scenario, loads: &[Load]) -> Option<Row> {
    let loads: Vec<&Load> = loads.iter().collect();
    let note = format!("TCP {}", controller(scenario.tcp.congestion));
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
