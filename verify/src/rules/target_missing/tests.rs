use super::*;
use crate::check::Options;
use crate::rules::testing::{amdgpu, inspection, kernel, only, ptx};

#[test]
fn served_by_name_by_newer_and_not_at_all() {
    let all = inspection(vec![amdgpu(vec![kernel(&[])]), ptx(vec![kernel(&[])]), {
        let mut empty = amdgpu(vec![]);
        empty.target = "gfx1201".to_owned();
        empty
    }]);
    let require = ["gfx1100", "sm_120", "sm_80", "gfx1201"].map(str::to_owned).to_vec();
    let options = Options { require, ..Options::default() };
    let missing: Vec<_> = only(&all, &options, RULE.code).into_iter().map(|f| f.target).collect();
    assert_eq!(missing, [Some("sm_80".to_owned()), Some("gfx1201".to_owned())]);
}
