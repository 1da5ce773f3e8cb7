//! Images without kernels.

use std::collections::BTreeSet;

use crate::check::{Options, Profile};
use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "image-empty",
    shipped: Some(Severity::Error),
    what: "An image has no kernel although another image of the same bundle has some.",
    why: "On that target the library loads and then finds nothing to launch.",
    fix: "Look for a guard such as #if __CUDA_ARCH__ or __gfx*__ that removes everything.",
    source: "Shipped bundles with one empty target.",
    check,
};

fn check(inspection: &Inspection, options: &Options, drafts: &mut Drafts) {
    let filled: BTreeSet<&str> =
        inspection.images.iter().filter(|image| !image.kernels.is_empty()).map(|image| image.group.as_str()).collect();
    for image in &inspection.images {
        let strict = options.profile == Profile::Strict;
        if image.kernels.is_empty() && (strict || filled.contains(image.group.as_str())) {
            drafts.image(image, "has no kernel");
        }
    }
}
