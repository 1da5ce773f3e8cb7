//! Device memory, and its way into another process (CUDA Driver API, "Memory Management").
#![allow(unsafe_code, reason = "calls into the CUDA driver")]

use super::device::Context;
use super::driver::{DevicePointer, IPC_LAZY_ENABLE_PEER_ACCESS, IpcHandle};
use super::error::Error;

/// A block of device memory, aligned to 256 bytes or more; contents undefined at first.
#[derive(Debug)]
pub struct Memory {
    context: Context,
    address: DevicePointer,
    bytes: u64,
    /// Whether it belongs to another process, which frees it.
    foreign: bool,
}

impl Memory {
    /// Its device address, the same in all contexts of this process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The address of `bytes` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Argument`] if they are not all inside.
    pub fn at(&self, offset: u64, bytes: u64) -> Result<u64, Error> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(self.address + offset);
        }
        Err(Error::Argument(format!("bytes {offset} + {bytes} are outside an allocation of {} bytes", self.bytes)))
    }

    /// What another process opens it by.
    ///
    /// # Errors
    /// The driver's.
    pub fn export(&self) -> Result<[u8; 64], Error> {
        let driver = self.context.enter()?;
        let mut handle = IpcHandle([0; 64]);
        // SAFETY: a place for a handle, and an address that `cuMemAlloc` gave.
        let code = unsafe { (driver.entry().ipc_export)(&raw mut handle, self.address) };
        driver.checked("cuIpcGetMemHandle", code)?;
        Ok(handle.0)
    }
}

impl Context {
    /// Allocates.
    ///
    /// # Errors
    /// The driver's, e.g. when there is not as much.
    pub fn allocate(&self, bytes: u64) -> Result<Memory, Error> {
        let size = usize::try_from(bytes).map_err(|error| Error::Argument(error.to_string()))?;
        let driver = self.enter()?;
        let mut address = 0;
        // SAFETY: a place for an address.
        let code = unsafe { (driver.entry().memory_allocate)(&raw mut address, size) };
        driver.checked("cuMemAlloc", code)?;
        Ok(Memory { context: self.clone(), address, bytes, foreign: false })
    }

    /// Opens memory of another process by what its [`Memory::export`] gave; `bytes` is the size that it has there.
    ///
    /// # Errors
    /// The driver's.
    pub fn import(&self, handle: [u8; 64], bytes: u64) -> Result<Memory, Error> {
        let driver = self.enter()?;
        let mut address = 0;
        // SAFETY: a place for an address; the driver checks the handle.
        let code =
            unsafe { (driver.entry().ipc_open)(&raw mut address, IpcHandle(handle), IPC_LAZY_ENABLE_PEER_ACCESS) };
        driver.checked("cuIpcOpenMemHandle", code)?;
        Ok(Memory { context: self.clone(), address, bytes, foreign: true })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Nobody is left to tell of an error to.
        if let Ok(driver) = self.context.enter() {
            // SAFETY: allocated or opened once, given back once. The driver waits for work that uses it.
            unsafe {
                if self.foreign {
                    (driver.entry().ipc_close)(self.address);
                } else {
                    (driver.entry().memory_free)(self.address);
                }
            }
        }
    }
}
