//! What the HTML file of a paper promises: its numbers, its curves, its gaps; and that hostile text stays text.

use farhop_report::reproduction_html;
use farhop_results::Manifest;
use farhop_results::reproduction::{Axis, Caption, Citation, Curve, Figure, Gap, Origin, Reproduction, Row};
use proptest::num::f64::ANY;
use proptest::prelude::*;

fn curve(origin: Origin, name: &str, points: Vec<(f64, f64)>) -> Curve {
    let (x, y) = (Axis::log("window", "kByte"), Axis::linear("throughput", "kbit/s"));
    Curve { figure: Figure::Fig(5), name: name.to_owned(), origin, x, y, points, reading: "Eq 10".to_owned() }
}

fn row(figure: Figure, published: Option<f64>, ours: f64) -> Row {
    Row { figure, quantity: "time (s)".to_owned(), published, ours, reading: "Eq 1".to_owned() }
}

fn sample() -> Reproduction {
    Reproduction {
        paper: Citation {
            name: "doe-1999",
            authors: "J. Doe",
            title: "Far & Wide",
            published: "Proc. Nowhere, 1999",
            mistakes: &["a factor is missing"],
        },
        captions: vec![Caption { figure: Figure::Fig(5), text: "throughput" }],
        rows: vec![
            row(Figure::Fig(5), Some(2.0), 3.0),
            row(Figure::Section("4.3"), Some(0.29), 0.2943),
            row(Figure::Section("4.3"), None, 7.0),
        ],
        curves: vec![
            curve(Origin::Formula, "published", vec![(1.0, 0.0), (10.0, 50.0), (100.0, 100.0)]),
            curve(Origin::Mended, "published, mended", vec![(1.0, 0.0), (100.0, 90.0)]),
            curve(Origin::Text, "the text's number", vec![(10.0, 25.0)]),
        ],
        claims: Vec::new(),
        gaps: vec![Gap { figure: Figure::Fig(6), reason: "a measurement".to_owned() }],
    }
}

fn page(reproduction: &Reproduction) -> String {
    let command = ["farhop", "reproduce", "doe-1999"].map(str::to_owned).to_vec();
    reproduction_html(reproduction, &Manifest { version: "9.9.9".to_owned(), command, ..Manifest::default() })
}

#[test]
fn a_paper_is_cited_with_its_mistakes_and_how_to_repeat_it() {
    let page = page(&sample());
    for expected in [
        "<h1>Far &amp; Wide</h1>",
        "J. Doe. Proc. Nowhere, 1999.",
        "Of 2 rows with a number that the text gives, ours are within 5 % of it in 1",
        "<li>a factor is missing</li>",
        "<code>farhop reproduce doe-1999</code>",
        "9.9.9",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn a_figure_has_its_lines_its_numbers_and_its_gaps() {
    let page = page(&sample());
    assert!(page.contains("<h2 id=\"fig-5\">Fig 5: throughput</h2>"));
    assert!(page.contains("<path class=\"curve c-0\" d=\"M0.0 1000.0L500.0 500.0L1000.0 0.0\">"), "{page}");
    assert!(page.contains("<path class=\"curve dotted c-0\""), "the mended line has the published one's colour");
    assert!(page.contains("<svg x=\"50.000%\" y=\"75.000%\"><path class=\"mark c-text\""), "{page}");
    assert!(page.contains("<td>2</td><td>3</td><td class=\"off\">+50 %</td>"));
    assert!(
        page.contains("<td>0.29</td><td>0.2943</td><td>+1.5 %</td>") && page.contains("<td>-</td><td>7</td><td>-</td>")
    );
    let (gap, next) = (page.find("id=\"fig-6\""), page.find("id=\"section-4-3\""));
    assert!(gap > next && next.is_some(), "what has gaps alone comes last");
    assert!(page.contains("Not reproduced: a measurement."));
}

#[test]
fn no_two_series_of_a_plot_look_alike() {
    let many = |origin, count: u32| {
        (0..count).map(move |n| curve(origin, &format!("{origin:?} {n}"), vec![(1.0, 0.0), (9.0, f64::from(n))]))
    };
    let curves: [Vec<Curve>; 4] = [
        // zhou-2004's Fig 5; as many formulas as there are looks; a formula with all that stands beside it, once and again.
        many(Origin::Simulated, 12).collect(),
        many(Origin::Formula, 32).collect(),
        many(Origin::Formula, 1)
            .chain(many(Origin::Mended, 3))
            .chain(many(Origin::Simulated, 9))
            .chain(many(Origin::Text, 9))
            .collect(),
        (0..12)
            .flat_map(|_| [Origin::Formula, Origin::Mended, Origin::Simulated, Origin::Text, Origin::Events])
            .flat_map(|origin| many(origin, 1))
            .collect(),
    ];
    for curves in curves {
        let count = curves.len();
        let page = page(&Reproduction { curves, ..sample() });
        let legend = page.split("<ul class=\"legend\">").nth(1).unwrap().split("</ul>").next().unwrap();
        let mut looks: Vec<&str> = legend.split("</svg>").filter(|entry| entry.contains("class=")).collect();
        // An entry: the name of the one before it, then its own colour and sample.
        looks.iter_mut().for_each(|entry| *entry = &entry[entry.find("<li").unwrap_or(0)..]);
        looks.retain(|entry| entry.starts_with("<li"));
        assert_eq!(looks.len(), count);
        looks.sort_unstable();
        assert!(looks.windows(2).all(|two| two[0] != two[1]), "{looks:#?}");
    }
}

#[test]
fn links_ids_and_labels_fit_together_and_nothing_is_loaded() {
    let page = page(&sample());
    for (attribute, many) in [("href=\"#", false), ("aria-labelledby=\"", true)] {
        for (at, _) in page.match_indices(attribute) {
            let value: String = page[at + attribute.len()..].chars().take_while(|c| *c != '"').collect();
            for id in value.split(' ').take(if many { 9 } else { 1 }) {
                assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
            }
        }
    }
    for forbidden in ["http://", "https://", "src=", "@import", "url(", "<script", "<link", " style="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn many_numbers_without_published_ones_are_folded_away() {
    let mut reproduction = sample();
    reproduction.rows.extend((0..9_u8).map(|n| row(Figure::Fig(5), None, f64::from(n))));
    let page = page(&reproduction);
    assert!(page.contains("<details><summary>9 numbers that the text does not give</summary>"));
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m";
    let mut reproduction = sample();
    reproduction.paper =
        Citation { name: HOSTILE, authors: HOSTILE, title: HOSTILE, published: HOSTILE, mistakes: &[HOSTILE] };
    reproduction.captions[0].text = HOSTILE;
    reproduction.rows.iter_mut().for_each(|row| (row.quantity, row.reading) = (HOSTILE.to_owned(), HOSTILE.to_owned()));
    reproduction.gaps[0].reason = HOSTILE.to_owned();
    for curve in &mut reproduction.curves {
        (curve.name, curve.reading) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        (curve.x, curve.y) = (Axis::linear(HOSTILE, HOSTILE), Axis::linear(HOSTILE, HOSTILE));
    }
    let page = page(&reproduction);
    for markup in ["<script", "<img", "onerror=alert(1)>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
}

proptest! {
    // An integration test has no source tree to keep failures in; the smallest failing input is printed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_points_give_a_drawing_with_finite_coordinates(
        points in prop::collection::vec((ANY, ANY), 0..6),
        log in any::<bool>(),
        published in prop::option::of(ANY),
        ours in ANY,
    ) {
        let mut reproduction = sample();
        let x = if log { Axis::log("x", "1") } else { Axis::linear("x", "1") };
        for curve in &mut reproduction.curves {
            (curve.x, curve.points) = (x, points.clone());
        }
        reproduction.rows.push(row(Figure::Fig(5), published, ours));
        let page = page(&reproduction);
        prop_assert!(!page.contains("NaN") && !page.contains("inf"));
        for attribute in [" x=\"", " y=\"", " x1=\"", " x2=\"", " y1=\"", " y2=\""] {
            for (at, _) in page.match_indices(attribute) {
                let value: String = page[at + attribute.len()..].chars().take_while(|c| *c != '"').collect();
                let number = value.trim_end_matches('%').parse::<f64>();
                prop_assert!(number.is_ok_and(|number| (0.0..=100.0).contains(&number)), "{attribute}{value}");
            }
        }
    }
}
