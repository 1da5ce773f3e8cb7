//! The configuration file: severities and ignores by rule, target and kernel.
//!
//! TOML. What is read is one type, what is used another: the second exists only if every rule code
//! is known, every pattern compiles and every ignore gives its reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde::Deserialize;

use crate::finding::{Finding, Severity};
use crate::rules::RULES;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {cause}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// No TOML, an unknown key, a wrong type; the message has line and column.
    #[error("{path}: {cause}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        cause: Box<toml::de::Error>,
    },
    /// A rule code that does not exist, a pattern that does not compile, a missing reason.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with which entry.
        message: String,
    },
}

/// The file as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    severity: BTreeMap<String, Level>,
    #[serde(default, rename = "override")]
    overrides: Vec<RawOverride>,
    #[serde(default)]
    ignore: Vec<RawIgnore>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOverride {
    rule: String,
    target: Option<String>,
    kernel: Option<String>,
    severity: Level,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIgnore {
    rule: String,
    target: Option<String>,
    kernel: Option<String>,
    reason: String,
}

/// A severity, or none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Off,
    Note,
    Warning,
    Undetermined,
    Error,
}

impl Level {
    fn severity(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::Note => Some(Severity::Note),
            Self::Warning => Some(Severity::Warning),
            Self::Undetermined => Some(Severity::Undetermined),
            Self::Error => Some(Severity::Error),
        }
    }
}

/// Which findings an entry means.
#[derive(Debug, Clone)]
struct Scope {
    rule: String,
    target: Option<GlobMatcher>,
    kernel: Option<GlobMatcher>,
}

impl Scope {
    /// A pattern matches only findings that have such a thing.
    fn matches(&self, code: &str, target: Option<&str>, kernel: Option<&str>) -> bool {
        let fits = |pattern: &Option<GlobMatcher>, name: Option<&str>| match (pattern, name) {
            (None, _) => true,
            (Some(pattern), Some(name)) => pattern.is_match(name),
            (Some(_), None) => false,
        };
        self.rule == code && fits(&self.target, target) && fits(&self.kernel, kernel)
    }
}

/// A validated configuration.
#[derive(Debug, Clone, Default)]
pub struct Config {
    overrides: Vec<(Scope, Option<Severity>)>,
    ignores: Vec<(Scope, String)>,
}

impl Config {
    /// Reads and validates the file at `path`.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|cause| ConfigError::Read { path: path.to_owned(), cause })?;
        Self::parse(&text, path)
    }

    /// Validates `text`; `path` is named in errors.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let raw: Raw = toml::from_str(text)
            .map_err(|cause| ConfigError::Parse { path: path.to_owned(), cause: Box::new(cause) })?;
        let invalid = |message| ConfigError::Invalid { path: path.to_owned(), message };
        let mut config = Self::default();
        for (rule, level) in raw.severity {
            let scope = scope(rule, None, None).map_err(invalid)?;
            config.overrides.push((scope, level.severity()));
        }
        for entry in raw.overrides {
            let scope = scope(entry.rule, entry.target, entry.kernel).map_err(invalid)?;
            config.overrides.push((scope, entry.severity.severity()));
        }
        for entry in raw.ignore {
            if entry.reason.trim().is_empty() {
                return Err(invalid(format!("ignore of {}: the reason is empty", entry.rule)));
            }
            let scope = scope(entry.rule, entry.target, entry.kernel).map_err(invalid)?;
            config.ignores.push((scope, entry.reason));
        }
        Ok(config)
    }

    /// Severity of a finding that would have `usual` (`None`: off). Later entries win.
    pub(crate) fn severity(
        &self,
        code: &str,
        target: Option<&str>,
        kernel: Option<&str>,
        usual: Option<Severity>,
    ) -> Option<Severity> {
        let mut matching = self.overrides.iter().rev();
        matching.find(|(scope, _)| scope.matches(code, target, kernel)).map_or(usual, |(_, severity)| *severity)
    }

    /// The reason to ignore `finding`, if one is given.
    pub(crate) fn ignored(&self, finding: &Finding) -> Option<&str> {
        let (target, kernel) = (finding.target.as_deref(), finding.kernel.as_deref());
        self.ignores
            .iter()
            .find(|(scope, _)| scope.matches(finding.code, target, kernel))
            .map(|(_, reason)| reason.as_str())
    }
}

fn scope(rule: String, target: Option<String>, kernel: Option<String>) -> Result<Scope, String> {
    if !RULES.iter().any(|known| known.code == rule) {
        let codes: Vec<&str> = RULES.iter().map(|known| known.code).collect();
        return Err(format!("unknown rule {rule:?}; the rules are {}", codes.join(", ")));
    }
    let compile = |pattern: Option<String>| {
        let compiled = pattern.map(|pattern| Glob::new(&pattern).map(|glob| glob.compile_matcher()));
        compiled.transpose().map_err(|error| error.to_string())
    };
    Ok(Scope { target: compile(target)?, kernel: compile(kernel)?, rule })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Options, check};
    use crate::finding::Verdict;
    use crate::rules::testing::{amdgpu, inspection, kernel};

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("verify.toml"))
    }

    fn judged(text: &str) -> (Verdict, Option<Severity>, Option<String>) {
        let options = Options { config: parse(text).unwrap(), ..Options::default() };
        let all = inspection(vec![amdgpu(vec![kernel(&["hidden_hostcall_buffer"])])]);
        let report = check(&all, &options);
        let first = report.findings.first();
        (report.verdict, first.map(|f| f.severity), first.and_then(|f| f.ignored.clone()))
    }

    #[test]
    fn severities_by_rule_target_and_kernel() {
        let usual = (Verdict::Findings, Some(Severity::Error), None);
        assert_eq!(judged(""), usual);
        let note = (Verdict::Clean, Some(Severity::Note), None);
        assert_eq!(judged("[severity]\nhostcall-declared = 'note'"), note);
        assert_eq!(judged("[severity]\nhostcall-declared = 'off'"), (Verdict::Clean, None, None));
        let entry = "[[override]]\nrule = 'hostcall-declared'\nseverity = 'note'\n";
        assert_eq!(judged(&format!("{entry}target = 'gfx11*'\nkernel = 'k'")), note);
        assert_eq!(judged(&format!("{entry}target = 'gfx9*'")), usual);
        assert_eq!(judged(&format!("{entry}kernel = 'other'")), usual);
    }

    #[test]
    fn an_ignored_finding_stays_visible_and_counts_nowhere() {
        let text = "[[ignore]]\nrule = 'hostcall-declared'\nkernel = 'k*'\nreason = 'debug only'";
        let ignored = (Verdict::Clean, Some(Severity::Error), Some("debug only".to_owned()));
        assert_eq!(judged(text), ignored);
    }

    #[test]
    fn every_mistake_is_named() {
        for (text, part) in [
            ("[severity]\nhostcal-declared = 'note'", "unknown rule \"hostcal-declared\""),
            ("[severity]\nhostcall-declared = 'fatal'", "line 2"),
            ("[[ignore]]\nrule = 'unreadable'\nreason = ' '", "reason is empty"),
            ("[[ignore]]\nrule = 'unreadable'", "missing field `reason`"),
            ("[[ignore]]\nrule = 'unreadable'\nreason = 'r'\nwhy = 1", "unknown field `why`"),
            ("[[ignore]]\nrule = 'unreadable'\nreason = 'r'\nkernel = '['", "["),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("verify.toml: ") && error.contains(part), "{error}");
        }
    }
}
