use super::*;
use crate::model::Kernel;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn stated_printing_warns_and_possible_printing_is_noted() {
    let with =
        |names: &[&str]| Kernel { services: names.iter().map(|name| (*name).to_owned()).collect(), ..kernel(&[]) };
    let all = inspection(vec![amdgpu(vec![
        with(&["has_printf_calls", "printf_buffer"]),
        with(&["has_stack_calls", "implicit_arg_buffer"]),
        with(&["has_stack_calls"]),
    ])]);
    let found = shipped(&all, RULE.code);
    let severities: Vec<_> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Note]);
    assert_eq!(found[0].message, "states has_printf_calls, printf_buffer");
}
