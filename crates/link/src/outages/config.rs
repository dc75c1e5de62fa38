//! When a direction is down, as a scenario describes it.

use core::fmt;
use core::str::FromStr;
use farhop_units::terms::{Terms, time};
use farhop_units::{Instant, ParseError, duration};
use std::sync::Arc;
use std::time::Duration;

/// When a direction is down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Outages {
    /// Never.
    #[default]
    None,
    /// At these times since the run began, for so long: in order, each after the end of the one before.
    At(Arc<[(Instant, Duration)]>),
    /// From `first` on every `period` for so long.
    Periodic {
        /// The beginning of the first one.
        first: Instant,
        /// From one beginning to the next; longer than `length`.
        period: Duration,
        /// How long each lasts.
        length: Duration,
    },
    /// At random: up and down times are exponential with these means. The run begins up.
    Random {
        /// Mean time from the end of one to the beginning of the next.
        up: Duration,
        /// Mean length.
        down: Duration,
    },
}

const NONE: &str = "none";
const AT: &str = "at";
const PERIODIC: &str = "periodic";
const RANDOM: &str = "random";
const ACCEPTED: &str = "none, at windows=10s+2s;60s+5s (beginning+length), periodic first=10s period=60s length=2s, or \
                        random up=60s down=2s";

/// Far more than anyone writes by hand.
const MOST_WINDOWS: usize = 10_000;

/// The shortest mean of random times: below, a run would be spent on drawing them.
const LEAST_MEAN: Duration = Duration::from_millis(1);

impl Outages {
    /// The outages from one time to another, each within these, if they are known and no more than a thousand.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> Option<Vec<(Instant, Instant)>> {
        const MOST: u128 = 1000;
        let within = |begin: Instant, length: Duration| {
            let (begin, end) = (begin.max(from), (begin + length).min(to));
            (begin < end).then_some((begin, end))
        };
        match self {
            Self::None => Some(Vec::new()),
            Self::At(windows) => Some(windows.iter().filter_map(|(begin, length)| within(*begin, *length)).collect()),
            Self::Periodic { first, period, length } => {
                let number = |at: Instant| at.since(*first).as_nanos() / period.as_nanos().max(1);
                let (skipped, last) = (number(from), number(to));
                if last - skipped > MOST {
                    return None;
                }
                let at = |number: u128| Some(*first + period.checked_mul(u32::try_from(number).ok()?)?);
                let begins: Vec<Instant> = (skipped..=last).map(at).collect::<Option<_>>()?;
                Some(begins.into_iter().filter_map(|begin| within(begin, *length)).collect())
            }
            Self::Random { .. } => None,
        }
    }

    /// For how many s it is down until then; at random, on average.
    pub(crate) fn down_by(&self, at: Instant) -> f64 {
        let overlap = |begin: Instant, length: Duration| at.since(begin).min(length).as_secs_f64();
        match self {
            Self::None => 0.0,
            Self::At(windows) => windows.iter().map(|(begin, length)| overlap(*begin, *length)).sum(),
            Self::Periodic { first, period, length } => {
                let since = at.since(*first);
                let rest = Duration::from_nanos_u128(since.as_nanos() % period.as_nanos().max(1));
                let rounds = ((since - rest).as_secs_f64() / period.as_secs_f64()).round();
                rounds * length.as_secs_f64() + rest.min(*length).as_secs_f64()
            }
            Self::Random { up, down } => {
                (at - Instant::START).as_secs_f64() * down.as_secs_f64() / (*up + *down).as_secs_f64()
            }
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// Outages that are empty, overlap or are out of order, and too many of them.
    pub(crate) fn check(&self) -> Result<(), ParseError> {
        match self {
            Self::None => Ok(()),
            Self::At(windows) => check_windows(windows),
            Self::Periodic { length, .. } if length.is_zero() => Err(zero("length")),
            Self::Periodic { period, length, .. } if length >= period => {
                let problem = format!("length: {} is not shorter than the period", time(*length));
                Err(ParseError::new(problem, format!("less than {}", time(*period))))
            }
            Self::Periodic { .. } => Ok(()),
            Self::Random { up, down } => check_mean("up", *up).and_then(|()| check_mean("down", *down)),
        }
    }
}

fn zero(name: &str) -> ParseError {
    ParseError::new(format!("{name}: an outage of no time"), "more than 0 ms, e.g. 2s")
}

fn check_mean(name: &str, mean: Duration) -> Result<(), ParseError> {
    if mean >= LEAST_MEAN {
        return Ok(());
    }
    let problem = format!("{name}: a mean of {} is too short", time(mean));
    Err(ParseError::new(problem, format!("at least {}", time(LEAST_MEAN))))
}

fn check_windows(windows: &[(Instant, Duration)]) -> Result<(), ParseError> {
    if windows.is_empty() || windows.len() > MOST_WINDOWS {
        let accepted = format!("1 to {MOST_WINDOWS}, e.g. 10s+2s;60s+5s");
        return Err(ParseError::new(format!("windows: {} outages", windows.len()), accepted));
    }
    if windows.iter().any(|(_, length)| length.is_zero()) {
        return Err(zero("windows"));
    }
    let is_early = |pair: &&[(Instant, Duration)]| pair[1].0 <= pair[0].0 + pair[0].1;
    match windows.windows(2).find(is_early) {
        None => Ok(()),
        Some(pair) => {
            let [first, second] = [pair[0], pair[1]].map(window);
            let problem = format!("windows: {second} does not begin after the end of {first}");
            Err(ParseError::new(problem, "outages in order, with time between them"))
        }
    }
}

impl FromStr for Outages {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let terms = Terms::split(text, ACCEPTED)?;
        let required = |name| {
            let value = terms.get(name, duration::parse)?;
            value.ok_or_else(|| missing(name, text))
        };
        let outages = match terms.word {
            NONE => Self::None,
            AT => Self::At(terms.get("windows", windows)?.ok_or_else(|| missing("windows", text))?),
            PERIODIC => Self::Periodic {
                first: Instant::START + required("first")?,
                period: required("period")?,
                length: required("length")?,
            },
            RANDOM => Self::Random { up: required("up")?, down: required("down")? },
            other => return Err(ParseError::unknown("outages", other, [NONE, AT, PERIODIC, RANDOM], ACCEPTED)),
        };
        terms.finish()?;
        outages.check()?;
        Ok(outages)
    }
}

fn missing(name: &str, text: &str) -> ParseError {
    ParseError::new(format!("no \"{name}\" in \"{text}\""), ACCEPTED)
}

fn windows(text: &str) -> Result<Arc<[(Instant, Duration)]>, ParseError> {
    let read = |window: &str| {
        let (begin, length) = window.split_once('+').ok_or_else(|| {
            ParseError::new(
                format!("no \"+\" in \"{window}\""),
                "beginning+length;beginning+length, e.g. 10s+2s;60s+5s",
            )
        })?;
        Ok((Instant::START + duration::parse(begin)?, duration::parse(length)?))
    };
    text.split(';').map(read).collect()
}

fn window((begin, length): (Instant, Duration)) -> String {
    format!("{}+{}", time(begin.since(Instant::START)), time(length))
}

impl fmt::Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str(NONE),
            Self::At(windows) => {
                let windows: Vec<String> = windows.iter().copied().map(window).collect();
                write!(f, "{AT} windows={}", windows.join(";"))
            }
            Self::Periodic { first, period, length } => {
                let first = time(first.since(Instant::START));
                write!(f, "{PERIODIC} first={first} period={} length={}", time(*period), time(*length))
            }
            Self::Random { up, down } => write!(f, "{RANDOM} up={} down={}", time(*up), time(*down)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_name_the_outages() {
        let secs = Duration::from_secs;
        let at = |second| Instant::START + secs(second);
        let known = [
            ("none", Outages::None),
            ("at windows=10s+2s;60s+5s", Outages::At([(at(10), secs(2)), (at(60), secs(5))].into())),
            (
                "periodic first=10s period=60s length=2s",
                Outages::Periodic { first: at(10), period: secs(60), length: secs(2) },
            ),
            ("random up=60s down=500ms", Outages::Random { up: secs(60), down: Duration::from_millis(500) }),
        ];
        for (text, outages) in known {
            assert_eq!(outages.to_string(), text);
            assert_eq!(text.parse(), Ok(outages));
        }
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |text: &str| text.parse::<Outages>().unwrap_err().problem;
        assert_eq!(problem("sometimes"), "unknown outages \"sometimes\"");
        assert_eq!(problem("at"), "no \"windows\" in \"at\"");
        assert_eq!(problem("at windows="), "windows: no \"+\" in \"\"");
        assert_eq!(problem("at windows=10s+2s;"), "windows: no \"+\" in \"\"");
        assert_eq!(problem("at windows=10s+2"), "windows: \"2\" has no unit");
        assert_eq!(problem("at windows=10s+0s"), "windows: an outage of no time");
        assert_eq!(problem("at windows=60s+5s;10s+2s"), "windows: 10s+2s does not begin after the end of 60s+5s");
        assert_eq!(problem("at windows=1s+5s;4s+2s"), "windows: 4s+2s does not begin after the end of 1s+5s");
        assert_eq!(problem("at windows=1s+5s;6s+2s"), "windows: 6s+2s does not begin after the end of 1s+5s");
        assert_eq!(problem("periodic first=1s period=2s"), "no \"length\" in \"periodic first=1s period=2s\"");
        assert_eq!(problem("periodic first=1s period=2s length=0s"), "length: an outage of no time");
        assert_eq!(problem("periodic first=1s period=2s length=2s"), "length: 2s is not shorter than the period");
        assert_eq!(problem("random up=60s down=1us"), "down: a mean of 1us is too short");
        assert_eq!(problem("random up=60s down=1s first=2s"), "unknown term \"first\"");
    }

    #[test]
    fn absurdly_many_outages_are_refused() {
        let text = |count: usize| {
            let windows: Vec<String> = (0..count).map(|second| format!("{second}s+1ms")).collect();
            format!("at windows={}", windows.join(";"))
        };
        assert!(text(MOST_WINDOWS).parse::<Outages>().is_ok());
        let problem = text(MOST_WINDOWS + 5).parse::<Outages>().unwrap_err().problem;
        assert_eq!(problem, "windows: 10005 outages");
    }

    fn span() -> impl Strategy<Value = Duration> {
        (1_000_000_u64..1 << 55).prop_map(Duration::from_nanos)
    }

    fn outages() -> impl Strategy<Value = Outages> {
        let windows = proptest::collection::vec((1_u64..1 << 50, 1_u64..1 << 50), 1..20).prop_map(|spans| {
            let mut end = Instant::START;
            let windows = spans.into_iter().map(|(gap, length)| {
                let (begin, length) = (end + Duration::from_nanos(gap), Duration::from_nanos(length));
                end = begin + length;
                (begin, length)
            });
            Outages::At(windows.collect())
        });
        let periodic = (span(), span(), span()).prop_map(|(first, rest, length)| Outages::Periodic {
            first: Instant::START + first,
            period: length + rest,
            length,
        });
        let random = (span(), span()).prop_map(|(up, down)| Outages::Random { up, down });
        prop_oneof![Just(Outages::None), windows, periodic, random]
    }

    proptest! {
        #[test]
        fn outages_read_back_exactly(outages in outages()) {
            let text = outages.to_string();
            prop_assert!(!text.contains([',', '"', '#']), "{}", text);
            prop_assert_eq!(text.parse(), Ok(outages));
        }

        #[test]
        fn any_text_gives_an_answer(
            text in "(at|periodic|random)( (windows|first|period|length|up|down)=([0-9]{0,20}n?s?[+;]?){0,4}){0,4}|.*",
        ) {
            let _ = text.parse::<Outages>();
        }
    }
}
