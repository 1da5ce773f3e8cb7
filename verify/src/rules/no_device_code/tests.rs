use crate::finding::Verdict;
use crate::rules::testing::{amdgpu, inspection, kernel};

#[test]
fn an_empty_scan_is_no_pass() {
    let report = crate::check(&inspection(vec![]), &crate::Options::default());
    assert_eq!(report.verdict, Verdict::Undetermined);
    let allowed = crate::Options { allow_empty: true, ..crate::Options::default() };
    assert_eq!(crate::check(&inspection(vec![]), &allowed).verdict, Verdict::Clean);
    let full = inspection(vec![amdgpu(vec![kernel(&[])])]);
    let report = crate::check(&full, &crate::Options::default());
    assert_eq!((report.verdict, report.findings), (Verdict::Clean, vec![]));
}
