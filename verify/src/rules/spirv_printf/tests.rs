use super::*;
use crate::rules::testing::{calling, inspection, shipped, spirv};

#[test]
fn printing_and_asserting_kernels_are_named() {
    let printing = calling(&["OpenCL.std printf"]);
    let asserting = calling(&["__devicelib_assert_fail", "sin"]);
    let quiet = calling(&["sin"]);
    let found = shipped(&inspection(vec![spirv(vec![printing, asserting, quiet])]), RULE.code);
    let messages: Vec<_> = found.iter().map(|finding| &*finding.message).collect();
    assert_eq!(messages, ["calls OpenCL.std printf", "calls __devicelib_assert_fail"]);
    assert_eq!(found[0].severity, Severity::Warning);
}
