//! Float arithmetic on raw bits (PTX ISA, "Floating Point Instructions"): IEEE 754, to nearest even, subnormals kept. A
//! NaN result is the one that the ISA calls canonical.

use super::instruction::Compare;

const NAN: u32 = 0x7FFF_FFFF;

fn result(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

pub(super) fn add(a: u32, b: u32) -> u32 {
    result(f(a) + f(b))
}

pub(super) fn subtract(a: u32, b: u32) -> u32 {
    result(f(a) - f(b))
}

pub(super) fn multiply(a: u32, b: u32) -> u32 {
    result(f(a) * f(b))
}

pub(super) fn fused(a: u32, b: u32, c: u32) -> u32 {
    result(f(a).mul_add(f(b), f(c)))
}

pub(super) fn divide(a: u32, b: u32) -> u32 {
    result(f(a) / f(b))
}

pub(super) fn negate(a: u32) -> u32 {
    result(-f(a))
}

pub(super) fn absolute(a: u32) -> u32 {
    result(f(a).abs())
}

/// A number wins over a NaN; -0 is less than +0.
pub(super) fn minimum(a: u32, b: u32) -> u32 {
    choose(a, b, |a, b| a < b || (a == b && a.is_sign_negative()))
}

pub(super) fn maximum(a: u32, b: u32) -> u32 {
    choose(a, b, |a, b| a > b || (a == b && a.is_sign_positive()))
}

fn choose(a: u32, b: u32, first: fn(f32, f32) -> bool) -> u32 {
    match (f(a).is_nan(), f(b).is_nan()) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) if first(f(a), f(b)) => a,
        (false, false) => b,
    }
}

/// Whether the comparison holds.
pub(super) fn compare(compare: Compare, a: f32, b: f32) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match compare {
        Compare::Equal => a == b,
        Compare::NotEqual => !unordered && a != b,
        Compare::Less => a < b,
        Compare::LessEqual => a <= b,
        Compare::Greater => a > b,
        Compare::GreaterEqual => a >= b,
        Compare::EqualUnordered => unordered || a == b,
        Compare::NotEqualUnordered => unordered || a != b,
        Compare::LessUnordered => unordered || a < b,
        Compare::LessEqualUnordered => unordered || a <= b,
        Compare::GreaterUnordered => unordered || a > b,
        Compare::GreaterEqualUnordered => unordered || a >= b,
        Compare::Numbers => !unordered,
        Compare::NotNumbers => unordered,
    }
}
