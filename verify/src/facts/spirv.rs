//! SPIR-V modules in either byte order.
//!
//! Source: Khronos, "SPIR-V Specification" (physical layout, instructions) and "OpenCL.std extended
//! instruction set". `rspirv` parses; modules that it rejects because they use enumerants newer
//! than its grammar are walked word by word, which needs only the physical layout. Left out: types
//! deeper than pointers, vectors and scalars.

mod collect;
mod parameters;

use rspirv::binary::{Assemble, Consumer, ParseAction};
use rspirv::dr;

use self::collect::Collector;
use crate::error::ReadError;
use crate::facts::Detail;
use crate::model::{Details, Format, Image, Symbols};

const WHAT: &str = "SPIR-V module";
const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

/// True if `bytes` begin with the magic number in either byte order.
pub(crate) fn is_spirv(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|first| u32::from_le_bytes(*first) == MAGIC || u32::from_be_bytes(*first) == MAGIC)
}

/// Reads one module.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let (words, big_endian) = words(bytes)?;
    let version = words.get(1).copied().unwrap_or(0);
    let body = words.get(HEADER_WORDS..).unwrap_or(&[]);
    // rspirv 0.13 slices out of bounds if an instruction claims words that are not there.
    for_each_instruction(body, |_, _| {})?;
    let mut collector = Collector::default();
    let mut feed = Feed { collector: &mut collector, words: Vec::new() };
    if rspirv::binary::parse_words(&words, &mut feed).is_err() {
        collector = Collector::default();
        for_each_instruction(body, |opcode, operands| collector.take(opcode, operands))?;
    }
    collector.complete()?;
    let (addressing_model, memory_model) = collector.models()?;
    let kernels = collector.kernels(detail)?;
    Ok(Image {
        path: String::new(),
        container_id: None,
        group: String::new(),
        format: Format::Spirv,
        target: collector.target().to_owned(),
        bytes: bytes.len() as u64,
        loaded: true,
        details: Details::Spirv {
            version: format!("{}.{}", (version >> 16) & 0xff, (version >> 8) & 0xff),
            big_endian,
            capabilities: collector.capabilities(),
            extensions: collector.extensions(),
            addressing_model,
            memory_model,
        },
        kernels,
        symbols: Symbols { defined: collector.exported(detail), undefined: collector.imported(), ..Symbols::default() },
        printf_strings: Vec::new(),
    })
}

/// The module as words of this machine, and whether it was stored big-endian.
fn words(bytes: &[u8]) -> Result<(Vec<u32>, bool), ReadError> {
    if !is_spirv(bytes) {
        return Err(ReadError::malformed(WHAT, "does not begin with 0x07230203"));
    }
    let (chunks, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        let detail = format!("{} bytes, expected a multiple of 4", bytes.len());
        return Err(ReadError::malformed(WHAT, detail));
    }
    if chunks.len() < HEADER_WORDS {
        return Err(ReadError::malformed(WHAT, "ends inside the header of 20 bytes"));
    }
    let big_endian = chunks.first().is_some_and(|first| u32::from_be_bytes(*first) == MAGIC);
    let read = if big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
    Ok((chunks.iter().map(|chunk| read(*chunk)).collect(), big_endian))
}

/// Gives what `rspirv` parsed to the collector.
struct Feed<'c> {
    collector: &'c mut Collector,
    words: Vec<u32>,
}

impl Consumer for Feed<'_> {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: dr::Instruction) -> ParseAction {
        let opcode = instruction.class.opcode as u32;
        if Collector::wants(opcode) {
            self.words.clear();
            instruction.assemble_into(&mut self.words);
            self.collector.take(opcode, self.words.get(1..).unwrap_or(&[]));
        }
        ParseAction::Continue
    }
}

/// Physical layout only: word count and opcode in the first word of each instruction.
fn for_each_instruction(body: &[u32], mut visit: impl FnMut(u32, &[u32])) -> Result<(), ReadError> {
    let mut rest = body;
    while let Some(first) = rest.first() {
        let count = (first >> 16) as usize;
        let split = if count == 0 { None } else { rest.split_at_checked(count) };
        let Some((instruction, tail)) = split else {
            let at = HEADER_WORDS + body.len() - rest.len();
            let detail = format!("instruction at word {at} claims {count} words, {} are left", rest.len());
            return Err(ReadError::malformed(WHAT, detail));
        };
        visit(first & 0xffff, instruction.get(1..).unwrap_or(&[]));
        rest = tail;
    }
    Ok(())
}
