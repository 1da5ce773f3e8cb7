//! `xreduce inspect` on modules of our own: counts against listings that nobody here wrote, loops, errors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use std::path::Path;

use common::{build, errors, llvm, text, tool, xreduce};
use serde_json::Value;
use xreduce_inspect::{Line, Reader};

/// A bundle of two ranks, built once.
fn bundle() -> &'static Path {
    static BUNDLE: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    BUNDLE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundle-inspect");
        if out.exists() {
            // Of an earlier version, perhaps, which today's build would not replace.
            std::fs::remove_dir_all(&out).unwrap();
        }
        let targets = ["gfx1100", "gfx1201", "sm_90", "xe2"].map(|target| ["--target", target]).concat();
        text(&mut build(&out, &[&targets[..], &["--element", "f32", "--world", "2", "--quiet"]].concat()));
        out
    })
}

fn report(path: &Path) -> Value {
    serde_json::from_str(&text(xreduce().arg("inspect").arg(path).args(["--format", "json"]))).unwrap()
}

/// Every kernel of the bundle: its image and itself.
fn kernels(report: &Value) -> Vec<(&Value, &Value)> {
    let images = report["images"].as_array().unwrap().iter();
    images.flat_map(|image| image["kernels"].as_array().unwrap().iter().map(move |kernel| (image, kernel))).collect()
}

/// Instructions of a kernel as the listing of another tool shows them.
fn listed(image: &Value, kernel: &str) -> usize {
    let path = image["path"].as_str().unwrap();
    match image["format"].as_str().unwrap() {
        "amdgpu" => {
            let options = ["-d", "--no-leading-addr", "--no-show-raw-insn", &format!("--disassemble-symbols={kernel}")];
            let listing = text(llvm("llvm-objdump").args(options).arg(path));
            // Behind the last instruction, the linker fills up to the next function.
            let lines: Vec<&str> = listing.lines().filter(|line| line.starts_with('\t')).collect();
            let padding = |line: &&&str| ["\ts_nop", "\ts_code_end"].iter().any(|word| line.starts_with(word));
            lines.len() - lines.iter().rev().take_while(padding).count()
        }
        "ptx" => {
            let listing = std::fs::read_to_string(path).unwrap();
            let body = listing.split(&format!(".entry {kernel}(")).nth(1).unwrap().split("\n}").next().unwrap();
            let statement = |line: &&str| line.starts_with('\t') && line.ends_with(';') && !line.starts_with("\t.");
            body.lines().filter(statement).count()
        }
        "spirv" => {
            let listing = text(tool("spirv-dis").args(["--no-color", "--no-indent"]).arg(path));
            let body = listing.split(&format!("%{kernel} = OpFunction ")).nth(1).unwrap();
            let body = body.split("OpFunctionEnd").next().unwrap();
            let declaration = ["OpFunctionParameter", "OpLabel", "OpVariable", "OpLoopMerge", "OpSelectionMerge"];
            let counts = |line: &&str| line.contains("Op") && !declaration.iter().any(|word| line.contains(word));
            body.lines().skip(1).filter(counts).count()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn instruction_counts_are_those_of_other_tools() {
    let report = report(bundle());
    let kernels = kernels(&report);
    assert!(kernels.len() >= 12, "{}", kernels.len());
    for (image, kernel) in kernels {
        let name = kernel["name"].as_str().unwrap();
        let code = &kernel["code"];
        assert_eq!(code["instructions"], listed(image, name), "{} {name}", image["path"]);
        assert_eq!(code.get("notes"), None, "{} {name}", image["path"]);
    }
}

#[test]
fn the_poll_loop_loads_one_packet_from_own_memory_past_every_cache() {
    let report = report(bundle());
    let mut seen = 0;
    for (image, kernel) in kernels(&report) {
        let name = kernel["name"].as_str().unwrap();
        if !name.starts_with("xreduce_one_shot_push_") {
            continue;
        }
        let bits: &[&str] = match image["target"].as_str().unwrap() {
            "gfx1100" => &["glc", "slc", "dlc"],
            "gfx1201" => &["scope:SCOPE_SYS"],
            "sm_90" => &["volatile"],
            "spirv64" => &["Volatile", "L1:Uncached"],
            other => panic!("{other}"),
        };
        let loops = kernel["code"]["loops"].as_array().unwrap();
        let loads = |one: &Value| -> Vec<Value> {
            let accesses = one["accesses"].as_array().unwrap();
            accesses.iter().filter(|access| access["kind"] == "load").cloned().collect()
        };
        // The packet, and the header of the own workspace now and then; told peers, in a loop within, are stored to.
        let expected = serde_json::json!({"count": 2, "kind": "load", "space": "global", "bytes": 16, "bits": bits});
        let polls = loops.iter().filter(|one| one["depth"] == 1 && loads(one) == [expected.clone()]).count();
        assert_eq!(polls, 1, "{} {name}: {loops:#?}", image["path"]);
        seen += 1;
    }
    assert_eq!(seen, 8, "two wires on four targets");
}

#[test]
fn a_line_per_kernel_that_matches() {
    let listing = text(xreduce().arg("inspect").arg(bundle()).args(["--kernel", "gfx1201/*_push_ll_*"]));
    let lines: Vec<&str> = listing.lines().collect();
    assert_eq!(lines.len(), 3, "image, header, kernel: {listing}");
    assert!(lines[2].starts_with("xreduce_one_shot_push_ll_f32_w2 "), "{listing}");
    assert!(lines[2].contains("2x16 sys"), "{listing}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let inspect = |path: &Path| {
        let mut command = xreduce();
        command.arg("inspect").arg(path);
        command
    };
    assert!(errors(&mut inspect(&folder.path().join("absent")), 2).contains("absent"));
    assert!(errors(&mut inspect(folder.path()), 3).contains("no kernels"));
    let said = errors(inspect(bundle()).args(["--kernel", "nothing*"]), 3);
    assert!(said.contains("no kernel matches"), "{said}");
    let whole = std::fs::read(bundle().join("gfx1201/xreduce-gfx1201-w2.hsaco")).unwrap();
    let cut = folder.path().join("cut.hsaco");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let said = errors(&mut inspect(&cut), 3);
    assert!(said.contains("cut.hsaco: AMDGPU code object"), "{said}");
}

/// xorshift64: the same changes in every run.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn mutated_modules_are_answered_by_the_real_disassembler_too() {
    let disassemble = |processor: &str, code: &[u8]| {
        let lines = xreduce_llvm::disassemble(processor, code)?;
        let line = |line: xreduce_llvm::Line| Line { offset: line.offset, length: line.length, text: line.text };
        Ok(lines.into_iter().map(line).collect())
    };
    let reader = Reader { disassemble: &disassemble, wanted: &|_, _| true };
    let mut state = 0x2545_F491_4F6C_DD1D;
    let mut read = [0, 0];
    for name in ["gfx1100/xreduce-gfx1100-w2.hsaco", "sm_90/xreduce-sm_90-w2.ptx", "xe2/xreduce-xe2-w2.spv"] {
        let bytes = std::fs::read(bundle().join(name)).unwrap();
        let image = xreduce_verify::inspect(&bytes, name).images.remove(0);
        for _ in 0..40 {
            let mut mutant = bytes.clone();
            for _ in 0..=next(&mut state) % 4 {
                let at = next(&mut state) % mutant.len();
                mutant[at] = next(&mut state).to_le_bytes()[0];
            }
            for kernel in reader.image(image.clone(), Ok(&mutant)).kernels {
                assert_ne!(kernel.code.is_some(), kernel.unread.is_some(), "{name}");
                read[usize::from(kernel.code.is_some())] += 1;
            }
        }
    }
    assert!(read.iter().all(|count| *count > 5), "both answers are met: {read:?}");
}
