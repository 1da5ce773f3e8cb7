//! LLVM OffloadBinary, versions 1 to 3: what `.llvm.offloading` sections hold.
//!
//! Source: LLVM, llvm/Object/OffloadBinary.h. All little-endian: magic, u32 version, u64 size, u64
//! offset of the entries, u64 entry size (v1) or number of entries (v2 and later); v3 adds u64
//! unpacked size. Entry: u16 image kind, u16 offload kind, u32 flags, u64 string offset, u64 number
//! of strings, u64 image offset, u64 image size. Strings: pairs of offsets of NUL-terminated text;
//! v2 and later add the size of the value.

use super::unpack::{self, method};
use super::{Found, Place, Walker};
use crate::bytes::{c_string, slice, u32_at, u64_at};
use crate::model::{ContainerKind, FaultKind};

pub(super) const MAGIC: &[u8] = &[0x10, 0xff, 0x10, 0xad];
const ENTRY_BYTES: u64 = 40;

/// Extent of the binary that begins `bytes`.
pub(super) fn length(bytes: &[u8]) -> Result<usize, String> {
    let size = u64_at(bytes, 8).ok_or("offload binary ends inside its header")?;
    match usize::try_from(size) {
        Ok(size) if size >= 32 && size <= bytes.len() => Ok(size),
        _ => Err(format!("offload binary of {size} bytes, {} are there", bytes.len())),
    }
}

/// Opens the binary that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    found.container(place, ContainerKind::OffloadBinary, bytes.len());
    let version = u32_at(bytes, 4).unwrap_or(0);
    let result = match version {
        1 => entries(bytes, 1),
        2 => u64_at(bytes, 24).and_then(|count| entries(bytes, count)),
        3 => return open_v3(walker, bytes, place, found),
        _ => {
            let message = format!("offload binary version {version}, understood are 1 to 3");
            found.fault(place, FaultKind::Unreadable, message);
            return found;
        }
    };
    let Some(entries) = result else {
        found.malformed(place, "offload binary: an entry lies outside");
        return found;
    };
    found.join(walker.each(&entries, place, |at| entry(walker, bytes, *at, version, place)));
    found
}

/// Version 3 may hold everything after its header compressed; inside is the same layout.
fn open_v3(walker: &Walker<'_>, bytes: &[u8], place: &Place, mut found: Found) -> Found {
    const HEADER: usize = 40;
    let payload = bytes.get(HEADER..).unwrap_or(&[]);
    let inflated = u64_at(bytes, 32).unwrap_or(0);
    if inflated > 0
        && let Some(method) = method(payload).or_else(|| zlib(payload))
    {
        match unpack::all(method, payload, None, &walker.limits) {
            Ok(unpacked) => {
                // Offsets count from the start of the uncompressed binary, header included.
                let mut whole = bytes.get(..HEADER).unwrap_or(&[]).to_vec();
                whole.extend_from_slice(&unpacked);
                found.join(list(walker, &whole, place));
            }
            Err(error) => found.refused(place, &error),
        }
    } else {
        found.join(list(walker, bytes, place));
    }
    found
}

fn list(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    match u64_at(bytes, 24).and_then(|count| entries(bytes, count)) {
        Some(entries) => walker.each(&entries, place, |at| entry(walker, bytes, *at, 3, place)),
        None => {
            let mut found = Found::default();
            found.malformed(place, "offload binary: an entry lies outside");
            found
        }
    }
}

/// zlib streams have no magic; the usual first bytes are taken for one.
fn zlib(bytes: &[u8]) -> Option<unpack::Method> {
    matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]).then_some(unpack::Method::Zlib)
}

/// Offsets of all entries, if they lie inside.
fn entries(bytes: &[u8], count: u64) -> Option<Vec<u64>> {
    let first = u64_at(bytes, 16)?;
    slice(bytes, first, count.checked_mul(ENTRY_BYTES)?)?;
    Some((0..count).map(|number| first + number * ENTRY_BYTES).collect())
}

fn entry(walker: &Walker<'_>, bytes: &[u8], at: u64, version: u32, place: &Place) -> Found {
    let mut found = Found::default();
    let field = |offset| slice(bytes, at + offset, 8).and_then(|field| u64_at(field, 0));
    let (Some(strings), Some(count), Some(offset), Some(size)) = (field(8), field(16), field(24), field(32)) else {
        found.malformed(place, "offload binary: an entry lies outside");
        return found;
    };
    let get = |key: &str| string(bytes, strings, count, version, key);
    let triple = get("triple").unwrap_or_default();
    let arch = get("arch").unwrap_or_default();
    let name = match (triple.as_str(), arch.as_str()) {
        ("", "") => "image".to_owned(),
        (triple, "") => triple.to_owned(),
        (triple, arch) => format!("{triple}--{arch}"),
    };
    let inside = place.image(&name);
    match slice(bytes, offset, size) {
        Some(image) if !image.is_empty() => found.join(walker.walk(image, &inside)),
        _ => found.malformed(&inside, format!("image at {offset} with {size} bytes lies outside")),
    }
    found
}

/// The value of `key` among the entry's strings.
fn string(bytes: &[u8], table: u64, count: u64, version: u32, key: &str) -> Option<String> {
    let width: u64 = if version == 1 { 16 } else { 24 };
    // A handful in practice; hostile counts end at the first one outside.
    for number in 0..count.min(64) {
        let row = slice(bytes, table.checked_add(number.checked_mul(width)?)?, width)?;
        if c_string(bytes, u64_at(row, 0)?)? == key {
            return c_string(bytes, u64_at(row, 8)?);
        }
    }
    None
}
