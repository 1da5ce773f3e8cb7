//! The entry points of an OpenCL loader, opened at run time, and the numbers they take.
//! Signatures and numbers: the OpenCL 3.0 API specification and its headers.
#![allow(unsafe_code, reason = "a C interface, opened at run time")]

use std::ffi::{c_char, c_void};
use std::path::Path;

use libloading::Library;

use super::Error;

pub(super) type PlatformId = *mut c_void;
pub(super) type DeviceId = *mut c_void;
pub(super) type ContextHandle = *mut c_void;
pub(super) type QueueHandle = *mut c_void;
pub(super) type ProgramHandle = *mut c_void;
pub(super) type KernelHandle = *mut c_void;
pub(super) type EventHandle = *mut c_void;

pub(super) const SUCCESS: i32 = 0;
pub(super) const DEVICE_NOT_FOUND: i32 = -1;
pub(super) const PLATFORM_NOT_FOUND: i32 = -1001;
pub(super) const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub(super) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(super) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(super) const DEVICE_NAME: u32 = 0x102B;
pub(super) const DRIVER_VERSION: u32 = 0x102D;
pub(super) const DEVICE_SVM_CAPABILITIES: u32 = 0x1053;
pub(super) const SVM_FINE_GRAIN_SYSTEM: u64 = 1 << 2;
pub(super) const PROGRAM_KERNEL_NAMES: u32 = 0x1168;
pub(super) const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(super) const KERNEL_NUM_ARGS: u32 = 0x1191;
pub(super) const KERNEL_WORK_GROUP_SIZE: u32 = 0x11B0;
pub(super) const KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM: u32 = 0x11B7;
pub(super) const EVENT_COMMAND_EXECUTION_STATUS: u32 = 0x11D3;

/// Declares the table of entry points and how it is filled from the library.
macro_rules! entry_points {
    ($($field:ident = $symbol:literal: ($($argument:ty),* $(,)?);)*) => {
        /// The functions that this crate calls. All of them return an error code or set one through
        /// their last argument.
        #[derive(Debug)]
        pub(super) struct EntryPoints {
            $(pub(super) $field: unsafe extern "system" fn($($argument),*) -> i32,)*
            pub(super) create_context: CreateContext,
            pub(super) create_queue: CreateQueue,
            pub(super) create_program: CreateProgram,
            pub(super) create_kernel: CreateKernel,
            _library: Library,
        }

        impl EntryPoints {
            /// Opens the loader, which opens the drivers that the system (or its environment
            /// variables) names.
            pub(super) fn open(path: &Path) -> Result<Self, Error> {
                // SAFETY: runs the initialisers of a library that the caller named as an OpenCL loader.
                let library = unsafe { Library::new(path) }
                    .map_err(|source| Error::Loader { path: path.to_owned(), source })?;
                Ok(Self {
                    $($field: symbol(&library, path, $symbol)?,)*
                    create_context: symbol(&library, path, "clCreateContext")?,
                    create_queue: symbol(&library, path, "clCreateCommandQueueWithProperties")?,
                    create_program: symbol(&library, path, "clCreateProgramWithIL")?,
                    create_kernel: symbol(&library, path, "clCreateKernel")?,
                    _library: library,
                })
            }
        }
    };
}

type ErrorCallback = Option<unsafe extern "system" fn(*const c_char, *const c_void, usize, *mut c_void)>;
type ProgramCallback = Option<unsafe extern "system" fn(ProgramHandle, *mut c_void)>;
type CreateContext = unsafe extern "system" fn(
    *const isize,
    u32,
    *const DeviceId,
    ErrorCallback,
    *mut c_void,
    *mut i32,
) -> ContextHandle;
type CreateQueue = unsafe extern "system" fn(ContextHandle, DeviceId, *const u64, *mut i32) -> QueueHandle;
type CreateProgram = unsafe extern "system" fn(ContextHandle, *const c_void, usize, *mut i32) -> ProgramHandle;
type CreateKernel = unsafe extern "system" fn(ProgramHandle, *const c_char, *mut i32) -> KernelHandle;

entry_points! {
    platform_ids = "clGetPlatformIDs": (u32, *mut PlatformId, *mut u32);
    device_ids = "clGetDeviceIDs": (PlatformId, u64, u32, *mut DeviceId, *mut u32);
    device_info = "clGetDeviceInfo": (DeviceId, u32, usize, *mut c_void, *mut usize);
    build_program = "clBuildProgram":
        (ProgramHandle, u32, *const DeviceId, *const c_char, ProgramCallback, *mut c_void);
    program_info = "clGetProgramInfo": (ProgramHandle, u32, usize, *mut c_void, *mut usize);
    build_info = "clGetProgramBuildInfo":
        (ProgramHandle, DeviceId, u32, usize, *mut c_void, *mut usize);
    kernel_info = "clGetKernelInfo": (KernelHandle, u32, usize, *mut c_void, *mut usize);
    work_group_info = "clGetKernelWorkGroupInfo":
        (KernelHandle, DeviceId, u32, usize, *mut c_void, *mut usize);
    set_argument = "clSetKernelArg": (KernelHandle, u32, usize, *const c_void);
    set_pointer_argument = "clSetKernelArgSVMPointer": (KernelHandle, u32, *const c_void);
    set_exec_info = "clSetKernelExecInfo": (KernelHandle, u32, usize, *const c_void);
    enqueue = "clEnqueueNDRangeKernel": (
        QueueHandle, KernelHandle, u32, *const usize, *const usize, *const usize, u32,
        *const EventHandle, *mut EventHandle,
    );
    finish = "clFinish": (QueueHandle);
    event_info = "clGetEventInfo": (EventHandle, u32, usize, *mut c_void, *mut usize);
    release_event = "clReleaseEvent": (EventHandle);
    release_kernel = "clReleaseKernel": (KernelHandle);
    release_program = "clReleaseProgram": (ProgramHandle);
    release_queue = "clReleaseCommandQueue": (QueueHandle);
    release_context = "clReleaseContext": (ContextHandle);
}

/// Looks one function up. `T` is the function pointer's type.
fn symbol<T: Copy>(library: &Library, path: &Path, name: &'static str) -> Result<T, Error> {
    // SAFETY: every use above gives the specification's signature for this name, and the pointer is
    // kept beside the library in `EntryPoints`, so it does not outlive it.
    let found = unsafe { library.get::<T>(name) };
    found.map(|symbol| *symbol).map_err(|source| Error::Symbol { path: path.to_owned(), symbol: name, source })
}

/// Names the call in the error, if there is one.
pub(super) fn checked(call: &'static str, code: i32) -> Result<(), Error> {
    if code == SUCCESS { Ok(()) } else { Err(Error::Call { call, code }) }
}

/// The bytes of an information query. `query` takes room, the place for the value and the place for its size.
pub(super) fn info(
    call: &'static str,
    query: impl Fn(usize, *mut c_void, *mut usize) -> i32,
) -> Result<Vec<u8>, Error> {
    let mut size = 0;
    checked(call, query(0, std::ptr::null_mut(), &raw mut size))?;
    let mut value = vec![0_u8; size];
    checked(call, query(size, value.as_mut_ptr().cast(), std::ptr::null_mut()))?;
    Ok(value)
}

/// An information value that is a text with a final zero.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').trim().to_owned()
}

/// An information value that is an unsigned number of 4 or 8 bytes.
pub(super) fn number(call: &'static str, bytes: &[u8]) -> Result<u64, Error> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        Ok(u64::from(u32::from_ne_bytes(four)))
    } else if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        Ok(u64::from_ne_bytes(eight))
    } else {
        Err(Error::Call { call, code: SUCCESS })
    }
}
