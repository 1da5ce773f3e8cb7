//! What the suites about releases share: a small bundle, releases of it, and the verifier's verdict on them.
#![allow(dead_code, reason = "each suite uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{build, text, xreduce};

/// Four targets of three families for two worlds: what a release has to tell apart, built once per suite.
pub(crate) fn small() -> &'static Path {
    static SMALL: OnceLock<PathBuf> = OnceLock::new();
    SMALL.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("small-", env!("CARGO_CRATE_NAME")));
        text(&mut build(&out, SMALL_CHOICES));
        out
    })
}

/// What [`small`] asks of a build.
#[rustfmt::skip]
pub(crate) const SMALL_CHOICES: &[&str] = &[
    "--target", "gfx1100", "--target", "gfx1201", "--target", "sm_90", "--target", "xe2", "--world", "2", "--world", "3", "--element", "f32", "--element", "bf16",
];

pub(crate) fn manifest_of(bundle: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(bundle.join("manifest.json")).unwrap()).unwrap()
}

pub(crate) fn manifest() -> Value {
    manifest_of(small())
}

/// The small bundle in a format: a folder that lives as long as the test.
pub(crate) fn release(format: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(format);
    text(xreduce().arg("bundle").arg(small()).args(["--format", format, "--out"]).arg(&out).args(more));
    (folder, out)
}

/// Calls `with` for every kernel of some families, after its target and its module; none: of all.
pub(crate) fn each_kernel(families: &[&str], mut with: impl FnMut(&Value, &Value, &Value)) {
    let manifest = manifest();
    for target in manifest["targets"].as_array().unwrap() {
        if families.is_empty() || families.contains(&target["family"].as_str().unwrap()) {
            for module in target["modules"].as_array().unwrap() {
                for kernel in module["kernels"].as_array().unwrap() {
                    with(target, module, kernel);
                }
            }
        }
    }
}

/// The verifier's verdict on files is clean, and it saw so many images.
pub(crate) fn verify(path: &Path, images: usize) {
    let report = text(xreduce().args(["verify", "--format", "json"]).arg(path));
    let report: Value = serde_json::from_str(&report).unwrap();
    let found = report["inputs"][0]["images"].as_array().unwrap().len();
    assert_eq!(found, images, "{}", path.display());
}

/// Path in the bundle, target and world of every module of some families.
pub(crate) fn modules_of(families: &[&str]) -> Vec<(String, String, u64)> {
    let mut found = Vec::new();
    for target in manifest()["targets"].as_array().unwrap() {
        if families.is_empty() || families.contains(&target["family"].as_str().unwrap()) {
            for module in target["modules"].as_array().unwrap() {
                let word = |value: &Value| value.as_str().unwrap().to_owned();
                found.push((word(&module["file"]), word(&target["name"]), module["world"].as_u64().unwrap()));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Both files hold the same bytes.
pub(crate) fn assert_same(one: &Path, two: &Path) {
    assert!(std::fs::read(one).unwrap() == std::fs::read(two).unwrap(), "{} and {}", one.display(), two.display());
}

/// Files of a folder whose names end so, sorted.
pub(crate) fn files_with(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    found.sort();
    found
}
