use super::*;
use crate::model::Kernel;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped, strict};

#[test]
fn strict_only() {
    let with = |dynamic_stack| Kernel { dynamic_stack, ..kernel(&[]) };
    let all = inspection(vec![amdgpu(vec![with(None), with(Some(false)), with(Some(true))])]);
    assert_eq!(shipped(&all, RULE.code), []);
    assert_eq!(strict(&all, RULE.code).len(), 1);
}
