//! NVIDIA machine code ELF (cubin).
//!
//! NVIDIA documents no layout; this is read off shipped files of CUDA 11 to 13 with cuobjdump as the
//! judge: machine 190, OSABI 51 with ABI version 7 or OSABI 65 with ABI version 8; kernels are
//! function symbols with bit 0x10 in `st_other`. Calls that the driver provides are undefined
//! symbols. Registers, stack, arguments and what each kernel calls stand in `.nv.info`.

mod info;

use std::collections::BTreeMap;

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};

use crate::error::ReadError;
use crate::facts::Detail;
use crate::facts::names::Names;
use crate::model::{Details, Format, Image, Kernel, Symbols};

const WHAT: &str = "cubin";
const E: LittleEndian = LittleEndian;
/// `st_other` bit of an entry function.
const STO_CUDA_ENTRY: u8 = 0x10;
/// OSABI from which the compute capability moved to the second byte of the flags.
const OSABI_NEW: u8 = 65;

type Header = FileHeader64<LittleEndian>;

/// Reads one cubin.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let header = Header::parse(bytes).map_err(malformed)?;
    let sections = header.sections(E, bytes).map_err(malformed)?;
    let ident = header.e_ident();
    let e_flags = header.e_flags(E).0;
    let sm = if ident.os_abi.0 >= OSABI_NEW { (e_flags >> 8) & 0xff } else { e_flags & 0xff };
    let table = sections.symbols(E, bytes, elf::SHT_SYMTAB).map_err(malformed)?;
    // Without section headers or symbols, nothing tells its kernels and what they need.
    if table.is_empty() {
        return Err(ReadError::unsupported(WHAT, "has no symbol table"));
    }
    let mut symbols = Symbols::default();
    // Kernels by the index of their symbol; a file's order is that of its symbols.
    let mut kernels: BTreeMap<usize, Kernel> = BTreeMap::new();
    let mut all: Vec<&str> = Vec::new();
    let mut names = Names::new(E, bytes, &sections, &table)?;
    for (index, symbol) in table.enumerate() {
        let name = names.get(symbol.st_name(E))?;
        let name = std::str::from_utf8(name).map_err(|error| ReadError::malformed(WHAT, error.to_string()))?;
        all.resize(index.0, "");
        all.push(name);
        if name.is_empty() {
            continue;
        }
        if symbol.is_undefined(E) {
            symbols.undefined.push(name.to_owned());
        } else if symbol.st_type() == elf::STT_FUNC && symbol.st_other().0 & STO_CUDA_ENTRY != 0 {
            kernels.insert(index.0, Kernel { name: name.to_owned(), ..Kernel::default() });
        } else if detail == Detail::Full && !symbol.is_local() {
            symbols.defined.push(name.to_owned());
        }
    }
    symbols.undefined.sort_unstable();
    symbols.undefined.dedup();
    facts(header, &sections, bytes, &all, &mut kernels, detail)?;
    Ok(Image {
        path: String::new(),
        container_id: None,
        group: String::new(),
        format: Format::Cubin,
        target: format!("sm_{sm}"),
        bytes: bytes.len() as u64,
        loaded: true,
        details: Details::Cubin {
            e_flags,
            abi: (ident.os_abi.0, ident.abi_version),
            relocatable: header.e_type(E) == elf::ET_REL,
        },
        kernels: kernels.into_values().collect(),
        symbols,
        printf_strings: Vec::new(),
    })
}

/// Adds to each kernel what sections named after it say, and `.nv.info` of all.
fn facts(
    header: &Header,
    sections: &SectionTable<'_, Header>,
    bytes: &[u8],
    symbols: &[&str],
    kernels: &mut BTreeMap<usize, Kernel>,
    detail: Detail,
) -> Result<(), ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let by_name: BTreeMap<String, usize> =
        kernels.iter().map(|(index, kernel)| (kernel.name.clone(), *index)).collect();
    let strings = header.section_strings_index(E, bytes).and_then(|index| sections.section(index));
    let strings = strings.and_then(|section| section.data(E, bytes)).map_err(malformed)?;
    let mut names = Names::of(strings);
    for section in sections.iter().skip(1) {
        let name = String::from_utf8_lossy(names.get(section.sh_name(E))?);
        let of = |prefix: &str| by_name.get(name.strip_prefix(prefix)?).copied();
        if let Some(kernel) = of(".nv.shared.").and_then(|index| kernels.get_mut(&index)) {
            kernel.shared_bytes = Some(section.sh_size(E));
        } else if name == ".nv.info" {
            for attribute in info::attributes(section.data(E, bytes).map_err(malformed)?) {
                let (index, attribute) = attribute?.about_symbol();
                if let Some(kernel) = kernels.get_mut(&index) {
                    info::add(kernel, &attribute, symbols, detail);
                }
            }
        } else if let Some(kernel) = of(".nv.info.").and_then(|index| kernels.get_mut(&index)) {
            for attribute in info::attributes(section.data(E, bytes).map_err(malformed)?) {
                info::add(kernel, &attribute?, symbols, detail);
            }
            kernel.arguments.sort_by_key(|argument| argument.offset);
        }
    }
    Ok(())
}
