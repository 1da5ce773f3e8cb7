//! Scalar ALU: mnemonic -> operation, on every family that has the mnemonic. 64-bit values in, the result's width
//! says what is kept. Source: RDNA3 and RDNA4 ISA documents, "SOP1", "SOP2", "SOPK", "SOPC".

use crate::amdgpu::instruction::Width::{self, Double, Word};

/// An operation without its operands.
pub(crate) enum Scalar {
    Unary {
        function: fn(u64) -> u64,
        width: Width,
        source: Width,
        sets_scc: bool,
    },
    Binary {
        function: fn(u64, u64, bool) -> (u64, bool),
        width: Width,
        sources: [Width; 2],
        sets_scc: bool,
    },
    Compare {
        function: fn(u64, u64) -> bool,
        width: Width,
    },
    SaveExec {
        function: fn(u64, u64) -> u64,
        width: Width,
    },
    /// Destination is the first source too; the second is the constant.
    WithConstant {
        function: fn(u64, u64, bool) -> (u64, bool),
        sets_scc: bool,
    },
}

fn low(value: u64) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

fn signed(value: u64) -> i32 {
    low(value).cast_signed()
}

/// A bitwise function whose SCC says that the result is not 0.
macro_rules! bitwise {
    ($width:ident, $a:ident, $b:ident, $value:expr) => {
        Scalar::Binary {
            function: |$a, $b, _| {
                let value: u64 = $value;
                (value, if matches!($width, Word) { low(value) != 0 } else { value != 0 })
            },
            width: $width,
            sources: [$width; 2],
            sets_scc: true,
        }
    };
}

/// A 32-bit operation with its own SCC.
macro_rules! binary {
    (|$a:ident, $b:ident, $scc:ident| $value:expr) => {
        Scalar::Binary { function: |$a, $b, $scc| $value, width: Word, sources: [Word; 2], sets_scc: true }
    };
}

/// An operation that leaves SCC alone.
macro_rules! silent {
    ($width:ident, |$a:ident, $b:ident| $value:expr) => {
        Scalar::Binary { function: |$a, $b, _| ($value, false), width: $width, sources: [$width; 2], sets_scc: false }
    };
}

macro_rules! shift64 {
    (|$a:ident, $b:ident| $value:expr) => {
        Scalar::Binary {
            function: |$a, $b, _| {
                let value: u64 = $value;
                (value, value != 0)
            },
            width: Double,
            sources: [Double, Word],
            sets_scc: true,
        }
    };
}

macro_rules! compare {
    ($width:ident, |$a:ident, $b:ident| $value:expr) => {
        Scalar::Compare { function: |$a, $b| $value, width: $width }
    };
}

fn carry_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u64::from(low(a)) + u64::from(low(b)) + u64::from(carry);
    (u64::from(low(sum)), sum >> 32 != 0)
}

fn borrow_subtract(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let difference = u64::from(low(a)).wrapping_sub(u64::from(low(b))).wrapping_sub(u64::from(borrow));
    (u64::from(low(difference)), difference >> 32 != 0)
}

fn signed_add(a: u64, b: u64, _: bool) -> (u64, bool) {
    let (sum, overflow) = signed(a).overflowing_add(signed(b));
    (u64::from(sum.cast_unsigned()), overflow)
}

fn bit_field(value: u64, control: u64, bits: u32) -> u64 {
    let (offset, count) = (low(control) & (bits - 1), low(control) >> 16 & 0x7F);
    let shifted = value >> offset;
    if count >= bits { shifted } else { shifted & ((1 << count) - 1) }
}

/// The operation of a mnemonic.
pub(crate) fn scalar(mnemonic: &str) -> Option<Scalar> {
    unary(mnemonic).or_else(|| binary(mnemonic)).or_else(|| compare(mnemonic)).or_else(|| with_exec(mnemonic))
}

fn unary(mnemonic: &str) -> Option<Scalar> {
    let plain = |function, width, source, sets_scc| Some(Scalar::Unary { function, width, source, sets_scc });
    match mnemonic {
        "s_mov_b32" => plain(|a| a, Word, Word, false),
        "s_mov_b64" => plain(|a| a, Double, Double, false),
        "s_movk_i32" => {
            plain(|a| u64::from((((a & 0xFFFF) as u16).cast_signed() as i32).cast_unsigned()), Word, Word, false)
        }
        "s_not_b32" => plain(|a| u64::from(!low(a)), Word, Word, true),
        "s_not_b64" => plain(|a| !a, Double, Double, true),
        "s_bcnt1_i32_b32" => plain(|a| u64::from(low(a).count_ones()), Word, Word, true),
        "s_bcnt1_i32_b64" => plain(|a| u64::from(a.count_ones()), Word, Double, true),
        "s_brev_b32" => plain(|a| u64::from(low(a).reverse_bits()), Word, Word, false),
        "s_ff1_i32_b32" | "s_ctz_i32_b32" => {
            plain(|a| if low(a) == 0 { 0xFFFF_FFFF } else { u64::from(low(a).trailing_zeros()) }, Word, Word, false)
        }
        "s_ff1_i32_b64" | "s_ctz_i32_b64" => {
            plain(|a| if a == 0 { 0xFFFF_FFFF } else { u64::from(a.trailing_zeros()) }, Word, Double, false)
        }
        "s_flbit_i32_b32" | "s_clz_i32_u32" => {
            plain(|a| if low(a) == 0 { 0xFFFF_FFFF } else { u64::from(low(a).leading_zeros()) }, Word, Word, false)
        }
        "s_sext_i32_i16" => {
            plain(|a| u64::from((((a & 0xFFFF) as u16).cast_signed() as i32).cast_unsigned()), Word, Word, false)
        }
        "s_abs_i32" => plain(|a| u64::from(signed(a).unsigned_abs()), Word, Word, true),
        _ => None,
    }
}

fn binary(mnemonic: &str) -> Option<Scalar> {
    Some(match mnemonic {
        "s_and_b32" => bitwise!(Word, a, b, a & b),
        "s_and_b64" => bitwise!(Double, a, b, a & b),
        "s_or_b32" => bitwise!(Word, a, b, a | b),
        "s_or_b64" => bitwise!(Double, a, b, a | b),
        "s_xor_b32" => bitwise!(Word, a, b, a ^ b),
        "s_xor_b64" => bitwise!(Double, a, b, a ^ b),
        "s_nand_b32" => bitwise!(Word, a, b, !(a & b)),
        "s_nand_b64" => bitwise!(Double, a, b, !(a & b)),
        "s_nor_b32" => bitwise!(Word, a, b, !(a | b)),
        "s_nor_b64" => bitwise!(Double, a, b, !(a | b)),
        "s_xnor_b32" => bitwise!(Word, a, b, !(a ^ b)),
        "s_xnor_b64" => bitwise!(Double, a, b, !(a ^ b)),
        "s_and_not1_b32" | "s_andn2_b32" => bitwise!(Word, a, b, a & !b),
        "s_and_not1_b64" | "s_andn2_b64" => bitwise!(Double, a, b, a & !b),
        "s_or_not1_b32" | "s_orn2_b32" => bitwise!(Word, a, b, a | !b),
        "s_or_not1_b64" | "s_orn2_b64" => bitwise!(Double, a, b, a | !b),
        "s_lshl_b32" => bitwise!(Word, a, b, u64::from(low(a) << (b & 31))),
        "s_lshr_b32" => bitwise!(Word, a, b, u64::from(low(a) >> (b & 31))),
        "s_ashr_i32" => bitwise!(Word, a, b, u64::from((signed(a) >> (b & 31)).cast_unsigned())),
        "s_lshl_b64" => shift64!(|a, b| a << (b & 63)),
        "s_lshr_b64" => shift64!(|a, b| a >> (b & 63)),
        "s_ashr_i64" => shift64!(|a, b| (a.cast_signed() >> (b & 63)).cast_unsigned()),
        "s_bfm_b32" => silent!(Word, |a, b| (((1u64 << (a & 31)) - 1) << (b & 31)) & 0xFFFF_FFFF),
        "s_bfe_u32" => bitwise!(Word, a, b, bit_field(a, b, 32)),
        "s_bfe_u64" => shift64!(|a, b| bit_field(a, b, 64)),
        "s_add_u32" | "s_add_co_u32" => binary!(|a, b, _scc| carry_add(a, b, false)),
        "s_addc_u32" | "s_add_co_ci_u32" => binary!(|a, b, scc| carry_add(a, b, scc)),
        "s_sub_u32" | "s_sub_co_u32" => binary!(|a, b, _scc| borrow_subtract(a, b, false)),
        "s_subb_u32" | "s_sub_co_ci_u32" => binary!(|a, b, scc| borrow_subtract(a, b, scc)),
        "s_add_i32" | "s_add_co_i32" => binary!(|a, b, scc| signed_add(a, b, scc)),
        "s_sub_i32" | "s_sub_co_i32" => binary!(|a, b, _scc| {
            let (difference, overflow) = signed(a).overflowing_sub(signed(b));
            (u64::from(difference.cast_unsigned()), overflow)
        }),
        "s_addk_i32" | "s_addk_co_i32" => Scalar::WithConstant { function: signed_add, sets_scc: true },
        // The destination's other bits stay.
        "s_bitset0_b32" => Scalar::WithConstant { function: |a, b, _| (a & !(1 << (b & 31)), false), sets_scc: false },
        "s_bitset1_b32" => Scalar::WithConstant { function: |a, b, _| (a | 1 << (b & 31), false), sets_scc: false },
        "s_mulk_i32" => Scalar::WithConstant {
            function: |a, b, _| (u64::from(low(a).wrapping_mul(low(b))), false),
            sets_scc: false,
        },
        "s_add_nc_u64" | "s_add_u64" => silent!(Double, |a, b| a.wrapping_add(b)),
        "s_sub_nc_u64" | "s_sub_u64" => silent!(Double, |a, b| a.wrapping_sub(b)),
        "s_mul_u64" => silent!(Double, |a, b| a.wrapping_mul(b)),
        "s_mul_i32" => silent!(Word, |a, b| u64::from(low(a).wrapping_mul(low(b)))),
        "s_mul_hi_u32" => silent!(Word, |a, b| (u64::from(low(a)) * u64::from(low(b))) >> 32),
        "s_mul_hi_i32" => silent!(Word, |a, b| ((i64::from(signed(a)) * i64::from(signed(b))) >> 32).cast_unsigned()),
        "s_min_u32" => binary!(|a, b, _scc| (a.min(b), a <= b)),
        "s_max_u32" => binary!(|a, b, _scc| (a.max(b), a >= b)),
        "s_min_i32" => binary!(|a, b, _scc| if signed(a) <= signed(b) { (a, true) } else { (b, false) }),
        "s_max_i32" => binary!(|a, b, _scc| if signed(a) >= signed(b) { (a, true) } else { (b, false) }),
        "s_lshl1_add_u32" => binary!(|a, b, _scc| shift_add(a, b, 1)),
        "s_lshl2_add_u32" => binary!(|a, b, _scc| shift_add(a, b, 2)),
        "s_lshl3_add_u32" => binary!(|a, b, _scc| shift_add(a, b, 3)),
        "s_lshl4_add_u32" => binary!(|a, b, _scc| shift_add(a, b, 4)),
        "s_pack_ll_b32_b16" => silent!(Word, |a, b| (a & 0xFFFF) | (b & 0xFFFF) << 16),
        "s_pack_lh_b32_b16" => silent!(Word, |a, b| (a & 0xFFFF) | (b & 0xFFFF_0000)),
        "s_pack_hh_b32_b16" => silent!(Word, |a, b| (a >> 16 & 0xFFFF) | (b & 0xFFFF_0000)),
        "s_cselect_b32" => Scalar::Binary {
            function: |a, b, scc| (if scc { a } else { b }, scc),
            width: Word,
            sources: [Word; 2],
            sets_scc: false,
        },
        "s_cselect_b64" => Scalar::Binary {
            function: |a, b, scc| (if scc { a } else { b }, scc),
            width: Double,
            sources: [Double; 2],
            sets_scc: false,
        },
        _ => return None,
    })
}

/// SCC is the carry out of the whole sum (RDNA3 ISA, "S_LSHL1_ADD_U32").
fn shift_add(a: u64, b: u64, shift: u32) -> (u64, bool) {
    let sum = (u64::from(low(a)) << shift) + u64::from(low(b));
    (u64::from(low(sum)), sum >> 32 != 0)
}

fn compare(mnemonic: &str) -> Option<Scalar> {
    Some(match mnemonic {
        "s_cmp_eq_u32" | "s_cmp_eq_i32" => compare!(Word, |a, b| a == b),
        "s_cmp_lg_u32" | "s_cmp_lg_i32" => compare!(Word, |a, b| a != b),
        "s_cmp_lt_u32" => compare!(Word, |a, b| a < b),
        "s_cmp_le_u32" => compare!(Word, |a, b| a <= b),
        "s_cmp_gt_u32" => compare!(Word, |a, b| a > b),
        "s_cmp_ge_u32" => compare!(Word, |a, b| a >= b),
        "s_cmp_lt_i32" => compare!(Word, |a, b| signed(a) < signed(b)),
        "s_cmp_le_i32" => compare!(Word, |a, b| signed(a) <= signed(b)),
        "s_cmp_gt_i32" => compare!(Word, |a, b| signed(a) > signed(b)),
        "s_cmp_ge_i32" => compare!(Word, |a, b| signed(a) >= signed(b)),
        "s_cmp_eq_u64" => compare!(Double, |a, b| a == b),
        "s_cmp_lg_u64" => compare!(Double, |a, b| a != b),
        "s_bitcmp0_b32" => compare!(Word, |a, b| a >> (b & 31) & 1 == 0),
        "s_bitcmp1_b32" => compare!(Word, |a, b| a >> (b & 31) & 1 == 1),
        _ => return compare_constant(mnemonic),
    })
}

/// gfx9 to gfx11 have 16-bit constants of their own: `s_cmpk_*`, printed already extended.
fn compare_constant(mnemonic: &str) -> Option<Scalar> {
    let rest = mnemonic.strip_prefix("s_cmpk_")?;
    compare(match rest {
        "eq_u32" | "eq_i32" => "s_cmp_eq_u32",
        "lg_u32" | "lg_i32" => "s_cmp_lg_u32",
        "lt_u32" => "s_cmp_lt_u32",
        "le_u32" => "s_cmp_le_u32",
        "gt_u32" => "s_cmp_gt_u32",
        "ge_u32" => "s_cmp_ge_u32",
        "lt_i32" => "s_cmp_lt_i32",
        "le_i32" => "s_cmp_le_i32",
        "gt_i32" => "s_cmp_gt_i32",
        "ge_i32" => "s_cmp_ge_i32",
        _ => return None,
    })
}

fn with_exec(mnemonic: &str) -> Option<Scalar> {
    let (name, width) = match mnemonic.strip_suffix("_saveexec_b32") {
        Some(name) => (name, Word),
        None => (mnemonic.strip_suffix("_saveexec_b64")?, Double),
    };
    let function: fn(u64, u64) -> u64 = match name {
        "s_and" => |source, exec| source & exec,
        "s_or" => |source, exec| source | exec,
        "s_xor" => |source, exec| source ^ exec,
        "s_and_not1" | "s_andn2" => |source, exec| source & !exec,
        "s_and_not0" | "s_andn1" => |source, exec| !source & exec,
        "s_or_not1" | "s_orn2" => |source, exec| source | !exec,
        "s_or_not0" | "s_orn1" => |source, exec| !source | exec,
        _ => return None,
    };
    Some(Scalar::SaveExec { function, width })
}
