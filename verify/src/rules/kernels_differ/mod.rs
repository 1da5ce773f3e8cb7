//! Bundles whose targets do not have the same kernels.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
use crate::model::{Image, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "kernels-differ",
    shipped: Some(Severity::Warning),
    what: "An image lacks kernels that another image of its bundle has.",
    why: "A launch that works on one GPU fails on another with an unknown symbol.",
    fix: "Compare the guards around the missing kernels; ignore by target if it is meant.",
    source: "Shipped bundles.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    let mut groups: BTreeMap<&str, Vec<&Image>> = BTreeMap::new();
    for image in &inspection.images {
        // Empty images are the business of image-empty.
        if !image.kernels.is_empty() {
            groups.entry(&image.group).or_default().push(image);
        }
    }
    for images in groups.values().filter(|images| images.len() > 1) {
        let names =
            |image: &Image| -> BTreeSet<String> { image.kernels.iter().map(|kernel| kernel.name.clone()).collect() };
        let sets: Vec<BTreeSet<String>> = images.iter().map(|image| names(image)).collect();
        if sets.windows(2).all(|pair| matches!(pair, [first, second] if first == second)) {
            continue;
        }
        let all: BTreeSet<&String> = sets.iter().flatten().collect();
        for (image, set) in images.iter().zip(&sets) {
            if let Some(first) = all.iter().find(|name| !set.contains(**name)) {
                let (missing, total) = (all.len() - set.len(), all.len());
                let message = format!("lacks {missing} of {total} kernels of its bundle: {first}");
                drafts.image(image, message);
            }
        }
    }
}
