//! A resolved scenario as TOML: every value written out, the page included.

use crate::scenario::Scenario;
use crate::words::{self, spell};
use core::fmt::{Display, Write};
use farhop_link::{ChannelConfig, DirectionConfig, LossModel};
use farhop_units::duration;

impl Scenario {
    /// The scenario as a file that [`parse`](crate::parse) reads back as the same scenario.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("version = 1\n");
        let sections = [
            format!("title = {}\n", quoted(&self.title)),
            direction("link.down", &self.link.down),
            direction("link.up", &self.link.up),
            segment("wan", &self.wan),
            segment("lan", &self.lan),
            self.tcp_section(),
            self.page_section(),
            self.http_section(),
            self.run_section(),
        ];
        for section in sections {
            out.push_str(&section);
        }
        out
    }

    fn tcp_section(&self) -> String {
        let tcp = &self.tcp;
        section(
            "tcp",
            &[
                ("profile", quoted(spell(words::PROFILES, &tcp.profile))),
                ("congestion", quoted(spell(words::CONGESTION, &tcp.congestion))),
                ("initial_window", tcp.initial_window.to_string()),
                ("max_window", limited(tcp.max_window)),
                ("mss", tcp.mss.get().to_string()),
                ("first_ack", quoted(spell(words::FIRST_ACK, &tcp.first_ack))),
            ],
        )
    }

    fn page_section(&self) -> String {
        section("page", &[("table", format!("\"\"\"\n{}\"\"\"", self.page.to_csv()))])
    }

    fn http_section(&self) -> String {
        let http = &self.http;
        section(
            "http",
            &[
                ("version", quoted(spell(words::HTTP_VERSIONS, &http.version))),
                ("connections", http.connections.to_string()),
                ("request_bytes", http.request_bytes.get().to_string()),
                ("response_header_bytes", http.response_header_bytes.get().to_string()),
            ],
        )
    }

    fn run_section(&self) -> String {
        let words: Vec<String> = self.run.architectures.iter().map(|known| quoted(known.word())).collect();
        section(
            "run",
            &[
                ("architectures", format!("[{}]", words.join(", "))),
                ("runs", self.run.runs.to_string()),
                ("seed", self.run.seed.to_string()),
            ],
        )
    }
}

fn segment(name: &str, config: &ChannelConfig) -> String {
    if *config == ChannelConfig::default() { String::new() } else { direction(name, &config.down) }
}

fn direction(name: &str, config: &DirectionConfig) -> String {
    let loss = match config.loss {
        LossModel::None => "0".to_owned(),
        LossModel::Bernoulli(probability) => probability.get().to_string(),
    };
    section(
        name,
        &[
            ("rate", limited(config.rate)),
            ("delay", quoted(&duration::format(config.delay))),
            ("queue", limited(config.queue)),
            ("loss", quoted(&loss)),
        ],
    )
}

fn section(name: &str, lines: &[(&str, String)]) -> String {
    let mut out = format!("\n[{name}]\n");
    for (key, value) in lines {
        writeln!(out, "{key} = {value}").expect("writing to a string succeeds");
    }
    out
}

fn limited(value: Option<impl Display>) -> String {
    quoted(&value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string()))
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
