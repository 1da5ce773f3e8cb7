//! Printing, asserting and allocating NVIDIA device code.

use crate::finding::Severity;
use crate::model::{Format, Image, Inspection};
use crate::rules::{Drafts, Rule};
use crate::symbols::is_cuda_system_call;

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "cuda-printf",
    shipped: Some(Severity::Warning),
    what: "A cubin or PTX text needs vprintf, __assertfail, malloc or free of the CUDA driver.",
    why: "The driver reserves a FIFO or a heap for the context and looks at it at every \
          synchronisation; a failed assert ends the context. A note only where no runtime loads \
          the image (__nv_relfatbin).",
    fix: "Build releases with NDEBUG and without device printf, new and malloc.",
    source: "NVIDIA, \"PTX Writer's Guide to Interoperability\", System Calls.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for image in &inspection.images {
        if !matches!(image.format, Format::Ptx | Format::Cubin) {
            continue;
        }
        let severity = (!image.loaded).then_some(Severity::Note);
        let mut by_kernel = false;
        for kernel in &image.kernels {
            let calls = system_calls(&kernel.calls);
            if !calls.is_empty() {
                by_kernel = true;
                drafts.kernel(image, kernel, format!("calls {calls}")).severity = severity;
            }
        }
        // A function that prints may be called by no kernel here; old machine code does not say who calls.
        let calls = if by_kernel { String::new() } else { needed(image) };
        if !calls.is_empty() {
            drafts.image(image, format!("needs {calls}")).severity = severity;
        }
    }
}

fn needed(image: &Image) -> String {
    system_calls(&image.symbols.undefined)
}

fn system_calls(names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| is_cuda_system_call(name)).collect();
    names.join(", ")
}
