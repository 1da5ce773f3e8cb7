//! AMDGPU machine code to the text that `llvm-objdump -d` prints, in this process.
#![allow(unsafe_code, reason = "inkwell has no disassembler, and LLVM's C interface gives no AMDGPU one by that name")]

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::Once;

use inkwell::targets::{InitializationConfig, Target};
use llvm_sys::disassembler::{
    LLVMCreateDisasmCPUFeatures, LLVMDisasmContextRef, LLVMDisasmDispose, LLVMDisasmInstruction,
    LLVMDisassembler_Option_PrintImmHex, LLVMSetDisasmOptions,
};

unsafe extern "C" {
    fn LLVMInitializeAMDGPUDisassembler();
}

const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// One instruction of a piece of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Bytes from the start of the code.
    pub offset: u64,
    /// Bytes of the instruction.
    pub length: u64,
    /// Mnemonic and operands.
    pub text: String,
}

/// Takes the context with it when it goes.
struct Context(LLVMDisasmContextRef);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was made by LLVM, is not null, and is not used after this.
        unsafe { LLVMDisasmDispose(self.0) };
    }
}

/// Disassembles the whole of `code` for `processor`, e.g. `gfx1100`.
///
/// # Errors
/// A processor that LLVM does not know, or the offset of bytes that are no instruction.
pub fn disassemble(processor: &str, code: &[u8]) -> Result<Vec<Line>, String> {
    static INITIALISED: Once = Once::new();
    INITIALISED.call_once(|| {
        Target::initialize_amd_gpu(&InitializationConfig::default());
        // SAFETY: LLVM's own initialiser, called once, after those of the target.
        unsafe { LLVMInitializeAMDGPUDisassembler() };
    });
    crate::processor::check(TRIPLE, processor)?;
    let cpu = CString::new(processor).map_err(|_| format!("processor `{processor}` contains a zero byte"))?;
    // SAFETY: the strings end in a zero byte and outlive the call; no symbol look-up is asked for, so no callback and no
    // data of ours is kept.
    let context = unsafe {
        LLVMCreateDisasmCPUFeatures(
            c"amdgcn-amd-amdhsa".as_ptr(),
            cpu.as_ptr(),
            c"".as_ptr(),
            ptr::null_mut(),
            0,
            None,
            None,
        )
    };
    if context.is_null() {
        return Err(format!("no disassembler for `{processor}`"));
    }
    let context = Context(context);
    // SAFETY: the context is alive.
    unsafe { LLVMSetDisasmOptions(context.0, LLVMDisassembler_Option_PrintImmHex) };
    let mut lines = Vec::new();
    let mut rest = code.to_vec();
    let mut offset = 0;
    let mut text = [0u8; 512];
    while let Some(bytes) = rest.get_mut(offset..).filter(|bytes| !bytes.is_empty()) {
        // SAFETY: the context is alive; both buffers are valid for the lengths given, and LLVM ends the text in them with a
        // zero byte.
        let length = unsafe {
            LLVMDisasmInstruction(
                context.0,
                bytes.as_mut_ptr(),
                bytes.len() as u64,
                offset as u64,
                text.as_mut_ptr().cast::<c_char>(),
                text.len(),
            )
        };
        if length == 0 {
            return Err(format!("no instruction at offset {offset:#x}"));
        }
        let line = CStr::from_bytes_until_nul(&text).map_err(|_| format!("endless text at offset {offset:#x}"))?;
        // Comments that LLVM adds begin with a semicolon or two slashes.
        let line = line.to_string_lossy();
        let line = line.split("//").next().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        lines.push(Line { offset: offset as u64, length: length as u64, text: line.to_owned() });
        offset += length;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_objdump_reads() {
        let code = [0x00, 0x01, 0x0C, 0xF4, 0x00, 0x00, 0x00, 0xF8, 0x00, 0x00, 0xB0, 0xBF];
        let lines = disassemble("gfx1100", &code).unwrap();
        let expected = [(0, 8, "s_load_b256 s[4:11], s[0:1], null"), (8, 4, "s_endpgm")];
        let expected = expected.map(|(offset, length, text)| Line { offset, length, text: text.to_owned() });
        assert_eq!(lines, expected);
        assert!(disassemble("gfx1100", &[0xFF; 4]).unwrap_err().contains("0x0"));
        assert_eq!(disassemble("gfx1", &code).unwrap_err(), "LLVM knows no processor `gfx1`");
    }
}
