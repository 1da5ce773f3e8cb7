//! One device, one queue, one program: all that a rank needs, made once and used call after call.
#![allow(unsafe_code, reason = "calls into an OpenCL driver")]

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use super::Error;
use super::driver::{self, EntryPoints, checked, info, number, text};
use crate::DeviceInfo;

/// A kernel argument as the driver takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// A plain host pointer.
    Pointer(*mut u8),
    /// A 32-bit value.
    Word(u32),
}

/// A device with its context and queue, and at most one program.
#[derive(Debug)]
pub(crate) struct Session {
    api: EntryPoints,
    device: driver::DeviceId,
    device_info: DeviceInfo,
    context: driver::ContextHandle,
    queue: driver::QueueHandle,
    program: Option<Program>,
}

#[derive(Debug)]
struct Program {
    handle: driver::ProgramHandle,
    kernels: HashMap<String, Kernel>,
}

#[derive(Debug)]
struct Kernel {
    handle: driver::KernelHandle,
    arguments: u32,
    max_threads: usize,
}

impl Session {
    /// Takes the first device that can run our kernels and whose name contains `wanted`.
    pub(crate) fn open(loader: &Path, wanted: Option<&str>) -> Result<Self, Error> {
        let api = EntryPoints::open(loader)?;
        let (device, device_info) = find_device(&api, wanted)?;
        let mut code = 0;
        // SAFETY: one device, no properties, no callback.
        let context = unsafe { (api.create_context)(null(), 1, &raw const device, None, null_mut(), &raw mut code) };
        checked("clCreateContext", code)?;
        // SAFETY: context and device belong together; no properties: an in-order queue.
        let queue = unsafe { (api.create_queue)(context, device, null(), &raw mut code) };
        let session = Self { api, device, device_info, context, queue, program: None };
        // Only now, so that the context is released with the session.
        checked("clCreateCommandQueueWithProperties", code)?;
        Ok(session)
    }

    /// The device taken.
    pub(crate) fn device(&self) -> &DeviceInfo {
        &self.device_info
    }

    /// Compiles a SPIR-V module and gives the names of its kernels. The program before is dropped.
    pub(crate) fn load(&mut self, module: &[u8]) -> Result<Vec<String>, Error> {
        self.release_program();
        let api = &self.api;
        let mut code = 0;
        // SAFETY: the driver copies the module's bytes.
        let handle = unsafe { (api.create_program)(self.context, module.as_ptr().cast(), module.len(), &raw mut code) };
        checked("clCreateProgramWithIL", code)?;
        let program = self.program.insert(Program { handle, kernels: HashMap::new() });
        // SAFETY: no options and no callback, so the call returns when the build has ended.
        let code = unsafe { (api.build_program)(handle, 1, &raw const self.device, c"".as_ptr(), None, null_mut()) };
        if code != driver::SUCCESS {
            let log = info("clGetProgramBuildInfo", |size, value, room| {
                // SAFETY: `info` gives room for `size` bytes.
                unsafe { (api.build_info)(handle, self.device, driver::PROGRAM_BUILD_LOG, size, value, room) }
            });
            let log = log.map_or_else(|error| error.to_string(), |bytes| text(&bytes));
            return Err(Error::Build { device: self.device_info.name.clone(), code, log });
        }
        let names = info("clGetProgramInfo", |size, value, room| {
            // SAFETY: `info` gives room for `size` bytes.
            unsafe { (api.program_info)(handle, driver::PROGRAM_KERNEL_NAMES, size, value, room) }
        })?;
        let names: Vec<String> = text(&names).split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        for name in &names {
            program.kernels.insert(name.clone(), create_kernel(api, self.device, handle, name)?);
        }
        Ok(names)
    }

    /// Runs a kernel over `blocks` groups of `threads` work-items and waits for its end.
    ///
    /// # Safety
    /// Every pointer must be valid for what the kernel does with it.
    pub(crate) unsafe fn launch(&self, name: &str, values: &[Value], blocks: u32, threads: u32) -> Result<(), Error> {
        let program = self.program.as_ref().ok_or(Error::NoModule)?;
        let kernel = program.kernels.get(name).ok_or_else(|| {
            let mut known: Vec<&str> = program.kernels.keys().map(String::as_str).collect();
            known.sort_unstable();
            Error::NoKernel { wanted: name.to_owned(), known: known.join(", ") }
        })?;
        if kernel.arguments as usize != values.len() {
            let (takes, given) = (kernel.arguments, values.len());
            return Err(Error::ArgumentCount { kernel: name.to_owned(), takes, given });
        }
        if threads as usize > kernel.max_threads {
            let most = kernel.max_threads;
            return Err(Error::GroupSize { kernel: name.to_owned(), most, given: threads });
        }
        for (index, value) in (0..).zip(values) {
            self.set_argument(kernel.handle, index, *value)?;
        }
        let local = threads as usize;
        let global = blocks as usize * local;
        let mut event = null_mut();
        // SAFETY: all arguments are set; one dimension; the sizes live through the call. That the
        // pointers among the arguments hold is this function's own contract.
        let code = unsafe {
            (self.api.enqueue)(
                self.queue,
                kernel.handle,
                1,
                null(),
                &raw const global,
                &raw const local,
                0,
                null(),
                &raw mut event,
            )
        };
        checked("clEnqueueNDRangeKernel", code)?;
        // SAFETY: the queue is ours.
        let finished = checked("clFinish", unsafe { (self.api.finish)(self.queue) });
        let status = info("clGetEventInfo", |size, value, room| {
            // SAFETY: `info` gives room for `size` bytes.
            unsafe { (self.api.event_info)(event, driver::EVENT_COMMAND_EXECUTION_STATUS, size, value, room) }
        });
        // SAFETY: ours, and not used below.
        checked("clReleaseEvent", unsafe { (self.api.release_event)(event) })?;
        finished?;
        match <[u8; 4]>::try_from(status?).map(i32::from_ne_bytes) {
            // CL_COMPLETE
            Ok(0) => Ok(()),
            Ok(code) => Err(Error::Ended { kernel: name.to_owned(), code }),
            Err(_) => Err(Error::Call { call: "clGetEventInfo", code: driver::SUCCESS }),
        }
    }

    fn set_argument(&self, kernel: driver::KernelHandle, index: u32, value: Value) -> Result<(), Error> {
        match value {
            // SAFETY: under fine-grain system SVM any pointer may be given.
            Value::Pointer(pointer) => checked("clSetKernelArgSVMPointer", unsafe {
                (self.api.set_pointer_argument)(kernel, index, pointer.cast_const().cast())
            }),
            // SAFETY: the driver copies the four bytes.
            Value::Word(word) => checked("clSetKernelArg", unsafe {
                (self.api.set_argument)(kernel, index, size_of::<u32>(), (&raw const word).cast())
            }),
        }
    }

    fn release_program(&mut self) {
        let Some(program) = self.program.take() else { return };
        // A failed release has no remedy and loses nothing but memory: the codes go unread.
        for kernel in program.kernels.values() {
            // SAFETY: ours, and gone from the table.
            unsafe { (self.api.release_kernel)(kernel.handle) };
        }
        // SAFETY: as above.
        unsafe { (self.api.release_program)(program.handle) };
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release_program();
        // SAFETY: ours, and not used again; a queue that was never made is null.
        unsafe {
            if !self.queue.is_null() {
                (self.api.release_queue)(self.queue);
            }
            (self.api.release_context)(self.context);
        }
    }
}

fn create_kernel(
    api: &EntryPoints,
    device: driver::DeviceId,
    program: driver::ProgramHandle,
    name: &str,
) -> Result<Kernel, Error> {
    // A name with a zero inside cannot come back from the driver; it would be told as unknown.
    let c_name = CString::new(name).unwrap_or_default();
    let mut code = 0;
    // SAFETY: a built program and a name that ends in zero.
    let handle = unsafe { (api.create_kernel)(program, c_name.as_ptr(), &raw mut code) };
    checked("clCreateKernel", code)?;
    let system_pointers: u32 = 1;
    // SAFETY: the driver copies the flag, a cl_bool.
    let code = unsafe {
        (api.set_exec_info)(
            handle,
            driver::KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
            size_of::<u32>(),
            (&raw const system_pointers).cast(),
        )
    };
    checked("clSetKernelExecInfo", code)?;
    let arguments = info("clGetKernelInfo", |size, value, room| {
        // SAFETY: `info` gives room for `size` bytes.
        unsafe { (api.kernel_info)(handle, driver::KERNEL_NUM_ARGS, size, value, room) }
    })?;
    let most = info("clGetKernelWorkGroupInfo", |size, value, room| {
        // SAFETY: `info` gives room for `size` bytes.
        unsafe { (api.work_group_info)(handle, device, driver::KERNEL_WORK_GROUP_SIZE, size, value, room) }
    })?;
    Ok(Kernel {
        handle,
        arguments: u32::try_from(number("clGetKernelInfo", &arguments)?).unwrap_or(u32::MAX),
        max_threads: usize::try_from(number("clGetKernelWorkGroupInfo", &most)?).unwrap_or(usize::MAX),
    })
}

/// All handles that a listing call knows; an empty list is no error.
fn list(call: &'static str, query: impl Fn(u32, *mut *mut c_void, *mut u32) -> i32) -> Result<Vec<*mut c_void>, Error> {
    let mut count = 0;
    let code = query(0, null_mut(), &raw mut count);
    if count == 0 || [driver::DEVICE_NOT_FOUND, driver::PLATFORM_NOT_FOUND].contains(&code) {
        return Ok(Vec::new());
    }
    checked(call, code)?;
    let mut handles = vec![null_mut(); count as usize];
    checked(call, query(count, handles.as_mut_ptr(), null_mut()))?;
    Ok(handles)
}

fn find_device(api: &EntryPoints, wanted: Option<&str>) -> Result<(driver::DeviceId, DeviceInfo), Error> {
    let mut found = Vec::new();
    let platforms = list("clGetPlatformIDs", |room, handles, count| {
        // SAFETY: `list` gives room for `room` handles.
        unsafe { (api.platform_ids)(room, handles, count) }
    })?;
    for platform in platforms {
        let devices = list("clGetDeviceIDs", |room, handles, count| {
            // SAFETY: `list` gives room for `room` handles; the platform comes from the driver.
            unsafe { (api.device_ids)(platform, driver::DEVICE_TYPE_ALL, room, handles, count) }
        })?;
        for device in devices {
            let ask = |what: u32| {
                info("clGetDeviceInfo", |size, value, room| {
                    // SAFETY: `info` gives room for `size` bytes; the device comes from the driver.
                    unsafe { (api.device_info)(device, what, size, value, room) }
                })
            };
            let ask_number = |what| number("clGetDeviceInfo", &ask(what)?);
            let name = text(&ask(driver::DEVICE_NAME)?);
            // A device before OpenCL 2.0 does not know the question.
            let svm = ask_number(driver::DEVICE_SVM_CAPABILITIES).unwrap_or(0);
            let fits = svm & driver::SVM_FINE_GRAIN_SYSTEM != 0 && wanted.is_none_or(|part| name.contains(part));
            if !fits {
                found.push(name);
                continue;
            }
            let units = ask_number(driver::DEVICE_MAX_COMPUTE_UNITS)?;
            let group = ask_number(driver::DEVICE_MAX_WORK_GROUP_SIZE)?;
            let device_info = DeviceInfo {
                name,
                driver: text(&ask(driver::DRIVER_VERSION)?),
                compute_units: u32::try_from(units).unwrap_or(u32::MAX),
                max_group_size: usize::try_from(group).unwrap_or(usize::MAX),
            };
            return Ok((device, device_info));
        }
    }
    let wanted = wanted.map_or_else(String::new, |part| format!("named like {part:?} "));
    let found = if found.is_empty() { "no device at all".to_owned() } else { found.join(", ") };
    Err(Error::NoDevice { wanted, found })
}
