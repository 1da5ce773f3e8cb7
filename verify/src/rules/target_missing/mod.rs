//! Targets that somebody asked for and no image serves.

use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule};
use crate::target::serves;

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "target-missing",
    shipped: Some(Severity::Error),
    what: "A target of --require has no image that serves it.",
    why: "On that GPU the library finds no code; a generic ISA serves its members, and PTX every \
          equal or newer GPU.",
    fix: "Add the target to the build, or drop it from --require.",
    source: "LLVM, \"User Guide for AMDGPU Backend\", generic processors; NVIDIA, \"CUDA Compiler \
             Driver\", compatibility.",
    check,
};

fn check(inspection: &Inspection, options: &crate::Options, drafts: &mut Drafts) {
    for wanted in &options.require {
        let served = inspection.images.iter().any(|image| !image.kernels.is_empty() && serves(image, wanted));
        if !served {
            drafts.at(&inspection.name, format!("no image serves {wanted}")).target = Some(wanted.clone());
        }
    }
}
