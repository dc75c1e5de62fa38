//! What the paper does not give, or not exactly: the satellite's delay, slots and frames, the largest reply, Aloha's streams. What is taken for each is
//! told, and the figures are simulated again with one of them changed, for as long as the figures are.

use super::{
    CFDAMA, EVERY, Figure, Fill, Found, Lab, MACS, MEANS, PARETO, Population, Reproduction, SCENARIO, Statistic,
    TRANSPORTS, acknowledgements_order, best, by_acknowledgements, changes, mac_order, reading, sizes_claim,
    transport_order,
};
use crate::lab::{Changes, scenario};
use farhop_results::Architecture;
use farhop_scenario::{Access, ChannelConfig, Frame};
use farhop_units::{Bytes, Rate};
use std::rc::Rc;
use std::time::Duration;

/// What is changed.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// These settings of the network.
    Network(&'static [&'static str]),
    /// Frames are so many times as long; slots of all kinds stay as large where the number of data slots is not that of the terminals.
    Frames(f64),
    /// Slots hold so many times as much; frames stay as long where each terminal need not have a slot in each.
    Slots(f64),
    /// No reply is larger.
    Largest(&'static str),
    /// A term of one scheme.
    Term(&'static str, &'static str),
}

const CONDITIONS: [(&str, Change); 10] = [
    (
        "satellite 280 ms one way, as at the edge of its coverage",
        Change::Network(&["link.down.delay=280 ms", "link.up.delay=280 ms", "link.down.queue=280 kB"]),
    ),
    (
        "TCP as it is today, with windows of ten segments at first and no limit",
        Change::Network(&["tcp.initial_window=10", "tcp.max_window=unlimited"]),
    ),
    ("no reply above 10 MB", Change::Largest("10MB")),
    ("no reply above 1 GB", Change::Largest("1GB")),
    ("frames half as long", Change::Frames(0.5)),
    ("frames twice as long", Change::Frames(2.0)),
    ("slots half as large", Change::Slots(0.5)),
    ("slots twice as large", Change::Slots(2.0)),
    ("streams of two slots", Change::Term("aloha-periodic", "stream=2")),
    ("streams kept for 10 s", Change::Term("aloha-periodic", "timeout=10s")),
];

const WHY: &str = "as above, with what the paper does not give changed";

impl Change {
    /// It is of what all three figures have in common.
    const fn is_of_the_network(self) -> bool {
        matches!(self, Self::Network(_) | Self::Frames(_) | Self::Slots(_))
    }

    /// The scheme, sizes of replies, and settings.
    fn apply(self, access: &str) -> (String, String, Changes) {
        let (mut scheme, mut sizes, mut settings) = (access.to_owned(), PARETO.to_owned(), Changes::new());
        match self {
            Self::Network(changed) => settings = changed.iter().map(ToString::to_string).collect(),
            Self::Frames(factor) => scheme = framed(access, factor, 1.0),
            Self::Slots(factor) => scheme = framed(access, 1.0, factor),
            Self::Largest(reply) => sizes = format!("pareto least=1kB shape=1.1 to={reply}"),
            Self::Term(of, term) if of == access => scheme = format!("{access} {term}"),
            Self::Term(..) => {}
        }
        (scheme, sizes, settings)
    }
}

/// The channel of the scenario.
fn channel(access: &str) -> Option<ChannelConfig> {
    scenario(SCENARIO, Architecture::Direct, &[format!("access.scheme={access}")]).ok().map(|scenario| scenario.link)
}

/// The frames of a scheme, if it has some.
fn frame_of(access: &str) -> Option<(Frame, Rate)> {
    let link = channel(access)?;
    let rate = link.up.rate?;
    Some((link.access.frame(link.terminals, rate).ok()??, rate))
}

/// A scheme whose frames, or slots, are longer by a factor, as near as whole slots of whole bytes come to it. With longer frames data slots and those
/// for requests stay as they are, and there are more of both; of larger data slots there are fewer.
fn framed(access: &str, longer: f64, larger: f64) -> String {
    let Some((frame, rate)) = frame_of(access) else { return access.to_owned() };
    if matches!(access.parse(), Ok(Access::FixedTdma(_))) {
        let length = frame.length.mul_f64(longer * larger).as_micros();
        return format!("{access} frame={length}us slots={}", frame.slots);
    }
    let times = |count: u32, factor: f64| (f64::from(count) * factor).round_ties_even();
    let (slots, requests) = (times(frame.slots, longer / larger), times(frame.requests, longer));
    let data = |slots: f64, slot: f64| Duration::from_secs_f64(slots * slot * 8.0 / rate.as_f64());
    let header = frame.length.saturating_sub(data(frame.slots.into(), frame.slot.as_f64()));
    let more_requests = if requests > 0.0 { requests / f64::from(frame.requests) } else { 1.0 };
    let length = header.mul_f64(more_requests) + data(slots, (frame.slot.as_f64() * larger).floor());
    let asked = if requests > 0.0 { format!(" request-slots={requests}") } else { String::new() };
    format!("{access} frame={}us slots={slots}{asked}", (length.as_secs_f64() * 1e6).round())
}

/// What frames it has, behind a reading of what they were changed for.
fn frame_told(change: Change, access: &str) -> String {
    match (change, frame_of(access)) {
        (Change::Frames(_) | Change::Slots(_), Some((frame, _))) => {
            let length = frame.length.as_secs_f64() * 1e3;
            format!("; {} slots of {} B in {length} ms", frame.slots, frame.slot.get())
        }
        _ => String::new(),
    }
}

/// What is taken for what the paper does not give.
pub(crate) fn told(reproduction: &mut Reproduction) {
    let section = Figure::Section("6");
    if let Ok(scenario) = scenario(SCENARIO, Architecture::Direct, &[]) {
        let first = f64::from(scenario.tcp.initial_window);
        let reading = "§1; it restarts from there after a timeout's idle time (RFC 2581), and is varied";
        reproduction.row(section, "TCP's initial window (segments)", Some(1.0), first, reading);
        let window = scenario.tcp.max_window.map_or(f64::INFINITY, Bytes::as_f64) / 1e3;
        let reading = "not given: what needs no scaling; the proxies have 56 kB, the satellite's delay at the peak rate, which is the text's; varied";
        reproduction.row(section, "TCP's largest window (kB)", None, window, reading);
        let connections = f64::from(u32::try_from(scenario.http.connections).unwrap_or(u32::MAX));
        let reading = "not given: RFC 2616 §8.1.4; persistent, and the first acknowledgement is immediate";
        reproduction.row(section, "connections of a browser", None, connections, reading);
    }
    let mut row = |quantity: String, ours: f64, reading: &str| reproduction.row(section, quantity, None, ours, reading);
    for (place, (scheme, name)) in MACS.iter().enumerate() {
        let Some(link) = channel(scheme) else { continue };
        if place == 0 {
            let reading = "§I: two hops are \"more than 0.5 sec\", a geostationary satellite, which is varied; the paper's queue of the satellite's bandwidth and delay, which is \
                           read as the round trip's, is 250 kB then";
            row("satellite's delay, one way (ms)".to_owned(), link.down.delay.as_secs_f64() * 1e3, reading);
        }
        let Some(Ok(Some(frame))) = link.up.rate.map(|rate| link.access.frame(link.terminals, rate)) else { continue };
        let cells = "not given: an ATM cell, with the request field where a scheme has one";
        row(format!("slot, {name} (B)"), frame.slot.as_f64(), cells);
        let reading = format!("not given: {} slots and {} for requests", frame.slots, frame.requests);
        row(format!("frame, {name} (ms)"), frame.length.as_secs_f64() * 1e3, &reading);
    }
}

/// A figure under each condition.
pub(super) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    for (condition, change) in CONDITIONS {
        match figure {
            Figure::Fig(6) => transports(lab, reproduction, condition, change),
            Figure::Fig(5) if change.is_of_the_network() => sizes(lab, reproduction, condition, change),
            Figure::Fig(7) if change.is_of_the_network() => acknowledgements(lab, reproduction, condition, change),
            _ => {}
        }
    }
}

/// Adds medians of pages by these names, and what frames they were simulated with.
fn medians(
    (lab, figure): (&Lab<'_>, Figure),
    reproduction: &mut Reproduction,
    condition: &str,
    row: &[((String, String), Found<Population>)],
) {
    for ((name, frames), found) in row {
        match found {
            Ok(population) => {
                let (quantity, median) =
                    (format!("{name}, {condition}: page, median (s)"), Statistic::Median.of(&population.pages));
                let reading = reading(lab.effort(), population) + frames;
                reproduction.row(figure, quantity, None, median, &reading);
            }
            Err(reason) => reproduction.gap_once(figure, reason),
        }
    }
}

/// Sizes of replies with RWBP, as in the paper.
fn sizes(lab: &mut Lab<'_>, reproduction: &mut Reproduction, condition: &str, change: Change) {
    let ((variants, mean, [why, _]), (architecture, transport)) = (MEANS[0], TRANSPORTS[2]);
    let (access, _, more) = change.apply(CFDAMA);
    let all = variants.iter().map(|(sizes, _)| (architecture, changes(lab.effort(), &access, sizes, &more))).collect();
    let frames = frame_told(change, &access);
    let names = variants.iter().map(|(_, name)| (format!("{transport}, {name}"), frames.clone()));
    let row: Vec<_> = names.zip(lab.populations(SCENARIO, all)).collect();
    medians((lab, Figure::Fig(5)), reproduction, condition, &row);
    let found: Option<Vec<Rc<Population>>> = row.into_iter().map(|(_, found)| found.ok()).collect();
    if let Some(found) = found {
        sizes_claim(reproduction, transport, variants, &found, &format!("{mean}; {condition}"), why);
    }
}

/// The order of the schemes, with TCP end to end and with RWBP, and the order of these.
fn transports(lab: &mut Lab<'_>, reproduction: &mut Reproduction, condition: &str, change: Change) {
    let (effort, mut all) = (lab.effort(), Vec::new());
    for (architecture, transport) in [TRANSPORTS[0], TRANSPORTS[2]] {
        let row = MACS.map(|(access, _)| {
            let (access, sizes, more) = change.apply(access);
            (architecture, changes(effort, &access, &sizes, &more))
        });
        let row = lab.populations(SCENARIO, row.to_vec());
        let names =
            MACS.map(|(access, mac)| (format!("{transport}, {mac}"), frame_told(change, &change.apply(access).0)));
        medians(
            (lab, Figure::Fig(6)),
            reproduction,
            condition,
            &names.into_iter().zip(row.clone()).collect::<Vec<_>>(),
        );
        mac_order(reproduction, transport, &row, &format!(", {condition}"), WHY);
        all.push(row);
    }
    if let [tcp, rwbp] = &all[..] {
        transport_order(reproduction, &[(TRANSPORTS[0].1, tcp)], rwbp, &format!(", {condition}"));
        best(reproduction, &all, &format!(", {condition}"));
    }
}

/// Frequencies of acknowledgements.
fn acknowledgements(lab: &mut Lab<'_>, reproduction: &mut Reproduction, condition: &str, change: Change) {
    let (access, _, more) = change.apply(CFDAMA);
    let row = by_acknowledgements(lab, &access, &more);
    let frames = frame_told(change, &access);
    let names = EVERY.map(|every| (format!("RWBP, CFDAMA, N = {every}"), frames.clone()));
    medians((lab, Figure::Fig(7)), reproduction, condition, &names.into_iter().zip(row.clone()).collect::<Vec<_>>());
    acknowledgements_order(reproduction, &row, &format!(", {condition}"), WHY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Effort;
    use std::time::Duration;

    #[test]
    fn what_the_paper_leaves_open_can_be_changed() {
        for (condition, change) in CONDITIONS {
            let changed = MACS.iter().filter(|(access, _)| {
                let (scheme, sizes, more) = change.apply(access);
                let own = changes(Effort::Quick, &scheme, &sizes, &more);
                crate::lab::scenario(SCENARIO, Architecture::Direct, &own).expect("it is a scenario");
                own != changes(Effort::Quick, access, PARETO, &[])
            });
            assert_eq!(changed.count(), if matches!(change, Change::Term(..)) { 1 } else { 3 }, "{condition}");
        }
    }

    #[test]
    fn no_satellite_is_nearer_than_the_paper_says() {
        for (condition, change) in CONDITIONS {
            let (scheme, sizes, more) = change.apply(CFDAMA);
            let own = changes(Effort::Quick, &scheme, &sizes, &more);
            let link = crate::lab::scenario(SCENARIO, Architecture::Rwbp, &own).expect("it is a scenario").link;
            assert!(link.down.delay + link.up.delay >= Duration::from_millis(500), "{condition}");
        }
    }

    #[test]
    fn slots_and_frames_are_as_much_larger_as_they_are_said_to_be() {
        let frame = |text: &str| {
            let (frame, _) = frame_of(text).expect("it has frames");
            (frame.length.as_micros(), frame.slots, frame.slot.get(), frame.requests)
        };
        let cases = [
            (
                "cfdama",
                [
                    (26_500, 25, 53, 0),
                    (12_720, 12, 53, 0),
                    (53_000, 50, 53, 0),
                    (26_000, 50, 26, 0),
                    (25_440, 12, 106, 0),
                ],
            ),
            (
                "aloha-periodic",
                [
                    (25_880, 22, 53, 16),
                    (12_940, 11, 53, 8),
                    (51_760, 44, 53, 32),
                    (25_440, 44, 26, 16),
                    (25_880, 11, 106, 16),
                ],
            ),
            (
                "tdma",
                [
                    (135_680, 128, 53, 0),
                    (67_840, 128, 26, 0),
                    (271_360, 128, 106, 0),
                    (67_840, 128, 26, 0),
                    (271_360, 128, 106, 0),
                ],
            ),
        ];
        let factors = [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0)];
        for (scheme, expected) in cases {
            assert_eq!(frame(scheme), expected[0], "{scheme}");
            assert_eq!(factors.map(|(longer, larger)| frame(&framed(scheme, longer, larger))), expected, "{scheme}");
        }
        let half = frame_told(Change::Frames(0.5), &framed("aloha-periodic", 0.5, 1.0));
        assert_eq!(half, "; 11 slots of 53 B in 12.94 ms");
        assert_eq!(frame_told(Change::Largest("1GB"), "cfdama"), "");
        assert_eq!(framed("tdma", 1.0, 2.0), framed("tdma", 2.0, 1.0), "each terminal has one in each frame");
    }

    #[test]
    fn what_is_taken_for_what_is_not_given_is_told() {
        let mut reproduction = Reproduction::default();
        told(&mut reproduction);
        let rows: Vec<_> = reproduction.rows.iter().map(|row| (row.quantity.as_str(), row.ours)).collect();
        let first = [("TCP's initial window (segments)", 1.0), ("TCP's largest window (kB)", 64.0)];
        assert_eq!((&rows[..2], rows[3]), (&first[..], ("satellite's delay, one way (ms)", 250.0)));
        assert!(reproduction.rows[3].reading.contains("more than 0.5 sec"), "{rows:?}");
        assert!(rows.contains(&("slot, CFDAMA (B)", 53.0)) && rows.contains(&("frame, CFDAMA (ms)", 26.5)));
        assert!(rows.contains(&("frame, fixed TDMA (ms)", 135.68)), "{rows:?}");
    }
}
