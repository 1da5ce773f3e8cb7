//! NVIDIA's driver. Signatures and numbers: "CUDA Driver API", Initialization, Device Management, Peer Context Memory Access.
#![allow(unsafe_code, reason = "a C interface, opened at run time")]

use std::ffi::{CStr, c_char};

use super::library::{Api, functions, text};
use super::{Access, Answer, Device, Driver, State};
use crate::address::Address;

functions!(Cuda {
    init = "cuInit": (u32);
    count = "cuDeviceGetCount": (*mut i32);
    get = "cuDeviceGet": (*mut i32, i32);
    name = "cuDeviceGetName": (*mut c_char, i32, i32);
    bus_id = "cuDeviceGetPCIBusId": (*mut c_char, i32, i32);
    attribute = "cuDeviceGetAttribute": (*mut i32, i32, i32);
    can_access = "cuDeviceCanAccessPeer": (*mut i32, i32, i32);
    error_name = "cuGetErrorName": (i32, *mut *const c_char);
});

const NO_DEVICE: i32 = 100;
const CAPABILITY_MAJOR: i32 = 75;
const CAPABILITY_MINOR: i32 = 76;

pub(super) fn ask() -> Answer {
    let api = match Api::open(Driver::Cuda, &["libcuda.so.1"]) {
        Ok(api) => api,
        Err(answer) => return *answer,
    };
    let mut answer = Answer::empty(Driver::Cuda, State::Failed, None);
    answer.library = Some(api.name.to_owned());
    match Cuda::load(api) {
        Ok(cuda) => match cuda.devices(&mut answer) {
            Ok(state) => answer.state = state,
            Err(trouble) => answer.trouble.push(trouble),
        },
        Err(trouble) => answer.trouble.push(trouble),
    }
    answer
}

impl Cuda {
    fn checked(&self, call: &str, code: i32) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(format!("{call} of {}: {}", self.api.name, self.named(code))) }
    }

    fn named(&self, code: i32) -> String {
        let mut name = std::ptr::null();
        // SAFETY: room for one pointer; the text that it is set to is static.
        let known = unsafe { (self.error_name)(code, &raw mut name) } == 0 && !name.is_null();
        // SAFETY: not null, and the driver ends it with a zero.
        if known { format!("{} ({code})", unsafe { CStr::from_ptr(name) }.to_string_lossy()) } else { code.to_string() }
    }

    fn devices(&self, answer: &mut Answer) -> Result<State, String> {
        // SAFETY: no argument but flags, which must be 0.
        let code = unsafe { (self.init)(0) };
        if code == NO_DEVICE {
            return Ok(State::NoDevice);
        }
        self.checked("cuInit", code)?;
        let mut count = 0;
        // SAFETY: room for one number.
        self.checked("cuDeviceGetCount", unsafe { (self.count)(&raw mut count) })?;
        let mut handles = Vec::new();
        for index in 0..count {
            let mut handle = 0;
            // SAFETY: room for one handle.
            self.checked("cuDeviceGet", unsafe { (self.get)(&raw mut handle, index) })?;
            answer.devices.push(self.device(handle)?);
            handles.push(handle);
        }
        for (from, one) in handles.iter().enumerate() {
            for (to, other) in handles.iter().enumerate().filter(|(to, _)| *to != from) {
                let mut can = 0;
                // SAFETY: room for one number; both handles come from the driver.
                let code = unsafe { (self.can_access)(&raw mut can, *one, *other) };
                self.checked("cuDeviceCanAccessPeer", code)?;
                answer.peers.push(Access { from, to, can: can != 0 });
            }
        }
        Ok(if handles.is_empty() { State::NoDevice } else { State::Answered })
    }

    fn device(&self, handle: i32) -> Result<Device, String> {
        let mut name = [0; 256];
        // SAFETY: the buffer holds as many bytes as are named.
        self.checked("cuDeviceGetName", unsafe { (self.name)(name.as_mut_ptr(), 256, handle) })?;
        let mut bus_id = [0; 64];
        // SAFETY: as above.
        self.checked("cuDeviceGetPCIBusId", unsafe { (self.bus_id)(bus_id.as_mut_ptr(), 64, handle) })?;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: room for one number.
            self.checked("cuDeviceGetAttribute", unsafe { (self.attribute)(&raw mut value, which, handle) })?;
            Ok::<i32, String>(value)
        };
        let target = format!("sm_{}{}", attribute(CAPABILITY_MAJOR)?, attribute(CAPABILITY_MINOR)?);
        Ok(Device { name: text(&name), address: Address::parse(&text(&bus_id)), target: Some(target) })
    }
}
