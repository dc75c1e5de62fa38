//! Which published formulas describe a scenario, and what they predict for it.
//!
//! Both Obata papers describe `direct` alone, over one connection at a time, and stand first; what others say is in
//! `well_known`. Each object is one data set: its body and its response header. What the formulas cannot describe becomes a
//! [`Gap`] with the reason, never a guess; where the scenario differs from what they assume, the row's note says how.

use crate::expressible::why_inexpressible;
use crate::mended::{self, Mends};
use crate::ranking::ranking;
use crate::well_known::{self, Answer, data_sets, initial_window};
use crate::{ModelError, Path, Segments, limit, obata_2001, obata_2002, own};
use farhop_results::{Architecture, CacheState, Gap, Rank, Row, Source};
use farhop_scenario::{ChannelConfig, Congestion, FirstAck, HEADER_BYTES, HttpVersion, Scenario};
use farhop_units::{Bytes, Rate};
use std::time::Duration;

/// What the formulas say about a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// A row per formula that applies.
    pub rows: Vec<Row>,
    /// Architectures of the scenario that no published formula describes, with the reason.
    pub gaps: Vec<Gap>,
    /// Every architecture that farhop's model knows a time for, the fastest first.
    pub ranking: Vec<Rank>,
    /// The window that saturates the down link (obata-2001 Eq 13); absent if nothing limits its rate.
    pub saturation_window: Option<Segments>,
    /// Throughput of the page's bytes as one transfer over an open connection (obata-2001 Eq 10 and 12); absent if it is no rate.
    pub throughput: Option<Rate>,
}

/// farhop's own model and every published formula that applies to `scenario`, for each of its architectures.
pub fn predict(scenario: &Scenario) -> Prediction {
    Prediction { ranking: ranking(scenario), ..collect(scenario, predict_architecture) }
}

/// Rows, and why one of them or all are missing.
type Answers = (Vec<Row>, Option<String>);

/// What `answers` gives for each architecture.
fn collect(scenario: &Scenario, answers: impl Fn(&Scenario, Architecture) -> Answers) -> Prediction {
    let mut prediction = Prediction {
        rows: Vec::new(),
        gaps: Vec::new(),
        ranking: Vec::new(),
        saturation_window: None,
        throughput: None,
    };
    for &architecture in &scenario.run.architectures {
        let (rows, reason) = answers(scenario, architecture);
        prediction.rows.extend(rows);
        let gap = |reason| Gap { architecture, source: Source::Predicted, reason };
        prediction.gaps.extend(reason.map(gap));
    }
    if let (Ok(path), None) = (Path::of(scenario), why_inexpressible(scenario)) {
        let bytes = scenario.page.objects.iter().fold(0_u64, |sum, object| sum.saturating_add(object.size.get()));
        prediction.saturation_window = obata_2001::eq13_saturation_window(&path);
        prediction.throughput = obata_2001::throughput(&path, Bytes::new(bytes), &obata_2001::Readings::default()).ok();
    }
    prediction
}

/// The rows of one architecture, farhop's own first, or why there are none or not that.
fn predict_architecture(scenario: &Scenario, architecture: Architecture) -> Answers {
    let published = predict_by_formulas(scenario, architecture);
    match (own_row(scenario, architecture), published) {
        (Ok(own), published) => (own.into_iter().chain(published.unwrap_or_default()).collect(), None),
        (Err(own), Ok(rows)) => (rows, Some(format!("nothing by farhop's model: {own}"))),
        (Err(own), Err(published)) if published.contains(&own) => (Vec::new(), Some(published)),
        (Err(own), Err(published)) => (Vec::new(), Some(format!("{published}; {own}"))),
    }
}

/// The row of farhop's own model; none if the load takes no time.
fn own_row(scenario: &Scenario, architecture: Architecture) -> Result<Option<Row>, String> {
    let own = own::answer(scenario, architecture)?;
    let answer = Answer { method: own::METHOD, time: own.time, assumed: vec![own.note], joins_links: false };
    let row = row(scenario, architecture, &answer);
    Ok(row.map(|row| Row { first_byte_s: Some(own.first_byte.as_secs_f64()), breakdown: own.waits, ..row }))
}

/// The rows of the formulas for one architecture, or why there are none.
fn predict_by_formulas(scenario: &Scenario, architecture: Architecture) -> Result<Vec<Row>, String> {
    let (obata, why_not) = match formulas(scenario, architecture) {
        Ok(formulas) => (formulas, String::new()),
        Err(reason) => (&[][..], reason),
    };
    if obata.is_empty() && !well_known::has_formula(scenario, architecture) {
        return Err(why_not);
    }
    if let Some(reason) = why_inexpressible(scenario) {
        return Err(reason);
    }
    let path = Path::of(scenario).map_err(|error| error.to_string())?;
    let answers = obata.iter().map(|formula| formula.answer(scenario, &path)).collect::<Result<Vec<_>, _>>();
    let mut answers = answers.map_err(|error| error.to_string())?;
    answers.extend(well_known::answers(scenario, &path, architecture).map_err(|error| error.to_string())?);
    let rows: Vec<_> = answers.iter().filter_map(|answer| row(scenario, architecture, answer)).collect();
    match rows.is_empty() {
        true => Err("a path without delay and with unlimited rates takes no time".to_owned()),
        false => Ok(rows),
    }
}

/// Why no formula of this crate describes `architecture`.
fn why_no_formula(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Tunnel => "no published formula describes requests multiplexed over one QUIC connection",
        Architecture::Accelerated => "no published formula describes announce, hold and push",
        Architecture::Split | Architecture::Multiplexed | Architecture::Rwbp => {
            "its paper gives simulations and no closed formula"
        }
        Architecture::Direct | Architecture::PrefetchConventional | Architecture::Prefetch2013 => {
            "no published formula for this use of HTTP"
        }
    }
}

/// A formula of obata-2002 for a whole page, as published or with every mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Formula {
    Eq9,
    Eq11,
    Eq13,
    Eq15,
    MendedEq9,
    MendedEq13,
    MendedEq15,
}

/// Obata's formulas for the scenario's use of HTTP, the authors' preferred one first.
fn formulas(scenario: &Scenario, architecture: Architecture) -> Result<&'static [Formula], String> {
    let http = &scenario.http;
    if architecture != Architecture::Direct {
        return Err(why_no_formula(architecture).to_owned());
    }
    // No more connections open than there are objects; requests in a pipeline share one.
    let connections = http.connections.min(scenario.page.objects.len());
    match http.version {
        HttpVersion::Http11Pipelined => Ok(&[Formula::Eq15, Formula::MendedEq15]),
        HttpVersion::Http2 | HttpVersion::Http3 => {
            Err("no published formula describes requests multiplexed over one connection".to_owned())
        }
        _ if connections > 1 => {
            Err(format!("no published formula for {connections} parallel connections, only for one"))
        }
        HttpVersion::Http10 => Ok(&[Formula::Eq9, Formula::MendedEq9]),
        // Of one object both formulas for HTTP/1.1 are the same.
        HttpVersion::Http11 if scenario.page.objects.len() == 1 => Ok(&[Formula::Eq13, Formula::MendedEq13]),
        HttpVersion::Http11 => Ok(&[Formula::Eq13, Formula::Eq11, Formula::MendedEq13]),
    }
}

impl Formula {
    fn method(self) -> &'static str {
        match self {
            Self::Eq9 => "obata-2002 Eq 9",
            Self::Eq11 => "obata-2002 Eq 11",
            Self::Eq13 => "obata-2002 Eq 13",
            Self::Eq15 => "obata-2002 Eq 15",
            Self::MendedEq9 => "obata-2002 Eq 9, mended",
            Self::MendedEq13 => "obata-2002 Eq 13, mended",
            Self::MendedEq15 => "obata-2002 Eq 15, mended",
        }
    }

    fn page_load_time(self, path: &Path, sizes: impl Iterator<Item = Bytes>) -> Result<Duration, ModelError> {
        use mended::obata_2002 as ours;
        match self {
            Self::Eq9 => obata_2002::eq9_http10(path, sizes, obata_2002::P_CONNECT),
            Self::Eq11 => obata_2002::eq11_http11_initial(path, sizes, obata_2002::P_CONNECT),
            Self::Eq13 => obata_2002::eq13_http11_revised(path, sizes, obata_2002::P_CONNECT),
            Self::Eq15 => obata_2002::eq15_http11_pipelined(path, sizes, obata_2002::P_CONNECT),
            Self::MendedEq9 => ours::eq9_http10(path, sizes, obata_2002::P_CONNECT, Mends::ALL),
            Self::MendedEq13 => ours::eq13_http11_revised(path, sizes, obata_2002::P_CONNECT, Mends::ALL),
            Self::MendedEq15 => ours::eq15_http11_pipelined(path, sizes, obata_2002::P_CONNECT, Mends::ALL),
        }
    }

    fn answer(self, scenario: &Scenario, path: &Path) -> Result<Answer, ModelError> {
        let time = self.page_load_time(path, data_sets(scenario))?;
        let mut assumed = self.assumptions(scenario);
        if time < limit(scenario) && !self.is_mended() {
            assumed.push("no headers on each object's last window".to_owned());
        }
        Ok(Answer { method: self.method(), time, assumed, joins_links: true })
    }

    fn is_mended(self) -> bool {
        matches!(self, Self::MendedEq9 | Self::MendedEq13 | Self::MendedEq15)
    }

    /// What the formula assumes about the window from the second object on.
    fn later_objects(self) -> Option<&'static str> {
        match self {
            Self::Eq9 | Self::MendedEq9 => None,
            Self::MendedEq13 | Self::MendedEq15 => Some("no slow start again after waiting"),
            Self::Eq11 => Some("slow start again for every object"),
            Self::Eq13 | Self::Eq15 => Some("a full window from the second object on"),
        }
    }

    /// What the formula assumes, beside what the scenario says.
    fn assumptions(self, scenario: &Scenario) -> Vec<String> {
        let tcp = &scenario.tcp;
        let mut assumed = vec![initial_window(1, tcp.initial_window), "an ACK for every second segment".to_owned()];
        if tcp.first_ack == FirstAck::Delayed {
            assumed.push("no delay of the first ACK (here delayed)".to_owned());
        }
        if !matches!(tcp.congestion, Congestion::Reno | Congestion::NewReno) {
            assumed.push("Reno's slow start".to_owned());
        }
        assumed.extend(self.later_objects().map(str::to_owned));
        let request = Bytes::new(scenario.http.request_bytes.get().saturating_add(HEADER_BYTES.get()));
        if request != obata_2002::P_CONNECT {
            assumed.push(format!("requests of {} on the wire (here {request})", obata_2002::P_CONNECT));
        }
        assumed.extend(no_loss(scenario));
        assumed
    }
}

/// The row of `answer`; none if it takes no time.
fn row(scenario: &Scenario, architecture: Architecture, answer: &Answer) -> Option<Row> {
    let (page_load_s, limit) = (answer.time.as_secs_f64(), limit(scenario));
    let bits: f64 = scenario.page.objects.iter().map(|object| object.size.bits_f64()).sum();
    (!answer.time.is_zero()).then(|| Row {
        architecture,
        source: Source::Predicted,
        method: answer.method.to_owned(),
        state: CacheState::Cold,
        runs: 1,
        page_load_s,
        page_load_min_s: page_load_s,
        page_load_max_s: page_load_s,
        mean_s: None,
        mean_error_s: None,
        first_byte_s: None,
        goodput_bit_s: bits / page_load_s,
        limit_s: limit.as_secs_f64(),
        note: Some(note(scenario, answer, answer.time < limit)),
        breakdown: Vec::new(),
        users: None,
        log: None,
    })
}

/// What the answer assumes, and whether that makes it impossible.
fn note(scenario: &Scenario, answer: &Answer, below_limit: bool) -> String {
    let below = if below_limit { ", hence less than the limit" } else { "" };
    let joins = answer.joins_links && has_more_than_the_link(scenario);
    let joined = if joins { "; wan, link and lan count as one link each way" } else { "" };
    format!("assumes {}{below}{joined}", answer.assumed.join(", "))
}

/// What a formula without losses assumes where there are some.
pub(crate) fn no_loss(scenario: &Scenario) -> Option<String> {
    let is_lossy = |channel: &ChannelConfig| !channel.down.loss.is_none() || !channel.up.loss.is_none();
    let lossy = [&scenario.wan, &scenario.link, &scenario.lan].into_iter().any(is_lossy);
    lossy.then(|| "no loss".to_owned())
}

fn has_more_than_the_link(scenario: &Scenario) -> bool {
    !scenario.wan.is_transparent() || !scenario.lan.is_transparent()
}

#[cfg(test)]
pub(crate) mod tests {
    //! Also builds the scenarios for this crate's tests.

    use super::*;

    /// What the formulas alone say.
    pub(crate) fn predict(scenario: &Scenario) -> Prediction {
        collect(scenario, |scenario, architecture| match predict_by_formulas(scenario, architecture) {
            Ok(rows) => (rows, None),
            Err(reason) => (Vec::new(), Some(reason)),
        })
    }

    use farhop_scenario::{
        DirectionConfig, HttpConfig, Object, Page, PrefetchSide, Profile, RunConfig, RwbpSettings, TcpConfig,
    };

    /// One direction of a geostationary link: 250 ms, 100 Mbit/s.
    pub(crate) fn geo() -> DirectionConfig {
        DirectionConfig { rate: Some(Rate::mbps(100)), delay: Duration::from_millis(250), ..Default::default() }
    }

    /// Objects of these sizes over [`geo`] with every default.
    pub(crate) fn scenario(sizes: &[u64]) -> Scenario {
        Scenario {
            name: "test".to_owned(),
            rwbp: RwbpSettings { ack_every: 2, peak_rate: None },
            prefetch_at: PrefetchSide::default(),
            multiplexed_connections: 4,
            multicast: None,
            title: String::new(),
            link: ChannelConfig { down: geo(), up: geo(), ..ChannelConfig::default() },
            wan: ChannelConfig::default(),
            lan: ChannelConfig::default(),
            tcp: TcpConfig::of(Profile::Linux),
            page: Page {
                objects: sizes.iter().map(|size| Object::new("", "", Bytes::new(*size))).collect(),
                hosts: vec![Page::HOST.into()],
            },
            page_notes: Vec::new(),
            page_is_sealed: false,
            users: None,
            log: None,
            http: HttpConfig::DEFAULT,
            run: RunConfig {
                architectures: vec![Architecture::Direct],
                runs: 1,
                precision: farhop_units::Probability::ZERO,
                seed: 0,
            },
        }
    }

    fn over_http(version: HttpVersion, connections: usize, objects: usize) -> Prediction {
        let mut scenario = scenario(&vec![5000; objects]);
        scenario.http.version = version;
        scenario.http.connections = connections;
        predict(&scenario)
    }

    fn methods(prediction: &Prediction) -> Vec<&str> {
        prediction.rows.iter().map(|row| row.method.as_str()).collect()
    }

    #[test]
    fn our_own_model_stands_before_the_formulas_and_fills_what_they_do_not_describe() {
        let mut scenario = scenario(&[5000; 10]);
        scenario.run.architectures = Architecture::ALL.to_vec();
        let prediction = super::predict(&scenario);
        for &architecture in Architecture::ALL {
            let first = prediction.rows.iter().find(|row| row.architecture == architecture);
            assert_eq!(first.map(|row| row.method.as_str()), Some(own::METHOD), "{architecture}");
        }
        assert_eq!(prediction.gaps, []);
        scenario.link.up.jitter = farhop_scenario::Jitter::Uniform(Duration::from_millis(1));
        let reasons: Vec<_> = super::predict(&scenario).gaps.into_iter().map(|gap| gap.reason).collect();
        assert_eq!(
            reasons[0],
            "no published formula knows jitter (link.up); farhop's model does not know jitter (link.up)"
        );
    }

    #[test]
    fn formulas_beside_losses_say_what_they_leave_out_and_why_our_own_model_is_missing() {
        let mut scenario = scenario(&[5000; 10]);
        scenario.run.architectures = vec![Architecture::Direct, Architecture::Prefetch2013];
        scenario.link.down.loss = farhop_scenario::LossModel::Bernoulli(farhop_units::Probability::new(0.6).unwrap());
        let prediction = super::predict(&scenario);
        assert_eq!(methods(&prediction), ["prefetch-2013 Eq 5", "lantern", "prefetch-2013 Eq 9"]);
        for row in &prediction.rows {
            assert!(row.note.as_deref().is_some_and(|note| note.contains(", no loss")), "{row:?}");
        }
        let reasons: Vec<_> = prediction.gaps.iter().map(|gap| (gap.architecture, gap.reason.as_str())).collect();
        let reason = "nothing by farhop's model: loss is 60 % on average; accepted: at most 50 %";
        assert_eq!(reasons[0], (Architecture::Direct, reason));
    }

    #[test]
    fn each_version_of_http_has_its_formulas() {
        let others = ["prefetch-2013 Eq 5", "lantern"];
        let and_others = |obata: &[&'static str]| [obata, &others].concat();
        assert_eq!(
            methods(&over_http(HttpVersion::Http10, 1, 10)),
            and_others(&["obata-2002 Eq 9", "obata-2002 Eq 9, mended"])
        );
        assert_eq!(
            methods(&over_http(HttpVersion::Http11, 1, 10)),
            and_others(&["obata-2002 Eq 13", "obata-2002 Eq 11", "obata-2002 Eq 13, mended"])
        );
        assert_eq!(
            methods(&over_http(HttpVersion::Http11Pipelined, 1, 10)),
            ["obata-2002 Eq 15", "obata-2002 Eq 15, mended"]
        );
    }

    #[test]
    fn parallel_connections_have_no_formula_of_obata() {
        let prediction = over_http(HttpVersion::Http11, 6, 28);
        assert_eq!(methods(&prediction), ["prefetch-2013 Eq 5", "lantern"]);
        assert_eq!(prediction.gaps, []);
    }

    #[test]
    fn one_object_needs_one_connection_whatever_is_allowed() {
        assert_eq!(methods(&over_http(HttpVersion::Http11, 6, 1))[0], "obata-2002 Eq 13");
    }

    #[test]
    fn other_architectures_are_gaps_with_a_reason() {
        let mut scenario = scenario(&[5000]);
        scenario.run.architectures = Architecture::ALL.to_vec();
        let prediction = predict(&scenario);
        let predicted = [Architecture::Direct, Architecture::PrefetchConventional, Architecture::Prefetch2013];
        assert_eq!(prediction.gaps.len(), Architecture::ALL.len() - predicted.len());
        assert!(prediction.rows.iter().all(|row| predicted.contains(&row.architecture)));
        assert!(prediction.gaps.iter().all(|gap| gap.source == Source::Predicted && !gap.reason.is_empty()));
    }

    #[test]
    fn a_row_says_what_its_formula_assumes() {
        let prediction = over_http(HttpVersion::Http11, 1, 2);
        assert_eq!(
            prediction.rows[0].note.as_deref(),
            Some(
                "assumes an initial window of 1 segment (here 10), an ACK for every second segment, Reno's slow start, \
                 a full window from the second object on, requests of 52 B on the wire (here 402 B)"
            )
        );
    }

    #[test]
    fn the_paper_s_own_case_is_the_formula_s_value() {
        let mut scenario = scenario(&[4750; 10]);
        let direction = |bits, micros| DirectionConfig {
            rate: Rate::from_bits_per_second(bits),
            delay: Duration::from_micros(micros),
            ..Default::default()
        };
        scenario.link.down = direction(2_048_000, 258_600);
        scenario.link.up = direction(900_700, 17_300);
        scenario.tcp =
            TcpConfig { initial_window: 1, max_window: Some(Bytes::kib(16)), ..TcpConfig::of(Profile::Bsd1997) };
        scenario.http.version = HttpVersion::Http10;
        scenario.http.connections = 1;
        let path = Path::of(&scenario).unwrap();
        let each = obata_2002::eq1_connect_time(&path, obata_2002::P_CONNECT)
            + obata_2002::eq8_transmit_time(&path, Bytes::new(5000));
        let row = &predict(&scenario).rows[0];
        assert!((row.page_load_s - 10.0 * each.as_secs_f64()).abs() < 1e-9);
        assert!((row.goodput_bit_s - 380_000.0 / row.page_load_s).abs() < 1e-6);
        assert!(row.page_load_s > row.limit_s);
    }

    #[test]
    fn a_window_below_a_segment_is_a_gap_that_names_it() {
        let mut scenario = scenario(&[5000]);
        scenario.tcp.max_window = Some(Bytes::new(1000));
        assert!(predict(&scenario).gaps[0].reason.starts_with("max_window 1 kB is below one segment"));
    }

    #[test]
    fn nothing_on_the_path_is_a_gap_and_no_infinite_goodput() {
        let mut scenario = scenario(&[5000]);
        scenario.link = ChannelConfig::default();
        assert_eq!(predict(&scenario).rows, []);
        assert_eq!(predict(&scenario).saturation_window, None);
    }

    #[test]
    fn wan_and_lan_count_as_part_of_the_link() {
        let mut scenario = scenario(&[5000]);
        scenario.wan.down.delay = Duration::from_millis(40);
        let row = &predict(&scenario).rows[0];
        assert!(row.note.as_deref().is_some_and(|note| note.ends_with("wan, link and lan count as one link each way")));
    }

    #[test]
    fn a_prediction_below_the_limit_says_why() {
        let row = |size| predict(&scenario(&[size])).rows[0].clone();
        let says_why = |row: &Row| row.note.as_deref().is_some_and(|note| note.contains("less than the limit"));
        let (small, large) = (row(5000), row(100_000_000_000));
        assert!(small.page_load_s > small.limit_s && !says_why(&small));
        assert!(large.page_load_s < large.limit_s && says_why(&large));
    }

    #[test]
    fn a_mended_prediction_keeps_to_the_limit() {
        let mut scenario = scenario(&[100_000_000]);
        scenario.http.request_bytes = Bytes::ZERO;
        let rows = predict(&scenario).rows;
        let mended =
            rows.iter().find(|row| row.method == "obata-2002 Eq 13, mended").expect("one object, one connection");
        assert!(mended.page_load_s > mended.limit_s);
    }

    #[test]
    fn a_terabyte_is_predicted_at_once() {
        let prediction = predict(&scenario(&[1_000_000_000_000]));
        let rate = prediction.throughput.expect("a rate").as_f64();
        assert!((0.9e8..1.0e8).contains(&rate), "{rate}");
        assert!(prediction.rows[0].page_load_s > 80_000.0);
    }
}
