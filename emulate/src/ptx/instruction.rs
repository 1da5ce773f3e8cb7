//! Operations in executable form. Registers are numbers into one file of 64-bit slots; a value is its bits, zeros above
//! the type's width.

use crate::memory::{Fence, Order, SyncScope};

/// A slot of the register file.
pub(super) type Register = u16;

/// Takes what nobody wants (`_`).
pub(super) const SINK: Register = 0;

/// A fundamental type (PTX ISA, "Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Predicate,
    /// `.b8` to `.b64`, and the width in bits.
    Bits(u8),
    Unsigned(u8),
    Signed(u8),
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F32x2,
}

impl Type {
    pub(super) fn named(name: &str) -> Option<Type> {
        Some(match name {
            "pred" => Type::Predicate,
            "b8" => Type::Bits(8),
            "b16" => Type::Bits(16),
            "b32" => Type::Bits(32),
            "b64" => Type::Bits(64),
            "u8" => Type::Unsigned(8),
            "u16" => Type::Unsigned(16),
            "u32" => Type::Unsigned(32),
            "u64" => Type::Unsigned(64),
            "s8" => Type::Signed(8),
            "s16" => Type::Signed(16),
            "s32" => Type::Signed(32),
            "s64" => Type::Signed(64),
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "f32" => Type::F32,
            "f32x2" => Type::F32x2,
            _ => return None,
        })
    }

    /// Width, bits; 1 for a predicate.
    pub(super) fn bits(self) -> u32 {
        match self {
            Type::Predicate => 1,
            Type::Bits(bits) | Type::Unsigned(bits) | Type::Signed(bits) => u32::from(bits),
            Type::F16 | Type::Bf16 => 16,
            Type::F16x2 | Type::Bf16x2 | Type::F32 => 32,
            Type::F32x2 => 64,
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Type::Signed(_))
    }

    /// `.b`, `.u` or `.s`.
    pub(super) fn is_integer(self) -> bool {
        matches!(self, Type::Bits(_) | Type::Unsigned(_) | Type::Signed(_))
    }
}

/// Values that come from the thread's place or the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Thread,
    Threads,
    Block,
    Blocks,
    Lane,
    Warp,
    /// Nanoseconds.
    GlobalTimer,
    GlobalTimerLow,
    Clock,
    ClockLow,
}

/// Something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Register(Register),
    /// The inverse of a predicate.
    Not(Register),
    Immediate(u64),
    Special(Special),
}

/// What an instruction computes from up to three sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Move,
    Add,
    Subtract,
    Multiply,
    MultiplyHigh,
    /// Twice as wide a result.
    MultiplyWide,
    MultiplyAdd,
    MultiplyHighAdd,
    MultiplyWideAdd,
    Divide,
    Remainder,
    Minimum,
    Maximum,
    Negate,
    Absolute,
    And,
    Or,
    Xor,
    Not,
    /// 1 for 0, else 0.
    LogicalNot,
    ShiftLeft,
    ShiftRight,
    /// Funnel shifts of two 32-bit words; true clamps the distance at 32, false wraps it.
    FunnelLeft(bool),
    FunnelRight(bool),
    PopulationCount,
    LeadingZeros,
    BitReverse,
    ExtractField,
    Permute,
    Lookup(u8),
    Select,
    /// Multiply and add, rounded once.
    Fused,
    /// From a generic address to one of shared memory, and back.
    FromGeneric,
    ToGeneric,
}

/// `setp`'s comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// The ones that hold when an operand is a NaN.
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
    Numbers,
    NotNumbers,
}

/// How `setp` and votes combine truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

/// Rounding of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Exact, or a plain change of width.
    None,
    NearestEven,
    TowardZero,
    Down,
    Up,
}

/// `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) to: Type,
    pub(super) from: Type,
    pub(super) rounding: Rounding,
    pub(super) saturate: bool,
    /// Width of the destination register: a signed result is extended to it.
    pub(super) width: u32,
}

/// Where a memory access goes: an address, and whether it counts from the block's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) base: Source,
    pub(super) offset: i64,
    pub(super) shared: bool,
}

/// A load or store of one to eight elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) address: Address,
    pub(super) element: Type,
    pub(super) order: Order,
}

/// What an atomic operation does to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    Add,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Wrap-around up and down to a bound.
    Increment,
    Decrement,
}

/// What the threads of a block vote on at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    All,
    Any,
    Count,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Nothing,
    Compute {
        function: Function,
        kind: Type,
        destination: Register,
        sources: [Source; 3],
    },
    /// `d[|e] = (a compare b) [logic c]`.
    SetPredicate {
        compare: Compare,
        kind: Type,
        destination: Register,
        inverse: Register,
        sources: [Source; 2],
        combine: Option<(Logic, Source)>,
    },
    /// The second source is the lower half of a packed result.
    Convert {
        conversion: Conversion,
        destination: Register,
        sources: [Source; 2],
    },
    /// Parts of `bits` each, the lowest first.
    Pack {
        destination: Register,
        bits: u32,
        parts: Vec<Source>,
    },
    Unpack {
        destinations: Vec<Register>,
        bits: u32,
        source: Source,
    },
    LoadParameter {
        destinations: Vec<Register>,
        width: u32,
        element: Type,
        offset: u64,
    },
    /// Signed elements are extended to `width`, the destinations' own.
    Load {
        access: Access,
        destinations: Vec<Register>,
        width: u32,
    },
    Store {
        access: Access,
        sources: Vec<Source>,
    },
    Atomic {
        update: Update,
        access: Access,
        destination: Register,
        sources: [Source; 2],
    },
    Fence(Fence, SyncScope),
    Barrier,
    BarrierVote {
        vote: Vote,
        destination: Register,
        source: Source,
    },
    Branch(usize),
    Pause(Source),
    Exit,
    Trap,
}

/// An operation, the condition on which it is executed, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// A predicate and the value it must have.
    pub(super) guard: Option<(Register, bool)>,
    pub(super) operation: Operation,
    pub(super) line: u32,
}
