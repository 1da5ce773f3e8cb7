//! The report: all facts and all findings.

use serde::Serialize;

use crate::card::Card;
use crate::drivers::Answers;
use crate::finding::{Finding, Severity};
use crate::machine::Machine;
use crate::pair::Pair;
use crate::tree::Unread;

/// Number of the JSON document's schema.
const SCHEMA: u32 = 1;

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What surrounds the cards.
    pub machine: Machine,
    /// GPUs.
    pub cards: Vec<Card>,
    /// Pairs of discrete GPUs of one vendor.
    pub pairs: Vec<Pair>,
    /// What drivers said.
    pub drivers: Answers,
    /// Verdicts.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// The verdict on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No fault, and nothing that matters is undecided.
    Well,
    /// At least one fault.
    Fault,
    /// No fault, and something could not be decided.
    Undecided,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    tool: &'static str,
    version: &'static str,
    verdict: Verdict,
    #[serde(flatten)]
    report: &'a Report,
}

impl Report {
    /// A fault outweighs what is undecided.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Fault) => Verdict::Fault,
            Some(Severity::Undecided) => Verdict::Undecided,
            _ => Verdict::Well,
        }
    }

    /// The report as a JSON document; `docs/probe.md` documents it.
    ///
    /// # Errors
    /// None that is known: every value has a JSON form.
    pub fn json(&self) -> serde_json::Result<String> {
        let (tool, version) = ("xreduce", env!("CARGO_PKG_VERSION"));
        serde_json::to_string_pretty(&Document { schema: SCHEMA, tool, version, verdict: self.verdict(), report: self })
    }
}
