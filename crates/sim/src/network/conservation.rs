//! The law that nothing appears and nothing disappears, at every instant of whole simulations.

use super::*;
use crate::architecture::Chain;
use crate::client::{Client, Servers};
use crate::metrics::Metrics;
use crate::packet::Packet;
use crate::world::World;
use farhop_link::{Counters, Direction};
use farhop_results::Architecture;
use farhop_web::users::User;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

/// That every channel has delivered, dropped or holds each byte that it was given or has made, and the network each packet.
fn check(network: &mut Network<Packet>) -> Result<(), TestCaseError> {
    for (number, stage) in network.stages.iter_mut().enumerate() {
        for direction in Direction::BOTH {
            let books = stage.channel.counters(direction);
            let Counters { arrived, duplicated, delivered, dropped, .. } = books;
            prop_assert_eq!(
                arrived + duplicated,
                delivered + dropped + books.held(),
                "channel {} {}",
                number,
                direction.word()
            );
        }
    }
    let (Traffic { offered, duplicated, delivered, dropped, .. }, held) = (network.traffic, network.held() as u64);
    prop_assert_eq!(offered + duplicated, delivered + dropped + held);
    Ok(())
}

fn scenario(settings: &[String]) -> Scenario {
    farhop_scenario::open("rwbp-128", settings).expect("the assignments are right")
}

/// Lets users load pages, and looks at the books after each event.
fn keep_books(settings: &[String], architecture: Architecture, terminals: u16, seed: u64) -> Result<(), TestCaseError> {
    let scenario = scenario(settings);
    let users = scenario.users.clone().expect("there are users");
    let client = |number: u16| {
        Client::user(number, Servers::of(number.into(), 1), User::new(&users.model, seed, u32::from(number)))
    };
    let chain = Chain::of(architecture, scenario.prefetch_at).carrying(&scenario.http);
    let (meter, metrics) = (Meter::of_load(Duration::ZERO), Metrics::new(Instant::START));
    let mut world = World::new((&scenario, chain), seed, (0..terminals).map(client).collect(), meter, metrics);
    let mut largest = 0;
    while world.step().expect("connections can be opened").is_some_and(|at| at < Instant::START + users.duration) {
        check(world.network_mut())?;
        largest = largest.max(world.network().held());
    }
    prop_assert!(largest > 0, "something was on its way");
    Ok(())
}

/// Each architecture over each way to share the way up; the drawn cases below vary the rest.
#[test]
fn the_books_are_right_for_every_architecture_over_every_scheme() {
    for &architecture in Architecture::ALL {
        for scheme in ["dedicated", "tdma", "dama", "cfdama", "slotted-aloha", "aloha-periodic"] {
            for (profile, more) in [("bsd-1997", "prefetch.at=gateway"), ("linux", "prefetch.at=terminal")] {
                let settings = [
                    "users.model=zhou-2004, think = exponential mean=1s",
                    "users.duration=8 s",
                    "users.warm_up=0 s",
                    "access.terminals=4",
                    "link.down.queue=6 packets",
                    "link.up.loss=2 %",
                    "link.down.duplication=2 %",
                    "wan.loss=1 %",
                    more,
                    &format!("tcp.profile={profile}"),
                    &format!("access.scheme={scheme}"),
                ]
                .map(str::to_owned);
                keep_books(&settings, architecture, 4, 11)
                    .unwrap_or_else(|problem| panic!("{architecture} over {scheme}: {problem}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bytes_are_delivered_dropped_or_held_at_any_instant(
        profile in select(vec!["rfc", "linux", "bsd-1997"]),
        scheme in select(vec!["dedicated", "tdma", "dama", "cfdama", "slotted-aloha", "aloha-periodic"]),
        discipline in select(vec!["drop-tail", "codel", "fq-codel", "fair-queue", "priority"]),
        multicast in 0_u32..3,
        architecture in select(Architecture::ALL.to_vec()),
        version in select(vec!["1.0", "1.1", "1.1-pipelined", "2", "3"]),
        dns in select(vec!["none", "near", "far"]),
        terminals in 2_u16..9,
        percent in prop::array::uniform4(0_u32..6),
        queue in 1_u32..40,
        jitter in 1_u32..50,
        seed: u64,
    ) {
        let [loss, duplication, corruption, wan_loss] = percent;
        let prefetches = matches!(architecture, Architecture::PrefetchConventional | Architecture::Prefetch2013);
        let version = if prefetches { "1.1" } else { version };
        let mut settings = vec![
            "users.model=zhou-2004, think = exponential mean=2s".to_owned(),
            "users.duration=20 s".to_owned(),
            "users.warm_up=0 s".to_owned(),
            format!("http.version={version}"),
            format!("http.dns={dns}"),
            format!("access.terminals={terminals}"),
            format!("tcp.profile={profile}"),
            format!("access.scheme={scheme}"),
            format!("link.down.discipline={discipline}"),
            format!("link.down.queue={queue} packets"),
            format!("link.down.loss={loss} %"),
            format!("link.up.loss={loss} %"),
            format!("link.down.duplication={duplication} %"),
            format!("link.up.corruption={corruption} %"),
            format!("link.down.jitter=uniform max={jitter}ms"),
            format!("wan.loss={wan_loss} %"),
            "lan.rate=1 Mbit/s".to_owned(),
        ];
        settings.extend((multicast > 0).then(|| format!("multicast.rate={multicast} Mbit/s")));
        keep_books(&settings, architecture, terminals, seed)?;
    }
}
