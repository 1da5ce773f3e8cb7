//! Intel's driver. Signatures, structures and numbers: "oneAPI Level Zero Specification", version 1.5, Core API and the
//! extension for PCI properties.
#![allow(unsafe_code, reason = "a C interface, opened at run time")]

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use super::library::{Api, functions, text};
use super::{Access, Answer, Device, Driver, State};
use crate::address::Address;

type Handle = *mut c_void;

functions!(LevelZero {
    init = "zeInit": (u32);
    drivers = "zeDriverGet": (*mut u32, *mut Handle);
    devices = "zeDeviceGet": (Handle, *mut u32, *mut Handle);
    properties = "zeDeviceGetProperties": (Handle, *mut Properties);
    pci = "zeDevicePciGetPropertiesExt": (Handle, *mut Pci);
    can_access = "zeDeviceCanAccessPeer": (Handle, Handle, *mut u8);
});

const ERROR_UNINITIALIZED: i32 = 0x7800_0001;
const GPUS_ONLY: u32 = 1;
const PROPERTIES: u32 = 0x3;
const PCI_PROPERTIES: u32 = 0x1_0008;
/// Most drivers, and devices of one, that are asked.
const MOST: u32 = 64;

/// `ze_device_properties_t`.
#[repr(C)]
struct Properties {
    kind: u32,
    next: *mut c_void,
    device_kind: u32,
    vendor: u32,
    device: u32,
    flags: u32,
    subdevice: u32,
    clock: u32,
    largest_allocation: u64,
    contexts: u32,
    priorities: u32,
    threads: u32,
    lanes: u32,
    units_per_subslice: u32,
    subslices_per_slice: u32,
    slices: u32,
    timer_resolution: u64,
    timestamp_bits: u32,
    kernel_timestamp_bits: u32,
    uuid: [u8; 16],
    name: [c_char; 256],
}

/// `ze_pci_ext_properties_t`.
#[repr(C)]
struct Pci {
    kind: u32,
    next: *mut c_void,
    domain: u32,
    bus: u32,
    device: u32,
    function: u32,
    generation: i32,
    width: i32,
    bandwidth: i64,
}

pub(super) fn ask() -> Answer {
    let api = match Api::open(Driver::LevelZero, &["libze_loader.so.1"]) {
        Ok(api) => api,
        Err(answer) => return *answer,
    };
    let mut answer = Answer::empty(Driver::LevelZero, State::Failed, None);
    answer.library = Some(api.name.to_owned());
    match LevelZero::load(api) {
        Ok(level_zero) => match level_zero.ask_all(&mut answer) {
            Ok(state) => answer.state = state,
            Err(trouble) => answer.trouble.push(trouble),
        },
        Err(trouble) => answer.trouble.push(trouble),
    }
    answer
}

fn checked(call: &str, code: i32) -> Result<(), String> {
    // Most codes have the top bit set and read as negative numbers; the specification writes them in hexadecimal.
    if code == 0 { Ok(()) } else { Err(format!("{call} of libze_loader.so.1: {:#010x}", code.cast_unsigned())) }
}

impl LevelZero {
    fn ask_all(&self, answer: &mut Answer) -> Result<State, String> {
        // SAFETY: no argument but flags.
        let code = unsafe { (self.init)(GPUS_ONLY) };
        if code == ERROR_UNINITIALIZED {
            // The loader is there and has no driver behind it.
            return Ok(State::NoDevice);
        }
        checked("zeInit", code)?;
        let drivers = list("zeDriverGet", |count, room| {
            // SAFETY: `list` gives room for as many handles as it counts.
            unsafe { (self.drivers)(count, room) }
        })?;
        let mut handles = Vec::new();
        for driver in drivers {
            handles.extend(list("zeDeviceGet", |count, room| {
                // SAFETY: as above; the driver's handle is its own.
                unsafe { (self.devices)(driver, count, room) }
            })?);
        }
        for handle in &handles {
            answer.devices.push(self.device(*handle)?);
        }
        for (from, one) in handles.iter().enumerate() {
            for (to, other) in handles.iter().enumerate().filter(|(to, _)| *to != from) {
                let mut can = 0;
                // SAFETY: room for one `ze_bool_t`; both handles come from the driver.
                checked("zeDeviceCanAccessPeer", unsafe { (self.can_access)(*one, *other, &raw mut can) })?;
                answer.peers.push(Access { from, to, can: can != 0 });
            }
        }
        Ok(if handles.is_empty() { State::NoDevice } else { State::Answered })
    }

    fn device(&self, handle: Handle) -> Result<Device, String> {
        // SAFETY: numbers and a null pointer: all zeros is a value of it.
        let mut properties: Properties = unsafe { std::mem::zeroed() };
        properties.kind = PROPERTIES;
        // SAFETY: the structure is the specification's, and says which it is.
        checked("zeDeviceGetProperties", unsafe { (self.properties)(handle, &raw mut properties) })?;
        // SAFETY: as above.
        let mut pci: Pci = unsafe { std::mem::zeroed() };
        pci.kind = PCI_PROPERTIES;
        // SAFETY: as above.
        let code = unsafe { (self.pci)(handle, &raw mut pci) };
        let address = || {
            Some(Address {
                domain: pci.domain,
                bus: pci.bus.try_into().ok()?,
                device: pci.device.try_into().ok()?,
                function: pci.function.try_into().ok()?,
            })
        };
        // A driver without the extension leaves the place unknown.
        let address = if code == 0 { address() } else { None };
        Ok(Device { name: text(&properties.name), address, target: None })
    }
}

/// A list of handles by the specification's two calls: the number, then the handles.
fn list(call: &str, get: impl Fn(*mut u32, *mut Handle) -> i32) -> Result<Vec<Handle>, String> {
    let mut count = 0;
    checked(call, get(&raw mut count, null_mut()))?;
    let mut count = count.min(MOST);
    let mut handles = vec![null_mut(); MOST as usize];
    if count > 0 {
        checked(call, get(&raw mut count, handles.as_mut_ptr()))?;
    }
    handles.truncate(count as usize);
    Ok(handles)
}
