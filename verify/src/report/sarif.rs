//! SARIF 2.1.0 (OASIS). An artifact location per input, a logical location per kernel; device code
//! has no lines. Ignored findings are suppressed results, with the reason as justification.

use serde_json::{Value, json};

use super::Judged;
use crate::RULES;
use crate::finding::{Finding, Severity};

/// The whole report.
#[must_use]
pub fn sarif(inputs: &[Judged]) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code,
                "shortDescription": { "text": rule.what },
                "fullDescription": { "text": rule.why },
                "help": { "text": rule.fix },
                "defaultConfiguration": { "level": rule.shipped.map_or("none", level) },
            })
        })
        .collect();
    let results: Vec<Value> = inputs
        .iter()
        .flat_map(|input| {
            let name = &input.inspection.name;
            input.report.findings.iter().map(move |finding| result(name, finding))
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "xreduce-verify",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
            "columnKind": "utf16CodeUnits",
        }],
    })
}

fn result(input: &str, finding: &Finding) -> Value {
    // Within a folder, the file is the first part of the path.
    let file = finding.path.split(" > ").next().unwrap_or(input);
    let mut logical = vec![json!({ "fullyQualifiedName": finding.path, "kind": "module" })];
    if let Some(kernel) = &finding.kernel {
        logical.push(json!({
            "name": kernel,
            "fullyQualifiedName": format!("{} > {kernel}", finding.path),
            "kind": "function",
        }));
    }
    let subject = finding.kernel.as_deref().unwrap_or(&finding.path);
    let mut result = json!({
        "ruleId": finding.code,
        "ruleIndex": RULES.iter().position(|rule| rule.code == finding.code),
        "level": level(finding.severity),
        "message": { "text": format!("{subject}: {}. {}", finding.message, finding.help) },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": uri(file) } },
            "logicalLocations": logical,
        }],
        "properties": {
            "class": finding.class,
            "target": finding.target,
            "severity": finding.severity.word(),
        },
    });
    if let (Some(reason), Some(result)) = (&finding.ignored, result.as_object_mut()) {
        let suppressions = json!([{ "kind": "external", "justification": reason }]);
        result.insert("suppressions".to_owned(), suppressions);
    }
    result
}

/// SARIF knows no "undetermined"; a consumer that fails on errors must not pass it silently.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning | Severity::Undetermined => "warning",
        Severity::Error => "error",
    }
}

/// A relative URI reference: bytes outside RFC 3986's path characters are percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
