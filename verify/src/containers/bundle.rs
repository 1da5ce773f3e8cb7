//! Clang offload bundles, uncompressed.
//!
//! Source: LLVM, "Clang Offload Bundler", Bundled Binary File Layout: magic (24 bytes), u64 number
//! of entries, then per entry u64 offset, u64 size, u64 length of the ID, the ID; all
//! little-endian, offsets from the start of the bundle.

use super::{Found, Place, Walker};
use crate::bytes::{slice, u64_at};
use crate::limits::Limits;
use crate::model::ContainerKind;

pub(super) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Longest ID that is believed; real ones have at most about 100 bytes.
pub(super) const ID_BYTES: u64 = 4096;

/// One entry of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) id: String,
}

impl Entry {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Host entries are placeholders.
    pub(super) fn is_host(&self) -> bool {
        self.id.starts_with("host-")
    }
}

/// The header's entries, and the length of the header itself.
pub(super) fn header(bytes: &[u8], limits: &Limits) -> Result<(Vec<Entry>, u64), String> {
    let cut = || "offload bundle ends inside its header".to_owned();
    let count = u64_at(bytes, MAGIC.len()).ok_or_else(cut)?;
    if count > limits.entries {
        return Err(format!("offload bundle claims {count} entries"));
    }
    let mut at = MAGIC.len() as u64 + 8;
    let mut entries = Vec::new();
    for _ in 0..count {
        let fields = slice(bytes, at, 24).ok_or_else(cut)?;
        let [Some(offset), Some(size), Some(length)] = [0, 8, 16].map(|at| u64_at(fields, at)) else {
            return Err(cut());
        };
        if length > ID_BYTES {
            return Err(format!("offload bundle has an entry ID of {length} bytes"));
        }
        let id = slice(bytes, at + 24, length).ok_or_else(cut)?;
        let id = String::from_utf8_lossy(id).into_owned();
        at += 24 + length;
        entries.push(Entry { offset, size, id });
    }
    for entry in &entries {
        if entry.size > 0 && entry.offset < at {
            return Err(format!("entry {} overlaps the header of its bundle", entry.id));
        }
    }
    Ok((entries, at))
}

/// Extent of the bundle that begins `bytes`: to the end of its last entry.
pub(super) fn length(bytes: &[u8], limits: &Limits) -> Result<usize, String> {
    let (entries, header) = header(bytes, limits)?;
    let end = entries.iter().map(Entry::end).fold(header, u64::max);
    // An entry that points outside is reported when the bundle is opened.
    Ok(usize::try_from(end).map_or(bytes.len(), |end| end.min(bytes.len())))
}

/// Opens the bundle that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    found.container(place, ContainerKind::Bundle, bytes.len());
    let entries = match header(bytes, &walker.limits) {
        Ok((entries, _)) => entries,
        Err(message) => {
            found.malformed(place, message);
            return found;
        }
    };
    if let Some(message) = overlap(&entries) {
        found.malformed(place, message);
    }
    found.join(walker.each(&entries, place, |entry| {
        let mut found = Found::default();
        match slice(bytes, entry.offset, entry.size) {
            Some(image) => found.join(image_of(walker, image, entry, place)),
            None => found.malformed(&place.image(&entry.id), outside(entry, bytes.len() as u64)),
        }
        found
    }));
    found
}

/// Opens one entry whose bytes are at hand.
pub(super) fn image_of(walker: &Walker<'_>, image: &[u8], entry: &Entry, place: &Place) -> Found {
    let place = place.image(&entry.id);
    let mut found = Found::default();
    if entry.is_host() {
        if entry.size > 0 {
            found.skip(&place, "host code");
        }
        return found;
    }
    if image.is_empty() {
        found.malformed(&place, "entry of 0 bytes for a device");
        return found;
    }
    walker.walk(image, &place)
}

pub(super) fn outside(entry: &Entry, length: u64) -> String {
    format!("entry at {} with {} bytes points outside its bundle of {length} bytes", entry.offset, entry.size)
}

/// Says which two entries share bytes, if any do.
pub(super) fn overlap(entries: &[Entry]) -> Option<String> {
    let mut sorted: Vec<&Entry> = entries.iter().filter(|entry| entry.size > 0).collect();
    sorted.sort_by_key(|entry| entry.offset);
    sorted.windows(2).find_map(|pair| match pair {
        [first, second] if first.end() > second.offset => {
            Some(format!("entries {} and {} overlap", first.id, second.id))
        }
        _ => None,
    })
}
