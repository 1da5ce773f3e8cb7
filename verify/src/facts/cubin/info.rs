//! `.nv.info` and `.nv.info.<kernel>`: what a CUDA driver must know before a launch.
//!
//! Read off the output of ptxas 13 and shipped files, attribute by attribute against cuobjdump. An
//! attribute is u8 format, u8 code, then u16 value; with format 4 that value is the length of the
//! data behind it. In `.nv.info` the data begin with the index of the symbol they are about. Codes
//! that are not named here are passed over.

use crate::bytes::{u16_at, u32_at};
use crate::error::ReadError;
use crate::facts::Detail;
use crate::model::{Argument, Kernel};

/// Format of an attribute with data of its own.
const SIZED: u8 = 4;
const MAX_THREADS: u8 = 0x05;
const EXTERNS: u8 = 0x0f;
const REQUIRED_THREADS: u8 = 0x10;
const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const PARAMETER: u8 = 0x17;
const PARAMETER_BYTES: u8 = 0x19;
const REGISTERS: u8 = 0x2f;
/// A stack size that the compiler could not bound.
const UNKNOWN: u32 = u32::MAX;

/// One attribute: its code and its value or data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attribute<'a> {
    code: u8,
    data: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// Index of the symbol that an attribute of `.nv.info` is about, and the attribute without it.
    pub(super) fn about_symbol(self) -> (usize, Self) {
        let index = u32_at(self.data, 0).unwrap_or(UNKNOWN);
        (index as usize, Self { data: self.data.get(4..).unwrap_or(&[]), ..self })
    }

    fn words(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.data.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
    }
}

/// All attributes of a section; the last is an error if the section is cut.
pub(super) fn attributes(section: &[u8]) -> impl Iterator<Item = Result<Attribute<'_>, ReadError>> {
    let mut rest = section;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let read = next(rest);
        rest = match &read {
            Some((_, next)) => next,
            None => &[],
        };
        let cut = || ReadError::malformed(".nv.info", "ends inside an attribute");
        Some(read.map(|(attribute, _)| attribute).ok_or_else(cut))
    })
}

fn next(bytes: &[u8]) -> Option<(Attribute<'_>, &[u8])> {
    let [format, code, value @ ..] = bytes else {
        return None;
    };
    let (value, behind) = value.split_at_checked(2)?;
    let (data, rest) =
        if *format == SIZED { behind.split_at_checked(usize::from(u16_at(value, 0)?))? } else { (value, behind) };
    Some((Attribute { code: *code, data }, rest))
}

/// Adds what `attribute` says to its kernel; `symbols` are the names of all symbols.
pub(super) fn add(kernel: &mut Kernel, attribute: &Attribute<'_>, symbols: &[&str], detail: Detail) {
    let first = attribute.words().next();
    match attribute.code {
        REGISTERS => kernel.vgprs = first,
        FRAME_SIZE | MIN_STACK_SIZE => {
            if first == Some(UNKNOWN) {
                kernel.dynamic_stack = Some(true);
            } else {
                kernel.scratch_bytes = kernel.scratch_bytes.max(first.map(u64::from));
                kernel.dynamic_stack = kernel.dynamic_stack.or(Some(false));
            }
        }
        MAX_THREADS | REQUIRED_THREADS => {
            kernel.max_threads = Some(attribute.words().take(3).fold(1, u32::saturating_mul));
        }
        PARAMETER_BYTES => kernel.kernarg_bytes = u16_at(attribute.data, 0).map(u64::from),
        PARAMETER if detail == Detail::Full => kernel.arguments.extend(argument(attribute.data)),
        EXTERNS => {
            let names = attribute.words().filter_map(|index| symbols.get(index as usize));
            kernel.calls.extend(names.map(|name| (*name).to_owned()));
            kernel.calls.sort_unstable();
            kernel.calls.dedup();
        }
        _ => {}
    }
}

/// u32 index, u16 ordinal, u16 offset, then a word whose upper 14 bits are the size.
fn argument(data: &[u8]) -> Option<Argument> {
    Some(Argument {
        kind: "by_value".to_owned(),
        offset: Some(u64::from(u16_at(data, 6)?)),
        bytes: Some(u64::from(u32_at(data, 8)? >> 18)),
        ..Argument::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ptxas 13 writes it: a value, registers of symbol 3, what it calls.
    const SECTION: [u8; 24] = [3, 0x19, 12, 0, 4, 0x2f, 8, 0, 3, 0, 0, 0, 24, 0, 0, 0, 4, 0x0f, 4, 0, 1, 0, 0, 0];

    #[test]
    fn attributes_are_read_one_after_the_other() {
        let all: Vec<_> = attributes(&SECTION).map(Result::unwrap).collect();
        assert_eq!(all.iter().map(|one| one.code).collect::<Vec<_>>(), [PARAMETER_BYTES, REGISTERS, EXTERNS]);
        let mut kernel = Kernel::default();
        add(&mut kernel, &all[0], &[], Detail::Full);
        let (index, registers) = all[1].about_symbol();
        assert_eq!(index, 3);
        add(&mut kernel, &registers, &[], Detail::Full);
        add(&mut kernel, &all[2], &["", "vprintf"], Detail::Full);
        assert_eq!((kernel.kernarg_bytes, kernel.vgprs), (Some(12), Some(24)));
        assert_eq!(kernel.calls, ["vprintf"]);
    }

    #[test]
    fn a_cut_section_is_an_error_once() {
        for length in 1..SECTION.len() {
            let errors = attributes(&SECTION[..length]).filter(Result::is_err).count();
            let whole = matches!(length, 4 | 16);
            assert_eq!(errors, usize::from(!whole), "{length}");
        }
    }

    #[test]
    fn an_unbounded_stack_has_no_size() {
        let mut kernel = Kernel::default();
        add(&mut kernel, &Attribute { code: MIN_STACK_SIZE, data: &[0xff; 4] }, &[], Detail::Full);
        assert_eq!((kernel.scratch_bytes, kernel.dynamic_stack), (None, Some(true)));
    }
}
