use super::*;
use crate::rules::testing::{amdgpu, calling, inspection, kernel, ptx, shipped, strict};

#[test]
fn loaded_code_objects_must_be_complete() {
    let mut image = amdgpu(vec![kernel(&[])]);
    image.symbols.undefined = vec!["helper".to_owned()];
    let found = shipped(&inspection(vec![image.clone()]), RULE.code);
    assert_eq!(found[0].message, "undefined helper");
    assert_eq!(found[0].severity, Severity::Error);
    image.details = Details::Amdgpu { code_object_version: 6, e_flags: 0x41, note_target: None, relocatable: true };
    let inspection = inspection(vec![image]);
    assert_eq!(shipped(&inspection, RULE.code), []);
    assert_eq!(strict(&inspection, RULE.code).len(), 1);
}

#[test]
fn what_the_driver_provides_is_not_missing() {
    let mut image = ptx(vec![calling(&["helper", "vprintf"])]);
    image.symbols.undefined = vec!["helper".to_owned(), "vprintf".to_owned(), ".nv.reservedSmem.cap".to_owned()];
    let found = shipped(&inspection(vec![image]), RULE.code);
    assert_eq!(found[0].message, "calls undefined helper");
    assert_eq!(found[0].kernel.as_deref(), Some("k"));
}

#[test]
fn what_nothing_refers_to_counts_in_the_strict_profile_only() {
    let mut image = amdgpu(vec![kernel(&[])]);
    image.symbols.unreferenced = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    let inspection = inspection(vec![image]);
    assert_eq!(shipped(&inspection, RULE.code), []);
    assert_eq!(strict(&inspection, RULE.code)[0].message, "undefined a, b, c and 2 more");
}
