//! Hostile input: mutated files of every form, and what fuzzing once found.
//!
//! `tools/fuzz.rs` does the same for hours; its finds are kept in `data/regressions`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::fs;
use std::path::Path;

use support::corpus;
use support::mutate::{Random, mutate};
use xreduce_verify::{Options, check, inspect, report};

/// Inspects, judges and reports: nothing of it may panic.
fn run(bytes: &[u8]) {
    let inspection = inspect(bytes, "hostile");
    let judged = check(&inspection, &Options::strict());
    let inputs = [report::Judged { inspection, report: judged }];
    assert!(report::text(&inputs).starts_with("hostile: "));
}

#[test]
fn mutated_files_of_every_form_never_panic() {
    let corpus = corpus();
    let mut random = Random(5);
    for (at, (_, bytes)) in corpus.iter().enumerate() {
        for _ in 0..200 {
            let mut bytes = bytes.clone();
            let other = &corpus[(at + random.below(corpus.len())) % corpus.len()].1;
            mutate(&mut bytes, other, &mut random);
            run(&bytes);
        }
    }
}

#[test]
fn finds_of_the_fuzz_driver_stay_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/regressions");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        run(&fs::read(file).unwrap());
    }
}
