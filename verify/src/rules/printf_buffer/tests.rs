use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn buffer_and_strings_are_told_apart() {
    let mut image = amdgpu(vec![kernel(&["hidden_printf_buffer"]), kernel(&[])]);
    assert_eq!(shipped(&inspection(vec![image.clone()]), RULE.code).len(), 1);
    image.printf_strings = vec!["1:1:4:%d".to_owned()];
    let found = shipped(&inspection(vec![image]), RULE.code);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].kernel, None);
    assert_eq!(found[1].severity, Severity::Warning);
}
