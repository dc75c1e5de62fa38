//! Medium access as a scenario describes it.
//!
//! A word and terms, all of them optional: `tdma`, `cfdama frame=26.5ms slots=128 requests=random`. What is written reads
//! back exactly.

use super::layout::{Frame, Layout, Shape};
use super::{AlohaPeriodic, Cfdama, Dama, FixedTdma, SlottedAloha};
use crate::DirectionConfig;
use core::fmt;
use core::str::FromStr;
use farhop_units::terms::Terms;
use farhop_units::{ParseError, Rate};
use std::time::Duration;

/// How terminals share the way up.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Access {
    /// Each terminal has a channel of its own, of the direction's rate.
    #[default]
    Dedicated,
    /// Each has its slots in every frame: `tdma`.
    FixedTdma(FixedTdma),
    /// Slots on demand, the others in turn: `cfdama`.
    Cfdama(Cfdama),
    /// Slots in every frame while a terminal is active, asked for by slotted Aloha: `aloha-periodic`.
    AlohaPeriodic(AlohaPeriodic),
    /// Everybody sends and collides: `slotted-aloha`.
    SlottedAloha(SlottedAloha),
    /// Constant rate, requested rate, requested volume and free capacity, as in DVB-RCS2: `dama`.
    Dama(Dama),
}

const DEDICATED: &str = "dedicated";
const TDMA: &str = "tdma";
const CFDAMA: &str = "cfdama";
const ALOHA_PERIODIC: &str = "aloha-periodic";
const SLOTTED_ALOHA: &str = "slotted-aloha";
const DAMA: &str = "dama";
const WORDS: [&str; 6] = [DEDICATED, TDMA, CFDAMA, ALOHA_PERIODIC, SLOTTED_ALOHA, DAMA];
const ACCEPTED: &str = "dedicated, tdma, cfdama, aloha-periodic, slotted-aloha or dama, each with its terms, e.g. \
                        \"cfdama frame=26.5ms slots=128\"";

impl Access {
    /// Checks that the scheme can serve so many terminals over this way up.
    pub(crate) fn check(&self, terminals: u16, up: &DirectionConfig) -> Result<(), ParseError> {
        if *self == Self::Dedicated {
            return Ok(());
        }
        let constant = "a constant up rate to cut into slots, e.g. \"400 kbit/s\"";
        if up.trace.is_some() {
            return Err(ParseError::new(format!("{} over a trace", self.word()), constant));
        }
        if up.orbit.is_some_and(|orbit| orbit.has_pauses()) {
            let problem = format!("{} over an orbit with pauses", self.word());
            return Err(ParseError::new(problem, "pause=0ms, or dedicated access"));
        }
        let rate = up.rate.ok_or_else(|| ParseError::new(format!("{} without an up rate", self.word()), constant))?;
        self.shape(terminals, rate).map(drop)
    }

    /// The frames in which so many terminals share a way up of `rate`; `None` where it is not cut into frames.
    ///
    /// # Errors
    ///
    /// The scheme cannot serve so many terminals at this rate.
    pub fn frame(&self, terminals: u16, rate: Rate) -> Result<Option<Frame>, ParseError> {
        let is_framed = !matches!(self, Self::SlottedAloha(_));
        Ok(self.shape(terminals, rate)?.filter(|_| is_framed).map(|shape| Frame::of(&Layout::new(shape, rate))))
    }

    /// The most that the first of so many terminals may send while the others are silent, as a share of `rate`; `hops` is how long the
    /// scheduler takes to answer.
    ///
    /// On demand that is all of a frame but what is dealt out in turn and the others' constant slots; of a stream as many slots as it may ask
    /// for; with slotted Aloha a burst, after which it waits until that is heard of.
    pub fn most_of_one(&self, terminals: u16, rate: Rate, hops: Duration) -> f64 {
        let Ok(Some(shape)) = self.shape(terminals, rate) else { return 1.0 };
        let layout = Layout::new(shape, rate);
        let (terminals, all) = (u32::from(terminals.max(1)), shape.slots);
        let on_demand = |free: u32, others: u32| {
            f64::from(all.saturating_sub(free.saturating_add(others))) + f64::from(free) / f64::from(terminals)
        };
        let slots = match self {
            Self::Dedicated | Self::SlottedAloha(_) => f64::from(all),
            Self::FixedTdma(_) => f64::from(all.div_ceil(terminals)),
            Self::AlohaPeriodic(periodic) => f64::from(periodic.most.get().min(all)),
            Self::Cfdama(cfdama) => on_demand(cfdama.free_slots(), 0),
            Self::Dama(dama) => on_demand(dama.free, dama.constant_slots(&layout).saturating_mul(terminals - 1)),
        };
        let frame = layout.frame().as_secs_f64();
        // The next burst begins with a slot.
        let waits = if matches!(self, Self::SlottedAloha(_)) { (hops.as_secs_f64() / frame).ceil() } else { 0.0 };
        (layout.payload.bits_f64() * slots / (rate.as_f64() * frame * (1.0 + waits))).min(1.0)
    }

    fn shape(&self, terminals: u16, rate: Rate) -> Result<Option<Shape>, ParseError> {
        let terminals = terminals.max(1);
        match self {
            Self::Dedicated => return Ok(None),
            Self::FixedTdma(tdma) => tdma.shape(terminals, rate),
            Self::Cfdama(cfdama) => cfdama.shape(terminals, rate),
            Self::AlohaPeriodic(periodic) => periodic.shape(terminals, rate),
            Self::SlottedAloha(aloha) => aloha.shape(rate),
            Self::Dama(dama) => dama.shape(terminals, rate),
        }
        .map(Some)
    }

    /// The scheme's name in scenario files and logs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Dedicated => DEDICATED,
            Self::FixedTdma(_) => TDMA,
            Self::Cfdama(_) => CFDAMA,
            Self::AlohaPeriodic(_) => ALOHA_PERIODIC,
            Self::SlottedAloha(_) => SLOTTED_ALOHA,
            Self::Dama(_) => DAMA,
        }
    }
}

impl FromStr for Access {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let access = match terms.word {
            DEDICATED => Self::Dedicated,
            TDMA => Self::FixedTdma(FixedTdma::read(&terms)?),
            CFDAMA => Self::Cfdama(Cfdama::read(&terms)?),
            ALOHA_PERIODIC => Self::AlohaPeriodic(AlohaPeriodic::read(&terms)?),
            SLOTTED_ALOHA => Self::SlottedAloha(SlottedAloha::read(&terms)?),
            DAMA => Self::Dama(Dama::read(&terms)?),
            other => return Err(ParseError::unknown("access scheme", other, WORDS, ACCEPTED)),
        };
        terms.finish()?;
        Ok(access)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Dedicated => Ok(()),
            Self::FixedTdma(tdma) => tdma.fmt(f),
            Self::Cfdama(cfdama) => cfdama.fmt(f),
            Self::AlohaPeriodic(periodic) => periodic.fmt(f),
            Self::SlottedAloha(aloha) => aloha.fmt(f),
            Self::Dama(dama) => dama.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Action, Scheduler};
    use farhop_units::{Bytes, Instant};
    use proptest::prelude::*;

    #[test]
    fn schemes_read_back() {
        let texts = [
            "dedicated",
            "tdma",
            "tdma frame=26.5ms slots=128",
            "cfdama requests=piggyback field=2B",
            "cfdama frame=26.5ms slots=128 requests=pre-assigned request-slots=16 request=4B free=2",
            "cfdama slots=64 requests=random request=8B backoff=8..1024",
            "aloha-periodic request-slots=4 request=8B backoff=64 stream=2 most=9 threshold=512B timeout=1.5s",
            "slotted-aloha attempts=16",
            "slotted-aloha slot=30ms backoff=64 attempts=1",
            "dama request=8B cra=none rbdc=none timeout=2s free=0",
            "dama frame=50ms slots=60 request-slots=2 request=8B cra=16kbit/s rbdc=1.5Mbit/s timeout=500ms free=1",
        ];
        for text in texts {
            assert_eq!(text.parse::<Access>().map(|access| access.to_string()), Ok(text.to_owned()));
        }
        for word in [TDMA, CFDAMA, ALOHA_PERIODIC, SLOTTED_ALOHA, DAMA] {
            let access: Access = word.parse().unwrap();
            assert_eq!((access.word(), access.to_string().parse()), (word, Ok(access.clone())));
        }
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<Access>().unwrap_err().problem;
        assert_eq!(problem("csma"), "unknown access scheme \"csma\"");
        assert_eq!(problem("dedicated slots=3"), "unknown term \"slots\"");
        assert_eq!(problem("tdma slots=0"), "slots: \"0\"");
        assert_eq!(problem("cfdama requests=often"), "requests: \"often\"");
        assert_eq!(problem("cfdama backoff=8"), "unknown term \"backoff\"");
        assert_eq!(problem("cfdama requests=random field=2B"), "unknown term \"field\"");
        assert_eq!(problem("cfdama requests=random request=0B"), "request: \"0B\" is nothing");
        assert_eq!(problem("aloha-periodic timeout=0ms"), "timeout: \"0ms\" is no time");
        assert_eq!(problem("aloha-periodic stream=4 most=3"), "most: 3 slots are less than stream=4");
        assert_eq!(problem("slotted-aloha backoff=8..4"), "backoff: \"8..4\"");
        assert_eq!(problem("dama cra=0bit/s"), "cra: \"0bit/s\" is zero");
    }

    fn check(text: &str, terminals: u16, rate: Option<Rate>) -> Result<(), String> {
        let up = DirectionConfig { rate, ..DirectionConfig::default() };
        text.parse::<Access>().unwrap().check(terminals, &up).map_err(|error| error.to_string())
    }

    #[test]
    fn every_scheme_serves_1_to_1000_terminals_as_it_comes() {
        let schemes =
            ["tdma", "cfdama", "cfdama requests=pre-assigned", "cfdama requests=random", "aloha-periodic", "dama"];
        for scheme in schemes.into_iter().chain(["slotted-aloha", "dedicated"]) {
            for terminals in [1, 2, 7, 64, 128, 1000] {
                for kbps in [64, 100, 400, 2048, 10_000, 1_000_000] {
                    assert_eq!(check(scheme, terminals, Some(Rate::kbps(kbps))), Ok(()), "{scheme} {terminals} {kbps}");
                }
            }
        }
        assert_eq!(check("tdma", u16::MAX, Some(Rate::kbps(64))), Ok(()));
    }

    #[test]
    fn one_terminal_has_what_the_scheme_leaves_it() {
        let share = |text: &str| {
            let access: Access = text.parse().unwrap();
            access.most_of_one(4, Rate::kbps(400), Duration::from_millis(500))
        };
        assert!((share("dedicated") - 1.0).abs() < 1e-12);
        // 1000 B in 20 ms.
        let of_a_frame = |text: &str, slots: f64, slot: f64| {
            let expected = slots * slot / 1000.0;
            assert!((share(text) - expected).abs() < 1e-12, "{text}: {}", share(text));
        };
        of_a_frame("tdma frame=20ms slots=10", 3.0, 100.0);
        of_a_frame("cfdama frame=20ms slots=10 free=2 requests=piggyback field=1B", 8.5, 99.0);
        // A slot of 40 ms, and 13 until 500 ms are over.
        assert!((share("slotted-aloha slot=40ms") - 1.0 / 14.0).abs() < 1e-12);
        assert!(share("aloha-periodic most=2") < share("aloha-periodic most=4"));
        assert!(share("dama cra=16kbit/s") < share("dama"));
    }

    #[test]
    fn frames_are_told() {
        let frame = |text: &str| {
            let access = text.parse::<Access>().unwrap();
            let frame = access.frame(128, Rate::kbps(400)).unwrap();
            frame.map(|frame| (frame.length.as_micros(), frame.slots, frame.slot.get(), frame.requests))
        };
        assert_eq!(frame("dedicated"), None);
        assert_eq!(frame("slotted-aloha"), None);
        // One slot of 53 B for each; as many as fit 26.5 ms; and what 16 requests of 8 B leave of that.
        assert_eq!(frame("tdma"), Some((135_680, 128, 53, 0)));
        assert_eq!(frame("cfdama"), Some((26_500, 25, 53, 0)));
        assert_eq!(frame("aloha-periodic"), Some((25_880, 22, 53, 16)));
        assert_eq!(frame("cfdama frame=26.5ms slots=50"), Some((26_500, 50, 26, 0)));
        assert!("tdma slots=9".parse::<Access>().unwrap().frame(128, Rate::kbps(400)).is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |text, terminals, kbps| check(text, terminals, Some(Rate::kbps(kbps))).unwrap_err();
        assert_eq!(
            check("cfdama", 8, None).unwrap_err(),
            "cfdama without an up rate; accepted: a constant up rate to cut into slots, e.g. \"400 kbit/s\""
        );
        assert_eq!(check("dedicated", 8, None), Ok(()));
        assert_eq!(
            refused("tdma frame=26.5ms slots=127", 128, 400),
            "slots: 127 slots are too few for this scheme and its terminals; accepted: slots=128 or more"
        );
        assert!(
            refused("tdma frame=1ms slots=128", 128, 400).starts_with("frame: 128 slots and 0 request slots in 1ms")
        );
        assert!(refused("cfdama frame=1ms slots=20", 128, 400).contains("carry no byte"), "the field takes all of 2 B");
        assert_eq!(
            refused("cfdama requests=pre-assigned request-slots=9", 8, 400),
            "request-slots: 9 for 8 terminals; accepted: at most one per terminal"
        );
        assert_eq!(
            refused("dama frame=26.5ms cra=16kbit/s", 128, 400),
            "cra: 2 slots per frame for each of 128 terminals; accepted: at most 21 slots in all: a lower cra, a longer \
             frame or fewer terminals"
        );
        assert!(refused("cfdama slots=4 free=4", 8, 400).starts_with("slots: 4 slots are too few"));
        assert_eq!(
            refused("aloha-periodic backoff=1", 8, 400),
            "backoff: 1 slot, so that two of 8 terminals collide for ever; accepted: at least 2 slots, e.g. 8..1024"
        );
        assert_eq!(refused("cfdama requests=random backoff=1", 8, 400), refused("aloha-periodic backoff=1", 8, 400));
        assert!(refused("aloha-periodic request-slots=2000000", 8, 400).starts_with("request-slots: 2000000 slots"));
        assert!(refused("cfdama field=18446744073709551615B", 8, 400).contains("carry no byte"));
        assert!(refused("dama request=18446744073709551615B", 8, 400).starts_with("frame: "));
        assert!(refused("aloha-periodic slots=3 stream=4", 8, 400).starts_with("slots: 3 slots are too few"));
    }

    /// Terms with values that often make sense, and sometimes do not.
    fn texts() -> impl Strategy<Value = String> {
        let term = prop_oneof![
            (0_u64..100_000_000_000).prop_map(|nanos| format!("frame={nanos}ns")),
            (1_u64..100_000_000_000).prop_map(|nanos| format!("slot={nanos}ns")),
            (0_u64..10_000_000_000).prop_map(|nanos| format!("timeout={nanos}ns")),
            (0_u32..300).prop_map(|count| format!("slots={count}")),
            (0_u32..30).prop_map(|count| format!("request-slots={count}")),
            (0_u32..30).prop_map(|count| format!("request={count}B")),
            (0_u32..30).prop_map(|count| format!("field={count}B")),
            (0_u32..9).prop_map(|count| format!("free={count}")),
            (0_u32..9).prop_map(|count| format!("stream={count}")),
            any::<u32>().prop_map(|count| format!("most={count}")),
            any::<u32>().prop_map(|count| format!("attempts={count}")),
            any::<u64>().prop_map(|count| format!("threshold={count}B")),
            any::<u64>().prop_map(|count| format!("rbdc={count}bit/s")),
            (0_u64..1_000_000).prop_map(|count| format!("cra={count}bit/s")),
            (0_u32..40, any::<u32>()).prop_map(|(first, longest)| format!("backoff={first}..{longest}")),
            prop::sample::select(vec!["piggyback", "pre-assigned", "random"])
                .prop_map(|word| format!("requests={word}")),
        ];
        let word = prop::sample::select(vec![TDMA, CFDAMA, ALOHA_PERIODIC, SLOTTED_ALOHA, DAMA]);
        (word, prop::collection::vec(term, 0..6)).prop_map(|(word, terms)| format!("{word} {}", terms.join(" ")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn any_text_gives_an_answer_and_any_scheme_reads_back(text in prop_oneof![9 => texts(), 1 => ".*"]) {
            if let Ok(access) = text.parse::<Access>() {
                prop_assert_eq!(access.to_string().parse(), Ok(access));
            }
        }

        #[test]
        fn what_is_accepted_can_be_played(text in texts(), terminals in 1_u16..40, bits in 1_000_u64..10_000_000_000, seed: u64) {
            let rate = Rate::from_bits_per_second(bits);
            let up = DirectionConfig { rate, ..DirectionConfig::default() };
            let Ok(access) = text.parse::<Access>() else { return Ok(()) };
            let (hop, is_accepted) = (Duration::from_millis(20), access.check(terminals, &up).is_ok());
            let scheduler = Scheduler::new(&access, terminals, rate.unwrap(), hop, hop, seed);
            prop_assert_eq!(scheduler.is_some(), is_accepted);
            let share = access.most_of_one(terminals, rate.unwrap(), hop + hop);
            prop_assert!(share > 0.0 && share <= 1.0, "{}", share);
            let Some(mut scheduler) = scheduler else { return Ok(()) };
            let mut waiting = vec![0; terminals.into()];
            for number in 0..300_u16 {
                let terminal = number * 7 % terminals;
                if number % 30 < 9 {
                    waiting[usize::from(terminal)] += 100;
                    scheduler.handle_arrival(scheduler.next_timeout().unwrap_or(Instant::START), terminal);
                }
                let action = scheduler.step(&mut |terminal: u16| Bytes::new(waiting[usize::from(terminal)]));
                match action {
                    Some(Action::Send { terminal, bytes, .. }) => waiting[usize::from(terminal)] -= bytes.get(),
                    Some(Action::GiveUp { terminal }) => waiting[usize::from(terminal)] = 0,
                    None => {}
                }
            }
        }
    }
}
