//! Symbols of the host-call families in AMDGPU code objects.

use std::collections::BTreeSet;

use super::hostcall_declared::{declares, is_opencl};
use crate::finding::Severity;
use crate::model::{Format, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "hostcall-symbol",
    shipped: Some(Severity::Warning),
    what: "An AMDGPU code object has a symbol of a host-call family: __ockl_hostcall*, \
           __ockl_printf*, __ockl_fprintf*, __ockl_devmem_request, __assert_fail or \
           __ockl_sanitizer_report.",
    why: "It is the trace of printf, assert, malloc or a sanitizer in device code. An error if the \
          symbol is undefined (the load fails) or a kernel of the image declares the host-call \
          buffer; alone it may be a leftover.",
    fix: "Find who calls it: build with NDEBUG, and without device printf and malloc.",
    source: "ROCm device libraries, ockl; HIP, __assert_fail.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for image in &inspection.images {
        let notable = &image.symbols.notable;
        if image.format != Format::Amdgpu || notable.is_empty() {
            continue;
        }
        let missing: BTreeSet<&String> = image.symbols.undefined.iter().collect();
        let undefined = notable.iter().any(|name| missing.contains(name));
        let declared = image.kernels.iter().any(|kernel| declares(kernel) && !is_opencl(image, kernel));
        let draft = drafts.image(image, format!("has the symbols {}", notable.join(", ")));
        if undefined || declared {
            draft.severity = Some(Severity::Error);
        }
    }
}
