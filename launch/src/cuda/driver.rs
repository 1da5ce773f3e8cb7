//! The entry points of the CUDA driver library, opened at run time, and the numbers they take.
//! Signatures and numbers: the CUDA Driver API reference. The names with `_v2` are those that its header maps the plain
//! names to. All of them are in drivers since CUDA 11.8, the oldest that runs code for Hopper.
#![allow(unsafe_code, reason = "a C interface, opened at run time")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::error::{CallError, Error};

pub(super) type DeviceHandle = c_int;
pub(super) type ContextHandle = *mut c_void;
pub(super) type ModuleHandle = *mut c_void;
pub(super) type FunctionHandle = *mut c_void;
pub(super) type StreamHandle = *mut c_void;
pub(super) type EventHandle = *mut c_void;
pub(super) type GraphHandle = *mut c_void;
pub(super) type GraphExecHandle = *mut c_void;
/// An address in device memory.
pub(super) type DevicePointer = u64;

pub(super) const SUCCESS: c_int = 0;
pub(super) const NO_DEVICE: c_int = 100;
pub(super) const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;

pub(super) const ATTRIBUTE_MULTIPROCESSOR_COUNT: c_int = 16;
pub(super) const ATTRIBUTE_CAPABILITY_MAJOR: c_int = 75;
pub(super) const ATTRIBUTE_CAPABILITY_MINOR: c_int = 76;
pub(super) const FUNCTION_MAX_THREADS: c_int = 0;
pub(super) const FUNCTION_REGISTERS: c_int = 4;
pub(super) const FUNCTION_LOCAL_BYTES: c_int = 3;
pub(super) const STREAM_NON_BLOCKING: c_uint = 1;
pub(super) const CAPTURE_THREAD_LOCAL: c_int = 1;
pub(super) const EVENT_DEFAULT: c_uint = 0;
pub(super) const JIT_ERROR_LOG_BUFFER: c_int = 5;
pub(super) const JIT_ERROR_LOG_BYTES: c_int = 6;
pub(super) const LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
pub(super) const LAUNCH_PARAM_BUFFER_SIZE: usize = 2;
pub(super) const LAUNCH_PARAM_END: usize = 0;
pub(super) const LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION: c_int = 6;
pub(super) const IPC_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;

/// `CUlaunchAttribute`: an identity, padding to 8 bytes, a union of 64 bytes whose first word is the value here.
#[repr(C)]
pub(super) struct LaunchAttribute {
    pub(super) id: c_int,
    pub(super) padding: c_int,
    pub(super) value: c_int,
    pub(super) rest: [c_int; 15],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(super) struct LaunchConfig {
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared_bytes: c_uint,
    pub(super) stream: StreamHandle,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) attribute_count: c_uint,
}

/// `CUipcMemHandle`: passed by value, also to another process.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct IpcHandle(pub(super) [u8; 64]);

/// Declares the table of entry points and how it is filled from the library.
macro_rules! entry_points {
    ($($field:ident = $symbol:literal: ($($argument:ty),* $(,)?);)*) => {
        /// The functions that this crate calls; all return an error code.
        #[derive(Debug)]
        pub(super) struct EntryPoints {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            _library: Library,
        }

        /// Their names.
        #[cfg(test)]
        pub(super) const SYMBOLS: &[&str] = &[$($symbol),*];

        impl EntryPoints {
            /// Opens the library and finds all of them.
            pub(super) fn open(path: &Path) -> Result<Self, Error> {
                // SAFETY: runs the initialisers of a library that the caller named as the CUDA driver.
                let library = unsafe { Library::new(path) }
                    .map_err(|source| Error::Library { path: path.to_owned(), source })?;
                Ok(Self { $($field: symbol(&library, path, $symbol)?,)* _library: library })
            }
        }
    };
}

entry_points! {
    init = "cuInit": (c_uint);
    error_name = "cuGetErrorName": (c_int, *mut *const c_char);
    error_text = "cuGetErrorString": (c_int, *mut *const c_char);
    driver_version = "cuDriverGetVersion": (*mut c_int);
    device_count = "cuDeviceGetCount": (*mut c_int);
    device_get = "cuDeviceGet": (*mut DeviceHandle, c_int);
    device_name = "cuDeviceGetName": (*mut c_char, c_int, DeviceHandle);
    device_attribute = "cuDeviceGetAttribute": (*mut c_int, c_int, DeviceHandle);
    device_can_access_peer = "cuDeviceCanAccessPeer": (*mut c_int, DeviceHandle, DeviceHandle);
    context_retain = "cuDevicePrimaryCtxRetain": (*mut ContextHandle, DeviceHandle);
    context_release = "cuDevicePrimaryCtxRelease_v2": (DeviceHandle);
    context_set_current = "cuCtxSetCurrent": (ContextHandle);
    context_enable_peer = "cuCtxEnablePeerAccess": (ContextHandle, c_uint);
    module_load = "cuModuleLoadDataEx":
        (*mut ModuleHandle, *const c_void, c_uint, *const c_int, *const *mut c_void);
    module_unload = "cuModuleUnload": (ModuleHandle);
    module_function = "cuModuleGetFunction": (*mut FunctionHandle, ModuleHandle, *const c_char);
    function_attribute = "cuFuncGetAttribute": (*mut c_int, c_int, FunctionHandle);
    occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor": (*mut c_int, FunctionHandle, c_int, usize);
    launch = "cuLaunchKernelEx": (*const LaunchConfig, FunctionHandle, *const *mut c_void, *const *mut c_void);
    memory_allocate = "cuMemAlloc_v2": (*mut DevicePointer, usize);
    memory_free = "cuMemFree_v2": (DevicePointer);
    copy_in = "cuMemcpyHtoDAsync_v2": (DevicePointer, *const c_void, usize, StreamHandle);
    copy_out = "cuMemcpyDtoHAsync_v2": (*mut c_void, DevicePointer, usize, StreamHandle);
    copy = "cuMemcpyDtoDAsync_v2": (DevicePointer, DevicePointer, usize, StreamHandle);
    fill = "cuMemsetD8Async": (DevicePointer, u8, usize, StreamHandle);
    stream_create = "cuStreamCreate": (*mut StreamHandle, c_uint);
    stream_destroy = "cuStreamDestroy_v2": (StreamHandle);
    stream_synchronize = "cuStreamSynchronize": (StreamHandle);
    capture_begin = "cuStreamBeginCapture_v2": (StreamHandle, c_int);
    capture_end = "cuStreamEndCapture": (StreamHandle, *mut GraphHandle);
    graph_instantiate = "cuGraphInstantiateWithFlags": (*mut GraphExecHandle, GraphHandle, u64);
    graph_launch = "cuGraphLaunch": (GraphExecHandle, StreamHandle);
    graph_destroy = "cuGraphDestroy": (GraphHandle);
    graph_exec_destroy = "cuGraphExecDestroy": (GraphExecHandle);
    event_create = "cuEventCreate": (*mut EventHandle, c_uint);
    event_record = "cuEventRecord": (EventHandle, StreamHandle);
    event_elapsed = "cuEventElapsedTime": (*mut f32, EventHandle, EventHandle);
    event_destroy = "cuEventDestroy_v2": (EventHandle);
    ipc_export = "cuIpcGetMemHandle": (*mut IpcHandle, DevicePointer);
    ipc_open = "cuIpcOpenMemHandle_v2": (*mut DevicePointer, IpcHandle, c_uint);
    ipc_close = "cuIpcCloseMemHandle": (DevicePointer);
}

/// Looks one function up. `T` is the function pointer's type.
fn symbol<T: Copy>(library: &Library, path: &Path, name: &'static str) -> Result<T, Error> {
    // SAFETY: every use above gives the reference's signature for this name, and the pointer is kept beside the library in
    // `EntryPoints`, so it does not outlive it.
    let found = unsafe { library.get::<T>(name) };
    found.map(|symbol| *symbol).map_err(|source| Error::Symbol { path: path.to_owned(), symbol: name, source })
}

impl EntryPoints {
    /// Names the call in the error, if there is one, with the driver's own words for it.
    pub(super) fn checked(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == SUCCESS { Ok(()) } else { Err(Error::Call(self.call_error(call, code))) }
    }

    pub(super) fn call_error(&self, call: &'static str, code: c_int) -> CallError {
        CallError { call, code, name: self.word(self.error_name, code), text: self.word(self.error_text, code) }
    }

    fn word(&self, query: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int, code: c_int) -> String {
        let mut text = ptr::null();
        // SAFETY: `text` is a place for one pointer; the driver sets it to a static text or to null.
        let asked = unsafe { query(code, &raw mut text) };
        if asked != SUCCESS || text.is_null() {
            return String::from("unknown to this driver");
        }
        // SAFETY: not null, and a text with a final zero that lives as long as the library.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
