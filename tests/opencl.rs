//! Every xe2 kernel executed on the CPU OpenCL runtime of `.tools/`, one process per rank: right sums
//! and a right workspace after every call, an absent rank, recovery; and that a broken kernel fails.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;

#[test]
fn kernels_of_world_2_keep_the_contract() {
    keep_the_contract(2);
}

#[test]
fn kernels_of_world_3_keep_the_contract() {
    keep_the_contract(3);
}

#[test]
fn kernels_of_world_4_keep_the_contract() {
    keep_the_contract(4);
}

/// 16 seeds: 200 calls and more of each kernel, each ending of a plan four times.
fn keep_the_contract(world: u32) {
    let _alone = alone();
    let output = check(bundle(), &["--kernel", &format!("xe2/*_w{world}"), "--seeds", "16", "--format", "json"]);
    let report = json(&output, 0);
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 3, "{report:#}");
    for kernel in kernels {
        assert_eq!((&kernel["outcome"], &kernel["seeds"]), (&"passed".into(), &16.into()), "{kernel:#}");
        assert!(kernel["calls"].as_u64().unwrap() >= 200, "{kernel:#}");
    }
    // What ran is in the manifest, for these kernels and no others.
    let manifest: Value = serde_json::from_slice(&fs::read(bundle().join("manifest.json")).unwrap()).unwrap();
    for module in manifest["targets"][0]["modules"].as_array().unwrap() {
        for kernel in module["kernels"].as_array().unwrap() {
            let run = kernel["evidence"].as_array().unwrap().iter().any(|evidence| evidence["kind"] == "run");
            assert!(run || module["world"] != world, "{kernel:#}");
        }
    }
}

/// The wire `sentinel` without the store that puts the sentinel back.
#[test]
fn a_broken_kernel_fails_and_its_replay_fails_alike() {
    let _alone = alone();
    let templates = scratch("broken-templates");
    copy(&root().join("templates"), &templates);
    let wire = templates.join("wire/sentinel.ll.tera");
    let text = fs::read_to_string(&wire).unwrap();
    let (head, consumed) = text.split_once("@sentinel.consumed").unwrap();
    let broken = consumed.replacen("splat (i32 -1)", "splat (i32 0)", 1);
    assert_ne!(broken, consumed);
    fs::write(&wire, format!("{head}@sentinel.consumed{broken}")).unwrap();
    let folder = scratch("broken-bundle");
    build(&folder, &["--world", "2", "--templates", templates.to_str().unwrap()]);

    let kernel = ["--kernel", "*sentinel*"];
    let output = check(&folder, &kernel);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAILED     xe2/xreduce_one_shot_push_sentinel_f32_w2"), "{text}");
    assert!(text.contains("a sentinel inbox (byte"), "{text}");

    let replay = text.lines().find_map(|line| line.trim().strip_prefix("again: xreduce ")).unwrap();
    let again = xreduce().args(replay.split(' ')).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    let fault = |text: &str| text.lines().find(|line| line.trim().starts_with("call ")).unwrap().to_owned();
    assert_eq!(fault(&text), fault(&String::from_utf8(again.stdout).unwrap()));
}

#[test]
fn what_cannot_be_checked_is_no_pass() {
    let no_bundle = check(Path::new("/no/such/bundle"), &[]);
    assert_eq!(no_bundle.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&no_bundle.stderr).contains("/no/such/bundle/manifest.json"));

    let no_kernel = check(bundle(), &["--kernel", "xe2/no_such_kernel"]);
    assert_eq!(no_kernel.status.code(), Some(3));

    let empty = scratch("no-runtime");
    fs::create_dir_all(&empty).unwrap();
    let no_device = xreduce()
        .args(["check", "--kernel", "*_w2", "--format", "json"])
        .arg(bundle())
        .env("OCL_ICD_VENDORS", &empty)
        .output()
        .unwrap();
    let report = json(&no_device, 3);
    let reason = report["kernels"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("no OpenCL device takes plain host pointers"), "{reason}");
}

/// One check at a time: each takes all cores, and a rank that is late for too long is an absent one.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The xe2 part of a bundle, built once.
fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let folder = scratch("bundle");
        build(&folder, &[]);
        folder
    })
}

fn build(folder: &Path, arguments: &[&str]) {
    let mut command = xreduce();
    command.args(["build", "--quiet", "--target", "xe2", "--out"]).arg(folder).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn check(bundle: &Path, arguments: &[&str]) -> Output {
    xreduce().args(["check", "--on", "opencl"]).arg(bundle).args(arguments).output().unwrap()
}

/// The command, with the CPU runtime as the only OpenCL driver.
fn xreduce() -> Command {
    let runtime = root().join(".tools/opencl");
    assert!(runtime.exists(), "{} is missing: run `make tools`", runtime.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_xreduce"));
    command.env("OCL_ICD_VENDORS", runtime);
    command
}

fn json(output: &Output, code: i32) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{text}{errors}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

/// A folder of this test program that does not exist yet.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencl").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
