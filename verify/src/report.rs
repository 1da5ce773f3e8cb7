//! Reports: the same inputs as text, JSON, SARIF and JUnit.
//!
//! All of them return data; printing is the command's business.

mod json;
mod junit;
mod sarif;
mod text;

pub use json::json;
pub use junit::junit;
pub use sarif::sarif;
pub use text::text;

use crate::check::Report;
use crate::finding::{Severity, Verdict};
use crate::model::Inspection;

/// One input with its judgement.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What was found.
    pub inspection: Inspection,
    /// What the rules say.
    pub report: Report,
}

/// The worst verdict of all inputs. A finding wins over undetermined.
#[must_use]
pub fn verdict(inputs: &[Judged]) -> Verdict {
    inputs.iter().map(|input| input.report.verdict).max().unwrap_or(Verdict::Clean)
}

/// Findings of one severity that count.
fn count(input: &Judged, severity: Severity) -> usize {
    let findings = input.report.findings.iter();
    findings.filter(|finding| finding.severity == severity && finding.ignored.is_none()).count()
}
