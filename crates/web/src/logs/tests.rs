use super::common::NO_TIME;
use super::*;
use proptest::prelude::*;

const SQUID: &str = "868917600.250   1250 10.0.0.7 TCP_MISS/200 8192 GET http://www.example.com:8080/a.gif - DIRECT/192.0.2.1 image/gif\n";
const COMMON: &str = r#"host.example.com - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;

/// What a log becomes when its load is raised, in the order of times.
fn raise(records: &[LogRecord], copies: u32, shift: Duration) -> Vec<LogRecord> {
    let record = |Raised { record, at, layer }: Raised<'_>| LogRecord { at, layer, ..record.clone() };
    let mut all: Vec<LogRecord> = raised(records, copies, shift).map(record).collect();
    all.sort_by_key(|record| record.at);
    all
}

fn squid(text: &str) -> Log {
    read(text.as_bytes(), Format::Squid, Strictness::Skip).unwrap()
}

fn problem(text: &str, format: Format) -> &'static str {
    let log = read(text.as_bytes(), format, Strictness::Skip).unwrap();
    assert_eq!((log.lines, log.broken, log.records.len()), (1, 1, 0), "{text}");
    log.first_broken[0].problem
}

#[test]
fn squids_native_format_is_read() {
    let record = LogRecord {
        at: Duration::from_millis(868_917_599_000),
        client: "10.0.0.7".into(),
        method: "GET".into(),
        url: "http://www.example.com:8080/a.gif".into(),
        status: Some(200),
        outcome: Some("TCP_MISS".into()),
        hierarchy: Some("DIRECT".into()),
        request_bytes: None,
        reply_bytes: Bytes::new(8192),
        duration: Some(Duration::from_millis(1250)),
        media_type: Some("image/gif".into()),
        layer: 0,
    };
    assert_eq!(squid(SQUID).records, [record]);
    // Squid 1 wrote no type, and a request may fail before there is a status.
    let early = squid("868917600.250 -3 c TCP_DENIED/000 0 NONE error:x - NONE/-\n");
    assert_eq!((early.records[0].status, &early.records[0].media_type), (None, &None));
    assert_eq!(early.records[0].duration, Some(Duration::ZERO), "the clock was set back");
}

#[test]
fn common_and_combined_formats_are_read() {
    let log = read(COMMON.as_bytes(), Format::Common, Strictness::Refuse).unwrap();
    let record = &log.records[0];
    assert_eq!(record.at, Duration::from_secs(971_211_336), "2000-10-10 20:55:36 UTC");
    assert_eq!((&*record.client, &*record.method, &*record.url), ("host.example.com", "GET", "/apache_pb.gif"));
    assert_eq!((record.status, record.reply_bytes, record.duration), (Some(200), Bytes::new(2326), None));
    assert_eq!(record.host(), None);
    let combined = format!(r#"{COMMON} "http://a/\"b\"" "Mozilla/4.08 [en] (Win98; I ;Nav)""#);
    assert_eq!(read(combined.as_bytes(), Format::Combined, Strictness::Refuse).unwrap().records, log.records);
    assert_eq!(problem(COMMON, Format::Combined), "no referrer in quotes");
    for user in ["-", "frank zappa[1]"] {
        let named = COMMON.replace("frank", user);
        assert_eq!(read(named.as_bytes(), Format::Common, Strictness::Refuse).unwrap().records, log.records);
    }
    let bracket = COMMON.replace("frank", "frank [the] zappa");
    assert_eq!(problem(&bracket, Format::Common), NO_TIME, "nobody knows where such a name ends");
    let quoted = COMMON.replace("/apache_pb.gif", r#"/\"x\""#).replace("2326", "-");
    let log = read(quoted.as_bytes(), Format::Common, Strictness::Refuse).unwrap();
    assert_eq!((&*log.records[0].url, log.records[0].reply_bytes), (r#"/\"x\""#, Bytes::ZERO));
}

#[test]
fn broken_lines_say_what_is_wrong() {
    for (whole, part, instead, expected) in [
        (SQUID, "868917600.250", "yesterday", "no time in seconds since 1970"),
        (SQUID, "868917600.250", "99999999999", "no time in seconds since 1970"),
        (SQUID, "1250", "1.250", "no elapsed time in milliseconds"),
        (SQUID, "1250", "999999999999", "longer than since 1970"),
        (SQUID, "TCP_MISS/200", "TCP_MISS", "no result and status"),
        (SQUID, "/200", "/2000", "no status"),
        (SQUID, "8192", "-1", "no number of bytes"),
        (SQUID, "8192", "99999999999999999999", "no number of bytes"),
        (SQUID, "/192.0.2.1", "", "no hierarchy code and host"),
    ] {
        assert_eq!(problem(&whole.replace(part, instead), Format::Squid), expected);
    }
    for (part, instead, expected) in [
        ("[10/Oct", "[32/Oct", NO_TIME),
        ("[10/Oct", "10/Oct", NO_TIME),
        ("frank ", "", "no user"),
        ("10/Oct", "10/Okt", NO_TIME),
        ("10/Oct/2000", "30/Feb/2000", NO_TIME),
        ("10/Oct/2000", "29/Feb/1999", NO_TIME),
        ("10/Oct/2000", "31/Nov/2000", NO_TIME),
        ("10/Oct/2000", "10/Oct/2000/1", NO_TIME),
        ("-0700]", "-2400]", NO_TIME),
        ("-0700]", "-0700", NO_TIME),
        ("\" 200", " 200", "no request in quotes"),
        ("\" 200 ", "\" 20 ", "no status"),
        ("2326", "", "no number of bytes"),
    ] {
        assert_eq!(problem(&COMMON.replace(part, instead), Format::Common), expected);
    }
    // A connection without a request, and TLS where none is spoken, are in every server's log.
    for (request, method) in [("-", "-"), ("", "-"), ("GET", "GET"), (r"\x16\x03\x01", r"\x16\x03\x01")] {
        let line = COMMON.replace("GET /apache_pb.gif HTTP/1.0", request);
        let log = read(line.as_bytes(), Format::Common, Strictness::Refuse).unwrap();
        assert_eq!((&*log.records[0].method, &*log.records[0].url), (method, "-"), "{request}");
        assert!(!log.records[0].is_fetched(), "whatever its status");
    }
    // Every beginning of a line is broken somewhere else.
    for end in 1..SQUID.find("/192.0.2.1").unwrap() {
        assert_eq!(squid(&SQUID[..end]).broken, 1, "{}", &SQUID[..end]);
    }
    let long = SQUID.replace("a.gif", &"a".repeat(70_000));
    assert_eq!(problem(&long, Format::Squid), "longer than 64 KiB");
    let log = read(b"\xff\xfe\n", Format::Squid, Strictness::Skip).unwrap();
    assert_eq!(log.summary(), "1 line, 1 broken: line 1: no UTF-8");
}

#[test]
fn broken_lines_are_counted_and_the_first_ones_told() {
    let text = format!("# a comment\n\n{SQUID}half\n{SQUID}{}", "x\r\n".repeat(7));
    let log = squid(&text);
    assert_eq!((log.lines, log.broken, log.records.len(), log.first_broken.len()), (10, 8, 2, Log::TOLD));
    assert!(log.summary().starts_with("10 lines, 8 broken: line 4: no time"), "{}", log.summary());
    assert!(log.summary().ends_with("line 9: no time in seconds since 1970, …"), "{}", log.summary());
    let refused = read(text.as_bytes(), Format::Squid, Strictness::Refuse).unwrap_err();
    assert!(
        refused.to_string().starts_with("line 4: no time in seconds since 1970; accepted: lines of the squid format")
    );
}

#[test]
fn records_are_in_the_order_of_their_requests() {
    // Squid writes an entry when the response is complete.
    let line = |end: u32, elapsed: u32| format!("{end}.000 {elapsed} c TCP_MISS/200 1 GET http://h/ - DIRECT/h -\n");
    let log = squid(&[line(100, 1000), line(101, 90_000), line(102, 10)].concat());
    assert_eq!(log.records.iter().map(|record| record.at.as_secs()).collect::<Vec<_>>(), [11, 99, 101]);
}

#[test]
fn marks_and_line_ends_of_other_systems_are_read() {
    let line = SQUID.trim_end();
    for text in [format!("\u{FEFF}{line}\n{line}\n"), format!("{line}\r\n{line}\r\n"), format!("{line}\r{line}\r")] {
        let log = read(text.as_bytes(), Format::Squid, Strictness::Refuse).unwrap();
        assert_eq!((log.records.len(), log.lines), (2, 2), "{text:?}");
    }
}

#[test]
fn hosts_are_found_in_urls() {
    let host = |method: &str, url: &str| {
        let line = format!("868917600.250 1 c TCP_MISS/200 1 {method} {url} - DIRECT/x -\n");
        squid(&line).records[0].host().map(Cow::into_owned)
    };
    assert_eq!(host("GET", "http://a.example/b?c=http://d/").as_deref(), Some("a.example"));
    assert_eq!(host("GET", "http://user:secret@a.example:80?x").as_deref(), Some("a.example"));
    assert_eq!(host("GET", "ftp://[2001:db8::1]:21/x").as_deref(), Some("2001:db8::1"));
    assert_eq!(host("CONNECT", "a.example:443").as_deref(), Some("a.example"));
    assert_eq!(host("GET", "http://WWW.Example.COM./x").as_deref(), Some("www.example.com"), "DNS knows no case");
    assert_eq!(host("GET", "/path"), None);
    assert_eq!(host("GET", "/login?next=http://a.example/"), None, "a server's own log, whatever a query holds");
    assert_eq!(host("GET", "1http://a.example/"), None, "no scheme begins so");
    assert_eq!(host("GET", "http:///path"), None);
}

#[test]
fn ports_are_those_of_urls_or_of_their_schemes() {
    let port = |method: &str, url: &str| {
        squid(&format!("868917600.250 1 c TCP_MISS/200 1 {method} {url} - DIRECT/x -\n")).records[0].port()
    };
    for (url, expected) in [
        ("http://a.example/:81", Some(80)),
        ("HTTPS://a.example", Some(443)),
        ("http://u:1@a.example:8080?x", Some(8080)),
        ("http://a.example:/", Some(80)),
        ("ftp://[2001:db8::1]/x", Some(21)),
        ("ftp://[2001:db8::1]:2121/x", Some(2121)),
        ("gopher://a.example/", None),
        ("/path?to=http://a.example:81/", None),
    ] {
        assert_eq!(port("GET", url), expected, "{url}");
    }
    assert_eq!(port("CONNECT", "a.example:8443"), Some(8443));
}

#[test]
fn only_what_a_server_sent_is_fetched() {
    let fetched = |result: &str| squid(&SQUID.replace("TCP_MISS/200", result)).records[0].is_fetched();
    assert!(fetched("TCP_MISS/200") && fetched("TCP_REFRESH_MODIFIED/206"));
    assert!(!fetched("TCP_REFRESH_UNMODIFIED/200") && !fetched("TCP_REFRESH_FAIL_OLD/200"), "as Squid 3 says it");
    assert!(!fetched("NONE/200") && !fetched("NONE_NONE/200"), "Squid answered, as to CONNECT where it looks into TLS");
    let from = |code: &str| squid(&SQUID.replace("DIRECT", code)).records[0].is_fetched();
    assert!(from("HIER_DIRECT") && from("FIRST_PARENT_MISS") && from("NONE"));
    assert!(!from("SIBLING_HIT") && !from("PARENT_HIT") && !from("CD_SIBLING_HIT"), "a cache beside it had it");
    assert!(!fetched("TCP_HIT/200") && !fetched("TCP_MEM_HIT/200") && !fetched("TCP_DENIED/200"));
    assert!(!fetched("TCP_MISS/404") && !fetched("TCP_MISS/304") && !fetched("TCP_MISS/000"));
}

#[test]
fn host_files_are_read_and_printed() {
    let text = "# id name max_window_bytes mss_bytes\n0 www.example.com 8760 1460\n17 192.0.2.1 32768 1480\n";
    let hosts: Hosts = text.parse().unwrap();
    assert_eq!(hosts.to_string(), text);
    assert_eq!(hosts.named("192.0.2.1").map(|host| (host.id, host.mss)), Some((17, Bytes::new(1480))));
    assert_eq!(hosts.named("WWW.example.com.").map(|host| host.id), Some(0), "as DNS compares names");
    assert_eq!(hosts.named("192.0.2.2"), None);
    assert_eq!(format!("\u{FEFF}{text}").parse(), Ok(hosts));
    let problem = |text: &str| text.parse::<Hosts>().unwrap_err().to_string();
    assert!(problem("0 a 1 1\n0 b 1 1").starts_with("line 2 of the host file: number 0 is used twice; accepted: "));
    assert!(problem("0 a 1 1\n1 a 1 1").contains("\"a\" is there twice"));
    assert!(problem("0 a 1 1\n1 A 1 1").contains("\"A\" is there twice"));
    assert!(problem("0 a 1").contains("no segment size"));
    assert!(problem("0 a 1 0").contains("segment size \"0\" is not 1 to 65483"));
    assert!(problem("0 a -1 5").contains("window \"-1\" is not 1 to 1073741824"));
    assert!(problem("0 a 1 5 6").contains("\"6\" behind the segment size"));
}

#[test]
fn hosts_of_a_log_have_the_common_values() {
    let hosts = Hosts::of(&squid(&format!("{SQUID}{}{SQUID}", SQUID.replace("www", "ftp"))).records);
    assert_eq!(
        hosts.list().iter().map(|host| (host.id, host.name.as_str())).collect::<Vec<_>>(),
        [(0, "www.example.com"), (1, "ftp.example.com")]
    );
    assert_eq!(hosts.list()[0].mss, Bytes::new(1480));
}

#[test]
fn days_are_laid_over_each_other() {
    const DAY: u64 = 86_400;
    let log = |seconds: &[u64]| {
        let line = |end: &u64| format!("{end}.000 0 c TCP_MISS/200 1 GET http://h/ - DIRECT/h -\n");
        squid(&seconds.iter().map(line).collect::<String>()).records
    };
    // One begins a little earlier, one across midnight, one before the first day.
    let begin = 10_000 * DAY + DAY - 300;
    let days = vec![
        log(&[begin, begin + 600]),
        log(&[begin + DAY - 20, begin + DAY + 580]),
        Vec::new(),
        log(&[begin + 9 * DAY + 5]),
        log(&[begin - 3 * DAY + 1]),
    ];
    let merged = merge_days(days);
    let times: Vec<(i64, u32)> = merged.iter().map(|r| (r.at.as_secs() as i64 - begin as i64, r.layer)).collect();
    assert_eq!(times, [(-20, 1), (0, 0), (1, 4), (5, 3), (580, 1), (600, 0)]);
    assert_eq!(merge_days(Vec::new()), []);
}

#[test]
fn copies_raise_the_load_evenly() {
    let records = generate(&Parameters::default(), 1);
    let raised = raise(&records, 3, Duration::from_secs(137));
    assert_eq!(raised.len(), 4 * records.len());
    let original: Vec<&LogRecord> = raised.iter().filter(|record| record.layer == 0).collect();
    assert_eq!(original, records.iter().collect::<Vec<_>>(), "the sample stays as it is");
    let (begin, end) = (records[0].at, records[records.len() - 1].at);
    assert!(raised.iter().all(|record| record.at >= begin && record.at <= end));
    let hosts = |records: &[LogRecord]| Hosts::of(records).list().len();
    assert_eq!(hosts(&raised), hosts(&records));
    // What is raised again counts on.
    let again = raise(&raised, 1, Duration::from_secs(11));
    assert_eq!(again.iter().map(|record| record.layer).max(), Some(7));
    assert_eq!(raise(&[], 5, Duration::ZERO), []);
}

#[test]
fn what_a_copy_would_have_beyond_the_end_comes_at_the_beginning() {
    let line = |end: u64| format!("{end}.000 0 c TCP_MISS/200 1 GET http://h/{end} - DIRECT/h -\n");
    let log = squid(&[line(1000), line(1100), line(1599)].concat()).records;
    let times =
        |raised: &[LogRecord]| raised.iter().map(|record| (record.at.as_nanos(), record.layer)).collect::<Vec<_>>();
    const SECOND: u128 = 1_000_000_000;
    let raised = raise(&log, 1, Duration::from_secs(137));
    let expected = [(1000, 0, 0), (1100, 0, 0), (1137, 0, 1), (1137, 1, 1), (1237, 0, 1), (1599, 0, 0)];
    // The last request comes a nanosecond before the copy of the first would.
    let expected = expected.map(|(at, before, layer)| (at * SECOND - before, layer));
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    assert_eq!(times(&raised), sorted);
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn requests_of_a_visit_follow_each_other_at_the_gaps() {
    // Visits of two requests, so far from each other that none overlap.
    let parameters = Parameters {
        requests: 2000,
        interval: Duration::from_secs(100_000_000),
        visit_requests: "constant value=2".parse().unwrap(),
        ..Parameters::default()
    };
    let records = generate(&parameters, 1);
    let gaps: Vec<f64> = records.chunks(2).map(|visit| (visit[1].at - visit[0].at).as_secs_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!(records.chunks(2).all(|visit| visit[0].host() == visit[1].host() && visit[0].client == visit[1].client));
    // Cut to milliseconds, which takes half of one on average.
    assert!((mean - 0.8).abs() < 4.0 * 0.8 / 1000_f64.sqrt() + 0.001, "{mean}");
    let within = gaps.iter().filter(|gap| **gap <= 0.8).count();
    assert!((570..695).contains(&within), "1 - 1/e of 1000: {within}");
}

#[test]
fn a_generated_log_is_what_was_asked_for() {
    let parameters = Parameters::default();
    let records = generate(&parameters, 1);
    assert_eq!(records.len(), 421);
    let end = parameters.begin + parameters.interval;
    assert!(records.iter().all(|record| record.at >= parameters.begin && record.at < end));
    assert!(records.is_sorted_by_key(|record| record.at));
    assert!(records.iter().all(LogRecord::is_fetched));
    let hosts = generate_hosts(&parameters, 1);
    assert!(records.iter().all(|record| record.host().is_some_and(|name| hosts.named(&name).is_some())));
    assert_eq!(hosts.list().len(), 200);
    assert_eq!(hosts.to_string().parse(), Ok(hosts.clone()));
    let common = hosts.list().iter().filter(|host| host.mss == Hosts::COMMON_MSS).count();
    assert!((90..150).contains(&common), "{common} of 200 have the common segment size");
    assert_ne!(generate(&parameters, 2), records);
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn generated_sizes_and_times_are_distributed_as_the_parameters_say() {
    let parameters = Parameters { requests: 40_000, ..Parameters::default() };
    let records = generate(&parameters, 3);
    let mean = |value: fn(&LogRecord) -> f64| records.iter().map(value).sum::<f64>() / records.len() as f64;
    let reply = mean(|record| record.reply_bytes.as_f64());
    let (expected, deviation) = (parameters.reply_sizes.mean().unwrap(), parameters.reply_sizes.deviation().unwrap());
    let error = 4.0 * deviation.as_f64() / 200.0;
    assert!((reply - expected.as_f64()).abs() < error, "{reply} instead of {expected} ± {error}");
    let request = mean(|record| record.request_bytes.map_or(0.0, Bytes::as_f64));
    assert!((request - 360.0).abs() < 4.0 * 107.0 / 200.0, "{request}");
    // A reply comes at the rate of its host: some hosts are several times as fast as others.
    let rate = |name: &str| {
        let of_host = records.iter().filter(|record| record.host().as_deref() == Some(name));
        let rates = of_host.map(|r| r.reply_bytes.as_f64() / r.duration.unwrap_or_default().as_secs_f64());
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let rates = ["www1.example.com", "www2.example.com", "www3.example.com", "www4.example.com"].map(rate);
    let largest = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    assert!(largest > 1.5 * least, "{rates:?}");
    // The first of 200 ranks of exponent 0.8 has a share of one over the sum of their powers, 10.02, of the visits.
    let first =
        records.iter().filter(|record| record.host().as_deref() == Some("www1.example.com")).count() as f64 / 40_000.0;
    assert!((first - 0.0998).abs() < 0.012, "{first}");
}

#[test]
fn days_of_a_seed_share_their_hosts_and_nothing_else() {
    let parameters = Parameters::default();
    let next = Parameters { day: 1, ..parameters.clone() };
    let (today, tomorrow) = (generate(&parameters, 1), generate(&next, 1));
    assert_ne!(today[0].url, tomorrow[0].url);
    let merged = merge_days(vec![today, tomorrow]);
    assert_eq!(merged.len(), 842);
    assert!(merged.iter().all(|record| record.at < parameters.begin + parameters.interval));
}

#[test]
fn what_is_written_as_squids_reads_back() {
    let records = generate(&Parameters::default(), 5);
    let log = read(to_squid(&records).as_bytes(), Format::Squid, Strictness::Refuse).unwrap();
    let forgotten = |record: &LogRecord| LogRecord { request_bytes: None, ..record.clone() };
    let (mut read, mut written) = (log.records, records.iter().map(forgotten).collect::<Vec<_>>());
    let order = |record: &LogRecord| (record.at, record.client.clone(), record.url.clone());
    read.sort_by_key(order);
    written.sort_by_key(order);
    assert_eq!(read, written);
    assert_eq!(to_squid(&squid(SQUID).records), SQUID.replace("192.0.2.1", "www.example.com"));
}

#[test]
fn formats_have_names() {
    for format in [Format::Squid, Format::Common, Format::Combined] {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let error = "w3c".parse::<Format>().unwrap_err().to_string();
    assert_eq!(error, "unknown format of logs \"w3c\"; accepted: squid, common, combined");
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(text: Vec<u8>, lines in "([0-9.]{1,20} |[-A-Z_/0-9]{1,9} |[\"\\\\\\[\\]:é/ a-z]{1,9}|\n){0,60}") {
        for format in [Format::Squid, Format::Common, Format::Combined] {
            for text in [text.as_slice(), lines.as_bytes()] {
                let log = read(text, format, Strictness::Skip).unwrap();
                prop_assert_eq!(log.records.len() as u64 + log.broken, log.lines);
                let raised = raise(&log.records, 2, Duration::from_secs(1));
                prop_assert_eq!(raised.len(), 3 * log.records.len());
                let _ = (to_squid(&raised), Hosts::of(&raised), merge_days(vec![raised, log.records]));
            }
        }
        let _ = lines.parse::<Hosts>();
    }

    #[test]
    fn what_is_cut_short_or_changed_is_survived(place in 0..SQUID.len(), end in 0..COMMON.len(), byte: u8) {
        let mut squid = SQUID.as_bytes().to_vec();
        squid[place] = byte;
        let _ = read(&squid, Format::Squid, Strictness::Skip);
        let mut common = COMMON.as_bytes().to_vec();
        common[end] = byte;
        for format in [Format::Common, Format::Combined] {
            let _ = read(&common, format, Strictness::Skip);
            let _ = read(&common[..end], format, Strictness::Skip);
        }
    }
}
