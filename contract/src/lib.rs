//! The kernel contract, version 1, as types and numbers that every other crate shares.
//!
//! What a host, the generator, the checker and the manifest must agree on: names of kernels, their arguments,
//! the workspace's layout, epochs, status words, the manifest's schema and the sum a call must give.
//! The prose and the reasons are in `docs/kernel-contract.md`. Nothing here touches LLVM, a driver or a file.

pub mod arguments;
pub mod epoch;
pub mod kernel;
pub mod manifest;
pub mod reference;
pub mod status;
pub mod workspace;

pub use arguments::{Argument, ArgumentType, kernel_arguments};
pub use kernel::{Algorithm, Element, Kernel, SumOrder, Wire, World};
pub use status::Status;
pub use workspace::Workspace;

/// Version of the kernel contract that the arguments, the workspace and the rules of this crate describe.
pub const CONTRACT_VERSION: u32 = 1;
