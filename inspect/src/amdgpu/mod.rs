//! AMDGPU machine code: the bytes of a kernel, disassembled by LLVM, as instructions.

mod instruction;
mod object;

use crate::code::{Code, Unit};
pub(crate) use object::CodeObject;

/// One line of a disassembler: the text of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Bytes from the start of the code.
    pub offset: u64,
    /// Bytes of the instruction.
    pub length: u64,
    /// Mnemonic and operands as LLVM prints them, without comments.
    pub text: String,
}

/// Turns the lines of one kernel into code.
pub(crate) fn code(lines: &[Line]) -> Code {
    // What fills up to the next function is behind the last instruction that can be reached.
    let padding = |line: &Line| line.text == "s_code_end" || line.text.starts_with("s_nop");
    let used = lines.iter().rposition(|line| !padding(line)).map_or(0, |last| last + 1);
    let lines = lines.get(..used).unwrap_or(lines);
    let index = |offset: u64| lines.binary_search_by_key(&offset, |line| line.offset).ok();
    let instructions = lines.iter().map(|line| instruction::read(line, &index)).collect();
    Code { unit: Unit::CodeByte, instructions, labels: Vec::new() }
}
