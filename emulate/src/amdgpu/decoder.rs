//! The disassembler, as this crate sees it: bytes in, one line of text per instruction out.

/// An instruction as the disassembler read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Byte offset in the code.
    pub offset: u64,
    /// Bytes of the instruction.
    pub length: u64,
    /// LLVM's assembly text, immediates as `llvm-objdump -d` prints them, without comments.
    pub text: String,
}

/// LLVM's disassembler for AMDGPU, in whatever way the caller has it.
pub trait Decoder {
    /// Decodes the whole of `code` for a processor such as `gfx1100`, without gaps.
    ///
    /// # Errors
    /// What the disassembler could not read, and where.
    fn decode(&self, processor: &str, code: &[u8]) -> Result<Vec<Decoded>, String>;
}

impl<F: Fn(&str, &[u8]) -> Result<Vec<Decoded>, String>> Decoder for F {
    fn decode(&self, processor: &str, code: &[u8]) -> Result<Vec<Decoded>, String> {
        self(processor, code)
    }
}
