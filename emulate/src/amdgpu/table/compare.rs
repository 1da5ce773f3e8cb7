//! Vector comparisons: `v_cmp[x]_<relation>_<type>`. Source: RDNA3 ISA document, "VOPC".

use super::vector::Vector;
use crate::amdgpu::float;
use crate::amdgpu::instruction::Lanes;
use crate::amdgpu::instruction::{FloatType, Width};

/// A comparison of lanes as a function that returns a bit per lane.
macro_rules! lanes {
    (|$a:ident, $b:ident| $value:expr) => {{
        fn run(a: &Lanes, b: &Lanes) -> u32 {
            a.iter().zip(b).rev().fold(0, |mask, (a, b)| {
                let ($a, $b) = (*a, *b);
                mask << 1 | u32::from($value)
            })
        }
        run as fn(&Lanes, &Lanes) -> u32
    }};
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// A 16-bit value, extended by its sign.
fn signed16(bits: u32) -> i32 {
    (bits << 16).cast_signed() >> 16
}

/// The comparison of a mnemonic.
pub(super) fn compare(mnemonic: &str) -> Option<Vector> {
    let (rest, sets_exec) = match mnemonic.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => (mnemonic.strip_prefix("v_cmp_")?, false),
    };
    if let Some(function) = wide(rest) {
        return Some(Vector::CompareDouble { function, sets_exec });
    }
    let (function, width, float) = word(rest)
        .map(|function| (function, Width::Word, FloatType::None))
        .or_else(|| half(rest).map(|function| (function, Width::Half, FloatType::None)))
        .or_else(|| single(rest).map(|function| (function, Width::Word, FloatType::Single)))?;
    Some(Vector::Compare { function, width, float, sets_exec })
}

fn word(name: &str) -> Option<fn(&Lanes, &Lanes) -> u32> {
    Some(match name {
        "eq_u32" | "eq_i32" => lanes!(|a, b| a == b),
        "ne_u32" | "ne_i32" => lanes!(|a, b| a != b),
        "lt_u32" => lanes!(|a, b| a < b),
        "le_u32" => lanes!(|a, b| a <= b),
        "gt_u32" => lanes!(|a, b| a > b),
        "ge_u32" => lanes!(|a, b| a >= b),
        "lt_i32" => lanes!(|a, b| a.cast_signed() < b.cast_signed()),
        "le_i32" => lanes!(|a, b| a.cast_signed() <= b.cast_signed()),
        "gt_i32" => lanes!(|a, b| a.cast_signed() > b.cast_signed()),
        "ge_i32" => lanes!(|a, b| a.cast_signed() >= b.cast_signed()),
        _ => return None,
    })
}

fn half(name: &str) -> Option<fn(&Lanes, &Lanes) -> u32> {
    Some(match name {
        "eq_u16" | "eq_i16" => lanes!(|a, b| a == b),
        "ne_u16" | "ne_i16" => lanes!(|a, b| a != b),
        "lt_u16" => lanes!(|a, b| a < b),
        "le_u16" => lanes!(|a, b| a <= b),
        "gt_u16" => lanes!(|a, b| a > b),
        "ge_u16" => lanes!(|a, b| a >= b),
        "lt_i16" => lanes!(|a, b| signed16(a) < signed16(b)),
        "le_i16" => lanes!(|a, b| signed16(a) <= signed16(b)),
        "gt_i16" => lanes!(|a, b| signed16(a) > signed16(b)),
        "ge_i16" => lanes!(|a, b| signed16(a) >= signed16(b)),
        _ => return None,
    })
}

/// `n` in a name negates: nlt is true for NaN.
fn single(name: &str) -> Option<fn(&Lanes, &Lanes) -> u32> {
    Some(match name {
        "eq_f32" => lanes!(|a, b| f(a) == f(b)),
        "lt_f32" => lanes!(|a, b| f(a) < f(b)),
        "le_f32" => lanes!(|a, b| f(a) <= f(b)),
        "gt_f32" => lanes!(|a, b| f(a) > f(b)),
        "ge_f32" => lanes!(|a, b| f(a) >= f(b)),
        "lg_f32" => lanes!(|a, b| f(a) < f(b) || f(a) > f(b)),
        "neq_f32" => lanes!(|a, b| f(a) != f(b)),
        "nlt_f32" => lanes!(|a, b| f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_ge)),
        "nle_f32" => lanes!(|a, b| f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_gt)),
        "ngt_f32" => lanes!(|a, b| f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_le)),
        "nge_f32" => lanes!(|a, b| f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_lt)),
        "o_f32" => lanes!(|a, b| !f(a).is_nan() && !f(b).is_nan()),
        "u_f32" => lanes!(|a, b| f(a).is_nan() || f(b).is_nan()),
        "class_f32" => lanes!(|a, b| float::class(a, b)),
        _ => return None,
    })
}

fn wide(name: &str) -> Option<fn(u64, u64) -> bool> {
    Some(match name {
        "eq_u64" | "eq_i64" => |a, b| a == b,
        "ne_u64" | "ne_i64" => |a, b| a != b,
        "lt_u64" => |a, b| a < b,
        "le_u64" => |a, b| a <= b,
        "gt_u64" => |a, b| a > b,
        "ge_u64" => |a, b| a >= b,
        "lt_i64" => |a, b| a.cast_signed() < b.cast_signed(),
        "le_i64" => |a, b| a.cast_signed() <= b.cast_signed(),
        "gt_i64" => |a, b| a.cast_signed() > b.cast_signed(),
        "ge_i64" => |a, b| a.cast_signed() >= b.cast_signed(),
        _ => return None,
    })
}
