use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn only_opencl_kernels_are_noted() {
    let hip = kernel(&["hidden_hostcall_buffer"]);
    let mut opencl = hip.clone();
    opencl.typed_arguments = true;
    opencl.language = Some("OpenCL C".to_owned());
    let mut plain = kernel(&[]);
    plain.language = Some("OpenCL C".to_owned());
    let found = shipped(&inspection(vec![amdgpu(vec![hip, opencl, plain])]), RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Note);
}
