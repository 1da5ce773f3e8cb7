//! What the test suites share: the command, the default bundle built once per suite, and tools nobody here wrote.
#![allow(dead_code, reason = "each suite uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Root of the source tree.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The command under test.
pub(crate) fn xreduce() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xreduce"))
}

/// Runs a command to its end; its own failure to start fails the test.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}"))
}

/// Standard error of a command that must exit with `code`.
pub(crate) fn errors(command: &mut Command, code: i32) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
    said
}

/// Standard output of a command that must succeed.
pub(crate) fn text(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Builds into `out` with more arguments.
pub(crate) fn build(out: &Path, arguments: &[&str]) -> Command {
    let mut command = xreduce();
    command.arg("build").arg("--out").arg(out).args(arguments);
    command
}

/// The default bundle, in cargo's folder for such things: the first suite builds it, the others find nothing changed.
pub(crate) fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bundle");
        text(&mut build(&out, &[]));
        out
    })
}

/// A module of the default bundle.
pub(crate) fn module(name: &str) -> PathBuf {
    let (target, _) = name.split_once('-').map_or((name, ""), |(_, rest)| rest.rsplit_once("-w").unwrap());
    bundle().join(target).join(name)
}

/// Every module of the default bundle with this extension, sorted.
pub(crate) fn modules(extension: &str) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(bundle()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut found: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    found.sort();
    assert!(!found.is_empty(), "no .{extension} in the bundle");
    found
}

/// A tool of LLVM's own package.
pub(crate) fn llvm(tool: &str) -> Command {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let path = Path::new(&prefix).join("bin").join(tool);
    assert!(path.exists(), "{} is missing: `make tools` installs it", path.display());
    Command::new(path)
}

/// A tool that only tests need.
pub(crate) fn tool(name: &str) -> Command {
    let path = root().join(".tools/bin").join(name);
    assert!(path.exists(), "{} is missing: `make tools` installs it", path.display());
    Command::new(path)
}

/// A copy of the templates in which each `from` of the file `name` has become `to`; it must have been there.
pub(crate) fn changed_templates(name: &str, from: &str, to: &str) -> TempDir {
    changed_copy("templates", name, from, to)
}

/// The same for the target files.
pub(crate) fn changed_targets(name: &str, from: &str, to: &str) -> TempDir {
    changed_copy("targets", name, from, to)
}

fn changed_copy(folder: &str, name: &str, from: &str, to: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(&root().join(folder), copy.path());
    let path = copy.path().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} does not contain {from}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
