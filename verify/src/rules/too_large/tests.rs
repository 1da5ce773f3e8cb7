use super::*;
use crate::model::Fault;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn a_warning_that_fails_nothing() {
    let mut all = inspection(vec![amdgpu(vec![kernel(&[])])]);
    assert_eq!(shipped(&all, RULE.code), []);
    all.faults.push(Fault { path: "f".to_owned(), kind: FaultKind::TooLarge, message: "big".to_owned() });
    assert_eq!(shipped(&all, RULE.code)[0].severity, Severity::Warning);
}
