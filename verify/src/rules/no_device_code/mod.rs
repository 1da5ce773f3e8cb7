//! Inputs in which there was nothing to inspect.

use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "no-device-code",
    shipped: Some(Severity::Undetermined),
    what: "An input holds no device code at all.",
    why: "A wrong path or an empty build would otherwise look like a pass.",
    fix: "Check the path; allow it explicitly (--allow-empty) if the input is meant to be empty.",
    source: "A scan that finds nothing is no evidence.",
    check,
};

fn check(inspection: &Inspection, options: &crate::Options, drafts: &mut Drafts) {
    // What could not be read may well be device code; that is reported as such.
    if !options.allow_empty && inspection.images.is_empty() && inspection.faults.is_empty() {
        drafts.at(&inspection.name, "no device code found");
    }
}
