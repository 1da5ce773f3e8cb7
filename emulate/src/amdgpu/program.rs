//! Loading: from a code object to kernels in executable form, every instruction decoded once.

use std::collections::HashMap;
use std::rc::Rc;

use super::decoder::{Decoded, Decoder};
use super::family::Target;
use super::instruction::{Instruction, Operation};
use super::object::{Descriptor, read};
use super::translate::{Site, translate};
use super::wave::Wave;
use crate::error::{Fault, LoadError};
use crate::machine::Kernel;
use crate::memory::Memory;
use crate::rng::Rng;
use crate::thread::{BlockStart, Model, Program, Thread};

/// A loaded AMDGPU code object.
#[derive(Debug)]
pub struct CodeObject {
    target: Target,
    kernels: Vec<Kernel>,
}

impl CodeObject {
    /// Loads every kernel of a code object (a linked ELF file, code object version 3 to 6).
    ///
    /// # Errors
    /// [`LoadError`]: no such file, a target or a kernel feature that is not modelled, or an instruction that the
    /// decoder or the tables do not know. One such kernel fails the whole object.
    pub fn load(bytes: &[u8], decoder: &dyn Decoder) -> Result<Self, LoadError> {
        let (target, raw) = read(bytes)?;
        let kernels = raw
            .into_iter()
            .map(|kernel| AmdProgram::load(kernel.name, target, kernel.descriptor, kernel.code, decoder))
            .map(|program| Ok(Kernel(Rc::new(program?))))
            .collect::<Result<_, _>>()?;
        Ok(CodeObject { target, kernels })
    }

    /// Processor that the object is for.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Its kernels, in the order of the symbol table.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// A kernel by its symbol.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }
}

/// A kernel in executable form.
pub(super) struct AmdProgram {
    name: String,
    pub(super) target: Target,
    pub(super) descriptor: Descriptor,
    pub(super) instructions: Vec<Instruction>,
    texts: Vec<String>,
    /// Vector registers that the instructions name, at least the thread number's.
    pub(super) vector_registers: u16,
}

impl AmdProgram {
    fn load(
        name: String,
        target: Target,
        descriptor: Descriptor,
        code: &[u8],
        decoder: &dyn Decoder,
    ) -> Result<Self, LoadError> {
        let decoded = decoder
            .decode(target.processor, code)
            .map_err(|what| LoadError::Object { what: format!("kernel {name}: disassembler: {what}") })?;
        let index: HashMap<u64, usize> =
            decoded.iter().enumerate().map(|(index, instruction)| (instruction.offset, index)).collect();
        let index_of = |offset: u64| index.get(&offset).copied();
        let mut instructions = Vec::with_capacity(decoded.len());
        let mut expected = 0;
        for Decoded { offset, length, text } in &decoded {
            let wrong =
                |why: String| LoadError::Instruction { kernel: name.clone(), offset: *offset, text: text.clone(), why };
            if *offset != expected || *length == 0 {
                return Err(wrong(format!("the disassembler left a gap before it, expected offset {expected:#x}")));
            }
            expected = offset + length;
            let site = Site {
                generation: target.generation,
                wave_size: descriptor.wave_size,
                next: expected,
                index_of: &index_of,
            };
            instructions.push(translate(text, &site).map_err(wrong)?);
        }
        if expected != code.len() as u64 {
            return Err(LoadError::Object {
                what: format!("kernel {name}: {expected} of {} bytes of code were decoded", code.len()),
            });
        }
        let vector_registers = instructions.iter().map(highest_vector_register).max().unwrap_or(0).max(3);
        let texts = decoded
            .into_iter()
            .map(|instruction| instruction.text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        Ok(AmdProgram { name, target, descriptor, instructions, texts, vector_registers })
    }

    pub(super) fn text(&self, index: usize) -> String {
        self.texts.get(index).cloned().unwrap_or_default()
    }
}

/// One more than the highest vector register of an instruction, the destinations of loads included.
fn highest_vector_register(instruction: &Instruction) -> u16 {
    let touched = instruction.touches.vector.iter().enumerate().rev().find(|(_, word)| **word != 0);
    let touched = touched.map_or(0, |(i, word)| {
        64 * u16::try_from(i).unwrap_or(0) + 64 - u16::try_from(word.leading_zeros()).unwrap_or(0)
    });
    let loaded = match &instruction.operation {
        Operation::Load { destination, .. } => destination + 4,
        Operation::SharedLoad { destination, .. } => destination + 1,
        Operation::Atomic { destination: Some(destination), .. } => destination + 2,
        _ => 0,
    };
    touched.max(loaded)
}

impl Program for AmdProgram {
    fn model(&self) -> Model {
        Model::Caches
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn argument_bytes(&self) -> u64 {
        u64::from(self.descriptor.kernarg_bytes)
    }

    fn shared_bytes(&self) -> u32 {
        self.descriptor.shared_bytes
    }

    fn max_threads(&self) -> u32 {
        1024
    }

    fn start_block(
        self: Rc<Self>,
        start: BlockStart,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Result<Vec<Box<dyn Thread>>, Fault> {
        let waves = start.threads.div_ceil(self.descriptor.wave_size);
        let wave = |number| -> Box<dyn Thread> { Box::new(Wave::start(&self, &start, number, memory, rng)) };
        Ok((0..waves).map(wave).collect())
    }
}
