//! Vector and scalar memory instructions: mnemonic -> what moves per lane. gfx9 and gfx10 say `dword`, gfx11 and
//! gfx12 `b32`. Source: the ISA documents, "SMEM", "FLAT, GLOBAL" and "LDS".

use crate::amdgpu::instruction::{AtomicFunction, Format};
use crate::amdgpu::text::Part;

/// An access without its operands.
pub(crate) enum Memory {
    Load(Format),
    Store(Format),
    Atomic {
        function: AtomicFunction,
        words: u8,
        compares: bool,
    },
    /// Number of registers.
    ScalarLoad(u8),
    /// Group memory, one register.
    SharedLoad,
    SharedStore,
}

const BYTE: Format = Format::Small { bytes: 1, signed: false };
const SIGNED_BYTE: Format = Format::Small { bytes: 1, signed: true };
const SHORT: Format = Format::Small { bytes: 2, signed: false };
const SIGNED_SHORT: Format = Format::Small { bytes: 2, signed: true };

/// The access of a mnemonic.
pub(crate) fn memory(mnemonic: &str) -> Option<Memory> {
    if let Some(name) = mnemonic.strip_prefix("global_load_") {
        return load(name).map(Memory::Load);
    }
    if let Some(name) = mnemonic.strip_prefix("global_store_") {
        return store(name).map(Memory::Store);
    }
    if let Some(name) = mnemonic.strip_prefix("global_atomic_") {
        return atomic(name);
    }
    match mnemonic {
        "ds_load_b32" | "ds_read_b32" => return Some(Memory::SharedLoad),
        "ds_store_b32" | "ds_write_b32" => return Some(Memory::SharedStore),
        _ => {}
    }
    Some(Memory::ScalarLoad(match mnemonic.strip_prefix("s_load_")? {
        "b32" | "dword" => 1,
        "b64" | "dwordx2" => 2,
        "b96" => 3,
        "b128" | "dwordx4" => 4,
        "b256" | "dwordx8" => 8,
        "b512" | "dwordx16" => 16,
        _ => return None,
    }))
}

fn words(name: &str) -> Option<Format> {
    Some(Format::Words(match name {
        "b32" | "dword" => 1,
        "b64" | "dwordx2" => 2,
        "b96" | "dwordx3" => 3,
        "b128" | "dwordx4" => 4,
        _ => return None,
    }))
}

fn load(name: &str) -> Option<Format> {
    Some(match name {
        "u8" | "ubyte" => BYTE,
        "i8" | "sbyte" => SIGNED_BYTE,
        "u16" | "ushort" => SHORT,
        "i16" | "sshort" => SIGNED_SHORT,
        "d16_b16" | "short_d16" => Format::HalfRegister(Part::Low),
        "d16_hi_b16" | "short_d16_hi" => Format::HalfRegister(Part::High),
        _ => return words(name),
    })
}

fn store(name: &str) -> Option<Format> {
    Some(match name {
        "b8" | "byte" => BYTE,
        "b16" | "short" => SHORT,
        "d16_hi_b16" | "short_d16_hi" => Format::HalfRegister(Part::High),
        _ => return words(name),
    })
}

fn atomic(name: &str) -> Option<Memory> {
    let (function, words, compares): (AtomicFunction, u8, bool) = match name {
        "add_u32" | "add" => (|old, value, _| old.wrapping_add(value), 1, false),
        "add_u64" | "add_x2" => (|old, value, _| old.wrapping_add(value), 2, false),
        "sub_u32" | "sub" => (|old, value, _| old.wrapping_sub(value), 1, false),
        "and_b32" | "and" => (|old, value, _| old & value, 1, false),
        "or_b32" | "or" => (|old, value, _| old | value, 1, false),
        "xor_b32" | "xor" => (|old, value, _| old ^ value, 1, false),
        "min_u32" | "umin" => (|old, value, _| old.min(value), 1, false),
        "max_u32" | "umax" => (|old, value, _| old.max(value), 1, false),
        // Wraps to 0 at the operand (RDNA3 ISA, "GLOBAL_ATOMIC_INC_U32").
        "inc_u32" | "inc" => (|old, value, _| if old >= value { 0 } else { old + 1 }, 1, false),
        "swap_b32" | "swap" => (|_, value, _| value, 1, false),
        "swap_b64" | "swap_x2" => (|_, value, _| value, 2, false),
        "cmpswap_b32" | "cmpswap" => (|old, value, expected| if old == expected { value } else { old }, 1, true),
        "cmpswap_b64" | "cmpswap_x2" => (|old, value, expected| if old == expected { value } else { old }, 2, true),
        _ => return None,
    };
    Some(Memory::Atomic { function, words, compares })
}
