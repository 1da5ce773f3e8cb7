use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn severity_follows_from_company() {
    let mut image = amdgpu(vec![kernel(&[])]);
    assert_eq!(shipped(&inspection(vec![image.clone()]), RULE.code), []);
    image.symbols.notable = vec!["__assert_fail".to_owned()];
    let alone = shipped(&inspection(vec![image.clone()]), RULE.code);
    assert_eq!(alone[0].severity, Severity::Warning);
    assert!(alone[0].message.contains("__assert_fail"));

    let mut undefined = image.clone();
    undefined.symbols.undefined = vec!["__assert_fail".to_owned()];
    let found = shipped(&inspection(vec![undefined]), RULE.code);
    assert_eq!(found[0].severity, Severity::Error);

    image.kernels = vec![kernel(&["hidden_hostcall_buffer"])];
    let found = shipped(&inspection(vec![image]), RULE.code);
    assert_eq!(found[0].severity, Severity::Error);
}
