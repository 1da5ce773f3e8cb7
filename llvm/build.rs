//! Links LLVM, LLD and what they need by archive, so that the binary runs where there is no LLVM.
//!
//! `LLVM_SYS_221_PREFIX` names LLVM's folder; without it, Debian's. `llvm-config` does not know LLD's archives.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The back ends that the binary holds.
const TARGETS: [&str; 3] = ["AMDGPU", "NVPTX", "SPIRV"];

/// What only C++ can call.
const CPP: [&str; 2] = ["src/lld.cc", "src/processor.cc"];

fn main() -> Result<(), Box<dyn Error>> {
    for file in CPP {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let config = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let program = format!("{prefix}/bin/llvm-config");
        let output = Command::new(&program).args(arguments).output().map_err(|cause| {
            format!(
                "{program}: {cause}; install LLVM 22 (Debian: llvm-22-dev, liblld-22-dev, libpolly-22-dev) or set LLVM_SYS_221_PREFIX"
            )
        })?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let version = config(&["--version"])?;
    if !version.starts_with("22.") {
        return Err(format!("{prefix} holds LLVM {version}, expected 22").into());
    }
    println!("cargo::rustc-env=XREDUCE_LLVM_VERSION={version}");
    let include = config(&["--includedir"])?;

    let mut shim = cc::Build::new();
    shim.cpp(true).cpp_link_stdlib(None).std("c++17").include(&include).warnings(false).files(CPP);
    shim.flag("-fno-exceptions");
    if config(&["--has-rtti"])? == "NO" {
        shim.flag("-fno-rtti");
    }
    shim.compile("xreduce_cpp");

    // LLD initialises every target of LLVM by name; empty functions keep those that are never used out of the binary.
    let stubs = Path::new(&env::var("OUT_DIR")?).join("stubs.c");
    fs::write(&stubs, unused_initialisers(&include)?)?;
    cc::Build::new().file(&stubs).compile("xreduce_stubs");

    println!("cargo::rustc-link-search=native={}", config(&["--libdir"])?);
    for library in ["lldELF", "lldCommon"] {
        println!("cargo::rustc-link-lib=static:-bundle={library}");
    }
    for library in config(&["--link-static", "--libnames"])?.split_whitespace() {
        println!("cargo::rustc-link-lib=static:-bundle={}", library.trim_start_matches("lib").trim_end_matches(".a"));
    }
    // Where the compiler finds its own archives.
    let compiler = cc::Build::new().cpp(true).get_compiler();
    for library in ["zstd", "z", "ffi", "stdc++"] {
        let output = compiler.to_command().arg(format!("-print-file-name=lib{library}.a")).output()?;
        let archive = String::from_utf8(output.stdout)?;
        let folder = Path::new(archive.trim()).parent().filter(|folder| folder.is_absolute());
        let folder = folder.ok_or_else(|| {
            format!("lib{library}.a is not installed (Debian: libzstd-dev, zlib1g-dev, libffi-dev, g++)")
        })?;
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle={library}");
    }
    for library in ["dl", "m", "rt"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
    Ok(())
}

fn unused_initialisers(include: &str) -> Result<String, Box<dyn Error>> {
    let kinds: [(&str, &str, &[&str]); 3] = [
        ("Targets", "LLVM_TARGET", &["TargetInfo", "Target", "TargetMC"]),
        ("AsmPrinters", "LLVM_ASM_PRINTER", &["AsmPrinter"]),
        ("AsmParsers", "LLVM_ASM_PARSER", &["AsmParser"]),
    ];
    let mut stubs = String::new();
    for (file, name, functions) in kinds {
        let text = fs::read_to_string(format!("{include}/llvm/Config/{file}.def"))?;
        let listed =
            text.lines().filter_map(|line| line.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')'));
        for target in listed.filter(|target| !TARGETS.contains(target)) {
            for function in functions {
                writeln!(stubs, "void LLVMInitialize{target}{function}(void) {{}}")?;
            }
        }
    }
    Ok(stubs)
}
