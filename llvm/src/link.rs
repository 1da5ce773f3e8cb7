//! Links one relocatable AMDGPU object to a code object. Nothing touches a disk: the input is a memory file, the output a pipe
//! (LLD refuses a memory file as output).
#![allow(
    unsafe_code,
    reason = "LLD is called through a C function of this crate; memory files and pipes are system calls"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

unsafe extern "C" {
    fn xreduce_lld_link(argv: *const *const c_char, argc: usize, message: *mut *mut c_char) -> c_int;
}

/// Links `object` to a shared object. Undefined symbols are left to the gate, which names their rule and kernel.
pub(crate) fn link(object: &[u8]) -> Result<Vec<u8>, String> {
    let told = |cause: io::Error| format!("LLD: {cause}");
    let input = memory_file(object).map_err(told)?;
    let (reader, writer) = pipe().map_err(told)?;
    // LLD writes more than a pipe holds before it returns.
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        File::from(reader).read_to_end(&mut bytes).map(|_| bytes)
    });
    let of = |fd: c_int| format!("/proc/self/fd/{fd}");
    let linked = run(&["ld.lld", "-shared", "--threads=1", &of(input.as_raw_fd()), "-o", &of(writer.as_raw_fd())]);
    drop(writer);
    let bytes = reading.join().map_err(|_| "LLD: its output was not read".to_owned())?.map_err(told)?;
    linked.map(|()| bytes)
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let owned: Vec<CString> = arguments
        .iter()
        .map(|text| CString::new(*text))
        .collect::<Result<_, _>>()
        .map_err(|cause| cause.to_string())?;
    let pointers: Vec<*const c_char> = owned.iter().map(|text| text.as_ptr()).collect();
    let mut message: *mut c_char = std::ptr::null_mut();
    // SAFETY: the pointers are to `owned`, which lives to the end of this function; the callee only reads them and stores a
    // malloc'ed, NUL-terminated string to `message`.
    let code = unsafe { xreduce_lld_link(pointers.as_ptr(), pointers.len(), &raw mut message) };
    if message.is_null() {
        return Err("LLD: out of memory".to_owned());
    }
    // SAFETY: not null, so it is the callee's string, which nobody else holds.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: it came from malloc and is not used any more.
    unsafe { libc::free(message.cast()) };
    if code == 0 { Ok(()) } else { Err(text.trim().to_owned()) }
}

fn memory_file(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a NUL-terminated literal; the call touches no other memory.
    let fd = unsafe { libc::memfd_create(c"module.o".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: the callee stores two descriptors in the array, which is that large.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new descriptors that nobody else owns.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}
