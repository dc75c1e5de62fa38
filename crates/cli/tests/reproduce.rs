//! `farhop reproduce`: what is printed, what is written, and what a wrong name says.

use std::process::{Command, Output};

fn farhop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farhop")).args(args).output().expect("the program starts")
}

#[test]
fn json_has_the_papers_numbers_and_ours() {
    let output = farhop(&["reproduce", "zhou-2004", "table-1", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout holds one JSON object");
    let rows = json["rows"].as_array().expect("rows are an array");
    let row = |quantity: &str| rows.iter().find(|row| row["quantity"] == quantity).expect("the row is there");
    assert_eq!(row("total traffic, N = 2 (B)")["published"], 4604.5);
    assert_eq!(row("total traffic, N = 2 (B)")["figure"], "Table 1");
    assert_eq!(json["paper"]["name"], "zhou-2004");
    assert!(output.stderr.is_empty(), "scripts want nothing else");
}

#[test]
fn what_the_text_does_not_give_is_null() {
    let output = farhop(&["reproduce", "zhou-2004", "§3", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout holds one JSON object");
    let rows = json["rows"].as_array().expect("rows are an array");
    let share = rows.iter().find(|row| row["quantity"] == "share of small requests").expect("the row is there");
    assert!(share["published"].is_null());
}

#[test]
fn the_report_and_its_points_are_written_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let output = farhop(&["reproduce", "obata-2002", "Fig 12", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("report.html"));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("the file is there");
    let report = read("report.html");
    assert!(report.contains("<path class=\"curve c-0\"") && report.contains("id=\"fig-12\""));
    assert!(report.contains("farhop reproduce obata-2002"), "the report says how to repeat it");
    assert!(read("curves.csv").lines().count() > 300 && read("rows.csv").starts_with("figure,quantity,published,ours"));
}

#[test]
fn without_a_folder_it_says_how_to_have_the_plots() {
    let output = farhop(&["reproduce", "obata-2001", "eq-13"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--out DIR"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("88.443"));
}

#[test]
fn unknown_papers_and_figures_exit_with_2_and_what_there_is() {
    for (args, expected) in
        [(["reproduce", "zhou-2005", "5"], "zhou-2004"), (["reproduce", "zhou-2004", "99"], "Table 1")]
    {
        let output = farhop(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{args:?}");
    }
}
