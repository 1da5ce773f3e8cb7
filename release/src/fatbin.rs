//! Format `fatbin`: for each world one CUDA fat binary with the PTX of all NVIDIA targets and, where `ptxas` is there, their
//! machine code, which `cuModuleLoadData` chooses from.
//!
//! NVIDIA documents no layout; this one is that of uncompressed files which CUDA 13's `fatbinary` writes, field for field.
//! Container: u32 magic, u16 version 1, u16 header size 16, u64 size of the entries. Entry: u16 kind (1 PTX, 2 ELF), u16 0x101,
//! u32 header size, u64 padded payload size, u32 compressed size (0), u32 offset of options, u16 minor and u16 major (PTX: its
//! `.version`; ELF: ABI version, 1), u32 sm, u32 and u32 name (0), u64 flags (1 64-bit, 0x10 Linux), u64, u64 unpacked size (0).
//! PTX has 16 bytes of options more in its header, all but one number 0, and a payload that ends in a zero byte.

use std::path::Path;
use std::process::Command;

use xreduce_codegen::family::Family;
use xreduce_contract::manifest::{Format, Module};

use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;

const FORMAT: &str = "fatbin";
const MAGIC: u32 = 0xBA55_ED50;
const ENTRY: u32 = 64;
const OPTIONS: u32 = 16;

/// `xreduce-w<world>.fatbin` for each world, with machine code if a `ptxas` is given.
///
/// # Errors
/// [`Error::Format`] for a bundle without NVIDIA modules; [`Error::Program`] when `ptxas` fails.
pub(crate) fn files(bundle: &Bundle, ptxas: Option<&Path>) -> Result<Contents, Error> {
    let mut contents = Contents::new();
    for (world, modules) in bundle.by_world(Family::Nvptx) {
        let mut entries = Vec::new();
        for (_, module) in modules {
            let (sm, [minor, major]) = facts(module)?;
            let ptx = bundle.bytes(module);
            if let Some(ptxas) = ptxas {
                let cubin = assemble(ptxas, &format!("sm_{sm}"), ptx)?;
                let abi = cubin.get(8).copied().unwrap_or(0);
                entry(&mut entries, 2, sm, [u16::from(abi), 1], &cubin);
            }
            entry(&mut entries, 1, sm, [minor, major], ptx);
        }
        let mut bytes = Vec::from(MAGIC.to_le_bytes());
        bytes.extend_from_slice(&1u16.to_le_bytes());
        bytes.extend_from_slice(&16u16.to_le_bytes());
        bytes.extend_from_slice(&(entries.len() as u64).to_le_bytes());
        bytes.extend(entries);
        contents.insert(format!("xreduce-w{world}.fatbin"), bytes);
    }
    if contents.is_empty() {
        return Err(Error::Format {
            format: FORMAT,
            message: "the bundle has no target of the family nvptx".to_owned(),
        });
    }
    Ok(contents)
}

/// Architecture number, and version as minor and major.
fn facts(module: &Module) -> Result<(u32, [u16; 2]), Error> {
    let unlike = |what: &str| Error::Format { format: FORMAT, message: format!("{}: {what}", module.file) };
    let Format::Ptx { ptx_version, ptx_target } = &module.format else {
        return Err(unlike("is no PTX"));
    };
    let sm = ptx_target.strip_prefix("sm_").and_then(|number| number.parse().ok());
    let sm = sm.ok_or_else(|| unlike(&format!("expected a target `sm_<number>`, found `{ptx_target}`")))?;
    let parts = ptx_version.split_once('.').and_then(|(major, minor)| Some([minor.parse().ok()?, major.parse().ok()?]));
    Ok((sm, parts.ok_or_else(|| unlike(&format!("expected a version `7.8`, found `{ptx_version}`")))?))
}

fn entry(to: &mut Vec<u8>, kind: u16, sm: u32, [minor, major]: [u16; 2], payload: &[u8]) {
    let is_ptx = kind == 1;
    let header = if is_ptx { ENTRY + OPTIONS } else { ENTRY };
    let padded = (payload.len() + usize::from(is_ptx)).next_multiple_of(8);
    let start = to.len();
    for half in [kind, 0x101] {
        to.extend_from_slice(&half.to_le_bytes());
    }
    to.extend_from_slice(&header.to_le_bytes());
    to.extend_from_slice(&(padded as u64).to_le_bytes());
    to.extend_from_slice(&0u32.to_le_bytes());
    to.extend_from_slice(&(if is_ptx { ENTRY } else { 0 }).to_le_bytes());
    for half in [minor, major] {
        to.extend_from_slice(&half.to_le_bytes());
    }
    for word in [sm, 0, 0] {
        to.extend_from_slice(&word.to_le_bytes());
    }
    for long in [0x11u64, 0, 0] {
        to.extend_from_slice(&long.to_le_bytes());
    }
    if is_ptx {
        // Options: the offset of their text, 8 bytes on, and no text.
        to.extend_from_slice(&(ENTRY + 8).to_le_bytes());
        to.extend_from_slice(&[0; 12]);
    }
    to.extend_from_slice(payload);
    to.resize(start + header as usize + padded, 0);
}

/// Machine code for one architecture.
fn assemble(ptxas: &Path, architecture: &str, ptx: &[u8]) -> Result<Vec<u8>, Error> {
    let failed = |message: String| Error::Program { program: ptxas.to_path_buf(), message };
    let folder = tempfile::tempdir().map_err(|cause| failed(cause.to_string()))?;
    // Relative names: what ptxas writes down of them is then the same everywhere.
    std::fs::write(folder.path().join("in.ptx"), ptx).map_err(|cause| failed(cause.to_string()))?;
    let mut command = Command::new(ptxas);
    command.current_dir(folder.path()).args(["-arch", architecture, "-o", "out.cubin", "in.ptx"]);
    let output = command.output().map_err(|cause| failed(cause.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    std::fs::read(folder.path().join("out.cubin")).map_err(|cause| failed(cause.to_string()))
}
