//! Documents that are generated from the code are as fresh as the code.

use std::fs;
use std::path::Path;

#[test]
fn rules_document_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules.md");
    let fresh = xreduce_verify::rules_document();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == fresh, "docs/rules.md is stale: BLESS=1 cargo test -p xreduce-verify --test documents");
}
