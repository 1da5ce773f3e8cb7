//! Packages around host files: zip (Python wheels), tar, and gzip, xz or zstd streams.
//!
//! Members are unpacked one at a time per thread, within the limits. Members that begin like text
//! or pictures are unpacked too: only their bytes tell.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use rayon::prelude::*;
use zip::ZipArchive;

use super::unpack::{self, method};
use super::{Found, Place, Walker};
use crate::model::{ContainerKind, FaultKind};

const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Offset and value of the magic of POSIX and GNU tar headers.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// True for all forms above.
pub(super) fn is_package(bytes: &[u8]) -> bool {
    bytes.starts_with(ZIP_MAGIC) || is_tar(bytes) || method(bytes).is_some()
}

fn is_tar(bytes: &[u8]) -> bool {
    let (at, magic) = TAR_MAGIC;
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// Opens the package that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    if bytes.starts_with(ZIP_MAGIC) {
        found.container(place, ContainerKind::Zip, bytes.len());
        found.join(zip_members(walker, bytes, place));
    } else if is_tar(bytes) {
        found.container(place, ContainerKind::Tar, bytes.len());
        found.join(tar_members(walker, bytes, place));
    } else {
        found.container(place, ContainerKind::Compressed, bytes.len());
        found.join(stream(walker, bytes, place));
    }
    found
}

fn zip_members(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    let archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => {
            found.malformed(place, format!("zip: {error}"));
            return found;
        }
    };
    if archive.len() as u64 > walker.limits.entries {
        found.malformed(place, format!("zip: {} members", archive.len()));
        return found;
    }
    let numbers: Vec<usize> = (0..archive.len()).collect();
    let open = |number: &usize| {
        let mut archive = archive.clone();
        zip_member(walker, &mut archive, *number, place)
    };
    let parts: Vec<Found> =
        if place.sequential { numbers.iter().map(open).collect() } else { numbers.par_iter().map(open).collect() };
    for part in parts {
        found.join(part);
    }
    found
}

fn zip_member(walker: &Walker<'_>, archive: &mut ZipArchive<Cursor<&[u8]>>, number: usize, place: &Place) -> Found {
    let mut found = Found::default();
    let mut member = match archive.by_index(number) {
        Ok(member) => member,
        Err(error) => {
            let kind = match error {
                zip::result::ZipError::UnsupportedArchive(_) => FaultKind::Unreadable,
                _ => FaultKind::Malformed,
            };
            found.fault(place, kind, format!("zip: member {number}: {error}"));
            return found;
        }
    };
    if !member.is_file() {
        return found;
    }
    let name = match member.name() {
        Ok(name) => name.into_owned(),
        Err(_) => format!("member {number}"),
    };
    let inside = place.inside(&name);
    let (stored, declared) = (member.compressed_size(), member.size());
    found.join(read_member(walker, &mut member, stored, declared, &inside));
    found
}

fn tar_members(walker: &Walker<'_>, packed: impl Read, place: &Place) -> Found {
    let mut found = Found::default();
    let mut archive = tar::Archive::new(packed);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => {
            found.malformed(place, format!("tar: {error}"));
            return found;
        }
    };
    let mut count = 0u64;
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.malformed(place, format!("tar: {error}"));
                break;
            }
        };
        count += 1;
        if count > walker.limits.entries {
            found.malformed(place, format!("tar: more than {} members", walker.limits.entries));
            break;
        }
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.size();
        let inside = place.inside(&name);
        found.join(read_member(walker, &mut entry, size, size, &inside));
    }
    found
}

/// Reads one member whole and walks it.
fn read_member(walker: &Walker<'_>, member: &mut impl Read, stored: u64, declared: u64, place: &Place) -> Found {
    let mut found = Found::default();
    let limit = walker.limits.unpacked(stored);
    if declared > limit {
        found.malformed(place, format!("declares {declared} bytes, {limit} are allowed for {stored}"));
        return found;
    }
    if !walker.afford(declared, place, &mut found) {
        return found;
    }
    let mut bytes = Vec::new();
    match member.take(declared.saturating_add(1)).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 == declared => found.join(walker.walk(&bytes, place)),
        Ok(_) => {
            found.malformed(place, format!("{declared} bytes declared, {} read", bytes.len()));
        }
        Err(error) => found.malformed(place, error.to_string()),
    }
    found
}

/// A compressed stream: a tar inside is read as it unpacks, anything else is unpacked whole.
fn stream(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    let limit = walker.limits.unpacked(bytes.len() as u64);
    let inside = Place { sequential: true, ..place.inside("unpacked") };
    let Some(method) = method(bytes) else {
        return found;
    };
    let packed = match unpack::reader(method, bytes, limit) {
        Ok(packed) => packed,
        Err(error) => {
            found.malformed(place, error.to_string());
            return found;
        }
    };
    let mut packed = BufReader::with_capacity(1 << 16, Bounded { packed, left: limit });
    match packed.fill_buf() {
        Ok(start) if is_tar(start) => {
            found.container(&inside, ContainerKind::Tar, bytes.len());
            found.join(tar_members(walker, packed, &inside));
        }
        Ok(_) => {
            let mut unpacked = Vec::new();
            match packed.read_to_end(&mut unpacked) {
                Ok(_) => found.join(walker.walk(&unpacked, &inside)),
                Err(error) => found.malformed(place, error.to_string()),
            }
        }
        Err(error) => found.malformed(place, error.to_string()),
    }
    found
}

/// An error, not an end, once the limit is passed.
struct Bounded<R> {
    packed: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.packed.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("unpacks to more than the limit allows"))?;
        Ok(count)
    }
}
