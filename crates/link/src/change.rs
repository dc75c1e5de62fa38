//! One setting of one direction: how it changes, and how it is written in a log.

use crate::{ChannelConfig, Direction, DirectionConfig, LossModel};
use core::fmt;
use farhop_units::{Bytes, ParseError, Probability, Rate, duration};
use std::time::Duration;
use thiserror::Error;

/// A new value for one setting of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Which direction.
    pub direction: Direction,
    /// Which setting, and its value.
    pub setting: Setting,
}

/// A setting with its value, as in [`DirectionConfig`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// Rate of the serializer, from the next packet on.
    Rate(Option<Rate>),
    /// One-way delay of packets that enter the pipe from now on.
    Delay(Duration),
    /// Bytes that may wait; what waits already stays.
    Queue(Option<Bytes>),
    /// Loss model; its random stream goes on.
    Loss(LossModel),
}

/// Why a name and a text are not a setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// There is no such setting.
    #[error(
        "unknown setting \"{0}\"; accepted: down or up, a point, and rate, delay, queue or loss, e.g. \"down.rate\""
    )]
    UnknownName(String),
    /// The value cannot be read.
    #[error("{name}: {problem}")]
    BadValue {
        /// Name of the setting.
        name: String,
        /// What is wrong with the value.
        problem: ParseError,
    },
}

const UNLIMITED: &str = "unlimited";
const NO_LOSS: &str = "none";

impl Change {
    /// Reads what [`Change::name`] and [`Setting`]'s `Display` wrote.
    ///
    /// # Errors
    /// An unknown name, or a value that is not one for it.
    pub fn parse(name: &str, value: &str) -> Result<Self, SettingError> {
        let unknown = || SettingError::UnknownName(name.to_owned());
        let (direction, setting) = name.split_once('.').ok_or_else(unknown)?;
        let direction = Direction::BOTH.into_iter().find(|known| known.word() == direction).ok_or_else(unknown)?;
        let setting = match setting {
            "rate" => limit(value).map(Setting::Rate),
            "delay" => duration::parse(value).map(Setting::Delay),
            "queue" => limit(value).map(Setting::Queue),
            "loss" => loss(value).map(Setting::Loss),
            _ => return Err(unknown()),
        };
        let setting = setting.map_err(|problem| SettingError::BadValue { name: name.to_owned(), problem })?;
        Ok(Self { direction, setting })
    }

    /// The setting's name in a log: `down.rate`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.direction.word(), self.setting.word())
    }
}

impl Setting {
    /// The setting's name within its direction.
    const fn word(&self) -> &'static str {
        match self {
            Self::Rate(_) => "rate",
            Self::Delay(_) => "delay",
            Self::Queue(_) => "queue",
            Self::Loss(_) => "loss",
        }
    }
}

/// The value alone, exact: [`Change::parse`] reads the same one back.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(Some(rate)) => write!(f, "{rate}"),
            Self::Queue(Some(limit)) => write!(f, "{limit}"),
            Self::Rate(None) | Self::Queue(None) => f.write_str(UNLIMITED),
            Self::Delay(delay) => f.write_str(&duration::format(*delay)),
            Self::Loss(LossModel::None) => f.write_str(NO_LOSS),
            // A fraction, since a percentage may round.
            Self::Loss(LossModel::Bernoulli(probability)) => write!(f, "{}", probability.get()),
        }
    }
}

impl ChannelConfig {
    /// The changes that make this configuration out of any other, in a fixed order.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        [(Direction::Down, &self.down), (Direction::Up, &self.up)].into_iter().flat_map(|(direction, config)| {
            let DirectionConfig { rate, delay, queue, loss } = *config;
            [Setting::Rate(rate), Setting::Delay(delay), Setting::Queue(queue), Setting::Loss(loss)]
                .map(|setting| Change { direction, setting })
        })
    }

    /// Makes one change.
    pub fn apply(&mut self, change: Change) {
        let config = match change.direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        match change.setting {
            Setting::Rate(rate) => config.rate = rate,
            Setting::Delay(delay) => config.delay = delay,
            Setting::Queue(queue) => config.queue = queue,
            Setting::Loss(loss) => config.loss = loss,
        }
    }
}

/// A quantity, or the word for none.
fn limit<T: core::str::FromStr<Err = ParseError>>(text: &str) -> Result<Option<T>, ParseError> {
    if text == UNLIMITED { Ok(None) } else { text.parse().map(Some) }
}

fn loss(text: &str) -> Result<LossModel, ParseError> {
    if text == NO_LOSS { Ok(LossModel::None) } else { text.parse::<Probability>().map(LossModel::Bernoulli) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn setting() -> impl Strategy<Value = Setting> {
        let probability = (0.0..=1.0).prop_map(|p| Probability::new(p).expect("from 0 to 1"));
        prop_oneof![
            any::<u64>().prop_map(|bits| Setting::Rate(Rate::from_bits_per_second(bits))),
            any::<u64>().prop_map(|nanos| Setting::Delay(Duration::from_nanos(nanos))),
            any::<Option<u64>>().prop_map(|limit| Setting::Queue(limit.map(Bytes::new))),
            prop_oneof![Just(LossModel::None), probability.prop_map(LossModel::Bernoulli)].prop_map(Setting::Loss),
        ]
    }

    #[test]
    fn settings_are_written_as_in_a_scenario() {
        let config = ChannelConfig {
            down: DirectionConfig {
                rate: Some(Rate::kbps(2048)),
                delay: Duration::from_micros(258_600),
                queue: Some(Bytes::kb(256)),
                loss: Probability::new(0.001).map_or(LossModel::None, LossModel::Bernoulli),
            },
            up: DirectionConfig::default(),
        };
        let written: Vec<_> =
            config.changes().map(|change| format!("{} = {}", change.name(), change.setting)).collect();
        let expected = [
            "down.rate = 2.048 Mbit/s",
            "down.delay = 258.6 ms",
            "down.queue = 256 kB",
            "down.loss = 0.001",
            "up.rate = unlimited",
            "up.delay = 0 ms",
            "up.queue = unlimited",
            "up.loss = none",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn all_changes_together_make_the_configuration() {
        let up = DirectionConfig { rate: Some(Rate::mbps(1)), delay: Duration::from_millis(9), ..Default::default() };
        let config = ChannelConfig { down: DirectionConfig { queue: Some(Bytes::kb(1)), ..up.clone() }, up };
        let mut made = ChannelConfig::default();
        config.changes().for_each(|change| made.apply(change));
        assert_eq!(made, config);
    }

    #[test]
    fn errors_name_the_setting_and_what_is_accepted() {
        let message = |name, value| Change::parse(name, value).unwrap_err().to_string();
        let unknown = "; accepted: down or up, a point, and rate, delay, queue or loss, e.g. \"down.rate\"";
        for name in ["rate", "left.rate", "down.speed", "down.", ""] {
            assert_eq!(message(name, "1 Mbit/s"), format!("unknown setting \"{name}\"{unknown}"));
        }
        assert_eq!(
            message("down.rate", "20 mbps"),
            "down.rate: unknown unit \"mbps\"; accepted: a number above zero and bit/s, kbit/s, Mbit/s or Gbit/s, e.g. \
             \"2048 kbit/s\""
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_exactly(setting in setting(), down: bool) {
            let change = Change { direction: if down { Direction::Down } else { Direction::Up }, setting };
            prop_assert_eq!(Change::parse(&change.name(), &change.setting.to_string()), Ok(change));
        }
    }
}
