use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

const CODE: &str = RULE.code;

#[test]
fn alone_it_is_specific() {
    let found = shipped(&inspection(vec![amdgpu(vec![kernel(&["hidden_hostcall_buffer"])])]), CODE);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].class, Some("specific"));
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].kernel.as_deref(), Some("k"));
}

#[test]
fn with_the_other_three_it_is_conservative() {
    let all =
        ["hidden_hostcall_buffer", "hidden_default_queue", "hidden_completion_action", "hidden_multigrid_sync_arg"];
    let found = shipped(&inspection(vec![amdgpu(vec![kernel(&all)])]), CODE);
    assert_eq!(found[0].class, Some("conservative"));
    let found = shipped(&inspection(vec![amdgpu(vec![kernel(&all[..3])])]), CODE);
    assert_eq!(found[0].class, Some("specific"));
}

#[test]
fn opencl_and_other_hidden_arguments_pass() {
    let mut opencl = kernel(&["hidden_hostcall_buffer"]);
    opencl.language = Some("OpenCL C".to_owned());
    let hip = opencl.clone();
    opencl.typed_arguments = true;
    let mut bundled = amdgpu(vec![opencl.clone()]);
    bundled.container_id = Some("hipv4-amdgcn-amd-amdhsa--gfx1100".to_owned());
    assert_eq!(shipped(&inspection(vec![amdgpu(vec![hip]), bundled]), CODE).len(), 2);
    let other = kernel(&["hidden_heap_v1", "hidden_printf_buffer"]);
    assert_eq!(shipped(&inspection(vec![amdgpu(vec![opencl, other])]), CODE), []);
}
