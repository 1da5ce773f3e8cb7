//! The arguments of every kernel, in order, with the offsets they have in an argument buffer.
//!
//! Natural alignment, no gaps beyond it: the AMDGPU kernarg segment (LLVM AMDGPUUsage, "Kernarg Segment"), the PTX
//! parameter space and a C struct all lay these types out alike, so one list serves all families.

use serde::{Deserialize, Serialize};

use crate::kernel::World;

/// Type of a kernel argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentType {
    /// 64-bit address in global memory.
    GlobalPointer,
    /// 32-bit unsigned integer.
    U32,
}

impl ArgumentType {
    /// Size, and alignment, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            ArgumentType::GlobalPointer => 8,
            ArgumentType::U32 => 4,
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Name, as in the contract.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub kind: ArgumentType,
    /// Offset in the argument buffer, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
}

/// The arguments of a kernel for `world` ranks.
#[must_use]
pub fn kernel_arguments(world: World) -> Vec<Argument> {
    use ArgumentType::{GlobalPointer, U32};
    let fixed = [
        ("in", GlobalPointer),
        ("out", GlobalPointer),
        ("count", U32),
        ("rank", U32),
        ("blocks", U32),
        ("threads", U32),
        ("inbox_bytes", U32),
        ("spin_limit", U32),
    ];
    let workspaces = (0..world.ranks()).map(|rank| (format!("workspace_{rank}"), GlobalPointer));
    let mut offset = 0u32;
    fixed
        .into_iter()
        .map(|(name, kind)| (name.to_owned(), kind))
        .chain(workspaces)
        .map(|(name, kind)| {
            let size = kind.bytes();
            let at = offset.next_multiple_of(size);
            offset = at + size;
            Argument { name, kind, offset: at, size }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_contract() {
        let world = World::try_from(3).unwrap();
        let offsets: Vec<u32> = kernel_arguments(world).iter().map(|argument| argument.offset).collect();
        assert_eq!(offsets, [0, 8, 16, 20, 24, 28, 32, 36, 40, 48, 56]);
    }
}
