//! Runs the rules over an inspection and settles severities.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::config::Config;
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
    /// Severities and ignores of the user, applied after the profile.
    pub config: Config,
    /// Targets that the input must serve, for example `gfx1100` or `sm_90`.
    pub require: Vec<String>,
    /// Highest code object version that loaders of the users' systems know.
    pub max_code_object_version: Option<u8>,
    /// An input without device code is meant to be so.
    pub allow_empty: bool,
    /// Raises warnings to errors, after configuration.
    pub deny_warnings: bool,
    /// Symbols that some host file of the input must export.
    pub require_symbols: BTreeSet<String>,
}

impl Options {
    /// The options a builder uses for its own artifacts.
    #[must_use]
    pub fn strict() -> Self {
        Self { profile: Profile::Strict, ..Self::default() }
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
            let usual = match options.profile {
                Profile::Strict => Some(Severity::Error),
                Profile::Shipped => rule.shipped.map(|usual| draft.severity.unwrap_or(usual)),
            };
            let (target, kernel) = (draft.target.as_deref(), draft.kernel.as_deref());
            let Some(mut severity) = options.config.severity(rule.code, target, kernel, usual) else {
                continue;
            };
            if options.deny_warnings && severity == Severity::Warning {
                severity = Severity::Error;
            }
            let mut finding = Finding {
                code: rule.code,
                severity,
                path: draft.path,
                target: draft.target,
                kernel: draft.kernel,
                class: draft.class,
                message: draft.message,
                help: draft.help.unwrap_or(rule.fix),
                ignored: None,
            };
            finding.ignored = options.config.ignored(&finding).map(str::to_owned);
            findings.push(finding);
        }
    }
    Report { verdict: Verdict::of(&findings), findings }
}
