//! The embedded templates and targets are inputs of this crate: a changed, added or removed file rebuilds it. So is the code that
//! makes modules from them, whose hash goes into each module's record of inputs.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates whose code decides a module's bytes.
const SOURCES: [&str; 4] = ["../contract/src", "src", "../llvm", "../verify/src"];

fn main() {
    println!("cargo::rerun-if-changed=../templates");
    println!("cargo::rerun-if-changed=../targets");
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let text = std::fs::read(&file).unwrap_or_default();
        hash.update(file.to_string_lossy().as_bytes());
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=XREDUCE_SOURCES_SHA256={digits}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
