//! AMD's runtime: devices, peer access, and two kernels of our own. Signatures and numbers: "HIP Runtime API Reference",
//! modules Initialization, Device, PeerToPeer, Memory, Module, Error.
//!
//! The runtime refuses a kernel that declares a hostcall buffer on a card without PCIe atomics, at the launch or, as launches
//! are queued, at the next wait: hipErrorIllegalState. So each kernel is launched and awaited alone.
#![allow(unsafe_code, reason = "a C interface, opened at run time")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;

use super::library::{Api, functions, text};
use super::{Access, Answer, Device, Driver, End, Kernel, Lower, PLAIN, Run, State, WITH_BUFFER};
use crate::address::Address;

type Handle = *mut c_void;

functions!(Hip {
    init = "hipInit": (u32);
    count = "hipGetDeviceCount": (*mut i32);
    name = "hipDeviceGetName": (*mut c_char, i32, i32);
    bus_id = "hipDeviceGetPCIBusId": (*mut c_char, i32, i32);
    can_access = "hipDeviceCanAccessPeer": (*mut i32, i32, i32);
    select = "hipSetDevice": (i32);
    load_module = "hipModuleLoadData": (*mut Handle, *const c_void);
    unload_module = "hipModuleUnload": (Handle);
    kernel = "hipModuleGetFunction": (*mut Handle, Handle, *const c_char);
    allocate = "hipMalloc": (*mut *mut c_void, usize);
    free = "hipFree": (*mut c_void);
    fill = "hipMemset": (*mut c_void, i32, usize);
    copy = "hipMemcpy": (*mut c_void, *const c_void, usize, i32);
    launch = "hipModuleLaunchKernel":
        (Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void);
    wait = "hipDeviceSynchronize": ();
});

const NO_DEVICE: i32 = 100;
const INVALID_DEVICE: i32 = 101;
const ILLEGAL_STATE: i32 = 401;
const DEVICE_TO_HOST: i32 = 2;

/// Names of the library, the newest first, by its own name and where AMD's packages put it.
const NAMES: [&str; 5] =
    ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so", "libamdhip64.so"];

pub(super) fn ask(targets: &[(Address, Option<String>)], lower: Lower<'_>) -> Answer {
    let api = match Api::open(Driver::Hip, &NAMES) {
        Ok(api) => api,
        Err(answer) => return *answer,
    };
    let mut answer = Answer::empty(Driver::Hip, State::Failed, None);
    answer.library = Some(api.name.to_owned());
    match Hip::load(api) {
        Ok(hip) => match hip.devices(targets, &mut answer) {
            Ok(state) => {
                answer.state = state;
                hip.run_kernels(&mut answer, lower);
            }
            Err(trouble) => answer.trouble.push(trouble),
        },
        Err(trouble) => answer.trouble.push(trouble),
    }
    answer
}

/// A call that did not succeed.
struct Failure {
    code: i32,
    text: String,
}

impl Hip {
    fn checked(&self, call: &str, code: i32) -> Result<(), Failure> {
        if code == 0 { Ok(()) } else { Err(Failure { code, text: format!("{call}: {}", self.named(code)) }) }
    }

    fn named(&self, code: i32) -> String {
        type Name = unsafe extern "C" fn(i32) -> *const c_char;
        // SAFETY: the header's signature; used while the library is open.
        let Ok(name) = (unsafe { self.api.function::<Name>("hipGetErrorName") }) else { return code.to_string() };
        // SAFETY: takes any number.
        let name = unsafe { name(code) };
        if name.is_null() {
            return code.to_string();
        }
        // SAFETY: not null; a static text that ends with a zero.
        format!("{} ({code})", unsafe { CStr::from_ptr(name) }.to_string_lossy())
    }

    fn devices(&self, targets: &[(Address, Option<String>)], answer: &mut Answer) -> Result<State, String> {
        // SAFETY: no argument but flags, which must be 0.
        let code = unsafe { (self.init)(0) };
        // Older versions say so in another way: no device was named that could be invalid.
        if code == NO_DEVICE || code == INVALID_DEVICE {
            return Ok(State::NoDevice);
        }
        self.checked("hipInit", code).map_err(|failure| failure.text)?;
        let mut count = 0;
        // SAFETY: room for one number.
        let code = unsafe { (self.count)(&raw mut count) };
        if code == NO_DEVICE {
            return Ok(State::NoDevice);
        }
        self.checked("hipGetDeviceCount", code).map_err(|failure| failure.text)?;
        for device in 0..count {
            let device = self.device(device, targets).map_err(|failure| failure.text)?;
            answer.devices.push(device);
        }
        for (from, one) in (0..count).enumerate() {
            for (to, other) in (0..count).enumerate().filter(|(to, _)| *to != from) {
                let mut can = 0;
                // SAFETY: room for one number; both are devices of the driver.
                let code = unsafe { (self.can_access)(&raw mut can, one, other) };
                self.checked("hipDeviceCanAccessPeer", code).map_err(|failure| failure.text)?;
                answer.peers.push(Access { from, to, can: can != 0 });
            }
        }
        Ok(if answer.devices.is_empty() { State::NoDevice } else { State::Answered })
    }

    fn device(&self, device: i32, targets: &[(Address, Option<String>)]) -> Result<Device, Failure> {
        let mut name = [0; 256];
        // SAFETY: the buffer holds as many bytes as are named.
        self.checked("hipDeviceGetName", unsafe { (self.name)(name.as_mut_ptr(), 256, device) })?;
        let mut bus_id = [0; 64];
        // SAFETY: as above.
        self.checked("hipDeviceGetPCIBusId", unsafe { (self.bus_id)(bus_id.as_mut_ptr(), 64, device) })?;
        let address = Address::parse(&text(&bus_id));
        // The structure in which HIP names a target changed its layout between versions; the kernel driver says the same.
        let target = targets.iter().find(|(at, _)| Some(*at) == address).and_then(|(_, target)| target.clone());
        Ok(Device { name: text(&name), address, target })
    }

    fn run_kernels(&self, answer: &mut Answer, lower: Lower<'_>) {
        let devices: Vec<Option<String>> = answer.devices.iter().map(|device| device.target.clone()).collect();
        for (device, target) in devices.iter().enumerate() {
            let code = match target {
                Some(target) => lower(target),
                None => Err("its target is not known".to_owned()),
            };
            for kernel in [Kernel::Plain, Kernel::Hostcall] {
                let (end, detail) = match (&code, i32::try_from(device)) {
                    (Ok(code), Ok(number)) => self.run(number, kernel, code),
                    (Err(cause), _) => (End::Untried, Some(cause.clone())),
                    (_, Err(_)) => (End::Untried, None),
                };
                answer.kernels.push(Run { device, kernel, end, detail });
            }
        }
    }

    /// Runs a kernel once, on one thread, and looks at the word it stored.
    fn run(&self, device: i32, kernel: Kernel, code: &[u8]) -> (End, Option<String>) {
        let untried = |failure: Failure| (End::Untried, Some(failure.text));
        // SAFETY: a device of the driver.
        if let Err(failure) = self.checked("hipSetDevice", unsafe { (self.select)(device) }) {
            return untried(failure);
        }
        let mut module = null_mut();
        // SAFETY: room for one handle; the code object is whole and is copied.
        let loaded = unsafe { (self.load_module)(&raw mut module, code.as_ptr().cast()) };
        if let Err(failure) = self.checked("hipModuleLoadData", loaded) {
            return untried(failure);
        }
        let mut word = null_mut();
        // SAFETY: room for one pointer.
        let result = match self.checked("hipMalloc", unsafe { (self.allocate)(&raw mut word, 4) }) {
            Ok(()) => {
                let result = self.launch(module, kernel, word);
                // SAFETY: ours, and not used below. A failed release loses memory of a process that ends.
                unsafe { (self.free)(word) };
                result
            }
            Err(failure) => untried(failure),
        };
        // SAFETY: as above.
        unsafe { (self.unload_module)(module) };
        result
    }

    fn launch(&self, module: Handle, kernel: Kernel, word: *mut c_void) -> (End, Option<String>) {
        let untried = |failure: Failure| (End::Untried, Some(failure.text));
        let Ok(symbol) = CString::new(kernel.symbol()) else { return (End::Untried, None) };
        let mut function = null_mut();
        // SAFETY: room for one handle; the name ends with a zero.
        let found = unsafe { (self.kernel)(&raw mut function, module, symbol.as_ptr()) };
        if let Err(failure) = self.checked("hipModuleGetFunction", found) {
            return untried(failure);
        }
        // SAFETY: four bytes of the device, ours.
        if let Err(failure) = self.checked("hipMemset", unsafe { (self.fill)(word, 0, 4) }) {
            return untried(failure);
        }
        let mut pointer = word;
        let mut arguments = [(&raw mut pointer).cast::<c_void>()];
        // SAFETY: the kernel takes one pointer to four bytes, which `word` is; one thread runs it.
        let launched =
            unsafe { (self.launch)(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), arguments.as_mut_ptr(), null_mut()) };
        if let Err(failure) = self.checked("hipModuleLaunchKernel", launched) {
            return (End::Refused, Some(failure.text));
        }
        // SAFETY: no arguments.
        if let Err(failure) = self.checked("hipDeviceSynchronize", unsafe { (self.wait)() }) {
            let end = if failure.code == ILLEGAL_STATE { End::Refused } else { End::Wrong };
            return (end, Some(failure.text));
        }
        let mut stored = 0_u32;
        // SAFETY: four bytes on either side.
        let copied = unsafe { (self.copy)((&raw mut stored).cast(), word, 4, DEVICE_TO_HOST) };
        if let Err(failure) = self.checked("hipMemcpy", copied) {
            return (End::Wrong, Some(failure.text));
        }
        let wanted = if kernel == Kernel::Plain { PLAIN } else { WITH_BUFFER };
        match stored {
            stored if stored == wanted => (End::Ran, None),
            // A launch that went wrong without a word, as a queued one can, leaves the zero.
            stored => (End::Wrong, Some(format!("stored {stored:#010x}, not {wanted:#010x}"))),
        }
    }
}
