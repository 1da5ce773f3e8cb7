use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, ptx, shipped};

fn image(id: &str, target: &str, note: Option<&str>) -> Image {
    let mut image = amdgpu(vec![kernel(&[])]);
    image.container_id = Some(id.to_owned());
    image.target = target.to_owned();
    image.details = Details::Amdgpu {
        code_object_version: 6,
        e_flags: 0,
        note_target: note.map(str::to_owned),
        relocatable: false,
    };
    image
}

fn severities(images: Vec<Image>) -> Vec<Severity> {
    shipped(&inspection(images), RULE.code).iter().map(|finding| finding.severity).collect()
}

#[test]
fn processors_and_features_are_compared() {
    let agree =
        image("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a:xnack-", Some("amdgcn-amd-amdhsa--gfx90a:xnack-"));
    assert_eq!(severities(vec![agree]), []);
    let processor = image("hipv4-amdgcn-amd-amdhsa--gfx1100", "gfx1101", None);
    assert_eq!(severities(vec![processor]), [Severity::Error]);
    let opposite = image("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack-", None);
    assert_eq!(severities(vec![opposite]), [Severity::Error]);
    let open = image("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a", None);
    assert_eq!(severities(vec![open]), [Severity::Warning]);
    let note = image("hipv4-amdgcn-amd-amdhsa--gfx1100", "gfx1100", Some("amdgcn-amd-amdhsa--gfx1201"));
    assert_eq!(severities(vec![note]), [Severity::Error]);
}

#[test]
fn mixed_xnack_forms_and_cuda() {
    let plain = image("hipv4-amdgcn-amd-amdhsa--gfx90a", "gfx90a", None);
    let set = image("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a:xnack-", None);
    assert_eq!(severities(vec![plain, set]), [Severity::Warning]);
    let mut text = ptx(vec![kernel(&[])]);
    text.container_id = Some("ptx sm_90".to_owned());
    text.target = "sm_90a".to_owned();
    assert_eq!(severities(vec![text.clone()]), []);
    text.container_id = Some("ptx sm_80".to_owned());
    assert_eq!(severities(vec![text]), [Severity::Error]);
}
