//! The network of a scenario: the far link with its terminals, wan and lan.
//!
//! The settings of a direction are those of [`Setting::WORDS`], by the names and in the texts that packet logs and live changes
//! have too. Only what a file can say beyond that is here: files of traces, one orbit for both directions, queues that are not given.

use crate::files::Files;
use crate::reader::{Document, Spread, ValueError, key_in};
use crate::traces;
use farhop_link::{Access, ChannelConfig, Direction, DirectionConfig, QueueLimit, Setting};
use farhop_units::{Bytes, ParseError};

/// Queues default to at least this: 43 full packets.
const MIN_DEFAULT_QUEUE: Bytes = Bytes::kb(64);

/// The setting that may be a file.
const TRACE: &str = "trace";
/// Settings that are one quantity; the others have terms and may be tables.
const SIMPLE: [&str; 5] = ["rate", "delay", "queue", "corruption", "duplication"];
pub(crate) const MODEL: Spread = Spread { head: "model", beside: &[] };
const SCHEME: Spread = Spread { head: "scheme", beside: &["terminals"] };

/// A channel's tables in the file, down and up; one and the same if both directions share it.
type Tables = [&'static str; 2];

/// `[link.down]`, `[link.up]` and `[access]`.
pub(crate) fn far_link(document: &Document, files: &Files) -> Result<ChannelConfig, ValueError> {
    const TABLES: Tables = ["link.down", "link.up"];
    let mut both = DirectionConfig::default();
    read(document, "link.orbit", "orbit", &mut both)?;
    let [down, up] = TABLES.map(|table| direction(document, files, table, both.clone()));
    let mut config = ChannelConfig { down: down?, up: up?, ..ChannelConfig::default() };
    if let Some(terminals) = document.get("access.terminals", terminals)? {
        config.terminals = terminals;
    }
    if let Some(access) = document.compound("access", SCHEME, str::parse::<Access>)? {
        config.access = access;
    }
    complete(document, TABLES, config)
}

/// `[wan]` or `[lan]`: the same in both directions.
pub(crate) fn segment(document: &Document, files: &Files, table: &'static str) -> Result<ChannelConfig, ValueError> {
    let both = direction(document, files, table, DirectionConfig::default())?;
    complete(document, [table; 2], ChannelConfig { down: both.clone(), up: both, ..ChannelConfig::default() })
}

/// Every setting that the file gives for one direction.
fn direction(
    document: &Document,
    files: &Files,
    table: &str,
    mut config: DirectionConfig,
) -> Result<DirectionConfig, ValueError> {
    let mut key = key_in(table, "");
    let start = key.len();
    for word in Setting::WORDS.into_iter().filter(|word| *word != TRACE) {
        key.truncate(start);
        key.push_str(word);
        read(document, &key, word, &mut config)?;
    }
    traces::read(document, files, table, &mut config)?;
    Ok(config)
}

fn read(document: &Document, key: &str, word: &str, config: &mut DirectionConfig) -> Result<(), ValueError> {
    let parse = |text: &str| setting(word, text);
    let setting =
        if SIMPLE.contains(&word) { document.get(key, parse)? } else { document.compound(key, MODEL, parse)? };
    if let Some(setting) = setting {
        config.apply(setting);
    }
    Ok(())
}

/// The setting named `word` from its text form.
pub(crate) fn setting(word: &str, text: &str) -> Result<Setting, ParseError> {
    Setting::parse(word, text).expect("a word of the table")
}

fn terminals(text: &str) -> Result<u16, ParseError> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| ParseError::new("not a number of terminals", "a whole number from 1 to 65535"))
}

/// Fills in the queues, then looks for settings that contradict each other.
fn complete(document: &Document, tables: Tables, mut config: ChannelConfig) -> Result<ChannelConfig, ValueError> {
    default_queues(document, tables, &mut config);
    match config.check() {
        Ok(()) => Ok(config),
        Err(error) => {
            let way = |direction: &Direction| error.setting.strip_prefix(direction.word())?.strip_prefix('.');
            let ways = Direction::BOTH.iter().zip(tables);
            let refused = ways.into_iter().find_map(|(direction, table)| Some(format!("{table}.{}", way(direction)?)));
            Err(match refused {
                Some(key) => document.blame(&key, MODEL, error.problem),
                None => document.blame(&error.setting, SCHEME, error.problem),
            })
        }
    }
}

/// A queue that the file does not give holds one bandwidth-delay product (RFC 3439 §2.1's rule of thumb).
fn default_queues(document: &Document, [down, up]: Tables, config: &mut ChannelConfig) {
    let rtt = config.rtt();
    for (table, direction) in [(down, &mut config.down), (up, &mut config.up)] {
        if let (Some(rate), false) = (direction.peak_rate(), document.has(&key_in(table, "queue"))) {
            direction.queue = QueueLimit::Bytes(rate.bytes_in(rtt).max(MIN_DEFAULT_QUEUE));
        }
    }
}
