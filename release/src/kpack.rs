//! Format `kpack`: a ROCm kernel pack with the code objects of all AMD targets and worlds.
//!
//! Source: rocm-kpack, archive format 1: magic `KPAK`, u32 version, u64 offset of the table of contents; blobs at 64-byte
//! alignment; the table, MessagePack: `format_version`, `group_name`, `gfx_arch_family`, `gfx_arches`, `compression_scheme`,
//! `blobs` (offset and size of each) and `toc`: path to architecture to type, ordinal, original size. A path here is a world.

use rmp::encode::{write_array_len, write_map_len, write_str, write_uint};
use xreduce_codegen::family::Family;
use xreduce_contract::World;

use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;

const FORMAT: &str = "kpack";
const ALIGN: usize = 64;
/// Magic, version and the offset of the table.
const HEADER: usize = 16;

/// `xreduce-all.kpack`, named by group and family as packs are.
///
/// # Errors
/// [`Error::Format`] for a bundle without AMD modules.
pub(crate) fn files(bundle: &Bundle) -> Result<Contents, Error> {
    let worlds = bundle.by_world(Family::Amdgpu);
    if worlds.is_empty() {
        return Err(Error::Format {
            format: FORMAT,
            message: "the bundle has no target of the family amdgpu".to_owned(),
        });
    }
    let mut bytes = vec![0; HEADER];
    let mut blobs = Vec::new();
    let mut paths = Vec::new();
    for (world, modules) in worlds {
        let mut path: Path<'_> = Vec::new();
        for (_, module) in modules {
            let blob = bundle.bytes(module);
            bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
            path.push((bundle.device_target(module), blobs.len(), blob.len()));
            blobs.push((bytes.len(), blob.len()));
            bytes.extend_from_slice(blob);
        }
        paths.push((world, path));
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    let at = bytes.len() as u64;
    let failed = |cause: rmp::encode::ValueWriteError| Error::Format { format: FORMAT, message: cause.to_string() };
    bytes.extend(table(&blobs, &paths).map_err(failed)?);
    let header = *b"KPAK";
    let header = header.into_iter().chain(1u32.to_le_bytes()).chain(at.to_le_bytes());
    for (to, from) in bytes.iter_mut().zip(header) {
        *to = from;
    }
    Ok(Contents::from([("xreduce-all.kpack".to_owned(), bytes)]))
}

/// Architecture, ordinal and size of each code object of one path.
type Path<'a> = Vec<(&'a str, usize, usize)>;

fn table(blobs: &[(usize, usize)], paths: &[(World, Path<'_>)]) -> Result<Vec<u8>, rmp::encode::ValueWriteError> {
    let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut arches: Vec<&str> = paths.iter().flat_map(|(_, path)| path.iter().map(|(arch, ..)| *arch)).collect();
    arches.sort_unstable();
    arches.dedup();
    let mut out = Vec::new();
    write_map_len(&mut out, 7)?;
    write_str(&mut out, "format_version")?;
    write_uint(&mut out, 1)?;
    for (key, text) in [("group_name", "xreduce"), ("gfx_arch_family", "all"), ("compression_scheme", "none")] {
        write_str(&mut out, key)?;
        write_str(&mut out, text)?;
    }
    write_str(&mut out, "gfx_arches")?;
    write_array_len(&mut out, length(arches.len()))?;
    for arch in arches {
        write_str(&mut out, arch)?;
    }
    write_str(&mut out, "blobs")?;
    write_array_len(&mut out, length(blobs.len()))?;
    for (offset, size) in blobs {
        write_map_len(&mut out, 2)?;
        for (key, number) in [("offset", offset), ("size", size)] {
            write_str(&mut out, key)?;
            write_uint(&mut out, *number as u64)?;
        }
    }
    write_str(&mut out, "toc")?;
    write_map_len(&mut out, length(paths.len()))?;
    for (world, path) in paths {
        write_str(&mut out, &format!("xreduce-w{world}"))?;
        write_map_len(&mut out, length(path.len()))?;
        for (arch, ordinal, size) in path {
            write_str(&mut out, arch)?;
            write_map_len(&mut out, 3)?;
            write_str(&mut out, "type")?;
            write_str(&mut out, "hsaco")?;
            for (key, number) in [("ordinal", ordinal), ("original_size", size)] {
                write_str(&mut out, key)?;
                write_uint(&mut out, *number as u64)?;
            }
        }
    }
    Ok(out)
}
