//! SPIR-V modules: the bodies of entry points as instructions.
//!
//! Source: Khronos, "SPIR-V Specification", sections Physical Layout and Instructions. Walked word by word with the grammar
//! of `rspirv`, which tells where an instruction has its result: its parser gives up at the first instruction that it
//! does not know, while here such a one counts like any other. Declarations (variables, labels, structure hints, lines)
//! are no instructions.

mod instruction;
mod module;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rspirv::spirv::Op;

use self::module::Module;
use crate::code::{Code, Unit};

const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

/// One instruction as it lies in the module.
#[derive(Debug, Clone, Copy)]
struct Raw<'m> {
    /// Its first word.
    at: usize,
    /// None for one that the grammar does not know.
    op: Option<Op>,
    /// Words after the first.
    operands: &'m [u32],
}

/// Code of the entry points that `wanted` accepts, in the order of the module.
///
/// # Errors
/// Says which word contradicts the format.
pub(crate) fn entries(bytes: &[u8], wanted: &dyn Fn(&str) -> bool) -> Result<Vec<(String, Code)>, String> {
    let words = words(bytes)?;
    let raw = split(&words)?;
    let module = Module::read(&raw);
    let bodies = bodies(&raw);
    let wanted = module.entries.iter().filter(|(_, name)| wanted(name));
    Ok(wanted
        .map(|(function, name)| (name.clone(), code(&module, bodies.get(function).copied().unwrap_or_default())))
        .collect())
}

/// The module as words of this machine.
fn words(bytes: &[u8]) -> Result<Vec<u32>, String> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    let first = chunks.first().copied().unwrap_or_default();
    let read = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
        (MAGIC, _) => u32::from_le_bytes,
        (_, MAGIC) => u32::from_be_bytes,
        _ => return Err(format!("begins with {first:02x?}, expected {MAGIC:#010x}")),
    };
    if !rest.is_empty() || chunks.len() < HEADER_WORDS {
        return Err(format!("{} bytes, expected a multiple of 4 from 20 on", bytes.len()));
    }
    Ok(chunks.iter().map(|chunk| read(*chunk)).collect())
}

fn split(words: &[u32]) -> Result<Vec<Raw<'_>>, String> {
    let mut found = Vec::new();
    let mut at = HEADER_WORDS;
    while let Some((first, rest)) = words.get(at..).and_then(|rest| rest.split_first()) {
        let count = (first >> 16) as usize;
        let operands = count.checked_sub(1).and_then(|count| rest.get(..count));
        let Some(operands) = operands else {
            let left = rest.len() + 1;
            return Err(format!("instruction at byte {} claims {count} words, {left} are left", 4 * at));
        };
        found.push(Raw { at, op: Op::from_u32(first & 0xffff), operands });
        at += count;
    }
    Ok(found)
}

/// The instructions of each function, without its frame.
fn bodies<'r, 'm>(raw: &'r [Raw<'m>]) -> HashMap<u32, &'r [Raw<'m>]> {
    let mut found = HashMap::new();
    let mut rest = raw;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if let (Some(Op::Function), [_, id, ..]) = (first.op, first.operands) {
            let end = tail.iter().position(|raw| raw.op == Some(Op::FunctionEnd)).unwrap_or(tail.len());
            let (body, after) = tail.split_at(end);
            found.entry(*id).or_insert(body);
            rest = after;
        }
    }
    found
}

fn code(module: &Module, body: &[Raw<'_>]) -> Code {
    let mut labels = Vec::new();
    let mut ids = HashMap::new();
    let mut kept = Vec::new();
    for raw in body {
        match (raw.op, raw.operands) {
            (Some(Op::Label), [id, ..]) => {
                ids.insert(*id, kept.len());
                // Two labels in a row are malformed; the later one names the place.
                if labels.last().is_some_and(|(index, _)| *index == kept.len()) {
                    labels.pop();
                }
                labels.push((kept.len(), module.name(*id)));
            }
            _ if module.is_declaration(raw) => {}
            _ => kept.push(raw),
        }
    }
    let place = |id: u32| ids.get(&id).copied();
    let instructions = kept.iter().map(|raw| instruction::read(module, raw, &place)).collect();
    Code { unit: Unit::ModuleByte, instructions, labels }
}
