//! Mutations of valid files, from a seed: what the fuzz driver and the hostile-input test share.
//!
//! The interesting faults of binary formats are wrong sizes, counts and offsets, so aligned fields
//! are set to extreme values more often than single bits are flipped.

#![allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "helpers of tests")]

/// A small generator (splitmix64): the same everywhere, no dependency.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }
}

/// Applies one to eight mutations; `other` is spliced in now and then.
pub(crate) fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(8) {
        if bytes.is_empty() {
            return;
        }
        // Half of the mutations hit the first 128 bytes, where the headers are.
        let span = if random.below(2) == 0 { bytes.len().min(128) } else { bytes.len() };
        let at = random.below(span);
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 | 3 => field(bytes, at, random),
            4 => bytes.truncate(at),
            5 => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            6 => {
                let end = (at + 1 + random.below(64)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            7 => {
                let from = random.below(other.len());
                let end = (from + random.below(512)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let end = (at + random.below(32)).min(bytes.len());
                bytes[at..end].fill(if random.below(2) == 0 { 0 } else { 0xff });
            }
        }
    }
}

/// Sets an aligned field of 2, 4 or 8 bytes to an extreme or slightly wrong value.
fn field(bytes: &mut [u8], at: usize, random: &mut Random) {
    let width = [2, 4, 8][random.below(3)];
    let at = at / width * width;
    let Some(place) = bytes.get_mut(at..at + width) else {
        return;
    };
    let mut old = [0u8; 8];
    old[..width].copy_from_slice(place);
    let old = u64::from_le_bytes(old);
    let new = match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX >> 1,
        3 => old.wrapping_add(random.next() % 9).wrapping_sub(4),
        4 => 1 << random.below(64),
        _ => random.next(),
    };
    place.copy_from_slice(&new.to_le_bytes()[..width]);
}
