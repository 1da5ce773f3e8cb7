//! JUnit XML: a suite per input, a case per rule and image.
//!
//! The format has no one specification; this is the common subset that CI systems read (testsuites,
//! testsuite, testcase, failure, skipped). Images without findings of a rule pass that case.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Judged;
use crate::RULES;
use crate::finding::{Finding, Severity};

/// Kernels listed in one failure; the rest is counted.
const LISTED: usize = 50;

/// The whole report.
#[must_use]
pub fn junit(inputs: &[Judged]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"xreduce-verify\">\n");
    for input in inputs {
        // Writing to a String cannot fail.
        let _ = suite(&mut out, input);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, input: &Judged) -> std::fmt::Result {
    let mut cases: BTreeMap<(&str, &str), Vec<&Finding>> = BTreeMap::new();
    for image in &input.inspection.images {
        for rule in RULES.iter().filter(|rule| rule.shipped.is_some()) {
            cases.insert((&image.path, rule.code), Vec::new());
        }
    }
    for finding in &input.report.findings {
        cases.entry((&finding.path, finding.code)).or_default().push(finding);
    }
    let failed = cases.values().filter(|findings| !failures(findings).is_empty()).count();
    let skipped = cases.values().filter(|findings| is_skipped(findings)).count();
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">",
        escape(&input.inspection.name),
        cases.len()
    )?;
    for ((path, code), findings) in &cases {
        write!(out, "    <testcase classname=\"{}\" name=\"{code}\"", escape(path))?;
        let failures = failures(findings);
        if let Some(first) = failures.first() {
            writeln!(out, ">")?;
            writeln!(
                out,
                "      <failure type=\"{}\" message=\"{}\">{}</failure>",
                first.severity.word(),
                escape(&first.message),
                escape(&lines(&failures))
            )?;
            writeln!(out, "    </testcase>")?;
        } else if is_skipped(findings) {
            writeln!(out, "><skipped/></testcase>")?;
        } else {
            writeln!(out, "/>")?;
        }
    }
    writeln!(out, "  </testsuite>")
}

/// Findings that fail a case: errors, and what could not be decided.
fn failures<'f>(findings: &[&'f Finding]) -> Vec<&'f Finding> {
    let counts = |finding: &&Finding| finding.ignored.is_none() && finding.severity >= Severity::Undetermined;
    findings.iter().copied().filter(counts).collect()
}

/// Only ignored findings: the case is skipped, not passed.
fn is_skipped(findings: &[&Finding]) -> bool {
    !findings.is_empty() && findings.iter().all(|finding| finding.ignored.is_some())
}

fn lines(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings.iter().take(LISTED) {
        let subject = finding.kernel.as_deref().unwrap_or(&finding.path);
        text.push_str(&format!("{subject}: {}\n", finding.message));
    }
    if findings.len() > LISTED {
        text.push_str(&format!("and {} more\n", findings.len() - LISTED));
    }
    text
}

/// XML 1.0 text and attribute values; characters that XML forbids become U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(letter),
            letter if letter < ' ' || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
