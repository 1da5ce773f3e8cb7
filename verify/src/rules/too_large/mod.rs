//! Sizes near the end of a format or loader.

use crate::finding::Severity;
use crate::model::{FaultKind, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "too-large",
    shipped: Some(Severity::Warning),
    what: "A device section comes near 2 GiB, or a version 2 compressed bundle near 4 GiB.",
    why: "Relocations of 32 bits and the size fields of the format end there: the next target added \
          breaks the link or wraps a size.",
    fix: "Split the library, drop targets, compress, or use version 3 of the compressed bundle.",
    source: "x86-64 small code model; LLVM, Compressed Offload Bundle, version 2.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for fault in &inspection.faults {
        if fault.kind == FaultKind::TooLarge {
            drafts.at(&fault.path, fault.message.clone());
        }
    }
}
