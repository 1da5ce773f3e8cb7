use super::*;
use crate::model::Kernel;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped, strict};

#[test]
fn strict_only_and_unknown_is_not_zero_nor_more() {
    let with = |scratch_bytes| Kernel { scratch_bytes, ..kernel(&[]) };
    let all = inspection(vec![amdgpu(vec![with(None), with(Some(0)), with(Some(16))])]);
    assert_eq!(shipped(&all, RULE.code), []);
    let found = strict(&all, RULE.code);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("16 bytes"));
}
