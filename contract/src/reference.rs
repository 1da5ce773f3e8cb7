//! The sum a call must give, bit for bit (contract, rule 7): the yardstick of every execution.
//!
//! Elements are kept as their bits, in the low end of a `u32`, so that no arithmetic of the host's changes a NaN.

use half::{bf16, f16};

use crate::kernel::{Element, SumOrder};

/// Sums one element of every rank, `contributions[r]` being rank r's bits: in f32, in the declared order, the accumulator
/// starting as the first operand, rounded once to nearest even. No contributions give 0.
#[must_use]
pub fn sum(element: Element, order: SumOrder, contributions: &[u32]) -> u32 {
    let mut partial: Vec<f32> = contributions.iter().map(|bits| widen(element, *bits)).collect();
    match order {
        SumOrder::RankOrder => partial = partial.into_iter().reduce(|sum, value| sum + value).into_iter().collect(),
        SumOrder::Pairwise => {
            let pairs = partial.len().checked_ilog2().map_or(0, |log| 1 << log);
            let extra = partial.split_off(pairs);
            partial.iter_mut().zip(extra).for_each(|(partial, extra)| *partial += extra);
            while partial.len() > 1 {
                let pairs =
                    partial.chunks(2).filter_map(|pair| pair.iter().copied().reduce(|left, right| left + right));
                partial = pairs.collect();
            }
        }
    }
    partial.first().map_or(0, |sum| round(element, *sum))
}

/// The value of an element.
#[must_use]
pub fn widen(element: Element, bits: u32) -> f32 {
    match element {
        Element::F32 => f32::from_bits(bits),
        Element::F16 => f16::from_bits(low_half(bits)).to_f32(),
        Element::Bf16 => bf16::from_bits(low_half(bits)).to_f32(),
    }
}

/// The bits of the element nearest to a value, ties to even.
#[must_use]
pub fn round(element: Element, value: f32) -> u32 {
    match element {
        Element::F32 => value.to_bits(),
        Element::F16 => u32::from(f16::from_f32(value).to_bits()),
        Element::Bf16 => u32::from(bf16::from_f32(value).to_bits()),
    }
}

/// Whether a result is the expected one: equal bits, or both NaN (payloads are unspecified).
#[must_use]
pub fn same(element: Element, saw: u32, expected: u32) -> bool {
    saw == expected || (widen(element, saw).is_nan() && widen(element, expected).is_nan())
}

fn low_half(bits: u32) -> u16 {
    u16::try_from(bits & 0xFFFF).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_sum(order: SumOrder, values: &[f32]) -> f32 {
        let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        f32::from_bits(sum(Element::F32, order, &bits))
    }

    #[test]
    fn keeps_the_sign_of_zero_and_the_order() {
        assert_eq!(f32_sum(SumOrder::RankOrder, &[-0.0, -0.0]).to_bits(), (-0.0f32).to_bits());
        let (big, one) = (1.0e8f32, 1.0);
        assert_eq!(f32_sum(SumOrder::RankOrder, &[big, one, -big]), (big + one) - big);
        assert_eq!(f32_sum(SumOrder::Pairwise, &[big, one, -big]), (big - big) + one);
        let five = [1.0e8f32, 3.0, 5.0, -7.0, 1.5e8];
        let [a, b, c, d, e] = five;
        assert_eq!(f32_sum(SumOrder::Pairwise, &five), ((a + e) + b) + (c + d));
        assert_eq!(sum(Element::F32, SumOrder::Pairwise, &[]), 0);
        assert!(same(Element::F32, f32::NAN.to_bits(), (-f32::NAN).to_bits()) && !same(Element::F32, 0, 1 << 31));
    }

    #[test]
    fn rounds_once_to_nearest_even() {
        // 2048 + 1 is a tie in f16; 2048 + 1 + 1 is not, if nothing is rounded on the way.
        let f16s = |values: &[f32]| {
            let bits: Vec<u32> = values.iter().map(|value| round(Element::F16, *value)).collect();
            widen(Element::F16, sum(Element::F16, SumOrder::RankOrder, &bits))
        };
        assert_eq!([f16s(&[2048.0, 1.0]), f16s(&[2048.0, 1.0, 1.0])], [2048.0, 2050.0]);
        assert_eq!(round(Element::Bf16, f32::from_bits(0x3F80_8000)), 0x3F80);
        assert_eq!(round(Element::Bf16, f32::from_bits(0x3F81_8000)), 0x3F82);
        assert!(widen(Element::Bf16, round(Element::Bf16, f32::NAN)).is_nan());
    }
}
