//! Everything that can go wrong, as data: at load (the code object), at run (the emulated kernel), at the end of a
//! run (which wave, where, and what it did last). Nothing here is printed by this crate.

use std::fmt;

use crate::trace::TraceLine;

/// Why a code object cannot be executed. Loading fails closed: an instruction, operand or modifier that the emulator
/// does not know is one of these, never ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// Not an ELF file, or a damaged one.
    Object {
        /// What was expected and what was found.
        what: String,
    },
    /// A valid code object for something this emulator does not model.
    Unsupported {
        /// Kernel name, or empty for the whole object.
        kernel: String,
        /// What it needs.
        what: String,
    },
    /// An instruction that the tables do not know.
    Instruction {
        /// Kernel name.
        kernel: String,
        /// Byte offset from the kernel's entry.
        offset: u64,
        /// Disassembler's text.
        text: String,
        /// Which part is unknown.
        why: String,
    },
    /// A line of PTX that is not understood.
    Text {
        /// Counted from 1.
        line: u32,
        /// The line.
        text: String,
        /// What is wrong or unknown.
        why: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Object { what } => write!(f, "code object: {what}"),
            LoadError::Unsupported { kernel, what } if kernel.is_empty() => write!(f, "not modelled: {what}"),
            LoadError::Unsupported { kernel, what } => write!(f, "kernel {kernel}: not modelled: {what}"),
            LoadError::Instruction { kernel, offset, text, why } => {
                write!(f, "kernel {kernel}+{offset:#x}: `{text}`: {why}")
            }
            LoadError::Text { line, text, why } => write!(f, "line {line}: `{text}`: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// What an emulated kernel (or a host call) did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No region there.
    Unmapped,
    /// A region of another device that is not mapped on this one.
    NotMapped {
        /// Region name.
        region: String,
        /// Device that owns it.
        owner: usize,
    },
    /// Starts or ends outside the region its address points at.
    OutOfBounds {
        /// Region name.
        region: String,
        /// First byte, from the region's start.
        offset: i128,
        /// Region size, bytes.
        region_length: u64,
    },
    /// Address no multiple of what the access needs.
    Misaligned {
        /// Region name.
        region: String,
        /// Needed alignment, bytes.
        alignment: u64,
    },
    /// Store into a region that kernels may only read.
    ReadOnly {
        /// Region name.
        region: String,
    },
    /// Atomic read-modify-write on another device's memory: PCIe may not carry one.
    PeerAtomic {
        /// Region name.
        region: String,
        /// Device that owns it.
        owner: usize,
    },
    /// A register is used while the load that fills it is still under way: a wait is missing.
    NotWaitedFor {
        /// Register, as in assembly.
        register: String,
    },
    /// A wave ended with a store under way to memory that others share.
    NotDrained {
        /// Region name.
        region: String,
    },
    /// The program counter left the kernel.
    ProgramCounter,
    /// The kernel gave up by itself.
    Trap,
    /// Use of a barrier that can never complete, or a wait without a signal.
    Barrier {
        /// What is wrong.
        what: String,
    },
    /// A region larger than a slot of the address space.
    TooLarge {
        /// Region name.
        region: String,
        /// Size asked for, bytes.
        length: u64,
    },
    /// Launch arguments that do not fit the kernel.
    Launch {
        /// What is wrong.
        what: String,
    },
    /// A condition that the loader should have excluded: a bug of the emulator.
    Internal {
        /// Which one.
        what: &'static str,
    },
}

/// A fault and the memory access it happened at, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Address of the access; 0 when there is none.
    pub address: u64,
    /// Bytes of the access.
    pub length: u64,
}

impl Fault {
    /// Whether the emulator itself is at fault and not what it runs.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self.kind, FaultKind::Internal { .. })
    }

    pub(crate) fn new(kind: FaultKind) -> Self {
        Fault { kind, address: 0, length: 0 }
    }

    pub(crate) fn at(kind: FaultKind, address: u64, length: u64) -> Self {
        Fault { kind, address, length }
    }

    pub(crate) fn internal(what: &'static str) -> Self {
        Fault::new(FaultKind::Internal { what })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, address, length } = self;
        match kind {
            FaultKind::Unmapped => write!(f, "access to unmapped memory: {length} bytes at {address:#x}"),
            FaultKind::NotMapped { region, owner } => {
                write!(f, "access to {length} bytes at {address:#x} in {region}, private memory of device {owner}")
            }
            FaultKind::OutOfBounds { region, offset, region_length } => write!(
                f,
                "access out of bounds: {length} bytes at {region}{offset:+#x}, which has {region_length} bytes"
            ),
            FaultKind::Misaligned { region, alignment } => {
                write!(f, "misaligned access: {length} bytes at {address:#x} in {region} need alignment {alignment}")
            }
            FaultKind::ReadOnly { region } => {
                write!(f, "store of {length} bytes at {address:#x} into read-only {region}")
            }
            FaultKind::PeerAtomic { region, owner } => write!(
                f,
                "atomic read-modify-write at {address:#x} on {region}, the memory of device {owner}: a peer's memory takes plain loads and stores only"
            ),
            FaultKind::NotWaitedFor { register } => {
                write!(f, "{register} is used before the load that fills it was waited for")
            }
            FaultKind::NotDrained { region } => {
                write!(f, "the wave ends with a store to {region} under way: a wait is missing")
            }
            FaultKind::ProgramCounter => write!(f, "the program counter left the kernel"),
            FaultKind::Trap => write!(f, "the kernel traps"),
            FaultKind::Barrier { what } => write!(f, "barrier: {what}"),
            FaultKind::TooLarge { region, length } => write!(f, "region {region} of {length} bytes is too large"),
            FaultKind::Launch { what } => write!(f, "launch: {what}"),
            FaultKind::Internal { what } => write!(f, "bug in the emulator: {what}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a run ended before every launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A wave did something wrong.
    Fault(Fault),
    /// The step limit was reached: livelock, or a limit that is too low.
    StepLimit {
        /// The limit, in wave instructions.
        limit: u64,
    },
    /// Waves are left that can never go on: each waits at a barrier for a wave that will not come.
    Deadlock,
}

/// A run that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub reason: Reason,
    /// The wave it happened in, as text (`rank 1 block 0 wave 2`); empty when it is no single wave's doing.
    pub place: String,
    /// The instruction it happened at; empty when it is no single wave's doing.
    pub instruction: String,
    /// The last memory operations of the machine, oldest first.
    pub trace: Vec<TraceLine>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Fault(fault) => write!(f, "{}: `{}`: {fault}", self.place, self.instruction),
            Reason::StepLimit { limit } => write!(f, "still running after {limit} instructions: livelock"),
            Reason::Deadlock => write!(f, "every thread that is left waits at a barrier for one that will not come"),
        }
    }
}

impl std::error::Error for Failure {}
