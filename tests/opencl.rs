//! Every xe2 kernel executed on the CPU OpenCL runtime of `.tools/`, one process per rank: right sums and a right workspace after
//! every call, an absent rank, recovery; and that a broken kernel fails.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test program")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use common::{build, changed_templates, errors, root, run, text, xreduce};
use serde_json::Value;

#[test]
fn kernels_of_world_2_keep_the_contract() {
    keep_the_contract("*", 2, 4);
}

#[test]
fn kernels_of_world_3_keep_the_contract() {
    keep_the_contract("*", 3, 4);
}

#[test]
fn kernels_of_larger_worlds_keep_the_contract() {
    // The ranks share two cores: one element here, all of them by hand.
    for world in 4..=8 {
        keep_the_contract("*_f32", world, 1);
    }
}

/// Seeds 1 to 4: an absent rank and recovery, a message that is too long, and two without either; about 20 calls each.
fn keep_the_contract(glob: &str, world: u32, seeds: u32) {
    let _alone = alone();
    let report = json(&text(check(bundle()).args([
        "--kernel",
        &format!("xe2/{glob}_w{world}"),
        "--seeds",
        &seeds.to_string(),
        "--format",
        "json",
    ])));
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), if glob == "*" { 21 } else { 7 }, "{report:#}");
    for kernel in kernels {
        assert_eq!((&kernel["outcome"], &kernel["seeds"]), (&"passed".into(), &seeds.into()), "{kernel:#}");
        assert!(kernel["calls"].as_u64().unwrap() >= 4 * u64::from(seeds), "{kernel:#}");
        assert_eq!(evidence(kernel["symbol"].as_str().unwrap()), kernel["calls"]);
    }
}

/// The xe2 modules, in a bundle of this suite's own: checks enter their evidence into it.
fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundle-opencl");
        text(&mut build(&out, &["--target", "xe2"]));
        out
    })
}

/// Calls that the manifest says an xe2 kernel has passed on a device.
fn evidence(symbol: &str) -> Value {
    let manifest = json(&std::fs::read_to_string(bundle().join("manifest.json")).unwrap());
    let list = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
    let targets = list(&manifest, "targets").into_iter().filter(|target| target["name"] == "xe2");
    let mut kernels = targets.flat_map(|target| list(&target, "modules")).flat_map(|module| list(&module, "kernels"));
    let kernel = kernels.find(|kernel| kernel["symbol"] == symbol).unwrap();
    list(&kernel, "evidence").into_iter().find(|evidence| evidence["kind"] == "run").unwrap()["calls"].clone()
}

/// Templates with one thing dropped or changed: file, from, to, kernel, what the check must say of it.
const BROKEN: &[(&str, &str, &str, &str, &str)] = &[
    (
        "wire/sentinel.ll.tera",
        "  call void @gpu.store_packet(ptr addrspace(1) %own, i32 %slot, <4 x i32> splat (i32 -1))\n",
        "",
        "*push_sentinel_f32*",
        "a sentinel inbox (byte",
    ),
    (
        "protocol/call.ll.tera",
        "icmp uge i32 %epoch, -3",
        "icmp ugt i32 %epoch, -3",
        "*push_ll_f32*",
        "an ll inbox to be refilled",
    ),
    (
        "protocol/call.ll.tera",
        "icmp eq i32 %epoch, -2147483648",
        "icmp eq i32 %epoch, -2",
        "*push_ll_f32*",
        "flag of rank",
    ),
    (
        "protocol/call.ll.tera",
        "and i32 %shifted, 15",
        "and i32 %shifted, 0",
        "*pull_flag_f32*",
        "status (byte 4 of the workspace)",
    ),
    (
        "protocol/call.ll.tera",
        "select i1 %last, i32 1, i32 %up",
        "select i1 %last, i32 2, i32 %up",
        "*pull_flag_f32*",
        "epoch (byte 0",
    ),
    ("wire/sentinel.ll.tera", "splat (i32 2147483647)", "splat (i32 1065353216)", "*push_sentinel_f32*", "element"),
];

#[test]
fn broken_kernels_fail_and_so_does_their_replay() {
    let _alone = alone();
    for (file, from, to, kernel, expected) in BROKEN {
        let templates = changed_templates(file, from, to);
        let folder = tempfile::tempdir().unwrap();
        let only = ["--quiet", "--target", "xe2", "--world", "3", "--templates"];
        text(build(&folder.path().join("out"), &only).arg(templates.path()));
        let output = run(check(&folder.path().join("out")).args(["--seeds", "40", "--kernel", kernel]));
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{to:?} for {from:?} was not seen: {said}");
        assert!(said.contains(expected), "{to:?} for {from:?}: {said}");

        let replay = said.lines().find_map(|line| line.trim().strip_prefix("again: xreduce ")).unwrap();
        let again = run(runtime(xreduce().args(replay.split(' '))));
        // The same kind of fault: which of the ranks shows it first is the machine's choice.
        let said = String::from_utf8(again.stdout).unwrap();
        assert_eq!(again.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn what_cannot_be_checked_is_no_pass() {
    let said = errors(&mut check(Path::new("/no/such/bundle")), 2);
    assert!(said.contains("/no/such/bundle/manifest.json"), "{said}");
    errors(check(bundle()).args(["--kernel", "xe2/no_such_kernel"]), 3);
    errors(check(bundle()).args(["--kernel", "gfx1100/*"]), 3);

    let empty = tempfile::tempdir().unwrap();
    let no_device = run(check(bundle()).args(["--kernel", "*_w2"]).env("OCL_ICD_VENDORS", empty.path()));
    let said = String::from_utf8(no_device.stdout).unwrap();
    assert_eq!(no_device.status.code(), Some(3), "{said}");
    assert!(said.contains("no OpenCL device takes plain host pointers"), "{said}");
}

/// One check at a time: each takes all cores, and a rank that is late for too long is an absent one.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check(bundle: &Path) -> Command {
    let mut command = xreduce();
    runtime(command.args(["check", "--on", "opencl"]).arg(bundle));
    command
}

/// With the CPU runtime as the only OpenCL driver.
fn runtime(command: &mut Command) -> &mut Command {
    let folder = root().join(".tools/opencl");
    assert!(folder.exists(), "{} is missing: `make tools` installs it", folder.display());
    command.env("OCL_ICD_VENDORS", folder)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
