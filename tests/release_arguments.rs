//! Kernel arguments of all targets and algorithms: manifest, C header, and what each artifact declares of itself all agree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{build, llvm, text, tool, xreduce};
use serde_json::Value;

/// Every target and algorithm; arguments depend on the number of ranks, for which two stand, and not on the element.
fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("arguments");
        text(&mut build(&out, &["--element", "f32", "--world", "2", "--world", "5"]));
        out
    })
}

/// Modules of one format.
fn modules(extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for target in manifest()["targets"].as_array().unwrap() {
        let files = target["modules"].as_array().unwrap().iter().map(|module| module["file"].as_str().unwrap());
        found.extend(files.filter(|file| file.ends_with(extension)).map(|file| bundle().join(file)));
    }
    assert!(!found.is_empty());
    found
}

/// Offset and size of each argument, in order, by kernel.
type Lists = BTreeMap<String, Vec<(u64, u64)>>;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn manifest() -> Value {
    serde_json::from_str(&std::fs::read_to_string(bundle().join("manifest.json")).unwrap()).unwrap()
}

/// Every kernel's name, algorithm, wire, world and arguments in the manifest, once for all targets that agree.
fn kernels() -> Vec<(String, Value)> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for target in manifest()["targets"].as_array().unwrap() {
        for module in target["modules"].as_array().unwrap() {
            for kernel in module["kernels"].as_array().unwrap() {
                let mut kernel = kernel.clone();
                kernel["world"] = module["world"].clone();
                let symbol = kernel["symbol"].as_str().unwrap().to_owned();
                let first = found.entry(symbol).or_insert_with(|| kernel.clone());
                assert_eq!(first["arguments"], kernel["arguments"], "two targets differ");
            }
        }
    }
    found.into_iter().collect()
}

fn of_manifest() -> Lists {
    let list = |kernel: &Value| {
        let arguments = kernel["arguments"].as_array().unwrap().iter();
        arguments.map(|argument| (number(&argument["offset"]), number(&argument["size"]))).collect()
    };
    kernels().into_iter().map(|(symbol, kernel)| (symbol, list(&kernel))).collect()
}

/// A compiler's offsets of the header's structures, under the name that a kernel's structure has.
#[test]
fn the_header_agrees_with_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("header");
    text(xreduce().arg("bundle").arg(bundle()).args(["--format", "header", "--out"]).arg(&header));
    let mut program = String::from("#include \"xreduce.h\"\n#include <stdio.h>\nint main(void) {\n");
    for (symbol, kernel) in kernels() {
        let word = |key: &str| kernel[key].as_str().unwrap();
        let name = format!("xreduce_{}_{}_w{}_arguments", word("algorithm"), word("wire"), kernel["world"]);
        for argument in kernel["arguments"].as_array().unwrap() {
            let member = argument["name"].as_str().unwrap();
            let _written = writeln!(
                program,
                "    printf(\"{symbol} %u %u\\n\", (unsigned)offsetof(struct {name}, {member}), (unsigned)sizeof(((struct {name} *)0)->{member}));"
            );
        }
    }
    program.push_str("    return 0;\n}\n");
    let source = folder.path().join("offsets.c");
    std::fs::write(&source, program).unwrap();
    let out = folder.path().join("offsets");
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    text(llvm("clang").args(warnings).arg("-I").arg(&header).arg(&source).arg("-o").arg(&out));
    let mut lists = Lists::new();
    for line in text(&mut Command::new(&out)).lines() {
        let [symbol, offset, size]: [&str; 3] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        lists.entry(symbol.to_owned()).or_default().push((offset.parse().unwrap(), size.parse().unwrap()));
    }
    assert_eq!(lists, of_manifest());
}

/// ELF note, PTX parameters and SPIR-V function type, as the verifier reads them. SPIR-V states no offsets: its arguments are
/// set one by one, so their order and sizes decide.
#[test]
fn every_artifact_agrees_with_the_manifest() {
    let expected = of_manifest();
    let report = text(xreduce().args(["verify", "--format", "json"]).arg(bundle()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let mut compared = 0;
    for image in report["inputs"][0]["images"].as_array().unwrap() {
        for kernel in image["kernels"].as_array().unwrap() {
            let name = kernel["name"].as_str().unwrap();
            let list = &expected[name];
            let arguments = kernel["arguments"].as_array().unwrap();
            assert_eq!(arguments.len(), list.len(), "{name}");
            for (argument, (offset, size)) in arguments.iter().zip(list) {
                assert_eq!(number(&argument["bytes"]), *size, "{name}");
                let stated = argument["offset"].as_u64();
                assert_eq!(stated.unwrap_or(*offset), *offset, "{name}");
                assert!(stated.is_some() || image["format"] == "spirv", "{name} states no offset");
            }
            compared += 1;
        }
    }
    let modules = manifest()["targets"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|target| target["modules"].as_array().unwrap().clone())
        .collect::<Vec<_>>();
    let listed: usize = modules.iter().map(|module| module["kernels"].as_array().unwrap().len()).sum();
    assert_eq!(compared, listed);
}

/// The parameters that NVIDIA's assembler writes down for its driver, for one module: all PTX has the same text in it.
#[test]
fn ptxas_agrees_with_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = modules("ptx").into_iter().find(|path| path.ends_with("xreduce-sm_90-w2.ptx")).unwrap();
    let cubin = folder.path().join("cubin");
    text(tool("ptxas").args(["-arch", "sm_90", "-o"]).arg(&cubin).arg(ptx));
    let listing = text(tool("cuobjdump").arg("-elf").arg(&cubin));
    let hex = |line: &str, key: &str| {
        let (_, rest) = line.split_once(key).unwrap();
        let digits = rest.trim_start_matches([' ', ':']).trim_start_matches("0x");
        u64::from_str_radix(digits.split_whitespace().next().unwrap(), 16).unwrap()
    };
    let (mut kernel, mut found) = (String::new(), BTreeMap::<String, BTreeMap<u64, (u64, u64)>>::new());
    for line in listing.lines() {
        if let Some(name) = line.trim().strip_prefix(".nv.info.") {
            kernel = name.to_owned();
        } else if line.contains("Ordinal :") {
            let argument = (hex(line, "Offset"), hex(line, "Size"));
            found.entry(kernel.clone()).or_default().insert(hex(line, "Ordinal"), argument);
        }
    }
    let found: Lists = found.into_iter().map(|(name, list)| (name, list.into_values().collect())).collect();
    let manifest = manifest();
    let target = manifest["targets"].as_array().unwrap().iter().find(|target| target["name"] == "sm_90").unwrap();
    let module = target["modules"].as_array().unwrap().iter().find(|module| module["world"] == 2).unwrap();
    let symbols = module["kernels"].as_array().unwrap().iter().map(|kernel| kernel["symbol"].as_str().unwrap());
    let all = of_manifest();
    let expected: Lists = symbols.map(|symbol| (symbol.to_owned(), all[symbol].clone())).collect();
    assert_eq!(found, expected);
}

/// The function types of SPIR-V, by Khronos' disassembler: the same number of arguments, pointers and words in the same places.
#[test]
fn spirv_dis_agrees_with_the_manifest() {
    let expected = of_manifest();
    let mut compared = 0;
    for path in modules("spv") {
        let listing = text(tool("spirv-dis").args(["--no-color", "--no-indent", "--raw-id"]).arg(&path));
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = listing.lines().map(words).collect();
        let result = |id: &str| lines.iter().find(|line| line.len() > 2 && line[0] == id && line[1] == "=").unwrap();
        let size = |id: &String| match result(id)[2..].iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["OpTypePointer", "CrossWorkgroup", _] => 8,
            ["OpTypeInt", "32", _] => 4,
            other => panic!("{other:?}"),
        };
        for entry in lines.iter().filter(|line| line[0] == "OpEntryPoint" && line[1] == "Kernel") {
            let function = result(&entry[2]);
            let kind = result(function.last().unwrap());
            assert_eq!(kind[2], "OpTypeFunction");
            let sizes: Vec<u64> = kind[4..].iter().map(size).collect();
            let name = entry[3].trim_matches('"');
            let list: Vec<u64> = expected[name].iter().map(|(_, size)| *size).collect();
            assert_eq!(sizes, list, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 0);
}
