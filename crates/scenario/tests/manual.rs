//! The manual says what the reader does: every key, every example, every shipped scenario.

use farhop_link::{Access, Setting};
use farhop_scenario::{open, parse, shipped};

const MANUAL: &str = include_str!("../../../docs/scenario.md");

/// The rows of the table under `heading`, cell by cell.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let rows = MANUAL.lines().skip_while(|line| *line != heading).skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('|').trim()).collect())
        .collect();
    assert!(!rows.is_empty(), "no table under {heading}");
    rows
}

fn keys() -> Vec<&'static str> {
    let cells = table("| key | default | accepted |").into_iter().map(|row| row[0]);
    cells.flat_map(|cell| cell.split(", ")).map(|key| key.trim().trim_matches('`')).collect()
}

#[test]
fn documented_keys_are_known() {
    for key in keys() {
        // No key accepts this text but `title`; a key nobody knows would be refused as unknown.
        let refused = open("demo", &[format!("{key}=\u{1}")]).err().map(|error| error.to_string());
        assert!(!refused.is_some_and(|error| error.contains("unknown key")), "{key} is documented but unknown");
    }
}

#[test]
fn what_is_none_by_default_can_be_none() {
    let rows = table("| key | default | accepted |").into_iter().filter(|row| row[1].starts_with("none"));
    let keys: Vec<&str> = rows.flat_map(|row| row[0].split(", ")).map(|key| key.trim_matches('`')).collect();
    assert!(keys.contains(&"log.hosts") && keys.contains(&"users.model"), "{keys:?}");
    for key in keys {
        for name in ["demo", "rwbp-128", "nz-us-log"] {
            if (name, key) == ("nz-us-log", "log.file") {
                continue;
            }
            let without = open(name, &[format!("{key}=none")]).unwrap_or_else(|error| panic!("{name}, {key}: {error}"));
            // The demo's file says nothing of them.
            if name == "demo" {
                assert_eq!(without, open(name, &[]).expect("it is shipped"), "{key}");
            }
        }
    }
}

#[test]
fn known_keys_are_documented() {
    let keys = keys();
    for table in ["link.down", "link.up", "wan", "lan"] {
        for word in Setting::WORDS.into_iter().chain(["trace_end"]) {
            assert!(keys.contains(&format!("{table}.{word}").as_str()), "{table}.{word} is not documented");
        }
    }
    for known in shipped::all() {
        let text = open(known.name, &[]).expect("it is shipped").to_toml();
        // Below [access] stand the terms of its scheme, which have a table of their own.
        let shown = text.split("\n[").filter(|section| !section.starts_with("access]"));
        for name in shown.flat_map(str::lines).filter_map(|line| line.split_once(" = ")).map(|(name, _)| name) {
            assert!(keys.iter().any(|key| key.rsplit('.').next() == Some(name)), "{name} is not documented");
        }
    }
}

#[test]
fn examples_are_scenarios() {
    let blocks: Vec<&str> = MANUAL.split("```toml").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 8, "an example for every setting");
    for block in blocks {
        let whole = if block.contains("version = 1\n") { "" } else { "version = 1\n" };
        let page = if block.contains("[page]") || block.contains("[log]") {
            ""
        } else {
            "[page]\nobjects = 2\nsize = \"5 kB\"\n"
        };
        let parsed = parse("example", &format!("{whole}{block}{page}"), &[]);
        assert!(parsed.is_ok(), "{block}{}", parsed.map_or_else(|error| error.to_string(), |_| String::new()));
    }
}

#[test]
fn a_text_and_its_table_are_the_same() {
    let blocks: Vec<&str> = MANUAL.split("```toml").filter_map(|rest| rest.split("```").next()).collect();
    let loss = |block: &str| {
        let text = format!("version = 1\n{block}[page]\nobjects = 2\nsize = \"5 kB\"\n");
        parse("example", &text, &[]).expect("an example").link.down.loss
    };
    assert!(!loss(blocks[2]).is_none());
    assert_eq!(loss(blocks[2]), loss(blocks[3]));
}

#[test]
fn schemes_are_what_their_table_says() {
    for row in table("| scheme | terms | models |") {
        let read = row[0].parse::<Access>();
        assert!(read.is_ok(), "{}: {read:?}", row[0]);
    }
}

#[test]
fn shipped_scenarios_are_listed() {
    let listed = table("| scenario | network |").into_iter().map(|row| (row[0].to_owned(), row[1].to_owned()));
    let title = |name: &str| open(name, &[]).expect("it is shipped").title;
    let shipped = shipped::all().map(|known| (known.name.to_owned(), title(known.name)));
    assert_eq!(listed.collect::<Vec<_>>(), shipped.collect::<Vec<_>>());
}
