//! What the table and the HTML file promise to anyone who reads or serves them.

mod sample;

use farhop_report::{html, table};
use farhop_results::{
    Architecture, CacheState, EmulationQuality, LinkSample, Load, Manifest, ObjectTiming, Results, Source,
};
use proptest::num::f64::ANY;
use proptest::prelude::*;

#[test]
fn a_comparison_is_one_table_with_its_reasons() {
    insta::assert_snapshot!(table(&sample::results()), @"
    demo: 28 objects, 1.85 MB, over a geostationary link: 250 ms each way, 100 Mbit/s
    ───────────────────────────────────────────────────────────────────────────────────────────────────
     architecture        predicted, s   simulated, s           measured, s   limit, s   ratio to limit
    ───────────────────────────────────────────────────────────────────────────────────────────────────
     direct                     - [1]          6.041   6.060 (6.041–6.060)      0.654             9.27
     tunnel, cold               - [2]          - [3]   3.109 (3.099–3.121)      0.654             4.75
     accelerated, cold          - [4]          - [5]   0.679 (0.679–0.683)      0.654             1.04
     accelerated, warm          - [4]          - [5]   0.699 (0.695–0.703)      0.654             1.07
    ───────────────────────────────────────────────────────────────────────────────────────────────────

    simulated: profile linux. measured: client farhop; median of 3 (range). ratio: measured over limit,
    else simulated (s), else predicted (p)
    one TCP transfer of the page's bytes (obata-2001): 3.2 Mbit/s, the link saturates at a window of
    4168.7 segments
    [1] no published formula for 6 parallel connections, only for one
    [2] no published formula describes requests multiplexed over one QUIC connection
    [3] the simulator has no QUIC tunnel yet
    [4] no published formula describes announce, hold and push
    [5] the simulator has no accelerator yet
    ");
}

#[test]
fn each_formula_has_its_line_and_its_footnote() {
    let mut results = sample::results();
    results.rows.retain(|row| row.architecture == Architecture::Direct && row.source == Source::Simulated);
    results.gaps.clear();
    results.rows.push(sample::predicted("obata-2002 Eq 13", 21.83, "assumes a full window from the second object on"));
    results.rows.push(sample::predicted("obata-2002 Eq 11", 40.2, "assumes slow start again for every object"));
    insta::assert_snapshot!(table(&results), @"
    demo: 28 objects, 1.85 MB, over a geostationary link: 250 ms each way, 100 Mbit/s
    ────────────────────────────────────────────────────────────────────────
     architecture   predicted, s   simulated, s   limit, s   ratio to limit
    ────────────────────────────────────────────────────────────────────────
     direct            21.83 [1]          6.041      0.654         9.24 (s)
                       40.20 [2]
    ────────────────────────────────────────────────────────────────────────

    simulated: profile linux. ratio: measured over limit, else simulated (s), else predicted (p)
    one TCP transfer of the page's bytes (obata-2001): 3.2 Mbit/s, the link saturates at a window of
    4168.7 segments
    [1] obata-2002 Eq 13: assumes a full window from the second object on
    [2] obata-2002 Eq 11: assumes slow start again for every object
    ");
}

#[test]
fn a_prediction_alone_has_no_empty_columns() {
    let mut results = sample::results();
    results.rows =
        vec![sample::predicted("obata-2002 Eq 9", 48.93, "assumes an initial window of 1 segment (here 10)")];
    results.gaps.retain(|gap| gap.source == Source::Predicted && gap.architecture == Architecture::Tunnel);
    insta::assert_snapshot!(table(&results), @"
    demo: 28 objects, 1.85 MB, over a geostationary link: 250 ms each way, 100 Mbit/s
    ─────────────────────────────────────────────────────────
     architecture   predicted, s   limit, s   ratio to limit
    ─────────────────────────────────────────────────────────
     direct            48.93 [1]      0.654         74.8 (p)
     tunnel                - [2]      0.654                -
    ─────────────────────────────────────────────────────────

    ratio: measured over limit, else simulated (s), else predicted (p)
    one TCP transfer of the page's bytes (obata-2001): 3.2 Mbit/s, the link saturates at a window of
    4168.7 segments
    [1] obata-2002 Eq 9: assumes an initial window of 1 segment (here 10)
    [2] no published formula describes requests multiplexed over one QUIC connection
    ");
}

#[test]
fn a_state_that_one_source_lacks_is_a_dash() {
    let mut results = sample::results();
    let mut simulated = results.rows[0].clone();
    simulated.architecture = Architecture::Accelerated;
    results.rows.push(simulated);
    results.gaps.retain(|gap| gap.architecture != Architecture::Accelerated);
    let text = table(&results);
    assert!(text.contains("not simulated in this state"), "{text}");
    assert!(text.contains("not predicted"), "{text}");
}

#[test]
fn a_reason_is_kept_although_every_cell_is_filled() {
    let mut results = sample::results();
    results.gaps[0].source = Source::Measured;
    results.gaps[0].reason = "one run of three was interrupted".to_owned();
    assert!(table(&results).contains("direct, measured: one run of three was interrupted"));
}

#[test]
fn a_late_emulator_makes_the_measurement_visibly_invalid() {
    let mut results = sample::results();
    assert!(!table(&results).contains("INVALID"));
    assert!(html(&results).contains("<span class=\"good\">valid</span>") && !html(&results).contains("role=\"alert\""));
    results.manifest.emulation = Some(EmulationQuality {
        packets: 10,
        lateness_p50_s: 1e-4,
        lateness_p99_s: 9e-4,
        lateness_max_s: 5e-3,
        bound_s: 5e-4,
    });
    assert!(
        table(&results)
            .ends_with("INVALID: the emulator was 900 µs late at the 99th percentile, its bound is 500 µs\n")
    );
    assert!(html(&results).contains("role=\"alert\"") && html(&results).contains("✗ invalid"));
}

#[test]
fn the_file_refers_to_nothing_outside_itself() {
    let page = html(&sample::results());
    for forbidden in ["http://", "https://", "src=", "@import", "url(", "<script", "<link", " style=", " on"] {
        let found = page.match_indices(forbidden).find(|(at, _)| forbidden != " on" || is_handler(&page[*at..]));
        assert!(found.is_none(), "{forbidden:?} in {:?}", found.map(|(at, _)| &page[at.saturating_sub(40)..at + 40]));
    }
    assert!(page.match_indices("href=\"").all(|(at, _)| page[at..].starts_with("href=\"#")));
}

/// ` onload="…`, not the word "on".
fn is_handler(text: &str) -> bool {
    let name: String = text[1..].chars().take_while(char::is_ascii_lowercase).collect();
    text[1 + name.len()..].starts_with("=\"")
}

#[test]
fn every_link_inside_the_file_has_its_target() {
    let page = html(&sample::results());
    for (at, prefix) in page.match_indices("href=\"#") {
        let target: String = page[at + prefix.len()..].chars().take_while(|c| *c != '"').collect();
        assert!(page.contains(&format!("id=\"{target}\"")), "#{target}");
    }
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</pre></style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&\u{202e}\u{1b}[31m";
    let hostile = || HOSTILE.to_owned();
    let mut results = sample::results();
    (results.scenario, results.title) = (hostile(), hostile());
    for row in &mut results.rows {
        (row.method, row.note) = (hostile(), Some(hostile()));
    }
    results.rows.push(sample::predicted(HOSTILE, 1.0, HOSTILE));
    results.gaps.iter_mut().for_each(|gap| gap.reason = hostile());
    results.loads.iter_mut().flat_map(|load| &mut load.objects).for_each(|object| object.name = hostile());
    results.manifest = Manifest {
        version: hostile(),
        command: vec![hostile()],
        host: hostile(),
        kernel: hostile(),
        tcp: vec![(hostile(), hostile())],
        resolved: hostile(),
        ..results.manifest
    };
    let page = html(&results);
    for markup in ["<script", "<img", "</style><", "onerror=alert(1)>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(page.contains("<bdi>&lt;/pre&gt;"));
    for shown in [page, table(&results)] {
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "steers the terminal or the writing direction");
    }
}

#[test]
fn the_median_run_is_shown_and_the_others_are_folded_away() {
    let page = html(&sample::results());
    let shown = page.split("<details>").next().unwrap_or_default();
    assert!(shown.contains("run 2 of 3"), "the second of three runs is the median of the sample");
    assert_eq!(page.matches("<summary>2 other runs of ").count(), 4);
    assert_eq!(page.matches("class=\"facts\"").count(), 13);
}

/// Every coordinate, length and path of `page` is a finite number.
fn assert_finite(page: &str) -> Result<(), TestCaseError> {
    for attribute in [" x=\"", " y=\"", " x1=\"", " x2=\"", " y1=\"", " y2=\"", " width=\"", " height=\""] {
        for (at, prefix) in page.match_indices(attribute) {
            let value: String = page[at + prefix.len()..].chars().take_while(|c| *c != '"').collect();
            let number = value.trim_end_matches('%').parse::<f64>();
            prop_assert!(
                number.as_ref().is_ok_and(|number| number.is_finite() && *number >= 0.0),
                "{attribute}{value}"
            );
        }
    }
    for (at, prefix) in page.match_indices(" d=\"") {
        let path: String = page[at + prefix.len()..].chars().take_while(|c| *c != '"').collect();
        prop_assert!(path.chars().all(|c| c.is_ascii_digit() || "MHVZ. ".contains(c)), "{path}");
    }
    Ok(())
}

fn any_object() -> impl Strategy<Value = ObjectTiming> {
    ([ANY; 4], prop::option::of(ANY), any::<u64>(), any::<u32>()).prop_map(|(times, connect_s, bytes, connection)| {
        ObjectTiming {
            name: "object".to_owned(),
            bytes,
            connection,
            discovered_s: times[0],
            connect_s,
            request_s: times[1],
            first_byte_s: times[2],
            end_s: times[3],
            sha256: None,
        }
    })
}

fn any_load() -> impl Strategy<Value = Load> {
    let sample = [ANY; 4].prop_map(|[start_s, span_s, down_bit_s, up_bit_s]| LinkSample {
        start_s,
        span_s,
        down_bit_s,
        up_bit_s,
    });
    let lists = (prop::collection::vec(any_object(), 0..4), prop::collection::vec(sample, 0..4));
    (ANY, ANY, any::<u32>(), lists).prop_map(|(page_load_s, first_byte_s, run, (objects, link))| Load {
        architecture: Architecture::Tunnel,
        source: Source::Measured,
        state: CacheState::Cold,
        run,
        page_load_s,
        first_byte_s,
        objects,
        link,
        needs: None,
    })
}

fn degenerate(objects: usize, page_load_s: f64) -> Results {
    let mut results = sample::results();
    results.limit_s = 0.0;
    for load in &mut results.loads {
        load.objects.truncate(objects);
        load.page_load_s = page_load_s;
        load.link.clear();
    }
    results
}

#[test]
fn loads_without_objects_or_duration_are_drawn() {
    for results in [degenerate(0, 0.0), degenerate(0, 1.0), degenerate(1, 0.0)] {
        assert_finite(&html(&results)).expect("coordinates are numbers");
    }
    let mut nothing = degenerate(0, 0.0);
    nothing.rows.clear();
    nothing.gaps.clear();
    nothing.loads.clear();
    assert_finite(&html(&nothing)).expect("coordinates are numbers");
    assert!(table(&nothing).contains("ratio to limit"));
}

proptest! {
    // An integration test has no source tree to keep failures in; the smallest failing input is printed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_times_give_a_file_with_finite_coordinates(
        loads in prop::collection::vec(any_load(), 0..3),
        times in [ANY; 3],
        limit_s in ANY,
    ) {
        let mut results = sample::results();
        results.loads = loads;
        results.limit_s = limit_s;
        for row in &mut results.rows {
            (row.page_load_s, row.page_load_min_s, row.page_load_max_s) = (times[0], times[1], times[2]);
        }
        assert_finite(&html(&results))?;
        prop_assert!(table(&results).lines().all(|line| line.chars().count() <= 100));
    }
}
