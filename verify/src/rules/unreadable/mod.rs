//! Device code that this version cannot read.

use crate::finding::Severity;
use crate::model::{FaultKind, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "unreadable",
    shipped: Some(Severity::Undetermined),
    what: "Device code is present in a form that this version cannot read.",
    why: "Nothing can be said about it: neither that it is clean nor that it is not.",
    fix: "Unpack it with its vendor's tool and inspect the result, or use a newer version.",
    source: "The format's own description; see the module of its reader.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for fault in &inspection.faults {
        if fault.kind == FaultKind::Unreadable {
            drafts.at(&fault.path, fault.message.clone());
        }
    }
}
