//! Vector ALU: mnemonic -> operation, on every family that has the mnemonic. A lane-wise operation is a row with the
//! widths of its operands and a function over a whole register, so that the compiler vectorises it.
//! Source: RDNA3, RDNA4 and CDNA3 ISA documents, "VOP1", "VOP2", "VOP3", "VOP3P", "VOPC", "VOPD".

use crate::amdgpu::float;
use crate::amdgpu::instruction::FloatType::{self, Half as F16, None as Bits, Single as F32};
use crate::amdgpu::instruction::Width::{self, Double, Half, Word};
use crate::amdgpu::instruction::{LaneFunction, Lanes};

/// An operation without its operands.
pub(crate) enum Vector {
    /// Lane-wise with a result of 16 or 32 bits.
    Map(MapRow),
    /// Lane-wise on up to three 64-bit (or, where said, 32-bit) sources, with a 64-bit result.
    MapDouble {
        function: fn(u64, u64, u64) -> u64,
        sources: &'static [Width],
    },
    PackedMove,
    Compare {
        function: fn(&Lanes, &Lanes) -> u32,
        width: Width,
        float: FloatType,
        sets_exec: bool,
    },
    CompareDouble {
        function: fn(u64, u64) -> bool,
        sets_exec: bool,
    },
    /// (a, b, carry) -> (result, carry); whether it takes a carry.
    Carry {
        function: fn(u32, u32, bool) -> (u32, bool),
        takes_carry: bool,
    },
    MultiplyAdd,
    Select(Width),
    MaskCount {
        high: bool,
    },
    ReadFirstLane,
    ReadLane,
    WriteLane,
    FusedMix,
}

/// A lane-wise operation.
pub(crate) struct MapRow {
    pub(crate) function: LaneFunction,
    pub(crate) result: Width,
    pub(crate) sources: &'static [Width],
    pub(crate) float: FloatType,
    /// Packed: two 16-bit operations on whole registers, with `op_sel`, `op_sel_hi` only in their default form.
    pub(crate) packed: bool,
}

macro_rules! lanes {
    (|$a:ident| $value:expr) => {{
        fn run(result: &mut Lanes, a: &Lanes) {
            for (result, a) in result.iter_mut().zip(a) {
                let $a = *a;
                *result = $value;
            }
        }
        LaneFunction::One(run)
    }};
    (|$a:ident, $b:ident| $value:expr) => {{
        fn run(result: &mut Lanes, a: &Lanes, b: &Lanes) {
            for ((result, a), b) in result.iter_mut().zip(a).zip(b) {
                let ($a, $b) = (*a, *b);
                *result = $value;
            }
        }
        LaneFunction::Two(run)
    }};
    (|$a:ident, $b:ident, $c:ident| $value:expr) => {{
        fn run(result: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes) {
            for (((result, a), b), c) in result.iter_mut().zip(a).zip(b).zip(c) {
                let ($a, $b, $c) = (*a, *b, *c);
                *result = $value;
            }
        }
        LaneFunction::Three(run)
    }};
}

macro_rules! row {
    ($float:ident, $result:ident, $sources:expr, $($closure:tt)*) => {
        Vector::Map(MapRow { function: lanes!($($closure)*), result: $result, sources: &$sources, float: $float, packed: false })
    };
}

macro_rules! packed {
    ($float:ident, |$a:ident, $b:ident| $value:expr) => {
        Vector::Map(MapRow {
            function: lanes!(|x, y| float::packed(x, y, |$a, $b| $value)),
            result: Word,
            sources: &[Word, Word],
            float: $float,
            packed: true,
        })
    };
}

/// The operation of a mnemonic (encoding suffix taken off).
pub(crate) fn vector(mnemonic: &str) -> Option<Vector> {
    integer(mnemonic)
        .or_else(|| integer16(mnemonic))
        .or_else(|| floating(mnemonic))
        .or_else(|| wide(mnemonic))
        .or_else(|| super::compare::compare(mnemonic))
}

fn signed(bits: u32) -> i32 {
    bits.cast_signed()
}

fn shift_mask(count: u32) -> u32 {
    if count & 31 == 0 { 0 } else { u32::MAX >> (32 - (count & 31)) }
}

fn integer(mnemonic: &str) -> Option<Vector> {
    Some(match mnemonic {
        "v_mov_b32" => row!(Bits, Word, [Word], |a| a),
        "v_not_b32" => row!(Bits, Word, [Word], |a| !a),
        "v_bfrev_b32" => row!(Bits, Word, [Word], |a| a.reverse_bits()),
        "v_ffbh_u32" | "v_clz_i32_u32" => {
            row!(Bits, Word, [Word], |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
        }
        "v_ffbl_b32" | "v_ctz_i32_b32" => {
            row!(Bits, Word, [Word], |a| if a == 0 { u32::MAX } else { a.trailing_zeros() })
        }
        "v_bcnt_u32_b32" => row!(Bits, Word, [Word, Word], |a, b| a.count_ones().wrapping_add(b)),
        "v_add_nc_u32" | "v_add_u32" => row!(Bits, Word, [Word, Word], |a, b| a.wrapping_add(b)),
        "v_sub_nc_u32" | "v_sub_u32" => row!(Bits, Word, [Word, Word], |a, b| a.wrapping_sub(b)),
        "v_subrev_nc_u32" | "v_subrev_u32" => row!(Bits, Word, [Word, Word], |a, b| b.wrapping_sub(a)),
        "v_and_b32" => row!(Bits, Word, [Word, Word], |a, b| a & b),
        "v_or_b32" => row!(Bits, Word, [Word, Word], |a, b| a | b),
        "v_xor_b32" => row!(Bits, Word, [Word, Word], |a, b| a ^ b),
        "v_xnor_b32" => row!(Bits, Word, [Word, Word], |a, b| !(a ^ b)),
        "v_lshlrev_b32" => row!(Bits, Word, [Word, Word], |a, b| b << (a & 31)),
        "v_lshrrev_b32" => row!(Bits, Word, [Word, Word], |a, b| b >> (a & 31)),
        "v_ashrrev_i32" => row!(Bits, Word, [Word, Word], |a, b| (signed(b) >> (a & 31)).cast_unsigned()),
        "v_min_u32" => row!(Bits, Word, [Word, Word], |a, b| a.min(b)),
        "v_max_u32" => row!(Bits, Word, [Word, Word], |a, b| a.max(b)),
        "v_min_i32" => row!(Bits, Word, [Word, Word], |a, b| signed(a).min(signed(b)).cast_unsigned()),
        "v_max_i32" => row!(Bits, Word, [Word, Word], |a, b| signed(a).max(signed(b)).cast_unsigned()),
        "v_mul_lo_u32" => row!(Bits, Word, [Word, Word], |a, b| a.wrapping_mul(b)),
        "v_mul_hi_u32" => row!(Bits, Word, [Word, Word], |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        "v_mul_u32_u24" => row!(Bits, Word, [Word, Word], |a, b| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF)),
        "v_mad_u32_u24" => {
            row!(Bits, Word, [Word, Word, Word], |a, b, c| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF).wrapping_add(c))
        }
        "v_bfm_b32" => row!(Bits, Word, [Word, Word], |a, b| shift_mask(a) << (b & 31)),
        "v_lshl_or_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a << (b & 31) | c),
        "v_lshl_add_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| (a << (b & 31)).wrapping_add(c)),
        "v_add_lshl_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a.wrapping_add(b) << (c & 31)),
        "v_and_or_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a & b | c),
        "v_or3_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a | b | c),
        "v_xor3_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a ^ b ^ c),
        "v_xad_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| (a ^ b).wrapping_add(c)),
        "v_add3_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        "v_bfi_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a & b | !a & c),
        "v_bfe_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a >> (b & 31) & shift_mask(c)),
        "v_bfe_i32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| bit_field_signed(a, b, c)),
        "v_alignbit_b32" => row!(Bits, Word, [Word, Word, Half], |a, b, c| (((u64::from(a) << 32 | u64::from(b))
            >> (c & 31))
            & 0xFFFF_FFFF) as u32),
        "v_alignbyte_b32" => row!(Bits, Word, [Word, Word, Half], |a, b, c| (((u64::from(a) << 32 | u64::from(b))
            >> (8 * (c & 3)))
            & 0xFFFF_FFFF) as u32),
        "v_perm_b32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| permute(a, b, c)),
        "v_min3_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a.min(b).min(c)),
        "v_max3_u32" => row!(Bits, Word, [Word, Word, Word], |a, b, c| a.max(b).max(c)),
        "v_mad_u64_u32" | "v_mad_co_u64_u32" => Vector::MultiplyAdd,
        "v_cndmask_b32" => Vector::Select(Word),
        "v_mbcnt_lo_u32_b32" => Vector::MaskCount { high: false },
        "v_mbcnt_hi_u32_b32" => Vector::MaskCount { high: true },
        "v_readfirstlane_b32" => Vector::ReadFirstLane,
        "v_readlane_b32" => Vector::ReadLane,
        "v_writelane_b32" => Vector::WriteLane,
        "v_add_co_u32" => carry(add_with_carry, false),
        "v_add_co_ci_u32" | "v_addc_co_u32" => carry(add_with_carry, true),
        "v_sub_co_u32" => carry(subtract_with_borrow, false),
        "v_sub_co_ci_u32" | "v_subb_co_u32" => carry(subtract_with_borrow, true),
        "v_subrev_co_u32" => carry(|a, b, c| subtract_with_borrow(b, a, c), false),
        "v_subrev_co_ci_u32" | "v_subbrev_co_u32" => carry(|a, b, c| subtract_with_borrow(b, a, c), true),
        _ => return None,
    })
}

fn carry(function: fn(u32, u32, bool) -> (u32, bool), takes_carry: bool) -> Vector {
    Vector::Carry { function, takes_carry }
}

fn add_with_carry(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u32::from(carry));
    (sum, first | second)
}

fn subtract_with_borrow(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u32::from(borrow));
    (difference, first | second)
}

fn bit_field_signed(value: u32, offset: u32, count: u32) -> u32 {
    let count = count & 31;
    if count == 0 {
        return 0;
    }
    let field = value >> (offset & 31) & shift_mask(count);
    (signed(field << (32 - count)) >> (32 - count)).cast_unsigned()
}

/// `v_perm_b32`: byte selectors 0 to 7 take from {a, b}, 8 to 11 repeat a sign bit, 12 is 0, above is 0xFF.
fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    let data = u64::from(a) << 32 | u64::from(b);
    let byte = |selector: u32| match selector & 0xFF {
        selector @ 0..=7 => (data >> (8 * selector) & 0xFF) as u32,
        selector @ 8..=11 => 0xFF * (data >> (16 * (selector - 8) + 15) & 1) as u32,
        12 => 0,
        _ => 0xFF,
    };
    byte(selectors) | byte(selectors >> 8) << 8 | byte(selectors >> 16) << 16 | byte(selectors >> 24) << 24
}

fn integer16(mnemonic: &str) -> Option<Vector> {
    Some(match mnemonic {
        "v_mov_b16" => row!(Bits, Half, [Half], |a| a),
        "v_not_b16" => row!(Bits, Half, [Half], |a| !a),
        "v_and_b16" => row!(Bits, Half, [Half, Half], |a, b| a & b),
        "v_or_b16" => row!(Bits, Half, [Half, Half], |a, b| a | b),
        "v_xor_b16" => row!(Bits, Half, [Half, Half], |a, b| a ^ b),
        "v_lshlrev_b16" => row!(Bits, Half, [Half, Half], |a, b| b << (a & 15)),
        "v_lshrrev_b16" => row!(Bits, Half, [Half, Half], |a, b| b >> (a & 15)),
        "v_add_nc_u16" | "v_add_u16" => row!(Bits, Half, [Half, Half], |a, b| a.wrapping_add(b)),
        "v_sub_nc_u16" | "v_sub_u16" => row!(Bits, Half, [Half, Half], |a, b| a.wrapping_sub(b)),
        "v_mul_lo_u16" => row!(Bits, Half, [Half, Half], |a, b| a.wrapping_mul(b)),
        "v_min_u16" => row!(Bits, Half, [Half, Half], |a, b| a.min(b)),
        "v_max_u16" => row!(Bits, Half, [Half, Half], |a, b| a.max(b)),
        "v_cvt_u32_u16" => row!(Bits, Word, [Half], |a| a),
        "v_cvt_i32_i16" => row!(Bits, Word, [Half], |a| ((a << 16).cast_signed() >> 16).cast_unsigned()),
        "v_cndmask_b16" => Vector::Select(Half),
        "v_pack_b32_f16" => row!(F16, Word, [Half, Half], |a, b| a | b << 16),
        "v_pk_add_u16" => packed!(Bits, |a, b| a.wrapping_add(b)),
        "v_pk_lshlrev_b16" => packed!(Bits, |a, b| b << (a & 15)),
        "v_pk_lshrrev_b16" => packed!(Bits, |a, b| b >> (a & 15)),
        _ => return None,
    })
}

fn floating(mnemonic: &str) -> Option<Vector> {
    Some(match mnemonic {
        "v_add_f32" => row!(F32, Word, [Word, Word], |a, b| float::add(a, b)),
        "v_sub_f32" => row!(F32, Word, [Word, Word], |a, b| float::subtract(a, b)),
        "v_subrev_f32" => row!(F32, Word, [Word, Word], |a, b| float::subtract(b, a)),
        "v_mul_f32" => row!(F32, Word, [Word, Word], |a, b| float::multiply(a, b)),
        "v_fma_f32" => row!(F32, Word, [Word, Word, Word], |a, b, c| float::fused(a, b, c)),
        "v_max_f32" => row!(F32, Word, [Word, Word], |a, b| float::maximum(a, b)),
        "v_min_f32" => row!(F32, Word, [Word, Word], |a, b| float::minimum(a, b)),
        "v_max_num_f32" => row!(F32, Word, [Word, Word], |a, b| float::maximum_number(a, b)),
        "v_min_num_f32" => row!(F32, Word, [Word, Word], |a, b| float::minimum_number(a, b)),
        "v_cvt_f32_f16" => row!(F16, Word, [Half], |a| float::half_to_single(a)),
        "v_cvt_f16_f32" => row!(F32, Half, [Word], |a| float::single_to_half(a)),
        "v_cvt_pk_bf16_f32" => {
            row!(F32, Word, [Word, Word], |a, b| float::single_to_bfloat(a) | float::single_to_bfloat(b) << 16)
        }
        "v_cvt_pk_f16_f32" => {
            row!(F32, Word, [Word, Word], |a, b| float::single_to_half(a) | float::single_to_half(b) << 16)
        }
        "v_add_f16" => row!(F16, Half, [Half, Half], |a, b| float::half_add(a, b)),
        "v_mul_f16" => row!(F16, Half, [Half, Half], |a, b| float::half_multiply(a, b)),
        "v_pk_add_f16" => packed!(F16, |a, b| float::half_add(a, b)),
        "v_pk_mul_f16" => packed!(F16, |a, b| float::half_multiply(a, b)),
        "v_fma_mix_f32" => Vector::FusedMix,
        _ => return None,
    })
}

fn wide(mnemonic: &str) -> Option<Vector> {
    type Row = (fn(u64, u64, u64) -> u64, &'static [Width]);
    let (function, sources): Row = match mnemonic {
        "v_lshlrev_b64" => (|a, b, _| b << (a & 63), &[Word, Double]),
        "v_lshrrev_b64" => (|a, b, _| b >> (a & 63), &[Word, Double]),
        "v_ashrrev_i64" => (|a, b, _| (b.cast_signed() >> (a & 63)).cast_unsigned(), &[Word, Double]),
        "v_lshl_add_u64" => (|a, b, c| (a << (b & 7)).wrapping_add(c), &[Double, Word, Double]),
        "v_mov_b64" => (|a, _, _| a, &[Double]),
        "v_pk_add_f32" => (|a, b, _| pairwise(a, b, float::add), &[Double, Double]),
        "v_pk_mul_f32" => (|a, b, _| pairwise(a, b, float::multiply), &[Double, Double]),
        "v_pk_mov_b32" => return Some(Vector::PackedMove),
        _ => return None,
    };
    Some(Vector::MapDouble { function, sources })
}

/// `v_pk_mov_b32`: the low word of the result is the half of the first source that the first bit of `op_sel` selects, the
/// high word that of the second source by the second bit (as LLVM copies register pairs with it).
pub(crate) fn packed_move(high: [bool; 2]) -> fn(u64, u64, u64) -> u64 {
    const LOW: u64 = 0xFFFF_FFFF;
    match high {
        [false, false] => |a, b, _| (a & LOW) | b << 32,
        [true, false] => |a, b, _| a >> 32 | b << 32,
        [false, true] => |a, b, _| (a & LOW) | (b & !LOW),
        [true, true] => |a, b, _| a >> 32 | (b & !LOW),
    }
}

fn pairwise(a: u64, b: u64, operation: fn(u32, u32) -> u32) -> u64 {
    let half = |shift: u32| u64::from(operation((a >> shift & 0xFFFF_FFFF) as u32, (b >> shift & 0xFFFF_FFFF) as u32));
    half(0) | half(32) << 32
}
