//! Reports before validators that nobody here wrote, and their content.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::*;
use xreduce_verify::report::{self, Judged};
use xreduce_verify::{Config, Options, Verdict, check, inspect};

/// Inputs that bring errors, warnings, notes, ignored and undetermined findings.
fn inputs() -> Vec<Judged> {
    let config = "[[ignore]]\nrule = 'hostcall-symbol'\nreason = 'known \"leftover\" <tag> & more'";
    let config = Config::parse(config, Path::new("verify.toml")).unwrap();
    let options = Options { config, ..Options::default() };
    let corpus = corpus().into_iter().chain([
        ("calls <&> ü.so".to_owned(), hip(&fixture("calls.hsaco"))),
        ("text\u{1}".to_owned(), b"nothing here".to_vec()),
        ("bitcode".to_owned(), bundle(&[(HIP, b"BC\xc0\xde")], 8)),
    ]);
    corpus
        .map(|(name, bytes)| {
            let inspection = inspect(&bytes, &name);
            let report = check(&inspection, &options);
            Judged { inspection, report }
        })
        .collect()
}

#[test]
fn sarif_passes_its_schema() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sarif-2.1.0.schema.json");
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    // The published pattern of a language tag has a stray bracket, which validators refuse.
    for owner in ["run", "toolComponent"] {
        let language = schema.pointer_mut(&format!("/definitions/{owner}/properties/language"));
        language.and_then(Value::as_object_mut).unwrap().remove("pattern").unwrap();
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let inputs = inputs();
    let sarif = report::sarif(&inputs);
    let errors: Vec<String> =
        validator.iter_errors(&sarif).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let findings: usize = inputs.iter().map(|input| input.report.findings.len()).sum();
    assert_eq!(results.len(), findings);
    let suppressed = results.iter().find(|result| result.get("suppressions").is_some()).unwrap();
    assert_eq!(suppressed["ruleId"], "hostcall-symbol");
    for level in ["error", "warning"] {
        assert!(results.iter().any(|result| result["level"] == level), "{level}");
    }
    let kernel = &results[0]["locations"][0]["logicalLocations"][1];
    assert_eq!(kernel["kind"], "function");
}

#[test]
fn junit_is_read_by_another_reader() {
    let inputs = inputs();
    let text = report::junit(&inputs);
    let parsed = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!(parsed.test_suites.len(), inputs.len());
    for (suite, input) in parsed.test_suites.iter().zip(&inputs) {
        let failed = suite.failures > 0;
        assert_eq!(failed, input.report.verdict != Verdict::Clean, "{}", suite.name.as_str());
        assert_eq!(suite.tests, suite.test_cases.len());
    }
    let odd = parsed.test_suites.iter().find(|suite| suite.name.as_str().starts_with("calls <")).unwrap();
    assert_eq!(odd.name.as_str(), "calls <&> ü.so");
    assert!(text.contains("<skipped/>"));
}

#[test]
fn json_holds_everything_and_documents_its_fields() {
    let inputs = inputs();
    let value: Value = serde_json::from_str(&report::json(&inputs).unwrap()).unwrap();
    assert_eq!((&value["schema"], &value["verdict"]), (&Value::from(1), &Value::from("findings")));
    assert_eq!(value["inputs"].as_array().unwrap().len(), inputs.len());
    // Every field that occurs is named in the document.
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/verify-json.md");
    let document = fs::read_to_string(document).unwrap();
    let mut missing = Vec::new();
    fields(&value, &mut |name| {
        if !document.contains(&format!("`{name}`")) {
            missing.push(name.to_owned());
        }
    });
    missing.sort_unstable();
    missing.dedup();
    assert_eq!(missing, [""; 0]);
}

fn fields(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                visit(name);
                fields(value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, visit)),
        _ => {}
    }
}

#[test]
fn text_names_the_verdict_the_counts_and_the_help() {
    let text = report::text(&inputs());
    for part in [
        "add_v6.hsaco: clean\n",
        "bundle: findings\n",
        "bitcode: undetermined\n",
        "error[hostcall-declared] (specific)",
        "error[hostcall-declared] (conservative)",
        "warning[cuda-printf]",
        "undetermined[unreadable]",
        "1 findings ignored by configuration",
        "help: ",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}
