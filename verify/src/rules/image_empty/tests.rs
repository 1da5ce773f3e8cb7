use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped, strict};

#[test]
fn empty_among_filled_siblings() {
    let mut other = amdgpu(vec![]);
    other.group = "elsewhere".to_owned();
    let all = inspection(vec![amdgpu(vec![kernel(&[])]), amdgpu(vec![]), other]);
    assert_eq!(shipped(&all, RULE.code).len(), 1);
    assert_eq!(strict(&all, RULE.code).len(), 2);
}
