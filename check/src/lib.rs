//! Decides whether executed kernels keep the kernel contract, wherever they run.
//!
//! A [`Backend`] runs kernels: an OpenCL device, an emulator, a GPU. A seed becomes a [`Plan`], a
//! sequence of mixed calls on one workspace; [`run`] executes it and compares, after every call, the
//! sums bit for bit with a reference, the memory around them, and the workspace with what the
//! contract says of it. [`check_bundle`] does that for the kernels of a bundle.
//!
//! The contract itself is the crate `xreduce-contract`; why it is so, `docs/kernel-contract.md`.
//! Left out: speed, and what a backend cannot show (an ordering fault on a machine that orders more
//! than it must).

mod backend;
mod buffers;
mod bundle;
pub mod cuda;
mod emulator;
mod fault;
mod opencl;
mod plan;
mod random;
mod report;
mod run;
mod select;
mod state;
mod values;
mod waits;

pub use backend::{Backend, BackendError, Launch, Limits, ModuleBytes, Region, Session, Sharing, Value};
pub use bundle::{Bundle, BundleError};
pub use emulator::Emulator;
pub use fault::{Fault, Step, What};
pub use opencl::OpenCl;
pub use plan::{Call, Callable, Ending, Plan, RankCall};
pub use report::{KernelReport, Outcome, Report, Verdict};
pub use run::{Stop, run};
pub use select::{Progress, Selection, check_bundle, check_bundle_in_parallel, record};
pub use values::Values;
