//! OpenCL kernels with a host-call buffer, which their runtime ignores.

use super::hostcall_declared::{declares, is_opencl};
use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "hostcall-opencl",
    shipped: Some(Severity::Note),
    what: "An OpenCL kernel declares hidden_hostcall_buffer.",
    why: "The OpenCL runtime ignores it, so nothing fails; the same kernel launched through HIP \
          would.",
    fix: "Nothing to do unless HIP loads this code object too.",
    source: "ROCclr, rocvirtual.cpp, submitKernelInternal: the test stands under IS_HIP.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if declares(kernel) && is_opencl(image, kernel) {
            drafts.kernel(image, kernel, "OpenCL kernel declares hidden_hostcall_buffer");
        }
    }
}
