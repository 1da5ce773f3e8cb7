use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn an_unknown_callee_is_no_malloc() {
    let malloc = kernel(&["hidden_heap_v1", "hidden_hostcall_buffer"]);
    let unknown =
        kernel(&["hidden_heap_v1", "hidden_default_queue", "hidden_completion_action", "hidden_multigrid_sync_arg"]);
    let found = shipped(&inspection(vec![amdgpu(vec![malloc, unknown])]), RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
}
