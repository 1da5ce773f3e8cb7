//! The random numbers of a run. One generator, one stream: a seed replays a run exactly, on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014): any seed is a
//! good one, the state is a word. Own code because a replay command must mean the same run after a crate update.

/// Seeded generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0. The bias (below 2^-32 for the bounds used here) does not matter.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// True once in 2^`n` times on average.
    pub(crate) fn one_in_power(&mut self, n: u32) -> bool {
        self.next() & ((1 << n.min(63)) - 1) == 0
    }

    /// True once in `n` times on average; never for 0.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        n != 0 && self.below(n) == 0
    }

    /// One of the items of a list that is not empty.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T], default: T) -> T {
        usize::try_from(self.below(items.len() as u64)).ok().and_then(|i| items.get(i)).copied().unwrap_or(default)
    }
}
