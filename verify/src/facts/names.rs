//! Names out of an ELF string table, with a bound on the work.
//!
//! A hostile table without a single NUL would make every symbol read it to its end: the square of
//! the file. Tails of names are shared in real tables, so the sum of all names may exceed the table,
//! but never by much.

use std::ffi::CStr;

use object::Endian;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, SymbolTable};

use crate::error::ReadError;

/// How often the whole table may be read.
const TIMES: usize = 64;

/// A string table with what may still be read of it.
pub(crate) struct Names<'a> {
    table: &'a [u8],
    left: usize,
}

impl<'a> Names<'a> {
    /// The strings that belong to `symbols`.
    pub(crate) fn new<H: FileHeader<Endian = E>, E: Endian>(
        endian: E,
        bytes: &'a [u8],
        sections: &SectionTable<'a, H>,
        symbols: &SymbolTable<'a, H>,
    ) -> Result<Self, ReadError> {
        let table = if symbols.is_empty() {
            &[][..]
        } else {
            sections
                .section(symbols.string_section())
                .and_then(|section| section.data(endian, bytes))
                .map_err(|error| ReadError::malformed("ELF string table", error.to_string()))?
        };
        Ok(Self::of(table))
    }

    /// The strings of `table`.
    pub(crate) fn of(table: &'a [u8]) -> Self {
        Self { table, left: table.len().saturating_mul(TIMES) }
    }

    /// The name at `offset`; empty for 0.
    pub(crate) fn get(&mut self, offset: u32) -> Result<&'a [u8], ReadError> {
        let malformed = |detail: String| ReadError::malformed("ELF string table", detail);
        let rest = usize::try_from(offset).ok().and_then(|offset| self.table.get(offset..));
        let rest = rest.ok_or_else(|| malformed(format!("no string at {offset}")))?;
        let within = rest.get(..rest.len().min(self.left)).unwrap_or(&[]);
        let name = CStr::from_bytes_until_nul(within);
        let name = name.map_err(|_| malformed(format!("the string at {offset} does not end")))?.to_bytes();
        self.left -= name.len();
        Ok(name)
    }
}
