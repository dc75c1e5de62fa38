//! That packets cost no memory of their own: once lists have their size, what is allocated is for pages, not for packets.

use farhop_scenario::open;
use farhop_sim::simulate;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Packet-hops and allocations of one load.
fn cost(settings: &[&str]) -> (u64, u64) {
    let assignments: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let scenario = open("rwbp-128", &assignments).expect("the assignments are right");
    let region = Region::new(ALLOCATOR);
    let simulation = simulate(&scenario, 1);
    assert!(simulation.gaps.is_empty(), "{:?}", simulation.gaps);
    (simulation.packet_hops, region.change().allocations as u64)
}

#[test]
fn twice_as_many_packets_need_no_more_allocations() {
    for more in [
        &["run.architectures=direct", "access.scheme=dedicated"][..],
        &["run.architectures=direct", "access.scheme=cfdama"],
        &["run.architectures=direct", "access.scheme=dedicated", "tcp.profile=linux", "run.runs=1"],
        &[
            "run.architectures=direct",
            "access.scheme=dedicated",
            "tcp.profile=linux",
            "tcp.congestion=bbr",
            "run.runs=1",
        ],
        &["run.architectures=direct", "access.scheme=dedicated", "tcp.congestion=cubic", "http.version=2"],
        &["run.architectures=direct", "access.scheme=dedicated", "tcp.congestion=cubic", "http.version=3"],
        &["run.architectures=split", "access.scheme=dedicated", "link.down.loss=0.1 %", "run.runs=1"],
        &["run.architectures=rwbp", "access.scheme=dedicated"],
        &["run.architectures=multiplexed", "access.scheme=dedicated"],
        &["run.architectures=prefetch-conventional", "access.scheme=dedicated"],
        &["run.architectures=prefetch-2013", "access.scheme=dedicated"],
        &["run.architectures=tunnel", "access.scheme=dedicated"],
        &["run.architectures=accelerated", "access.scheme=dedicated"],
    ] {
        let load = |size: &str| cost(&[more, &["page.objects=1", size]].concat());
        let [(few, once), (many, twice)] = ["page.size=10 MB", "page.size=20 MB"].map(load);
        assert!(many > few + 40_000, "{few} and {many} packet-hops");
        // Lists of what is measured over time double now and then.
        assert!(twice < once + 20, "{more:?}: {once} allocations, {twice} with {} packet-hops more", many - few);
    }
}
