//! The driver, its devices and their primary contexts.
#![allow(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::{CStr, c_int};
use std::path::Path;
use std::ptr;
use std::rc::Rc;

use super::driver::{
    ATTRIBUTE_CAPABILITY_MAJOR, ATTRIBUTE_CAPABILITY_MINOR, ATTRIBUTE_MULTIPROCESSOR_COUNT, ContextHandle,
    DeviceHandle, EntryPoints, NO_DEVICE, PEER_ACCESS_ALREADY_ENABLED,
};
use super::error::Error;

/// The name of the driver's library for the system's search.
const LIBRARY: &str = "libcuda.so.1";

/// An opened and initialised driver.
#[derive(Debug, Clone)]
pub struct Driver(Rc<EntryPoints>);

/// A GPU.
#[derive(Debug, Clone)]
pub struct Device {
    driver: Driver,
    ordinal: i32,
    handle: DeviceHandle,
}

/// A device's primary context, which all users in a process share. Streams, memory and modules keep it.
#[derive(Debug, Clone)]
pub struct Context(Rc<Retained>);

#[derive(Debug)]
struct Retained {
    device: Device,
    handle: ContextHandle,
}

impl Driver {
    /// Opens the driver by the system's search.
    ///
    /// # Errors
    /// [`Error::Library`] and [`Error::Symbol`] without a fitting driver, [`Error::NoDevice`] without a GPU.
    pub fn open() -> Result<Self, Error> {
        Self::open_at(Path::new(LIBRARY))
    }

    /// Opens the driver from this library.
    ///
    /// # Errors
    /// As [`Driver::open`].
    pub fn open_at(path: &Path) -> Result<Self, Error> {
        let entry = EntryPoints::open(path)?;
        // SAFETY: the reference's signature; flags must be 0.
        match unsafe { (entry.init)(0) } {
            NO_DEVICE => Err(Error::NoDevice),
            code => entry.checked("cuInit", code).map(|()| Self(Rc::new(entry))),
        }
    }

    pub(super) fn entry(&self) -> &EntryPoints {
        &self.0
    }

    pub(super) fn checked(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        self.0.checked(call, code)
    }

    /// The newest CUDA version that the driver speaks, e.g. `13.0`.
    ///
    /// # Errors
    /// The driver's.
    pub fn version(&self) -> Result<String, Error> {
        let mut version = 0;
        // SAFETY: a place for one number.
        self.checked("cuDriverGetVersion", unsafe { (self.0.driver_version)(&raw mut version) })?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// All devices that the driver shows to this process, at least one.
    ///
    /// # Errors
    /// [`Error::NoDevice`], or the driver's.
    pub fn devices(&self) -> Result<Vec<Device>, Error> {
        let mut count = 0;
        // SAFETY: a place for one number.
        self.checked("cuDeviceGetCount", unsafe { (self.0.device_count)(&raw mut count) })?;
        let device = |ordinal| {
            let mut handle = 0;
            // SAFETY: a place for one handle.
            self.checked("cuDeviceGet", unsafe { (self.0.device_get)(&raw mut handle, ordinal) })?;
            Ok(Device { driver: self.clone(), ordinal, handle })
        };
        let devices: Vec<Device> = (0..count).map(device).collect::<Result<_, Error>>()?;
        if devices.is_empty() { Err(Error::NoDevice) } else { Ok(devices) }
    }
}

impl Device {
    /// Its number among those that the driver shows.
    #[must_use]
    pub fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// The product's name.
    ///
    /// # Errors
    /// The driver's.
    pub fn name(&self) -> Result<String, Error> {
        let mut name = [0; 256];
        // SAFETY: room for 256 bytes, as said; the driver writes a final zero.
        let code = unsafe { (self.driver.0.device_name)(name.as_mut_ptr().cast(), 256, self.handle) };
        self.driver.checked("cuDeviceGetName", code)?;
        let name = CStr::from_bytes_until_nul(&name).map_err(|error| Error::Argument(error.to_string()))?;
        Ok(name.to_string_lossy().into_owned())
    }

    fn attribute(&self, attribute: c_int) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: a place for one number.
        let code = unsafe { (self.driver.0.device_attribute)(&raw mut value, attribute, self.handle) };
        self.driver.checked("cuDeviceGetAttribute", code)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Multiprocessors.
    ///
    /// # Errors
    /// The driver's.
    pub fn compute_units(&self) -> Result<u32, Error> {
        self.attribute(ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// Compute capability as in `sm_90`: ten times the major number and the minor one.
    ///
    /// # Errors
    /// The driver's.
    pub fn capability(&self) -> Result<u32, Error> {
        Ok(10 * self.attribute(ATTRIBUTE_CAPABILITY_MAJOR)? + self.attribute(ATTRIBUTE_CAPABILITY_MINOR)?)
    }

    /// Whether kernels on this device can reach the memory of `peer`.
    ///
    /// # Errors
    /// The driver's.
    pub fn can_access(&self, peer: &Device) -> Result<bool, Error> {
        let mut can = 0;
        // SAFETY: a place for one number.
        let code = unsafe { (self.driver.0.device_can_access_peer)(&raw mut can, self.handle, peer.handle) };
        self.driver.checked("cuDeviceCanAccessPeer", code)?;
        Ok(can != 0)
    }

    /// Its primary context, made at the first use in this process.
    ///
    /// # Errors
    /// The driver's.
    pub fn context(&self) -> Result<Context, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: a place for one handle; released when the last user is dropped.
        let code = unsafe { (self.driver.0.context_retain)(&raw mut handle, self.handle) };
        self.driver.checked("cuDevicePrimaryCtxRetain", code)?;
        Ok(Context(Rc::new(Retained { device: self.clone(), handle })))
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: retained once, released once; everything made in it keeps this value alive. Nobody is left to tell of an
        // error to.
        unsafe { (self.device.driver.0.context_release)(self.device.handle) };
    }
}

impl Context {
    /// Its device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.0.device.driver
    }

    /// Makes it the calling thread's current one, which most entry points work on.
    pub(super) fn enter(&self) -> Result<&Driver, Error> {
        let driver = self.driver();
        // SAFETY: a context that is retained as long as `self`.
        driver.checked("cuCtxSetCurrent", unsafe { (driver.0.context_set_current)(self.0.handle) })?;
        Ok(driver)
    }

    /// Lets kernels in this context reach memory that was, or will be, made in `peer`'s. Nothing to do on one device.
    ///
    /// # Errors
    /// The driver's, if the devices have no peer access.
    pub fn enable_peer(&self, peer: &Context) -> Result<(), Error> {
        if self.0.device.handle == peer.0.device.handle {
            return Ok(());
        }
        let driver = self.enter()?;
        // SAFETY: a retained context; flags must be 0.
        match unsafe { (driver.0.context_enable_peer)(peer.0.handle, 0) } {
            PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            code => driver.checked("cuCtxEnablePeerAccess", code),
        }
    }
}
