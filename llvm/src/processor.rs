//! Whether LLVM knows a processor. Its C interface takes any name, and goes on with another or ends the process.
#![allow(unsafe_code, reason = "only LLVM's C++ interface can be asked")]

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn xreduce_knows_processor(triple: *const c_char, processor: *const c_char) -> c_int;
}

/// Says so if the back end of `triple`, which must have been initialised, has no `processor`.
pub(crate) fn check(triple: &str, processor: &str) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|_| format!("`{text}` contains a zero byte"));
    let (triple, name) = (text(triple)?, text(processor)?);
    // SAFETY: both strings end in a zero byte and live through the call, which only reads them.
    let known = unsafe { xreduce_knows_processor(triple.as_ptr(), name.as_ptr()) };
    if known == 0 { Err(format!("LLVM knows no processor `{processor}`")) } else { Ok(()) }
}
