//! Bytes that contradict their format.

use crate::finding::Severity;
use crate::model::{FaultKind, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "container-malformed",
    shipped: Some(Severity::Error),
    what: "A container or image is truncated, fails its hash, has sizes that overlap or point \
           outside, or is followed by bytes that belong to nothing.",
    why: "A loader may refuse it, or read something else than this tool did.",
    fix: "Build or fetch the file again; compare its checksum with the publisher's.",
    source: "The format's own description; see the module of its reader.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for fault in &inspection.faults {
        if fault.kind == FaultKind::Malformed {
            drafts.at(&fault.path, fault.message.clone());
        }
    }
}
