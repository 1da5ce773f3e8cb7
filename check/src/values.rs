//! Input elements that tell right from wrong: random ones whose sum depends on the order, and those
//! that kernels get wrong (signed zeros, NaNs, infinities, subnormals, the sentinel's own bits).
//!
//! Elements are kept as their bits, so that the checker's own arithmetic cannot change a NaN.

use serde::Serialize;
use xreduce_contract::{Element, Kernel, reference};

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

/// The same of f16, and ties of its rounding: 2048 with 1, 3.
const SPECIAL_F16: &[u32] = &[
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0xFFFF, 0x7FFF, 0xFFFE, 0x7C01, 0x0001, 0x8001,
    0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x6800, 0x4200,
];

/// The same of bf16, with ties: 256 with 1, 3.
const SPECIAL_BF16: &[u32] = &[
    0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0xFFFF, 0x7FFF, 0xFFFE, 0x7F81, 0x0001, 0x8001,
    0x007F, 0x0080, 0x7F7F, 0xFF7F, 0x4380, 0x4040,
];

/// Bits of an element whose sum shows the order of addition: another order gives other bits.
fn order(element: Element, random: &mut Random) -> u32 {
    match element {
        // Sign and mantissa at random, exponent within 2^±12 of 1.
        Element::F32 => random.word() & 0x807F_FFFF | (115 + random.below(25)) << 23,
        // A sum of few such elements is exact in f32, but not if a large one comes between that another cancels.
        Element::F16 if random.once_in(2) => random.word() & 0x8000 | 0x7800,
        Element::F16 => random.word() & 0x83FF | (1 + random.below(8)) << 10,
        Element::Bf16 if random.once_in(2) => random.word() & 0x8000 | 0x4580,
        Element::Bf16 => random.word() & 0x807F | (107 + random.below(12)) << 7,
    }
}

/// `count` elements as bytes, in memory order.
pub(crate) fn generate(element: Element, values: Values, count: usize, random: &mut Random) -> Vec<u8> {
    let special = match element {
        Element::F32 => SPECIAL_F32,
        Element::F16 => SPECIAL_F16,
        Element::Bf16 => SPECIAL_BF16,
    };
    let mut bytes = Vec::with_capacity(count * element.bytes() as usize);
    for _ in 0..count {
        let bits = match values {
            Values::Order => order(element, random),
            Values::Bits => random.word(),
            Values::Special => random.pick(special, 0),
            Values::Sentinel => 0xFFFF_FFFF,
            Values::NegativeZero => 1 << (element.bytes() * 8 - 1),
        };
        push(element, bits, &mut bytes);
    }
    bytes
}

/// What every rank's `out` must hold, given every rank's `in`, all as bytes.
pub(crate) fn sum(kernel: &Kernel, inputs: &[Vec<u8>]) -> Vec<u8> {
    let element = kernel.element;
    let mut inputs: Vec<_> = inputs.iter().map(|input| elements(element, input)).collect();
    let mut sums = Vec::new();
    loop {
        let contributions: Vec<u32> = inputs.iter_mut().filter_map(Iterator::next).collect();
        if contributions.is_empty() {
            return sums;
        }
        push(element, reference::sum(element, kernel.algorithm.sum_order(), &contributions), &mut sums);
    }
}

/// The first element in which two results differ: its index and both, as bits. NaNs are equal.
pub(crate) fn first_difference(element: Element, saw: &[u8], expected: &[u8]) -> Option<(usize, u32, u32)> {
    elements(element, saw)
        .zip(elements(element, expected))
        .enumerate()
        .find(|(_, (saw, expected))| !reference::same(element, *saw, *expected))
        .map(|(index, (saw, expected))| (index, saw, expected))
}

/// An element as a person reads it: its value and its bits.
pub(crate) fn show(element: Element, bits: u32) -> String {
    let digits = 2 + 2 * element.bytes() as usize;
    format!("{:e} ({bits:#0digits$x})", reference::widen(element, bits))
}

/// The elements of memory, as bits.
pub(crate) fn elements(element: Element, bytes: &[u8]) -> Box<dyn Iterator<Item = u32> + '_> {
    match element {
        Element::F32 => Box::new(bytes.as_chunks::<4>().0.iter().map(|bits| u32::from_le_bytes(*bits))),
        Element::F16 | Element::Bf16 => {
            Box::new(bytes.as_chunks::<2>().0.iter().map(|bits| u32::from(u16::from_le_bytes(*bits))))
        }
    }
}

/// Appends the low bits, as many as an element has, in memory order.
fn push(element: Element, bits: u32, bytes: &mut Vec<u8>) {
    bytes.extend(bits.to_le_bytes().into_iter().take(element.bytes() as usize));
}

#[cfg(test)]
mod tests {
    use xreduce_contract::{Algorithm, Wire, World};

    use super::*;

    const ALL: &[Element] = Element::ALL;

    fn kernel(element: Element) -> Kernel {
        let world = World::try_from(3).unwrap();
        Kernel { algorithm: Algorithm::OneShotPush, wire: Wire::Ll, element, world }
    }

    #[test]
    fn another_order_is_seen() {
        for element in ALL {
            let mut random = Random::new(1);
            let inputs: Vec<Vec<u8>> = (0..3).map(|_| generate(*element, Values::Order, 256, &mut random)).collect();
            let right = sum(&kernel(*element), &inputs);
            let reversed: Vec<Vec<u8>> = inputs.iter().rev().cloned().collect();
            assert!(first_difference(*element, &sum(&kernel(*element), &reversed), &right).is_some(), "{element}");
            assert_eq!(first_difference(*element, &right, &right), None);
        }
    }

    #[test]
    fn nans_are_equal_and_zeros_are_not() {
        let difference =
            |saw: u32, expected: u32| first_difference(Element::F32, &saw.to_le_bytes(), &expected.to_le_bytes());
        assert_eq!(difference(0x7FC0_0000, 0xFFFF_FFFF), None);
        assert_eq!(difference(0, 0x8000_0000), Some((0, 0, 0x8000_0000)));
        assert_eq!(show(Element::F16, 0x3C00), "1e0 (0x3c00)");
        assert_eq!(show(Element::F32, 0x8000_0000), "-0e0 (0x80000000)");
    }

    #[test]
    fn every_kind_of_value_has_its_bits() {
        for element in ALL {
            let mut random = Random::new(2);
            let mut of = |values| elements(*element, &generate(*element, values, 400, &mut random)).collect::<Vec<_>>();
            let ones = if *element == Element::F32 { u32::MAX } else { 0xFFFF };
            assert!(of(Values::Sentinel).iter().all(|bits| *bits == ones));
            assert!(of(Values::NegativeZero).iter().all(|bits| reference::widen(*element, *bits).to_bits() == 1 << 31));
            assert!(of(Values::Order).iter().all(|bits| reference::widen(*element, *bits).is_normal()));
            let special = of(Values::Special);
            let all = match element {
                Element::F32 => SPECIAL_F32,
                Element::F16 => SPECIAL_F16,
                Element::Bf16 => SPECIAL_BF16,
            };
            assert!(all.iter().all(|bits| special.contains(bits)));
        }
    }
}
