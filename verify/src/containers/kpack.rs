//! ROCm kernel packs: `KPAK` archives, and host files that refer to one.
//!
//! Source: rocm-kpack, archive format 1: magic, u32 version, u64 offset of a MessagePack table of
//! contents; blobs at 64-byte alignment, stored or as single zstd frames. The table: `blobs` (array
//! of maps with offset and size) or `zstd_offset` and `zstd_size`, and `toc`: path to architecture
//! to {type, ordinal, original_size}.

use super::unpack::{self, Method};
use super::{Found, Place, Walker};
use crate::bytes::{slice, u32_at, u64_at};
use crate::error::ReadError;
use crate::model::{ContainerKind, FaultKind};
use crate::msgpack::Cursor;

const MAGIC: &[u8] = b"KPAK";
const WHAT: &str = "kernel pack";

/// One kernel file of the table of contents.
struct Item {
    path: String,
    arch: String,
    ordinal: u64,
    size: u64,
}

#[derive(Default)]
struct Table {
    compressed: bool,
    /// Offset and size of each blob, in order.
    blobs: Vec<(u64, u64)>,
    zstd: Option<(u64, u64)>,
    items: Vec<Item>,
}

pub(super) fn is_kpack(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Opens the pack that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    found.container(place, ContainerKind::Kpack, bytes.len());
    match u32_at(bytes, 4) {
        Some(1) => {}
        Some(version) => {
            let message = format!("{WHAT} version {version}, understood is 1");
            found.fault(place, FaultKind::Unreadable, message);
            return found;
        }
        None => {
            found.malformed(place, format!("{WHAT} ends inside its header"));
            return found;
        }
    }
    let toc = u64_at(bytes, 8).and_then(|at| bytes.get(usize::try_from(at).ok()?..)).filter(|toc| !toc.is_empty());
    let Some(toc) = toc else {
        found.malformed(place, format!("{WHAT}: the table of contents lies outside"));
        return found;
    };
    let (table, blobs) = match table(toc).and_then(|table| Ok((blobs(bytes, &table)?, table))) {
        Ok((blobs, table)) => (table, blobs),
        Err(error) => {
            found.refused(place, &error);
            return found;
        }
    };
    found.join(walker.each(&table.items, place, |item| {
        // Files of the same path for different GPUs are alternatives.
        let inside = place.group(&item.path).image(&item.arch);
        let blob = usize::try_from(item.ordinal).ok().and_then(|at| blobs.get(at));
        let mut found = Found::default();
        match blob {
            None => found.malformed(&inside, format!("{WHAT}: no blob {}", item.ordinal)),
            Some(_) if !walker.afford(item.size, &inside, &mut found) => {}
            Some(blob) if table.compressed => match unpack::all(Method::Zstd, blob, Some(item.size), &walker.limits) {
                Ok(unpacked) => found.join(walker.walk(&unpacked, &inside)),
                Err(error) => found.refused(&inside, &error),
            },
            Some(blob) => found.join(walker.walk(blob, &inside)),
        }
        found
    }));
    found
}

/// The blobs of the pack, still compressed.
fn blobs<'a>(bytes: &'a [u8], table: &Table) -> Result<Vec<&'a [u8]>, ReadError> {
    let outside = || ReadError::malformed(WHAT, "a blob lies outside");
    if let Some((offset, size)) = table.zstd {
        // u32 number of frames, then each as u32 size and the frame.
        let all = slice(bytes, offset, size).ok_or_else(outside)?;
        let count = u32_at(all, 0).ok_or_else(outside)?;
        let mut at = 4u64;
        let mut frames = Vec::new();
        for _ in 0..count {
            let size = slice(all, at, 4).and_then(|size| u32_at(size, 0)).ok_or_else(outside)?;
            frames.push(slice(all, at + 4, u64::from(size)).ok_or_else(outside)?);
            at += 4 + u64::from(size);
        }
        return Ok(frames);
    }
    let blob = |(offset, size): &(u64, u64)| slice(bytes, *offset, *size).ok_or_else(outside);
    table.blobs.iter().map(blob).collect()
}

fn table(bytes: &[u8]) -> Result<Table, ReadError> {
    let mut cursor = Cursor::new(bytes, "kernel pack table of contents");
    let mut table = Table::default();
    let mut zstd = (None, None);
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            "compression_scheme" => table.compressed = scheme(cursor.string()?)?,
            "zstd_offset" => zstd.0 = Some(cursor.unsigned()?),
            "zstd_size" => zstd.1 = Some(cursor.unsigned()?),
            "blobs" => {
                for _ in 0..cursor.array()? {
                    table.blobs.push(blob(&mut cursor)?);
                }
            }
            "toc" => {
                for _ in 0..cursor.map()? {
                    let path = cursor.string()?;
                    for _ in 0..cursor.map()? {
                        let arch = cursor.string()?;
                        table.items.push(item(&mut cursor, path, arch)?);
                    }
                }
            }
            _ => cursor.skip()?,
        }
    }
    if let (Some(offset), Some(size)) = zstd {
        table.zstd = Some((offset, size));
    }
    Ok(table)
}

fn scheme(name: &str) -> Result<bool, ReadError> {
    match name {
        "none" => Ok(false),
        "zstd-per-kernel" => Ok(true),
        other => {
            let detail = format!("compression {other}, understood are none and zstd-per-kernel");
            Err(ReadError::unsupported(WHAT, detail))
        }
    }
}

fn blob(cursor: &mut Cursor<'_>) -> Result<(u64, u64), ReadError> {
    let mut blob = (0, 0);
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            "offset" => blob.0 = cursor.unsigned()?,
            "size" => blob.1 = cursor.unsigned()?,
            _ => cursor.skip()?,
        }
    }
    Ok(blob)
}

fn item(cursor: &mut Cursor<'_>, path: &str, arch: &str) -> Result<Item, ReadError> {
    let mut item = Item { path: path.to_owned(), arch: arch.to_owned(), ordinal: 0, size: 0 };
    for _ in 0..cursor.map()? {
        match cursor.string()? {
            "ordinal" => item.ordinal = cursor.unsigned()?,
            "original_size" => item.size = cursor.unsigned()?,
            _ => cursor.skip()?,
        }
    }
    Ok(item)
}
