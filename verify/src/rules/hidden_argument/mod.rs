//! Hidden arguments in artifacts that promise none.

use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "hidden-argument",
    shipped: None,
    what: "An AMDGPU kernel declares any hidden argument.",
    why: "Hidden arguments are filled in by a runtime; a kernel launched through queues directly \
          reads garbage there.",
    fix: "Pass what the kernel needs as explicit arguments and compile with the full pipeline.",
    source: "LLVM, \"User Guide for AMDGPU Backend\", Code Object V5 Metadata.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if !kernel.hidden.is_empty() {
            let names: Vec<&str> = kernel.hidden.names().collect();
            drafts.kernel(image, kernel, format!("declares {}", names.join(", ")));
        }
    }
}
