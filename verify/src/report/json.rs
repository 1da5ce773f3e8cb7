//! The report for programs. Its schema is documented in `docs/verify-json.md`; fields are added,
//! never changed, under one schema number.

use serde::Serialize;

use super::{Judged, verdict};
use crate::finding::{Finding, Verdict};
use crate::model::{Container, Fault, Image, Skipped};

/// Number of the schema.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    tool: &'static str,
    version: &'static str,
    verdict: Verdict,
    inputs: Vec<Input<'a>>,
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    verdict: Verdict,
    kernels: usize,
    images: &'a [Image],
    containers: &'a [Container],
    skipped: &'a [Skipped],
    faults: &'a [Fault],
    findings: &'a [Finding],
}

/// The whole report as a JSON text.
///
/// # Errors
/// None in practice: every part serialises.
pub fn json(inputs: &[Judged]) -> serde_json::Result<String> {
    let input =
        |judged: &'_ Judged| -> usize { judged.inspection.images.iter().map(|image| image.kernels.len()).sum() };
    let document = Document {
        schema: SCHEMA,
        tool: "xreduce-verify",
        version: env!("CARGO_PKG_VERSION"),
        verdict: verdict(inputs),
        inputs: inputs
            .iter()
            .map(|judged| Input {
                name: &judged.inspection.name,
                verdict: judged.report.verdict,
                kernels: input(judged),
                images: &judged.inspection.images,
                containers: &judged.inspection.containers,
                skipped: &judged.inspection.skipped,
                faults: &judged.inspection.faults,
                findings: &judged.report.findings,
            })
            .collect(),
    };
    serde_json::to_string_pretty(&document)
}
