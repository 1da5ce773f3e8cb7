//! `ar` archives: static libraries, Debian packages, and the output of Intel's ocloc.
//!
//! Source: the System V and GNU variants as the `object` crate reads them. Intel's ocloc stores one
//! machine code ELF per device, named by its IP version, beside a portable member `generic_ir`.

use object::read::archive::ArchiveFile;

use super::{Found, Place, Walker};
use crate::model::{ContainerKind, FaultKind};

/// How often the archive's length the names of its members may have in all.
const NAME_BYTES: usize = 16;

/// True for regular and thin archives.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}

/// Opens the archive that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    found.container(place, ContainerKind::Ar, bytes.len());
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            found.malformed(place, format!("archive: {error}"));
            return found;
        }
    };
    if archive.is_thin() {
        let message = "thin archive: its members are files elsewhere";
        found.fault(place, FaultKind::Unreadable, message);
        return found;
    }
    let mut members = Vec::new();
    // Long names lie in a table, where hostile ones overlap.
    let mut left = bytes.len().saturating_mul(NAME_BYTES);
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                found.malformed(place, format!("archive: {error}"));
                break;
            }
        };
        left = left.saturating_sub(member.name().len());
        match member.data(bytes) {
            Ok(_) if member.name().len() > left => {
                found.malformed(place, "archive: the names of its members are longer than the archive");
                break;
            }
            Ok(data) => members.push((String::from_utf8_lossy(member.name()).into_owned(), data)),
            Err(error) => {
                found.malformed(place, format!("archive: {error}"));
                break;
            }
        }
    }
    found.join(walker.each(&members, place, |(name, data)| member(walker, name, data, place)));
    found
}

fn member(walker: &Walker<'_>, name: &str, data: &[u8], place: &Place) -> Found {
    // Inside a device section the archive is ocloc's, and its members are alternatives.
    if place.device {
        return ocloc_member(walker, name, data, place);
    }
    walker.walk(data, &place.inside(name))
}

fn ocloc_member(walker: &Walker<'_>, name: &str, data: &[u8], place: &Place) -> Found {
    let inside = place.image(name);
    if data.starts_with(b"\x7fELF") || super::spirv::is_spirv(data) {
        return walker.walk(data, &inside);
    }
    let mut found = Found::default();
    found.skip(&inside, "metadata of ocloc");
    found
}
