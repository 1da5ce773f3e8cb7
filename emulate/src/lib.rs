//! Executes what GPU kernels ship as (AMDGPU machine code, PTX text) on the CPU, several devices at once, under an
//! adversarial memory and scheduler.
//!
//! Load a code object ([`amdgpu::CodeObject`]) or a module ([`ptx::Module`]), make a [`Machine`] with devices and regions, queue launches on the
//! devices, run them all under a seed, and read memory back. Kernels reach the machine's regions and nothing else.
//! `memory/order.rs` and `memory/causal/` say what the memory models mean, `schedule.rs` how waves are chosen, `amdgpu/family.rs` what
//! each AMD family's cache bits and waits mean.
//!
//! The crate knows nothing of the project's kernels and links no LLVM; the disassembler that the AMD front end needs
//! is handed in ([`amdgpu::Decoder`]).

pub mod amdgpu;
mod error;
mod machine;
mod memory;
pub mod ptx;
mod rng;
mod schedule;
mod thread;
mod trace;

pub use error::{Failure, Fault, FaultKind, LoadError, Reason};
pub use machine::{Kernel, Launch, Machine, RunOptions, RunReport, Start};
pub use memory::{Access, Device};
pub use trace::TraceLine;
