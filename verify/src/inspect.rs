//! Bytes to inspection.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

use crate::containers::{Place, Walker};
use crate::facts::Detail;
use crate::limits::Limits;
use crate::model::Inspection;

/// Reads `bytes`, opening containers; `name` becomes the input's name and the start of every path.
///
/// Never fails: what is broken or unknown becomes a [`crate::Fault`], which [`crate::check`] turns
/// into the findings `container-malformed` and `unreadable`.
#[must_use]
pub fn inspect(bytes: &[u8], name: &str) -> Inspection {
    let limits = Limits::default();
    let work = AtomicU64::new(limits.work(bytes.len() as u64));
    let walker = Walker { limits, detail: Detail::Full, wanted: &BTreeSet::new(), done: &|_| {}, work: &work };
    Inspection { name: name.to_owned(), ..walker.walk(bytes, &Place::root(name)) }
}
