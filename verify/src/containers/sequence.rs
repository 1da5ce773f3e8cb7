//! Containers that follow each other: many bundles in one section, with zeros before and between.
//!
//! Each unit says how long it is, and the walk advances by that length: a magic number inside a
//! compressed payload starts nothing.

use super::{Found, Place, Walker, bundle, ccob, fatbin, offload_binary};
use crate::bytes::zeros;
use crate::model::FaultKind;

/// A unit with its extent.
enum Unit<'a> {
    Bundle(&'a [u8]),
    Ccob(&'a [u8]),
    Fatbin(&'a [u8]),
    OffloadBinary(&'a [u8]),
}

/// True if a unit begins here.
pub(super) fn starts(bytes: &[u8]) -> bool {
    [bundle::MAGIC, ccob::MAGIC, fatbin::MAGIC, offload_binary::MAGIC].iter().any(|magic| bytes.starts_with(magic))
}

/// Opens all units; zeros around them are padding, anything else is reported.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut units = Vec::new();
    let mut end = Found::default();
    let mut rest = bytes;
    loop {
        rest = rest.get(zeros(rest)..).unwrap_or(&[]);
        if rest.is_empty() {
            break;
        }
        let at = bytes.len() - rest.len();
        if units.len() as u64 >= walker.limits.entries {
            end.malformed(place, format!("more than {} bundles", walker.limits.entries));
            break;
        }
        let length = match unit_length(walker, rest) {
            Ok(length) => length,
            Err((kind, message)) => {
                end.fault(place, kind, format!("at offset {at}: {message}"));
                break;
            }
        };
        let (unit, next) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        units.push(if unit.starts_with(bundle::MAGIC) {
            Unit::Bundle(unit)
        } else if unit.starts_with(ccob::MAGIC) {
            Unit::Ccob(unit)
        } else if unit.starts_with(fatbin::MAGIC) {
            Unit::Fatbin(unit)
        } else {
            Unit::OffloadBinary(unit)
        });
        rest = next;
    }
    let numbered: Vec<(usize, Unit<'_>)> = units.into_iter().enumerate().collect();
    let mut found = walker.each(&numbered, place, |(number, unit)| {
        let (found, bytes) = match unit {
            Unit::Bundle(unit) => (bundle::open(walker, unit, &place.group(&format!("bundle {number}"))), unit),
            Unit::Ccob(unit) => (ccob::open(walker, unit, &place.group(&format!("bundle {number}"))), unit),
            Unit::Fatbin(unit) => (fatbin::open(walker, unit, &place.group(&format!("fatbin {number}"))), unit),
            Unit::OffloadBinary(unit) => {
                // The images of one host file are alternatives even if each has a binary of its own.
                let mut inside = place.inside(&format!("binary {number}"));
                inside.device = true;
                (offload_binary::open(walker, unit, &inside), unit)
            }
        };
        (walker.done)(bytes);
        found
    });
    found.join(end);
    found
}

/// Extent of the unit that begins `rest`; the fault kind and message if there is none.
fn unit_length(walker: &Walker<'_>, rest: &[u8]) -> Result<usize, (FaultKind, String)> {
    if rest.starts_with(bundle::MAGIC) {
        bundle::length(rest, &walker.limits).map_err(|message| (FaultKind::Malformed, message))
    } else if rest.starts_with(ccob::MAGIC) {
        ccob::length(rest, &walker.limits).map_err(|error| (error.kind(), error.to_string()))
    } else if rest.starts_with(fatbin::MAGIC) {
        fatbin::length(rest).map_err(|message| (FaultKind::Malformed, message))
    } else if rest.starts_with(offload_binary::MAGIC) {
        offload_binary::length(rest).map_err(|message| (FaultKind::Malformed, message))
    } else {
        let message = format!("{} bytes that belong to no bundle", rest.len());
        Err((FaultKind::Malformed, message))
    }
}
