//! The report for people: one block per input, findings grouped by rule, then kernel and targets.
//!
//! A shipped library can have 27,000 findings that say one thing; they must fit a screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Judged, count};
use crate::finding::{Finding, Severity};
use crate::model::Inspection;

/// Kernels and places shown per group; the rest is counted.
const SHOWN: usize = 8;
/// Targets shown per line.
const TARGETS: usize = 6;

/// The whole report.
#[must_use]
pub fn text(inputs: &[Judged]) -> String {
    let mut out = String::new();
    for input in inputs {
        // Writing to a String cannot fail.
        let _ = block(&mut out, input);
    }
    out
}

fn block(out: &mut String, input: &Judged) -> std::fmt::Result {
    let inspection = &input.inspection;
    let report = &input.report;
    writeln!(out, "{}: {}", inspection.name, report.verdict.word())?;
    writeln!(out, "  {}", summary(inspection))?;
    let mut groups: BTreeMap<(Severity, usize, Option<&str>), Vec<&Finding>> = BTreeMap::new();
    let order: BTreeMap<&str, usize> = crate::RULES.iter().enumerate().map(|(at, rule)| (rule.code, at)).collect();
    for finding in report.findings.iter().filter(|finding| finding.ignored.is_none()) {
        let rule = order.get(finding.code).copied().unwrap_or(usize::MAX);
        groups.entry((finding.severity, rule, finding.class)).or_default().push(finding);
    }
    // Errors first.
    for ((severity, _, class), findings) in groups.iter().rev() {
        group(out, *severity, *class, findings)?;
    }
    let ignored = report.findings.iter().filter(|finding| finding.ignored.is_some()).count();
    if ignored > 0 {
        writeln!(out, "  {ignored} findings ignored by configuration")?;
    }
    let counts = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| format!("{} {}s", count(input, severity), severity.word()));
    writeln!(out, "  {}", counts.join(", "))
}

/// What was found, read and skipped.
fn summary(inspection: &Inspection) -> String {
    let kernels: usize = inspection.images.iter().map(|image| image.kernels.len()).sum();
    let targets: BTreeSet<&str> = inspection.images.iter().map(|image| image.target.as_str()).collect();
    let unread = inspection.faults.len();
    let containers = inspection.containers.len();
    let mut line = format!(
        "{} images read in {containers} containers, {kernels} kernels, {} skipped",
        inspection.images.len(),
        inspection.skipped.len()
    );
    if unread > 0 {
        line.push_str(&format!(", {unread} places broken or not readable"));
    }
    if !targets.is_empty() {
        line.push_str(&format!("; targets {}", list(&targets)));
    }
    line
}

fn group(out: &mut String, severity: Severity, class: Option<&str>, findings: &[&Finding]) -> std::fmt::Result {
    let Some(first) = findings.first() else {
        return Ok(());
    };
    let class = class.map(|class| format!(" ({class})")).unwrap_or_default();
    let times = if findings.len() == 1 { String::new() } else { format!(", {} times", findings.len()) };
    writeln!(out, "  {}[{}]{class}{times}", severity.word(), first.code)?;
    // One line per kernel (or place) and message, with all its targets.
    let mut lines: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for finding in findings {
        let subject = finding.kernel.as_deref().unwrap_or(&finding.path);
        let targets = lines.entry((subject, &finding.message)).or_default();
        targets.extend(finding.target.as_deref());
    }
    for ((subject, message), targets) in lines.iter().take(SHOWN) {
        let subject = shorten(subject);
        let on = if targets.is_empty() { String::new() } else { format!(" on {}", list(targets)) };
        let message = shorten(message);
        writeln!(out, "    {subject}: {message}{on}")?;
    }
    if lines.len() > SHOWN {
        writeln!(out, "    and {} more", lines.len() - SHOWN)?;
    }
    writeln!(out, "    help: {}", first.help)
}

/// Mangled names run to thousands of letters.
fn shorten(name: &str) -> String {
    const LETTERS: usize = 140;
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    let head: String = name.chars().take(LETTERS).collect();
    format!("{head}...")
}

fn list(targets: &BTreeSet<&str>) -> String {
    let shown: Vec<&str> = targets.iter().copied().take(TARGETS).collect();
    let more = targets.len().saturating_sub(TARGETS);
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{end}", shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Options, check};
    use crate::model::Kernel;
    use crate::rules::testing::{amdgpu, inspection, kernel};

    #[test]
    fn thousands_of_findings_fit_a_screen() {
        let mut images = Vec::new();
        for target in ["gfx900", "gfx906", "gfx1100"] {
            let kernels = (0..9000)
                .map(|number| Kernel { name: format!("kernel_{number}"), ..kernel(&["hidden_hostcall_buffer"]) });
            let mut image = amdgpu(kernels.collect());
            image.target = target.to_owned();
            images.push(image);
        }
        let inspection = inspection(images);
        let report = check(&inspection, &Options::default());
        assert_eq!(report.findings.len(), 27_000);
        let text = text(&[Judged { inspection, report }]);
        assert!(text.lines().count() < 20, "{text}");
        for part in [
            "test: findings",
            "3 images read in 0 containers, 27000 kernels, 0 skipped",
            "error[hostcall-declared] (specific), 27000 times",
            "kernel_0: declares hidden_hostcall_buffer on gfx1100 gfx900 gfx906",
            "and 8992 more",
            "help: The kernel itself",
        ] {
            assert!(text.contains(part), "{part} not in\n{text}");
        }
    }
}
