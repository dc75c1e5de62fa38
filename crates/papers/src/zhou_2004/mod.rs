//! zhou-2004: Table I and the means of its user model; its figures are simulations.

pub(crate) mod experiments;

use crate::filling::{Fill, Plot};
use core::num::NonZeroU32;
use farhop_model::zhou_2004::{ReverseTraffic, pareto_mean, small_share, table1_reverse_traffic};
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction};
use farhop_units::Bytes;

/// N, ACKs, bytes and share in Table I.
const TABLE_1: [(u32, f64, f64, f64); 4] =
    [(2, 61.0, 4604.5, 1.0), (4, 31.0, 3404.5, 0.74), (8, 16.0, 2804.5, 0.61), (16, 8.0, 2484.5, 0.54)];

pub(crate) fn reproduce() -> Reproduction {
    let mut reproduction = Reproduction::default();
    table_1(&mut reproduction);
    user_model(&mut reproduction);
    experiments::sensitivity::told(&mut reproduction);
    reproduction
}

fn table_1(reproduction: &mut Reproduction) {
    let reading = "61 KB of 1024 B in packets of 512 B, 5.55 objects in all, a started group of N packets has its ACK";
    for (n, acks, bytes, share) in TABLE_1 {
        let Some(packets_per_ack) = NonZeroU32::new(n) else { continue };
        let ours = table1_reverse_traffic(&ReverseTraffic::TABLE_1, packets_per_ack);
        let table = Figure::Table(1);
        reproduction.row(table, format!("total traffic, N = {n} (B)"), Some(bytes), ours.total_bytes, reading);
        reproduction.row(table, format!("ACKs, N = {n}"), Some(acks), ours.acks, reading);
        reproduction.row(table, format!("normalized total traffic, N = {n}"), Some(share), ours.normalized, reading);
    }
    let packets = ReverseTraffic::TABLE_1.packets();
    reproduction.row(Figure::Table(1), "data packets of a page", Some(122.0), packets, "61 KB of 1024 B by 512 B");
    let (x, y) = (Axis::log("packets per ACK, N", "1"), Axis::linear("reverse traffic of a page", "B"));
    let mut plot = Plot { reproduction, figure: Figure::Table(1), x, y };
    plot.line("total traffic", reading, 1..=32_u32, |n| {
        let packets_per_ack = NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
        Ok(table1_reverse_traffic(&ReverseTraffic::TABLE_1, packets_per_ack).total_bytes)
    });
    let points = TABLE_1.map(|(n, _, bytes, _)| (f64::from(n), bytes));
    plot.points("Table I", Origin::Text, "total traffic as printed", points);
}

fn user_model(reproduction: &mut Reproduction) {
    let section = Figure::Section("3");
    let size = pareto_mean(1.0, 1.1).unwrap_or(f64::NAN);
    let reading = "mean of the distribution; samples of any practical number have less, since its variance is infinite";
    reproduction.row(section, "mean reply, Pareto k = 1 kB, α = 1.1 (kB)", Some(11.0), size, reading);
    let think = pareto_mean(5.0, 1.5).unwrap_or(f64::NAN);
    reproduction.row(section, "mean think time, Pareto k = 5 s, α = 1.5 (s)", None, think, "mean of the distribution");
    let share = small_share(Bytes::new(250), Bytes::kb(1), Bytes::new(390)).unwrap_or(f64::NAN);
    let reading = "two sizes, 250 B and 1 kB, with the mean of 390 B that Table I counts";
    reproduction.row(section, "share of small requests", None, share, reading);
}
