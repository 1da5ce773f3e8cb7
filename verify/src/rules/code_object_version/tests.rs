use super::*;
use crate::check::Options;
use crate::rules::testing::{amdgpu, inspection, kernel, only};

#[test]
fn only_above_the_limit() {
    let all = inspection(vec![amdgpu(vec![kernel(&[])])]);
    for (limit, count) in [(None, 0), (Some(6), 0), (Some(5), 1)] {
        let options = Options { max_code_object_version: limit, ..Options::default() };
        assert_eq!(only(&all, &options, RULE.code).len(), count);
    }
}
