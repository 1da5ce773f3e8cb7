//! `cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt"): between integers, between floats, and across. What
//! becomes of a NaN where the ISA is silent is what an H200 does: bf16 to f32 keeps its bits, 64-bit integers get 2^63.

use super::instruction::{Conversion, Rounding, Type};

/// Zeros above the width.
pub(super) fn truncate(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The low 64 bits.
pub(super) fn low64(value: i128) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = value.to_le_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The value of a two's complement number.
pub(super) fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (value << unused).cast_signed() >> unused
}

/// Converts a value; a packed result takes `a` in its upper half and `b` in its lower one.
pub(super) fn convert(conversion: &Conversion, a: u64, b: u64) -> u64 {
    let Conversion { to, from, rounding, saturate, width } = *conversion;
    if to.is_integer() {
        let value = if from.is_integer() {
            let value = if from.is_signed() {
                i128::from(signed(a, from.bits()))
            } else {
                i128::from(truncate(a, from.bits()))
            };
            if saturate { clamp(value, to) } else { value }
        } else {
            let single = to_single(from, a);
            if single.is_nan() && to.bits() == 64 { 1 << 63 } else { clamp(whole(rounding, f64::from(single)), to) }
        };
        let value = truncate(low64(value), to.bits());
        // A signed result fills its register with its sign.
        return if to.is_signed() { truncate(signed(value, to.bits()).cast_unsigned(), width) } else { value };
    }
    match to {
        Type::F16x2 => u64::from(half(a)) << 16 | u64::from(half(b)),
        Type::Bf16x2 => u64::from(brain(a)) << 16 | u64::from(brain(b)),
        Type::F16 => u64::from(half(a)),
        Type::Bf16 => u64::from(brain(a)),
        _ if from.is_integer() => u64::from(integer_to_single(from, a).to_bits()),
        _ => u64::from(to_single(from, a).to_bits()),
    }
}

fn integer_to_single(from: Type, value: u64) -> f32 {
    // Rust rounds to nearest even.
    if from.is_signed() { signed(value, from.bits()) as f32 } else { truncate(value, from.bits()) as f32 }
}

/// A float of any width as f32, exact.
pub(super) fn to_single(from: Type, value: u64) -> f32 {
    let low = (value & 0xFFFF) as u32;
    match from {
        Type::Bf16 => f32::from_bits(low << 16),
        Type::F16 => half_to_single(low),
        _ => f32::from_bits((value & 0xFFFF_FFFF) as u32),
    }
}

fn half_to_single(half: u32) -> f32 {
    let (sign, exponent, mantissa) = ((half & 0x8000) << 16, half >> 10 & 31, half & 0x3FF);
    let magnitude = match exponent {
        // mantissa * 2^-24
        0 => (mantissa as f32) * f32::from_bits(0x3380_0000),
        31 if mantissa != 0 => return f32::from_bits(0x7FFF_FFFF),
        31 => f32::INFINITY,
        _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// The upper bits of a value of `bits` with `dropped` fewer bits, to nearest even.
fn nearest(value: u32, dropped: u32) -> u32 {
    let (kept, half) = (value >> dropped, 1 << (dropped - 1));
    let rest = value & ((1 << dropped) - 1);
    kept + u32::from(rest > half || rest == half && kept & 1 == 1)
}

/// f32 to bf16; a NaN becomes the canonical one.
fn brain(value: u64) -> u16 {
    let bits = (value & 0xFFFF_FFFF) as u32;
    if f32::from_bits(bits).is_nan() { 0x7FFF } else { (nearest(bits, 16) & 0xFFFF) as u16 }
}

fn half(value: u64) -> u16 {
    to_half((value & 0xFFFF_FFFF) as u32)
}

/// f32 to f16.
pub(super) fn to_half(bits: u32) -> u16 {
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    let rounded = match magnitude {
        0x7F80_0001.. => return 0x7FFF,
        // From 65520 on, halfway to the next power of two, infinity.
        0x477F_F000.. => 0x7C00,
        // Normal: rebias the exponent by 112, then round; a carry goes into the exponent, rightly.
        0x3880_0000.. => nearest(magnitude - 0x3800_0000, 13),
        // Subnormal: a multiple of 2^-24 of the 24-bit significand. Below 2^-25 nothing is left.
        0x3300_0000.. => nearest(magnitude & 0x7F_FFFF | 0x80_0000, 126 - (magnitude >> 23)),
        _ => 0,
    };
    ((sign | rounded) & 0xFFFF) as u16
}

/// A float rounded to an integer, as large as any integer type needs.
#[allow(clippy::cast_possible_truncation, reason = "the cast saturates, and a NaN becomes 0: what cvt wants")]
fn whole(rounding: Rounding, value: f64) -> i128 {
    let rounded = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::TowardZero | Rounding::None => value.trunc(),
    };
    rounded as i128
}

/// The nearest value of an integer type.
fn clamp(value: i128, to: Type) -> i128 {
    let bits = to.bits();
    if to.is_signed() {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}
