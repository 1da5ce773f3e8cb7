//! Images that are not what their container says.

use std::collections::BTreeMap;

use crate::finding::Severity;
use crate::model::{Details, Format, Image, Inspection};
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "identity-mismatch",
    shipped: Some(Severity::Error),
    what: "The identity in the container, the ELF flags and the metadata note of an image disagree, \
           or a bundle mixes images with and without an xnack setting.",
    why: "A runtime chooses by the container and loads by the flags: the wrong image, or none.",
    fix: "Build the bundle again from the objects of each target.",
    source: "LLVM, \"User Guide for AMDGPU Backend\", Target ID; Clang Offload Bundler, Bundled \
             Code Object.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    // Processor of a bundle to "some image leaves xnack open" and "some image sets it".
    let mut xnack: BTreeMap<(&str, &str), (bool, bool)> = BTreeMap::new();
    for image in &inspection.images {
        let id = image.container_id.as_deref().and_then(target_of);
        if let Some(id) = id {
            compare(image, "its container", id, drafts);
        }
        if let Details::Amdgpu { note_target: Some(note), .. } = &image.details
            && let Some(note) = target_of(note)
        {
            compare(image, "its metadata note", note, drafts);
        }
        if image.format == Format::Amdgpu
            && let Some(id) = id
        {
            let seen = xnack.entry((&image.group, image.processor())).or_default();
            if id.contains(":xnack") {
                seen.1 = true;
            } else {
                seen.0 = true;
            }
        }
    }
    for ((group, processor), seen) in xnack {
        if seen == (true, true) {
            let message = format!("mixes {processor} with and without an xnack setting");
            drafts.at(group, message).severity = Some(Severity::Warning);
        }
    }
}

/// The target in an identity: from `gfx` or `sm_` to the end.
fn target_of(id: &str) -> Option<&str> {
    let at = id.find("gfx").or_else(|| id.find("sm_"))?;
    id.get(at..)
}

fn compare(image: &Image, where_: &str, stated: &str, drafts: &mut Drafts) {
    let mut stated_parts = stated.split(':');
    let processor = stated_parts.next().unwrap_or(stated);
    let mut own = image.target.split([':', ',']);
    // `sm_90a` in a PTX text lies in an entry for sm_90.
    let own_processor =
        own.next().unwrap_or("").trim_end_matches(|c: char| image.format == Format::Ptx && c.is_ascii_lowercase());
    if processor != own_processor {
        let message = format!("{where_} says {processor}, the image is for {own_processor}");
        drafts.image(image, message);
        return;
    }
    if image.format != Format::Amdgpu {
        return;
    }
    let own: Vec<&str> = own.collect();
    let stated: Vec<&str> = stated_parts.collect();
    for feature in &stated {
        if own.contains(feature) {
            continue;
        }
        let name = feature.trim_end_matches(['+', '-']);
        let opposite = own.iter().any(|other| other.trim_end_matches(['+', '-']) == name);
        let message = format!("{where_} says {feature}, the image is for {}", image.target);
        let draft = drafts.image(image, message);
        if !opposite {
            draft.severity = Some(Severity::Warning);
        }
    }
}
