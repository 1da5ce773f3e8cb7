//! Kernels whose stack nobody could bound.

use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "dynamic-stack",
    shipped: None,
    what: "A kernel needs a stack of unknown size: an indirect or external call, recursion, alloca.",
    why: "The runtime must guess the stack; a guess too small corrupts memory, one too large fails \
          the launch.",
    fix: "Make every callee visible and inline it.",
    source: "AMDGPU .uses_dynamic_stack; PTX call through a register and alloca; SPIR-V \
             OpFunctionPointerCallINTEL.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if kernel.dynamic_stack == Some(true) {
            drafts.kernel(image, kernel, "needs a stack of unknown size");
        }
    }
}
