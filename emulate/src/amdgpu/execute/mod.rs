//! Execution of decoded instructions, by kind.

pub(super) mod memory;
pub(super) mod scalar;
mod shared;
pub(super) mod underway;
pub(super) mod vector;
