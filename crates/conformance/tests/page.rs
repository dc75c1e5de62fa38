//! docs/accuracy.md against the engines as they are now.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use farhop_conformance::{Journal, Plan, Study, markdown};
use std::path::Path;

#[test]
fn the_page_of_accuracy_is_what_the_engines_say_of_what_was_measured() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("journal.jsonl");
    std::fs::copy(docs.join("accuracy/journal.jsonl"), &path).expect("a journal");
    let plan = Plan::default();
    let journal = Journal::open(&path, &plan, "the machine that runs tests").expect("whole");
    let study = Study::new(journal).expect("points are scenarios");
    assert_eq!(study.outcomes().len(), plan.draw().len());
    let page = std::fs::read_to_string(docs.join("accuracy.md")).expect("a page");
    let ours = markdown(&study);
    let differing = page.lines().zip(ours.lines()).find(|(told, is)| told != is);
    assert!(page == ours, "run make accuracy; the first line that differs: {differing:?}");
}
