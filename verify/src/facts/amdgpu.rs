//! AMDGPU code objects (ELF64, `EM_AMDGPU`), version 3 to 6, linked or relocatable.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", sections ELF Header, Note Records and Code Object
//! Metadata. Version 2 (a YAML note) is refused as unsupported. Instructions and kernel descriptors
//! are not decoded: everything that a runtime decides on stands in the header, the note and the
//! symbol tables.

mod arch;
mod dynamic;
mod metadata;

use std::collections::BTreeSet;

use object::LittleEndian;
use object::elf::{self, FileHeader64, Sym64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym, SymbolTable};

use self::metadata::Metadata;
use crate::error::ReadError;
use crate::facts::Detail;
use crate::facts::names::Names;
use crate::model::{Details, Format, Image, Symbols};
use crate::symbols::is_notable;

const WHAT: &str = "AMDGPU code object";
/// `NT_AMDGPU_METADATA`, under the name `AMDGPU`.
const NT_AMDGPU_METADATA: u32 = 32;
const E: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;

/// Reads one code object. The caller fills in where the image lies.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let header = Header::parse(bytes).map_err(malformed)?;
    let code_object_version = version(header)?;
    let sections = header.sections(E, bytes).map_err(malformed)?;
    let relocatable = header.e_type(E) == elf::ET_REL;
    let symbols = symbols(header, &sections, bytes, detail)?;
    let note = note(header, &sections, bytes)?;
    let metadata = match note {
        Some(note) => metadata::read(note, detail)?,
        // A code object of device functions only has no note. Kernels without one have lost it.
        None if symbols.has_descriptors => {
            return Err(ReadError::unsupported(
                WHAT,
                "kernel descriptors without a metadata note: nothing says what the kernels need",
            ));
        }
        None => Metadata::default(),
    };
    // A runtime finds kernels by name, so a code object without names is not whole.
    if symbols.count == 0 && (note.is_none() || !metadata.kernels.is_empty()) {
        return Err(ReadError::unsupported(WHAT, "neither section headers nor a dynamic segment lead to symbols"));
    }
    if let Some((major, minor)) = metadata.version
        && major != 1
    {
        return Err(ReadError::unsupported(WHAT, format!("metadata version {major}.{minor}, understood is 1.x")));
    }
    let e_flags = header.e_flags(E).0;
    Ok(Image {
        path: String::new(),
        container_id: None,
        group: String::new(),
        format: Format::Amdgpu,
        target: arch::target_id(e_flags, code_object_version),
        bytes: bytes.len() as u64,
        loaded: true,
        details: Details::Amdgpu { code_object_version, e_flags, note_target: metadata.target, relocatable },
        kernels: metadata.kernels,
        symbols: symbols.symbols,
        printf_strings: metadata.printf,
    })
}

/// Code object version 3 to 6 from the identification bytes.
fn version(header: &Header) -> Result<u8, ReadError> {
    let machine = header.e_machine(E);
    if machine != elf::EM_AMDGPU {
        return Err(ReadError::malformed(WHAT, format!("machine {}, expected {}", machine.0, elf::EM_AMDGPU.0)));
    }
    let abi = header.e_ident().abi_version;
    match abi {
        1..=4 => Ok(abi + 2),
        0 => Err(ReadError::unsupported(WHAT, "code object version 2, understood are 3 to 6")),
        _ => Err(ReadError::unsupported(
            WHAT,
            format!("ABI version {abi}, understood are 1 to 4 (code object version 3 to 6)"),
        )),
    }
}

/// The metadata note: program headers first (they survive stripping), then sections.
fn note<'a>(
    header: &Header,
    sections: &SectionTable<'a, Header>,
    bytes: &'a [u8],
) -> Result<Option<&'a [u8]>, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed("ELF notes", error.to_string());
    for segment in header.program_headers(E, bytes).map_err(malformed)? {
        if let Some(mut notes) = segment.notes(E, bytes).map_err(malformed)? {
            while let Some(note) = notes.next().map_err(malformed)? {
                if is_metadata(note.name(), note.n_type(E).0) {
                    return Ok(Some(note.desc()));
                }
            }
        }
    }
    for section in sections.iter() {
        if let Some(mut notes) = section.notes(E, bytes).map_err(malformed)? {
            while let Some(note) = notes.next().map_err(malformed)? {
                if is_metadata(note.name(), note.n_type(E).0) {
                    return Ok(Some(note.desc()));
                }
            }
        }
    }
    Ok(None)
}

fn is_metadata(name: &[u8], kind: u32) -> bool {
    name == b"AMDGPU" && kind == NT_AMDGPU_METADATA
}

/// What the symbol tables say.
#[derive(Default)]
struct Collected {
    symbols: Symbols,
    /// Named symbols of any kind.
    count: usize,
    /// One of them is a kernel descriptor.
    has_descriptors: bool,
}

impl Collected {
    /// Takes one symbol; `needed` is false for one that no relocation refers to.
    fn take(&mut self, name: &[u8], symbol: &Sym64<LittleEndian>, needed: bool, detail: Detail) {
        // Section and file symbols have no name, or none that anybody calls.
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()) else {
            return;
        };
        self.count += 1;
        let undefined = symbol.is_undefined(E);
        self.has_descriptors |= name.ends_with(".kd") && !undefined;
        if is_notable(name) {
            self.symbols.notable.push(name.to_owned());
        }
        if undefined {
            if symbol.is_weak() {
            } else if needed {
                self.symbols.undefined.push(name.to_owned());
            } else if detail == Detail::Full {
                self.symbols.unreferenced.push(name.to_owned());
            }
        } else if detail == Detail::Full && !symbol.is_local() {
            self.symbols.defined.push(name.to_owned());
        }
    }

    fn sort(&mut self) {
        let found = &mut self.symbols;
        for list in [&mut found.notable, &mut found.undefined, &mut found.unreferenced, &mut found.defined] {
            list.sort_unstable();
            list.dedup();
        }
        found.unreferenced.retain(|name| found.undefined.binary_search(name).is_err());
    }
}

/// Symbols of both tables.
fn symbols<'a>(
    header: &Header,
    sections: &SectionTable<'a, Header>,
    bytes: &'a [u8],
    detail: Detail,
) -> Result<Collected, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed("ELF symbol table", error.to_string());
    let linked = header.e_type(E) != elf::ET_REL;
    let mut found = Collected::default();
    for kind in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
        let table = sections.symbols(E, bytes, kind).map_err(malformed)?;
        if linked && kind == elf::SHT_DYNSYM && table.is_empty() {
            // Loaders look at segments only, so section headers may be gone.
            for (name, symbol, needed) in dynamic::symbols(header, bytes)? {
                found.take(name, symbol, needed, detail);
            }
            continue;
        }
        let mut names = Names::new(E, bytes, sections, &table)?;
        let needed = if linked { Some(relocated(sections, bytes, &table)?) } else { None };
        for (index, symbol) in table.enumerate() {
            let needed = needed.as_ref().is_none_or(|needed| needed.contains(&index.0));
            found.take(names.get(symbol.st_name(E))?, symbol, needed, detail);
        }
    }
    found.sort();
    Ok(found)
}

/// Indices of the symbols of `table` that a relocation refers to. Others a loader never looks up:
/// linkers leave undefined LDS variables behind that were lowered long before.
fn relocated<'a>(
    sections: &SectionTable<'a, Header>,
    bytes: &'a [u8],
    table: &SymbolTable<'a, Header>,
) -> Result<BTreeSet<usize>, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed("ELF relocations", error.to_string());
    let mut needed = BTreeSet::new();
    for section in sections.iter() {
        if let Some((relocations, link)) = section.rela(E, bytes).map_err(malformed)?
            && link == table.section()
        {
            needed.extend(relocations.iter().map(|relocation| relocation.r_sym(E, false) as usize));
        }
    }
    Ok(needed)
}
