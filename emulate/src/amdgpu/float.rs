//! Float arithmetic of the vector unit on raw bits, one lane at a time.
//!
//! IEEE 754 round to nearest even, as the loader demands of a kernel's mode. What IEEE leaves open follows the AMD
//! ISA documents: a NaN operand is returned quieted, the first one first; an invalid operation gives 0x7FC00000
//! (x86 gives it a sign). Denormal flushing is done around these functions (`execute/vector.rs`).

const QUIET: u32 = 0x0040_0000;
const DEFAULT_NAN: u32 = 0x7FC0_0000;

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn is_nan(bits: u32) -> bool {
    f(bits).is_nan()
}

fn is_signalling(bits: u32) -> bool {
    is_nan(bits) && bits & QUIET == 0
}

/// The result `value`, or the NaN that the operands call for.
fn with_nan(value: f32, operands: &[u32]) -> u32 {
    if !value.is_nan() {
        return value.to_bits();
    }
    operands.iter().copied().find(|bits| is_nan(*bits)).map_or(DEFAULT_NAN, |bits| bits | QUIET)
}

pub(super) fn add(a: u32, b: u32) -> u32 {
    with_nan(f(a) + f(b), &[a, b])
}

pub(super) fn subtract(a: u32, b: u32) -> u32 {
    with_nan(f(a) - f(b), &[a, b])
}

pub(super) fn multiply(a: u32, b: u32) -> u32 {
    with_nan(f(a) * f(b), &[a, b])
}

pub(super) fn fused(a: u32, b: u32, c: u32) -> u32 {
    with_nan(f(a).mul_add(f(b), f(c)), &[a, b, c])
}

/// `v_max_f32` in IEEE mode: a signalling NaN wins quieted, else the number wins over a NaN, and +0 over -0.
pub(super) fn maximum(a: u32, b: u32) -> u32 {
    choose(a, b, true, |a, b| a > b || (a == b && a.is_sign_positive()))
}

/// `v_min_f32`, as [`maximum`].
pub(super) fn minimum(a: u32, b: u32) -> u32 {
    choose(a, b, true, |a, b| a < b || (a == b && a.is_sign_negative()))
}

/// gfx12's `v_max_num_f32`: IEEE 754-2019 maximumNumber, where the number wins over any NaN.
pub(super) fn maximum_number(a: u32, b: u32) -> u32 {
    choose(a, b, false, |a, b| a > b || (a == b && a.is_sign_positive()))
}

/// gfx12's `v_min_num_f32`.
pub(super) fn minimum_number(a: u32, b: u32) -> u32 {
    choose(a, b, false, |a, b| a < b || (a == b && a.is_sign_negative()))
}

fn choose(a: u32, b: u32, signalling_wins: bool, first: fn(f32, f32) -> bool) -> u32 {
    if signalling_wins && (is_signalling(a) || is_signalling(b)) {
        return QUIET | if is_signalling(a) { a } else { b };
    }
    match (is_nan(a), is_nan(b)) {
        (true, true) => a | QUIET,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if first(f(a), f(b)) {
                a
            } else {
                b
            }
        }
    }
}

/// A denormal becomes a zero of its sign.
pub(super) fn flush(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Binary16 to binary32, exact.
pub(super) fn half_to_single(half: u32) -> u32 {
    let (sign, exponent, mantissa) = ((half & 0x8000) << 16, half >> 10 & 31, half & 0x3FF);
    match exponent {
        0 => {
            // A denormal half is mantissa * 2^-24, exact in binary32.
            let magnitude = f32::from_bits(0x3380_0000) * lossless(mantissa);
            magnitude.to_bits() | sign
        }
        31 => sign | 0x7F80_0000 | mantissa << 13 | if mantissa == 0 { 0 } else { QUIET },
        _ => sign | (exponent + 112) << 23 | mantissa << 13,
    }
}

/// Binary32 to binary16, to nearest even; overflow gives infinity.
pub(super) fn single_to_half(bits: u32) -> u32 {
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    if magnitude > 0x7F80_0000 {
        return sign | 0x7E00 | (magnitude >> 13 & 0x1FF);
    }
    if magnitude >= 0x477F_F000 {
        return sign | 0x7C00;
    }
    if magnitude >= 0x3880_0000 {
        let shifted = magnitude - 0x3800_0000;
        return sign | (shifted + 0xFFF + (shifted >> 13 & 1)) >> 13;
    }
    // Denormal result: round the magnitude as a multiple of 2^-24; adding 2^-1 puts the rounding at that bit.
    let rounded = (f(magnitude) + 0.5).to_bits();
    sign | (rounded - 0x3F00_0000)
}

/// Binary32 to bfloat16, to nearest even.
pub(super) fn single_to_bfloat(bits: u32) -> u32 {
    if bits & 0x7FFF_FFFF > 0x7F80_0000 {
        return bits >> 16 | 0x40;
    }
    (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
}

/// A small integer as a float.
fn lossless(value: u32) -> f32 {
    u16::try_from(value).map_or(0.0, f32::from)
}

pub(super) fn half_add(a: u32, b: u32) -> u32 {
    half_operation(a, b, |a, b| a + b)
}

pub(super) fn half_multiply(a: u32, b: u32) -> u32 {
    half_operation(a, b, |a, b| a * b)
}

/// A binary16 sum or product by way of binary32: 24 bits hold either before rounding (11 + 11 <= 24), and rounding
/// twice is innocuous for p = 24 >= 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
fn half_operation(a: u32, b: u32, operation: fn(f32, f32) -> f32) -> u32 {
    let nan = |bits: u32| bits & 0x7C00 == 0x7C00 && bits & 0x3FF != 0;
    for operand in [a, b] {
        if nan(operand) {
            return (operand & 0xFFFF) | 0x200;
        }
    }
    let result = operation(f(half_to_single(a)), f(half_to_single(b)));
    if result.is_nan() { 0x7E00 } else { single_to_half(result.to_bits()) }
}

/// 16-bit operations on both halves of a register.
pub(super) fn packed(a: u32, b: u32, operation: fn(u32, u32) -> u32) -> u32 {
    (operation(a & 0xFFFF, b & 0xFFFF) & 0xFFFF) | operation(a >> 16, b >> 16) << 16
}

/// `v_cmp_class_f32`: whether the value is in one of the classes of the mask (RDNA ISA, "V_CMP_CLASS_F32").
pub(super) fn class(bits: u32, mask: u32) -> bool {
    use std::num::FpCategory;
    let negative = bits >> 31 != 0;
    let class = match f(bits).classify() {
        FpCategory::Nan => u32::from(!is_signalling(bits)),
        FpCategory::Infinite => {
            if negative {
                2
            } else {
                9
            }
        }
        FpCategory::Normal => {
            if negative {
                3
            } else {
                8
            }
        }
        FpCategory::Subnormal => {
            if negative {
                4
            } else {
                7
            }
        }
        FpCategory::Zero => {
            if negative {
                5
            } else {
                6
            }
        }
    };
    mask >> class & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_through_single() {
        for half in 0..0x1_0000u32 {
            let nan = half & 0x7C00 == 0x7C00 && half & 0x3FF != 0;
            let expected = if nan { half | 0x200 } else { half };
            assert_eq!(single_to_half(half_to_single(half)), expected, "{half:#06x}");
        }
    }

    #[test]
    fn rounding_to_half_picks_the_nearest_and_ties_to_even() {
        // Between every two neighbours: just below the middle, the middle, just above it.
        for half in 0..0x7BFFu32 {
            let (low, high) = (f(half_to_single(half)), f(half_to_single(half + 1)));
            let middle = f32::midpoint(low, high);
            let even = if half & 1 == 0 { half } else { half + 1 };
            assert_eq!(single_to_half(middle.to_bits() - 1), half);
            assert_eq!(single_to_half(middle.to_bits()), even, "{half:#06x}");
            assert_eq!(single_to_half(middle.to_bits() + 1), half + 1);
        }
        assert_eq!(single_to_half(65519.996_f32.to_bits()), 0x7BFF);
        assert_eq!(single_to_half(65520.0_f32.to_bits()), 0x7C00);
    }

    #[test]
    fn nan_rules() {
        assert_eq!(add(f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits()), DEFAULT_NAN);
        assert_eq!(add(0x7F80_0001, 0x7FC0_0002), 0x7FC0_0001);
        assert_eq!(add(1, 0xFFFF_FFFF), 0xFFFF_FFFF);
        assert_eq!(maximum(0x7FC0_0000, 1.0_f32.to_bits()), 1.0_f32.to_bits());
        assert_eq!(maximum(0x7F80_0001, 1.0_f32.to_bits()), 0x7FC0_0001);
        assert_eq!(maximum((-0.0_f32).to_bits(), 0), 0);
        assert_eq!(minimum((-0.0_f32).to_bits(), 0), 0x8000_0000);
    }
}
