//! A resolved scenario as TOML: every value written out, the page included.

use crate::host_times;
use crate::multicast::Multicast;
use crate::resolve::{USUAL_MULTIPLEXED_CONNECTIONS, USUAL_RWBP_ACK_EVERY};
use crate::scenario::{PrefetchSide, RwbpSettings, Scenario};
use crate::words::{self, spell};
use core::fmt::{Display, Write};
use core::iter;
use farhop_link::{ChannelConfig, DirectionConfig};
use farhop_tcp::ByteCounting;
use farhop_units::duration;
use farhop_web::logs::to_squid;
use farhop_web::{HttpConfig, Records};

impl Scenario {
    /// The scenario as a file that [`parse`](crate::parse) reads back as the same scenario.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("version = 1\n");
        let sections = [
            format!("title = {}\n", quoted(&self.title)),
            direction("link.down", &self.link.down),
            direction("link.up", &self.link.up),
            access(&self.link),
            segment("wan", &self.wan),
            segment("lan", &self.lan),
            self.tcp_section(),
            self.page_section(),
            self.users_section(),
            self.log_section(),
            self.http_section(),
            self.rwbp_section(),
            self.multicast_section(),
            self.prefetch_section(),
            self.multiplexed_section(),
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
                ("receive_buffer", quoted(&tcp.receive_buffer.to_string())),
                ("mss", tcp.mss.get().to_string()),
                ("first_ack", quoted(spell(words::FIRST_ACK, &tcp.first_ack))),
                ("sack", quoted(spell(words::SWITCH, &tcp.sack))),
                ("ecn", quoted(spell(words::SWITCH, &tcp.ecn))),
                ("byte_counting", byte_counting(tcp.byte_counting)),
                ("host_times", text(&host_times::format(&tcp.host_times))),
            ],
        )
    }

    /// Users and logs bring their typical page with them.
    fn page_section(&self) -> String {
        if self.has_typical_page() {
            return String::new();
        }
        format!("{}{}", comments(&self.page_notes), section("page", &[("table", block(&self.page.to_csv()))]))
    }

    /// A block of lines for each day.
    fn log_section(&self) -> String {
        let Some(log) = &self.log else { return String::new() };
        let last = log.records.iter().map(|record| record.layer).max().unwrap_or(0);
        let day = |layer: u32| {
            let of_day = log.records.iter().filter(|record| record.layer == layer);
            block(&to_squid(&of_day.cloned().collect::<Vec<_>>()))
        };
        let days: Vec<String> = (0..=last).map(day).collect();
        let mut lines = vec![
            ("copies", log.copies.to_string()),
            ("shift", quoted(&duration::format(log.shift))),
            ("server_time", quoted(&log.server_time.to_string())),
            ("lines", format!("[{}]", days.join(", "))),
        ];
        if !log.hosts.list().is_empty() {
            lines.push(("host_lines", block(&log.hosts.to_string())));
        }
        format!("{}{}", comments(&log.notes), section("log", &lines))
    }

    fn users_section(&self) -> String {
        let Some(users) = &self.users else { return String::new() };
        section(
            "users",
            &[
                ("model", quoted(&users.model.to_string())),
                ("per_terminal", users.per_terminal.to_string()),
                ("duration", quoted(&duration::format(users.duration))),
                ("warm_up", quoted(&duration::format(users.warm_up))),
                ("precision", quoted(&users.precision.to_string())),
            ],
        )
    }

    fn http_section(&self) -> String {
        let http = &self.http;
        let mut lines = vec![
            ("version", quoted(spell(words::HTTP_VERSIONS, &http.version))),
            ("connections", http.connections.to_string()),
            ("tls", quoted(spell(words::TLS, &http.tls))),
        ];
        if http.records() != Records::NONE || http.tls_record != HttpConfig::DEFAULT.tls_record {
            lines.push(("tls_record", quoted(&http.tls_record.to_string())));
        }
        lines.extend([
            ("dns", quoted(spell(words::DNS, &http.dns))),
            ("persistence", limited(http.persistence.map(duration::format))),
            ("request_bytes", http.request_bytes.get().to_string()),
            ("response_header_bytes", http.response_header_bytes.get().to_string()),
        ]);
        section("http", &lines)
    }

    fn rwbp_section(&self) -> String {
        let RwbpSettings { ack_every, peak_rate } = self.rwbp;
        let every = (ack_every != USUAL_RWBP_ACK_EVERY).then(|| ("ack_every", ack_every.to_string()));
        let peak = peak_rate.map(|rate| ("peak_rate", quoted(&rate.to_string())));
        let given: Vec<_> = every.into_iter().chain(peak).collect();
        if given.is_empty() { String::new() } else { section("rwbp", &given) }
    }

    fn multicast_section(&self) -> String {
        let Some(Multicast { rate, packet }) = self.multicast else { return String::new() };
        section("multicast", &[("rate", quoted(&rate.to_string())), ("packet", quoted(&packet.to_string()))])
    }

    fn prefetch_section(&self) -> String {
        match self.prefetch_at {
            PrefetchSide::Near => String::new(),
            side => section("prefetch", &[("at", quoted(spell(words::PREFETCH_AT, &side)))]),
        }
    }

    fn multiplexed_section(&self) -> String {
        match self.multiplexed_connections {
            USUAL_MULTIPLEXED_CONNECTIONS => String::new(),
            connections => section("multiplexed", &[("connections", connections.to_string())]),
        }
    }

    fn run_section(&self) -> String {
        let words: Vec<String> = self.run.architectures.iter().map(|known| quoted(known.word())).collect();
        let mut lines = vec![("architectures", format!("[{}]", words.join(", "))), ("runs", self.run.runs.to_string())];
        if !self.run.precision.is_zero() {
            lines.push(("precision", quoted(&self.run.precision.to_string())));
        }
        lines.push(("seed", self.run.seed.to_string()));
        section("run", &lines)
    }
}

/// How the terminals share the way up, each term of the scheme on a line of its own.
fn access(config: &ChannelConfig) -> String {
    let default = ChannelConfig::default();
    if (config.terminals, &config.access) == (default.terminals, &default.access) {
        return String::new();
    }
    let text = config.access.to_string();
    let terms = text.split_whitespace().map(|part| part.split_once('=').unwrap_or(("scheme", part)));
    let terms = terms.map(|(name, value)| (name, quoted(value)));
    let lines: Vec<_> = iter::once(("terminals", config.terminals.to_string())).chain(terms).collect();
    section("access", &lines)
}

fn segment(name: &str, config: &ChannelConfig) -> String {
    if *config == ChannelConfig::default() { String::new() } else { direction(name, &config.down) }
}

/// What everybody asks a link for, and every other setting that is not at its default.
fn direction(name: &str, config: &DirectionConfig) -> String {
    const ALWAYS: [&str; 4] = ["rate", "delay", "queue", "loss"];
    let settings = config.settings().into_iter().zip(DirectionConfig::default().settings());
    let shown = settings.filter(|(setting, usual)| setting != usual || ALWAYS.contains(&setting.word()));
    let lines: Vec<_> = shown.map(|(setting, _)| (setting.word(), quoted(&setting.to_string()))).collect();
    section(name, &lines)
}

fn section(name: &str, lines: &[(&str, String)]) -> String {
    let mut out = format!("\n[{name}]\n");
    for (key, value) in lines {
        writeln!(out, "{key} = {value}").expect("writing to a string succeeds");
    }
    out
}

fn comments(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n# {note}")).collect()
}

/// A text of several lines.
fn block(text: &str) -> String {
    format!("\"\"\"\n{}\"\"\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A word, or several lines.
fn text(text: &str) -> String {
    if text.contains('\n') { block(text) } else { quoted(text) }
}

fn byte_counting(counting: ByteCounting) -> String {
    match counting {
        ByteCounting::Segments(most) => most.to_string(),
        word => quoted(spell(words::BYTE_COUNTING, &word)),
    }
}

fn limited(value: Option<impl Display>) -> String {
    quoted(&value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string()))
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
