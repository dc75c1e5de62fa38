//! Everything that is reproduced, paper by paper: numbers that are met, curves that are lines, figures that have captions.

use super::*;
use farhop_results::reproduction::{Curve, Origin, Row, Verdict};

#[test]
fn every_published_number_is_met_or_the_reading_says_why_not() {
    for paper in Paper::ALL {
        for row in paper.formulas().rows {
            assert!(row.ours.is_finite(), "{paper}: {row:?}");
            let Some(published) = row.published else { continue };
            let is_met = (row.ours / published - 1.0).abs() < 0.05;
            println!("{paper:14} {:8} {:62} {published:9} {:12.4} {}", row.figure, row.quantity, row.ours, row.reading);
            assert_eq!(is_met, !row.reading.contains("not reproduced"), "{paper}: {row:?}");
        }
    }
}

#[test]
fn curves_are_lines_of_finite_points() {
    for paper in Paper::ALL {
        for curve in paper.formulas().curves {
            assert!(curve.points.len() > usize::from(curve.origin != Origin::Text), "{paper}: {curve:?}");
            assert!(curve.points.iter().all(|(x, y)| x.is_finite() && y.is_finite()), "{paper}: {curve:?}");
            assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0), "{paper}: {curve:?}");
        }
    }
}

#[test]
fn a_figure_is_found_however_it_is_spelled() {
    for name in ["Fig 5", "fig5", "fig. 5", "figure-5", "5"] {
        let reproduction = reproduce_with(Paper::Obata2001, Some(name), Effort::Quick, &mut |_| {}).unwrap();
        assert_eq!(reproduction.figures(), [Figure::Fig(5)], "{name}");
    }
    let error = reproduce(Paper::Zhou2004, Some("fig 99")).unwrap_err().to_string();
    assert_eq!(error, "zhou-2004 has no \"fig 99\" to reproduce; accepted: Fig 5, Fig 6, Fig 7, Table 1, §3, §6");
    assert!("zhou-2005".parse::<Paper>().unwrap_err().to_string().contains("zhou-2004"));
}

/// What a paper's row with this quantity has: published and ours.
fn numbers(paper: Paper, quantity: &str) -> (Option<f64>, f64) {
    let rows = paper.formulas().rows;
    let row = rows.into_iter().find(|row| row.quantity.starts_with(quantity));
    let row = row.unwrap_or_else(|| panic!("{paper} has no {quantity}"));
    (row.published, row.ours)
}

#[test]
fn the_numbers_that_everyone_quotes_are_there() {
    for (paper, quantity, published, ours) in [
        (Paper::Obata2001, "saturation window W_th, uplink 250 ms", None, 88.4),
        (Paper::Obata2001, "saturation window W_th, uplink 125 ms", None, 67.1),
        (Paper::Obata2001, "saturation window W_th, uplink 30 ms", None, 50.9),
        (Paper::Obata2002, "T_connect (s)", Some(0.29), 0.2943),
        (Paper::Obata2002, "T_setup of [12] (s)", Some(0.41), 0.414),
        (Paper::Obata2002, "[12] − initial (1.0) formula, 10 data sets", Some(1.2), 1.2),
        (Paper::Obata2002, "[12] − initial (1.0) formula, 60 data sets", Some(7.2), 7.2),
        (Paper::Obata2002, "saved by pipelining, 10 data sets of 5 kB (s)", Some(1.5), 1.76),
        (Paper::Obata2002, "saved by pipelining, 100 data sets of 5 kB (s)", Some(20.0), 20.4),
        (Paper::Prefetch2013, "maximum TCP throughput", Some(1024.0), 1024.0),
        (Paper::Prefetch2013, "load time of 100 · 10 kB", Some(37.6), 37.6),
        (Paper::Prefetch2013, "HTTP throughput of 100 · 10 kB", Some(212.0), 212.9),
        (Paper::Zhou2004, "total traffic, N = 2 (B)", Some(4604.5), 4604.5),
        (Paper::Zhou2004, "total traffic, N = 4 (B)", Some(3404.5), 3404.5),
        (Paper::Zhou2004, "total traffic, N = 8 (B)", Some(2804.5), 2804.5),
        (Paper::Zhou2004, "total traffic, N = 16 (B)", Some(2484.5), 2484.5),
    ] {
        let numbers = numbers(paper, quantity);
        assert_eq!(numbers.0, published, "{paper}, {quantity}");
        assert!((numbers.1 / ours - 1.0).abs() < 0.005, "{paper}, {quantity}: {} instead of {ours}", numbers.1);
    }
}

#[test]
fn every_figure_that_formulas_give_has_its_curves() {
    for (paper, figures) in [
        (Paper::Obata2001, &[2, 5, 6, 7, 8, 10, 11][..]),
        (Paper::Obata2002, &[3, 4, 5, 6, 7, 8, 9, 10, 12]),
        (Paper::Prefetch2013, &[3, 4, 9, 14]),
    ] {
        for figure in figures {
            let curves = reproduce(paper, Some(&figure.to_string())).unwrap().curves;
            assert!(curves.iter().any(|curve| curve.origin == Origin::Formula), "{paper} Fig {figure}");
        }
    }
    assert!(!reproduce(Paper::Zhou2004, Some("table I")).unwrap().curves.is_empty());
}

#[test]
fn a_server_has_sent_what_it_has_sent() {
    for curve in Paper::Obata2002.formulas().only(Figure::Fig(6)).curves {
        assert!(curve.points.is_sorted_by(|a, b| a.1 <= b.1), "{curve:?}");
        assert_eq!(curve.points.last().map(|point| point.1), Some(200.0), "twenty data sets of 10 kB");
    }
}

#[test]
fn points_of_the_text_lie_beside_a_formula_with_their_axes() {
    for paper in Paper::ALL {
        let all = paper.formulas();
        // The others have nothing but simulations.
        if paper == Paper::NzUs2000 {
            continue;
        }
        let told: Vec<_> = all.curves.iter().filter(|curve| curve.origin == Origin::Text).collect();
        assert!(!told.is_empty(), "{paper}");
        for text in told {
            let beside = |other: &&Curve| (other.figure, other.x, other.y) == (text.figure, text.x, text.y);
            assert!(all.curves.iter().filter(beside).any(|other| other.origin == Origin::Formula), "{text:?}");
        }
    }
}

#[test]
fn a_mended_line_follows_the_line_that_it_mends() {
    for paper in Paper::ALL {
        for pair in paper.formulas().curves.windows(2).filter(|pair| pair[1].origin == Origin::Mended) {
            assert_eq!(
                (pair[0].origin, pair[0].figure),
                (Origin::Formula, pair[1].figure),
                "{paper}: {}",
                pair[1].name
            );
        }
    }
}

#[test]
fn every_figure_has_its_caption_and_every_caption_its_figure() {
    for paper in Paper::ALL {
        let all = paper.formulas();
        let captions: BTreeSet<_> = all.captions.iter().map(|caption| caption.figure).collect();
        assert_eq!(captions, paper.figures().into_iter().collect(), "{paper}");
        assert_eq!((all.paper.name, all.paper.mistakes.is_empty()), (paper.word(), false));
    }
}

fn quick(paper: Paper, figure: &str) -> Reproduction {
    reproduce_with(paper, Some(figure), Effort::Quick, &mut |_| {}).unwrap()
}

#[test]
fn tables_need_no_simulation() {
    let mut heard = 0;
    reproduce_with(Paper::Zhou2004, Some("table-1"), Effort::Full, &mut |_| heard += 1).unwrap();
    assert_eq!(heard, 0);
}

#[test]
fn simulated_points_lie_on_their_figures_axes() {
    for (paper, figures) in [(Paper::Obata2001, &["5", "8", "11"][..]), (Paper::Obata2002, &["4", "5", "9", "12"])] {
        for figure in figures {
            let curves = quick(paper, figure).curves;
            let simulated: Vec<&Curve> = curves.iter().filter(|curve| curve.origin == Origin::Simulated).collect();
            assert!(!simulated.is_empty(), "{paper} {figure}");
            for curve in simulated {
                assert!(curve.points.len() > 4 && curve.points.is_sorted_by(|a, b| a.0 < b.0), "{curve:?}");
                let beside =
                    |other: &&Curve| other.origin == Origin::Formula && (other.x, other.y) == (curve.x, curve.y);
                assert!(curves.iter().any(|other| beside(&other)), "{curve:?}");
            }
        }
    }
}

#[test]
fn pipelining_saves_in_the_simulator_what_the_text_says() {
    let rows = quick(Paper::Obata2002, "12").rows;
    let simulated: Vec<_> = rows.iter().filter(|row| row.quantity.ends_with("simulated (s)")).collect();
    assert_eq!(simulated.len(), 2);
    assert!(simulated.iter().all(|row| row.difference().unwrap().abs() < 0.15), "{simulated:?}");
}

#[test]
fn losses_before_the_satellite_cost_throughput() {
    let fig_9 = quick(Paper::Obata2001, "9");
    let verdicts: Vec<Verdict> = fig_9.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [Verdict::Holds; 3], "{:?}", fig_9.claims);
    let named = |name: &str| {
        let curve = fig_9.curves.iter().find(|curve| curve.name.ends_with(name));
        &curve.unwrap_or_else(|| panic!("there is no {name}")).points
    };
    let (sent, again, acknowledged) =
        (named("17 packets, sent"), named("sent again"), named("17 packets, acknowledged"));
    assert_eq!(again.len(), 2, "as many as the text says");
    assert!(sent.iter().all(|(at, _)| *at < 62.0), "the experiment lasts 60 s");
    let rises = |points: &[(f64, f64)]| points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1);
    assert!(rises(sent) && rises(acknowledged));
    let before = |points: &[(f64, f64)], at: f64| points.iter().rfind(|point| point.0 <= at).map(|point| point.1);
    let early: Vec<_> = acknowledged.iter().filter(|(at, number)| before(sent, *at) < Some(*number)).collect();
    assert_eq!(early, Vec::<&(f64, f64)>::new(), "only what was sent before");
    assert!(acknowledged[0].0 > sent[0].0 + 0.28, "250 and 30 ms later");
}

#[test]
fn normal_access_takes_what_was_measured_and_longer_when_it_is_cut() {
    let [free, cut] = ["14", "16"].map(|figure| {
        let rows = quick(Paper::Prefetch2013, figure).rows;
        rows.into_iter().find(|row| row.quantity.contains("normal access, simulated")).unwrap().ours
    });
    assert!((free / 47.4 - 1.0).abs() < 0.05 && cut > free, "{free}, {cut}");
}

#[test]
fn twelve_ways_are_predicted_from_the_base_case() {
    let all = reproduce_with(Paper::NzUs2000, None, Effort::Quick, &mut |_| {}).expect("it is a paper");
    every_way_has_its_numbers_at_the_lowest_and_the_highest_load(&all);
    let highest = all.rows.iter().filter(|row| row.quantity.contains("3368 requests"));
    assert!(highest.clone().count() == 36 && highest.clone().all(|row| row.reading.contains("quick run")));
    let fig_4 = all.only(Figure::Fig(4));
    let (fitted, others): (Vec<_>, Vec<_>) = fig_4.rows.iter().partition(|row| !row.quantity.starts_with("servers"));
    assert_eq!((fitted.len(), others.len()), (24, 24));
    for base in others.iter().filter(|row| row.quantity.contains("no proxy, TT, HTTP/1.0")) {
        assert!((base.ours - 2.8).abs() < 0.01, "{base:?}");
    }
    let latency = |way: &str| {
        let row = fig_4.rows.iter().find(|row| row.quantity.starts_with(way));
        row.unwrap_or_else(|| panic!("{way}: {:?}", fig_4.gaps)).ours
    };
    assert!((latency("no proxy, TT, HTTP/1.0") - 2.8).abs() < 0.01);
    assert!(latency("no proxy, TT, HTTP/1.0") < latency("no proxy, ST, HTTP/1.0"));
    assert!(latency("no proxy, ST, HTTP/1.0") < latency("no proxy, SS, HTTP/1.0"));
    assert!(latency("no proxy, SS, HTTP/1.1") < latency("no proxy, SS, HTTP/1.0"));
    assert!(latency("proxy, SS, HTTP/1.0") < latency("no proxy, SS, HTTP/1.1"));
}

fn every_way_has_its_numbers_at_the_lowest_and_the_highest_load(all: &Reproduction) {
    for figure in [Figure::Fig(4), Figure::Fig(5), Figure::Fig(6)] {
        let simulated = all.curves.iter().filter(|curve| (curve.figure, curve.origin) == (figure, Origin::Simulated));
        for curve in simulated.clone() {
            let [lowest, .., highest] = curve.points[..] else { panic!("{curve:?}") };
            let of_way = |row: &&Row| row.figure == figure && row.quantity.starts_with(&curve.name);
            let rows: Vec<f64> = all.rows.iter().filter(of_way).map(|row| row.ours).collect();
            assert_eq!(rows, [lowest.1, highest.1], "{figure}, {}", curve.name);
        }
        assert_eq!(simulated.count(), 12);
    }
}

#[test]
fn every_paper_reads_back() {
    for paper in Paper::ALL {
        assert_eq!(paper.word().parse::<Paper>(), Ok(paper));
        assert!(!paper.figures().is_empty());
    }
}
