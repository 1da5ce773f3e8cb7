//! Code objects that cannot load because a symbol is missing.

use std::collections::BTreeSet;

use crate::check::{Options, Profile};
use crate::finding::Severity;
use crate::model::{Details, Format, Image, Inspection};
use crate::rules::{Drafts, Rule};
use crate::symbols::is_cuda_system_call;

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "undefined-symbol",
    shipped: Some(Severity::Error),
    what: "A code object that a runtime loads refers to an undefined symbol.",
    why: "The load fails, often only at the first launch of a kernel of the image.",
    fix: "Link the object that defines it, or link with --no-undefined to find out at build time.",
    source: "LLVM, \"User Guide for AMDGPU Backend\", Code Object; NVIDIA, \"PTX ISA\", .extern; \
             Khronos, \"SPIR-V Specification\", Linkage.",
    check,
};

fn check(inspection: &Inspection, options: &Options, drafts: &mut Drafts) {
    let strict = options.profile == Profile::Strict;
    for image in &inspection.images {
        if !strict && !is_final(image) {
            continue;
        }
        let missing: Vec<&str> = image
            .symbols
            .undefined
            .iter()
            .chain(image.symbols.unreferenced.iter().filter(|_| strict))
            .map(String::as_str)
            .filter(|name| strict || !is_provided(image.format, name))
            .collect();
        if missing.is_empty() {
            continue;
        }
        // Name the kernels that reach it, where the format tells.
        let mut named = false;
        let sought: BTreeSet<&str> = missing.iter().copied().collect();
        for kernel in &image.kernels {
            let reached: Vec<&str> =
                kernel.calls.iter().map(String::as_str).filter(|name| sought.contains(name)).collect();
            if !reached.is_empty() {
                named = true;
                let message = format!("calls undefined {}", some(&reached));
                drafts.kernel(image, kernel, message);
            }
        }
        if !named {
            drafts.image(image, format!("undefined {}", some(&missing)));
        }
    }
}

/// The first names; a broken link can miss hundreds.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// False for inputs of a later link.
fn is_final(image: &Image) -> bool {
    let relocatable =
        matches!(image.details, Details::Amdgpu { relocatable: true, .. } | Details::Cubin { relocatable: true, .. });
    image.loaded && !relocatable
}

/// Names that a driver or runtime resolves at load.
fn is_provided(format: Format, name: &str) -> bool {
    match format {
        // `.nv.reservedSmem.*` and the like are the assembler's own.
        Format::Ptx | Format::Cubin => is_cuda_system_call(name) || name.starts_with(".nv."),
        // The SYCL runtime links its fallback device library; drivers know OpenCL's own builtins,
        // whose mangled names begin with _Z and a number.
        Format::Spirv => name.starts_with("__devicelib_") || name.starts_with("_Z"),
        _ => false,
    }
}
