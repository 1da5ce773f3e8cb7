use super::*;
use crate::model::Fault;
use crate::rules::testing::{inspection, shipped};

#[test]
fn each_malformed_place_is_an_error() {
    let mut all = inspection(vec![]);
    for kind in [FaultKind::Malformed, FaultKind::Unreadable] {
        all.faults.push(Fault { path: "file > bundle 0".to_owned(), kind, message: "ends early".to_owned() });
    }
    let found = shipped(&all, RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "file > bundle 0");
    assert_eq!(found[0].message, "ends early");
    assert_eq!(found[0].severity, Severity::Error);
}
