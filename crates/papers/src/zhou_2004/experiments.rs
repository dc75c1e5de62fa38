//! Fig 5 to 7: an hour of 128 users behind one return channel, simulated.
//!
//! The shipped scenario `rwbp-128` with the paper's users. What the paper does not give is ours, told, and varied ([`sensitivity`]).
//! "TCP" is read in two ways, as the paper leaves it open: end to end, and in three connections as RWBP has them.

use crate::comparison::{Statistic, is_slower, numbers};
use crate::filling::{Fill, Plot};
use crate::lab::{Changes, Effort, Found, Lab};
use farhop_results::Architecture;
use farhop_results::reproduction::{Axis, Figure, Origin, Reproduction, Verdict};
use farhop_sim::{Population, ResponseTimes};
use std::rc::Rc;

pub(crate) mod sensitivity;

/// The figures that are simulated.
pub(crate) const FIGURES: [Figure; 3] = [Figure::Fig(5), Figure::Fig(6), Figure::Fig(7)];

const SCENARIO: &str = "rwbp-128";

/// What carries the web over the satellite, and what it is called.
const TRANSPORTS: [(Architecture, &str); 3] = [
    (Architecture::Direct, "TCP end to end"),
    (Architecture::Split, "TCP in three connections"),
    (Architecture::Rwbp, "RWBP"),
];

/// From the slowest to the fastest, as the paper finds.
const MACS: [(&str, &str); 3] =
    [("tdma", "fixed TDMA"), ("aloha-periodic", "Aloha periodic stream"), ("cfdama", "CFDAMA")];
const CFDAMA: &str = "cfdama";

/// Sizes of replies; the first is the paper's.
const SIZES: [(&str, &str); 3] = [("pareto", "Pareto"), ("exponential", "exponential"), ("fixed", "fixed")];
/// The same with one mean that samples reach: no reply above 100 MB.
const SIZES_CUT: [(&str, &str); 3] = [
    ("pareto least=1kB shape=1.1 to=100MB", "Pareto up to 100 MB"),
    ("exponential mean=7.52kB", "exponential of its mean"),
    ("constant value=7.52kB", "fixed of its mean"),
];
/// The paper's users are the default.
const PARETO: &str = "pareto";

/// ACKs for every N packets.
const EVERY: [u32; 4] = [2, 4, 8, 16];

pub(crate) fn simulate(figure: Figure, lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    match figure {
        Figure::Fig(5) => sizes(lab, reproduction),
        Figure::Fig(6) => transports(lab, reproduction),
        Figure::Fig(7) => acknowledgements(lab, reproduction),
        _ => {}
    }
    sensitivity::simulate(figure, lab, reproduction);
}

/// The paper's hour, or a quarter of it.
fn changes(effort: Effort, access: &str, sizes: &str, more: &[String]) -> Changes {
    let (duration, warm_up, runs) = lengths(effort);
    let mut changes = vec![
        format!("access.scheme={access}"),
        format!("users.model=zhou-2004, sizes = {sizes}"),
        format!("users.duration={duration} min"),
        format!("users.warm_up={warm_up} min"),
        format!("run.runs={runs}"),
    ];
    changes.extend_from_slice(more);
    changes
}

/// What of virtual time an experiment takes, its warm-up, and how often it is repeated at most.
const fn lengths(effort: Effort) -> (u32, u32, u32) {
    match effort {
        Effort::Full => (60, 5, 5),
        Effort::Quick if cfg!(test) => (3, 1, 3),
        // Terminals that all begin at once contend for some minutes before Aloha has settled.
        Effort::Quick => (15, 5, 3),
    }
}

fn reading(effort: Effort, population: &Population) -> String {
    let share =
        |share: Option<f64>| share.map_or_else(|| "unlimited".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let [down, up] = population.used.map(share);
    let (pages, runs) = (population.pages.count(), population.pages.means().len());
    let (minutes, warm_up, _) = lengths(effort);
    let unfinished = population.unfinished;
    format!(
        "simulated: {minutes} min of 128 users, {warm_up} min of warm-up, delay, slots and frames of §6 if not said otherwise; {runs} \
         replications, {pages} pages and {unfinished} unfinished, link {down} down and {up} up used"
    )
}

/// Which response times.
type Times = fn(&Population) -> &ResponseTimes;
const KINDS: [(&str, &str, Times); 2] = [
    ("page", "page response time", |population| &population.pages),
    ("object", "object response time", |population| &population.objects),
];

/// Adds a population's rows and distribution.
fn put(
    (effort, figure): (Effort, Figure),
    reproduction: &mut Reproduction,
    name: &str,
    population: &Population,
    kinds: &[(&str, &'static str, Times)],
) {
    let reading = reading(effort, population);
    for (kind, axis, times) in kinds {
        let times = times(population);
        for statistic in Statistic::ALL {
            let quantity = format!("{name}: {kind}, {} (s)", statistic.words());
            reproduction.row(figure, quantity, None, statistic.of(times), &reading);
        }
        let (x, y) = (Axis::log(axis, "s"), Axis::linear("cumulative share", "%"));
        let mut plot = Plot { reproduction: &mut *reproduction, figure, x, y };
        plot.points(name, Origin::Simulated, &reading, times.cumulative());
    }
}

/// Adds a claim, judged part by part.
fn claim(reproduction: &mut Reproduction, figure: Figure, claim: String, parts: Vec<bool>, ours: String, why: &str) {
    reproduction.claim(figure, claim, Verdict::of(parts), ours, why);
}

/// Sizes of one mean each, that mean, and what its differences come from.
type Sizes = (&'static [(&'static str, &'static str); 3], &'static str, [&'static str; 2]);

/// Both readings of "the same mean"; why with RWBP, and with TCP.
const MEANS: [Sizes; 2] = [
    (
        &SIZES,
        "11 kB",
        [
            "the distribution's mean is 11 kB but samples of an hour reach about 8 kB, and RWBP takes as long as there are bytes",
            "the distribution's mean is 11 kB but samples of an hour reach about 8 kB, so that the others load the link more",
        ],
    ),
    (
        &SIZES_CUT,
        "7.52 kB, which samples reach",
        [
            "RWBP takes a round trip and the bytes' time at its peak rate, whatever came before: most of Pareto's files are small, and its huge \
         ones are too few for the 95th percentile",
            "most of Pareto's files are small, a few are huge: medians fall, tails grow",
        ],
    ),
];

/// Fig 5: with RWBP as in the paper, and with TCP.
fn sizes(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let effort = lab.effort();
    for (reason, (architecture, transport)) in [TRANSPORTS[2], TRANSPORTS[0]].into_iter().enumerate() {
        for (variants, mean, why) in MEANS {
            let all = variants.iter().map(|(sizes, _)| (architecture, changes(effort, CFDAMA, sizes, &[])));
            let all: Result<Vec<_>, String> = lab.populations(SCENARIO, all.collect()).into_iter().collect();
            match all {
                Ok(all) => {
                    for ((_, name), population) in variants.iter().zip(&all) {
                        let name = format!("{transport}, {name}");
                        put((effort, Figure::Fig(5)), reproduction, &name, population, &KINDS);
                    }
                    sizes_claim(reproduction, transport, variants, &all, mean, why[reason]);
                }
                Err(reason) => reproduction.gap_once(Figure::Fig(5), &reason),
            }
        }
    }
}

fn sizes_claim(
    reproduction: &mut Reproduction,
    transport: &str,
    variants: &[(&str, &str); 3],
    all: &[Rc<Population>],
    mean: &str,
    why: &str,
) {
    for (kind, _, times) in KINDS {
        let all: Vec<&ResponseTimes> = all.iter().map(|population| times(population)).collect();
        let [pareto, others @ ..] = &all[..] else { return };
        let parts = Statistic::ALL
            .into_iter()
            .flat_map(|statistic| others.iter().map(move |other| is_slower(statistic, pareto, other)));
        let names: Vec<&str> = variants.iter().map(|(_, name)| *name).collect();
        let ours = format!("{}: {}", names.join(", "), numbers(&Statistic::ALL, &all));
        let text = format!(
            "{transport}: {kind}s take longer with Pareto sizes than with exponential or fixed ones of the same mean ({mean})"
        );
        claim(reproduction, Figure::Fig(5), text, parts.collect(), ours, why);
    }
}

/// Fig 6.
fn transports(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let figure = Figure::Fig(6);
    let (effort, mut found) = (lab.effort(), Vec::<Vec<Found<Population>>>::new());
    for (architecture, transport) in TRANSPORTS {
        let row = MACS.map(|(access, _)| (architecture, changes(effort, access, PARETO, &[])));
        let row = lab.populations(SCENARIO, row.to_vec());
        for ((_, mac), found) in MACS.iter().zip(&row) {
            match found {
                Ok(population) => {
                    put((effort, figure), reproduction, &format!("{transport}, {mac}"), population, &KINDS[..1]);
                }
                Err(reason) => reproduction.gap_once(figure, reason),
            }
        }
        mac_order(reproduction, transport, &row, "", WHY_MACS);
        found.push(row);
    }
    if let [end_to_end, split, rwbp] = &found[..] {
        let tcps = [(TRANSPORTS[0].1, end_to_end), (TRANSPORTS[1].1, split)];
        transport_order(reproduction, &tcps, rwbp, "");
        less_return_traffic(reproduction, &tcps, rwbp);
        no_losses(reproduction, &tcps, rwbp);
        best(reproduction, &found, "");
    }
}

const WHY_MACS: &str = "a terminal of fixed TDMA has one slot in 136 ms; free slots go round as often in CFDAMA, which adds what is asked \
                        for; a stream waits two hops for its request, as users pause for longer than it is kept";

/// CFDAMA before Aloha periodic stream before fixed TDMA.
fn mac_order(reproduction: &mut Reproduction, transport: &str, row: &[Found<Population>], condition: &str, why: &str) {
    let Some(all) = row.iter().map(|found| found.as_deref().ok()).collect::<Option<Vec<_>>>() else { return };
    let times: Vec<&ResponseTimes> = all.iter().map(|population| &population.pages).collect();
    let ours = format!("fixed TDMA, Aloha periodic stream, CFDAMA: {}", numbers(&Statistic::ALL, &times));
    for (slow, fast) in [(0, 1), (1, 2), (0, 2)] {
        let parts = Statistic::ALL.map(|statistic| is_slower(statistic, times[slow], times[fast]));
        let text = format!("{transport}: {} is faster than {}{condition}", MACS[fast].1, MACS[slow].1);
        claim(reproduction, Figure::Fig(6), text, parts.to_vec(), ours.clone(), why);
    }
}

/// Each TCP beside RWBP under each scheme: what both are called, and what users met.
fn beside_rwbp<'a>(
    tcps: &'a [(&'a str, &'a Vec<Found<Population>>)],
    rwbp: &'a [Found<Population>],
) -> impl Iterator<Item = ((&'a str, &'a str), [&'a Population; 2])> {
    tcps.iter().flat_map(move |(transport, tcp)| {
        let found = MACS.iter().zip(tcp.iter().zip(rwbp));
        found.filter_map(move |((_, mac), (tcp, rwbp))| {
            Some(((*transport, *mac), [tcp.as_deref().ok()?, rwbp.as_deref().ok()?]))
        })
    })
}

/// RWBP before TCP under every scheme.
fn transport_order(
    reproduction: &mut Reproduction,
    tcps: &[(&str, &Vec<Found<Population>>)],
    rwbp: &[Found<Population>],
    condition: &str,
) {
    for ((transport, mac), [tcp, rwbp]) in beside_rwbp(tcps, rwbp) {
        let parts = Statistic::ALL.map(|statistic| is_slower(statistic, &tcp.pages, &rwbp.pages));
        let ours = format!("{transport}, RWBP: {}", numbers(&Statistic::ALL, &[&tcp.pages, &rwbp.pages]));
        let text = format!("RWBP is faster than {transport} under {mac}{condition}");
        let why = "RWBP has no slow start, which begins with a segment in TCP, and loses nothing in queues";
        claim(reproduction, Figure::Fig(6), text, parts.to_vec(), ours, why);
    }
}

/// What the return channel carries (the abstract).
fn less_return_traffic(
    reproduction: &mut Reproduction,
    tcps: &[(&str, &Vec<Found<Population>>)],
    rwbp: &[Found<Population>],
) {
    for ((transport, mac), [tcp, rwbp]) in beside_rwbp(tcps, rwbp) {
        let share = up_per_page(rwbp) / up_per_page(tcp);
        let text = format!("RWBP loads the return channel less than {transport} under {mac}");
        let ours = format!("{:.0} % of its bytes a page", share * 100.0);
        let why = "RWBP's packets have headers of 40 B, TCP's with timestamps 52 B (a byte more than a slot of CFDAMA has, as it is read, so that an \
                   acknowledgement takes two), which is most of it; RWBP acknowledges as often, but has no handshakes there, and nothing that is \
                   sent again is acknowledged again";
        claim(reproduction, Figure::Fig(6), text, vec![share < 1.0], ours, why);
    }
}

/// What the link drops, where nothing is lost at random: what finds no room (the abstract, §IV-C, §VII).
fn no_losses(reproduction: &mut Reproduction, tcps: &[(&str, &Vec<Found<Population>>)], rwbp: &[Found<Population>]) {
    for ((transport, mac), [tcp, rwbp]) in beside_rwbp(tcps, rwbp) {
        let text = format!("RWBP loses nothing to congestion under {mac}, where {transport} does");
        let ours = format!("packets dropped: {transport} {}, RWBP {}", tcp.dropped, rwbp.dropped);
        let why = "RWBP sends no faster than the next queue takes packets, TCP finds out by losing some; with buffers of a bandwidth-delay product";
        claim(reproduction, Figure::Fig(6), text, vec![rwbp.dropped == 0, tcp.dropped > 0], ours, why);
    }
}

/// What the return channel carries of a page: the share of its rate in all replications, by pages.
fn up_per_page(population: &Population) -> f64 {
    let pages = u32::try_from(population.pages.count()).map_or(f64::NAN, f64::from);
    let replications = u32::try_from(population.pages.means().len()).map_or(f64::NAN, f64::from);
    population.used[1].unwrap_or(f64::NAN) * replications / pages
}

/// RWBP with CFDAMA before all others.
fn best(reproduction: &mut Reproduction, found: &[Vec<Found<Population>>], condition: &str) {
    let Some(Ok(best)) = found.last().and_then(|row| row.last()) else { return };
    let others = found.iter().flatten().flatten().filter(|other| !Rc::ptr_eq(other, best));
    let parts: Vec<bool> = others.map(|other| is_slower(Statistic::Median, &other.pages, &best.pages)).collect();
    let ours = numbers(&Statistic::ALL, &[&best.pages]);
    claim(
        reproduction,
        Figure::Fig(6),
        format!("RWBP with CFDAMA is the best of all{condition}"),
        parts,
        ours,
        "medians of all are compared",
    );
}

/// Fig 7.
fn acknowledgements(lab: &mut Lab<'_>, reproduction: &mut Reproduction) {
    let figure = Figure::Fig(7);
    let row = by_acknowledgements(lab, CFDAMA, &[]);
    for (every, found) in EVERY.iter().zip(&row) {
        match found {
            Ok(population) => {
                let name = format!("RWBP, CFDAMA, N = {every}");
                put((lab.effort(), figure), reproduction, &name, population, &KINDS[..1]);
            }
            Err(reason) => reproduction.gap_once(figure, reason),
        }
    }
    acknowledgements_order(reproduction, &row, "", "fewer ACKs leave more of the return channel to requests");
    fewer_bytes(reproduction, &row);
}

/// Table I in the simulation: what a page's return traffic is of that with the highest frequency.
fn fewer_bytes(reproduction: &mut Reproduction, row: &[Found<Population>]) {
    let Some(all) = row.iter().map(|found| found.as_deref().ok()).collect::<Option<Vec<_>>>() else { return };
    let traffic: Vec<f64> = all.iter().map(|population| up_per_page(population)).collect();
    let reading = "simulated: bytes of the return channel a page, as shares of those with N = 2; published: Table I, which has an ACK for every N of a \
                   page's packets and 5.55 requests of 390 B. Here each object ends with an ACK of its own, 200 ms after its last packet, and has one behind its \
                   first where the server begins with one segment; requests are 6.55, with headers";
    for ((every, bytes), (_, _, _, published)) in EVERY.iter().zip(&traffic).zip(super::TABLE_1) {
        let quantity = format!("return traffic of a page, N = {every}");
        reproduction.row(Figure::Fig(7), quantity, Some(published), bytes / traffic[0], reading);
    }
    let words: Vec<String> = traffic.iter().map(|bytes| format!("{:.0} %", bytes / traffic[0] * 100.0)).collect();
    claim(
        reproduction,
        Figure::Fig(7),
        "a larger N loads the return channel less".to_owned(),
        traffic.windows(2).map(|pair| pair[1] < pair[0]).collect(),
        format!("{} of the bytes a page with N = 2", words.join(", ")),
        "ACKs are most of what is not requests, but those at the ends of objects do not become fewer, so that a large N saves less than in Table I",
    );
}

/// RWBP with each of the frequencies of acknowledgements.
fn by_acknowledgements(lab: &mut Lab<'_>, access: &str, more: &[String]) -> Vec<Found<Population>> {
    let effort = lab.effort();
    let all = EVERY.map(|every| {
        let more: Changes = core::iter::once(format!("rwbp.ack_every={every}")).chain(more.iter().cloned()).collect();
        (Architecture::Rwbp, changes(effort, access, PARETO, &more))
    });
    lab.populations(SCENARIO, all.to_vec())
}

/// Each frequency before the next higher one.
fn acknowledgements_order(reproduction: &mut Reproduction, row: &[Found<Population>], condition: &str, why: &str) {
    for (pair, every) in row.windows(2).zip(EVERY.windows(2)) {
        let ([Ok(slow), Ok(fast)], [less, more]) = (pair, every) else { continue };
        let parts = Statistic::ALL.map(|statistic| is_slower(statistic, &slow.pages, &fast.pages));
        let ours = numbers(&Statistic::ALL, &[&slow.pages, &fast.pages]);
        let text = format!("pages are faster with N = {more} than with N = {less}{condition}");
        claim(reproduction, Figure::Fig(7), text, parts.to_vec(), ours, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What users meet in two minutes.
    fn short(lab: &mut Lab<'_>, architecture: Architecture, access: &str) -> Rc<Population> {
        let changes = changes(Effort::Quick, access, PARETO, &[]);
        let mut found = lab.populations(SCENARIO, vec![(architecture, changes)]);
        found.pop().expect("one was asked for").expect("it can be simulated")
    }

    #[test]
    fn demand_assignment_is_faster_than_fixed_slots() {
        let mut silent = |_: &str| {};
        let mut lab = Lab::new(Effort::Quick, &mut silent);
        let [fixed, demand] = ["tdma", "cfdama"].map(|access| short(&mut lab, Architecture::Direct, access));
        assert!(is_slower(Statistic::Median, &fixed.pages, &demand.pages));
        assert!(!is_slower(Statistic::Median, &demand.pages, &fixed.pages));
        assert!(is_slower(Statistic::Mean, &fixed.objects, &demand.objects));
    }

    #[test]
    fn a_page_over_rwbp_takes_less_of_the_return_channel() {
        let mut silent = |_: &str| {};
        let mut lab = Lab::new(Effort::Quick, &mut silent);
        let [tcp, rwbp] = [Architecture::Direct, Architecture::Rwbp].map(|way| short(&mut lab, way, CFDAMA));
        // Requests of 390 B, 6.55 a page, and acknowledgements: of 400 kbit/s in two minutes.
        let bytes = |population: &Population| up_per_page(population) * 400e3 / 8.0 * 120.0;
        assert!((3000.0..9000.0).contains(&bytes(&tcp)), "{}", bytes(&tcp));
        assert!(bytes(&rwbp) < 0.95 * bytes(&tcp), "{} of {}", bytes(&rwbp), bytes(&tcp));
    }

    /// The claims that hold in two minutes already.
    #[test]
    fn every_transport_over_every_scheme_has_its_place_in_the_figures() {
        let mut silent = |_: &str| {};
        let mut lab = Lab::new(Effort::Quick, &mut silent);
        let mut reproduction = Reproduction::default();
        simulate(Figure::Fig(5), &mut lab, &mut reproduction);
        transports(&mut lab, &mut reproduction);
        simulate(Figure::Fig(7), &mut lab, &mut reproduction);
        assert_eq!(reproduction.gaps, [], "everything can be simulated");
        // Two of the figures with what the paper leaves open changed, one change after the other.
        for changed in ["frames half as long", "slots twice as large", "satellite 280 ms one way", "TCP as it is today"]
        {
            for (figure, count) in [(Figure::Fig(5), SIZES.len()), (Figure::Fig(7), EVERY.len())] {
                let is_it =
                    |row: &&farhop_results::reproduction::Row| row.figure == figure && row.quantity.contains(changed);
                assert_eq!(reproduction.rows.iter().filter(is_it).count(), count, "{figure:?}: {changed}");
            }
        }
        let held = |text: &str| {
            let claims: Vec<_> = reproduction.claims.iter().filter(|claim| claim.claim.starts_with(text)).collect();
            assert!(!claims.is_empty(), "nothing is said of \"{text}\"");
            claims.iter().all(|claim| claim.verdict == Verdict::Holds)
        };
        for (_, mac) in MACS {
            for (_, tcp) in [TRANSPORTS[0], TRANSPORTS[1]] {
                assert!(held(&format!("RWBP loads the return channel less than {tcp} under {mac}")), "{tcp}, {mac}");
            }
            assert!(held(&format!("RWBP is faster than TCP end to end under {mac}")), "{mac}");
            // TCP needs longer than that to lose anything.
            let text = format!("RWBP loses nothing to congestion under {mac}, where TCP end to end does");
            let claim = reproduction.claims.iter().find(|claim| claim.claim == text);
            assert!(claim.is_some_and(|claim| claim.ours.ends_with("RWBP 0")), "{mac}: {claim:?}");
        }
        assert!(held("RWBP: CFDAMA is faster than fixed TDMA"));
        assert!(held("TCP end to end: CFDAMA is faster than fixed TDMA"));
    }

    #[test]
    fn what_two_figures_share_is_simulated_once() {
        let mut count = 0;
        let mut heard = |_: &str| count += 1;
        let mut lab = Lab::new(Effort::Quick, &mut heard);
        for _ in 0..2 {
            let twice = vec![(Architecture::Direct, vec!["users.duration=soon".to_owned()]); 2];
            for missing in lab.populations(SCENARIO, twice) {
                assert!(missing.expect_err("that is no time").contains("soon"));
            }
        }
        assert_eq!(count, 1);
    }
}
