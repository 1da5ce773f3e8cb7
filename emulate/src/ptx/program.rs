//! Loading: from PTX text to kernels in executable form, every instruction decoded once.

use std::rc::Rc;

use super::instruction::Instruction;
use super::lexer::{Problem, lex};
use super::syntax::parse;
use super::thread::{Block, PtxThread};
use super::translate::translate;
use crate::error::{Fault, LoadError};
use crate::machine::Kernel;
use crate::memory::{Memory, Seat};
use crate::rng::Rng;
use crate::thread::{BlockStart, Model, Program, Thread};

/// Most threads of a block on any processor (PTX ISA, "maxntid").
const MOST_THREADS: u32 = 1024;

/// A loaded PTX module.
#[derive(Debug)]
pub struct Module {
    target: String,
    kernels: Vec<Kernel>,
}

impl Module {
    /// Loads every kernel of a module.
    ///
    /// # Errors
    /// [`LoadError::Text`] for whatever is not understood: one such line fails the whole module.
    pub fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| LoadError::Object { what: format!("PTX is text: {error}") })?;
        let located = |Problem { line, why }: Problem| {
            let found = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("");
            LoadError::Text { line, text: found.trim().to_owned(), why }
        };
        let lexemes = lex(text).map_err(located)?;
        let source = parse(&lexemes).map_err(located)?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let mut kernels = Vec::with_capacity(source.entries.len());
        for entry in &source.entries {
            let translated = translate(entry, &source.shared).map_err(located)?;
            let at = |line: u32| lines.get(line.saturating_sub(1) as usize).copied().unwrap_or("");
            let texts = { translated.instructions.iter() }
                .map(|instruction| format!("{} (line {})", at(instruction.line), instruction.line))
                .collect();
            kernels.push(Kernel(Rc::new(PtxProgram {
                name: entry.name.to_owned(),
                instructions: translated.instructions,
                texts,
                widths: translated.widths,
                argument_bytes: translated.argument_bytes,
                shared_bytes: translated.shared_bytes,
                max_threads: entry.max_threads.unwrap_or(MOST_THREADS).min(MOST_THREADS),
            })));
        }
        Ok(Module { target: source.target.to_owned(), kernels })
    }

    /// Processor that the module names, e.g. `sm_90`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Its kernels, in the order of the text.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// A kernel by its name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }
}

/// A kernel in executable form.
#[derive(Debug)]
pub(super) struct PtxProgram {
    name: String,
    pub(super) instructions: Vec<Instruction>,
    texts: Vec<String>,
    /// Width of each register, bits.
    pub(super) widths: Vec<u8>,
    argument_bytes: u64,
    shared_bytes: u32,
    max_threads: u32,
}

impl PtxProgram {
    pub(super) fn text(&self, counter: usize) -> String {
        self.texts.get(counter).cloned().unwrap_or_default()
    }
}

impl Program for PtxProgram {
    fn model(&self) -> Model {
        Model::Views
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn argument_bytes(&self) -> u64 {
        self.argument_bytes
    }

    /// None of the scheduler's: shared memory follows the memory model like all other.
    fn shared_bytes(&self) -> u32 {
        0
    }

    fn max_threads(&self) -> u32 {
        self.max_threads
    }

    fn start_block(
        self: Rc<Self>,
        start: BlockStart,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Result<Vec<Box<dyn Thread>>, Fault> {
        let mut arguments = vec![0; usize::try_from(self.argument_bytes).unwrap_or(0)];
        memory.read(start.arguments, &mut arguments)?;
        let shared =
            if self.shared_bytes == 0 { 0 } else { memory.add_block_memory(start.device, self.shared_bytes, rng)? };
        let block = Rc::new(Block { start, arguments, shared });
        let seat = Seat { device: start.device, block: start.unique };
        let thread = |number| -> Box<dyn Thread> {
            let id = memory.add_thread(seat);
            Box::new(PtxThread::new(&self, &block, id, number, rng.next()))
        };
        Ok((0..start.threads).map(thread).collect())
    }
}
