//! Where the machine code of a kernel lies in an AMDGPU code object.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", sections Symbols and Kernel Descriptor: `<name>` names the function;
//! where it was stripped, `<name>.kd` names the descriptor, whose bytes 16 to 23 are the way from it to the entry.

use std::collections::{BTreeSet, HashMap};

use object::read::elf::{ElfFile64, ElfSection64};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionIndex};
use xreduce_verify::Kernel;

/// A symbol with a place.
#[derive(Debug, Clone, Copy)]
struct Place {
    section: SectionIndex,
    address: u64,
    size: u64,
}

/// A code object with its symbols looked up once.
#[derive(Debug)]
pub(crate) struct CodeObject<'d> {
    file: ElfFile64<'d, Endianness>,
    symbols: HashMap<&'d str, Place>,
    /// Where symbols begin, for code without a size.
    starts: BTreeSet<(usize, u64)>,
}

impl<'d> CodeObject<'d> {
    /// # Errors
    /// Says why the bytes are no 64-bit ELF file.
    pub(crate) fn read(bytes: &'d [u8]) -> Result<Self, String> {
        let file: ElfFile64<'d, Endianness> =
            ElfFile64::parse(bytes).map_err(|error| format!("no 64-bit ELF file: {error}"))?;
        let mut object = CodeObject { symbols: HashMap::new(), starts: BTreeSet::new(), file };
        for symbol in object.file.symbols().chain(object.file.dynamic_symbols()) {
            let (Ok(name), Some(section)) = (symbol.name(), symbol.section_index()) else { continue };
            let place = Place { section, address: symbol.address(), size: symbol.size() };
            object.symbols.entry(name).or_insert(place);
            object.starts.insert((section.0, place.address));
        }
        Ok(object)
    }

    /// The machine code of `kernel`.
    ///
    /// # Errors
    /// Says what of the object is missing or damaged.
    pub(crate) fn code(&self, kernel: &Kernel) -> Result<&'d [u8], String> {
        let usual = format!("{}.kd", kernel.name);
        let descriptor = kernel.descriptor.as_deref().unwrap_or(&usual);
        let function = descriptor.strip_suffix(".kd").unwrap_or(&kernel.name);
        let place = self.symbols.get(function).copied().or_else(|| self.entry(self.symbols.get(descriptor)?));
        let place = place.ok_or_else(|| format!("neither a symbol {function} nor a descriptor {descriptor}"))?;
        self.bytes(place).ok_or_else(|| {
            format!("{} bytes of {function} at {:#x} lie outside their section", place.size, place.address)
        })
    }

    /// The entry that a descriptor leads to.
    fn entry(&self, descriptor: &Place) -> Option<Place> {
        let section = self.file.section_by_index(descriptor.section).ok()?;
        let way = section.data_range(descriptor.address.checked_add(16)?, 8).ok()??;
        let address = descriptor.address.wrapping_add(u64::from_le_bytes(way.try_into().ok()?));
        let holds = |section: &ElfSection64<'_, '_, Endianness>| {
            address.checked_sub(section.address()).is_some_and(|at| at < section.size())
        };
        let section = self.file.sections().find(holds)?.index();
        Some(Place { section, address, size: 0 })
    }

    fn bytes(&self, place: Place) -> Option<&'d [u8]> {
        let section = self.file.section_by_index(place.section).ok()?;
        let start = usize::try_from(place.address.checked_sub(section.address())?).ok()?;
        let rest = section.data().ok()?.get(start..).filter(|rest| !rest.is_empty())?;
        if place.size > 0 {
            return rest.get(..usize::try_from(place.size).ok()?);
        }
        // No size, as in hand-written assembly: to the next symbol, or the end of the section.
        let after = (place.section.0, place.address.checked_add(1)?)..(place.section.0 + 1, 0);
        let next = self.starts.range(after).next().and_then(|(_, next)| usize::try_from(next - place.address).ok());
        Some(next.and_then(|length| rest.get(..length)).unwrap_or(rest))
    }
}
