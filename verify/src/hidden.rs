//! The hidden kernel arguments of AMDGPU code objects, as a set that fits a word.
//!
//! Names: LLVM, "User Guide for AMDGPU Backend", `.value_kind` of code object V3 to V6. A library
//! can hold more than 100,000 kernels with about 19 hidden arguments each; a list of strings per
//! kernel would cost more memory than everything else together.

use serde::{Serialize, Serializer};

/// `.value_kind` words that start with `hidden_`, by bit number. The last one stands for any word
/// not in this table.
const NAMES: [&str; 26] = [
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_none",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_block_count_x",
    "hidden_block_count_y",
    "hidden_block_count_z",
    "hidden_group_size_x",
    "hidden_group_size_y",
    "hidden_group_size_z",
    "hidden_remainder_x",
    "hidden_remainder_y",
    "hidden_remainder_z",
    "hidden_grid_dims",
    "hidden_heap_v1",
    "hidden_dynamic_lds_size",
    "hidden_private_base",
    "hidden_shared_base",
    "hidden_queue_ptr",
    "hidden_assert_buffer",
    "hidden_unknown",
];

/// Set of hidden arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct HiddenArguments(u32);

impl HiddenArguments {
    /// `hidden_printf_buffer`
    pub const PRINTF_BUFFER: Self = Self(1 << 4);
    /// `hidden_hostcall_buffer`
    pub const HOSTCALL_BUFFER: Self = Self(1 << 5);
    /// `hidden_default_queue`, `hidden_completion_action` and `hidden_multigrid_sync_arg`: declared
    /// together only if the compiler could not see what the kernel calls.
    pub const UNKNOWN_CALLEE: Self = Self(1 << 6 | 1 << 7 | 1 << 8);
    /// `hidden_heap_v1`
    pub const HEAP: Self = Self(1 << 19);

    /// Adds a `.value_kind`; words that do not start with `hidden_` are no hidden arguments.
    pub fn insert(&mut self, value_kind: &str) {
        if value_kind.starts_with("hidden_") {
            let bit = NAMES.iter().position(|name| *name == value_kind).unwrap_or(NAMES.len() - 1);
            self.0 |= 1 << bit;
        }
    }

    /// True if the set holds all of `others`.
    #[must_use]
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// True if no hidden argument is declared.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names in the set, in the order of the table.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| *name)
    }
}

impl Serialize for HiddenArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_unknown_and_explicit_words() {
        let mut set = HiddenArguments::default();
        set.insert("global_buffer");
        assert!(set.is_empty());
        set.insert("hidden_hostcall_buffer");
        set.insert("hidden_of_next_year");
        let names: Vec<_> = set.names().collect();
        assert_eq!(names, ["hidden_hostcall_buffer", "hidden_unknown"]);
        assert!(set.contains(HiddenArguments::HOSTCALL_BUFFER));
        assert!(!set.contains(HiddenArguments::HEAP));
    }

    #[test]
    fn constants_name_what_they_say() {
        let names = |set: HiddenArguments| set.names().collect::<Vec<_>>();
        assert_eq!(names(HiddenArguments::PRINTF_BUFFER), ["hidden_printf_buffer"]);
        assert_eq!(names(HiddenArguments::HOSTCALL_BUFFER), ["hidden_hostcall_buffer"]);
        assert_eq!(names(HiddenArguments::HEAP), ["hidden_heap_v1"]);
        assert_eq!(
            names(HiddenArguments::UNKNOWN_CALLEE),
            ["hidden_default_queue", "hidden_completion_action", "hidden_multigrid_sync_arg"]
        );
    }
}
