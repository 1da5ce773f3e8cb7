//! SYCL device sections of DPC++: bare images, delimited by the table `.tgtimg`.
//!
//! Read off shipped libraries: a row of `.tgtimg` is {u64 address, u64 unpacked size}; the image
//! runs to the next address or the end of its section, and may be a zstd frame of its own.
//! `__CLANG_OFFLOAD_BUNDLE__` is part of the section's name here, not the magic of a bundle.

use object::{Object, ObjectSection};

use super::unpack::{self, method};
use super::{Found, Place, Walker};
use crate::bytes::{slice, u64_at, zeros};

/// Start of the section names; the triple follows.
pub(super) const SECTION: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// One image: where it begins in its section, and its unpacked size if the table tells.
struct Row {
    start: u64,
    unpacked: Option<u64>,
}

/// Opens the images of one section.
pub(super) fn open<'d>(
    walker: &Walker<'_>,
    file: &impl Object<'d>,
    section: &impl ObjectSection<'d>,
    data: &[u8],
    place: &Place,
) -> Found {
    let triple = section
        .name()
        .ok()
        .and_then(|name| name.strip_prefix(SECTION))
        .filter(|triple| !triple.is_empty())
        .unwrap_or("sycl")
        .to_owned();
    let mut rows = rows(file, section, data.len() as u64);
    if rows.is_empty() {
        rows = frames(data);
    }
    let ends = rows.iter().skip(1).map(|row| row.start).chain([data.len() as u64]);
    let images: Vec<(usize, u64, u64, Option<u64>)> =
        rows.iter().zip(ends).enumerate().map(|(number, (row, end))| (number, row.start, end, row.unpacked)).collect();
    walker.each(&images, place, |(number, start, end, unpacked)| {
        let mut inside = place.group(&format!("image {number}"));
        inside.container_id = Some(triple.clone());
        let bytes = slice(data, *start, end.saturating_sub(*start)).unwrap_or(&[]);
        image(walker, bytes, *unpacked, &inside)
    })
}

fn image(walker: &Walker<'_>, bytes: &[u8], unpacked: Option<u64>, place: &Place) -> Found {
    let mut found = Found::default();
    if let Some(method) = method(bytes) {
        // Zeros up to the next image would read as a broken second frame.
        let frame = zstd::zstd_safe::find_frame_compressed_size(bytes).unwrap_or(bytes.len());
        let frame = bytes.get(..frame).unwrap_or(bytes);
        match unpack::all(method, frame, unpacked, &walker.limits) {
            Ok(image) => found.join(walker.walk(&image, place)),
            Err(error) => found.refused(place, &error),
        }
        return found;
    }
    let size = unpacked.unwrap_or(bytes.len() as u64);
    match slice(bytes, 0, size) {
        Some(image) => found.join(walker.walk(image, place)),
        None => found.malformed(place, format!("{size} bytes stated, {} there", bytes.len())),
    }
    found
}

/// Rows of `.tgtimg` that point into `section`, by start. Empty if there is no usable table:
/// in objects and some libraries the addresses are relocations.
fn rows<'d>(file: &impl Object<'d>, section: &impl ObjectSection<'d>, length: u64) -> Vec<Row> {
    let Some(table) = file.section_by_name(".tgtimg").and_then(|table| table.data().ok()) else {
        return Vec::new();
    };
    let base = section.address();
    let (table, _) = table.as_chunks::<16>();
    let mut rows: Vec<Row> = table
        .iter()
        .filter_map(|row| {
            let start = u64_at(row, 0)?.checked_sub(base).filter(|start| *start < length)?;
            Some(Row { start, unpacked: u64_at(row, 8) })
        })
        .collect();
    rows.sort_by_key(|row| row.start);
    rows.dedup_by_key(|row| row.start);
    if rows.first().is_some_and(|row| row.start == 0) { rows } else { Vec::new() }
}

/// Without a table: zstd frames one after the other, or a single image.
fn frames(data: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0usize;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let padding = zeros(rest);
        if padding > 0 {
            at += padding;
            continue;
        }
        rows.push(Row { start: at as u64, unpacked: None });
        let frame = method(rest).and_then(|_| zstd::zstd_safe::find_frame_compressed_size(rest).ok());
        at += frame.unwrap_or(rest.len()).max(1);
    }
    rows
}
