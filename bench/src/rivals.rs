//! Other libraries' kernels, timed by a Python program that uses them as installed: `bench/rivals.py`, which is part of this
//! binary. It writes one JSON object to standard output.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::measure::Error;
use crate::report::{Report, Series, Skipped};

const PROGRAM: &str = include_str!("../rivals.py");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    series: Vec<Series>,
    skipped: Vec<Skipped>,
}

/// Runs the program with this interpreter and adds what it measured to the report. `prototype` is a PTX file with the
/// kernels that the project began with, if they are to be timed as well.
///
/// # Errors
/// [`Error::Rivals`] if it cannot be started, fails, or answers something else.
pub fn add(report: &mut Report, python: &Path, prototype: Option<&Path>) -> Result<(), Error> {
    let fail = |what: String| Error::Rivals(format!("{}: {what}", python.display()));
    let mut command = Command::new(python);
    command.arg("-").arg("--replays").arg(report.replays.to_string()).arg("--calls").arg(report.calls.to_string());
    let mut sizes: Vec<u64> = report.series.iter().flat_map(|series| &series.points).map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    command.arg("--bytes").args(sizes.iter().map(ToString::to_string));
    if let Some(prototype) = prototype {
        command.args([OsStr::new("--prototype"), prototype.as_os_str()]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| fail(error.to_string()))?;
    // A program that ends before it has read all says more by its end than by the broken pipe.
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(PROGRAM.as_bytes()));
    let output = child.wait_with_output().map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = words.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(fail(format!("{}\n{}", output.status, last.join("\n"))));
    }
    written.map_err(|error| fail(error.to_string()))?;
    let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|error| fail(error.to_string()))?;
    report.series.extend(answer.series);
    report.skipped.extend(answer.skipped);
    Ok(())
}
