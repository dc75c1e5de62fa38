//! `[log]`: logs beside a scenario, what is wrong with them, and the way back to text.

use farhop_scenario::{Scenario, open, parse};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const FIRST_DAY: &str = "\
868917601.250 1250 10.0.0.7 TCP_MISS/200 8192 GET http://www.example.com/a.gif - DIRECT/www.example.com image/gif
868917610.000   10 10.0.0.7 TCP_HIT/200 100 GET http://www.example.com/b.gif - NONE/- image/gif
half a line
868917620.000 3000 10.0.0.8 TCP_MISS/200 4096 GET http://ftp.example.com/\"\\ - DIRECT/ftp.example.com text/html
868917621.000  100 10.0.0.8 TCP_MISS/404 300 GET http://ftp.example.com/x - DIRECT/ftp.example.com text/html
";
const NEXT_DAY: &str =
    "869004005.000 500 10.0.0.9 TCP_MISS/200 1000 GET http://www.example.com/c - DIRECT/www.example.com text/html\n";
const HOSTS: &str = "0 www.example.com 8760 1460\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, text) in [
        ("mine.toml", "version = 1\n[log]\nfile = \"first.log\"\nhosts = \"hosts.txt\"\n"),
        ("first.log", FIRST_DAY),
        ("next.log", NEXT_DAY),
        ("hosts.txt", HOSTS),
        ("cached.log", "868917610.000 10 c TCP_HIT/200 100 GET http://h/b.gif - NONE/- image/gif\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("the folder can be written to");
    }
    folder
}

fn read(folder: &Path, assignments: &[&str]) -> Result<Scenario, String> {
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    let given = folder.join("mine.toml");
    open(given.to_str().expect("a path in UTF-8"), &assignments).map_err(|error| {
        // The folder is another one each time.
        error.to_string().replace(&format!("{}/", folder.display()), "")
    })
}

#[test]
fn a_log_is_read_with_what_is_wrong_in_it_told() {
    let folder = folder();
    let scenario = read(folder.path(), &["log.copies=3", "log.server_time=0.5"]).expect("it is a scenario");
    let log = scenario.log.clone().expect("it has a log");
    assert_eq!((log.records.len(), log.copies, log.hosts.list().len()), (2, 3, 1));
    assert_eq!(log.shift, Duration::from_millis(17_000) / 4, "evenly over the log");
    assert_eq!(
        log.notes,
        [
            "first.log: 5 lines, 1 broken: line 3: no time in seconds since 1970; 2 from a cache, or without success, left out",
            "host file: it has 1 of the log's 2 servers",
        ]
    );
    let typical = &scenario.page.objects[0];
    assert_eq!((typical.size.get(), typical.think), (6144, Duration::from_micros(1_062_500)), "the mean request");
    assert_eq!(scenario.http.connections, 256, "nobody's browser holds back requests");
    let resolved = scenario.to_toml();
    for note in &log.notes {
        assert!(resolved.contains(&format!("# {note}\n")), "{resolved}");
    }
    let mut without_notes = scenario;
    without_notes.log.as_mut().expect("it has a log").notes.clear();
    assert_eq!(parse("mine", &resolved, &[]).expect("what is written can be read"), without_notes);
}

#[test]
fn logs_of_several_days_are_laid_over_each_other() {
    let folder = folder();
    let scenario = read(folder.path(), &["log.file=first.log,next.log"]).expect("it is a scenario");
    let log = scenario.log.clone().expect("it has a log");
    let layers: Vec<_> = log.records.iter().map(|record| (record.at.as_secs() % 86_400, record.layer)).collect();
    assert_eq!(layers, [(79_200, 0), (79_204, 1), (79_217, 0)]);
    let again = parse("mine", &scenario.to_toml(), &[]).expect("what is written can be read");
    assert_eq!(again.log.expect("it has a log").records, log.records);
}

#[test]
fn servers_logs_leave_out_heads_and_names() {
    let folder = folder();
    let line = "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326\n";
    std::fs::write(folder.path().join("first.log"), line).expect("the folder can be written to");
    let changes = ["log.format=common", "http.response_header_bytes=200"];
    let scenario = read(folder.path(), &changes).expect("it is a scenario");
    let log = scenario.log.clone().expect("it has a log");
    assert_eq!((log.records[0].reply_bytes.get(), log.records[0].duration), (2526, Some(Duration::ZERO)));
    let again = parse("mine", &scenario.to_toml(), &[]).expect("what is written can be read");
    assert_eq!(again.log.expect("it has a log").records, log.records, "heads are added once");
}

#[test]
fn a_log_or_users_are_taken_back_before_the_other_takes_its_place() {
    let folder = folder();
    insta::assert_snapshot!(read(folder.path(), &["users.model=zhou-2004"]).expect_err("there is a log"), @r#"
    --set: users.model = "zhou-2004": users beside the log of log.file
      accepted: either users or a log: users.model=none takes back the users, log.file=none the log
    "#);
    let back = read(folder.path(), &["users.model=zhou-2004", "log.file=none"]).expect("there are users alone");
    assert!(back.users.is_some() && back.log.is_none());
    let file = folder.path().join("users.toml");
    std::fs::write(&file, "version = 1\n[users]\nmodel = \"zhou-2004\"\n").expect("the folder can be written to");
    let [given, log] = [file, folder.path().join("first.log")].map(|path| path.to_str().expect("UTF-8").to_owned());
    let log = format!("log.file={log}");
    let error = open(&given, std::slice::from_ref(&log)).expect_err("there are users").to_string();
    insta::assert_snapshot!(error.replace(&format!("{}/", folder.path().display()), ""), @r#"
    --set: log.file = "first.log": a log beside the users of users.model
      accepted: either users or a log: users.model=none takes back the users, log.file=none the log
    "#);
    let replayed = open(&given, &["users.model=none".to_owned(), log]).expect("there is a log alone");
    assert!(replayed.users.is_none() && replayed.log.is_some());
    let resolved = read(folder.path(), &[]).expect("it is a scenario").to_toml();
    insta::assert_snapshot!(parse("mine", &resolved, &["users.model=zhou-2004".to_owned()]).expect_err("there is a log"), @r#"
    --set: users.model = "zhou-2004": users beside the log of log.lines
      accepted: either users or a log: users.model=none takes back the users, log.file=none the log
    "#);
    let taken_back = ["users.model=zhou-2004", "log.file=none"].map(str::to_owned);
    assert!(parse("mine", &resolved, &taken_back).expect("there are users alone").log.is_none());
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = folder();
    let refused = |assignments: &[&str]| read(folder.path(), assignments).expect_err("it is wrong");
    insta::assert_snapshot!(refused(&["log.broken=refuse"]), @r#"
    mine.toml:3: log.file = "first.log": first.log: line 3: no time in seconds since 1970
      accepted: lines of the squid format, or broken = "skip" to do without the others
    "#);
    insta::assert_snapshot!(refused(&["log.file=none.log"]), @r#"
    --set: log.file = "none.log": the log cannot be read (No such file or directory (os error 2))
      accepted: a log beside the scenario, or a list of them, one for each day: file = "access.log"
    "#);
    insta::assert_snapshot!(refused(&["log.file=cached.log"]), @r#"
    --set: log.file = "cached.log": no request of the first log was answered by a server with success (cached.log: 1 line; 1 from a cache, or without success, left out)
      accepted: a log beside the scenario, or a list of them, one for each day: file = "access.log"
    "#);
    insta::assert_snapshot!(refused(&["log.format=w3c"]), @r#"
    --set: log.format = "w3c": unknown format of logs "w3c"
      accepted: squid, common, combined
    "#);
    insta::assert_snapshot!(refused(&["log.copies=1000000"]), @r#"
    --set: log.copies = "1000000": 2000002 requests
      accepted: at most 1000000 requests, copies included
    "#);
    insta::assert_snapshot!(refused(&["log.server_time=-1"]), @r#"
    --set: log.server_time = "-1": not a factor
      accepted: a number from 0 to 1000, e.g. 0.5 for servers twice as fast
    "#);
    insta::assert_snapshot!(refused(&["log.hosts=first.log"]), @r#"
    --set: log.hosts = "first.log": line 1 of the host file: number "868917601.250" is not 0 to 4294967295; accepted: an unused number, an unused name, window and segment size in bytes, e.g. "17 www.example.com 8760 1460"
      accepted: a host file beside the scenario: number, name, window and segment size in bytes in each line
    "#);
    insta::assert_snapshot!(refused(&["log.lines=x"]), @r#"
    --set: log.lines = "x": two logs
      accepted: either log.file or log.lines
    "#);
    insta::assert_snapshot!(refused(&["log.file=none", "log.copies=1"]), @r#"
    mine.toml: log.file: missing
      accepted: a log beside the scenario, or a list of them, one for each day: file = "access.log"
    "#);
    let alone = "version = 1\n[log]\ncopies = 1\n[page]\nobjects = 1\nsize = \"1 kB\"\n";
    insta::assert_snapshot!(parse("net", alone, &[]).expect_err("it is wrong"), @r#"
    net.toml: log.file: missing
      accepted: a log beside the scenario, or a list of them, one for each day: file = "access.log"
    "#);
    let strict = "version = 1\n[log]\nbroken = \"refuse\"\n[page]\nobjects = 1\nsize = \"1 kB\"\n";
    assert!(parse("net", strict, &[]).is_ok(), "there is nothing to refuse");
}
