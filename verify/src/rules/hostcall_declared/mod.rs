//! Kernels that a HIP runtime refuses to launch on a GPU without PCIe atomics.

use crate::finding::Severity;
use crate::hidden::HiddenArguments;
use crate::model::{Image, Inspection, Kernel};
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "hostcall-declared",
    shipped: Some(Severity::Error),
    what: "A HIP kernel declares hidden_hostcall_buffer in its metadata.",
    why: "The HIP runtime fails every launch of such a kernel on a GPU without PCIe atomics \
          (\"Pcie atomics not enabled, hostcall not supported\"), whether or not the kernel ever \
          prints. GPUs behind a chipset switch, in external enclosures or passed through to a \
          guest are without.",
    fix: "Compile with optimisation, so that the AMDGPU attributor runs, and without device \
          printf, assert and malloc; see the class for which of the two applies.",
    source: "LLVM AMDGPUAttributor and AMDGPUHSAMetadataStreamer; ROCclr, rocvirtual.cpp, \
             submitKernelInternal.",
    check,
};

const SPECIFIC: &str = "The kernel itself reaches printf, assert, malloc or a sanitizer: build with \
                        NDEBUG, remove the calls, or use -mprintf-kind=buffered for printf alone.";
const CONSERVATIVE: &str = "The compiler could not see every callee, or did not run the attributor: \
                            compile with -O1 or more, avoid calls across objects and through \
                            pointers, or mark the kernel amdgpu-no-hostcall-ptr if that is proven.";

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if !declares(kernel) || is_opencl(image, kernel) {
            continue;
        }
        let (class, help) = if kernel.hidden.contains(HiddenArguments::UNKNOWN_CALLEE) {
            ("conservative", CONSERVATIVE)
        } else {
            ("specific", SPECIFIC)
        };
        let draft = drafts.kernel(image, kernel, "declares hidden_hostcall_buffer");
        draft.class = Some(class);
        draft.help = Some(help);
    }
}

/// True if the kernel's metadata asks for the host-call buffer.
pub(super) fn declares(kernel: &Kernel) -> bool {
    kernel.hidden.contains(HiddenArguments::HOSTCALL_BUFFER)
}

/// True for OpenCL kernels: their runtime ignores the buffer. The language alone does not tell, as
/// HIP compilers state `OpenCL C` too; source types of arguments do, outside a HIP bundle.
pub(super) fn is_opencl(image: &Image, kernel: &Kernel) -> bool {
    let hip = image.container_id.as_deref().is_some_and(|id| id.starts_with("hip"));
    let language = kernel.language.as_deref().unwrap_or("");
    !hip && kernel.typed_arguments && language.starts_with("OpenCL")
}
