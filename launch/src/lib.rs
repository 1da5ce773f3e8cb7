//! Host side: runs kernels on the devices of this machine, one process per rank.
//!
//! A [`Group`] starts one child process per rank, gives all of them one block of shared memory and
//! sends them work; [`rank_main`] is what a child does. The child is the same program again with a
//! subcommand of the caller's choice that calls [`rank_main`]. One process per rank because that is
//! how the kernels are used, because two queues of a CPU OpenCL runtime share one thread pool and
//! wait for each other for ever, and because a faulty kernel then ends a child and not the caller.
//!
//! Drivers are opened at run time: nothing here links one. A group's is OpenCL ([`opencl`]), for
//! devices that take plain host pointers (fine-grain system SVM: every CPU runtime). CUDA ([`cuda`]) needs no process per
//! rank: streams of one process run at the same time.
//!
//! Left out: ranks on other machines.

pub mod cuda;
mod error;
mod group;
pub mod opencl;
mod protocol;
mod rank;
mod shared;

pub use error::Error;
pub use group::{Group, Launch, Options};
pub use protocol::{Argument, DeviceInfo};
pub use rank::rank_main;
