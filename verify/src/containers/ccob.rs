//! Compressed offload bundles (`CCOB`), format versions 1 to 3.
//!
//! Source: LLVM, "Clang Offload Bundler", Compressed Offload Bundle. All little-endian: magic, u16
//! version, u16 method (0 zlib, 1 zstd), then
//! v1: u32 unpacked size, u64 hash (20 bytes, and no total size);
//! v2: u32 total size, u32 unpacked size, u64 hash (24 bytes);
//! v3: u64 total size, u64 unpacked size, u64 hash (32 bytes).
//! The total counts the header. The hash is the low half of the MD5 of the unpacked bundle.
//!
//! A bundle of 30 MB can unpack to 2.4 GB, so images are unpacked one after the other and dropped,
//! while a second thread hashes.

mod hashed;

use std::io::{self, BufRead, Read};

use self::hashed::Stream;
use super::unpack::{Method, reader};
use super::{Found, Place, Walker, bundle};
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::ReadError;
use crate::limits::Limits;
use crate::model::{ContainerKind, FaultKind};

pub(super) const MAGIC: &[u8] = b"CCOB";
const WHAT: &str = "compressed offload bundle";
/// From here a v2 bundle comes near what its 32-bit sizes can say.
const V2_LARGE: u64 = 0xf000_0000;

struct Header {
    kind: ContainerKind,
    method: Method,
    /// Length of the header.
    length: usize,
    /// Header and payload; absent in v1.
    total: Option<u64>,
    unpacked: u64,
    hash: u64,
}

fn header(bytes: &[u8]) -> Result<Header, ReadError> {
    let cut = || ReadError::malformed(WHAT, "ends inside its header");
    let version = u16_at(bytes, 4).ok_or_else(cut)?;
    let method = match u16_at(bytes, 6).ok_or_else(cut)? {
        0 => Method::Zlib,
        1 => Method::Zstd,
        other => {
            let detail = format!("compression method {other}, understood are 0 (zlib) and 1 (zstd)");
            return Err(ReadError::unsupported(WHAT, detail));
        }
    };
    let wide = |at| u64_at(bytes, at).ok_or_else(cut);
    let narrow = |at| u32_at(bytes, at).map(u64::from).ok_or_else(cut);
    Ok(match version {
        1 => Header {
            kind: ContainerKind::CcobV1,
            method,
            length: 20,
            total: None,
            unpacked: narrow(8)?,
            hash: wide(12)?,
        },
        2 => Header {
            kind: ContainerKind::CcobV2,
            method,
            length: 24,
            total: Some(narrow(8)?),
            unpacked: narrow(12)?,
            hash: wide(16)?,
        },
        3 => Header {
            kind: ContainerKind::CcobV3,
            method,
            length: 32,
            total: Some(wide(8)?),
            unpacked: wide(16)?,
            hash: wide(24)?,
        },
        _ => {
            let detail = format!("version {version}, understood are 1 to 3");
            return Err(ReadError::unsupported(WHAT, detail));
        }
    })
}

/// Extent of the bundle that begins `bytes`.
pub(super) fn length(bytes: &[u8], limits: &Limits) -> Result<usize, ReadError> {
    let header = header(bytes)?;
    let Some(total) = header.total else {
        let payload = bytes.get(header.length..).unwrap_or(&[]);
        return Ok(header.length + payload_length(&header, payload, limits)?);
    };
    match usize::try_from(total) {
        Ok(total) if total > header.length && total <= bytes.len() => Ok(total),
        _ => {
            let detail = format!("states a total of {total} bytes, {} are there", bytes.len());
            Err(ReadError::malformed(WHAT, detail))
        }
    }
}

/// Version 1 states no total: the compressed stream itself tells where it ends.
fn payload_length(header: &Header, payload: &[u8], limits: &Limits) -> Result<usize, ReadError> {
    match header.method {
        Method::Zstd => zstd::zstd_safe::find_frame_compressed_size(payload)
            .map_err(|_| ReadError::malformed(WHAT, "holds no whole zstd frame")),
        _ => {
            let limit = limits.unpacked(payload.len() as u64).min(header.unpacked);
            let mut decoder = flate2::bufread::ZlibDecoder::new(payload);
            let copied = io::copy(&mut (&mut decoder).take(limit + 1), &mut io::sink());
            copied.map_err(|error| ReadError::malformed(WHAT, error.to_string()))?;
            let read = usize::try_from(decoder.total_in()).unwrap_or(payload.len());
            Ok(read.min(payload.len()))
        }
    }
}

/// Opens the bundle that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    let header = match header(bytes) {
        Ok(header) => header,
        Err(error) => {
            found.refused(place, &error);
            return found;
        }
    };
    found.container(place, header.kind, bytes.len());
    if header.kind == ContainerKind::CcobV2 && header.unpacked >= V2_LARGE {
        let message = format!("version 2 unpacks to {} bytes, its limit is 4 GiB", header.unpacked);
        found.fault(place, FaultKind::TooLarge, message);
    }
    let payload = bytes.get(header.length..).unwrap_or(&[]);
    let limit = walker.limits.unpacked(payload.len() as u64);
    if header.unpacked > limit {
        let message =
            format!("{WHAT}: declares {} unpacked bytes, {limit} are allowed for {}", header.unpacked, payload.len());
        found.malformed(place, message);
        return found;
    }
    let place = &Place { sequential: true, ..place.clone() };
    match stream(walker, &header, payload, place, &mut found) {
        Ok(hash) if hash == header.hash => {}
        Ok(hash) => {
            let message = format!("{WHAT}: hash {hash:016x}, the header says {:016x}", header.hash);
            found.malformed(place, message);
        }
        Err(message) => found.malformed(place, format!("{WHAT}: {message}")),
    }
    found
}

/// Reads the payload from front to back; returns the hash of what it unpacked to.
fn stream(
    walker: &Walker<'_>,
    header: &Header,
    payload: &[u8],
    place: &Place,
    found: &mut Found,
) -> Result<u64, String> {
    let packed = reader(header.method, payload, header.unpacked).map_err(|error| error.to_string())?;
    // One byte more than declared, to notice more.
    let packed = packed.take(header.unpacked.saturating_add(1));
    hashed::read(packed, header.unpacked, |stream| images(walker, header, stream, place, found))
}

/// Reads the inner bundle's header, then image after image; leaves nothing unread.
fn images<R: Read>(
    walker: &Walker<'_>,
    header: &Header,
    stream: &mut Stream<R>,
    place: &Place,
    found: &mut Found,
) -> Result<(), String> {
    let entries = inner_header(stream, header.unpacked, &walker.limits)?;
    if let Some(message) = bundle::overlap(&entries) {
        return Err(message);
    }
    let mut order: Vec<&bundle::Entry> = entries.iter().collect();
    order.sort_by_key(|entry| entry.offset);
    let mut image = Vec::new();
    for entry in order {
        if entry.offset.checked_add(entry.size).is_none_or(|end| end > header.unpacked) {
            found.malformed(&place.image(&entry.id), bundle::outside(entry, header.unpacked));
            continue;
        }
        if entry.size > 0 {
            skip(stream, entry.offset.saturating_sub(stream.position()))?;
        }
        image.clear();
        // No more than the limits allow: the declared size was checked, and this entry lies within.
        image.reserve_exact(usize::try_from(entry.size).unwrap_or(0));
        let read = stream.by_ref().take(entry.size).read_to_end(&mut image);
        read.map_err(|error| error.to_string())?;
        if image.len() as u64 != entry.size {
            return Err(format!("ends inside entry {}", entry.id));
        }
        found.join(bundle::image_of(walker, &image, entry, place));
    }
    skip(stream, u64::MAX)?;
    if stream.position() == header.unpacked {
        Ok(())
    } else {
        Err(format!("{} unpacked bytes declared, {} found", header.unpacked, stream.position()))
    }
}

/// Reads the header of the inner bundle field by field: it states no length of its own, and the
/// first image may begin right behind it.
fn inner_header<R: Read>(stream: &mut Stream<R>, unpacked: u64, limits: &Limits) -> Result<Vec<bundle::Entry>, String> {
    let mut bytes = Vec::new();
    more(stream, &mut bytes, 32)?;
    if !bytes.starts_with(bundle::MAGIC) {
        return Err("unpacks to something that is no offload bundle".to_owned());
    }
    let count = u64_at(&bytes, 24).unwrap_or(0);
    for _ in 0..count {
        let at = bytes.len();
        more(stream, &mut bytes, 24)?;
        let length = u64_at(&bytes, at + 16).unwrap_or(0);
        if length > bundle::ID_BYTES || bytes.len() as u64 > unpacked {
            return Err(format!("the unpacked bundle has an entry ID of {length} bytes"));
        }
        more(stream, &mut bytes, length)?;
    }
    let (entries, _) = bundle::header(&bytes, limits)?;
    Ok(entries)
}

/// Appends exactly `count` bytes.
fn more<R: Read>(stream: &mut Stream<R>, bytes: &mut Vec<u8>, count: u64) -> Result<(), String> {
    let read = stream.by_ref().take(count).read_to_end(bytes);
    if read.map_err(|error| error.to_string())? as u64 == count {
        Ok(())
    } else {
        Err("the unpacked bundle ends inside its header".to_owned())
    }
}

/// Reads over `count` bytes, or to the end.
fn skip<R: Read>(stream: &mut Stream<R>, mut count: u64) -> Result<(), String> {
    while count > 0 {
        let there = stream.fill_buf().map_err(|error| error.to_string())?.len();
        if there == 0 {
            break;
        }
        let step = usize::try_from(count).map_or(there, |count| count.min(there));
        stream.consume(step);
        count -= step as u64;
    }
    Ok(())
}
