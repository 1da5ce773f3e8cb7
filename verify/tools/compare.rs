//! Prints, for files that public tools let through, our verdict beside that of the public script.
//!
//! `cargo run -p xreduce-verify --example compare -- [LLVM_BIN]`
//!
//! The script's way is `llvm-objdump --offloading` in an empty folder, then `llvm-readelf --notes` and
//! a search for `hidden_hostcall_buffer` in each file that appeared.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for developers: it prints")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xreduce_verify::{Options, check, inspect};

fn main() {
    let llvm = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("/usr/lib/llvm-22/bin"), PathBuf::from);
    println!("| case | must | ours | llvm-objdump --offloading, then llvm-readelf --notes |\n|---|---|---|---|");
    for case in support::cases() {
        let report = check(&inspect(&case.bytes, case.name), &Options::default());
        let must = if case.faulty { "fail" } else { "pass" };
        println!("| {} | {must} | {} | {} |", case.name, report.verdict.word(), script(&case.bytes, &llvm));
    }
}

/// What the script would say, and why.
fn script(bytes: &[u8], llvm: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    fs::write(&input, bytes).unwrap();
    let objdump = Command::new(llvm.join("llvm-objdump"))
        .args(["--offloading", "input"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let (mut files, mut read, mut found) = (0, 0, 0);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path == input {
            continue;
        }
        files += 1;
        let output = Command::new(llvm.join("llvm-readelf")).arg("--notes").arg(&path).output().unwrap();
        let notes = String::from_utf8_lossy(&output.stdout).into_owned();
        read += usize::from(notes.contains("amdhsa.version"));
        found += notes.matches("hidden_hostcall_buffer").count();
    }
    let status = objdump.status.code().unwrap_or(-1);
    let verdict = match (found, status) {
        (0, 0) => "pass",
        (0, _) => "refused",
        _ => "fail",
    };
    format!("{verdict}: status {status}, {files} files written, {read} of them readable, {found} declarations")
}
