//! Files and folders as inputs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use object::write::{Object, Symbol, SymbolSection};
use object::{BinaryFormat, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use support::*;
use xreduce_verify::{Detail, Inspection, Limits, Options, Scan, Verdict, check, inspect, size};

fn scanned(path: &Path, detail: Detail, symbols: &[&str]) -> (Inspection, u64) {
    let symbols: BTreeSet<String> = symbols.iter().map(|name| (*name).to_owned()).collect();
    let seen = AtomicU64::new(0);
    let progress = |bytes| {
        seen.fetch_add(bytes, Ordering::Relaxed);
    };
    let scan = Scan { limits: Limits::default(), detail, symbols: &symbols, progress: &progress };
    (scan.path(path).unwrap(), seen.load(Ordering::Relaxed))
}

#[test]
fn a_folder_is_one_input_of_all_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("lib/deep")).unwrap();
    fs::write(path("lib/b.hsaco"), fixture("add_v6.hsaco")).unwrap();
    fs::write(path("lib/a.so"), host(BinaryFormat::Elf, &[(".hip_fatbin", &hip(&fixture("specific.hsaco")))])).unwrap();
    fs::write(path("lib/deep/c.whl"), zip(&[("d.ptx", &fixture("prints.ptx"))])).unwrap();
    fs::write(path("README"), "text").unwrap();
    fs::write(path("empty"), "").unwrap();
    std::os::unix::fs::symlink("b.hsaco", path("lib/link.hsaco")).unwrap();
    let (inspection, seen) = scanned(folder.path(), Detail::Full, &[]);
    let places: Vec<&str> = inspection
        .images
        .iter()
        .map(|image| image.path.strip_prefix(folder.path().to_str().unwrap()).unwrap())
        .map(|place| place.split(" > ").next().unwrap())
        .collect();
    assert_eq!(places, ["/lib/a.so", "/lib/b.hsaco", "/lib/deep/c.whl"]);
    let skipped: Vec<&str> = inspection.skipped.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(
        skipped,
        ["symbolic link", "no device code and no known container", "no device code and no known container"]
    );
    assert_eq!((seen, seen), (size(folder.path()).unwrap(), inspection_bytes(folder.path())));
    assert_eq!(check(&inspection, &Options::default()).verdict, Verdict::Findings);
}

/// Bytes of the regular files below `folder`.
fn inspection_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.symlink_metadata().unwrap() {
            metadata if metadata.is_dir() => inspection_bytes(&path),
            metadata if metadata.is_file() => metadata.len(),
            _ => 0,
        })
        .sum()
}

#[test]
fn a_mapped_file_reads_like_its_bytes_and_a_summary_judges_alike() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in corpus() {
        let path = folder.path().join("file");
        fs::write(&path, &bytes).unwrap();
        let direct = inspect(&bytes, path.to_str().unwrap());
        let (full, _) = scanned(&path, Detail::Full, &[]);
        assert_eq!(serde_json::to_value(&full).unwrap(), serde_json::to_value(&direct).unwrap(), "{name}");
        let (summary, _) = scanned(&path, Detail::Summary, &[]);
        let options = Options::default();
        assert_eq!(check(&summary, &options), check(&full, &options), "{name}");
    }
}

#[test]
fn exported_host_symbols_are_found() {
    let mut file = Object::new(BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let text = file.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    file.set_section_data(text, vec![0; 16], 16);
    for (name, section, scope) in [
        ("exported", SymbolSection::Section(text), SymbolScope::Dynamic),
        ("imported", SymbolSection::Undefined, SymbolScope::Unknown),
        ("private", SymbolSection::Section(text), SymbolScope::Compilation),
    ] {
        file.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope,
            weak: false,
            section,
            flags: SymbolFlags::None,
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.o");
    fs::write(&path, file.write().unwrap()).unwrap();
    let wanted = ["exported", "imported", "private", "absent"];
    let (inspection, _) = scanned(&path, Detail::Summary, &wanted);
    assert_eq!(inspection.host_symbols, ["exported"]);
    let require_symbols = wanted.iter().map(|name| (*name).to_owned()).collect();
    let options = Options { require_symbols, allow_empty: true, ..Options::default() };
    let report = check(&inspection, &options);
    assert_eq!(report.findings.iter().filter(|one| one.code == "symbol-missing").count(), 3);
}

#[test]
fn what_cannot_be_opened_is_an_error_with_its_name() {
    let scan =
        Scan { limits: Limits::default(), detail: Detail::Summary, symbols: &BTreeSet::new(), progress: &|_| {} };
    let error = scan.path(Path::new("no/such/file")).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file: "), "{error}");
}

/// Ten thousand entries that all mean the same compressed megabytes: the square of the file.
#[test]
fn bytes_that_are_pointed_at_again_and_again_are_bounded() {
    let mut image = fixture("add_v6.hsaco");
    image.resize(1 << 20, 0);
    let mut bytes = offload_binary(2, "amdgcn-amd-amdhsa", "gfx1100", &image);
    let entry = bytes[32..72].to_vec();
    let at = bytes.len() as u64;
    let count = 10_000u64;
    for _ in 0..count {
        bytes.extend_from_slice(&entry);
    }
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    bytes[16..24].copy_from_slice(&at.to_le_bytes());
    bytes[24..32].copy_from_slice(&count.to_le_bytes());
    let inspection = inspect(&bytes, "file");
    assert!(inspection.images.len() as u64 <= Limits::default().work(size) >> 20);
    assert!(inspection.faults.iter().any(|fault| fault.message.contains("than its size allows")));
}
