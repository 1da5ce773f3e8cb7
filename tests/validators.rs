//! Every artifact of the default bundle before validators nobody here wrote: ptxas, spirv-val, llvm-readelf.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use common::{bundle, llvm, modules, run, text, tool};
use serde_json::Value;

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(bundle().join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn ptxas_assembles_every_ptx_without_a_spill() {
    let folder = tempfile::tempdir().unwrap();
    for path in modules("ptx") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let sm = name.strip_prefix("xreduce-").unwrap().rsplit_once("-w").unwrap().0;
        let cubin = folder.path().join("cubin");
        let output = run(tool("ptxas").args(["-v", "-arch", sm, "-o"]).arg(&cubin).arg(&path));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        let kernels = said.lines().filter(|line| line.contains("Used ") && line.contains("registers")).count();
        let clean =
            said.lines().filter(|line| line.contains("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
        assert_eq!((kernels, clean.count()), (21, 21), "{name}: {said}");
    }
}

#[test]
fn spirv_val_accepts_every_module() {
    for path in modules("spv") {
        let output = run(tool("spirv-val").args(["--target-env", "opencl2.2"]).arg(&path));
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
}

/// Without its cache control Xe2's L1 cache may serve a poll stale for ever.
#[test]
fn every_volatile_access_of_spirv_is_uncached() {
    for path in modules("spv") {
        let listing = text(tool("spirv-dis").args(["--no-color", "--no-indent"]).arg(&path));
        let controls = ["CacheControlLoadINTEL 0 UncachedINTEL", "CacheControlStoreINTEL 0 UncachedINTEL"];
        let decorated = |address: &str, control: &str| {
            listing.lines().any(|line| line == format!("OpDecorate {address} {control}"))
        };
        let mut accesses = [0, 0];
        for line in listing.lines().filter(|line| line.contains("Volatile")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (kind, address) = match words.as_slice() {
                [_, "=", "OpLoad", _, address, ..] => (0, *address),
                ["OpStore", address, ..] => (1, *address),
                _ => panic!("{line}"),
            };
            assert!(decorated(address, controls[kind]), "{}: {line}", path.display());
            accesses[kind] += 1;
        }
        assert!(accesses.iter().all(|count| *count > 10), "{}: {accesses:?}", path.display());
    }
}

/// The value of `.key:` in a line of llvm-readelf's YAML.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.trim_start_matches([' ', '-']).strip_prefix(key)?.strip_prefix(':').map(str::trim)
}

#[test]
fn llvm_readelf_sees_the_manifest_in_every_note() {
    let manifest = manifest();
    for path in modules("hsaco") {
        let notes = text(llvm("llvm-readelf").arg("--notes").arg(&path));
        assert!(!notes.contains("hidden_"), "{}: a hidden argument\n{notes}", path.display());
        let file = path.strip_prefix(bundle()).unwrap().to_str().unwrap();
        let modules =
            manifest["targets"].as_array().unwrap().iter().flat_map(|target| target["modules"].as_array().unwrap());
        let module = modules.into_iter().find(|module| module["file"] == file).unwrap();
        // Each kernel is an item of the list at this depth.
        let entries: Vec<&str> = notes.split("\n  - .").collect();
        for kernel in module["kernels"].as_array().unwrap() {
            let symbol = kernel["symbol"].as_str().unwrap();
            let entry = entries.iter().find(|entry| entry.contains(&format!("{symbol}.kd"))).unwrap();
            let all = |key: &str| -> Vec<String> {
                entry.lines().filter_map(|line| field(line, key)).map(str::to_owned).collect()
            };
            let ours = |key: &str| -> Vec<String> {
                kernel["arguments"].as_array().unwrap().iter().map(|argument| argument[key].to_string()).collect()
            };
            assert_eq!(all(".offset"), ours("offset"), "{symbol}");
            assert_eq!(all(".size"), ours("size"), "{symbol}");
            let resource = |key: &str| vec![kernel["resources"][key].to_string()];
            assert_eq!(all(".vgpr_count"), resource("vector_registers"), "{symbol}");
            assert_eq!(all(".sgpr_count"), resource("scalar_registers"), "{symbol}");
            assert_eq!(all(".private_segment_fixed_size"), resource("scratch_bytes"), "{symbol}");
            assert_eq!(all(".group_segment_fixed_size"), resource("shared_bytes"), "{symbol}");
            assert_eq!(all(".max_flat_workgroup_size"), vec![kernel["max_threads_per_block"].to_string()], "{symbol}");
            assert_eq!(all(".uses_dynamic_stack"), ["false"], "{symbol}");
            // Scalar registers may be spilled into lanes of vector registers, never into memory.
            assert_eq!(all(".vgpr_spill_count"), ["0"], "{symbol}");
        }
    }
}
