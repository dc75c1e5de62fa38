//! One client loads the scenario's page once, over a network where nobody else is.

use crate::architecture::Chain;
use crate::client::Client;
use crate::error::{MOST_PACKETS, SimError, patience};
use crate::meter::Meter;
use crate::metrics::Metrics;
use crate::network::Traffic;
use crate::programs::Browser;
use crate::replications::{Replicated, Watch};
use crate::trace::Slot;
use crate::world::World;
use farhop_link::Direction;
use farhop_results::{Architecture, CacheState, Load, Needs, ObjectTiming, Peaks, Source};
use farhop_scenario::Scenario;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// A load and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) load: Load,
    pub(crate) events: u64,
    pub(crate) hops: u64,
}

/// So many events are a step that is worth telling of.
const STEP: u64 = 1 << 16;

/// Loads the scenario's page once, watched in virtual time.
pub(crate) fn load(
    scenario: &Scenario,
    architecture: Architecture,
    (seed, run): (u64, u32),
    trace: &Slot,
    watch: &mut Watch<'_, Duration>,
) -> Replicated<Outcome> {
    check_bounds(scenario)?;
    let chain = Chain::of(architecture, scenario.prefetch_at).carrying(&scenario.http);
    let client = Client::once(0, scenario.page.clone());
    let least = farhop_model::limit(scenario);
    let (meter, metrics) = (Meter::of_load(least), Metrics::new(Instant::START));
    let mut world = World::new((scenario, chain), seed, vec![client], meter, metrics);
    world.begin_trace(trace.take(run));
    let patience = patience(least);
    let completed = complete(&mut world, patience, watch);
    let outcome =
        completed.and_then(|is_complete| is_complete.then(|| conclude(&world, architecture, run)).transpose());
    trace.put(world.end_trace());
    outcome
}

/// Lets things happen until the page is there, or nobody wants to know any more.
fn complete(world: &mut World<'_>, patience: Duration, watch: &mut Watch<'_, Duration>) -> Result<bool, SimError> {
    let (mut next_step, mut last) = (0, Duration::ZERO);
    while loaded(world).is_none() {
        let at = world.step()?.ok_or(SimError::NothingLeft(last))?;
        watch.check_size(world)?;
        last = at - Instant::START;
        if world.event_count() >= next_step {
            next_step = world.event_count() + STEP;
            if !watch.has_reached(last) {
                return Ok(false);
            }
        }
        if world.network().traffic().offered > MOST_PACKETS {
            return Err(SimError::TooManyPackets);
        }
        if last > patience {
            return Err(SimError::OutOfPatience(patience));
        }
    }
    Ok(true)
}

fn conclude(world: &World<'_>, architecture: Architecture, run: u32) -> Result<Outcome, SimError> {
    let browser = loaded(world).expect("it is complete");
    let began = browser.began();
    let end = browser.end().filter(|end| *end > began).ok_or(SimError::NoTime)?;
    let load = Load {
        architecture,
        source: Source::Simulated,
        state: CacheState::Cold,
        run,
        page_load_s: (end - began).as_secs_f64(),
        first_byte_s: (browser.first_byte().unwrap_or(end) - began).as_secs_f64(),
        objects: browser.timings().into_iter().map(|timing| since(began, timing)).collect(),
        link: world.network().meter().samples(began, end),
        needs: Some(needs(world)),
    };
    let (events, Traffic { hops, .. }) = (world.event_count(), world.network().traffic());
    Ok(Outcome { load, events, hops })
}

fn needs(world: &World<'_>) -> Needs {
    let meter = world.network().meter();
    let [down, up] = Direction::BOTH.map(|direction| meter.peak_queue(direction).get());
    let [gateway, terminal] = world.buffers().peaks().map(|peak| peak.map(Bytes::get));
    let peaks = Peaks {
        peak_connections: world.legs().occupancy().peak() as u64,
        peak_queue_down_bytes: down,
        peak_queue_up_bytes: up,
        peak_gateway_buffer_bytes: gateway,
        peak_terminal_buffer_bytes: terminal,
    };
    Needs { peaks, dropped: world.network().traffic().dropped_by.link() }
}

/// What an object took, its times counted from `began`.
fn since(began: Instant, timing: ObjectTiming) -> ObjectTiming {
    let began = began.as_secs_f64();
    ObjectTiming {
        discovered_s: timing.discovered_s - began,
        connect_s: timing.connect_s.map(|at| at - began),
        request_s: timing.request_s - began,
        first_byte_s: timing.first_byte_s - began,
        end_s: timing.end_s - began,
        ..timing
    }
}

/// The browser with its page, once that is complete.
fn loaded<'a>(world: &'a World<'_>) -> Option<&'a Browser> {
    let client = &world.clients()[0];
    client.browser.as_deref().filter(|_| !client.is_loading)
}

/// Refuses a page that no load within the bounds can carry, before trying.
fn check_bounds(scenario: &Scenario) -> Result<(), SimError> {
    let bodies = scenario.page.total_bytes().get() / scenario.tcp.mss.get().max(1);
    if bodies > MOST_PACKETS { Err(SimError::TooManyPackets) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::simulate;

    #[test]
    fn packets_that_no_memory_holds_are_noticed() {
        let settings = [
            "link.down.rate=10 Gbit/s",
            "link.up.rate=10 Gbit/s",
            "link.down.queue=unlimited",
            "link.down.loss=0 %",
            "tcp.profile=rfc",
            "tcp.max_window=unlimited",
            "page.objects=1",
            "page.size=300 MB",
            "run.architectures=direct",
        ];
        let scenario = farhop_scenario::open("inflight-geo", &settings.map(str::to_owned)).expect("assignments");
        let reason = simulate(&scenario, 1).gaps.pop().expect("it cannot be loaded").reason;
        assert!(reason.starts_with("more than 15000 packets on their way after"), "{reason}");
    }
}
