//! Bytes to inspection.

use std::collections::BTreeSet;

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
    let walker = Walker { limits: Limits::default(), detail: Detail::Full, wanted: &BTreeSet::new(), done: &|_| {} };
    Inspection { name: name.to_owned(), ..walker.walk(bytes, &Place::root(name)) }
}
