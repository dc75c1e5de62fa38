use super::parameters::Parameters;
use super::*;
use crate::Object;
use farhop_units::Bytes;
use proptest::prelude::*;

const NAMES: [&str; 5] = [Zhou2004::NAME, ChoiLimb1999::NAME, Surge1998::NAME, ThreeGpp::NAME, Page2025::NAME];

fn model(text: &str) -> UserModel {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn visits(text: &str, users: u32, each: usize) -> Vec<Visit> {
    let model = model(text);
    (0..users)
        .flat_map(|number| {
            let mut user = User::new(&model, 1, number);
            (0..each).map(move |_| user.next_visit()).collect::<Vec<_>>()
        })
        .collect()
}

/// Mean, and four standard errors of it.
#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, 4.0 * (variance / count).sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn inline_objects(visits: &[Visit]) -> (f64, f64) {
    mean(visits.iter().map(|visit| (visit.page.objects.len() - 1) as f64))
}

#[test]
fn a_visit_depends_on_seed_user_and_number_alone() {
    for name in NAMES {
        let model = model(name);
        let mut alone = User::new(&model, 7, 3);
        let firsts: Vec<Visit> = (0..5).map(|_| alone.next_visit()).collect();
        let mut others: Vec<User> = (0..5).map(|number| User::new(&model, 7, number)).collect();
        for (round, first) in firsts.iter().enumerate() {
            // Others may be ahead, and looking at the first think time changes nothing.
            others.iter_mut().take(3).for_each(|user| drop((0..round).map(|_| user.next_visit()).collect::<Vec<_>>()));
            assert_eq!(others[3].first_think(), alone.first_think());
            assert_eq!(others[3].next_visit(), *first, "{name}");
        }
        assert_ne!(User::new(&model, 8, 3).next_visit(), firsts[0], "{name}: another seed");
        assert_ne!(User::new(&model, 7, 4).next_visit(), firsts[0], "{name}: another user");
        assert_ne!(firsts[1], firsts[0], "{name}: another visit");
    }
}

#[test]
fn a_changed_parameter_leaves_everything_else_as_it_was() {
    let (pareto, fixed) = (visits("zhou-2004", 5, 20), visits("zhou-2004, sizes = fixed", 5, 20));
    for (one, other) in pareto.iter().zip(&fixed) {
        assert_eq!(one.think, other.think);
        assert_eq!(one.page.objects.len(), other.page.objects.len());
        let requests = |page: &Page| page.objects.iter().map(|object| object.request_bytes).collect::<Vec<_>>();
        assert_eq!(requests(&one.page), requests(&other.page));
    }
    // More objects: those that were there stay as they were.
    let more = visits("zhou-2004, inline-objects = constant value=20", 5, 20);
    let sizes = |page: &Page, count: usize| page.objects.iter().take(count).map(|o| o.size).collect::<Vec<_>>();
    for (few, many) in pareto.iter().zip(&more) {
        let count = few.page.objects.len().min(21);
        assert_eq!(sizes(&few.page, count), sizes(&many.page, count));
    }
    // More files of one kind: those of the others stay as they were.
    let (few, many) = (visits("page-2025", 3, 3), visits("page-2025, styles = constant value=99", 3, 3));
    let images = |page: &Page| {
        let images = page.objects.iter().filter(|object| object.media_type == "image/jpeg");
        images.map(|object| (object.name.clone(), object.size, object.delay)).collect::<Vec<_>>()
    };
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(images(&few.page), images(&many.page));
        assert_ne!(few.page.objects.len(), many.page.objects.len());
    }
}

#[test]
fn pages_are_graphs() {
    for name in NAMES {
        for Visit { page, .. } in visits(name, 40, 25) {
            assert_eq!(Page::new(page.objects.clone(), page.hosts.clone()), Ok(page.clone()), "{name}");
            let mut names: Vec<(usize, &str)> = page.objects.iter().map(|o| (o.host, o.name.as_str())).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{name}: names are unique");
            assert!((0..page.hosts.len()).all(|host| page.objects.iter().any(|object| object.host == host)), "{name}");
        }
        let typical = model(name).typical_page();
        assert!(Page::new(typical.objects, typical.hosts).is_ok(), "{name}");
    }
}

#[test]
fn extreme_models_still_make_pages() {
    for text in [
        "zhou-2004, sizes = pareto least=1MB shape=0.01, inline-objects = constant value=0",
        "zhou-2004, sizes = constant value=0B, requests = constant value=0B",
        "3gpp, embedded-objects = constant value=0, think = pareto least=1s shape=0.01",
        "3gpp, parsing = constant value=9999h",
        "surge-1998, popularity = constant value=1, embedded-references = constant value=50",
        "page-2025, scripts = constant value=0, styles = constant value=0, hosts = constant value=0",
    ] {
        for Visit { page, .. } in visits(text, 3, 3) {
            let messages = page.objects.iter().flat_map(|object| {
                let response = object.response_header_bytes.map(|head| head + object.size);
                [object.request_bytes, response].into_iter().flatten()
            });
            assert!(messages.min() != Some(Bytes::ZERO), "{text}: who sends nothing is never answered");
            assert_eq!(Page::new(page.objects.clone(), page.hosts.clone()), Ok(page), "{text}");
        }
    }
    let crowded = visits("zhou-2004, sizes = fixed, inline-objects = constant value=1000000", 1, 1);
    assert_eq!(crowded[0].page.objects.len(), crate::MAX_OBJECTS);
}

#[test]
fn users_of_2004_are_as_the_paper_says() {
    let visits = visits("zhou-2004", 100, 100);
    let (count, error) = inline_objects(&visits);
    // Rounding to the nearest hardly moves the mean of a distribution as wide as this.
    assert!((count - 5.55).abs() < error, "{count} ± {error}");
    let objects = || visits.iter().flat_map(|visit| &visit.page.objects);
    let (request, error) = mean(objects().filter_map(|object| object.request_bytes).map(Bytes::as_f64));
    assert!((request - 385.0).abs() < error, "{request} ± {error}");
    // The mean of a Pareto distribution without variance cannot be tested by its sample; its median and a tail can.
    let above = |size: u64| mean(objects().map(|o| if o.size > Bytes::new(size) { 1.0 } else { 0.0 }));
    for (size, expected) in [(1_878, 0.5), (10_000, 0.079_43), (100_000, 0.006_31)] {
        let (share, error) = above(size);
        assert!((share - expected).abs() < error, "{share} ± {error} above {size}");
    }
    assert!(objects().all(|object| object.size >= Bytes::kb(1)));
    let thoughtful = mean(visits.iter().map(|v| if v.think > Duration::from_secs(20) { 1.0 } else { 0.0 }));
    assert!((thoughtful.0 - 0.125).abs() < thoughtful.1, "{thoughtful:?}");
    let known = |visit: &Visit| {
        (1..visit.page.objects.len()).all(|i| visit.page.discovered_at(i) == visit.page.objects[0].size)
    };
    assert!(visits.iter().all(known), "inline objects are known when the document is complete");
}

#[test]
fn the_variants_of_2004_have_the_same_mean() {
    for variant in ["pareto", "exponential", "fixed"] {
        let UserModel::Zhou2004(model) = model(&format!("zhou-2004, sizes = {variant}")) else { panic!("{variant}") };
        assert_eq!(model.sizes.0.mean(), Some(Bytes::kb(11)), "{variant}");
        assert_eq!(model.sizes.to_string(), variant);
    }
    let page = model("zhou-2004").typical_page();
    assert_eq!((page.objects.len(), page.total_bytes()), (7, Bytes::kb(77)));
    // What the module's documentation says about the largest reply.
    for (largest, stated) in [("10MB", 6620.0), ("100MB", 7520.0), ("1GB", 8240.0)] {
        let sizes: ReplySizes = format!("pareto least=1kB shape=1.1 to={largest}").parse().unwrap();
        let mean = sizes.0.mean().unwrap().as_f64();
        assert!((mean - stated).abs() < 5.0, "{largest}: {mean}");
    }
}

#[test]
fn users_of_1999_and_3gpp_have_their_means() {
    let choi = visits("choi-limb-1999", 100, 200);
    // Rounding takes a little off the many counts below one half.
    let (count, error) = inline_objects(&choi);
    assert!((count - 5.524).abs() < error, "{count} ± {error}");
    let main = mean(choi.iter().map(|visit| visit.page.objects[0].size.as_f64()));
    assert!((main.0 - 10_710.0).abs() < main.1, "{main:?}");
    let think = mean(choi.iter().map(|visit| visit.think.as_secs_f64()));
    assert!((think.0 - 39.45).abs() < think.1, "{think:?}");
    let delays = |visit: &Visit| visit.page.objects[1..].iter().map(|o| o.delay.as_secs_f64()).collect::<Vec<_>>();
    let parsing = mean(choi.iter().filter_map(|visit| delays(visit).first().copied()));
    assert!((parsing.0 - 0.132).abs() < parsing.1, "{parsing:?}");
    let gaps = mean(choi.iter().flat_map(|visit| delays(visit).windows(2).map(|d| d[1] - d[0]).collect::<Vec<_>>()));
    assert!((gaps.0 - 0.86).abs() < gaps.1, "{gaps:?}");
    let gpp = visits("3gpp", 100, 200);
    let (count, error) = inline_objects(&gpp);
    assert!((count - 5.64).abs() < error, "{count} ± {error}");
    assert!(gpp.iter().all(|visit| visit.page.objects.len() <= 54));
    let inside = |object: &Object| object.size >= Bytes::new(50) && object.size <= Bytes::new(2_000_000);
    assert!(gpp.iter().all(|visit| visit.page.objects.iter().all(inside)));
    let parsing = mean(gpp.iter().filter_map(|visit| visit.page.objects.get(1)).map(|o| o.delay.as_secs_f64()));
    assert!((parsing.0 - 0.13).abs() < parsing.1, "{parsing:?}");
}

#[test]
fn a_file_of_surge_is_the_same_for_everyone() {
    let visits = visits("surge-1998", 50, 100);
    let mut files: std::collections::BTreeMap<String, (Bytes, u32)> = std::collections::BTreeMap::new();
    for object in visits.iter().flat_map(|visit| &visit.page.objects) {
        let rank = object.name.split('.').next().unwrap().to_owned();
        let (size, seen) = files.entry(rank).or_insert((object.size, 0));
        assert_eq!(*size, object.size, "{}", object.name);
        *seen += 1;
    }
    // The share of the first rank is one over the sum of 1/r up to 2000, which is 8.178.
    let document = |visit: &Visit| visit.page.objects[0].name == "f1.html";
    let first = mean(visits.iter().map(|visit| if document(visit) { 1.0 } else { 0.0 }));
    assert!((first.0 - 1.0 / 8.178).abs() < first.1, "{first:?}");
    assert!(files.len() > 1000, "{}", files.len());
    // Pauses add up along a page.
    let in_order = |visit: &Visit| visit.page.objects[1..].is_sorted_by_key(|object| object.delay);
    assert!(visits.iter().all(in_order));
}

/// The value below which this share of the sorted values lies.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list"
)]
fn percentile(values: &mut [f64], percent: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * percent / 100.0) as usize]
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn pages_of_2025_have_about_the_published_percentiles() {
    let visits = visits("page-2025", 100, 100);
    let mut requests: Vec<f64> = visits.iter().map(|visit| visit.page.objects.len() as f64).collect();
    let mut bytes: Vec<f64> = visits.iter().map(|visit| visit.page.total_bytes().as_f64() / 1000.0).collect();
    for (percent, published_requests, published_bytes) in
        [(10.0, 27.0, 607.0), (25.0, 46.0, 1275.0), (50.0, 77.0, 2412.0), (75.0, 122.0, 4570.0), (90.0, 185.0, 9179.0)]
    {
        let (count, size) = (percentile(&mut requests, percent), percentile(&mut bytes, percent));
        let shown = format!("{percent} %: {count} requests ({published_requests}), {size:.0} kB ({published_bytes})");
        assert!((count / published_requests - 1.0).abs() < 0.1, "{shown}");
        assert!((size / published_bytes - 1.0).abs() < 0.35, "{shown}");
    }
    let scripts =
        |visit: &Visit| visit.page.objects.iter().filter(|o| o.media_type == "text/javascript").count() as f64;
    let mut scripts: Vec<f64> = visits.iter().map(scripts).collect();
    assert!((percentile(&mut scripts, 50.0) - 23.0).abs() <= 1.0);
    assert!((percentile(&mut scripts, 90.0) - 67.0).abs() <= 3.0);
    let page = model("page-2025").typical_page();
    for (kind, stated) in
        [("text/css", 82.0), ("font/woff2", 139.0), ("text/javascript", 697.0), ("image/jpeg", 1058.0)]
    {
        let of_kind = page.objects.iter().filter(|object| object.media_type == kind);
        let sum = of_kind.map(|object| object.size.as_f64() / 1000.0).sum::<f64>();
        assert!((sum / stated - 1.0).abs() < 0.05, "{kind}: {sum} kB instead of {stated}");
    }
}

#[test]
fn fonts_of_2025_wait_for_complete_style_sheets() {
    let visits = visits("page-2025", 20, 10);
    let mut by_script = 0;
    for Visit { page, .. } in &visits {
        for object in &page.objects[1..] {
            let reference = object.reference.unwrap();
            let referrer = &page.objects[reference.object];
            match (object.media_type.as_str(), referrer.media_type.as_str()) {
                ("font/woff2", "text/css") => assert_eq!(reference.end, referrer.size),
                ("font/woff2", other) => assert!(page.objects.iter().all(|o| o.media_type != "text/css"), "by {other}"),
                (_, "text/javascript") => by_script += 1,
                _ => assert!(reference.end <= referrer.size),
            }
        }
    }
    assert!(by_script > 1000, "{by_script}");
}

#[test]
fn models_print_what_differs_and_read_back() {
    for name in NAMES {
        assert_eq!(model(name).to_string(), name);
    }
    let text = "zhou-2004, sizes = fixed, think = exponential mean=15s";
    assert_eq!(model(text).to_string(), text);
    assert_eq!(model(" zhou-2004 ,sizes=fixed,  think=exponential mean=15s").to_string(), text);
    assert_eq!(model("zhou-2004, sizes = pareto"), model("zhou-2004"));
    let text = "page-2025, correlation = 25 %, hosts = constant value=3";
    assert_eq!(model(&model(text).to_string()), model(text));
    let requests = "3gpp, requests = 50% constant value=1B | 50% constant value=2B";
    assert_eq!(model(requests).to_string(), requests);
}

#[test]
fn what_is_no_model_is_refused() {
    let problem = |text: &str| text.parse::<UserModel>().unwrap_err().to_string();
    assert!(problem("").starts_with("unknown model of users \"\"; accepted: zhou-2004, choi-limb-1999"));
    assert!(problem("zhou-2005").starts_with("unknown model of users \"zhou-2005\""));
    assert_eq!(
        problem("zhou-2004, size = fixed"),
        "unknown parameter \"size\" of zhou-2004; did you mean sizes?; accepted: requests, sizes, inline-objects, think"
    );
    assert!(problem("zhou-2004, think = 15 s").starts_with("think: "));
    assert!(problem("zhou-2004, think").starts_with("think: unknown distribution \"\""));
    assert!(problem("zhou-2004, sizes = fixed, sizes = fixed").starts_with("\"sizes\" is given twice"));
    assert!(problem("zhou-2004,").starts_with("unknown parameter \"\" of zhou-2004"));
    assert!(problem("page-2025, correlation = 2").starts_with("correlation: "));
}

#[test]
fn a_million_users_fit_into_memory() {
    assert!(size_of::<User>() < 100, "{}", size_of::<User>());
}

proptest! {
    #[test]
    fn any_text_gives_an_answer(text in "(zhou-2004|3gpp|surge-1998)[a-z0-9=%,| .-]{0,60}|.*") {
        let _ = text.parse::<UserModel>();
    }
}

/// A table's rows of a model's parameters, as published.
fn rows<M: Parameters>() -> Vec<String> {
    let mut model = M::default();
    let row = |(name, value): (&str, &mut dyn super::parameters::Parameter)| {
        format!("| {} | {name} | {} |", M::NAME, value.text().replace('|', "\\|"))
    };
    model.parameters().into_iter().map(row).collect()
}

#[test]
fn the_manual_has_all_parameters() {
    let manual = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md"));
    let models =
        [rows::<Zhou2004>(), rows::<ChoiLimb1999>(), rows::<Surge1998>(), rows::<ThreeGpp>(), rows::<Page2025>()];
    assert!(models.iter().all(|rows| rows.len() > 2), "{models:?}");
    let rows = models.concat();
    assert!(rows.iter().all(|row| manual.contains(row)), "docs/scenario.md lacks some of\n{}", rows.join("\n"));
}
