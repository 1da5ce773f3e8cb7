//! Printing and asserting SPIR-V modules.

use crate::finding::Severity;
use crate::model::{Format, Inspection};
use crate::rules::{Drafts, Rule};
use crate::symbols::is_spirv_assert;

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "spirv-printf",
    shipped: Some(Severity::Warning),
    what: "A SPIR-V module prints (OpenCL.std printf, NonSemantic.DebugPrintf) or asserts \
           (__devicelib_assert_fail, __assert_fail).",
    why: "The driver allocates a buffer and drains it after each launch; a failed assert aborts \
          the process.",
    fix: "Build releases with NDEBUG and without printf in kernels.",
    source: "Khronos, OpenCL.std extended instruction set, printf (184); NonSemantic.DebugPrintf; \
             oneAPI DPC++ device library, assert.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for image in &inspection.images {
        if image.format != Format::Spirv {
            continue;
        }
        let mut by_kernel = false;
        for kernel in &image.kernels {
            let calls = printing(&kernel.calls);
            if !calls.is_empty() {
                by_kernel = true;
                drafts.kernel(image, kernel, format!("calls {calls}"));
            }
        }
        let calls = printing(&image.symbols.undefined);
        if !by_kernel && !calls.is_empty() {
            drafts.image(image, format!("imports {calls}"));
        }
    }
}

fn printing(names: &[String]) -> String {
    let names: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| is_spirv_assert(name) || matches!(*name, "OpenCL.std printf" | "NonSemantic.DebugPrintf"))
        .collect();
    names.join(", ")
}
