//! How long hosts take, as a word or as lines with commas between.
//!
//! The heading is `after_ms` and shares in %, from 0 to 100; each line says what packets that come more than so many ms after another one take, in
//! µs, at most in so many cases. Behind a line that says `data` such lines say the same of packets with data, and behind `syn` or `syn-ack` of packets
//! that open connections and of what answers them; behind `reading` how long programs take until they have read, by how long they have not run, behind
//! `client` or `server` what these programs take, by how long they have not done the same, and behind `opening` what clients do until they have opened a
//! connection.

use core::fmt::Write;
use farhop_tcp::{AfterPause, HostTimes, PauseTimes};
use farhop_units::ParseError;
use std::time::Duration;

/// A quiet machine's.
const QUIET: &str = "quiet";
const HEADING: &str = "after_ms";
const DATA: &str = "data";
const SYN: &str = "syn";
const SYN_ACK: &str = "syn-ack";
const READING: &str = "reading";
const CLIENT: &str = "client";
const OPENING: &str = "opening";
const SERVER: &str = "server";
/// Their sections, in the order in which they are written.
const SECTIONS: [Section; 7] = [
    (DATA, |times| &mut times.data),
    (SYN, |times| &mut times.syn),
    (SYN_ACK, |times| &mut times.syn_ack),
    (READING, |times| &mut times.reading),
    (CLIENT, |times| &mut times.client),
    (OPENING, |times| &mut times.opening),
    (SERVER, |times| &mut times.server),
];
const ACCEPTED: &str = "\"quiet\", or lines such as after_ms,0,50,100 and 0,8.5,10.7,40 and 10,10,14,18: pauses in ms, shares in %, times in µs; \
     then a line that says data, syn, syn-ack, reading, client, opening or server, and lines for that";
/// More pauses say nothing that fewer do not.
const MOST: usize = 100;
const NANOS_PER_MS: u64 = 1_000_000;
const NANOS_PER_US: u64 = 1000;

/// A name, and what has it.
type Section = (&'static str, fn(&mut HostTimes) -> &mut PauseTimes);

/// Reads them.
///
/// # Errors
/// It is neither, or numbers are not in order.
pub fn parse(text: &str) -> Result<HostTimes, ParseError> {
    let mut times = HostTimes::quiet();
    if text == QUIET {
        return Ok(times);
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let shares = lines.next().and_then(|line| line.strip_prefix(HEADING)?.strip_prefix(','));
    let shares = shares.ok_or_else(|| refused("no heading"))?;
    let shares: Vec<u32> = shares.split(',').map(share).collect::<Result<_, _>>()?;
    let lines: Vec<&str> = lines.collect();
    let named = |line: &&str| SECTIONS.into_iter().find(|(name, _)| name == line);
    let is_name = |line: &&str| named(line).is_some();
    let mut sections = lines.chunk_by(|_, line| !is_name(line));
    times.kernel = by_pause(sections.next().filter(|lines| !is_name(&lines[0])).unwrap_or_default(), &shares)?;
    let mut told = Vec::new();
    for section in sections {
        let (first, lines) = section.split_first().expect("a name begins each of them");
        let (name, times_of) = named(first).expect("it is a name");
        if told.contains(&name) {
            return Err(refused(format!("\"{name}\" twice")));
        }
        told.push(name);
        *times_of(&mut times) = by_pause(lines, &shares)?;
    }
    let (data, reading) = untold_of(&times);
    if !told.contains(&DATA) {
        times.data = data;
    }
    if !told.contains(&READING) {
        times.reading = reading;
    }
    Ok(times)
}

/// How long kernels take to get to data where only that of packets is told, and programs to read where only that of clients is.
fn untold_of(times: &HostTimes) -> (PauseTimes, PauseTimes) {
    (times.kernel.clone(), HostTimes::reading_of(&times.client))
}

/// Lines for pauses.
fn by_pause(lines: &[&str], shares: &[u32]) -> Result<PauseTimes, ParseError> {
    if lines.len() > MOST {
        return Err(refused(format!("more than {MOST} lines")));
    }
    let pauses: Vec<AfterPause> = lines.iter().map(|line| after_pause(line, shares)).collect::<Result<_, _>>()?;
    PauseTimes::new(pauses).map_err(|error| refused(error.to_string()))
}

/// Writes them: behind a name what is not a quiet machine's.
pub fn format(times: &HostTimes) -> String {
    let (mut times, mut quiet) = (times.clone(), HostTimes::quiet());
    if times == quiet {
        return QUIET.to_owned();
    }
    (quiet.data, quiet.reading) = untold_of(&times);
    let named = SECTIONS.map(|(name, of)| (name, of(&mut times).clone(), of(&mut quiet).clone()));
    let named = named.into_iter().filter(|(_, times, quiet)| times != quiet);
    let sections: Vec<(&str, PauseTimes)> =
        [("", times.kernel)].into_iter().chain(named.map(|(name, times, _)| (name, times))).collect();
    // Lines may have shares of their own: then each share of any has a column.
    let all = sections.iter().flat_map(|(_, times)| times.pauses());
    let mut shares: Vec<u32> = all.flat_map(|after| after.quantiles.iter().map(|(share, _)| *share)).collect();
    shares.sort_unstable();
    shares.dedup();
    let mut text = HEADING.to_owned();
    for share in &shares {
        write!(text, ",{}", decimal(u64::from(*share), u64::from(PauseTimes::ALL / 100))).expect("room");
    }
    for (name, times) in sections {
        if !name.is_empty() {
            write!(text, "\n{name}").expect("room");
        }
        for after in times.pauses() {
            write!(text, "\n{}", decimal(nanos(after.pause), NANOS_PER_MS)).expect("room");
            for share in &shares {
                write!(text, ",{}", decimal(nanos(after.at(*share)), NANOS_PER_US)).expect("room");
            }
        }
    }
    text.push('\n');
    text
}

fn refused(problem: impl Into<String>) -> ParseError {
    ParseError::new(problem.into(), ACCEPTED)
}

fn share(text: &str) -> Result<u32, ParseError> {
    let parts = number(text, u64::from(PauseTimes::ALL / 100))?;
    u32::try_from(parts).map_err(|_| refused("shares are from 0 to 100 %"))
}

fn after_pause(line: &str, shares: &[u32]) -> Result<AfterPause, ParseError> {
    let mut cells = line.split(',');
    let pause = Duration::from_nanos(number(cells.next().unwrap_or_default(), NANOS_PER_MS)?);
    let times: Vec<Duration> =
        cells.map(|cell| Ok(Duration::from_nanos(number(cell, NANOS_PER_US)?))).collect::<Result<_, ParseError>>()?;
    if times.len() != shares.len() {
        return Err(refused(format!("{} times for {} shares in \"{line}\"", times.len(), shares.len())));
    }
    Ok(AfterPause { pause, quantiles: shares.iter().copied().zip(times).collect() })
}

/// A decimal number in whole parts, of which there are so many in one.
fn number(text: &str, parts: u64) -> Result<u64, ParseError> {
    let text = text.trim();
    let wrong = || refused(format!("\"{text}\" is no number"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let places = parts.ilog10() as usize;
    if !digits(whole) || !digits(fraction) || whole.is_empty() {
        return Err(wrong());
    }
    if fraction.len() > places {
        return Err(refused(format!("\"{text}\" has more than {places} decimal places")));
    }
    let fraction: u64 = format!("{fraction:0<places$}0").parse::<u64>().map_err(|_| wrong())? / 10;
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    whole.checked_mul(parts).and_then(|whole| whole.checked_add(fraction)).ok_or_else(|| refused("too long"))
}

/// The shortest decimal number of so many parts.
fn decimal(value: u64, parts: u64) -> String {
    let (whole, rest) = (value / parts, value % parts);
    if rest == 0 {
        return whole.to_string();
    }
    let places = parts.ilog10() as usize;
    let fraction = format!("{rest:0>places$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_table_says_what_is_accepted() {
        for (text, problem) in [
            ("slow", "no heading"),
            ("after_ms,0,100", "pauses must begin at 0"),
            ("after_ms,0,100\n5,1,2", "pauses must begin at 0"),
            ("after_ms,0,100\n0,1,2\n0,1,2", "pauses must begin at 0"),
            ("after_ms,0,50\n0,1,2", "shares must grow from 0 to 100 %"),
            ("after_ms,0,50,50,100\n0,1,2,3,4", "shares must grow from 0 to 100 %"),
            ("after_ms,0,100\n0,2,1", "times must not fall"),
            ("after_ms,0,100\n0,2,1000001", "longer than 1 s"),
            ("after_ms,0,100\n0,2", "1 times for 2 shares in \"0,2\""),
            ("after_ms,0,100\n0,2,-3", "\"-3\" is no number"),
            ("after_ms,0,100\n0,2,", "\"\" is no number"),
            ("after_ms,0,99.55,100\n0,2,3,4", "\"99.55\" has more than 1 decimal places"),
            ("after_ms,0,100\n0,2,99999999999999999999", "\"99999999999999999999\" is no number"),
            ("after_ms,0,100\n0,2,9999999999999999999", "too long"),
            ("after_ms,0,100\nserver\n0,2,3", "pauses must begin at 0"),
            ("after_ms,0,100\n0,2,3\nserver\n5,2,3", "pauses must begin at 0"),
            ("after_ms,0,100\n0,2,3\nclient\n0,3,2", "times must not fall"),
            ("after_ms,0,100\n0,2,3\nclient", "pauses must begin at 0"),
            ("after_ms,0,100\n0,2,3\nclient\n0,2,3\nclient\n0,2,3", "\"client\" twice"),
            ("after_ms,0,100\n0,2,3\nservant\n0,2,3", "\"servant\" is no number"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.problem.contains(problem) && error.accepted.contains("\"quiet\""), "{text}: {error}");
        }
    }

    #[test]
    fn a_quiet_machine_is_a_word() {
        assert_eq!(format(&parse("quiet").expect("a word")), "quiet");
        let table = "after_ms,0,99.5,100\n0,8.5,10.75,40\n0.5,9,10,40.001\n";
        assert_eq!(format(&parse(table).expect("a table")), table);
    }

    #[test]
    fn who_opens_and_programs_have_lines_of_their_own() {
        let kernel = "after_ms,0,50,100\n0,8.5,10.75,40\n";
        let table = format!(
            "{kernel}data\n0,1,7,8\nsyn\n0,1,2,3\nsyn-ack\n0,2,3,4\nreading\n0,3,4,5\nclient\n0,5,6,7\n30,8,9,10\nopening\n0,50,60,70\nserver\n0,20,30,40\n"
        );
        let times = parse(&table).expect("a table");
        assert_eq!(super::format(&times), table);
        let middle = |times: &PauseTimes, millis| times.after(Some(Duration::from_millis(millis))).at(500).as_nanos();
        assert_eq!([30, 31].map(|millis| middle(&times.client, millis)), [6000, 9000]);
        assert_eq!([&times.opening, &times.server].map(|times| middle(times, 31)), [60_000, 30_000]);
        let [other, quiet] = [parse(kernel).expect("a table"), HostTimes::quiet()];
        assert_eq!([&times.syn, &times.syn_ack].map(|times| middle(times, 31)), [2000, 3000]);
        let programs = |times: &HostTimes| [&times.client, &times.opening, &times.server].map(Clone::clone);
        assert_eq!(programs(&other), programs(&quiet));
        assert_eq!([&other.syn, &other.syn_ack, &other.reading], [&quiet.syn, &quiet.syn_ack, &quiet.reading]);
        let busy = parse(&format!("{kernel}client\n0,20,30,40")).expect("a table");
        assert_eq!(middle(&busy.reading, 31), 30_000 / 4, "a quarter of what it takes to ask");
        assert_eq!([&times.data, &times.reading].map(|times| middle(times, 31)), [7000, 4000]);
        assert_eq!(other.data, other.kernel, "as all packets");
        let one = parse(&format!("{kernel}server\n0,20,30,40")).expect("a table");
        assert_eq!(programs(&one), [quiet.client, quiet.opening, times.server]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            sections in prop::array::uniform8(prop::collection::vec(
                (prop::collection::btree_map(1_u32..1000, 0_u64..1_000_000, 0..5), 0_u64..1000),
                1..5,
            )),
        ) {
            let [kernel, data, syn, syn_ack, reading, client, opening, server] = sections.map(|lines| {
                let mut pause = 0;
                let pauses = lines.into_iter().map(|(inner, later)| {
                    let mut time = 0;
                    let mut quantiles = vec![(0, Duration::ZERO)];
                    for (share, more) in inner {
                        time += more;
                        quantiles.push((share, Duration::from_nanos(time)));
                    }
                    quantiles.push((PauseTimes::ALL, Duration::from_nanos(time)));
                    let after = AfterPause { pause: Duration::from_micros(pause), quantiles };
                    pause += later + 1;
                    after
                });
                PauseTimes::new(pauses.collect()).expect("in order")
            });
            let times = HostTimes { kernel, data, syn, syn_ack, reading, client, opening, server };
            let text = format(&times);
            let again = parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(format(&again), text);
            let all = |times: HostTimes| {
                let [kernels, opens] = [[times.kernel, times.data], [times.syn, times.syn_ack]];
                [kernels, opens, [times.reading, times.client], [times.opening, times.server]].concat()
            };
            for (one, other) in all(times).iter().zip(&all(again)) {
                prop_assert_eq!(one.pauses().len(), other.pauses().len());
                for (one, other) in one.pauses().iter().zip(other.pauses()) {
                    for share in 0..=PauseTimes::ALL {
                        let [one, other] = [one, other].map(|after| after.at(share));
                        prop_assert!(one.abs_diff(other) <= Duration::from_nanos(1), "{one:?} {other:?}");
                    }
                }
            }
        }

        #[test]
        fn nothing_that_is_read_panics(text in "(after_ms,0,100\n)?([0-9]{1,3},[0-9]{1,3}(\\.[0-9])?,[0-9]{1,4}\n|data\n|reading\n|syn\n|syn-ack\n|client\n|opening\n|server\n|[0-9,.\n-]){0,12}") {
            if let Ok(times) = parse(&text) {
                prop_assert!(parse(&format(&times)).is_ok());
            }
        }
    }
}
