//! Writers of host files and of the device ELF files that LLVM 22 does not make.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "each test file uses its own part of these helpers of tests"
)]

use object::read::elf::{FileHeader, Sym};
use object::write::{Object, Symbol, SymbolSection};
use object::{BinaryFormat, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf};

/// A relocatable host file with the given sections.
pub(crate) fn host(format: BinaryFormat, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Object::new(format, object::Architecture::X86_64, object::Endianness::Little);
    for (name, data) in sections {
        let id = file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Data);
        file.set_section_data(id, data.to_vec(), 8);
    }
    file.write().unwrap()
}

/// A PE32+ library with the given sections, whose names lose all but eight bytes.
pub(crate) fn pe(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"MZ".to_vec();
    out.resize(60, 0);
    out.extend(64u32.to_le_bytes());
    out.extend(b"PE\0\0\x64\x86");
    out.extend((sections.len() as u16).to_le_bytes());
    out.extend([0; 12]);
    out.extend(240u16.to_le_bytes());
    out.extend(0x2022u16.to_le_bytes());
    let optional = out.len();
    out.extend(0x20bu16.to_le_bytes());
    out.resize(optional + 240, 0);
    for (at, field) in [(32, 4096u32), (36, 512), (56, 1 << 20), (60, 512), (108, 16)] {
        out[optional + at..optional + at + 4].copy_from_slice(&field.to_le_bytes());
    }
    let mut at = (out.len() + 40 * sections.len()).next_multiple_of(512);
    let mut address = 4096usize;
    for (name, data) in sections {
        let size = data.len().next_multiple_of(512);
        let mut short = name.as_bytes().to_vec();
        short.resize(8, 0);
        out.extend(short);
        for field in [data.len(), address, size, at] {
            out.extend((field as u32).to_le_bytes());
        }
        out.extend([0; 12]);
        out.extend(0x4000_0040u32.to_le_bytes());
        at += size;
        address += data.len().next_multiple_of(4096);
    }
    for (_, data) in sections {
        out.resize(out.len().next_multiple_of(512), 0);
        out.extend_from_slice(data);
    }
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// A library of DPC++: images one after the other, with or without the table that delimits them.
pub(crate) fn sycl(triple: &str, images: &[(&[u8], usize)], table: bool) -> Vec<u8> {
    let (mut data, mut rows) = (Vec::new(), Vec::new());
    for (stored, unpacked) in images {
        data.resize(data.len().next_multiple_of(16), 0);
        rows.extend((data.len() as u64).to_le_bytes());
        rows.extend((*unpacked as u64).to_le_bytes());
        data.extend_from_slice(stored);
    }
    let name = format!("__CLANG_OFFLOAD_BUNDLE__{triple}");
    let mut sections: Vec<(&str, &[u8])> = vec![(&name, &data)];
    if table {
        sections.push((".tgtimg", &rows));
    }
    host(BinaryFormat::Elf, &sections)
}

/// Takes the section headers away, as `sstrip` does: a loader needs none.
pub(crate) fn headless(mut file: Vec<u8>) -> Vec<u8> {
    file[40..48].fill(0);
    file[60..64].fill(0);
    file
}

/// A zebin with the given `.ze_info`.
pub(crate) fn zebin(info: &str) -> Vec<u8> {
    let mut file = host(BinaryFormat::Elf, &[(".ze_info", info.as_bytes())]);
    file[18..20].copy_from_slice(&205u16.to_le_bytes());
    // The section's type is Intel's own; the writer knows only the standard ones.
    let table = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    for header in file[table..].chunks_exact_mut(64) {
        if header[4..8] == 1u32.to_le_bytes() {
            header[4..8].copy_from_slice(&0xff00_0011u32.to_le_bytes());
        }
    }
    file
}

/// A made-up kernel of a [`cubin`].
pub(crate) struct CudaKernel<'a> {
    pub(crate) name: &'a str,
    pub(crate) registers: u32,
    pub(crate) stack: u32,
    /// Undefined functions that it calls.
    pub(crate) calls: &'a [&'a str],
}

/// A cubin for sm_90 in the layout of CUDA 12, with `.nv.info`.
pub(crate) fn cubin(kernels: &[CudaKernel<'_>]) -> Vec<u8> {
    // The writer orders symbols, and attributes name them by index: one draft tells the order.
    let draft = cubin_with(kernels, &|_| 0);
    let header = elf::FileHeader64::<object::Endianness>::parse(&*draft).unwrap();
    let endian = header.endian().unwrap();
    let symbols = header.sections(endian, &*draft).unwrap().symbols(endian, &*draft, elf::SHT_SYMTAB).unwrap();
    cubin_with(kernels, &|wanted| {
        let named = |symbol: &elf::Sym64<_>| symbol.name(endian, symbols.strings()) == Ok(wanted.as_bytes());
        symbols.enumerate().find(|(_, symbol)| named(symbol)).unwrap().0.0 as u32
    })
}

fn cubin_with(kernels: &[CudaKernel<'_>], index: &dyn Fn(&str) -> u32) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let section = |file: &mut Object<'_>, name: String, data: Vec<u8>| {
        let id = file.add_section(Vec::new(), name.into_bytes(), SectionKind::Data);
        file.set_section_data(id, data, 4);
        id
    };
    let attribute = |code: u8, words: &[u32]| {
        let mut out = vec![4, code];
        out.extend((words.len() as u16 * 4).to_le_bytes());
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out
    };
    let mut all = Vec::new();
    let mut external: Vec<&str> = Vec::new();
    for kernel in kernels {
        let code = section(&mut file, format!(".text.{}", kernel.name), vec![0; 16]);
        file.add_symbol(Symbol {
            name: kernel.name.as_bytes().to_vec(),
            value: 0,
            size: 16,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(code),
            flags: SymbolFlags::Elf { st_info: elf::SymbolInfo(0x12), st_other: elf::SymbolOther(0x10) },
        });
        external.extend(kernel.calls.iter().filter(|name| !external.contains(name)).collect::<Vec<_>>());
        all.extend(attribute(0x2f, &[index(kernel.name), kernel.registers]));
        all.extend(attribute(0x12, &[index(kernel.name), kernel.stack]));
        // One argument of 8 bytes at 0, its size above bit 18.
        let mut own = attribute(0x17, &[0, 0, 8 << 18]);
        own.extend([3, 0x19, 8, 0]);
        own.extend(attribute(0x0f, &kernel.calls.iter().map(|name| index(name)).collect::<Vec<_>>()));
        own.extend(attribute(0x05, &[64, 2, 1]));
        section(&mut file, format!(".nv.info.{}", kernel.name), own);
    }
    section(&mut file, ".nv.info".to_owned(), all);
    for name in external {
        file.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
    }
    let mut out = file.write().unwrap();
    // OSABI 51, ABI version 7; executable; machine 190; sm_90 in the low byte of the flags.
    out[7..9].copy_from_slice(&[51, 7]);
    out[16..20].copy_from_slice(&[2, 0, 190, 0]);
    out[48..52].copy_from_slice(&90u32.to_le_bytes());
    out
}

/// A relocatable AMDGPU code object of version 5 for gfx1100 with the given kernels and, of each, the
/// kinds of its arguments.
pub(crate) fn code_object(kernels: &[(String, Vec<String>)]) -> Vec<u8> {
    use rmp::encode::{write_array_len, write_map_len, write_str, write_uint};
    let mut text = Vec::new();
    write_map_len(&mut text, 2).unwrap();
    write_str(&mut text, "amdhsa.version").unwrap();
    write_array_len(&mut text, 2).unwrap();
    write_uint(&mut text, 1).unwrap();
    write_uint(&mut text, 2).unwrap();
    write_str(&mut text, "amdhsa.kernels").unwrap();
    write_array_len(&mut text, kernels.len() as u32).unwrap();
    let mut file = Object::new(BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let code = file.add_section(Vec::new(), b".rodata".to_vec(), SectionKind::ReadOnlyData);
    file.set_section_data(code, vec![0; 64], 64);
    for (name, arguments) in kernels {
        write_map_len(&mut text, 3).unwrap();
        write_str(&mut text, ".name").unwrap();
        write_str(&mut text, name).unwrap();
        write_str(&mut text, ".symbol").unwrap();
        write_str(&mut text, &format!("{name}.kd")).unwrap();
        write_str(&mut text, ".args").unwrap();
        write_array_len(&mut text, arguments.len() as u32).unwrap();
        for kind in arguments {
            write_map_len(&mut text, 2).unwrap();
            write_str(&mut text, ".size").unwrap();
            write_uint(&mut text, 8).unwrap();
            write_str(&mut text, ".value_kind").unwrap();
            write_str(&mut text, kind).unwrap();
        }
        file.add_symbol(Symbol {
            name: format!("{name}.kd").into_bytes(),
            value: 0,
            size: 64,
            kind: SymbolKind::Data,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(code),
            flags: SymbolFlags::None,
        });
    }
    let mut note = Vec::new();
    for field in [7, text.len() as u32, 32] {
        note.extend(field.to_le_bytes());
    }
    note.extend(b"AMDGPU\0\0");
    note.extend(&text);
    note.resize(note.len().next_multiple_of(4), 0);
    let id = file.add_section(Vec::new(), b".note".to_vec(), SectionKind::Note);
    file.set_section_data(id, note, 4);
    let mut out = file.write().unwrap();
    // OSABI 64 (HSA), ABI version 3; machine 224; gfx1100.
    out[7..9].copy_from_slice(&[64, 3]);
    out[18..20].copy_from_slice(&224u16.to_le_bytes());
    out[48..52].copy_from_slice(&0x41u32.to_le_bytes());
    out
}
