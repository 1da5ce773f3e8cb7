//! Every form of a release, read back by the verifier and by a tool that nobody here wrote.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{bundle, errors, llvm, root, run, text, xreduce};
use serde_json::Value;
use tempfile::TempDir;

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(bundle().join("manifest.json")).unwrap()).unwrap()
}

/// The default bundle in a format: a folder that lives as long as the test.
fn release(format: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(format);
    text(xreduce().arg("bundle").arg(bundle()).args(["--format", format, "--out"]).arg(&out).args(more));
    (folder, out)
}

/// Targets, modules of each, kernels of each: one closure call a kernel.
fn each_kernel(mut with: impl FnMut(&Value, &Value, &Value)) {
    let manifest = manifest();
    for target in manifest["targets"].as_array().unwrap() {
        for module in target["modules"].as_array().unwrap() {
            for kernel in module["kernels"].as_array().unwrap() {
                with(target, module, kernel);
            }
        }
    }
}

/// The verifier's verdict on files is clean, and it saw so many images.
fn verify(path: &Path, images: usize) {
    let report = text(xreduce().args(["verify", "--format", "json", "--deny", "warnings"]).arg(path));
    let report: Value = serde_json::from_str(&report).unwrap();
    let found = report["inputs"][0]["images"].as_array().unwrap().len();
    assert_eq!(found, images, "{}", path.display());
}

fn all_modules() -> usize {
    manifest()["targets"].as_array().unwrap().iter().map(|target| target["modules"].as_array().unwrap().len()).sum()
}

#[test]
fn two_releases_are_equal_and_their_checksums_hold() {
    for format in ["dir", "header"] {
        let (_first, one) = release(format, &[]);
        let (_second, two) = release(format, &[]);
        text(Command::new("diff").arg("-r").args([&one, &two]));
        text(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&one));
        let listed = std::fs::read_to_string(one.join("SHA256SUMS")).unwrap().lines().count();
        let files = text(Command::new("find").arg(&one).args(["-type", "f"])).lines().count();
        assert_eq!(listed + 1, files, "{format}");
    }
}

#[test]
fn a_changed_module_is_not_released() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    text(Command::new("cp").arg("-r").args([bundle(), &copy]));
    let module = copy.join("sm_90/xreduce-sm_90-w2.ptx");
    let ptx = std::fs::read_to_string(&module).unwrap();
    std::fs::write(&module, ptx.replacen("ret;", "ret ;", 1)).unwrap();
    let out = folder.path().join("out");
    let said = errors(xreduce().arg("bundle").arg(&copy).args(["--format", "dir", "--out"]).arg(&out), 2);
    assert!(said.contains("xreduce-sm_90-w2.ptx: expected ") && said.contains("with SHA-256"), "{said}");
    assert!(!out.exists());
}

#[test]
fn the_header_compiles_without_a_warning_and_says_what_the_manifest_says() {
    let (folder, header) = release("header", &[]);
    let gcc = || Command::new("gcc");
    let clang = || llvm("clang");
    let compilers: [(&dyn Fn() -> Command, &[&str]); 4] = [
        (&gcc, &["-std=c11"]),
        (&gcc, &["-x", "c++", "-std=c++17"]),
        (&clang, &["-std=c11"]),
        (&clang, &["-x", "c++", "-std=c++17"]),
    ];
    let mut said = Vec::new();
    for (compiler, language) in compilers {
        let program = folder.path().join("host");
        let mut command = compiler();
        command.args(language).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-I"]).arg(&header);
        command.arg(root().join("tests/release/host.c")).arg("-o").arg(&program);
        text(&mut command);
        let modules = folder.path().join("modules");
        let _fresh = std::fs::remove_dir_all(&modules);
        std::fs::create_dir(&modules).unwrap();
        said.push(text(Command::new(&program).arg(&modules)));
        verify(&modules, all_modules());
        each_kernel(|target, module, _| {
            let name = format!("{}-w{}", target["name"].as_str().unwrap(), module["world"]);
            let original = std::fs::read(bundle().join(module["file"].as_str().unwrap())).unwrap();
            assert!(std::fs::read(modules.join(&name)).unwrap() == original, "{name}");
        });
    }
    assert!(said.iter().all(|other| *other == said[0]));
    compare_with_manifest(&said[0]);
}

/// The value of an argument that `host.c` gives, and that the header has to put at the manifest's offset.
fn value_of(name: &str) -> u64 {
    let rank = |prefix: &str| name.strip_prefix(prefix).map(|rank| rank.parse::<u64>().unwrap());
    match name {
        "in" => 0x1122_3344_5566_7788,
        "out" => 0x99aa_bbcc_ddee_ff00,
        "count" => 0xc0c0_c0c0,
        "rank" => 3,
        "blocks" => 17,
        "threads" => 255,
        "inbox_bytes" => 65536,
        "spin_limit" => 77,
        "root" => 5,
        _ => rank("workspace_")
            .map(|rank| 0xa00_0000_0000 + rank)
            .or_else(|| rank("in_").map(|rank| 0xb00_0000_0000 + rank))
            .or_else(|| rank("out_").map(|rank| 0xc00_0000_0000 + rank))
            .unwrap_or_else(|| panic!("{name}")),
    }
}

fn compare_with_manifest(said: &str) {
    let mut kernels = 0;
    each_kernel(|target, _, kernel| {
        let start = format!("kernel {} {} ", target["name"].as_str().unwrap(), kernel["symbol"].as_str().unwrap());
        let line = said.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no {start}"));
        let mut expected = Vec::new();
        for argument in kernel["arguments"].as_array().unwrap() {
            let number = |key: &str| usize::try_from(argument[key].as_u64().unwrap()).unwrap();
            expected.resize(number("offset"), 0);
            let value = value_of(argument["name"].as_str().unwrap()).to_le_bytes();
            expected.extend_from_slice(&value[..number("size")]);
        }
        let hex: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(line, hex, "{start}");
        kernels += 1;
    });
    assert_eq!(said.lines().filter(|line| line.starts_with("kernel ")).count(), kernels);

    for (line, expected) in [
        ("match gfx1100", "gfx1100 2"),
        ("match gfx1100:sramecc+:xnack-", "gfx1100 2"),
        ("match gfx906", "- 0"),
        ("match sm_90", "sm_90 2"),
        ("match sm_50", "- 0"),
    ] {
        assert!(said.lines().any(|found| found == format!("{line} {expected}")), "{line} {expected}: {said}");
    }
    assert!(said.contains("match sm_120 sm_") && said.contains("match bmg-g31 xe2 1"));
    for world in 2u64..=8 {
        let bytes = 4096 + (4 * world + 2) * 65536;
        assert!(said.contains(&format!("workspace {world} {bytes}\n")));
    }
    for status in ["0 0 ok", "1 3 timed out waiting for a rank", "2 1 a peer gave up", "3 0 the message", "0 0 unknown"]
    {
        assert!(said.contains(&format!("status {status}")), "{status}");
    }
    plans(said);
}

/// What the header plans is what the manifest's document says of dispatch rows, by an implementation of its own.
fn plans(said: &str) {
    let manifest = manifest();
    let targets = manifest["targets"].as_array().unwrap();
    let mut seen = [0; 3];
    for line in said.lines().filter_map(|line| line.strip_prefix("plan ")) {
        let [target, world, count, result, symbol, blocks, threads]: [&str; 7] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let [world, count, blocks, threads]: [u64; 4] =
            [world, count, blocks, threads].map(|word| word.parse().unwrap());
        let target = targets.iter().find(|entry| entry["name"] == target).unwrap();
        let row = target["dispatch"].as_array().unwrap().iter().find(|row| {
            row["max_bytes"].as_u64().unwrap() >= 4 * count
                && row["max_world"].as_u64().is_none_or(|most| most >= world)
        });
        let module = target["modules"].as_array().unwrap().iter().find(|module| module["world"] == world).unwrap();
        let kernel = row.map(|row| {
            let mut kernels = module["kernels"].as_array().unwrap().iter();
            let same = |kernel: &Value, key: &str| kernel[key] == row[key];
            let found =
                kernels.find(|kernel| same(kernel, "algorithm") && same(kernel, "wire") && kernel["element"] == "f32");
            found.unwrap()
        });
        let fits = kernel.and_then(|kernel| {
            let packets = count.div_ceil(kernel["elements_per_packet"].as_u64().unwrap());
            (packets <= (1 << 20) / 16).then_some((kernel, packets))
        });
        seen[usize::from(fits.is_some()) + usize::from(kernel.is_some() && fits.is_none()) * 2] += 1;
        let Some((kernel, packets)) = fits else {
            assert_eq!((result, symbol), ("1", "-"), "{line}");
            continue;
        };
        let number = |value: &Value| value.as_u64().unwrap();
        let row = row.unwrap();
        let resident = 4 * number(&target["max_blocks_per_compute_unit"]);
        let expected = number(&row["blocks"]).min(packets.div_ceil(number(&row["threads"]))).min(resident).max(1);
        assert_eq!((result, symbol), ("0", kernel["symbol"].as_str().unwrap()), "{line}");
        assert_eq!((blocks, threads), (expected, number(&row["threads"])), "{line}");
    }
    assert!(
        seen.iter().all(|count| *count > 0),
        "too large for the table, planned, too large for a workspace: {seen:?}"
    );
}

#[test]
fn wrong_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = errors(xreduce().args(["bundle", "/nowhere", "--format", "dir"]), 2);
    assert!(said.contains("/nowhere/manifest.json: cannot be read"), "{said}");
    let said = errors(xreduce().arg("bundle").arg(bundle()).args(["--format", "deb"]), 2);
    assert!(said.contains("header"), "{said}");
    std::fs::write(folder.path().join("mine"), "mine").unwrap();
    let said = errors(xreduce().arg("bundle").arg(bundle()).args(["--format", "dir", "--out"]).arg(folder.path()), 2);
    assert!(said.contains("holds files and no SHA256SUMS"), "{said}");
    assert!(run(Command::new("test").arg("-f").arg(folder.path().join("mine"))).status.success());
}
