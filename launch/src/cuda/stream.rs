//! Streams, graphs captured from them, and events (CUDA Driver API, "Stream Management", "Graph Management",
//! "Programmatic Dependent Launch").
#![allow(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::c_void;
use std::ptr;

use super::arguments::Arguments;
use super::device::Context;
use super::driver::{
    CAPTURE_THREAD_LOCAL, EVENT_DEFAULT, EventHandle, GraphExecHandle, LAUNCH_PARAM_BUFFER_POINTER,
    LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END, LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, LaunchAttribute,
    LaunchConfig, STREAM_NON_BLOCKING, StreamHandle,
};
use super::error::Error;
use super::memory::Memory;
use super::module::Function;

/// A queue of work on a device, which waits for no other queue.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    handle: StreamHandle,
}

/// Work captured from a stream, to be launched any number of times.
#[derive(Debug)]
pub struct Graph {
    context: Context,
    handle: GraphExecHandle,
}

/// A point in a stream's work, with the time at which it was reached.
#[derive(Debug)]
pub struct Event {
    context: Context,
    handle: EventHandle,
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Whether it may start before its predecessor in the stream, a kernel, has ended: programmatic dependent launch.
    pub dependent: bool,
}

fn size(bytes: u64) -> Result<usize, Error> {
    usize::try_from(bytes).map_err(|error| Error::Argument(error.to_string()))
}

impl Context {
    /// A new stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream(&self) -> Result<Stream, Error> {
        let driver = self.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for a handle.
        let code = unsafe { (driver.entry().stream_create)(&raw mut handle, STREAM_NON_BLOCKING) };
        driver.checked("cuStreamCreate", code)?;
        Ok(Stream { context: self.clone(), handle })
    }

    /// A new event.
    ///
    /// # Errors
    /// The driver's.
    pub fn event(&self) -> Result<Event, Error> {
        let driver = self.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a place for a handle.
        let code = unsafe { (driver.entry().event_create)(&raw mut handle, EVENT_DEFAULT) };
        driver.checked("cuEventCreate", code)?;
        Ok(Event { context: self.clone(), handle })
    }
}

impl Stream {
    /// Queues a kernel. The arguments are copied. That they are addresses of memory of the right size is the caller's
    /// business: a kernel that leaves its memory ends the context ([`Error::is_sticky`]), not this program.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&self, function: &Function, geometry: Geometry, arguments: &Arguments) -> Result<(), Error> {
        let driver = self.context.enter()?;
        let dependent =
            LaunchAttribute { id: LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, padding: 0, value: 1, rest: [0; 15] };
        let config = LaunchConfig {
            grid: [geometry.blocks, 1, 1],
            block: [geometry.threads, 1, 1],
            shared_bytes: 0,
            stream: self.handle,
            attributes: &raw const dependent,
            attribute_count: u32::from(geometry.dependent),
        };
        let mut bytes = arguments.bytes().len();
        let mut extra: [*mut c_void; 5] = [
            ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_POINTER),
            arguments.bytes().as_ptr().cast_mut().cast(),
            ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_SIZE),
            (&raw mut bytes).cast(),
            ptr::without_provenance_mut(LAUNCH_PARAM_END),
        ];
        // SAFETY: a function of a loaded module of this context; the buffer, its size and the attribute outlive the call,
        // which copies them; the driver only reads them. The kernel reaches device memory alone: this crate maps no other.
        let code = unsafe {
            (driver.entry().launch)(&raw const config, function.handle(), ptr::null(), extra.as_mut_ptr().cast_const())
        };
        driver.checked("cuLaunchKernelEx", code)
    }

    /// Copies into device memory and waits for it.
    ///
    /// # Errors
    /// [`Error::Argument`] outside the memory, or the driver's.
    pub fn copy_in(&self, to: &Memory, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let address = to.at(offset, bytes.len() as u64)?;
        let driver = self.context.enter()?;
        // SAFETY: the range is inside an allocation, and the stream is waited for before `bytes` can go.
        let code = unsafe { (driver.entry().copy_in)(address, bytes.as_ptr().cast(), bytes.len(), self.handle) };
        driver.checked("cuMemcpyHtoDAsync", code)?;
        self.synchronize()
    }

    /// Copies from device memory and waits for it.
    ///
    /// # Errors
    /// [`Error::Argument`] outside the memory, or the driver's.
    pub fn copy_out(&self, from: &Memory, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let address = from.at(offset, bytes.len() as u64)?;
        let driver = self.context.enter()?;
        // SAFETY: as above.
        let code = unsafe { (driver.entry().copy_out)(bytes.as_mut_ptr().cast(), address, bytes.len(), self.handle) };
        driver.checked("cuMemcpyDtoHAsync", code)?;
        self.synchronize()
    }

    /// Queues a copy inside device memory.
    ///
    /// # Errors
    /// [`Error::Argument`] outside a memory, or the driver's.
    pub fn copy(
        &self,
        (to, to_offset): (&Memory, u64),
        (from, from_offset): (&Memory, u64),
        bytes: u64,
    ) -> Result<(), Error> {
        let (to, from) = (to.at(to_offset, bytes)?, from.at(from_offset, bytes)?);
        let driver = self.context.enter()?;
        // SAFETY: both ranges are inside allocations.
        let code = unsafe { (driver.entry().copy)(to, from, size(bytes)?, self.handle) };
        driver.checked("cuMemcpyDtoDAsync", code)
    }

    /// Queues setting bytes.
    ///
    /// # Errors
    /// [`Error::Argument`] outside the memory, or the driver's.
    pub fn fill(&self, to: &Memory, offset: u64, bytes: u64, value: u8) -> Result<(), Error> {
        let to = to.at(offset, bytes)?;
        let driver = self.context.enter()?;
        // SAFETY: the range is inside an allocation.
        let code = unsafe { (driver.entry().fill)(to, value, size(bytes)?, self.handle) };
        driver.checked("cuMemsetD8Async", code)
    }

    /// Waits until all that was queued has ended.
    ///
    /// # Errors
    /// What a kernel or a copy in it has caused, or the driver's own.
    pub fn synchronize(&self) -> Result<(), Error> {
        let driver = self.context.enter()?;
        // SAFETY: a stream of this context.
        driver.checked("cuStreamSynchronize", unsafe { (driver.entry().stream_synchronize)(self.handle) })
    }

    /// Captures what `queue` queues on this stream, without running it.
    ///
    /// # Errors
    /// Those of `queue`, or the driver's.
    pub fn capture(&self, queue: impl FnOnce(&Self) -> Result<(), Error>) -> Result<Graph, Error> {
        let driver = self.context.enter()?;
        // SAFETY: a stream of this context that captures nothing yet: `queue` cannot leave it capturing.
        let code = unsafe { (driver.entry().capture_begin)(self.handle, CAPTURE_THREAD_LOCAL) };
        driver.checked("cuStreamBeginCapture", code)?;
        let queued = queue(self);
        let mut graph = ptr::null_mut();
        // SAFETY: a capturing stream and a place for a handle.
        let code = unsafe { (driver.entry().capture_end)(self.handle, &raw mut graph) };
        let ended = driver.checked("cuStreamEndCapture", code);
        let mut handle = ptr::null_mut();
        let made = queued.and(ended).and_then(|()| {
            // SAFETY: a captured graph and a place for a handle.
            let code = unsafe { (driver.entry().graph_instantiate)(&raw mut handle, graph, 0) };
            driver.checked("cuGraphInstantiateWithFlags", code)
        });
        if !graph.is_null() {
            // SAFETY: made above, and no longer needed: what was instantiated is a copy.
            unsafe { (driver.entry().graph_destroy)(graph) };
        }
        made.map(|()| Graph { context: self.context.clone(), handle })
    }

    /// Queues a graph's work.
    ///
    /// # Errors
    /// The driver's.
    pub fn replay(&self, graph: &Graph) -> Result<(), Error> {
        let driver = self.context.enter()?;
        // SAFETY: both live.
        driver.checked("cuGraphLaunch", unsafe { (driver.entry().graph_launch)(graph.handle, self.handle) })
    }

    /// Queues an event.
    ///
    /// # Errors
    /// The driver's.
    pub fn record(&self, event: &Event) -> Result<(), Error> {
        let driver = self.context.enter()?;
        // SAFETY: both live.
        driver.checked("cuEventRecord", unsafe { (driver.entry().event_record)(event.handle, self.handle) })
    }
}

impl Event {
    /// Microseconds from `earlier` to this event; both must have been reached.
    ///
    /// # Errors
    /// The driver's.
    pub fn microseconds_since(&self, earlier: &Event) -> Result<f64, Error> {
        let driver = self.context.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: a place for a number, and two events that live.
        let code = unsafe { (driver.entry().event_elapsed)(&raw mut milliseconds, earlier.handle, self.handle) };
        driver.checked("cuEventElapsedTime", code)?;
        Ok(f64::from(milliseconds) * 1000.0)
    }
}

/// Gives a handle back; nobody is left to tell of an error to.
macro_rules! drop_with {
    ($($object:ident: $destroy:ident;)*) => {$(
        impl Drop for $object {
            fn drop(&mut self) {
                if let Ok(driver) = self.context.enter() {
                    // SAFETY: made once, given back once. The driver waits for work that uses it.
                    unsafe { (driver.entry().$destroy)(self.handle) };
                }
            }
        }
    )*};
}

drop_with! {
    Stream: stream_destroy;
    Graph: graph_exec_destroy;
    Event: event_destroy;
}
