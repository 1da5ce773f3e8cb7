//! Instructions of any ISA in one shape: what the loop finder and the tally need, and nothing of what is computed.
//!
//! The modules of the ISAs fill it in. Operands, registers and data flow are left out.

use serde::Serialize;

/// What a memory access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes in one step, with or without a result.
    Atomic,
}

/// One memory access of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Access {
    /// What it does.
    pub kind: Kind,
    /// Address space in the ISA's own word: `global`, `lds`, `shared`, `CrossWorkgroup`.
    pub space: &'static str,
    /// Bytes that one lane moves (a scalar load of AMD: the whole wave). None if the instruction does not say.
    pub bytes: Option<u64>,
    /// Cache, scope and order as the ISA spells them, in the order of the instruction: `scope:SCOPE_SYS`, `volatile`.
    pub bits: Vec<String>,
}

/// Instructions that are told apart although they access no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Waits until earlier memory accesses of the same thread or wave are done.
    Wait,
    /// Waits for other threads of a block or cluster.
    Barrier,
    /// Orders memory accesses, writes caches back or invalidates them.
    Fence,
    /// Gives its time away.
    Sleep,
    /// Goes elsewhere, under a condition or not.
    Branch,
    /// Calls a function, which is not followed.
    Call,
    /// Any other instruction, the unknown ones among them.
    Other,
}

/// Where control goes after an instruction. Numbers are indices of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// To one of these, and to the next one if `falls`.
    To {
        /// Instructions that may follow.
        targets: Vec<usize>,
        /// The next one may follow as well.
        falls: bool,
    },
    /// Nowhere: the kernel, or the function, ends.
    End,
    /// To an address that is not in the instruction, and to the next one if `falls`.
    Unknown {
        /// The next one may follow as well.
        falls: bool,
    },
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Place, in the unit of its `Code`.
    pub(crate) at: u64,
    /// Memory that it accesses; a copy accesses twice.
    pub(crate) accesses: Vec<Access>,
    /// What else it is.
    pub(crate) role: Role,
    /// Where control goes.
    pub(crate) flow: Flow,
}

/// How an ISA counts places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes from the start of the kernel's machine code.
    CodeByte,
    /// Lines of the text, from 1.
    Line,
    /// Bytes from the start of the module, as `spirv-dis --offsets` counts them.
    ModuleByte,
}

/// The instructions of one kernel, in the order of its image; the first is the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    /// Unit of [`Instruction::at`].
    pub(crate) unit: Unit,
    /// All instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// Names of places, by index of the instruction that follows, ascending.
    pub(crate) labels: Vec<(usize, String)>,
}

impl Code {
    /// The place of an instruction as a person looks it up: `+0x1a4`, `line 310 ($L__BB0_22)`.
    pub(crate) fn place(&self, index: usize) -> String {
        let at = self.instructions.get(index).map_or(0, |instruction| instruction.at);
        let place = match self.unit {
            Unit::CodeByte => format!("+{at:#x}"),
            Unit::Line => format!("line {at}"),
            Unit::ModuleByte => format!("byte {at}"),
        };
        match self.labels.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(found) => self.labels.get(found).map_or(place.clone(), |(_, label)| format!("{place} ({label})")),
            Err(_) => place,
        }
    }
}
