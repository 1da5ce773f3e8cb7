//! The arguments of every kernel, in order, with the offsets they have in an argument buffer.
//!
//! Natural alignment, no gaps beyond it: the AMDGPU kernarg segment (LLVM AMDGPUUsage, "Kernarg Segment"), the PTX
//! parameter space and a C struct all lay these types out alike, so one list serves all families.

use serde::{Deserialize, Serialize};

use crate::kernel::{Algorithm, Kernel, Wire};

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

/// The arguments of a kernel.
#[must_use]
pub fn kernel_arguments(kernel: &Kernel) -> Vec<Argument> {
    use ArgumentType::{GlobalPointer, U32};
    let of_every_rank = |name: &str| -> Vec<(String, ArgumentType)> {
        (0..kernel.world.ranks()).map(|rank| (format!("{name}_{rank}"), GlobalPointer)).collect()
    };
    let words = |names: &[&str]| -> Vec<(String, ArgumentType)> {
        names.iter().map(|name| ((*name).to_owned(), U32)).collect()
    };
    let mut arguments = Vec::new();
    if kernel.wire == Wire::Host {
        arguments.extend(of_every_rank("in"));
        arguments.extend(of_every_rank("out"));
        arguments.extend(words(&["count", "blocks", "threads"]));
    } else {
        arguments.extend([("in".to_owned(), GlobalPointer), ("out".to_owned(), GlobalPointer)]);
        arguments.extend(words(&["count", "rank", "blocks", "threads", "inbox_bytes", "spin_limit"]));
        arguments.extend(of_every_rank("workspace"));
        if kernel.algorithm == Algorithm::RootGather {
            arguments.extend(words(&["root"]));
        }
    }
    let mut offset = 0u32;
    let place = |(name, kind): (String, ArgumentType)| {
        let size = kind.bytes();
        let at = offset.next_multiple_of(size);
        offset = at + size;
        Argument { name, kind, offset: at, size }
    };
    arguments.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Element, World};

    #[test]
    fn offsets_are_those_of_the_contract() {
        let offsets = |algorithm, wire| {
            let kernel = Kernel { algorithm, wire, element: Element::F32, world: World::try_from(3).unwrap() };
            kernel_arguments(&kernel).iter().map(|argument| argument.offset).collect::<Vec<u32>>()
        };
        assert_eq!(offsets(Algorithm::OneShotPush, Wire::Ll), [0, 8, 16, 20, 24, 28, 32, 36, 40, 48, 56]);
        assert_eq!(offsets(Algorithm::RootGather, Wire::Flag), [0, 8, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64]);
        assert_eq!(offsets(Algorithm::RootGather, Wire::Host), [0, 8, 16, 24, 32, 40, 48, 52, 56]);
    }
}
