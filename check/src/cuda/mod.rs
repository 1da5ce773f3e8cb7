//! Runs PTX modules on NVIDIA GPUs through the CUDA driver: one process, a stream per rank, the ranks on devices of
//! their own or all on one.
//!
//! A launch's seed decides what a host is free to decide: which rank's work is queued first, whether it is queued directly
//! or as a captured graph, and whether a kernel may start before its predecessor has ended (dependent launch).
//! [`soak`] makes many more calls, with elements that stay on the device.

mod call;
mod compare;
mod kernels;
mod pool;
mod processes;
mod session;
mod soak;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use xreduce_contract::manifest::Format;
use xreduce_launch::cuda::{Device, Driver, Error, Ranks};

use crate::backend::{Backend, BackendError, ModuleBytes, Session};

pub use call::CallArguments;
pub use kernels::Kernels;
pub use processes::{processes, rank_main};
pub use soak::soak;

/// The CUDA driver of this machine and its devices.
#[derive(Debug)]
pub struct Cuda {
    driver: Driver,
    /// The highest compute capability, as in `sm_90`.
    capability: u32,
    health: Health,
}

/// Why no work is possible any more: a kernel has ended the context, which all of this process shares.
#[derive(Debug, Clone, Default)]
struct Health(Rc<RefCell<Option<String>>>);

impl Health {
    fn verify(&self) -> Result<(), BackendError> {
        match self.0.borrow().as_ref() {
            None => Ok(()),
            Some(reason) => Err(BackendError::unable(format!("the GPU's context died earlier: {reason}"))),
        }
    }

    /// The error as a backend's. One that a kernel has caused is the end of all work.
    fn told(&self, error: &Error) -> BackendError {
        if !error.is_sticky() {
            return BackendError::unable(error);
        }
        self.0.borrow_mut().get_or_insert_with(|| error.to_string());
        BackendError::kernel(error)
    }
}

impl Cuda {
    /// The word for it on the command line and in reports.
    pub const NAME: &str = "cuda";

    /// Opens the driver.
    ///
    /// # Errors
    /// [`BackendError`] without a driver or a device.
    pub fn open() -> Result<Self, BackendError> {
        Self::with(Driver::open().map_err(BackendError::unable)?)
    }

    /// Opens the driver from this library.
    ///
    /// # Errors
    /// As [`Cuda::open`].
    pub fn open_at(library: &Path) -> Result<Self, BackendError> {
        Self::with(Driver::open_at(library).map_err(BackendError::unable)?)
    }

    fn with(driver: Driver) -> Result<Self, BackendError> {
        let devices = driver.devices().map_err(BackendError::unable)?;
        let capabilities: Result<Vec<u32>, Error> = devices.iter().map(Device::capability).collect();
        let capability = capabilities.map_err(BackendError::unable)?.into_iter().max().unwrap_or(0);
        Ok(Self { driver, capability, health: Health::default() })
    }

    /// Places a module's ranks on devices that run it.
    ///
    /// # Errors
    /// [`BackendError`] if there is no such device, or a kernel has ended all work earlier.
    pub fn place(&self, module: &ModuleBytes<'_>) -> Result<Ranks, BackendError> {
        self.health.verify()?;
        let needed = module.processors.iter().filter_map(|name| needed_capability(name)).min().unwrap_or(0);
        Ranks::place(&self.driver, module.world.ranks(), needed).map_err(|error| self.health.told(&error))
    }
}

/// The compute capability that code for `processor` needs: `sm_90` runs on every later one. `None` for what is tied
/// to one processor (`sm_90a`) and for what is no name of an NVIDIA processor.
fn needed_capability(processor: &str) -> Option<u32> {
    processor.strip_prefix("sm_")?.parse().ok()
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn runs(&self, format: &Format) -> bool {
        match format {
            Format::Ptx { ptx_target, .. } => {
                needed_capability(ptx_target).is_some_and(|needed| needed <= self.capability)
            }
            _ => false,
        }
    }

    fn open(&self, module: &ModuleBytes<'_>) -> Result<Box<dyn Session>, BackendError> {
        let ranks = self.place(module)?;
        Ok(Box::new(session::CudaSession::open(ranks, module, self.health.clone())?))
    }
}
