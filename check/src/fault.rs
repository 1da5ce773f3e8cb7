//! What a check found wrong, as data: where, what it saw, what it expected.

use std::fmt;

use serde::Serialize;

/// A broken promise of the kernel contract, seen after a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Number of the call in its plan, from 1.
    pub call: usize,
    /// The kernel called.
    pub kernel: String,
    /// Elements of the call.
    pub count: u32,
    /// What was going on.
    pub step: Step,
    /// The rank on which it was seen; none if it is not one rank's.
    pub rank: Option<u32>,
    /// What was seen.
    pub what: What,
}

/// Where in a plan a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// One of the plan's calls.
    Call,
    /// The message that is too long.
    OverCapacity,
    /// The call to which a rank does not come.
    Absent,
    /// The absent rank comes, too late.
    Late,
    /// A further call before anything was recovered.
    Spoilt,
    /// The first call after recovery.
    Recovered,
}

/// What was seen, and what the contract says instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A wrong sum.
    Element {
        /// Index of the element.
        index: usize,
        /// Its value and bits.
        saw: String,
        /// The sum in the declared order.
        expected: String,
        /// What each rank contributed.
        inputs: Vec<String>,
    },
    /// A byte that no kernel may change was changed.
    Byte {
        /// `in` or `out`.
        buffer: &'static str,
        /// Bytes from the first element; negative before it.
        offset: i64,
        /// The byte.
        saw: u8,
        /// What the host had put there.
        expected: u8,
    },
    /// A word of the workspace is not as the contract says.
    Word {
        /// What is there.
        name: String,
        /// Byte offset in the workspace.
        offset: u64,
        /// The word, read by a person.
        saw: String,
        /// The contract's word.
        expected: String,
    },
    /// The kernel crashed, hung or left its memory; the backend's words.
    Kernel {
        /// What happened.
        message: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} ({}, {} elements", self.call, self.kernel, self.count)?;
        match self.step {
            Step::Call => {}
            Step::OverCapacity => write!(f, ", over capacity")?,
            Step::Absent => write!(f, ", a rank stays away")?,
            Step::Late => write!(f, ", that rank comes late")?,
            Step::Spoilt => write!(f, ", all ranks after that")?,
            Step::Recovered => write!(f, ", after recovery")?,
        }
        write!(f, ")")?;
        if let Some(rank) = self.rank {
            write!(f, ", rank {rank}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Element { index, saw, expected, inputs } => {
                write!(f, "element {index} is {saw}, expected {expected}, the sum of {}", inputs.join(" + "))
            }
            What::Byte { buffer, offset, saw, expected } => {
                write!(f, "byte {offset} of {buffer} is {saw:#04x}, expected {expected:#04x} as before the call")
            }
            What::Word { name, offset, saw, expected } => {
                write!(f, "{name} (byte {offset} of the workspace) is {saw}, expected {expected}")
            }
            What::Kernel { message } => f.write_str(message),
        }
    }
}
