//! The settings of a channel: their names, how they are written, how they change.
//!
//! One table for scenario files, packet logs and changes on a running link: `down.rate = 2 Mbit/s`, `up.loss = 0.001`,
//! `access = dedicated`. What is written reads back exactly.

use crate::{ChannelConfig, Direction, DirectionConfig};
use crate::{Discipline, Framing, Jitter, LossModel, Orbit, Outages, QueueLimit, Reordering, Trace};
use core::fmt;
use core::str::FromStr;
use farhop_units::{ParseError, Probability, Rate, duration};
use std::time::Duration;
use thiserror::Error;

/// A new value for one setting of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which direction.
    pub direction: Direction,
    /// Which setting, and its value.
    pub setting: Setting,
}

/// A setting of a direction with its value, as in [`DirectionConfig`].
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Rate of the serializer, from the next packet on.
    Rate(Option<Rate>),
    /// One-way delay of packets that enter the pipe from now on.
    Delay(Duration),
    /// Recorded rate and delay, by the run's clock; from the next packet on.
    Trace(Option<Trace>),
    /// A satellite's path and handovers, by the run's clock.
    Orbit(Option<Orbit>),
    /// What may wait; what waits already stays.
    Queue(QueueLimit),
    /// Which waiting packet goes next; what waits is sorted anew.
    Discipline(Discipline),
    /// What is added to every packet, from the next packet on.
    Framing(Framing),
    /// Extra delay; its random stream goes on.
    Jitter(Jitter),
    /// Which packets are overtaken; its random stream goes on.
    Reordering(Reordering),
    /// Loss model; its random stream goes on, the state of a bursty channel begins good.
    Loss(LossModel),
    /// When nothing passes, by the run's clock; its random stream goes on.
    Outages(Outages),
    /// Probability of a flipped bit; its random stream goes on.
    Corruption(Probability),
    /// Probability of arriving twice; its random stream goes on.
    Duplication(Probability),
}

/// Why a name and a text are not a setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// There is no such setting.
    #[error("unknown setting \"{0}\"; accepted: down or up, a point, and one of {words}, e.g. \"down.rate\"", words = Setting::WORDS.join(", "))]
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
const NONE: &str = "none";
pub(crate) const TERMINALS: &str = "terminals";
pub(crate) const ACCESS: &str = "access";
/// The longest delay: farther than any spacecraft is.
const MAX_DELAY: Duration = Duration::from_secs(24 * 3600);

impl Change {
    /// Reads what [`Change::name`] and [`Setting`]'s `Display` wrote.
    ///
    /// # Errors
    /// An unknown name, or a value that is not one for it.
    pub fn parse(name: &str, value: &str) -> Result<Self, SettingError> {
        let unknown = || SettingError::UnknownName(name.to_owned());
        let (direction, word) = name.split_once('.').ok_or_else(unknown)?;
        let direction = Direction::BOTH.into_iter().find(|known| known.word() == direction).ok_or_else(unknown)?;
        let setting = Setting::parse(word, value).ok_or_else(unknown)?;
        let setting = setting.map_err(|problem| SettingError::BadValue { name: name.to_owned(), problem })?;
        Ok(Self { direction, setting })
    }

    /// The setting's name in a log: `down.rate`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.direction.word(), self.setting.word())
    }
}

impl Setting {
    /// The names of all settings, in the order in which they are written.
    pub const WORDS: [&'static str; 13] = [
        "rate",
        "delay",
        "trace",
        "orbit",
        "queue",
        "discipline",
        "framing",
        "jitter",
        "reordering",
        "loss",
        "outages",
        "corruption",
        "duplication",
    ];

    /// Reads the value of the setting named `word`; `None` if there is no such setting.
    pub fn parse(word: &str, value: &str) -> Option<Result<Self, ParseError>> {
        Some(match word {
            "rate" => optional(value, UNLIMITED).map(Self::Rate),
            "delay" => delay(value).map(Self::Delay),
            "trace" => optional(value, NONE).map(Self::Trace),
            "orbit" => optional(value, NONE).map(Self::Orbit),
            "queue" => value.parse().map(Self::Queue),
            "discipline" => value.parse().map(Self::Discipline),
            "framing" => value.parse().map(Self::Framing),
            "jitter" => value.parse().map(Self::Jitter),
            "reordering" => value.parse().map(Self::Reordering),
            "loss" => value.parse().map(Self::Loss),
            "outages" => value.parse().map(Self::Outages),
            "corruption" => value.parse().map(Self::Corruption),
            "duplication" => value.parse().map(Self::Duplication),
            _ => return None,
        })
    }

    /// The setting's name within its direction.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Rate(_) => "rate",
            Self::Delay(_) => "delay",
            Self::Trace(_) => "trace",
            Self::Orbit(_) => "orbit",
            Self::Queue(_) => "queue",
            Self::Discipline(_) => "discipline",
            Self::Framing(_) => "framing",
            Self::Jitter(_) => "jitter",
            Self::Reordering(_) => "reordering",
            Self::Loss(_) => "loss",
            Self::Outages(_) => "outages",
            Self::Corruption(_) => "corruption",
            Self::Duplication(_) => "duplication",
        }
    }
}

/// The value alone, exact: [`Setting::parse`] reads the same one back.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => or_word(f, rate.as_ref(), UNLIMITED),
            Self::Delay(delay) => f.write_str(&duration::format(*delay)),
            Self::Trace(trace) => or_word(f, trace.as_ref(), NONE),
            Self::Orbit(orbit) => or_word(f, orbit.as_ref(), NONE),
            Self::Queue(limit) => limit.fmt(f),
            Self::Discipline(discipline) => discipline.fmt(f),
            Self::Framing(framing) => framing.fmt(f),
            Self::Jitter(jitter) => jitter.fmt(f),
            Self::Reordering(reordering) => reordering.fmt(f),
            Self::Loss(model) => model.fmt(f),
            Self::Outages(outages) => outages.fmt(f),
            // A fraction, since a percentage may round.
            Self::Corruption(probability) | Self::Duplication(probability) => write!(f, "{}", probability.get()),
        }
    }
}

fn or_word(f: &mut fmt::Formatter<'_>, value: Option<&impl fmt::Display>, word: &str) -> fmt::Result {
    match value {
        Some(value) => value.fmt(f),
        None => f.write_str(word),
    }
}

/// A quantity, or the word for none.
fn optional<T: FromStr<Err = ParseError>>(text: &str, word: &str) -> Result<Option<T>, ParseError> {
    if text == word {
        return Ok(None);
    }
    let extend = |error: ParseError| ParseError { accepted: format!("{}, or \"{word}\"", error.accepted), ..error };
    text.parse().map(Some).map_err(extend)
}

impl DirectionConfig {
    /// All settings, in the order of [`Setting::WORDS`].
    pub fn settings(&self) -> [Setting; 13] {
        [
            Setting::Rate(self.rate),
            Setting::Delay(self.delay),
            Setting::Trace(self.trace.clone()),
            Setting::Orbit(self.orbit),
            Setting::Queue(self.queue),
            Setting::Discipline(self.discipline),
            Setting::Framing(self.framing),
            Setting::Jitter(self.jitter),
            Setting::Reordering(self.reordering),
            Setting::Loss(self.loss),
            Setting::Outages(self.outages.clone()),
            Setting::Corruption(self.corruption),
            Setting::Duplication(self.duplication),
        ]
    }

    /// Makes one change.
    pub fn apply(&mut self, setting: Setting) {
        match setting {
            Setting::Rate(rate) => self.rate = rate,
            Setting::Delay(delay) => self.delay = delay,
            Setting::Trace(trace) => self.trace = trace,
            Setting::Orbit(orbit) => self.orbit = orbit,
            Setting::Queue(queue) => self.queue = queue,
            Setting::Discipline(discipline) => self.discipline = discipline,
            Setting::Framing(framing) => self.framing = framing,
            Setting::Jitter(jitter) => self.jitter = jitter,
            Setting::Reordering(reordering) => self.reordering = reordering,
            Setting::Loss(loss) => self.loss = loss,
            Setting::Outages(outages) => self.outages = outages,
            Setting::Corruption(probability) => self.corruption = probability,
            Setting::Duplication(probability) => self.duplication = probability,
        }
    }
}

impl ChannelConfig {
    /// Names and values of everything that differs from the default, which together with it make this configuration
    /// ([`ChannelConfig::set`]).
    pub fn describe(&self) -> Vec<(String, String)> {
        let default = Self::default();
        let mut described = Vec::new();
        if self.terminals != default.terminals {
            described.push((TERMINALS.to_owned(), self.terminals.to_string()));
        }
        if self.access != default.access {
            described.push((ACCESS.to_owned(), self.access.to_string()));
        }
        for (direction, config) in [(Direction::Down, &self.down), (Direction::Up, &self.up)] {
            let usual = DirectionConfig::default().settings();
            let unusual = config.settings().into_iter().zip(usual).filter(|(setting, usual)| setting != usual);
            let changes = unusual.map(|(setting, _)| Change { direction, setting });
            described.extend(changes.map(|change| (change.name(), change.setting.to_string())));
        }
        described
    }

    /// Sets what `describe` names. Contradictions are for [`ChannelConfig::check`] to find.
    ///
    /// # Errors
    /// An unknown name, or a value that is not one for it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let bad = |problem| SettingError::BadValue { name: name.to_owned(), problem };
        match name {
            TERMINALS => self.terminals = terminals(value).map_err(bad)?,
            ACCESS => self.access = value.parse().map_err(bad)?,
            _ => self.apply(Change::parse(name, value)?),
        }
        Ok(())
    }

    /// Makes one change.
    pub fn apply(&mut self, change: Change) {
        match change.direction {
            Direction::Down => self.down.apply(change.setting),
            Direction::Up => self.up.apply(change.setting),
        }
    }
}

fn delay(text: &str) -> Result<Duration, ParseError> {
    let delay = duration::parse(text)?;
    let refuse = || ParseError::new("longer than 24 h", "one way, from 0 ms to 24 h, e.g. \"250 ms\"");
    if delay <= MAX_DELAY { Ok(delay) } else { Err(refuse()) }
}

/// Reads a number of terminals.
fn terminals(text: &str) -> Result<u16, ParseError> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| no_terminals(&format!("\"{text}\"")))
}

/// Why there cannot be so many terminals.
pub(crate) fn no_terminals(count: &str) -> ParseError {
    ParseError::new(format!("{count} terminals"), "a whole number from 1 to 65535")
}
