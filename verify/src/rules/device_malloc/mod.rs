//! Device-side malloc on AMD.

use crate::finding::Severity;
use crate::hidden::HiddenArguments;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "device-malloc",
    shipped: Some(Severity::Warning),
    what: "An AMDGPU kernel declares hidden_heap_v1 without the arguments that only an unknown \
           callee brings.",
    why: "The kernel allocates on the device heap, which grows by host calls and initialises at \
          first launch.",
    fix: "Allocate before the launch and pass the memory in.",
    source: "ROCm device libraries, __ockl_dm_alloc; LLVM AMDGPUAttributor.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        let heap = kernel.hidden.contains(HiddenArguments::HEAP);
        if heap && !kernel.hidden.contains(HiddenArguments::UNKNOWN_CALLEE) {
            drafts.kernel(image, kernel, "declares hidden_heap_v1");
        }
    }
}
