//! What happens to a packet on its way through the pipe and at its end, decided as it leaves the serializer.
//!
//! Every packet that the serializer sends meets one number of every impairment, in the order of sending: also those that an
//! outage or another impairment takes, and before any of them overtakes another. So no impairment, and no outage, changes what
//! another does to a packet; runs with and without one are compared on common random numbers. A change of a setting holds for
//! packets that are sent from then on, as one of the delay does.

use crate::corruption::Corruption;
use crate::duplication::Duplication;
use crate::jitter::JitterProcess;
use crate::loss::Loss;
use crate::reordering::ReorderingProcess;
use crate::{DirectionConfig, Jitter, LossModel, Port, Reordering, Setting};
use farhop_units::{Bytes, Probability};
use std::time::Duration;

/// The impairments of one path, but for its outages.
#[derive(Debug)]
pub(crate) struct Impairments {
    seed: u64,
    entry: Port,
    /// Packets that were sent before any impairment was switched on.
    unharmed: u64,
    /// Most paths have none, and thousands of terminals have a path each.
    processes: Option<Box<Processes>>,
}

/// What decides packet by packet.
#[derive(Debug)]
struct Processes {
    jitter: JitterProcess,
    reordering: ReorderingProcess,
    loss: Loss,
    corruption: Corruption,
    duplication: Duplication,
}

/// What a packet meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    /// How much longer it takes, in order.
    pub(crate) jitter: Duration,
    /// How long it is held back, others overtaking it.
    pub(crate) held_back: Option<Duration>,
    /// What becomes of it then.
    pub(crate) arrival: Arrival,
}

/// What becomes of a packet at the end of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Whether it is lost, whatever else.
    pub(crate) is_lost: bool,
    /// Whether a bit is flipped: the draw that decides which.
    pub(crate) corrupted: Option<u64>,
    /// Whether it arrives twice.
    pub(crate) is_duplicated: bool,
}

impl Fate {
    /// Nothing.
    const UNHARMED: Self = Self {
        jitter: Duration::ZERO,
        held_back: None,
        arrival: Arrival { is_lost: false, corrupted: None, is_duplicated: false },
    };
}

impl Impairments {
    /// The impairments of the path that begins at `entry` in a channel with this seed.
    pub(crate) fn new(config: &DirectionConfig, seed: u64, entry: Port) -> Self {
        let mut impairments = Self { seed, entry, unharmed: 0, processes: None };
        config.settings().iter().for_each(|setting| impairments.set(setting));
        impairments
    }

    /// Whether no packet takes longer for them.
    pub(crate) fn keep_time(&self) -> bool {
        self.processes.as_ref().is_none_or(|processes| processes.keep_time())
    }

    /// What the next packet meets.
    pub(crate) fn next(&mut self, bytes: Bytes) -> Fate {
        let Some(processes) = &mut self.processes else {
            self.unharmed += 1;
            return Fate::UNHARMED;
        };
        processes.next(bytes)
    }

    /// Changes one setting; the streams go on. Other stages' settings are of no concern here.
    pub(crate) fn set(&mut self, setting: &Setting) {
        let is_harmful = match setting {
            Setting::Jitter(jitter) => *jitter != Jitter::None,
            Setting::Reordering(reordering) => *reordering != Reordering::default(),
            Setting::Loss(model) => *model != LossModel::None,
            Setting::Corruption(probability) | Setting::Duplication(probability) => !probability.is_zero(),
            _ => false,
        };
        if is_harmful || self.processes.is_some() {
            let (seed, entry, unharmed) = (self.seed, self.entry, self.unharmed);
            let processes = self.processes.get_or_insert_with(|| Box::new(Processes::new(seed, entry, unharmed)));
            processes.set(setting);
        }
    }
}

impl Processes {
    /// All of them switched off, after so many packets.
    fn new(seed: u64, entry: Port, packets: u64) -> Self {
        let mut processes = Self {
            jitter: JitterProcess::new(Jitter::None, seed, entry),
            reordering: ReorderingProcess::new(Reordering::default(), seed, entry),
            loss: Loss::new(LossModel::None, seed, entry),
            corruption: Corruption::new(Probability::ZERO, seed, entry),
            duplication: Duplication::new(Probability::ZERO, seed, entry),
        };
        let Self { jitter, reordering, loss, corruption, duplication } = &mut processes;
        jitter.skip(packets);
        reordering.skip(packets);
        loss.skip(packets);
        corruption.skip(packets);
        duplication.skip(packets);
        processes
    }

    fn keep_time(&self) -> bool {
        self.jitter.jitter() == Jitter::None && self.reordering.reordering() == Reordering::default()
    }

    fn next(&mut self, bytes: Bytes) -> Fate {
        let arrival = Arrival {
            is_lost: self.loss.takes_next(bytes),
            corrupted: self.corruption.next(),
            is_duplicated: self.duplication.next(),
        };
        Fate { jitter: self.jitter.next(), held_back: self.reordering.next(), arrival }
    }

    fn set(&mut self, setting: &Setting) {
        match *setting {
            Setting::Jitter(jitter) => self.jitter.set_jitter(jitter),
            Setting::Reordering(reordering) => self.reordering.set_reordering(reordering),
            Setting::Loss(model) => self.loss.set_model(model),
            Setting::Corruption(probability) => self.corruption.set_probability(probability),
            Setting::Duplication(probability) => self.duplication.set_probability(probability),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GilbertElliott;
    use proptest::prelude::*;

    fn probability() -> impl Strategy<Value = Probability> {
        (0.0..=1.0).prop_map(|value| Probability::new(value).expect("from 0 to 1"))
    }

    fn setting() -> impl Strategy<Value = Setting> {
        let span = || (1_u64..10_000_000).prop_map(Duration::from_nanos);
        let bursts = (probability(), probability(), probability(), probability())
            .prop_map(|(enter, leave, good, bad)| GilbertElliott { enter, leave, good, bad });
        prop_oneof![
            span().prop_map(|max| Setting::Jitter(Jitter::Uniform(max))),
            span().prop_map(|mean| Setting::Jitter(Jitter::Exponential(mean))),
            (probability(), span()).prop_map(|(probability, by)| Setting::Reordering(Reordering { probability, by })),
            probability().prop_map(|probability| Setting::Loss(LossModel::Bernoulli(probability))),
            bursts.prop_map(|model| Setting::Loss(LossModel::GilbertElliott(model))),
            probability().prop_map(Setting::Corruption),
            probability().prop_map(Setting::Duplication),
        ]
    }

    /// `fate` as if the impairment of `setting` were not there.
    fn without(setting: &Setting, fate: Fate) -> Fate {
        let Fate { arrival, .. } = fate;
        match setting {
            Setting::Jitter(_) => Fate { jitter: Duration::ZERO, ..fate },
            Setting::Reordering(_) => Fate { held_back: None, ..fate },
            Setting::Loss(_) => Fate { arrival: Arrival { is_lost: false, ..arrival }, ..fate },
            Setting::Corruption(_) => Fate { arrival: Arrival { corrupted: None, ..arrival }, ..fate },
            Setting::Duplication(_) => Fate { arrival: Arrival { is_duplicated: false, ..arrival }, ..fate },
            other => unreachable!("{other:?} is no impairment"),
        }
    }

    fn impairments(settings: &[Setting]) -> Impairments {
        let mut config = DirectionConfig::default();
        settings.iter().for_each(|setting| config.apply(setting.clone()));
        Impairments::new(&config, 7, Port::Gateway)
    }

    proptest! {
        #[test]
        fn one_impairment_changes_nothing_of_another(
            common in proptest::collection::vec(setting(), 0..5), other in setting(), switch in 0..100,
        ) {
            let mut plain = impairments(&common);
            let mut changed = impairments(&common);
            for number in 0..150 {
                if number == switch {
                    changed.set(&other);
                }
                let (plain, changed) = (plain.next(Bytes::new(1500)), changed.next(Bytes::new(1500)));
                prop_assert_eq!(without(&other, plain), without(&other, changed));
                prop_assert!(number >= switch || plain == changed);
            }
        }

        #[test]
        fn an_impairment_switched_off_and_on_goes_on_as_if_it_had_stayed(
            setting in setting().prop_filter("begins good again", |s| !matches!(s, Setting::Loss(LossModel::GilbertElliott(_)))),
            off in 0..50, on in 50..100,
        ) {
            let mut constant = impairments(core::slice::from_ref(&setting));
            let mut changed = impairments(core::slice::from_ref(&setting));
            let usual = DirectionConfig::default().settings();
            for number in 0..150 {
                if number == off {
                    usual.iter().for_each(|usual| changed.set(usual));
                } else if number == on {
                    changed.set(&setting);
                }
                let (constant, changed) = (constant.next(Bytes::new(1500)), changed.next(Bytes::new(1500)));
                let expected = if (off..on).contains(&number) { without(&setting, constant) } else { constant };
                prop_assert_eq!(changed, expected);
            }
        }
    }
}
