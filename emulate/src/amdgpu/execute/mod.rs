//! Execution of decoded instructions, by kind.

pub(super) mod memory;
pub(super) mod scalar;
pub(super) mod vector;
