//! Instructions in the form that is executed: decided once at load, small, nothing left to look up.

use crate::memory::{CacheLevels, Reach, Scope};

use super::text::Part;

/// A vector register of 32 lanes; a wave of 64 has two per register number.
pub(crate) type Lanes = [u32; 32];

/// Where a 32-bit (or 16-bit) scalar or vector operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Vector(u16),
    Scalar(u8),
    Constant(u64),
}

/// A vector operand with part and modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorSource {
    pub(crate) from: Source,
    pub(crate) part: Part,
    pub(crate) negate: bool,
    pub(crate) absolute: bool,
}

/// Bits of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Half,
    Word,
    Double,
}

/// The float type of an operation, which decides constants, sign modifiers and denormal flushing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatType {
    None,
    Single,
    Half,
}

/// A lane-wise function, over all lanes of a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneFunction {
    One(fn(&mut Lanes, &Lanes)),
    Two(fn(&mut Lanes, &Lanes, &Lanes)),
    Three(fn(&mut Lanes, &Lanes, &Lanes, &Lanes)),
}

/// A lane-wise operation with a 16- or 32-bit result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    pub(crate) function: LaneFunction,
    pub(crate) destination: u16,
    pub(crate) part: Part,
    /// A 16-bit result clears the other half (gfx9).
    pub(crate) clears: bool,
    pub(crate) sources: [VectorSource; 3],
    /// Flush denormals of 32-bit sources and results, as the kernel's mode says.
    pub(crate) flushes: bool,
}

/// Condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    Scc(bool),
    VccZero(bool),
    ExecZero(bool),
}

/// A counter that a wait instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Vector loads, and read-modify-writes that return; on gfx9 stores too.
    Load,
    /// Vector stores, and read-modify-writes that do not return.
    Store,
    /// Scalar loads and messages; before gfx12 group memory too.
    Scalar,
    /// Group memory (gfx12).
    Shared,
}

/// Address of a vector memory access: `vector` is a 64-bit pair, or a 32-bit offset to the `scalar` pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) vector: u16,
    pub(crate) scalar: Option<u8>,
    pub(crate) offset: i64,
}

/// What a vector memory access moves per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// So many 32-bit registers.
    Words(u8),
    /// 8 or 16 bits, into (or from the low bits of) a whole register; sign-extended or not.
    Small { bytes: u8, signed: bool },
    /// 16 bits to or from one half of a register.
    HalfRegister(Part),
}

/// Operation of a read-modify-write: old value, operand, comparand.
pub(crate) type AtomicFunction = fn(u64, u64, u64) -> u64;

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Nothing,
    End,
    Branch(Condition, usize),
    ScalarUnary {
        function: fn(u64) -> u64,
        destination: u8,
        width: Width,
        source: Source,
        source_width: Width,
        sets_scc: bool,
    },
    /// (a, b, scc) -> (result, scc).
    ScalarBinary {
        function: fn(u64, u64, bool) -> (u64, bool),
        destination: u8,
        width: Width,
        sources: [(Source, Width); 2],
        sets_scc: bool,
    },
    ScalarCompare {
        function: fn(u64, u64) -> bool,
        sources: [Source; 2],
        width: Width,
    },
    /// (source, exec) -> exec; the old exec goes to the destination.
    SaveExec {
        function: fn(u64, u64) -> u64,
        destination: u8,
        source: Source,
        width: Width,
    },
    Map(Map),
    /// Two of `Map` or `Select` that read before either writes (VOPD).
    Dual(Box<(Operation, Operation)>),
    Compare {
        function: fn(&Lanes, &Lanes) -> u32,
        destination: Mask,
        sources: [VectorSource; 2],
        flushes: bool,
    },
    CompareDouble {
        function: fn(u64, u64) -> bool,
        destination: Mask,
        sources: [VectorSource; 2],
    },
    /// Lane-wise on 64 bits; sources have the widths given.
    MapDouble {
        function: fn(u64, u64, u64) -> u64,
        destination: u16,
        sources: [(VectorSource, Width); 3],
    },
    /// (a, b, carry in) -> (result, carry out).
    Carry {
        function: fn(u32, u32, bool) -> (u32, bool),
        destination: u16,
        carry_out: u8,
        carry_in: Option<u8>,
        sources: [VectorSource; 2],
    },
    /// 32 by 32 bits plus 64 bits; the carry out goes to a mask.
    MultiplyAdd {
        destination: u16,
        carry_out: u8,
        sources: [VectorSource; 3],
    },
    /// Lane by lane the second source where the mask is set, else the first.
    Select {
        destination: u16,
        part: Part,
        mask: u8,
        sources: [VectorSource; 2],
    },
    /// Bits of the mask below this lane, counted, plus the second source; lanes 32 up for the high half.
    MaskCount {
        destination: u16,
        sources: [VectorSource; 2],
        high: bool,
    },
    ReadFirstLane {
        destination: u8,
        source: VectorSource,
    },
    ReadLane {
        destination: u8,
        source: u16,
        lane: Source,
    },
    WriteLane {
        destination: u16,
        source: Source,
        lane: Source,
    },
    /// `v_fma_mix_f32`: each source a float or one half of a register.
    FusedMix {
        destination: u16,
        sources: [(VectorSource, bool); 3],
    },
    ScalarLoad {
        destination: u8,
        words: u8,
        base: u8,
        offset_register: Option<u8>,
        offset: i64,
    },
    Clock {
        destination: u8,
    },
    Load {
        destination: u16,
        format: Format,
        address: Address,
        scope: Scope,
    },
    Store {
        data: u16,
        format: Format,
        address: Address,
        reach: Reach,
    },
    Atomic {
        function: AtomicFunction,
        destination: Option<u16>,
        data: u16,
        words: u8,
        compares: bool,
        address: Address,
        scope: Scope,
        reach: Reach,
    },
    /// One register per lane from group memory.
    SharedLoad {
        destination: u16,
        address: u16,
        offset: u32,
    },
    SharedStore {
        data: u16,
        address: u16,
        offset: u32,
    },
    Wait(Vec<(Counter, u32)>),
    Invalidate(CacheLevels),
    WriteBack(Reach),
    Sleep(u32),
    BarrierSignal,
    BarrierWait,
    Barrier,
}

/// Where a comparison's lanes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    Scalar(u8),
    Exec,
}

/// Registers that an instruction reads or overwrites, for the check that loads were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegisterSet {
    pub(crate) vector: [u64; 4],
    pub(crate) scalar: [u64; 2],
}

impl RegisterSet {
    pub(crate) fn add_vector(&mut self, first: u16, count: u8) {
        for register in first..first + u16::from(count) {
            if let Some(word) = self.vector.get_mut(usize::from(register / 64)) {
                *word |= 1 << (register % 64);
            }
        }
    }

    pub(crate) fn add_scalar(&mut self, first: u8, count: u8) {
        for register in first..first.saturating_add(count) {
            if let Some(word) = self.scalar.get_mut(usize::from(register / 64)) {
                *word |= 1 << (register % 64);
            }
        }
    }

    /// A register of both sets, as text.
    pub(crate) fn common(&self, other: &RegisterSet) -> Option<String> {
        let find = |a: &[u64], b: &[u64]| {
            a.iter()
                .zip(b)
                .enumerate()
                .find_map(|(i, (a, b))| (a & b != 0).then(|| i * 64 + (a & b).trailing_zeros() as usize))
        };
        find(&self.vector, &other.vector)
            .map(|register| format!("v{register}"))
            .or_else(|| find(&self.scalar, &other.scalar).map(|register| format!("s{register}")))
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == RegisterSet::default()
    }
}

/// An instruction of a loaded kernel.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    /// What must not be under way when it executes.
    pub(crate) touches: RegisterSet,
}
