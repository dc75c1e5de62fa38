//! The settings of a running link, and what may become of them.

use super::{ControlError, TimedChange};
use farhop_link::{Change, ChannelConfig, Direction, DirectionConfig, Setting, SettingError};
use farhop_units::suggestion;
use std::time::Duration;

/// The link's settings as they are now.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    config: ChannelConfig,
    /// Whether packets pass in bundles, so that nothing may be done to single ones.
    offload: bool,
}

/// The table of scenario files that the settings are in.
const TABLE: &str = "link.";
/// What belongs to the network that was built.
const FIXED: [&str; 2] = ["terminals", "access"];

impl Settings {
    pub(super) fn new(config: ChannelConfig, offload: bool) -> Self {
        Self { config, offload }
    }

    /// Makes assignments, all or none; what is to be told to the link.
    pub(super) fn assign(&mut self, assignments: &[(&str, &str)]) -> Result<Vec<Change>, ControlError> {
        let changes = assignments.iter().map(|(name, value)| change(name, value)).collect::<Result<Vec<_>, _>>()?;
        let mut config = self.config.clone();
        changes.iter().cloned().for_each(|change| config.apply(change));
        config.check().map_err(|error| ControlError::Refused(format!("{TABLE}{error}")))?;
        check_offload(&config, self.offload)?;
        self.config = config;
        Ok(changes)
    }

    /// Everything that differs from the defaults, or one setting, as `NAME=VALUE`.
    pub(super) fn describe(&self, wanted: Option<&str>) -> Result<Vec<String>, ControlError> {
        let line = |name: &str, value: &str| format!("{TABLE}{name}={value}");
        let Some(wanted) = wanted else {
            return Ok(self.config.describe().iter().map(|(name, value)| line(name, value)).collect());
        };
        let name = wanted.strip_prefix(TABLE).unwrap_or(wanted);
        let fixed = FIXED.into_iter().zip([self.config.terminals.to_string(), self.config.access.to_string()]);
        let ways = [("down", &self.config.down), ("up", &self.config.up)];
        let settings = ways.into_iter().flat_map(|(way, config)| {
            config.settings().into_iter().map(move |setting| (format!("{way}.{}", setting.word()), setting.to_string()))
        });
        let mut all = fixed.map(|(name, value)| (name.to_owned(), value)).chain(settings);
        let found = all.find(|(known, _)| known == name).map(|(name, value)| vec![line(&name, &value)]);
        found.ok_or_else(|| unknown(wanted))
    }
}

/// Packets may pass a link in bundles if nothing is done to single ones, and nothing takes time in proportion to size.
fn check_offload(config: &ChannelConfig, offload: bool) -> Result<(), ControlError> {
    let only_delays = |way: &DirectionConfig| DirectionConfig { delay: Duration::ZERO, ..way.clone() }.is_transparent();
    if !offload || (only_delays(&config.down) && only_delays(&config.up)) {
        return Ok(());
    }
    let problem = "packets pass in bundles (offload); accepted: a link of unlimited rate that does nothing but delay";
    Err(ControlError::Refused(problem.to_owned()))
}

fn change(name: &str, value: &str) -> Result<Change, ControlError> {
    let known = name.strip_prefix(TABLE).ok_or_else(|| unknown(name))?;
    if FIXED.contains(&known) {
        let problem = format!("{name} cannot change while the link runs; accepted: {}", accepted());
        return Err(ControlError::Refused(problem));
    }
    Change::parse(known, value).map_err(|error| match error {
        SettingError::UnknownName(_) => unknown(name),
        SettingError::BadValue { .. } => ControlError::Refused(format!("{TABLE}{error}")),
    })
}

fn unknown(name: &str) -> ControlError {
    let ways = Direction::BOTH.map(Direction::word).into_iter();
    let known: Vec<String> = ways.flat_map(|way| Setting::WORDS.map(|word| format!("{TABLE}{way}.{word}"))).collect();
    let suggestion = suggestion(name, known.iter().map(String::as_str));
    ControlError::Refused(format!("unknown setting \"{name}\"{suggestion}; accepted: {}", accepted()))
}

fn accepted() -> String {
    format!("link.down or link.up, a point, and one of {}, e.g. link.down.rate", Setting::WORDS.join(", "))
}

/// `NAME=VALUE[, NAME=VALUE…]`; values hold no comma.
pub(super) fn assignments(text: &str) -> Result<Vec<(&str, &str)>, ControlError> {
    let wrong = |part: &str| {
        ControlError::Refused(format!(
            "\"{}\" is no assignment; accepted: NAME=VALUE, e.g. link.down.rate=2Mbit/s",
            part.trim()
        ))
    };
    let split = |part| str::split_once(part, '=').ok_or_else(|| wrong(part));
    text.split(',').map(|part| split(part).map(|(name, value)| (name.trim(), value.trim()))).collect()
}

/// A timetable in order of time, if all of its changes can be made one after the other on this link.
///
/// # Errors
/// The first that cannot, or that packets cannot be bundled on this link.
pub(crate) fn check_timetable(
    config: &ChannelConfig,
    offload: bool,
    timetable: &[TimedChange],
) -> Result<Vec<TimedChange>, ControlError> {
    check_offload(config, offload)?;
    let mut timetable = timetable.to_vec();
    timetable.sort_by_key(|(at, ..)| *at);
    let mut settings = Settings::new(config.clone(), offload);
    for together in timetable.chunk_by(|(one, ..), (other, ..)| one == other) {
        let (at, ..) = together[0];
        let assigned = settings.assign(&pairs(together));
        assigned.map_err(|error| ControlError::Timetable { at, problem: error.to_string() })?;
    }
    Ok(timetable)
}

pub(super) fn pairs(changes: &[TimedChange]) -> Vec<(&str, &str)> {
    changes.iter().map(|(_, name, value)| (name.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let mut config = ChannelConfig { terminals: 3, ..ChannelConfig::default() };
        config.set("down.rate", "10 Mbit/s").unwrap();
        Settings::new(config, false)
    }

    fn problem(settings: &mut Settings, text: &str) -> String {
        let assigned = assignments(text).and_then(|assignments| settings.assign(&assignments));
        assigned.expect_err("must be refused").to_string()
    }

    #[test]
    fn assignments_are_made_together_or_not_at_all() {
        let mut settings = settings();
        let text = "link.down.rate=2Mbit/s, link.up.delay = 300 ms";
        let changes = settings.assign(&assignments(text).unwrap()).unwrap();
        assert_eq!(changes.iter().map(Change::name).collect::<Vec<_>>(), ["down.rate", "up.delay"]);
        let before = settings.describe(None).unwrap();
        assert_eq!(before, ["link.terminals=3", "link.down.rate=2 Mbit/s", "link.up.delay=300 ms"]);
        let refused = problem(&mut settings, "link.down.rate=9Mbit/s, link.up.delay=soon");
        assert!(refused.starts_with("link.up.delay: "), "{refused}");
        assert_eq!(settings.describe(None).unwrap(), before);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let mut settings = settings();
        let refused = problem(&mut settings, "link.terminals=4");
        assert!(refused.starts_with("link.terminals cannot change while the link runs; accepted: "), "{refused}");
        let refused = problem(&mut settings, "link.up.delay=25h");
        assert!(refused.starts_with("link.up.delay: longer than 24 h; accepted: one way"), "{refused}");
        let unknown = [
            ("link.down.rat=1", "\"link.down.rat\"; did you mean link.down.rate?"),
            ("link.donw.delay=1s", "\"link.donw.delay\"; did you mean link.down.delay?"),
            ("down.loss=1%", "\"down.loss\"; did you mean link.down.loss?"),
            ("tcp.mss=1", "\"tcp.mss\""),
        ];
        for (text, told) in unknown {
            let refused = problem(&mut settings, text);
            assert_eq!(
                refused.split("; accepted: link.down or link.up").next(),
                Some(&*format!("unknown setting {told}"))
            );
        }
        let refused = problem(&mut settings, "fast, please");
        assert!(refused.starts_with("\"fast\" is no assignment; accepted: NAME=VALUE"), "{refused}");
    }

    #[test]
    fn one_setting_is_told_even_at_its_default() {
        assert_eq!(settings().describe(Some("link.up.rate")).unwrap(), ["link.up.rate=unlimited"]);
        assert_eq!(settings().describe(Some("link.terminals")).unwrap(), ["link.terminals=3"]);
        assert!(settings().describe(Some("link.up.speed")).is_err());
    }

    #[test]
    fn a_link_that_bundles_packets_stays_unlimited() {
        let mut settings = Settings::new(ChannelConfig::default(), true);
        settings.assign(&[("link.down.delay", "250 ms")]).expect("only a delay");
        let refused = problem(&mut settings, "link.down.rate=1Mbit/s");
        assert!(refused.starts_with("packets pass in bundles"), "{refused}");
    }

    #[test]
    fn a_timetable_is_checked_in_order_of_time() {
        let change =
            |seconds, name: &str, value: &str| (Duration::from_secs(seconds), name.to_owned(), value.to_owned());
        let config = ChannelConfig::default();
        let timetable = [change(2, "link.up.rate", "1 Mbit/s"), change(1, "link.up.rate", "2 Mbit/s")];
        let sorted = check_timetable(&config, false, &timetable).unwrap();
        assert_eq!(sorted, [timetable[1].clone(), timetable[0].clone()]);
        let wrong = check_timetable(&config, false, &[change(3, "link.up.rate", "fast")]).unwrap_err().to_string();
        assert!(wrong.starts_with("change at 3s: link.up.rate: "), "{wrong}");
    }
}
