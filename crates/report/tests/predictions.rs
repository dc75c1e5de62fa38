//! What the table and the HTML file say of predictions: waits, a ranking, users, and grids of them.

#[path = "sample/predictions.rs"]
mod predictions;
mod sample;

use farhop_report::{grid_csv, grid_html, grid_table, html, table};
use farhop_results::{Architecture, Grid, GridPoint, RequestTimes, Results};
use predictions::{grid, populations, predictions};

/// What is between `start` and `end`, if both are there.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(inside, _)| inside)
}

#[test]
fn a_ranking_says_what_each_architecture_gains() {
    let text = table(&predictions());
    let ranking = text.split_once("\nranking: ").map(|(_, ranking)| ranking).unwrap_or_default();
    insta::assert_snapshot!(ranking, @"
    accelerated is predicted to be the fastest, 9.21 times as fast as direct
      1. accelerated              0.653 s   9.21 times as fast as direct
      2. prefetch-conventional    5.900 s   no benefit
      3. direct                   6.016 s   what there is without boxes
    ");
}

#[test]
fn a_short_link_has_no_benefit() {
    let mut results = predictions();
    results.ranking.iter_mut().for_each(|rank| rank.benefit = false);
    assert!(table(&results).contains("ranking: no benefit: nothing is so much faster than direct"));
    results.ranking.reverse();
    assert!(html(&results).contains("<p>no benefit: nothing is faster than direct here.</p>"));
}

#[test]
fn the_slowest_of_thousands_of_pages_does_not_stretch_the_chart() {
    let mut results = populations();
    results.rows.iter_mut().for_each(|row| (row.runs, row.page_load_max_s) = (3, 300.0));
    let page = html(&results);
    assert!(!page.contains("class=\"whisker\"") && page.contains("y=\"4\" width=\"100.000%\" height=\"16\""), "{page}");
    assert!(table(&results).contains("simulated: profile linux; median of all in 3 replications."));
    results.rows.iter_mut().for_each(|row| row.users = None);
    let page = html(&results);
    assert!(page.contains("class=\"whisker\"") && !page.contains("y=\"4\" width=\"100.000%\" height=\"16\""), "{page}");
}

#[test]
fn users_have_a_line_for_pages_objects_and_first_bytes() {
    let text = table(&populations());
    let users = text.split_once("\nWhat users met:\n").map(|(_, users)| users).unwrap_or_default();
    insta::assert_snapshot!(users, @"
    ───────────────────────────────────────────────────────────────────────────────────────
     architecture        source      what          count   p50, s   p95, s         mean, s
    ───────────────────────────────────────────────────────────────────────────────────────
     direct              simulated   pages          4821    3.100    9.400   4.020 ± 0.110
     direct              simulated   objects       31577    1.033    4.700           1.608
     direct              simulated   first bytes    4821    0.775    3.133           1.149
     rwbp, cold          simulated   pages          4821    2.200    6.100   2.710 ± 0.070
     rwbp, cold          simulated   objects       31577    0.733    3.050           1.084
     rwbp, cold          simulated   first bytes    4821    0.550    2.033           0.774
     accelerated, cold   simulated   pages          4821    1.100    4.900           1.630
     accelerated, cold   simulated   objects       31577    0.367    2.450           0.652
     accelerated, cold   simulated   first bytes    4821    0.275    1.633           0.466
    ───────────────────────────────────────────────────────────────────────────────────────
    pages not complete when the measured time ended: direct 3 (simulated), rwbp 1 (simulated)

    Differences, run by run with the same random numbers through all architectures: ± is the 95 %
    confidence interval of paired differences, unpaired what it would be with random numbers of each
    one's own:
    ─────────────────────────────────────────────────────────────────────────────────────────
     architecture   source      compared with   pairs   difference of means, s   unpaired, s
    ─────────────────────────────────────────────────────────────────────────────────────────
     rwbp           simulated   direct              3           −1.310 ± 0.066       ± 0.554
     accelerated    simulated   direct              3           −2.390 ± 0.212       ± 0.555
    ─────────────────────────────────────────────────────────────────────────────────────────
    ");
    let page = html(&populations());
    assert!(page.contains("Half of the users' pages load within <b class=\"a-accelerated\">1.100 s</b>"));
    assert!(page.contains("median 3.100 s, mean 4.020 s, 95th percentile 9.400 s"));
    assert!(page.contains("href=\"#users\"") && !html(&predictions()).contains("href=\"#users\""));
    assert!(page.contains("<h3>Differences</h3>") && page.contains("<td>−1.310 ± 0.066</td>"), "{page}");
    let alone = Results { differences: Vec::new(), ..populations() };
    assert!(!html(&alone).contains("Differences") && !table(&alone).contains("Differences"));
}

#[test]
fn what_users_met_is_shown_as_distributions() {
    let mut results = populations();
    let page = html(&results);
    let users = between(&page, "id=\"users\"", "</section>").unwrap_or_default();
    assert_eq!(users.matches("<path class=\"curve a-").count(), 3, "{users}");
    assert!(users.contains("complete within it, %"));
    let line = |page: &str, what: &str| {
        let of_what = format!("<td>{what}</td>");
        page.split("<tr").find(|line| line.contains(&of_what)).map(|line| line.matches("<td>").count())
    };
    let shown = ["goodput", "connections", "use of the link down", "waiting for the link down"];
    assert_eq!(shown.map(|what| line(users, what)), [Some(7); 4]);
    assert!(users.contains("<td>use of the link down</td><td>1.01 %</td><td>8 %</td><td>63.5 %</td>"), "{users}");
    assert!(users.contains("in each 1 s of the measured time"));
    results.distributions.retain(|one| one.interval_s.is_none());
    results.distributions.iter_mut().for_each(|one| one.percentiles.fill(3.0));
    let page = html(&results);
    assert!(!page.contains("complete within it") && page.contains("<td>goodput</td>"), "of one request");
    results.distributions.clear();
    assert!(!html(&results).contains("Goodput and use"), "results of before have none");
}

#[test]
fn the_requests_of_a_log_have_lines() {
    let mut results = Results { differences: Vec::new(), ..populations() };
    results.rows.truncate(1);
    results.rows[0].users = None;
    results.rows[0].log = Some(RequestTimes {
        sample_count: 421,
        sample_p50_s: 3.1,
        sample_p95_s: 9.4,
        sample_mean_s: 4.02,
        sample_mean_error_s: None,
        sample_first_byte_p50_s: 1.4,
        sample_first_byte_p95_s: 4.2,
        sample_first_byte_mean_s: 1.9,
        sample_goodput_p5_bit_s: 2e3,
        sample_goodput_p50_bit_s: 12e3,
        sample_goodput_mean_bit_s: 15e3,
        answered: 6730,
        unanswered: 6,
        peak_queue_bytes: 256_000,
        peak_queue_up_bytes: 1500,
        dropped: 12,
        peak_connections: 210,
        peak_gateway_buffer_bytes: None,
        down_used: Some(0.97),
        up_used: Some(0.06),
    });
    let text = table(&results);
    let requests =
        text.split_once("\nWhat the log's requests met:\n").map(|(_, requests)| requests).unwrap_or_default();
    insta::assert_snapshot!(requests, @"
    ────────────────────────────────────────────────────────────────────────────
     architecture   source      what          count   p50, s   p95, s   mean, s
    ────────────────────────────────────────────────────────────────────────────
     direct         simulated   requests        421    3.100    9.400     4.020
     direct         simulated   first bytes     421    1.400    4.200     1.900
    ────────────────────────────────────────────────────────────────────────────
    requests not answered: direct 6 (simulated)
    ");
    assert!(html(&results).contains("Half of the log's requests are answered within <b"));
}

#[test]
fn waits_are_parts_of_a_bar_with_their_round_trips() {
    let page = html(&predictions());
    let waiting = between(&page, "id=\"waiting\"", "</section>").unwrap_or_default();
    assert!(
        waiting.contains("farhop, predicted: 12 round trips") && waiting.contains("farhop, predicted: 1 round trip<")
    );
    // Handshake is 1 s of 6.016 s, on an axis that is longer by 12 %.
    assert!(waiting.contains("<title>TCP's or QUIC's handshake: 1.000 s, 2 round trips</title>"));
    let width = between(waiting, "class=\"wait w-handshake\"><title>", "y=\"3\"")
        .and_then(|part| between(part, "width=\"", "%"));
    let share: f64 = width.unwrap_or_default().parse().expect("a width in percent");
    assert!((share - 100.0 / (6.016 * 1.12)).abs() < 0.01, "{share}");
    assert!(waiting.contains("<td>1.900 (4)</td><td>-</td>"), "{waiting}");
    assert!(!html(&sample::results()).contains("id=\"waiting\""), "no waits, no section");
}

#[test]
fn a_grid_of_one_key_has_a_line_for_each_architecture() {
    let page = grid_html(&grid(1), &sample::results());
    assert_eq!(page.matches("<path class=\"curve a-").count(), 3);
    assert!(page.contains("link.down.delay, ms") && page.contains("page load time, s"));
    let told = "<b class=\"a-accelerated\">accelerated</b> is the fastest at 42, there is no benefit at 38.";
    assert!(page.contains(told), "{page}");
}

#[test]
fn a_grid_of_two_keys_has_a_cell_for_each_pair_with_its_gain() {
    let page = grid_html(&grid(8), &sample::results());
    assert_eq!(page.matches("<g><title>").count(), 88);
    assert!(page.contains("<title>800 ms, 128 Mbit/s: accelerated, 1.716 s, 5.66 times as fast as direct</title>"));
    assert!(page.contains(">5.66</text>"));
    let near = "<title>10 ms, 128 Mbit/s: accelerated, 0.136 s, no benefit</title><rect class=\"none\"";
    assert!(page.contains(near) && page.contains("</svg>no benefit</li>"), "{page}");
    assert!(page.contains("<p class=\"axis x\">link.down.rate, Mbit/s</p>") && page.contains(">128</text>"));
}

#[test]
fn a_grid_is_csv_with_an_empty_cell_where_nothing_is_predicted() {
    let point = |delay: &str, times: &[(Architecture, f64)]| GridPoint {
        values: vec![delay.to_owned()],
        times: times.to_vec(),
    };
    let grid = Grid {
        keys: vec!["link.down.delay".to_owned()],
        points: vec![
            point("10 ms", &[(Architecture::Direct, 1.5), (Architecture::Tunnel, 0.5)]),
            point("a, \"b\"", &[(Architecture::Tunnel, 0.25)]),
            point("20 ms", &[]),
        ],
    };
    assert_eq!(
        grid_csv(&grid),
        "link.down.delay,direct_page_load_s,tunnel_page_load_s,fastest,gain,benefit\n10 ms,1.5,0.5,tunnel,3,true\n\
         \"a, \"\"b\"\"\",,0.25,tunnel,,\n20 ms,,,,,\n"
    );
    assert!(grid_html(&grid, &sample::results()).contains("no numbers of one kind"));
}

#[test]
fn a_large_grid_is_thinned_in_the_terminal_and_says_so() {
    let text = grid_table(&grid(8));
    assert!(text.contains("one of 2: 88 points in all"), "{text}");
    assert_eq!(text.matches(" ms ").count(), 44);
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert!(text.contains("no benefit      -\n") && text.contains("accelerated   5.37\n"), "{text}");
}

#[test]
fn hostile_keys_and_methods_stay_text() {
    const HOSTILE: &str = "</p><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m";
    let mut results = predictions();
    results.rows.iter_mut().for_each(|row| row.method = HOSTILE.to_owned());
    results.ranking.iter_mut().for_each(|rank| rank.method = HOSTILE.to_owned());
    let grids = [1, 8].map(|rates| {
        let mut grid = grid(rates);
        grid.keys.iter_mut().for_each(|key| *key = HOSTILE.to_owned());
        grid.points[0].values.iter_mut().for_each(|value| *value = HOSTILE.to_owned());
        grid
    });
    let pages = grids.iter().map(|grid| grid_html(grid, &results)).chain([html(&results)]);
    for page in pages {
        for markup in ["<script", "<img", "onerror=alert(1)>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
    }
    for text in grids.iter().map(grid_table).chain([table(&results)]) {
        assert!(!text.contains(['\u{1b}', '\u{202e}']));
    }
}
