//! What a build asks of a worker process and what comes back: one job on standard input, one answer on standard output.
//!
//! A job is JSON. An answer is one line of JSON and, when it went well, the artifact's bytes behind it.

use serde::{Deserialize, Serialize};

use crate::family::Output;

/// One module to lower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name for messages, e.g. `gfx1100 w2`.
    pub module: String,
    /// LLVM target triple.
    pub triple: String,
    /// LLVM processor name.
    pub cpu: String,
    /// LLVM feature string.
    pub features: String,
    /// What to emit.
    pub output: Output,
    /// Value of `-spirv-ext`, for SPIR-V.
    pub spirv_extensions: Option<String>,
    /// The module as LLVM IR text.
    pub ir: String,
}

/// First line of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// `bytes` bytes of the artifact follow.
    Done {
        /// Size of the artifact.
        bytes: usize,
    },
    /// The IR is faulty: a message and, where LLVM gave one, a line of the IR, counted from 1.
    Faulty {
        /// What LLVM said.
        message: String,
        /// Line of the IR.
        line: Option<usize>,
    },
    /// LLVM or LLD could not lower a well-formed module.
    Failed {
        /// What it said.
        message: String,
    },
}
