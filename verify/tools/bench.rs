//! Benchmark: a library with many bundles against the public script's way, and one large bundle.
//!
//! `cargo run --release -p xreduce-verify --example bench -- LIBRARY [LLVM_BIN]`
//!
//! The script's way is `llvm-objdump --offloading`, then `llvm-readelf --notes` for each file that
//! it wrote. Both are run on the same file, warm, in the same run. The large bundle is made here: 2.4
//! GB of code objects that compress to about 30 MB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a tool for developers: it prints, and stops at the first surprise"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use xreduce_verify::{Detail, Limits, Options, Scan, check};

fn main() {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == "--scan").is_some() {
        scan(Path::new(&arguments.next().unwrap()));
        return;
    }
    let library = arguments.next();
    let llvm = arguments.next().unwrap_or_else(|| "/usr/lib/llvm-22/bin".into());
    if let Some(library) = library {
        let library = fs::canonicalize(library).unwrap();
        script(&library, Path::new(&llvm), best(&library));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.ccob");
    let size = large(&path);
    println!("bundle: {} MB stored, {} MB unpacked", fs::metadata(&path).unwrap().len() >> 20, size >> 20);
    best(&path);
}

/// What something took: seconds by the clock, and seconds of CPU of the processes it started.
#[derive(Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

/// Times `work`. On a busy machine the clock says little, the CPU time of both ways still compares.
fn timed(work: impl FnOnce()) -> Took {
    let (start, before) = (Instant::now(), children());
    work();
    Took { wall: start.elapsed().as_secs_f64(), cpu: children() - before }
}

/// CPU seconds of all processes started and waited for so far, in steps of 10 ms (`proc(5)`).
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[13..15].iter().map(|field| field.parse::<f64>().unwrap() / 100.0).sum()
}

/// Scans in a process of its own, whose memory is then the scan's; the best of five times.
fn best(path: &Path) -> Took {
    let mut best = Took { wall: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..5 {
        let took = timed(|| {
            let child = Command::new(std::env::current_exe().unwrap()).arg("--scan").arg(path).status();
            assert!(child.unwrap().success());
        });
        best = Took { wall: best.wall.min(took.wall), cpu: best.cpu.min(took.cpu) };
    }
    println!("ours: {:.3} s, {:.2} s of CPU, best of 5, from start to end of the process", best.wall, best.cpu);
    best
}

fn scan(path: &Path) {
    let start = Instant::now();
    let scan =
        Scan { limits: Limits::default(), detail: Detail::Summary, symbols: &BTreeSet::new(), progress: &|_| {} };
    let inspection = scan.path(path).unwrap();
    let report = check(&inspection, &Options::default());
    let seconds = start.elapsed().as_secs_f64();
    let kernels: usize = inspection.images.iter().map(|image| image.kernels.len()).sum();
    let (images, verdict) = (inspection.images.len(), report.verdict.word());
    println!("  {images} images, {kernels} kernels, {verdict}, {seconds:.3} s, peak {} MB", peak());
}

/// Largest resident set of this process so far, MB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("0");
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().unwrap_or(0) >> 10
}

fn script(library: &Path, llvm: &Path, ours: Took) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("library.so");
    std::os::unix::fs::symlink(library, &link).unwrap();
    let (mut files, mut bytes, mut kernels) = (0, 0, 0);
    let took = timed(|| {
        let objdump = Command::new(llvm.join("llvm-objdump"))
            .args(["--offloading", "library.so"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(objdump.success());
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path == link {
                continue;
            }
            files += 1;
            bytes += fs::metadata(&path).unwrap().len();
            let output = Command::new(llvm.join("llvm-readelf")).arg("--notes").arg(&path).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            kernels += text.matches(".kernarg_segment_size:").count();
        }
    });
    println!(
        "script: {:.3} s ({:.0} times ours), {:.2} s of CPU ({:.0} times ours), {files} files, {} MB of temporary files, {kernels} kernels",
        took.wall,
        took.wall / ours.wall,
        took.cpu,
        took.cpu / ours.cpu,
        bytes >> 20
    );
}

/// Writes the large bundle; returns its unpacked size.
fn large(path: &Path) -> u64 {
    let base = support::fixture("add_v6.hsaco");
    let mut random = support::mutate::Random(1);
    // 24 images of 100 MB: a code object, then pages of which one in eighty is not zero.
    let images: Vec<Vec<u8>> = (0..24)
        .map(|_| {
            let mut image = base.clone();
            image.resize(100 << 20, 0);
            let mut at = 1 << 16;
            while at + 4096 < image.len() {
                for byte in &mut image[at..at + 4096] {
                    *byte = random.next() as u8;
                }
                at += 80 * 4096;
            }
            image
        })
        .collect();
    let entries: Vec<(&str, &[u8])> = images.iter().map(|image| (support::HIP, image.as_slice())).collect();
    let inner = support::bundle(&entries, 4096);
    fs::write(path, support::ccob(3, support::Packing::Zstd, &inner)).unwrap();
    inner.len() as u64
}
