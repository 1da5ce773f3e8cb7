//! Dynamic symbols found through the program headers, as a loader finds them.
//!
//! Source: System V ABI, chapter 5, Dynamic Section. Needed where section headers were stripped.
//! The number of symbols is that of the chains of `DT_HASH`, which LLVM's linker always writes for
//! AMDGPU; an object with `DT_GNU_HASH` alone is not understood.

use std::collections::BTreeSet;

use object::elf::{self, Rela64, Sym64};
use object::read::elf::{Dyn, FileHeader, HashTable, ProgramHeader, Sym};
use object::{LittleEndian, pod};

use super::{E, Header};
use crate::error::ReadError;
use crate::facts::names::Names;

const WHAT: &str = "ELF dynamic segment";

/// Name, symbol, and whether a relocation refers to it. Empty without a dynamic segment.
pub(super) type DynamicSymbols<'a> = Vec<(&'a [u8], &'a Sym64<LittleEndian>, bool)>;

/// All symbols that the dynamic segment leads to.
pub(super) fn symbols<'a>(header: &Header, bytes: &'a [u8]) -> Result<DynamicSymbols<'a>, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let segments = header.program_headers(E, bytes).map_err(malformed)?;
    let mut entries = None;
    for segment in segments {
        entries = entries.or(segment.dynamic(E, bytes).map_err(malformed)?);
    }
    let Some(entries) = entries else {
        return Ok(Vec::new());
    };
    let value = |tag| entries.iter().find(|entry| entry.tag(E) == tag).map(|entry| entry.val(E));
    // From an address to the end of the file part of its segment.
    let from = |address: u64| {
        segments.iter().filter(|segment| segment.p_type(E) == elf::PT_LOAD).find_map(|segment| {
            let offset = address.checked_sub(segment.p_vaddr(E))?;
            segment.data(E, bytes).ok()?.get(usize::try_from(offset).ok()?..)
        })
    };
    let table = |tag| value(tag).and_then(from);
    let (Some(hash), Some(symbols), Some(strings)) =
        (table(elf::DT_HASH), table(elf::DT_SYMTAB), table(elf::DT_STRTAB))
    else {
        return Err(ReadError::malformed(WHAT, "has no DT_HASH, DT_SYMTAB or DT_STRTAB, or they point outside"));
    };
    let count = HashTable::<Header>::parse(E, hash).map_err(malformed)?.symbol_table_length() as usize;
    let outside = || ReadError::malformed(WHAT, "the symbol table points outside");
    let (symbols, _) = pod::slice_from_bytes::<Sym64<LittleEndian>>(symbols, count).map_err(|()| outside())?;
    let length = value(elf::DT_STRSZ).and_then(|length| usize::try_from(length).ok());
    let strings = length.and_then(|length| strings.get(..length)).ok_or_else(outside)?;
    let mut needed = BTreeSet::new();
    for (start, size) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
        if let (Some(relocations), Some(size)) = (table(start), value(size)) {
            let count = usize::try_from(size).unwrap_or(usize::MAX) / size_of::<Rela64<LittleEndian>>();
            let (relocations, _) =
                pod::slice_from_bytes::<Rela64<LittleEndian>>(relocations, count).map_err(|()| outside())?;
            needed.extend(relocations.iter().map(|relocation| relocation.r_sym(E, false) as usize));
        }
    }
    let mut names = Names::of(strings);
    let named = symbols
        .iter()
        .enumerate()
        .map(|(index, symbol)| Ok((names.get(symbol.st_name(E))?, symbol, needed.contains(&index))));
    named.collect()
}
