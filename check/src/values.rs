//! Input elements that tell right from wrong: random ones whose sum depends on the order, and those
//! that kernels get wrong (signed zeros, NaNs, infinities, subnormals, the sentinel's own bits).
//!
//! Elements are kept as their bits, so that the checker's own arithmetic cannot change a NaN.

use serde::Serialize;
use xreduce_contract::Element;
use xreduce_contract::reference;

use crate::random::Random;

/// What kind of elements a call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Finite, of very different sizes and both signs: another order gives other bits.
    Order,
    /// Any bits at all.
    Bits,
    /// The special ones, in random mixture.
    Special,
    /// The sentinel in every word.
    Sentinel,
    /// Negative zero in every element.
    NegativeZero,
}

impl Values {
    /// All kinds, the usual one several times.
    pub(crate) const DRAWN: &'static [Self] = &[
        Self::Order,
        Self::Order,
        Self::Order,
        Self::Bits,
        Self::Bits,
        Self::Special,
        Self::Special,
        Self::Sentinel,
        Self::NegativeZero,
    ];
}

/// Bits of f32: both zeros, ones, infinities, NaNs (the sentinel and what replaces it among them),
/// the least and largest subnormal, the least and largest normal, neighbours of the sentinel.
const SPECIAL_F32: &[u32] = &[
    0x0000_0000,
    0x8000_0000,
    0x3F80_0000,
    0xBF80_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFC0_0000,
    0xFFFF_FFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFE,
    0x7F80_0001,
    0x0000_0001,
    0x8000_0001,
    0x007F_FFFF,
    0x0080_0000,
    0x7F7F_FFFF,
    0xFF7F_FFFF,
];

/// `count` elements as bytes, in memory order.
pub(crate) fn generate(element: Element, values: Values, count: usize, random: &mut Random) -> Vec<u8> {
    match element {
        Element::F32 => (0..count)
            .flat_map(|_| {
                let bits = match values {
                    // Sign and mantissa at random, exponent within 2^±12 of 1.
                    Values::Order => random.word() & 0x807F_FFFF | (115 + random.below(25)) << 23,
                    Values::Bits => random.word(),
                    Values::Special => random.pick(SPECIAL_F32, 0),
                    Values::Sentinel => 0xFFFF_FFFF,
                    Values::NegativeZero => 0x8000_0000,
                };
                bits.to_le_bytes()
            })
            .collect(),
    }
}

/// What every rank's `out` must hold, given every rank's `in`, all as bytes.
pub(crate) fn sum(element: Element, inputs: &[Vec<u8>]) -> Vec<u8> {
    match element {
        Element::F32 => {
            let inputs: Vec<Vec<f32>> = inputs.iter().map(|input| words(input).map(f32::from_bits).collect()).collect();
            let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
            reference::sum_f32(&slices).into_iter().flat_map(|sum| sum.to_bits().to_le_bytes()).collect()
        }
    }
}

/// The first element in which two results differ: its index and both, as bits. NaNs are equal.
pub(crate) fn first_difference(element: Element, saw: &[u8], expected: &[u8]) -> Option<(usize, u32, u32)> {
    match element {
        Element::F32 => words(saw)
            .zip(words(expected))
            .enumerate()
            .find(|(_, (saw, expected))| !reference::same_f32(f32::from_bits(*saw), f32::from_bits(*expected)))
            .map(|(index, (saw, expected))| (index, saw, expected)),
    }
}

/// An element as a person reads it: its value and its bits.
pub(crate) fn show(element: Element, bits: u32) -> String {
    match element {
        Element::F32 => format!("{:e} ({bits:#010x})", f32::from_bits(bits)),
    }
}

/// The 32-bit words of memory.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_order_is_seen() {
        let mut random = Random::new(1);
        let inputs: Vec<Vec<u8>> = (0..3).map(|_| generate(Element::F32, Values::Order, 64, &mut random)).collect();
        let right = sum(Element::F32, &inputs);
        let reversed: Vec<Vec<u8>> = inputs.iter().rev().cloned().collect();
        assert!(first_difference(Element::F32, &sum(Element::F32, &reversed), &right).is_some());
        assert_eq!(first_difference(Element::F32, &right, &right), None);
    }

    #[test]
    fn nans_are_equal_and_zeros_are_not() {
        let difference =
            |saw: u32, expected: u32| first_difference(Element::F32, &saw.to_le_bytes(), &expected.to_le_bytes());
        assert_eq!(difference(0x7FC0_0000, 0xFFFF_FFFF), None);
        assert_eq!(difference(0, 0x8000_0000), Some((0, 0, 0x8000_0000)));
    }

    #[test]
    fn every_kind_of_value_has_its_bits() {
        let mut random = Random::new(2);
        let mut of = |values| generate(Element::F32, values, 200, &mut random);
        assert!(words(&of(Values::Sentinel)).all(|bits| bits == u32::MAX));
        assert!(words(&of(Values::NegativeZero)).all(|bits| bits == 0x8000_0000));
        assert!(words(&of(Values::Order)).all(|bits| f32::from_bits(bits).is_normal()));
        let special: Vec<u32> = words(&of(Values::Special)).collect();
        assert!(SPECIAL_F32.iter().all(|bits| special.contains(bits)));
    }
}
