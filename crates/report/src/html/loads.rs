//! The loads behind the rows: all on one time axis, then each with its own, with the link's throughput below.

use super::axis::Axis;
use super::markup::{class, put};
use super::throughput::{Scales, throughput};
use super::waterfall::{legend, miniature, tick_labels, waterfall};
use crate::{comparison, format};
use farhop_results::{Architecture, CacheState, Load, Results, Source};
use std::collections::BTreeMap;

/// The loads of one architecture, state and source.
struct Group<'a> {
    /// The load that stands for the group.
    median: &'a Load,
    /// The rest, in the order of their runs.
    others: Vec<&'a Load>,
}

/// What all loads are drawn against.
#[derive(Debug, Clone, Copy)]
struct Common {
    scales: Scales,
    limit_s: f64,
}

/// What a group shares; measured comes before simulated.
type Key = (Architecture, CacheState, std::cmp::Reverse<Source>);

/// Both sections, or nothing if no load was kept.
pub(crate) fn loads(results: &Results) -> String {
    let groups = groups(results);
    if groups.is_empty() {
        return String::new();
    }
    let common = Common { scales: Scales::of(results.loads.iter()), limit_s: results.limit_s };
    let mut out = comparison(&groups, results.limit_s);
    out.push_str("<section><h2 id=\"loads\">Load by load</h2>\n");
    out.push_str(
        "<p class=\"soft\">Each on its own time axis; the link's throughput has the same scale everywhere.</p>\n",
    );
    for group in &groups {
        put_group(&mut out, group, common);
    }
    out.push_str("</section>\n");
    out
}

fn groups(results: &Results) -> Vec<Group<'_>> {
    let mut keyed: BTreeMap<Key, Vec<&Load>> = BTreeMap::new();
    for load in &results.loads {
        keyed.entry((load.architecture, load.state, std::cmp::Reverse(load.source))).or_default().push(load);
    }
    keyed.into_values().filter_map(group).collect()
}

/// Splits off the median run; of an even number the faster of the two in the middle.
fn group(mut loads: Vec<&Load>) -> Option<Group<'_>> {
    loads.sort_by(|a, b| a.page_load_s.total_cmp(&b.page_load_s));
    let middle = loads.len().checked_sub(1)? / 2;
    let median = loads.remove(middle);
    loads.sort_by_key(|load| load.run);
    Some(Group { median, others: loads })
}

/// Every median load in few pixels on one axis.
fn comparison(groups: &[Group<'_>], limit_s: f64) -> String {
    let axis = Axis::to(groups.iter().flat_map(|group| times(group.median)).chain([limit_s]));
    let mut out = String::from("<section><h2 id=\"together\">All loads on one time axis</h2>\n");
    out.push_str("<p class=\"soft\">The median run of each; the dashed line is the physical limit.</p>\n<figure>\n");
    for Group { median, .. } in groups {
        put(
            &mut out,
            format_args!(
                "<div class=\"plot mini {}\"><div class=\"side\"><b>{}</b>{}, {} s</div>{}</div>\n",
                class(median.architecture),
                name(median),
                median.source,
                format::seconds(median.page_load_s),
                miniature(median, axis, limit_s)
            ),
        );
    }
    put(
        &mut out,
        format_args!("<div class=\"plot\"><span></span>{}</div></figure></section>\n", tick_labels(axis, 12)),
    );
    out
}

fn put_group(out: &mut String, group: &Group<'_>, common: Common) {
    put(out, format_args!("<article class=\"load {}\">\n", class(group.median.architecture)));
    put_load(out, group.median, group.others.len() + 1, common);
    if !group.others.is_empty() {
        let runs = format::count(group.others.len(), "other run");
        put(
            out,
            format_args!("<details><summary>{runs} of {}, {}</summary>\n", name(group.median), group.median.source),
        );
        for load in &group.others {
            put_load(out, load, group.others.len() + 1, common);
        }
        out.push_str("</details>\n");
    }
    out.push_str("</article>\n");
}

fn put_load(out: &mut String, load: &Load, runs: usize, common: Common) {
    let axis = Axis::to(times(load));
    let connections = load.objects.iter().filter(|object| object.connect_s.is_some()).count();
    let run = if runs > 1 { format!(" · run {} of {runs}", u64::from(load.run) + 1) } else { String::new() };
    put(
        out,
        format_args!(
            "<h3><b>{}</b>, {}: {} s</h3>\n<p class=\"facts\">first byte after {} s · {} · {} · {} opened{run}</p>\n",
            name(load),
            load.source,
            format::seconds(load.page_load_s),
            format::seconds(load.first_byte_s),
            format::count(load.objects.len(), "object"),
            format::bytes(load.objects.iter().fold(0, |sum, object| sum.saturating_add(object.bytes))),
            format::count(connections, "connection"),
        ),
    );
    out.push_str(&legend());
    put(
        out,
        format_args!(
            "<div class=\"plot\"><span></span>{}{}{}<span></span>{}</div>\n",
            tick_labels(axis, 16),
            waterfall(load, axis, common.limit_s),
            throughput(load, axis, common.scales),
            tick_labels(axis, 14)
        ),
    );
}

/// As the table calls it.
fn name(load: &Load) -> String {
    comparison::name(load.architecture, Some(load.state))
}

/// Every time that the axis of a load must hold.
fn times(load: &Load) -> impl Iterator<Item = f64> {
    load.objects.iter().map(|object| object.end_s).chain([load.page_load_s])
}
