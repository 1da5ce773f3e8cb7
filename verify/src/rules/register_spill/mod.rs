//! Registers that did not fit.

use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "register-spill",
    shipped: None,
    what: "A kernel's metadata notes registers spilled to memory.",
    why: "Spilled values travel through memory on the critical path. Scalar registers of a kernel \
          without scratch are spilled into lanes of vector registers, which is no fault.",
    fix: "Lower the register pressure: fewer packets in flight, smaller unrolling.",
    source: "AMDGPU .vgpr_spill_count and .sgpr_spill_count.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        let vector = kernel.vgpr_spills.unwrap_or(0);
        let scalar = kernel.sgpr_spills.unwrap_or(0);
        if vector > 0 || (scalar > 0 && kernel.scratch_bytes != Some(0)) {
            let message = format!("spills {vector} vector and {scalar} scalar registers");
            drafts.kernel(image, kernel, message);
        }
    }
}
