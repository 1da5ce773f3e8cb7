//! What stands in the tree for people who ship kernels: example hosts, the action, example workflows, the packed command.
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

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{errors, llvm, root, run, text, tool, xreduce};
use serde_json::Value;
use support::{files_with, release};

const WARNINGS: [&str; 4] = ["-O1", "-Wall", "-Wextra", "-Werror"];

/// Where the packages of `.tools` are installed.
fn packages() -> PathBuf {
    let ptxas = std::fs::canonicalize(tool("ptxas").get_program()).unwrap();
    ptxas.ancestors().find(|folder| folder.ends_with("site-packages")).unwrap().to_path_buf()
}

/// A host compiles with both compilers against the vendor's own headers, below the length that people read.
fn compile(source: &str, header: &Path, out: &Path, more: &[String], libraries: &[&str]) {
    let path = root().join("examples/hosts").join(source);
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines < 250, "{source} has {lines} lines");
    let cpp = source.ends_with(".cpp");
    let language = if cpp { ["-x", "c++", "-std=c++17"] } else { ["-x", "c", "-std=c11"] };
    for mut compiler in [Command::new(if cpp { "g++" } else { "gcc" }), llvm(if cpp { "clang++" } else { "clang" })] {
        compiler.args(WARNINGS).arg("-I").arg(header).args(more).args(language).arg(&path).arg("-o").arg(out);
        text(compiler.args(libraries));
    }
}

#[test]
fn the_cuda_host_compiles_against_nvidias_header() {
    let (folder, header) = release("header", &[]);
    let include = packages().join("nvidia/cu13/include");
    assert!(include.join("cuda.h").exists(), "cuda.h is missing: `make tools` installs it");
    // The driver's library comes with a driver: compiled, not linked.
    let more = ["-c".to_owned(), "-isystem".to_owned(), include.to_str().unwrap().to_owned()];
    compile("cuda.c", &header, &folder.path().join("cuda.o"), &more, &[]);
}

#[test]
fn the_hip_host_compiles_and_says_not_available() {
    let (folder, header) = release("header", &[]);
    let host = folder.path().join("hip");
    compile("hip.cpp", &header, &host, &["-D__HIP_PLATFORM_AMD__".to_owned()], &["-lamdhip64"]);
    says_not_available(&host);
}

#[test]
fn the_level_zero_host_compiles_and_says_not_available() {
    let (folder, header) = release("header", &[]);
    let host = folder.path().join("level_zero");
    compile("level_zero.c", &header, &host, &[], &["-lze_loader"]);
    says_not_available(&host);
}

/// On a machine without such a GPU a host says so; on one with a GPU it runs to its end.
fn says_not_available(host: &Path) {
    let output = run(Command::new(host).args(["0", "0"]));
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => assert!(said.ends_with("recovered\n"), "{said}"),
        Some(3) => assert!(said.contains("not available: rank "), "{said}"),
        other => panic!("{other:?}: {said}{}", String::from_utf8_lossy(&output.stderr)),
    }
    assert!(errors(&mut Command::new(host), 2).contains("usage: "));
}

fn yaml(path: &Path) -> Value {
    serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap_or_else(|cause| panic!("{path:?}: {cause}"))
}

/// Every `run:` below a value, with nothing of an expression in it but what is safe in a shell.
fn scripts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(script)) = map.get("run") {
                found.push(script.clone());
            }
            map.values().for_each(|value| scripts(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| scripts(value, found)),
        _ => {}
    }
}

#[test]
fn the_action_and_the_workflows_follow_their_schemas() {
    let schemas = packages().join("check_jsonschema/builtin_schemas/vendor");
    let action = [root().join("action.yml")].to_vec();
    let workflows = files_with(&root().join("examples/workflows"), ".yml");
    assert_eq!(workflows.len(), 2);
    for (schema, files) in [("github-actions.json", action), ("github-workflows.json", workflows)] {
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(schemas.join(schema)).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for path in files {
            let value = yaml(&path);
            let faults: Vec<String> =
                validator.iter_errors(&value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
            assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
            let mut found = Vec::new();
            scripts(&value, &mut found);
            assert!(!found.is_empty());
            for script in found {
                let safe = script.replace("${{ matrix.shard }}", "1");
                assert!(!safe.contains("${{"), "{}: an expression inside a script: {script}", path.display());
                text(Command::new("bash").args(["-n", "-c", &safe]));
            }
            // A schema that takes everything proves nothing.
            let mut broken = value.clone();
            broken["nonsense"] = Value::Null;
            assert!(!validator.is_valid(&broken), "{}", path.display());
        }
    }
}

/// The action's own script, as a runner would start it, on files that are clean, faulty and no device code at all.
#[test]
fn the_actions_script_gives_the_verdict() {
    let (folder, out) = release("dir", &[]);
    let action = yaml(&root().join("action.yml"));
    let step = action["runs"]["steps"].as_array().unwrap().iter().find(|step| step["id"] == "verify").unwrap();
    let script = step["run"].as_str().unwrap();
    let faulty = folder.path().join("a faulty.ptx");
    let ptx = ".version 7.8\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param \
               .b64 a);\n.visible .entry k() { ret; }\n";
    std::fs::write(&faulty, ptx).unwrap();
    let empty = folder.path().join("empty.txt");
    std::fs::write(&empty, "nothing").unwrap();
    for (paths, deny, verdict, code) in [
        (vec![&out], "false", "clean", 0),
        (vec![&out, &faulty], "true", "findings", 1),
        (vec![&empty], "false", "undetermined", 3),
    ] {
        let output = folder.path().join("output");
        std::fs::write(&output, "").unwrap();
        let sarif = folder.path().join("report.sarif");
        let lines: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        shell.env("COMMAND", xreduce().get_program()).env("PATHS", lines).env("REQUIRE", "").env("CONFIG", "");
        shell.env("DENY", deny).env("SARIF", &sarif).env("GITHUB_OUTPUT", &output);
        let said = text(&mut shell);
        let output = std::fs::read_to_string(&output).unwrap();
        assert_eq!(output, format!("verdict={verdict}\ncode={code}\n"), "{said}");
        let report: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).unwrap()).unwrap();
        assert_eq!(report["version"], "2.1.0");
    }
}

/// The packed command without its folder: manual and completions are there, and read by those who use them.
#[test]
fn the_packed_command_has_a_manual_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let dist = root().join("tools/dist.sh");
    let pack = || {
        let out = folder.path().join("dist");
        text(Command::new(&dist).arg(xreduce().get_program()).arg(&out));
        let [archive] = files_with(&out, ".tar.zst").try_into().unwrap();
        text(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&out));
        archive
    };
    let archive = pack();
    let first = std::fs::read(&archive).unwrap();
    assert!(std::fs::read(pack()).unwrap() == first, "two archives of one command differ");
    text(Command::new("tar").arg("-xf").arg(&archive).current_dir(folder.path()));
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.zst").unwrap();
    let prefix = folder.path().join(name);
    let version = text(Command::new(prefix.join("bin/xreduce")).arg("--version"));
    assert!(version.starts_with("xreduce "), "{version}");
    let sections = text(llvm("llvm-readelf").arg("--sections").arg(prefix.join("bin/xreduce")));
    assert!(!sections.contains(".symtab") && !sections.contains(".debug_info"), "not stripped");
    text(Command::new("bash").arg("-n").arg(prefix.join("share/bash-completion/completions/xreduce")));
    for command in ["build", "bundle", "targets", "check", "verify"] {
        let page = prefix.join(format!("share/man/man1/xreduce-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{command}");
        for shell in ["share/zsh/site-functions/_xreduce", "share/fish/vendor_completions.d/xreduce.fish"] {
            assert!(std::fs::read_to_string(prefix.join(shell)).unwrap().contains(command), "{shell}");
        }
    }
}
