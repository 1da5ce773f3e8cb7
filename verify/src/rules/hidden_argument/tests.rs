use super::*;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped, strict};

#[test]
fn strict_only_and_names_all() {
    let hidden = kernel(&["hidden_block_count_x", "hidden_future"]);
    let all = inspection(vec![amdgpu(vec![hidden, kernel(&[])])]);
    assert_eq!(shipped(&all, RULE.code), []);
    let found = strict(&all, RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "declares hidden_block_count_x, hidden_unknown");
}
