//! Code objects newer than the loaders they must meet.

use crate::finding::Severity;
use crate::model::{Details, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "code-object-version",
    shipped: Some(Severity::Warning),
    what: "An AMDGPU code object is newer than --max-code-object-version.",
    why: "An older ROCm refuses it with an unsupported ABI version.",
    fix: "Compile with -mcode-object-version, or raise the limit; generic targets need version 6.",
    source: "LLVM, \"User Guide for AMDGPU Backend\", Code Object; the ABI version byte plus 2.",
    check,
};

fn check(inspection: &Inspection, options: &crate::Options, drafts: &mut Drafts) {
    let Some(limit) = options.max_code_object_version else {
        return;
    };
    for image in &inspection.images {
        if let Details::Amdgpu { code_object_version, .. } = image.details
            && code_object_version > limit
        {
            drafts.image(image, format!("code object version {code_object_version}, at most {limit}"));
        }
    }
}
