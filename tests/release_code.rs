//! Releases that are source code: compiled, run, and compared with the manifest.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;
#[path = "release/support.rs"]
mod support;

use std::process::Command;

use common::{llvm, root, text};
use serde_json::Value;
use support::{assert_same, each_kernel, manifest, modules_of, release, small, verify};

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
        verify(&modules, modules_of(&[]).len());
        for (file, target, world) in modules_of(&[]) {
            assert_same(&modules.join(format!("{target}-w{world}")), &small().join(file));
        }
    }
    assert!(said.iter().all(|other| *other == said[0]));
    compare_with_manifest(&said[0]);
    for (processor, how) in [("gfx1100", 2), ("gfx906", 0), ("sm_90", 2), ("sm_120", 1), ("bmg-g31", 1)] {
        assert!(said[0].contains(&format!("found {processor} {how}\n")), "{processor}");
    }
    for status in ["0 0 ok", "1 3 timed out waiting for a rank", "2 1 a peer gave up", "3 0 the message", "0 0 unknown"]
    {
        assert!(said[0].contains(&format!("status {status}")), "{status}");
    }
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

/// What a program said of every kernel, target, workspace and launch.
fn compare_with_manifest(said: &str) {
    kernels(said, &[]);
    for (line, expected) in [
        ("match gfx1100", "gfx1100"),
        ("match gfx1100:sramecc+:xnack-", "gfx1100"),
        ("match gfx906", "-"),
        ("match sm_90", "sm_90"),
        ("match sm_120", "sm_90"),
        ("match sm_50", "-"),
        ("match bmg-g31", "xe2"),
    ] {
        assert!(said.lines().any(|found| found == format!("{line} {expected}")), "{line} {expected}: {said}");
    }
    for world in 2u64..=8 {
        let bytes = 4096 + (4 * world + 2) * 65536;
        assert!(said.contains(&format!("workspace {world} {bytes}\n")));
    }
    plans(said);
}

/// The argument buffer of every kernel of some families has each value at the manifest's offset.
fn kernels(said: &str, families: &[&str]) {
    let mut kernels = 0;
    each_kernel(families, |target, _, kernel| {
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
    assert!(kernels > 0);
    assert_eq!(said.lines().filter(|line| line.starts_with("kernel ")).count(), kernels);
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
        let row =
            target["dispatch"].as_array().unwrap().iter().find(|row| {
                row["max_bytes"].as_u64().unwrap() >= 4 * count && row["max_world"].as_u64().unwrap() >= world
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

/// The crate compiles without a warning, and a program of it says what the C program says.
#[test]
fn the_crate_compiles_and_says_what_the_manifest_says() {
    let (folder, data) = release("rust", &[]);
    verify(&data, modules_of(&[]).len());
    let user = folder.path().join("user");
    std::fs::create_dir_all(user.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\nxreduce-kernels = {{ path = {data:?} }}\n[workspace]\n"
    );
    std::fs::write(user.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(root().join("tests/release/host.rs"), user.join("src/main.rs")).unwrap();
    let modules = folder.path().join("modules");
    std::fs::create_dir(&modules).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(user.join("Cargo.toml")).arg("--").arg(&modules);
    cargo.env("RUSTFLAGS", "-D warnings").env("CARGO_TARGET_DIR", folder.path().join("target"));
    let said = text(&mut cargo);
    for (file, target, world) in modules_of(&[]) {
        assert_same(&modules.join(format!("{target}-w{world}")), &small().join(file));
    }
    compare_with_manifest(&said);
}

/// Each vendor's wheel has a right RECORD, pip installs it, and every module is read through its own API.
#[test]
fn wheels_install_and_give_their_kernels() {
    let (folder, out) = release("wheel", &[]);
    verify(&out, modules_of(&[]).len());
    let environment = folder.path().join("environment");
    text(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let python = environment.join("bin/python");
    for (vendor, family) in [("amd", "amdgpu"), ("nvidia", "nvptx"), ("intel", "spirv")] {
        let package = format!("xreduce_kernels_{vendor}");
        let wheel = out.join(format!("{package}-0.1.0-py3-none-any.whl"));
        text(Command::new(&python).arg(root().join("tests/release/record.py")).arg(&wheel));
        let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"];
        text(Command::new(&python).args(pip).arg(&wheel));
        let script = root().join("tests/release/host.py");
        let modules = folder.path().join(format!("modules-{vendor}"));
        std::fs::create_dir(&modules).unwrap();
        let said = text(Command::new(&python).arg(&script).arg(&package).arg(&modules));
        for (file, target, world) in modules_of(&[family]) {
            assert_same(&modules.join(format!("{target}-w{world}")), &small().join(file));
        }
        kernels(&said, &[family]);
        plans(&said);
    }
}
