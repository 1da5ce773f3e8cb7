//! From target files and templates to a gated bundle of kernels.
//!
//! `targets/*.yaml` and `templates/**` -> LLVM IR text ([`render`]) -> a worker process with LLVM in it ([`worker`])
//! -> object bytes -> the verifier's strict profile ([`gate`]) -> a bundle with its manifest ([`build`], [`bundle`]).
//! This crate does not link LLVM: lowering is in `xreduce-llvm`, in a process of its own per module.

pub mod build;
pub mod bundle;
pub mod error;
pub mod family;
pub mod files;
pub mod gate;
mod inputs;
pub mod job;
pub mod render;
pub mod target;
pub mod template;
pub mod worker;

pub use build::{BuildOptions, Progress, Summary, build};
pub use error::Error;
pub use files::Files;
pub use target::{Target, Targets};
