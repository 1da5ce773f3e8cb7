//! The random numbers behind a plan: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom
//! Number Generators", OOPSLA 2014). Our own, because a seed that once failed must mean the same plan
//! with every later version of any library.

/// A stream of numbers that its seed determines.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next 32 bits.
    pub(crate) fn word(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.bits().to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    /// A number from 0 up to, not including, `end`; 0 if `end` is 0. The bias is below 2^-32.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        let product = u64::from(self.word()) * u64::from(end);
        u32::try_from(product >> 32).unwrap_or(0)
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// One of these, or `otherwise` if there is none.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        let index = self.below(u32::try_from(from.len()).unwrap_or(u32::MAX));
        from.get(index as usize).copied().unwrap_or(otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_sequence() {
        // The reference sequence of SplitMix64 for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn stays_below_the_end_and_reaches_all() {
        let mut random = Random::new(0);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick(&[], 7), 7);
    }
}
