//! Buffered device printf on AMD.

use crate::finding::Severity;
use crate::hidden::HiddenArguments;
use crate::model::{Format, Inspection};
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "printf-buffer",
    shipped: Some(Severity::Warning),
    what: "An AMDGPU kernel declares hidden_printf_buffer, or its code object carries \
           amdhsa.printf strings.",
    why: "The kernel prints through a buffer. It launches everywhere, but pays for the buffer, and \
          debug output in a release is seldom meant.",
    fix: "Remove device printf from release builds.",
    source: "LLVM AMDGPU backend, amdhsa.printf; clang -mprintf-kind=buffered.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        if kernel.hidden.contains(HiddenArguments::PRINTF_BUFFER) {
            drafts.kernel(image, kernel, "declares hidden_printf_buffer");
        }
    }
    for image in &inspection.images {
        let count = image.printf_strings.len();
        if image.format == Format::Amdgpu && count > 0 {
            drafts.image(image, format!("carries {count} amdhsa.printf strings"));
        }
    }
}
