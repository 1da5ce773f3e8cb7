//! OpenCL: SPIR-V kernels that get plain pointers of the host.
//!
//! From the OpenCL 3.0 API specification: the loader interface, program objects from an intermediate
//! language (2.1), shared virtual memory of the kind "fine-grain system" (2.0), under which any
//! address of the process is valid in a kernel. Left out: buffers, images, devices without that kind.

mod driver;
mod session;

use std::path::PathBuf;

pub(crate) use session::{Session, Value};

/// A failed step on the way to a finished kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "cannot open the OpenCL loader {} ({source}); Debian has it as ocl-icd-libopencl1",
        path.display()
    )]
    Loader { path: PathBuf, source: libloading::Error },
    #[error("the OpenCL loader {} lacks {symbol} ({source}); OpenCL 2.1 is needed", path.display())]
    Symbol { path: PathBuf, symbol: &'static str, source: libloading::Error },
    #[error("{call} failed: {}", code_name(*code))]
    Call { call: &'static str, code: i32 },
    #[error("no OpenCL device {wanted}takes plain host pointers (fine-grain system SVM); found: {found}")]
    NoDevice { wanted: String, found: String },
    #[error("the module does not build for {device}: {}\n{log}", code_name(*code))]
    Build { device: String, code: i32, log: String },
    #[error("no module is loaded")]
    NoModule,
    #[error("the module has no kernel {wanted}; it has {known}")]
    NoKernel { wanted: String, known: String },
    #[error("kernel {kernel} takes {takes} arguments, not {given}")]
    ArgumentCount { kernel: String, takes: u32, given: usize },
    #[error("kernel {kernel} runs at most {most} work-items in a group on this device, not {given}")]
    GroupSize { kernel: String, most: usize, given: u32 },
    #[error("kernel {kernel} ended with {}", code_name(*code))]
    Ended { kernel: String, code: i32 },
}

/// The specification's name of an error code, as far as our calls can meet it.
fn code_name(code: i32) -> String {
    let name = match code {
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -42 => "CL_INVALID_BINARY",
        -44 => "CL_INVALID_PROGRAM",
        -45 => "CL_INVALID_PROGRAM_EXECUTABLE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -59 => "CL_INVALID_OPERATION",
        -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => return format!("OpenCL error {code}"),
    };
    format!("{name} ({code})")
}
