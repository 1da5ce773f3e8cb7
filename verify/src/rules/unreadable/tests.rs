use super::*;
use crate::finding::Verdict;
use crate::model::Fault;
use crate::rules::testing::inspection;

#[test]
fn leaves_the_verdict_open() {
    let mut all = inspection(vec![]);
    all.faults.push(Fault {
        path: "file".to_owned(),
        kind: FaultKind::Unreadable,
        message: "code object version 2".to_owned(),
    });
    let report = crate::check(&all, &crate::Options::default());
    assert_eq!(report.verdict, Verdict::Undetermined);
    assert!(report.findings.iter().any(|finding| finding.code == RULE.code));
    let report = crate::check(&all, &crate::Options::strict());
    assert_eq!(report.verdict, Verdict::Findings);
}
