use std::collections::BTreeSet;

use super::*;
use crate::check::Options;
use crate::rules::testing::{inspection, only};

#[test]
fn what_no_file_exports_is_named() {
    let mut all = inspection(vec![]);
    all.host_symbols = vec!["ncclAllReduce".to_owned()];
    let require_symbols = BTreeSet::from(["ncclAllReduce".to_owned(), "ncclGather".to_owned()]);
    let options = Options { require_symbols, ..Options::default() };
    let found = only(&all, &options, RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "ncclGather is not exported");
}
