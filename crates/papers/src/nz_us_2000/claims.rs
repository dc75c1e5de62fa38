//! What the text says of the twelve, judged by ours.

use super::experiment::{Experiment, Way};
use crate::judging::Said;
use farhop_results::RequestTimes;
use farhop_results::reproduction::{Figure, Reproduction};

/// A share of one time in another, and what the text says of it, give or take.
struct Share {
    claim: &'static str,
    of: [Way; 2],
    least: f64,
    most: f64,
    why: &'static str,
}

fn shares() -> [Share; 4] {
    let satellite = Way::of(false, "SS", false);
    [
        Share {
            claim: "satellites both ways double the time of cables",
            of: [satellite, Way::base()],
            least: 1.8,
            most: 2.3,
            why: "a reply released over its recorded time hides slow start behind the server, so that few of the longer round trips count; \
                  with faster servers and larger replies the same base case more than doubles",
        },
        Share {
            claim: "with a satellite back alone it is 75 % of that with both",
            of: [Way::of(false, "ST", false), satellite],
            least: 0.70,
            most: 0.80,
            why: "as many round trips, of 0.38 s instead of 0.64 s; the servers' time stays",
        },
        Share {
            claim: "with a proxy it is 50 to 55 % of the satellite base",
            of: [Way::of(true, "SS", false), satellite],
            least: 0.45,
            most: 0.60,
            why: "one round trip and the server's time, which is most of it here: no handshake, and slow start only where the proxy in the USA has \
                  heard nothing by a connection for longer than its timer",
        },
        Share {
            claim: "with a proxy and HTTP/1.1 it is 45 %",
            of: [Way::of(true, "SS", true), satellite],
            least: 0.40,
            most: 0.50,
            why: "between the USA's proxy and servers only the recorded time passes here, so that HTTP/1.1 saves nothing more",
        },
    ]
}

/// Fig 4.
pub(super) fn of_latencies(experiment: &Experiment, to: &mut Reproduction) {
    let figure = Figure::Fig(4);
    for Share { claim, of: [this, other], least, most, why } in shares() {
        let share = experiment.latency(this) / experiment.latency(other);
        let ours = format!("{:.0} %", share * 100.0);
        Said { figure, claim, why }.judge(to, [(least..=most).contains(&share)], ours);
    }
    of_persistence(experiment, to);
    of_proxy(experiment, to);
    of_enhancements(experiment, to);
    of_mended_satellites(experiment, to);
}

/// The proxy beside the other enhancements of satellites both ways.
fn of_proxy(experiment: &Experiment, to: &mut Reproduction) {
    let proxy = Way::of(true, "SS", false);
    let others = [("HTTP/1.1", Way::of(false, "SS", true)), ("a satellite back alone", Way::of(false, "ST", false))];
    let words = others.map(|(name, way)| {
        format!(
            "{name} {:.2} s, {} less than that over {} logs",
            experiment.latency(way),
            experiment.saving(proxy, way),
            experiment.logs.len()
        )
    });
    let said = Said {
        figure: Figure::Fig(4),
        claim: "a proxy is the enhancement that saves most",
        why: "its connections are always there",
    };
    let ours = format!("{:.2} s; {}", experiment.latency(proxy), words.join("; "));
    said.judge(to, others.into_iter().flat_map(|(_, way)| experiment.is_faster(proxy, way)), ours);
}

/// What the introduction says is possible.
fn of_mended_satellites(experiment: &Experiment, to: &mut Reproduction) {
    let cables = experiment.latency(Way::base());
    let mended = [("both ways", Way::of(true, "SS", true)), ("back", Way::of(true, "ST", true))];
    let words = mended.map(|(name, way)| format!("{:.2} s with satellites {name}", experiment.latency(way))).join(", ");
    let said = Said {
        figure: Figure::Fig(4),
        claim: "satellites with a proxy and HTTP/1.1 can be faster than cables without",
        why: "all but some tenths of a second over cables are the servers' recorded time, and one round trip over satellites takes as long",
    };
    let ours = format!("{words}; {cables:.2} s with cables and neither");
    said.judge(to, [mended.iter().any(|(_, way)| experiment.is_faster(*way, Way::base())[0])], ours);
}

/// What HTTP/1.1 saves over satellites, from load to load.
fn of_persistence(experiment: &Experiment, to: &mut Reproduction) {
    let figure = Figure::Fig(4);
    let [kept, base] = [true, false].map(|persistent| experiment.of(Way::of(false, "SS", persistent)));
    let saved: Vec<f64> =
        kept.iter().zip(base).map(|(kept, base)| 1.0 - kept.sample_mean_s / base.sample_mean_s).collect();
    let words = saved.iter().map(|saved| format!("{:.0} %", saved * 100.0)).collect::<Vec<_>>().join(", ");
    let ours = format!("{words} from load to load");
    let why = "how often a connection is there depends on how many requests go to one host";
    Said { figure, claim: "HTTP/1.1 saves 18 to 40 % over satellites", why }.judge(
        to,
        saved.iter().map(|saved| (0.15..=0.43).contains(saved)),
        ours,
    );
    let why = "more requests to the same hosts find more idle connections, as hosts keep their names when load is raised, until the link is full";
    let falls: Vec<bool> = kept.windows(2).map(|pair| pair[1].sample_mean_s < pair[0].sample_mean_s).collect();
    let words = kept.iter().map(|kept| format!("{:.2}", kept.sample_mean_s)).collect::<Vec<_>>().join(", ");
    let ours = format!("{words} s from load to load");
    Said { figure, claim: "with HTTP/1.1 the time falls as the load rises", why }.judge(to, falls, ours);
}

/// Every further enhancement of satellites that have one or two: a proxy, HTTP/1.1, cables on the way there.
fn of_enhancements(experiment: &Experiment, to: &mut Reproduction) {
    let [both, back] = ["SS", "ST"].map(|link| Way::of(false, link, false).link);
    let mut parts = Vec::new();
    for way in
        Way::all().into_iter().filter(|way| [both, back].contains(&way.link) && *way != Way::of(false, "SS", false))
    {
        let enhanced = [Way { proxy: true, ..way }, Way { persistent: true, ..way }, Way { link: back, ..way }];
        let further = enhanced.into_iter().filter(|enhanced| *enhanced != way);
        parts.extend(further.map(|enhanced| experiment.is_faster(enhanced, way)[0]));
    }
    let ours = format!(
        "{} of {} further ones save time at the base load, beyond what differs between {} logs",
        parts.iter().filter(|saves| **saves).count(),
        parts.len(),
        experiment.logs.len()
    );
    let why = "HTTP/1.1 saves nothing behind a proxy here, where nothing but the recorded time passes beyond it";
    Said { figure: Figure::Fig(4), claim: "several enhancements save more than one", why }.judge(to, parts, ours);
}

/// The link's, in bytes (Table 1).
const BUFFER: u64 = 256_000;

/// Fig 5.
pub(super) fn of_buffers(experiment: &Experiment, to: &mut Reproduction) {
    let figure = Figure::Fig(5);
    let all = || experiment.results.iter().flatten();
    let most = |queue: fn(&RequestTimes) -> u64| all().map(queue).max().unwrap_or(0);
    let (down, up) = (most(|times| times.peak_queue_bytes), most(|times| times.peak_queue_up_bytes));
    let drops = all().filter(|times| times.dropped > 0).count();
    let said = Said { figure, claim: "the buffer never holds more than 256 kB", why: "it is the buffer's size" };
    said.judge(to, [down <= BUFFER], format!("at most {} kB", down / 1000));
    // Where no load fills the link nothing could be dropped.
    if all().any(is_saturated) {
        let said = Said {
            figure,
            claim: "the full buffer drops what comes",
            why: "the last load is more than the link carries",
        };
        said.judge(to, [drops > 0], format!("{drops} of {} runs drop", all().count()));
    }
    let said = Said {
        figure,
        claim: "usage is never heavy towards the USA",
        why: "requests are small, and nobody else uses the link",
    };
    said.judge(to, [up < BUFFER / 2], format!("at most {} of {} kB wait towards the USA", up / 1000, BUFFER / 1000));
}

/// Fig 6.
pub(super) fn of_sessions(experiment: &Experiment, to: &mut Reproduction) {
    let figure = Figure::Fig(6);
    let with = |pick: fn(&Way) -> bool| Way::all().into_iter().filter(pick).collect::<Vec<_>>();
    let (parts, ours) = more_sessions(experiment, with(|way| way.proxy), |way| Way { proxy: false, ..way });
    let claim = "without a proxy there are more sessions than with one";
    let why = "sessions last as long as the link takes; where it is full, what waits behind a proxy holds its sessions open as long";
    Said { figure, claim, why }.judge(to, parts, ours);
    let (parts, ours) = more_sessions(experiment, with(|way| !way.persistent), |way| Way { persistent: true, ..way });
    let claim = "with HTTP/1.1 there are more sessions than with 1.0";
    Said { figure, claim, why: "idle ones stay for 15 s" }.judge(to, parts, ours);
    let (parts, ours) = at_saturation(experiment, with(|way| !way.proxy));
    let claim = "without a proxy sessions increase rapidly when the link is saturated";
    let why = "a request takes longer then; rapidly is faster than the load";
    if !parts.is_empty() {
        Said { figure, claim, why }.judge(to, parts, ours);
    }
}

/// Whether there are more sessions with what `change` makes of each way than with the way itself, at each load.
fn more_sessions(experiment: &Experiment, ways: Vec<Way>, change: fn(Way) -> Way) -> (Vec<bool>, String) {
    let sessions = |way: Way| experiment.of(way).iter().map(|times| times.peak_connections);
    let pairs: Vec<Vec<_>> = ways.into_iter().map(|way| sessions(change(way)).zip(sessions(way)).collect()).collect();
    let parts: Vec<bool> = pairs.iter().flatten().map(|(more, less)| more > less).collect();
    let base = pairs.iter().filter_map(|loads| loads.first()).map(|(more, less)| format!("{more} and {less}"));
    let base = base.collect::<Vec<_>>().join(", ");
    let found = parts.iter().filter(|found| **found).count();
    let words = format!("in {found} of {} runs; {base} at the base load", parts.len());
    (parts, words)
}

/// Use of the link from which it counts as saturated.
const SATURATED: f64 = 0.95;

fn is_saturated(times: &RequestTimes) -> bool {
    times.down_used.is_some_and(|used| used >= SATURATED)
}

/// Whether sessions grow faster than the load from one load to the next, where that saturates the link.
fn at_saturation(experiment: &Experiment, ways: Vec<Way>) -> (Vec<bool>, String) {
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    for way in ways {
        let runs = experiment.of(way).windows(2).zip(experiment.loads.windows(2));
        for (runs, loads) in runs.filter(|(runs, _)| is_saturated(&runs[1])) {
            let [before, after] =
                [&runs[0], &runs[1]].map(|run| u32::try_from(run.peak_connections).unwrap_or(u32::MAX));
            let (sessions, load) = (f64::from(after) / f64::from(before), f64::from(loads[1]) / f64::from(loads[0]));
            parts.push(sessions > load);
            words.push(format!("{sessions:.1} times as many at {load:.1} times the load"));
        }
    }
    (parts, words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Effort;
    use farhop_results::reproduction::Verdict;

    fn times(peak_connections: u64, down_used: f64) -> RequestTimes {
        RequestTimes {
            sample_count: 1,
            sample_p50_s: 1.0,
            sample_p95_s: 1.0,
            sample_mean_s: 1.0,
            sample_mean_error_s: None,
            sample_first_byte_p50_s: 1.0,
            sample_first_byte_p95_s: 1.0,
            sample_first_byte_mean_s: 1.0,
            sample_goodput_p5_bit_s: 1.0,
            sample_goodput_p50_bit_s: 1.0,
            sample_goodput_mean_bit_s: 1.0,
            answered: 1,
            unanswered: 0,
            peak_queue_bytes: 0,
            peak_queue_up_bytes: 0,
            dropped: 0,
            peak_connections,
            peak_gateway_buffer_bytes: None,
            down_used: Some(down_used),
            up_used: None,
        }
    }

    /// Sessions of the first way at three loads, of which the last saturates the link by so much.
    fn experiment(sessions: [u64; 3], used: f64) -> Experiment {
        let loads = vec![100, 200, 300];
        let [low, middle, high] = sessions;
        let first = vec![times(low, 0.3), times(middle, 0.6), times(high, used)];
        let others = vec![first.iter().map(|run| RequestTimes { peak_connections: 10, ..*run }).collect(); 11];
        Experiment {
            connections: 1,
            server_time: 1.0,
            others: Vec::new(),
            effort: Effort::Full,
            logs: Vec::new(),
            loads,
            results: [vec![first], others].concat(),
        }
    }

    #[test]
    fn saturation_is_judged_where_there_is_some_by_growth_beyond_the_loads() {
        let first = vec![Way::all()[0]];
        let judged = |sessions, used| at_saturation(&experiment(sessions, used), first.clone());
        assert_eq!(judged([10, 20, 40], 0.94).0, Vec::<bool>::new());
        assert_eq!(judged([10, 20, 40], 0.96), (vec![true], "2.0 times as many at 1.5 times the load".to_owned()));
        assert_eq!(judged([10, 20, 30], 0.96).0, [false], "as many as the load has");
    }

    /// Claims of ways whose latencies at the base load are all 4 s in every log, but for the proxy's and those of a satellite back alone.
    fn of_logs(proxy: [f64; 3], asymmetric: [f64; 3]) -> Reproduction {
        let of_log = |(proxy, asymmetric): (f64, f64)| {
            let latency = |way: Way| match way {
                way if way == Way::of(true, "SS", false) => proxy,
                way if way == Way::of(false, "ST", false) => asymmetric,
                _ => 4.0,
            };
            Way::all().into_iter().map(latency).collect()
        };
        let logs = proxy.into_iter().zip(asymmetric).map(of_log).collect();
        let mut reproduction = Reproduction::default();
        of_proxy(&Experiment { logs, ..experiment([10, 20, 30], 0.5) }, &mut reproduction);
        reproduction
    }

    #[test]
    fn what_saves_most_does_so_in_logs_with_other_seeds() {
        let verdict = |proxy, asymmetric| of_logs(proxy, asymmetric).claims[0].verdict;
        assert_eq!(verdict([3.0, 3.1, 3.0], [3.5, 3.6, 3.5]), Verdict::Holds);
        assert_eq!(verdict([3.4, 3.5, 3.4], [3.42, 3.45, 3.41]), Verdict::InPart, "a tie");
        assert_eq!(verdict([4.6, 4.5, 4.7], [3.5, 3.6, 3.5]), Verdict::Fails);
    }

    #[test]
    fn a_buffer_that_no_load_fills_is_not_judged_by_its_drops() {
        let claims = |used| {
            let mut reproduction = Reproduction::default();
            of_buffers(&experiment([10, 20, 30], used), &mut reproduction);
            reproduction.claims.into_iter().map(|claim| claim.claim).collect::<Vec<_>>()
        };
        let drops = "the full buffer drops what comes".to_owned();
        assert!(!claims(0.5).contains(&drops) && claims(0.96).contains(&drops));
    }

    #[test]
    fn use_is_heavy_where_it_fills_most_of_the_buffer() {
        let verdict = |peak_queue_up_bytes| {
            let mut experiment = experiment([10, 20, 30], 0.5);
            experiment.results[0][0].peak_queue_up_bytes = peak_queue_up_bytes;
            let mut reproduction = Reproduction::default();
            of_buffers(&experiment, &mut reproduction);
            reproduction.claims.pop().expect("it is the last one").verdict
        };
        assert_eq!([6_000, 200_000].map(verdict), [Verdict::Holds, Verdict::Fails]);
    }

    #[test]
    fn sessions_are_compared_at_every_load() {
        let experiment = experiment([10, 20, 5], 0.5);
        let (parts, words) = more_sessions(&experiment, vec![Way { proxy: true, ..Way::all()[0] }], |_| Way::all()[0]);
        assert_eq!(parts, [false, true, false], "as many are not more");
        assert_eq!(words, "in 1 of 3 runs; 10 and 10 at the base load");
    }
}
