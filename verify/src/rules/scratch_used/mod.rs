//! Scratch memory in artifacts that promise none.

use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "scratch-used",
    shipped: None,
    what: "A kernel uses private (scratch, local) memory.",
    why: "Scratch means a spilled register or an array that was not promoted: memory traffic on \
          the critical path, and an allocation at first launch.",
    fix: "Index arrays by constants, unroll, or lower the register pressure.",
    source: "AMDGPU .private_segment_fixed_size; PTX .local.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if let Some(bytes) = kernel.scratch_bytes.filter(|bytes| *bytes > 0) {
            drafts.kernel(image, kernel, format!("uses {bytes} bytes of scratch per work-item"));
        }
    }
}
