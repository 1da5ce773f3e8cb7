//! NVIDIA machine code ELF (cubin).
//!
//! Read off shipped files of CUDA 11 to 13: machine 190, OSABI 51 with ABI version 7 or OSABI 65
//! with ABI version 8; kernels are function symbols with bit 0x10 in `st_other`. Calls that the
//! driver provides are undefined symbols. Left out: `.nv.info` (arguments, registers).

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};

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

/// Reads one cubin.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    let sections = header.sections(E, bytes).map_err(malformed)?;
    let ident = header.e_ident();
    let e_flags = header.e_flags(E).0;
    let sm = if ident.os_abi.0 >= OSABI_NEW { (e_flags >> 8) & 0xff } else { e_flags & 0xff };
    let table = sections.symbols(E, bytes, elf::SHT_SYMTAB).map_err(malformed)?;
    let mut symbols = Symbols::default();
    let mut kernels = Vec::new();
    let mut names = Names::new(E, bytes, &sections, &table)?;
    for symbol in table.iter() {
        let name = names.get(symbol.st_name(E))?;
        let name = String::from_utf8_lossy(name);
        if name.is_empty() {
            continue;
        }
        if symbol.is_undefined(E) {
            symbols.undefined.push(name.into_owned());
        } else if symbol.st_type() == elf::STT_FUNC && symbol.st_other().0 & STO_CUDA_ENTRY != 0 {
            let section = sections.section_by_name(E, format!(".nv.shared.{name}").as_bytes());
            kernels.push(Kernel {
                shared_bytes: section.map(|(_, section)| section.sh_size(E)),
                name: name.into_owned(),
                ..Kernel::default()
            });
        } else if detail == Detail::Full && !symbol.is_local() {
            symbols.defined.push(name.into_owned());
        }
    }
    symbols.undefined.sort_unstable();
    symbols.undefined.dedup();
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
        kernels,
        symbols,
        printf_strings: Vec::new(),
    })
}
