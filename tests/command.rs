//! What a user of `xreduce build` and `xreduce targets` relies on: equal bytes, clear errors, nothing lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{build, bundle, changed_targets, changed_templates, errors, root, run, text, xreduce};

/// Every file below a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A bundle that has every family and a folding butterfly, and takes seconds.
const EVERY_FAMILY: [&str; 8] = ["--target", "gfx1201", "--target", "sm_90", "--target", "xe2", "--world", "3"];

/// Every module of a bundle has the bytes that it has in the default one.
fn assert_equal_modules(out: &Path) {
    let whole = contents(bundle());
    let mut modules = contents(out);
    modules.remove("manifest.json").unwrap();
    assert_eq!(modules.len(), 3);
    for (file, bytes) in modules {
        assert!(whole[&file] == bytes, "{file} has other bytes");
    }
}

#[test]
fn equal_bytes_from_another_folder_and_another_number_of_jobs() {
    let folder = tempfile::tempdir().unwrap();
    for jobs in ["1", "2"] {
        let out = folder.path().join("a folder").join(jobs);
        let templates = root().join("templates");
        let targets = root().join("targets");
        let arguments =
            ["--jobs", jobs, "--templates", templates.to_str().unwrap(), "--targets", targets.to_str().unwrap()];
        text(build(&out, &arguments).args(EVERY_FAMILY).current_dir(folder.path()));
        assert_equal_modules(&out);
    }
}

#[test]
fn choices_narrow_the_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments =
        ["--target", "sm_90", "--algorithm", "one_shot_pull", "--element", "f32", "--world", "3", "--quiet"];
    assert_eq!(text(&mut build(&out, &arguments)), "");
    assert_eq!(contents(&out).into_keys().collect::<Vec<_>>(), ["manifest.json", "sm_90/xreduce-sm_90-w3.ptx"]);
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    assert_eq!(manifest.matches("\"symbol\"").count(), 1);
}

#[test]
fn wrong_choices_are_named_with_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let cases: &[(&[&str], &str)] = &[
        (&["--target", "gfx1103"], "unknown target `gfx1103`; did you mean `gfx1100`?"),
        (&["--algorithm", "one_shot"], "one_shot_push"),
        (&["--element", "f64"], "f32"),
        (&["--world", "9"], "unknown world `9`, expected one of: 2, 3, 4, 5, 6, 7, 8"),
        (&["--jobs", "0"], "--jobs"),
        (&["--templates", "/nowhere"], "/nowhere: cannot be listed"),
        (&["--targets", "/nowhere"], "/nowhere: cannot be listed"),
    ];
    for (arguments, expected) in cases {
        let said = errors(&mut build(&out, arguments), 2);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!out.exists());
    }
}

#[test]
fn a_faulty_target_file_is_named_with_its_line() {
    let targets = changed_targets("gfx1201.yaml", "lanes:", "lnaes:");
    let said = errors(xreduce().args(["targets", "--targets"]).arg(targets.path()), 2);
    assert!(said.contains("gfx1201.yaml:7: unknown key `lnaes`; did you mean `lanes`?"), "{said}");
}

#[test]
fn a_template_error_is_shown_at_its_own_name_and_line() {
    let lines = |name: &str, needle: &str| {
        let text = std::fs::read_to_string(root().join("templates").join(name)).unwrap();
        text.lines().position(|line| line.contains(needle)).unwrap() + 1
    };
    let cases = [
        // (file, what is there, what it becomes, target, what is said)
        (
            "wire/ll.ll.tera",
            "%passed_0 = icmp eq i32",
            "%passed_0 = icmp equal i32",
            "sm_90",
            "expected icmp predicate",
        ),
        ("wire/ll.ll.tera", "%passed_0 = icmp eq i32", "%passed_0 = {{ nothing }} icmp eq i32", "sm_90", "nothing"),
        (
            "platform/amdgpu.ll.tera",
            "\"global_store_{{ sixteen_bytes }} $0, $1, $2",
            "\"global_stroe_{{ sixteen_bytes }} $0, $1, $2",
            "gfx1100",
            "invalid instruction",
        ),
    ];
    for (file, from, to, target, expected) in cases {
        let templates = changed_templates(file, from, to);
        let out = templates.path().join("out");
        let said = errors(
            &mut build(&out, &["--target", target, "--world", "2", "--templates", templates.path().to_str().unwrap()]),
            1,
        );
        let place = format!("{}:{}: ", templates.path().join(file).display(), lines(file, from));
        assert!(said.contains(&place), "expected {place} in: {said}");
        assert!(said.contains(expected), "expected {expected} in: {said}");
        assert!(!out.exists());
    }
}

#[test]
fn a_crash_inside_llvm_is_an_error_about_one_module_which_is_kept() {
    // 16 bytes read atomically: instruction selection cannot do it and ends the process.
    let from = "%word = load atomic i32, ptr addrspace(1) %at monotonic, align 4";
    let to = "%wide = load atomic i128, ptr addrspace(1) %at monotonic, align 16\n  %word = trunc i128 %wide to i32";
    let templates = changed_templates("platform/amdgpu.ll.tera", from, to);
    let out = templates.path().join("out");
    let arguments =
        ["--target", "gfx1100", "--target", "sm_90", "--world", "2", "--templates", templates.path().to_str().unwrap()];
    let said = errors(&mut build(&out, &arguments), 1);
    assert!(said.contains("module gfx1100 w2: "), "{said}");
    assert!(!said.contains("sm_90"), "{said}");
    let kept = templates.path().join("out.failed/gfx1100-w2.ll");
    assert!(said.contains(kept.to_str().unwrap()), "{said}");
    assert!(std::fs::read_to_string(kept).unwrap().contains("load atomic i128"));
    assert!(!out.exists());
}

#[test]
fn only_a_bundle_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let small = ["--target", "sm_90", "--world", "2"];
    text(&mut build(&out, &small));
    let first = contents(&out);
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    let said = errors(&mut build(&out, &["--target", "sm_90", "--world", "3"]), 2);
    assert!(said.contains("notes.txt: is not a file of a bundle"), "{said}");
    std::fs::remove_file(out.join("notes.txt")).unwrap();
    assert_eq!(contents(&out), first);
    text(&mut build(&out, &["--target", "sm_90", "--world", "3"]));
    assert_ne!(contents(&out), first);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "a draft was left: {left:?}");

    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    assert!(errors(&mut build(&file, &small), 2).contains("is no folder"));
}

#[test]
fn a_folder_that_is_no_bundle_and_words_that_llvm_does_not_know_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "mine").unwrap();
    let said = errors(&mut build(folder.path(), &["--target", "sm_90"]), 2);
    assert!(said.contains("holds files and no manifest.json"), "{said}");

    let targets = changed_targets("gfx1100.yaml", "features: \"\"", "features: \"+nonsense\"");
    let out = targets.path().join("out");
    let said = errors(&mut build(&out, &["--target", "gfx1100", "--targets", targets.path().to_str().unwrap()]), 1);
    assert!(said.contains("'+nonsense' is not a recognized feature"), "{said}");
    assert!(!out.exists());

    let targets = changed_targets("sm_90.yaml", "cpu: sm_90", "cpu: sm_91");
    let said = errors(&mut build(&out, &["--target", "sm_90", "--targets", targets.path().to_str().unwrap()]), 1);
    assert!(said.contains("LLVM knows no processor `sm_91`"), "{said}");
}

#[test]
fn a_reader_that_has_gone_is_no_panic() {
    for arguments in ["targets", "targets --format json"] {
        let script = format!("\"$0\" {arguments} | true; exec \"$0\" {arguments} >/dev/full");
        let said = errors(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_xreduce")]), 2);
        assert!(said.contains("standard output: ") && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_full_disk_leaves_the_old_bundle_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    text(&mut build(&out, &["--target", "sm_90", "--world", "2"]));
    let before = contents(&out);
    // A limit on file size stops writing where a full disk would; the shell ignores its signal so that writing fails.
    let mut limited = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" build --target sm_90 --out \"$1\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_xreduce")]).arg(&out);
    let said = errors(&mut limited, 2);
    assert!(said.contains("cannot be written"), "{said}");
    assert_eq!(contents(&out), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
}

#[test]
fn ctrl_c_leaves_the_old_bundle_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    text(&mut build(&out, &["--target", "sm_90", "--world", "2"]));
    let before = contents(&out);
    let mut child = build(&out, &["--jobs", "1"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The draft beside the bundle shows that the build has begun.
    while std::fs::read_dir(folder.path()).unwrap().count() == 1 {
        assert!(child.try_wait().unwrap().is_none(), "the build ended before it was interrupted");
        std::thread::yield_now();
    }
    let killed = run(Command::new("kill").args(["-INT", &child.id().to_string()]));
    assert!(killed.status.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.status.signal()), (Some(130), None));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted; nothing was changed"));
    assert_eq!(contents(&out), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
}

#[test]
fn the_binary_alone_builds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("xreduce");
    std::fs::copy(env!("CARGO_BIN_EXE_xreduce"), &alone).unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(&alone);
    command.args(["build", "--out"]).arg(&out).current_dir(folder.path()).env_clear();
    text(command.args(EVERY_FAMILY));
    assert_equal_modules(&out);
    // Nothing but the C library and its own is loaded.
    let libraries = text(Command::new("ldd").arg(&alone));
    let known =
        ["linux-vdso", "libc.so", "libm.so", "libgcc_s.so", "libdl.so", "librt.so", "libpthread.so", "ld-linux"];
    for line in libraries.lines() {
        assert!(known.iter().any(|library| line.contains(library)), "unexpected library: {line}");
    }
}

#[test]
fn a_worker_answers_bad_jobs() {
    for job in ["", "{}", "\u{0}"] {
        let mut child = xreduce()
            .arg("lower-module")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{job:?}");
    }
}

#[test]
fn targets_are_listed_as_text_and_json() {
    let table = text(xreduce().arg("targets"));
    for name in ["gfx1100", "gfx1201", "sm_90", "xe2"] {
        assert!(table.contains(name), "{table}");
    }
    let json: serde_json::Value = serde_json::from_str(&text(xreduce().args(["targets", "--format", "json"]))).unwrap();
    let xe2 = json.as_array().unwrap().iter().find(|target| target["name"] == "xe2").unwrap();
    assert_eq!(xe2["processors"], serde_json::json!(["bmg-g21", "bmg-g31", "lnl"]));
}

#[test]
fn algorithms_and_wires_name_no_vendor() {
    let words = [
        "amd",
        "gfx",
        "amdgcn",
        "nvidia",
        "nvptx",
        "nvvm",
        "ptx",
        "cuda",
        "sm_",
        "intel",
        "spirv",
        "spv",
        "xe2",
        "family",
        "cpu",
        "generation",
    ];
    for folder in ["algorithm", "wire"] {
        for entry in std::fs::read_dir(root().join("templates").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
            for word in words {
                let found = text
                    .match_indices(word)
                    .find(|(at, _)| !text[..*at].ends_with(|before: char| before.is_ascii_alphanumeric()));
                assert!(found.is_none(), "{} names `{word}`", path.display());
            }
        }
    }
}

#[test]
fn the_platform_libraries_define_the_same_functions() {
    let functions = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(root().join("templates/platform").join(name)).unwrap();
        let names = text.lines().filter(|line| line.starts_with("define ")).filter_map(|line| {
            let (_, name) = line.split_once('@')?;
            Some(name.split_once('(')?.0.to_owned())
        });
        let mut names: Vec<String> = names.filter(|name| !name.ends_with("_address")).collect(); // its own helpers
        names.sort();
        names
    };
    assert_eq!(functions("amdgpu.ll.tera"), functions("nvptx.ll.tera"));
    assert_eq!(functions("amdgpu.ll.tera"), functions("spirv.ll.tera"));
}

#[test]
fn the_readme_has_a_row_for_every_target() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(xreduce().args(["targets", "--format", "json"]))).unwrap();
    for target in json.as_array().unwrap() {
        let name = target["name"].as_str().unwrap();
        assert!(readme.lines().any(|line| line.starts_with(&format!("| {name} "))), "no row for {name} in README.md");
    }
}
