//! Format `hip`: for each world one clang offload bundle with all AMD targets, which `hipModuleLoadData` chooses from.
//!
//! Source: LLVM, "Clang Offload Bundler": Bundled Binary File Layout, Compressed Offload Bundle. Uncompressed unless asked:
//! runtimes older than a compression format reject it when a module is loaded, on the user's machine.

use md5::{Digest as _, Md5};
use xreduce_codegen::family::Family;

use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;

const FORMAT: &str = "hip";
const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// Runtimes map images where they lie, so they begin on pages.
const ALIGN: usize = 4096;
/// Every bundle that clang writes begins with an empty entry for the host.
const HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// `xreduce-w<world>.hipfb` for each world; compressed (CCOB version 3, zstd) if asked for.
///
/// # Errors
/// [`Error::Format`] for a bundle without AMD modules.
pub(crate) fn files(bundle: &Bundle, compress: bool) -> Result<Contents, Error> {
    let mut contents = Contents::new();
    for (world, modules) in bundle.by_world(Family::Amdgpu) {
        let images: Vec<(String, &[u8])> = modules
            .into_iter()
            .map(|(_, module)| {
                (format!("hipv4-amdgcn-amd-amdhsa--{}", bundle.device_target(module)), bundle.bytes(module))
            })
            .collect();
        let plain = offload_bundle(&images);
        let bytes = if compress { compressed(&plain)? } else { plain };
        contents.insert(format!("xreduce-w{world}.hipfb"), bytes);
    }
    if contents.is_empty() {
        return Err(Error::Format {
            format: FORMAT,
            message: "the bundle has no target of the family amdgpu".to_owned(),
        });
    }
    Ok(contents)
}

fn offload_bundle(images: &[(String, &[u8])]) -> Vec<u8> {
    let ids = || std::iter::once(HOST).chain(images.iter().map(|(id, _)| id.as_str()));
    let header = MAGIC.len() + 8 + ids().map(|id| 24 + id.len()).sum::<usize>();
    let mut entries = Vec::new();
    entries.extend_from_slice(MAGIC);
    entries.extend_from_slice(&(images.len() as u64 + 1).to_le_bytes());
    let mut end = header.next_multiple_of(ALIGN);
    let mut places = Vec::new();
    for (id, size) in ids().zip(std::iter::once(0).chain(images.iter().map(|(_, bytes)| bytes.len()))) {
        let at = end;
        for number in [at, size, id.len()] {
            entries.extend_from_slice(&(number as u64).to_le_bytes());
        }
        entries.extend_from_slice(id.as_bytes());
        places.push(at);
        end = (at + size).next_multiple_of(ALIGN);
    }
    for (at, (_, bytes)) in places.into_iter().skip(1).zip(images) {
        entries.resize(at, 0);
        entries.extend_from_slice(bytes);
    }
    entries
}

/// CCOB version 3: magic, u16 version, u16 method (1: zstd), u64 total size, u64 unpacked size, u64 low half of the MD5.
fn compressed(plain: &[u8]) -> Result<Vec<u8>, Error> {
    let packed = crate::tarball::zstd(plain)?;
    let hash = Md5::digest(plain);
    let mut bytes = Vec::from(*b"CCOB");
    bytes.extend_from_slice(&3u16.to_le_bytes());
    bytes.extend_from_slice(&1u16.to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u64 + 32).to_le_bytes());
    bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    bytes.extend(hash.iter().take(8));
    bytes.extend(packed);
    Ok(bytes)
}
