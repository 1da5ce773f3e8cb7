//! What the commanding process and a rank say to each other: one JSON object a line, requests on the
//! rank's standard input, one response for each request on its standard output, in order.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The descriptor at which a rank finds the shared memory.
pub(crate) const MEMORY_FD: i32 = 3;

/// One kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The address of a byte of the shared memory, as the rank sees it.
    Pointer(u64),
    /// A 32-bit value.
    Word(u32),
}

/// What a rank says of its device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The device's own name.
    pub name: String,
    /// Its driver's version.
    pub driver: String,
    /// Work-groups that run at the same time at least.
    pub compute_units: u32,
    /// Most work-items in a work-group.
    pub max_group_size: usize,
}

/// What the commanding process asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Map the shared memory and take a device.
    Open {
        /// Size of the shared memory.
        memory_bytes: usize,
        /// The OpenCL loader library.
        loader: PathBuf,
        /// Part of the device's name, or any device.
        device: Option<String>,
    },
    /// Replace the program by this SPIR-V module, in base64.
    Load {
        /// The module.
        module: String,
    },
    /// Run a kernel and wait until it has ended.
    Launch {
        /// The kernel's name.
        kernel: String,
        /// Its arguments, all of them.
        arguments: Vec<Argument>,
        /// Work-groups.
        blocks: u32,
        /// Work-items of a work-group.
        threads: u32,
    },
}

impl Request {
    /// What is asked for, as it reads after "could not".
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open its device",
            Self::Load { .. } => "load the module",
            Self::Launch { .. } => "run its kernel",
        }
    }
}

/// What a rank answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Response {
    /// To `Open`.
    Device(DeviceInfo),
    /// To `Load`: the module's kernels.
    Kernels(Vec<String>),
    /// To `Launch`.
    Ended,
    /// To any request: why it could not be done.
    Failed(String),
}
