//! CUDA devices through their driver, opened at run time: nothing of a CUDA toolkit is needed to build or to run this.
//!
//! All ranks are played by one process and one thread: a primary context per device, a stream per rank, so that kernels
//! that wait for each other run at the same time. [`Context::import`] is for ranks in processes of their own.
//!
//! Source: the CUDA Driver API reference. Left out: everything that the kernels' check and bench do not call, such as
//! textures, arrays, managed memory, multicast.

mod arguments;
mod device;
mod driver;
mod error;
mod memory;
mod module;
mod ranks;
mod stream;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use device::{Context, Device, Driver};
pub use error::{CallError, Error};
pub use memory::Memory;
pub use module::{Function, Module};
pub use ranks::{Queued, Rank, Ranks};
pub use stream::{Event, Geometry, Graph, Stream};
