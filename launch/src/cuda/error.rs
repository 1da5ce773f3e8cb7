//! What can go wrong between this program and a CUDA driver.

use std::fmt;
use std::path::PathBuf;

/// A failed call of the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// The entry point.
    pub call: &'static str,
    /// `CUresult`.
    pub code: i32,
    /// Its name, e.g. `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// The driver's description of it.
    pub text: String,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}), {}", self.call, self.name, self.code, self.text)?;
        if self.is_sticky() {
            write!(f, "; the context is dead, and with it all work of this process on the GPU")?;
        }
        Ok(())
    }
}

impl CallError {
    /// Whether a kernel has ended the context.
    fn is_sticky(&self) -> bool {
        STICKY.contains(&self.code)
    }
}

/// Codes that a kernel causes and that leave the context unusable, from the descriptions of `CUresult`:
/// illegal address, launch timeout, assert, hardware stack error, illegal instruction, misaligned address, invalid
/// address space, invalid program counter, launch failure.
const STICKY: &[i32] = &[700, 702, 710, 714, 715, 716, 717, 718, 719];

/// A failure to open, command or hear the CUDA driver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The driver's library is not there.
    #[error("no CUDA driver: cannot open {}: {}", path.display(), reason(source))]
    Library {
        /// The library.
        path: PathBuf,
        /// The loader's answer.
        source: libloading::Error,
    },
    /// The driver's library lacks a function: it is older than CUDA 11.8.
    #[error("the CUDA driver {} has no {symbol}: this program needs a driver of CUDA 11.8 or newer", path.display())]
    Symbol {
        /// The library.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
        /// The loader's answer.
        source: libloading::Error,
    },
    /// The driver finds no GPU.
    #[error("no CUDA device: the driver finds none")]
    NoDevice,
    /// A call failed.
    #[error("{0}")]
    Call(CallError),
    /// The driver did not take a module.
    #[error("{module}: {error}{}{log}", if log.is_empty() { "" } else { "\n" })]
    Module {
        /// Its name.
        module: String,
        /// The failed call.
        error: CallError,
        /// What the driver's compiler says.
        log: String,
    },
    /// A name that no kernel can have, or a place outside an allocation.
    #[error("{0}")]
    Argument(String),
}

/// The loader's own words, which libloading keeps one level down.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

impl Error {
    /// Whether a kernel has ended the context: no later call of this process can succeed.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        matches!(self, Error::Call(error) if error.is_sticky())
    }
}
