//! One line of AMDGPU assembly: what memory it accesses, what else it is, where it goes.
//!
//! Sources: the ISA documents of GCN5, CDNA3 and RDNA2 to RDNA4 (chapters SMEM, MUBUF, FLAT, LDS, image, SOPP) and LLVM,
//! "Syntax of AMDGPU Instruction Modifiers". Names are matched by their parts, `<unit>_<operation>_<type>`, because each
//! generation spells the types anew (`dwordx4`, `b128`) under the same scheme. Cross-lane instructions of the LDS unit
//! access no memory. Whether waits for the ALU are needed is the hardware's affair: they count as other instructions.

use super::Line;
use crate::code::{Access, Flow, Instruction, Kind, Role};

/// Reads one line; `index` finds the instruction at an offset.
pub(super) fn read(line: &Line, index: &dyn Fn(u64) -> Option<usize>) -> Instruction {
    let (mnemonic, operands) = line.text.split_once(char::is_whitespace).unwrap_or((&line.text, ""));
    let flow = flow(mnemonic, operands, line, index);
    let accesses = accesses(mnemonic, operands);
    Instruction {
        at: line.offset,
        role: if accesses.is_empty() { role(mnemonic) } else { Role::Other },
        accesses,
        flow,
    }
}

fn flow(mnemonic: &str, operands: &str, line: &Line, index: &dyn Fn(u64) -> Option<usize>) -> Flow {
    match mnemonic {
        "s_endpgm" | "s_endpgm_saved" | "s_endpgm_ordered_ps_done" => Flow::End,
        "s_setpc_b64" | "s_rfe_b64" | "s_cbranch_join" => Flow::Unknown { falls: false },
        "s_cbranch_g_fork" => Flow::Unknown { falls: true },
        _ if mnemonic == "s_branch"
            || mnemonic.starts_with("s_cbranch")
            || mnemonic.starts_with("s_subvector_loop") =>
        {
            let falls = mnemonic != "s_branch";
            // A signed 16-bit number of words from the next instruction on, after a register in some forms.
            let words = operands.rsplit(',').next().and_then(|last| number(last.trim())).map(u64::cast_signed);
            let target = words.and_then(|words| {
                let words =
                    i64::from(i16::try_from(words).or_else(|_| u16::try_from(words).map(u16::cast_signed)).ok()?);
                index((line.offset + line.length).checked_add_signed(4 * words)?)
            });
            target.map_or(Flow::Unknown { falls }, |target| Flow::To { targets: vec![target], falls })
        }
        _ => Flow::Next,
    }
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix('-') {
        Some(positive) => number(positive).map(|value| value.cast_signed().wrapping_neg().cast_unsigned()),
        None => match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        },
    }
}

fn role(mnemonic: &str) -> Role {
    match mnemonic {
        // Hazards of the ALU, not waits for memory.
        "s_wait_alu" | "s_waitcnt_depctr" => Role::Other,
        "s_barrier" | "s_barrier_wait" => Role::Barrier,
        "s_sleep" | "s_sleep_var" => Role::Sleep,
        "s_swappc_b64" | "s_call_b64" => Role::Call,
        "s_setpc_b64" | "s_rfe_b64" | "s_branch" => Role::Branch,
        "s_dcache_inv" | "s_dcache_wb" | "s_dcache_inv_vol" | "s_gl1_inv" | "global_wb" | "global_inv"
        | "global_wbinv" => Role::Fence,
        _ if mnemonic.starts_with("s_wait") => Role::Wait,
        _ if mnemonic.starts_with("s_cbranch") || mnemonic.starts_with("s_subvector_loop") => Role::Branch,
        _ if is_cache_operation(mnemonic) => Role::Fence,
        _ => Role::Other,
    }
}

/// `buffer_wbl2`, `buffer_inv`, `buffer_gl0_inv`, `buffer_wbinvl1_vol` and their like.
fn is_cache_operation(mnemonic: &str) -> bool {
    mnemonic.strip_prefix("buffer_").is_some_and(|rest| rest.starts_with("wb") || rest.contains("inv"))
}

/// Units that access memory, by the first part of the mnemonic, with the address space that people call it.
const UNITS: [(&str, &str); 10] = [
    ("global_", "global"),
    ("flat_", "flat"),
    ("scratch_", "scratch"),
    ("buffer_", "buffer"),
    ("tbuffer_", "buffer"),
    ("image_", "image"),
    ("ds_", "lds"),
    ("s_buffer_", "scalar"),
    ("s_scratch_", "scratch"),
    ("s_", "scalar"),
];

fn accesses(mnemonic: &str, operands: &str) -> Vec<Access> {
    let name = mnemonic.strip_suffix("_e32").or_else(|| mnemonic.strip_suffix("_e64")).unwrap_or(mnemonic);
    let Some((space, rest)) = UNITS.iter().find_map(|(unit, space)| Some((*space, name.strip_prefix(unit)?))) else {
        return Vec::new();
    };
    let kind = if space == "lds" { lds(rest) } else { memory(rest, name.starts_with("s_")) };
    let Some((kind, bytes)) = kind else { return Vec::new() };
    let bits = bits(operands);
    // Straight to LDS: `global_load_lds_dwordx4`, `buffer_load_dword ... lds`, `global_load_async_to_lds_b128`.
    let to_lds = kind == Kind::Load && space != "lds" && (rest.contains("_lds") || bits.iter().any(|bit| bit == "lds"));
    let from_lds = kind == Kind::Store && rest.contains("_from_lds");
    let mut accesses = vec![Access { kind, space, bytes, bits }];
    if to_lds {
        accesses.push(Access { kind: Kind::Store, space: "lds", bytes, bits: Vec::new() });
    } else if from_lds {
        accesses.push(Access { kind: Kind::Load, space: "lds", bytes, bits: Vec::new() });
    }
    accesses
}

/// The operation after the unit: `load_dwordx4`, `store_b8`, `atomic_add_u64`.
fn memory(rest: &str, scalar: bool) -> Option<(Kind, Option<u64>)> {
    if let Some(what) = rest.strip_prefix("load_") {
        return Some((Kind::Load, width(what)));
    }
    if let Some(what) = rest.strip_prefix("store_") {
        return Some((Kind::Store, width(what)));
    }
    if let Some(what) = rest.strip_prefix("atomic_") {
        return Some((Kind::Atomic, Some(atomic_width(what))));
    }
    // Scalar instructions have no others, and `s_sample` is none.
    let samples =
        !scalar && ["sample", "gather4", "get_lod", "bvh", "msaa_load"].iter().any(|one| rest.starts_with(one));
    samples.then_some((Kind::Load, None))
}

/// LDS spells old and new: `read_b64`, `load_b64`, `read2st64_b32`, `load_2addr_stride64_b32`, `add_rtn_u32`.
fn lds(rest: &str) -> Option<(Kind, Option<u64>)> {
    for (word, kind) in [("read", Kind::Load), ("load", Kind::Load), ("write", Kind::Store), ("store", Kind::Store)] {
        if let Some(what) = rest.strip_prefix(word) {
            let twice = what.starts_with('2') || what.starts_with("_2addr");
            return Some((kind, width(what).map(|bytes| if twice { 2 * bytes } else { bytes })));
        }
    }
    const ATOMICS: [&str; 24] = [
        "add",
        "sub",
        "rsub",
        "inc",
        "dec",
        "min",
        "max",
        "umin",
        "umax",
        "and",
        "or",
        "xor",
        "mskor",
        "wrxchg",
        "wrxchg2",
        "storexchg",
        "cmpst",
        "cmpstore",
        "pk",
        "append",
        "consume",
        "cond",
        "wrap",
        "condxchg32",
    ];
    let first = rest.split('_').next().unwrap_or(rest);
    ATOMICS.contains(&first).then(|| {
        let twice = if rest.starts_with("wrxchg2") || rest.contains("_2addr") { 2 } else { 1 };
        (Kind::Atomic, Some(twice * atomic_width(rest)))
    })
}

/// Bytes of a loaded or stored type: of the widest part that is one (`d16_hi_b16`, `short_d16`, `b64_tr_b16`).
fn width(what: &str) -> Option<u64> {
    // `format_d16_xyzw`: halves.
    if let Some(format) = what.strip_prefix("format_") {
        let (half, channels) = format.strip_prefix("d16_").map_or((false, format), |rest| (true, rest));
        let channels = channels.strip_prefix("hi_").unwrap_or(channels);
        let count = u64::try_from(channels.len()).ok().filter(|count| (1..=4).contains(count))?;
        return channels.chars().all(|c| "xyzw".contains(c)).then_some(count * if half { 2 } else { 4 });
    }
    let part = |part: &str| {
        if let Some(count) = part.strip_prefix("dword") {
            return match count {
                "" => Some(4),
                _ => count.strip_prefix('x').and_then(|count| count.parse::<u64>().ok()).map(|count| 4 * count),
            };
        }
        match part {
            "ubyte" | "sbyte" | "byte" => Some(1),
            "ushort" | "sshort" | "short" => Some(2),
            _ => {
                let bits: u64 = part.strip_prefix(['b', 'u', 'i', 'f'])?.parse().ok()?;
                (bits.is_multiple_of(8) && bits > 0).then_some(bits / 8)
            }
        }
    };
    what.split('_').filter_map(part).max()
}

/// 8 for `_x2` and 64-bit types, else 4: packed halves are 4 bytes too. `cmpswap` moves one value.
fn atomic_width(what: &str) -> u64 {
    let wide = what.split('_').any(|part| matches!(part, "x2" | "b64" | "u64" | "i64" | "f64"));
    if wide { 8 } else { 4 }
}

/// Modifiers that say how caches and other devices take part, as written.
fn bits(operands: &str) -> Vec<String> {
    let is_bit = |word: &&str| {
        matches!(*word, "glc" | "slc" | "dlc" | "sc0" | "sc1" | "nt" | "nv" | "lds" | "gds" | "scc")
            || word.starts_with("scope:")
            || word.starts_with("th:")
    };
    operands.split_whitespace().filter(is_bit).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(Kind, &'static str, Option<u64>, String)> {
        let line = Line { offset: 8, length: 4, text: text.to_owned() };
        let access = read(&line, &|_| None).accesses.into_iter().next()?;
        Some((access.kind, access.space, access.bytes, access.bits.join(" ")))
    }

    #[test]
    fn accesses_of_every_generation() {
        use Kind::{Atomic, Load, Store};
        for (text, kind, space, bytes, bits) in [
            ("global_load_dwordx4 v[0:3], v[4:5], off glc slc", Load, "global", Some(16), "glc slc"),
            ("global_store_dwordx4 v[4:5], v[0:3], off sc0 sc1", Store, "global", Some(16), "sc0 sc1"),
            ("global_load_b128 v[7:10], v[22:23], off scope:SCOPE_SYS", Load, "global", Some(16), "scope:SCOPE_SYS"),
            ("global_load_d16_hi_b16 v1, v[2:3], off", Load, "global", Some(2), ""),
            ("global_load_short_d16 v1, v[2:3], off", Load, "global", Some(2), ""),
            ("global_load_ubyte v1, v[2:3], off offset:4", Load, "global", Some(1), ""),
            ("global_load_tr_b128 v[0:3], v[4:5], off", Load, "global", Some(16), ""),
            ("global_atomic_cmpswap v1, v0, v[2:3], s[0:1] glc", Atomic, "global", Some(4), "glc"),
            ("global_atomic_add_x2 v0, v[2:3], s[0:1]", Atomic, "global", Some(8), ""),
            ("global_atomic_pk_add_bf16 v[0:1], v2, off", Atomic, "global", Some(4), ""),
            (
                "global_atomic_cmpswap_b64 v[1:2], v0, v[2:5], s[0:1] th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
                Atomic,
                "global",
                Some(8),
                "th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            ),
            ("flat_load_dword v1, v[2:3]", Load, "flat", Some(4), ""),
            ("scratch_store_b64 off, v[0:1], s32 offset:8", Store, "scratch", Some(8), ""),
            ("buffer_load_format_xyz v[0:2], off, s[4:7], 0", Load, "buffer", Some(12), ""),
            ("tbuffer_store_format_d16_xyzw v[0:1], off, s[4:7], 0", Store, "buffer", Some(8), ""),
            ("buffer_store_byte v0, off, s[4:7], 0", Store, "buffer", Some(1), ""),
            ("s_load_dwordx8 s[4:11], s[0:1], 0x0", Load, "scalar", Some(32), ""),
            ("s_load_b96 s[4:6], s[0:1], 0x0", Load, "scalar", Some(12), ""),
            ("s_buffer_load_u16 s4, s[0:3], 0x0", Load, "scalar", Some(2), ""),
            ("ds_read2_b64 v[0:3], v4 offset1:1", Load, "lds", Some(16), ""),
            ("ds_load_2addr_stride64_b32 v[0:1], v4 offset1:1", Load, "lds", Some(8), ""),
            ("ds_read_b64_tr_b16 v[0:1], v2", Load, "lds", Some(8), ""),
            ("ds_store_b16_d16_hi v0, v1", Store, "lds", Some(2), ""),
            ("ds_add_rtn_u64 v[0:1], v2, v[3:4]", Atomic, "lds", Some(8), ""),
            ("ds_cmpstore_rtn_b32 v0, v1, v2, v3", Atomic, "lds", Some(4), ""),
            ("image_sample_lz v[0:3], v[4:5], s[0:7], s[8:11]", Load, "image", None, ""),
        ] {
            assert_eq!(first(text), Some((kind, space, bytes, bits.to_owned())), "{text}");
        }
        for text in [
            "ds_bpermute_b32 v0, v1, v2",
            "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)",
            "ds_nop",
            "buffer_wbl2 sc0 sc1",
            "buffer_gl0_inv",
            "global_wb scope:SCOPE_SYS",
            "s_loadless s0",
            "v_add_u32_e32 v0, v1, v2",
            "",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }

    #[test]
    fn loads_that_bypass_the_registers_access_twice() {
        for text in ["global_load_lds_dwordx4 v[0:1], off", "buffer_load_dwordx4 v0, s[0:3], 0 offen lds"] {
            let accesses = accesses(text.split_once(' ').unwrap().0, text);
            let kinds: Vec<_> = accesses.iter().map(|access| (access.kind, access.space, access.bytes)).collect();
            assert_eq!(kinds[1], (Kind::Store, "lds", Some(16)), "{text}");
        }
    }

    #[test]
    fn roles() {
        for (text, expected) in [
            ("s_waitcnt vmcnt(0)", Role::Wait),
            ("s_waitcnt_vscnt null, 0x0", Role::Wait),
            ("s_wait_loadcnt 0x0", Role::Wait),
            ("s_wait_alu depctr_sa_sdst(0)", Role::Other),
            ("s_delay_alu instid0(VALU_DEP_1)", Role::Other),
            ("s_barrier", Role::Barrier),
            ("s_barrier_wait 0xffff", Role::Barrier),
            ("s_sleep 1", Role::Sleep),
            ("buffer_wbl2 sc0 sc1", Role::Fence),
            ("buffer_inv sc0 sc1", Role::Fence),
            ("buffer_gl1_inv", Role::Fence),
            ("buffer_wbinvl1_vol", Role::Fence),
            ("global_inv scope:SCOPE_SYS", Role::Fence),
            ("s_cbranch_execz 3", Role::Branch),
            ("s_swappc_b64 s[30:31], s[0:1]", Role::Call),
            ("v_new_thing v0", Role::Other),
        ] {
            let line = Line { offset: 0, length: 4, text: text.to_owned() };
            assert_eq!(read(&line, &|_| None).role, expected, "{text}");
        }
    }

    #[test]
    fn branches() {
        let line = |text: &str| Line { offset: 0x40, length: 4, text: text.to_owned() };
        let index = |offset: u64| usize::try_from(offset).ok();
        let to = |target, falls| Flow::To { targets: vec![target], falls };
        assert_eq!(read(&line("s_branch 65520"), &index).flow, to(0x44 - 64, false));
        assert_eq!(read(&line("s_branch 0xfff0"), &index).flow, to(0x44 - 64, false));
        assert_eq!(read(&line("s_cbranch_scc0 2"), &index).flow, to(0x4c, true));
        assert_eq!(read(&line("s_cbranch_scc0 32768"), &index).flow, Flow::Unknown { falls: true }, "before the start");
        assert_eq!(read(&line("s_branch somewhere"), &index).flow, Flow::Unknown { falls: false });
        assert_eq!(read(&line("s_setpc_b64 s[30:31]"), &index).flow, Flow::Unknown { falls: false });
        assert_eq!(read(&line("s_endpgm"), &index).flow, Flow::End);
    }
}
