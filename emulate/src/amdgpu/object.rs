//! AMDGPU code objects: target, kernels, their descriptors and code bytes.
//!
//! Source: LLVM AMDGPUUsage, "ELF Code Object" and "Kernel Descriptor" (code object versions 3 to 6, whose descriptor
//! is the same). What a kernel needs beyond arguments, block and thread number (scratch, dispatch packet, queue,
//! hidden state) is refused: this emulator does not model it.

use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};

use super::family::{Target, target_of_flags};
use crate::error::LoadError;

/// What the descriptor of a kernel says, checked to be something that can be executed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Bytes of group memory (LDS).
    pub(crate) shared_bytes: u32,
    /// Bytes of the kernarg segment.
    pub(crate) kernarg_bytes: u32,
    /// First SGPR of the kernarg address, if the kernel takes one.
    pub(crate) kernarg_sgpr: Option<u8>,
    /// SGPR of the block number, where it is not in a trap temporary.
    pub(crate) block_sgpr: Option<u8>,
    /// 32 or 64.
    pub(crate) wave_size: u32,
    /// Compute-unit mode: the waves of a block share an L0.
    pub(crate) compute_unit_mode: bool,
    /// Whether 32-bit float operations keep denormal inputs and outputs.
    pub(crate) denormals: Denormals,
}

/// Denormal handling of 32-bit floats (FLOAT_DENORM_MODE_32: bit 0 keeps those of sources, bit 1 those of results).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Denormals {
    pub(crate) keep_inputs: bool,
    pub(crate) keep_outputs: bool,
}

/// A kernel as found in the object.
pub(crate) struct RawKernel<'d> {
    pub(crate) name: String,
    pub(crate) descriptor: Descriptor,
    pub(crate) code: &'d [u8],
}

/// Kernels of a code object, in the order of its symbol table.
pub(crate) fn read(bytes: &[u8]) -> Result<(Target, Vec<RawKernel<'_>>), LoadError> {
    let damaged = |what: String| LoadError::Object { what };
    let file =
        ElfFile64::<Endianness>::parse(bytes).map_err(|error| damaged(format!("no 64-bit ELF file: {error}")))?;
    let header = file.elf_header();
    let machine = header.e_machine(Endianness::Little);
    if machine != elf::EM_AMDGPU {
        return Err(damaged(format!("ELF machine {machine:?}, expected {:?}", elf::EM_AMDGPU)));
    }
    let flags = header.e_flags(Endianness::Little).0;
    let target = target_of_flags(flags).ok_or_else(|| LoadError::Unsupported {
        kernel: String::new(),
        what: format!("target with ELF flags {flags:#x}"),
    })?;
    let mut kernels = Vec::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let Some(name) = symbol.name().ok().and_then(|name| name.strip_suffix(".kd")) else { continue };
        if kernels.iter().any(|kernel: &RawKernel| kernel.name == name) {
            continue;
        }
        let descriptor =
            section_bytes(&file, symbol.address(), 64).ok_or_else(|| damaged(format!("no descriptor of {name}")))?;
        let entry = symbol.address().wrapping_add(word64(descriptor, 16));
        let function = file
            .symbols()
            .chain(file.dynamic_symbols())
            .find(|function| function.address() == entry && function.size() > 0 && function.name() == Ok(name))
            .ok_or_else(|| damaged(format!("kernel {name} has no function symbol with a size at {entry:#x}")))?;
        let code = section_bytes(&file, entry, function.size())
            .ok_or_else(|| damaged(format!("code of {name} lies outside the file")))?;
        let descriptor = Descriptor::read(descriptor, target)
            .map_err(|what| LoadError::Unsupported { kernel: name.to_owned(), what })?;
        kernels.push(RawKernel { name: name.to_owned(), descriptor, code });
    }
    if kernels.is_empty() {
        return Err(damaged("no kernel descriptor (symbol ending in .kd)".to_owned()));
    }
    Ok((target, kernels))
}

fn section_bytes<'d>(file: &ElfFile64<'d, Endianness>, address: u64, length: u64) -> Option<&'d [u8]> {
    file.sections().find_map(|section| section.data_range(address, length).ok().flatten())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// SGPRs that a set bit of `kernel_code_properties` puts before the ones after it, and what it is.
const USER_SGPRS: [(u32, u8, &str); 7] = [
    (0, 4, "private segment buffer"),
    (1, 2, "dispatch packet"),
    (2, 2, "queue"),
    (3, 2, "kernarg segment"),
    (4, 2, "dispatch id"),
    (5, 2, "flat scratch"),
    (6, 1, "private segment size"),
];

impl Descriptor {
    fn read(bytes: &[u8], target: Target) -> Result<Self, String> {
        let (group, private, kernarg_bytes) = (word(bytes, 0), word(bytes, 4), word(bytes, 8));
        let (rsrc1, rsrc2, properties, preload) =
            (word(bytes, 48), word(bytes, 52), word(bytes, 56) & 0xFFFF, word(bytes, 56) >> 16);
        if private != 0 {
            return Err(format!("{private} bytes of scratch"));
        }
        if group > 1 << 16 {
            return Err(format!("{group} bytes of group memory, more than a block can have"));
        }
        if preload != 0 {
            return Err("kernarg preload".to_owned());
        }
        let mut next = 0u8;
        let mut kernarg_sgpr = None;
        for (bit, count, what) in USER_SGPRS {
            if properties >> bit & 1 == 0 {
                continue;
            }
            match bit {
                // Present in every kernel of a target without architected scratch; nothing reads it without scratch.
                0 => {}
                3 => kernarg_sgpr = Some(next),
                _ => return Err(format!("the {what}")),
            }
            next += count;
        }
        if properties & 0x800 != 0 {
            return Err("a dynamic stack".to_owned());
        }
        let wave_size = if !target.generation.is_gfx9() && properties & 0x400 != 0 { 32 } else { 64 };
        let user_sgprs = (rsrc2 >> 1 & 31) as u8;
        if rsrc2 >> 11 & 3 != 0 {
            return Err("thread numbers in more than one dimension".to_owned());
        }
        let block_sgpr = (!target.generation.block_in_ttmp() && rsrc2 >> 7 & 1 != 0).then_some(user_sgprs);
        let (round32, denormals) = (rsrc1 >> 12 & 3, rsrc1 >> 16 & 3);
        let (round16, denormals16) = (rsrc1 >> 14 & 3, rsrc1 >> 18 & 3);
        if round32 != 0 || round16 != 0 {
            return Err("a rounding mode other than nearest even".to_owned());
        }
        if denormals16 != 3 {
            return Err("16-bit floats with flushed denormals".to_owned());
        }
        Ok(Descriptor {
            shared_bytes: group,
            kernarg_bytes,
            kernarg_sgpr,
            block_sgpr,
            wave_size,
            compute_unit_mode: target.generation.is_gfx9() || rsrc1 >> 29 & 1 == 0,
            denormals: Denormals { keep_inputs: denormals & 1 != 0, keep_outputs: denormals & 2 != 0 },
        })
    }
}
