//! Findings: what rules report, as data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a look; does not fail a run unless warnings are denied.
    Warning,
    /// The question cannot be decided: neither clean nor faulty.
    Undetermined,
    /// A fault.
    Error,
}

impl Severity {
    /// The word used in reports and configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Undetermined => "undetermined",
            Self::Error => "error",
        }
    }
}

/// One finding of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Code of the rule, for example `hostcall-declared`.
    pub code: &'static str,
    /// Settled severity, after profile and configuration.
    pub severity: Severity,
    /// Path of the image or container.
    pub path: String,
    /// Target of the image, where the finding is about one.
    pub target: Option<String>,
    /// Kernel, where the finding is about one.
    pub kernel: Option<String>,
    /// Subdivision of the rule, for example `conservative`.
    pub class: Option<&'static str>,
    /// What was found.
    pub message: Cow<'static, str>,
    /// What to do about it.
    pub help: &'static str,
    /// Set if configuration ignores the finding: the reason given there. It then counts nowhere.
    pub ignored: Option<String>,
}

/// The answer for one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything was read and no error was found.
    Clean,
    /// Something could not be decided, and no error was found.
    Undetermined,
    /// At least one error.
    Findings,
}

impl Verdict {
    /// The verdict that `findings` lead to.
    #[must_use]
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        findings
            .into_iter()
            .filter(|finding| finding.ignored.is_none())
            .map(|finding| match finding.severity {
                Severity::Error => Self::Findings,
                Severity::Undetermined => Self::Undetermined,
                Severity::Note | Severity::Warning => Self::Clean,
            })
            .max()
            .unwrap_or(Self::Clean)
    }

    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Undetermined => "undetermined",
            Self::Findings => "findings",
        }
    }
}
