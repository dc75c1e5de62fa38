//! What it takes to repeat the run, and whether its measurements count.

use super::markup::{escape, put};
use crate::format;
use farhop_results::{EmulationQuality, Manifest, Results, SimulationCost};
use farhop_units::counted;

/// The section.
pub(crate) fn manifest(results: &Results) -> String {
    let manifest = &results.manifest;
    let mut out = String::from("<section><h2 id=\"repeat\">To repeat this run</h2>\n<dl>\n");
    put_entry(&mut out, "command", &format!("<code>{}</code>", escape(&command(manifest))));
    put_entry(&mut out, "farhop", &escape(&manifest.version));
    put_entry(&mut out, "seed", &manifest.seed.to_string());
    put_entry(&mut out, "host", &escape(&manifest.host));
    put_entry(&mut out, "kernel", &escape(&manifest.kernel));
    if let Some(quality) = &manifest.emulation {
        put_entry(&mut out, "emulation", &emulation(quality));
    }
    if let Some(cost) = &results.simulation {
        put_entry(&mut out, "simulation", &simulation(cost));
    }
    out.push_str("</dl>\n");
    put_tcp(&mut out, manifest);
    put(
        &mut out,
        format_args!("<h3>The scenario, resolved</h3>\n<pre>{}</pre></section>\n", escape(&manifest.resolved)),
    );
    out
}

/// At the top of the page, if the emulator was too late.
pub(crate) fn warning(results: &Results) -> String {
    let invalid = results.manifest.emulation.filter(|quality| !quality.is_valid());
    invalid.map_or_else(String::new, |quality| {
        format!(
            "<p class=\"warning\" role=\"alert\"><strong class=\"bad\">Invalid measurement.</strong> The emulator delivered packets {} \
             late at the 99th percentile; up to {} is allowed. Measured numbers below do not count.</p>\n",
            format::short_time(quality.lateness_p99_s),
            format::short_time(quality.bound_s)
        )
    })
}

fn put_entry(out: &mut String, term: &str, html: &str) {
    if !html.is_empty() {
        put(out, format_args!("<dt>{term}</dt><dd>{html}</dd>\n"));
    }
}

/// The command as a shell would take it.
pub(crate) fn command(manifest: &Manifest) -> String {
    let plain =
        |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c)) && !word.is_empty();
    let quoted = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    manifest.command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn emulation(quality: &EmulationQuality) -> String {
    let mark =
        if quality.is_valid() { "<span class=\"good\">valid</span>" } else { "<span class=\"bad\">✗ invalid</span>" };
    format!(
        "{mark}: {} delivered; late by {} (median), {} (p99, bound {}), {} (largest)",
        counted(quality.packets, "packet"),
        format::short_time(quality.lateness_p50_s),
        format::short_time(quality.lateness_p99_s),
        format::short_time(quality.bound_s),
        format::short_time(quality.lateness_max_s)
    )
}

fn simulation(cost: &SimulationCost) -> String {
    format!(
        "{} events, {} packet-hops, {} of CPU, {} of memory at most",
        cost.event_count,
        cost.packet_hops,
        format::short_time(cost.cpu_s),
        format::bytes(cost.peak_rss_bytes)
    )
}

fn put_tcp(out: &mut String, manifest: &Manifest) {
    if manifest.tcp.is_empty() {
        return;
    }
    put(out, format_args!("<details><summary>TCP settings in force ({})</summary>\n", manifest.tcp.len()));
    out.push_str("<div class=\"scroll\"><table class=\"left\"><thead><tr><th scope=\"col\">name</th><th scope=\"col\">value</th></tr></thead><tbody>\n");
    for (name, value) in &manifest.tcp {
        put(
            out,
            format_args!("<tr><td><code>{}</code></td><td><code>{}</code></td></tr>\n", escape(name), escape(value)),
        );
    }
    out.push_str("</tbody></table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let words = ["farhop", "compare", "demo", "--set", "page.name=it's"].map(str::to_owned).to_vec();
        let manifest = Manifest { command: words, ..Manifest::default() };
        assert_eq!(command(&manifest), r"farhop compare demo --set 'page.name=it'\''s'");
    }
}
