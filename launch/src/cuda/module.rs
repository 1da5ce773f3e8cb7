//! Modules of PTX and their kernels (CUDA Driver API, "Module Management", "Occupancy").
#![allow(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use super::device::Context;
use super::driver::{
    FUNCTION_LOCAL_BYTES, FUNCTION_MAX_THREADS, FUNCTION_REGISTERS, FunctionHandle, JIT_ERROR_LOG_BUFFER,
    JIT_ERROR_LOG_BYTES, ModuleHandle,
};
use super::error::Error;

/// Room for what the driver's compiler says, bytes.
const LOG: usize = 1 << 14;

/// A module that the driver has compiled for the context's device.
#[derive(Debug, Clone)]
pub struct Module(Rc<Loaded>);

#[derive(Debug)]
struct Loaded {
    context: Context,
    handle: ModuleHandle,
}

/// A kernel of a module.
#[derive(Debug, Clone)]
pub struct Function {
    module: Module,
    handle: FunctionHandle,
}

impl Context {
    /// Loads a module; `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Module`] with the log of the driver's compiler.
    pub fn load(&self, name: &str, ptx: &[u8]) -> Result<Module, Error> {
        let image =
            CString::new(ptx).map_err(|error| Error::Argument(format!("{name}: {error}, so this is no PTX")))?;
        let driver = self.enter()?;
        let mut handle = ptr::null_mut();
        let mut log = vec![0_u8; LOG];
        let options = [JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BYTES];
        // A number as an option's value stands in the pointer itself.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG)];
        // SAFETY: a text with a final zero; two options with two values; the log has the room that is said, and all of it
        // outlives the call.
        let code = unsafe {
            (driver.entry().module_load)(
                &raw mut handle,
                image.as_ptr().cast(),
                2,
                options.as_ptr(),
                values.as_mut_ptr().cast_const(),
            )
        };
        match driver.checked("cuModuleLoadDataEx", code) {
            Ok(()) => Ok(Module(Rc::new(Loaded { context: self.clone(), handle }))),
            Err(Error::Call(error)) => {
                let log = String::from_utf8_lossy(&log);
                let log = log.split('\0').next().unwrap_or("").trim().to_owned();
                Err(Error::Module { module: name.to_owned(), error, log })
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Nobody is left to tell of an error to.
        if let Ok(driver) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; functions keep the module.
            unsafe { (driver.entry().module_unload)(self.handle) };
        }
    }
}

impl Module {
    /// A kernel by its symbol, loaded onto the device: a kernel that the driver still had to load at its first launch might
    /// have to wait for one that waits for it.
    ///
    /// # Errors
    /// The driver's, if there is no such kernel.
    pub fn function(&self, symbol: &str) -> Result<Function, Error> {
        let name = CString::new(symbol).map_err(|error| Error::Argument(format!("{symbol:?}: {error}")))?;
        let driver = self.0.context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for a handle, a loaded module and a text with a final zero.
        let code = unsafe { (driver.entry().module_function)(&raw mut handle, self.0.handle, name.as_ptr()) };
        driver.checked("cuModuleGetFunction", code).map_err(|error| match error {
            Error::Call(error) => Error::Module { module: symbol.to_owned(), error, log: String::new() },
            error => error,
        })?;
        let function = Function { module: self.clone(), handle };
        // Asking for an attribute loads it.
        function.registers()?;
        Ok(function)
    }
}

impl Function {
    pub(super) fn handle(&self) -> FunctionHandle {
        self.handle
    }

    fn attribute(&self, attribute: c_int) -> Result<u32, Error> {
        let driver = self.module.0.context.enter()?;
        let mut value = 0;
        // SAFETY: a place for a number and a function of a loaded module.
        let code = unsafe { (driver.entry().function_attribute)(&raw mut value, attribute, self.handle) };
        driver.checked("cuFuncGetAttribute", code)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Registers of a thread.
    ///
    /// # Errors
    /// The driver's.
    pub fn registers(&self) -> Result<u32, Error> {
        self.attribute(FUNCTION_REGISTERS)
    }

    /// Local memory of a thread, bytes: spilled registers and stack.
    ///
    /// # Errors
    /// The driver's.
    pub fn local_bytes(&self) -> Result<u32, Error> {
        self.attribute(FUNCTION_LOCAL_BYTES)
    }

    /// The most threads that a block of it may have.
    ///
    /// # Errors
    /// The driver's.
    pub fn max_threads(&self) -> Result<u32, Error> {
        self.attribute(FUNCTION_MAX_THREADS)
    }

    /// How many of its blocks of `threads` threads a multiprocessor holds at the same time.
    ///
    /// # Errors
    /// The driver's.
    pub fn blocks_per_compute_unit(&self, threads: u32) -> Result<u32, Error> {
        let driver = self.module.0.context.enter()?;
        let threads = c_int::try_from(threads).map_err(|error| Error::Argument(error.to_string()))?;
        let mut blocks = 0;
        // SAFETY: a place for a number and a function of a loaded module.
        let code = unsafe { (driver.entry().occupancy)(&raw mut blocks, self.handle, threads, 0) };
        driver.checked("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }
}
