//! A whole bench on the check's stand-in for the CUDA driver, which is built by the C compiler: what is measured, what is
//! entered into the manifest, and that a wrong kernel ends it. Its clock says 1 ms for everything.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test program")]

use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use xreduce_bench::{Error, Options, Report, bench, rivals, write_dispatch};
use xreduce_check::cuda::Cuda;
use xreduce_check::{Bundle, Selection};
use xreduce_contract::{Element, World};

const SOURCE: &str = include_str!("../../check/src/cuda/stand_in.c");
const SYMBOL: &str = "xreduce_one_shot_push_ll_f32_w2";

fn cuda(folder: &Path, fault: u32) -> Cuda {
    let (source, library) = (folder.join("stand_in.c"), folder.join("libcuda.so"));
    fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", &format!("-DFAULT={fault}"), "-o"]);
    let built = compiler.args([&library, &source]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Cuda::open_at(&library).unwrap()
}

fn bundle(folder: &Path) -> Bundle {
    let ptx = format!(".version 7.8\n.visible .entry {SYMBOL}(\n)\n// griddepcontrol.wait\n");
    fs::write(folder.join("m.ptx"), &ptx).unwrap();
    let hash: String = Sha256::digest(&ptx).iter().map(|byte| format!("{byte:02x}")).collect();
    let manifest = format!(
        r#"{{"schema":1,"tool":"","llvm":"","contract":1,"workspace_layout":1,"templates_sha256":"","targets":[
        {{"name":"sm_90","family":"nvptx","processors":["sm_90"],"target_sha256":"","lanes":32,
        "spin_limit_unit":"microseconds","spin_limit_default":1,"max_blocks_per_compute_unit":1,"dispatch":[],"modules":[
        {{"file":"m.ptx","sha256":"{hash}","bytes":{},"world":2,
        "format":{{"kind":"ptx","ptx_version":"7.8","ptx_target":"sm_90"}},"kernels":[
        {{"symbol":"{SYMBOL}","algorithm":"one_shot_push","wire":"ll","element":"f32","sum_order":"rank_order",
        "elements_per_packet":2,"arguments":[],"max_threads_per_block":512,"evidence":[],
        "resources":{{"vector_registers":null,"scalar_registers":null,"scratch_bytes":null,"shared_bytes":null}}}}]}}]}}]}}"#,
        ptx.len()
    );
    fs::write(folder.join("manifest.json"), manifest).unwrap();
    Bundle::open(folder).unwrap()
}

fn run(folder: &Path, fault: u32, kernel: &str) -> Result<Report, Error> {
    let options = Options {
        selection: Selection::new(Some(kernel), 1, 1).unwrap(),
        world: World::try_from(2).unwrap(),
        replays: 3,
        bytes: (1 << 10, 1 << 12),
    };
    bench(&bundle(folder), &cuda(folder, fault), &options, &mut |_| {})
}

#[test]
fn every_size_is_measured_with_and_without_dependent_launch_and_enters_the_manifest() {
    let folder = TempDir::new().unwrap();
    let report = run(folder.path(), 0, "*").unwrap();
    assert_eq!((report.floor.len(), report.series.len(), report.shared), (2, 2, true));
    for series in &report.series {
        assert_eq!(series.points.iter().map(|point| point.bytes).collect::<Vec<_>>(), [1024, 2048, 4096]);
        // 1 ms over 200 calls.
        assert!(series.points.iter().all(|point| point.microseconds == 5.0));
    }
    let text = report.to_string();
    assert!(text.contains("one_shot_push ll f32, dependent") && text.contains("4 KiB"), "{text}");
    let mut bundle = bundle(folder.path());
    write_dispatch(&mut bundle.manifest, &report, Element::F32).unwrap();
    bundle.save().unwrap();
    let row = &Bundle::open(folder.path()).unwrap().manifest.targets[0].dispatch[0];
    assert_eq!(row.measured.as_ref().unwrap().device, "stand-in, 2 ranks on one GPU, driver for CUDA 13.0");
}

#[test]
fn a_wrong_kernel_and_a_bundle_without_one_end_it() {
    let folder = TempDir::new().unwrap();
    let error = run(folder.path(), 1, "*").unwrap_err();
    assert!(matches!(&error, Error::Wrong(message) if message.contains(SYMBOL)), "{error}");
    assert!(matches!(run(folder.path(), 0, "none").unwrap_err(), Error::Nothing(_)));
}

#[test]
fn rivals_are_added_and_a_program_that_fails_is_told() {
    let folder = TempDir::new().unwrap();
    let mut report = run(folder.path(), 0, "*").unwrap();
    // This machine's own Python: what it lacks is named, what it has is timed.
    rivals::add(&mut report, Path::new("python3"), None).unwrap();
    let named = |name: &str| {
        report.skipped.iter().any(|skipped| skipped.name == name)
            || report.series.iter().any(|series| series.name == name)
    };
    assert!(["NCCL", "torch one_shot", "torch two_shot"].into_iter().all(named), "{report}");
    let error = rivals::add(&mut report, Path::new("false"), None).unwrap_err();
    assert!(error.to_string().starts_with("false: "), "{error}");
}
