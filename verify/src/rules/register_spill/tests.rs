use super::*;
use crate::model::Kernel;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped, strict};

#[test]
fn strict_only_and_both_kinds() {
    let with = |vgpr_spills, sgpr_spills| Kernel { vgpr_spills, sgpr_spills, ..kernel(&[]) };
    let all = inspection(vec![amdgpu(vec![with(Some(0), Some(0)), with(None, Some(3)), with(Some(2), None)])]);
    assert_eq!(shipped(&all, RULE.code), []);
    let in_lanes = Kernel { scratch_bytes: Some(0), ..with(Some(0), Some(9)) };
    assert_eq!(strict(&inspection(vec![amdgpu(vec![in_lanes])]), RULE.code), []);
    let found = strict(&all, RULE.code);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].message, "spills 0 vector and 3 scalar registers");
}
