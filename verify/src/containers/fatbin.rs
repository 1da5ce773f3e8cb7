//! CUDA fat binaries: `.nv_fatbin`, `__nv_relfatbin`, `.fatbin` files.
//!
//! NVIDIA documents no layout; this one is read off shipped files of CUDA 11 to 13 with cuobjdump as
//! the judge. Container: u32 magic, u16 version 1, u16 header size, u64 size of the entries. Entry:
//! u16 kind (1 PTX, 2 ELF), u32 header size at 4, u64 padded payload size at 8, u32 compressed size
//! at 16, u32 sm at 28, u64 flags at 40, u64 unpacked size at 56. Flag 0x2000: LZ4 block, 0x8000:
//! zstd; neither: stored. Left out: names of entries, options.

use super::unpack::{self, Method};
use super::{Found, Place, Walker};
use crate::bytes::{slice, u16_at, u32_at, u64_at};
use crate::error::ReadError;
use crate::limits::Limits;
use crate::model::{ContainerKind, FaultKind};

pub(super) const MAGIC: &[u8] = &[0x50, 0xed, 0x55, 0xba];

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
/// Smallest entry header seen; all fields read here lie within.
const ENTRY_HEADER: u64 = 64;

struct Entry<'a> {
    kind: u16,
    sm: u32,
    flags: u64,
    compressed: u64,
    unpacked: u64,
    payload: &'a [u8],
}

impl Entry<'_> {
    fn name(&self) -> String {
        match self.kind {
            KIND_PTX => format!("ptx sm_{}", self.sm),
            KIND_ELF => format!("cubin sm_{}", self.sm),
            kind => format!("kind {kind} sm_{}", self.sm),
        }
    }
}

/// Extent of the container that begins `bytes`.
pub(super) fn length(bytes: &[u8]) -> Result<usize, String> {
    let (Some(version), Some(header), Some(size)) = (u16_at(bytes, 4), u16_at(bytes, 6), u64_at(bytes, 8)) else {
        return Err("CUDA fat binary ends inside its header".to_owned());
    };
    if version != 1 || header < 16 {
        return Err(format!("CUDA fat binary of version {version} with a header of {header} bytes"));
    }
    let total = u64::from(header).saturating_add(size);
    match usize::try_from(total) {
        Ok(total) if total <= bytes.len() => Ok(total),
        _ => Err(format!("CUDA fat binary of {total} bytes, {} are there", bytes.len())),
    }
}

/// Opens the container that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    found.container(place, ContainerKind::CudaFatbin, bytes.len());
    let mut rest = bytes.get(usize::from(u16_at(bytes, 6).unwrap_or(0))..).unwrap_or(&[]);
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let Some((entry, next)) = entry(rest) else {
            let at = bytes.len() - rest.len();
            found.malformed(place, format!("entry at {at} is cut or points outside"));
            break;
        };
        entries.push(entry);
        rest = next;
    }
    found.join(walker.each(&entries, place, |entry| open_entry(walker, entry, place)));
    found
}

fn entry(rest: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let header = u64::from(u32_at(rest, 4)?);
    let size = u64_at(rest, 8)?;
    if header < ENTRY_HEADER {
        return None;
    }
    let payload = slice(rest, header, size)?;
    let next = rest.get(usize::try_from(header.checked_add(size)?).ok()?..)?;
    let entry = Entry {
        kind: u16_at(rest, 0)?,
        sm: u32_at(rest, 28)?,
        flags: u64_at(rest, 40)?,
        compressed: u64::from(u32_at(rest, 16)?),
        unpacked: u64_at(rest, 56)?,
        payload,
    };
    Some((entry, next))
}

fn open_entry(walker: &Walker<'_>, entry: &Entry<'_>, place: &Place) -> Found {
    let inside = place.image(&entry.name());
    let mut found = Found::default();
    if !matches!(entry.kind, KIND_PTX | KIND_ELF) {
        let message = format!("entry of kind {}, understood are 1 (PTX) and 2 (ELF)", entry.kind);
        found.fault(&inside, FaultKind::Unreadable, message);
        return found;
    }
    match unpacked(entry, &walker.limits) {
        Ok(None) => walker.walk(entry.payload, &inside),
        Ok(Some(bytes)) => walker.walk(&bytes, &inside),
        Err(error) => {
            found.refused(&inside, &error);
            found
        }
    }
}

/// The payload if it is compressed.
fn unpacked(entry: &Entry<'_>, limits: &Limits) -> Result<Option<Vec<u8>>, ReadError> {
    const WHAT: &str = "CUDA fat binary entry";
    if entry.flags & (FLAG_LZ4 | FLAG_ZSTD) == 0 {
        return Ok(None);
    }
    // The padded size counts up to 7 bytes more than the stream has.
    let packed = slice(entry.payload, 0, entry.compressed)
        .ok_or_else(|| ReadError::malformed(WHAT, "compressed size exceeds the payload"))?;
    if entry.flags & FLAG_ZSTD != 0 {
        return unpack::all(Method::Zstd, packed, Some(entry.unpacked), limits).map(Some);
    }
    // An LZ4 block grows at most 255-fold.
    let bound = entry.compressed.saturating_mul(255).saturating_add(64).min(limits.object_bytes);
    let size = usize::try_from(entry.unpacked).ok().filter(|_| entry.unpacked <= bound).ok_or_else(|| {
        let detail = format!("declares {} bytes for {} of LZ4", entry.unpacked, entry.compressed);
        ReadError::malformed(WHAT, detail)
    })?;
    let bytes =
        lz4_flex::block::decompress(packed, size).map_err(|error| ReadError::malformed(WHAT, error.to_string()))?;
    if bytes.len() == size {
        Ok(Some(bytes))
    } else {
        let detail = format!("unpacks to {} bytes, {size} declared", bytes.len());
        Err(ReadError::malformed(WHAT, detail))
    }
}
