//! The schedule is that of the plain reference, whatever was skipped.

use super::play::{Machine, Play};
use super::reference::Reference;
use farhop_units::{Instant, Rate};
use proptest::prelude::*;
use std::time::Duration;

/// Schemes with frames, and frames that are full, nearly empty and both.
pub(super) const FRAMED: [&str; 11] = [
    "tdma",
    "tdma frame=20ms slots=13",
    "cfdama",
    "cfdama frame=20ms slots=9 free=0",
    "cfdama requests=pre-assigned request-slots=2",
    "cfdama requests=random request-slots=2 backoff=2..8",
    "aloha-periodic timeout=600ms request-slots=2 backoff=2..8",
    "aloha-periodic frame=10ms slots=4 stream=2 most=6 threshold=100B timeout=300ms",
    "dama",
    "dama frame=30ms cra=8kbit/s rbdc=64kbit/s timeout=400ms",
    "dama cra=none rbdc=none free=0",
];

/// What happens to a channel.
#[derive(Debug, Clone)]
enum Event {
    Packet { after: u64, terminal: u16, bytes: u64 },
    Rate { after: u64, kbps: u64 },
    Hop { after: u64, milliseconds: u64 },
}

/// Mostly packets close together, sometimes silence of many frames.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let gap = prop_oneof![8 => 0_u64..20_000_000, 3 => 0_u64..400_000_000, 1 => 0_u64..8_000_000_000];
    let packet = (gap.clone(), any::<u16>(), prop_oneof![40_u64..1500, 40_u64..80])
        .prop_map(|(after, terminal, bytes)| Event::Packet { after, terminal, bytes });
    let rate = (gap.clone(), 100_u64..1000).prop_map(|(after, kbps)| Event::Rate { after, kbps });
    let hop = (gap, 0_u64..300).prop_map(|(after, milliseconds)| Event::Hop { after, milliseconds });
    prop::collection::vec(prop_oneof![20 => packet, 1 => rate, 1 => hop], 1..120)
}

fn play<M: Machine>(play: &mut Play<M>, events: &[Event], terminals: u16) -> Instant {
    let mut now = Instant::START;
    for event in events {
        match *event {
            Event::Packet { after, terminal, bytes } => {
                now += Duration::from_nanos(after);
                play.arrive(now, terminal % terminals, bytes);
            }
            Event::Rate { after, kbps } => {
                now += Duration::from_nanos(after);
                play.run_until(now);
                play.scheduler.set_rate(now, Rate::kbps(kbps));
            }
            Event::Hop { after, milliseconds } => {
                now += Duration::from_nanos(after);
                play.run_until(now);
                play.scheduler.set_hop(now, Duration::from_millis(milliseconds));
            }
        }
    }
    now += Duration::from_secs(4);
    play.run_until(now);
    now
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn skipping_what_is_idle_changes_nothing(
        scheme in prop::sample::select(FRAMED.to_vec()),
        terminals in 1_u16..13,
        milliseconds in 0_u64..300,
        events in events(),
    ) {
        let (rate, hop) = (Rate::kbps(400), Duration::from_millis(milliseconds));
        let terminals = if scheme.contains("cra=8") { terminals.min(6) } else { terminals };
        let scheme = if terminals == 1 { scheme.replace("request-slots=2", "request-slots=1") } else { scheme.to_owned() };
        let mut quick = Play::new(&scheme, terminals, rate, hop, 5);
        let mut plain = Play::of(Reference::new(&scheme, terminals, rate, hop, 5), terminals);
        let end = play(&mut quick, &events, terminals);
        play(&mut plain, &events, terminals);
        prop_assert_eq!(&quick.sent, &plain.sent);
        prop_assert_eq!(&quick.done, &plain.done);
        // The reference has only counted the last frame if it has gone on to the next.
        let counters = quick.scheduler.counters(end);
        prop_assert_eq!(counters, plain.scheduler.counters);
    }
}
