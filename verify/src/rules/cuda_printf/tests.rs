use super::*;
use crate::rules::testing::{calling, inspection, ptx, shipped};

#[test]
fn the_kernel_is_named_where_it_is_known() {
    let mut image = ptx(vec![calling(&["other", "vprintf"]), calling(&["other"])]);
    image.symbols.undefined = vec!["other".to_owned(), "vprintf".to_owned()];
    let found = shipped(&inspection(vec![image.clone()]), RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kernel.as_deref(), Some("k"));
    assert_eq!(found[0].message, "calls vprintf");
    assert_eq!(found[0].severity, Severity::Warning);
    image.loaded = false;
    let found = shipped(&inspection(vec![image]), RULE.code);
    assert_eq!(found[0].severity, Severity::Note);
}

#[test]
fn otherwise_the_image() {
    let mut image = ptx(vec![calling(&[])]);
    assert_eq!(shipped(&inspection(vec![image.clone()]), RULE.code), []);
    image.symbols.undefined = vec!["__assertfail".to_owned()];
    let found = shipped(&inspection(vec![image]), RULE.code);
    assert_eq!(found[0].message, "needs __assertfail");
    assert_eq!(found[0].kernel, None);
}
