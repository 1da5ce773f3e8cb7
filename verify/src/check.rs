//! Runs the rules over an inspection and settles severities.

use serde::Serialize;

use crate::finding::{Finding, Severity, Verdict};
use crate::model::Inspection;
use crate::rules::{Drafts, RULES};

/// Which questions are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Files that somebody ships: severities as each rule states.
    #[default]
    Shipped,
    /// Artifacts of a builder that promises none of all this: every rule is on, and an error.
    Strict,
}

/// How to judge.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Set of rules and their severities.
    pub profile: Profile,
}

impl Options {
    /// The options a builder uses for its own artifacts.
    #[must_use]
    pub fn strict() -> Self {
        Self { profile: Profile::Strict }
    }
}

/// Findings for one inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// All findings, ignored ones included, in the order of the rules.
    pub findings: Vec<Finding>,
}

/// Asks every rule about `inspection`.
#[must_use]
pub fn check(inspection: &Inspection, options: &Options) -> Report {
    let mut findings = Vec::new();
    for rule in RULES {
        let mut drafts = Drafts::default();
        (rule.check)(inspection, options, &mut drafts);
        for draft in drafts.0 {
            let severity = match options.profile {
                Profile::Strict => Some(Severity::Error),
                Profile::Shipped => rule.shipped.map(|usual| draft.severity.unwrap_or(usual)),
            };
            let Some(severity) = severity else {
                continue;
            };
            findings.push(Finding {
                code: rule.code,
                severity,
                path: draft.path,
                target: draft.target,
                kernel: draft.kernel,
                class: draft.class,
                message: draft.message,
                help: draft.help.unwrap_or(rule.fix),
                ignored: None,
            });
        }
    }
    Report { verdict: Verdict::of(&findings), findings }
}
