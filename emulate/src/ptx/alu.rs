//! What each function computes from the bits of its sources (PTX ISA, "Instruction Set").

use super::convert::{low64, signed, to_half, to_single, truncate};
use super::float;
use super::instruction::{Compare, Function, Logic, Type};

/// The result of a function on sources of type `kind`; `shared` is the generic address of the block's shared memory.
pub(super) fn compute(function: Function, kind: Type, [a, b, c]: [u64; 3], shared: u64) -> u64 {
    match (function, kind) {
        (Function::Move, _) => a,
        (Function::Select, _) => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        (Function::FromGeneric, _) => a.wrapping_sub(shared),
        (Function::ToGeneric, _) => a.wrapping_add(shared),
        (_, Type::F32) => u64::from(single(function, low(a), low(b), low(c))),
        (_, Type::F32x2) => {
            let upper = single(function, high(a), high(b), high(c));
            u64::from(upper) << 32 | u64::from(single(function, low(a), low(b), low(c)))
        }
        // Exact or rounded in f32 first, which a sum of two f16 survives: 24 bits are more than twice 11 and two.
        (_, Type::F16) => half(function, a, b),
        (_, Type::F16x2) => half(function, a >> 16, b >> 16) << 16 | half(function, a, b),
        _ => integer(function, kind, a, b, c),
    }
}

fn half(function: Function, a: u64, b: u64) -> u64 {
    let [a, b] = [a, b].map(|bits| to_single(Type::F16, bits).to_bits());
    u64::from(to_half(single(function, a, b, 0)))
}

fn low(value: u64) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

fn single(function: Function, a: u32, b: u32, c: u32) -> u32 {
    match function {
        Function::Add => float::add(a, b),
        Function::Subtract => float::subtract(a, b),
        Function::Multiply => float::multiply(a, b),
        Function::Fused => float::fused(a, b, c),
        Function::Divide => float::divide(a, b),
        Function::Minimum => float::minimum(a, b),
        Function::Maximum => float::maximum(a, b),
        Function::Negate => float::negate(a),
        Function::Absolute => float::absolute(a),
        // The table of instructions has no others for floats.
        _ => 0,
    }
}

fn integer(function: Function, kind: Type, a: u64, b: u64, c: u64) -> u64 {
    let bits = kind.bits();
    let is_signed = kind.is_signed();
    let wide = |value: u64| if is_signed { i128::from(signed(value, bits)) } else { i128::from(value) };
    let product = || wide(a).wrapping_mul(wide(b));
    let cut = |value: i128, bits: u32| truncate(low64(value), bits);
    let value = match function {
        Function::Add => a.wrapping_add(b),
        Function::Subtract => a.wrapping_sub(b),
        Function::Multiply => a.wrapping_mul(b),
        Function::MultiplyHigh => cut(product() >> bits, bits),
        Function::MultiplyWide => return cut(product(), bits * 2),
        Function::MultiplyAdd => a.wrapping_mul(b).wrapping_add(c),
        Function::MultiplyHighAdd => cut(product() >> bits, bits).wrapping_add(c),
        Function::MultiplyWideAdd => return truncate(cut(product(), bits * 2).wrapping_add(c), bits * 2),
        // Division by zero is unspecified: all ones, and the dividend as the rest.
        Function::Divide => wide(a).checked_div(wide(b)).map_or(u64::MAX, |quotient| cut(quotient, bits)),
        Function::Remainder => wide(a).checked_rem(wide(b)).map_or(a, |rest| cut(rest, bits)),
        Function::Minimum => cut(wide(a).min(wide(b)), bits),
        Function::Maximum => cut(wide(a).max(wide(b)), bits),
        Function::Negate => a.wrapping_neg(),
        Function::Absolute => signed(a, bits).unsigned_abs(),
        Function::And => a & b,
        Function::Or => a | b,
        Function::Xor => a ^ b,
        Function::Not => !a,
        Function::LogicalNot => u64::from(a == 0),
        // Distances beyond the width are clamped to it.
        Function::ShiftLeft => u32::try_from(b).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0),
        Function::ShiftRight => cut(wide(a) >> b.min(64), bits),
        Function::FunnelLeft(clamp) => (b << 32 | a) << distance(c, clamp) >> 32,
        Function::FunnelRight(clamp) => (b << 32 | a) >> distance(c, clamp),
        Function::PopulationCount => return u64::from(a.count_ones()),
        Function::LeadingZeros => return u64::from(a.leading_zeros() - (64 - bits)),
        Function::BitReverse => a.reverse_bits() >> (64 - bits),
        Function::ExtractField => extract(a, b & 0xFF, c & 0xFF, bits, is_signed),
        Function::Permute => permute(a, b, c),
        Function::Lookup(table) => (0..8_u8).filter(|index| table >> index & 1 == 1).fold(0, |found, index| {
            let lines = [(a, 4), (b, 2), (c, 1)];
            found
                | lines.into_iter().fold(u64::MAX, |all, (line, bit)| all & if index & bit != 0 { line } else { !line })
        }),
        Function::Move | Function::Select | Function::Fused | Function::FromGeneric | Function::ToGeneric => a,
    };
    truncate(value, bits)
}

fn distance(by: u64, clamp: bool) -> u64 {
    if clamp { by.min(32) } else { by & 31 }
}

/// `len` bits from `pos` on; the sign of a signed field, or of what there is of it, fills the rest.
fn extract(a: u64, pos: u64, len: u64, bits: u32, is_signed: bool) -> u64 {
    let bit = |index: u64| a >> index & 1;
    let width = u64::from(bits);
    let sign = if is_signed && len > 0 { bit((pos + len - 1).min(width - 1)) } else { 0 };
    (0..width).fold(0, |field, i| field | (if i < len && pos + i < width { bit(pos + i) } else { sign }) << i)
}

/// Bytes of `b:a` picked by the nibbles of `selector`; its top bit spreads the byte's sign.
fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = b << 32 | a;
    (0..4).fold(0, |result, place| {
        let pick = selector >> (4 * place) & 0xF;
        let byte = bytes >> (8 * (pick & 7)) & 0xFF;
        let byte = if pick & 8 == 0 { byte } else { (byte >> 7) * 0xFF };
        result | byte << (8 * place)
    })
}

/// `setp`'s comparison.
pub(super) fn compare(compare: Compare, kind: Type, a: u64, b: u64) -> bool {
    if !kind.is_integer() {
        return float::compare(compare, to_single(kind, a), to_single(kind, b));
    }
    let order = if kind.is_signed() { signed(a, kind.bits()).cmp(&signed(b, kind.bits())) } else { a.cmp(&b) };
    match compare {
        Compare::Equal => order.is_eq(),
        Compare::NotEqual => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::LessEqual => order.is_le(),
        Compare::Greater => order.is_gt(),
        Compare::GreaterEqual => order.is_ge(),
        // For floats only.
        _ => false,
    }
}

pub(super) fn logic(logic: Logic, a: bool, b: bool) -> bool {
    match logic {
        Logic::And => a && b,
        Logic::Or => a || b,
        Logic::Xor => a != b,
    }
}
