//! Compares memory on the device with what it must hold, so that results need not come to the host.

use xreduce_launch::cuda::{Arguments, Error, Function, Geometry, Memory, Queued, Ranks, Stream};

/// A kernel of ours; none that is under test.
const PTX: &[u8] = include_bytes!("compare.ptx");
const SYMBOL: &str = "compare";
/// Its blocks and threads: it waits for nobody, so it needs not all be resident.
const GEOMETRY: Geometry = Geometry { blocks: 16, threads: 256, dependent: false };

/// What must be in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Address of the first byte to be compared.
    pub(super) slot: u64,
    /// Bytes to be compared.
    pub(super) bytes: u32,
    /// Where the elements begin.
    pub(super) first: u32,
    /// Bytes of elements.
    pub(super) data: u32,
    /// Address of what the elements must be.
    pub(super) expected: u64,
    /// Which of a burst's calls it is, for the answer; below 65,536.
    pub(super) tag: u32,
}

/// A byte that is not as wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) tag: u32,
    pub(super) byte: u32,
    pub(super) saw: u8,
    pub(super) expected: u8,
}

/// One rank's.
#[derive(Debug)]
pub(super) struct Comparer {
    function: Function,
    result: Memory,
}

/// Bytes of `result`.
const RESULT: u64 = 8;
/// What `result` holds as long as nothing differs.
const EQUAL: u64 = u64::MAX;

impl Comparer {
    /// One for every rank.
    pub(super) fn all(ranks: &Ranks) -> Result<Vec<Self>, Error> {
        let modules = ranks.load("the check's own kernel", PTX)?;
        ranks
            .iter()
            .zip(&modules)
            .map(|(rank, module)| {
                let result = rank.context.allocate(RESULT)?;
                Ok(Self { function: module.function(SYMBOL)?, result })
            })
            .collect()
    }

    /// Queues forgetting what was found: before the first comparison, and after a difference.
    pub(super) fn forget(&self, stream: &Stream) -> Result<(), Error> {
        stream.fill(&self.result, 0, RESULT, 0xFF)
    }

    /// Queues a comparison; every byte outside the elements must be `poison`.
    pub(super) fn queue(&self, stream: &Stream, wanted: &Wanted, poison: u8) -> Result<(), Error> {
        let Wanted { slot, bytes, first, data, expected, tag } = *wanted;
        let arguments = Arguments::new().address(slot).address(expected).address(self.result.address());
        let arguments = arguments.word(bytes).word(first).word(data).word(poison.into()).word(tag);
        Queued { function: self.function.clone(), geometry: GEOMETRY, arguments }.launch(stream)
    }

    /// What the comparisons have found since, the earliest of them first.
    pub(super) fn difference(&self, stream: &Stream) -> Result<Option<Difference>, Error> {
        let mut bytes = [0; 8];
        stream.copy_out(&self.result, 0, &mut bytes)?;
        Ok(decode(u64::from_le_bytes(bytes)))
    }
}

fn decode(result: u64) -> Option<Difference> {
    let [expected, saw, a, b, c, d, tag_low, tag_high] = result.to_le_bytes();
    let tag = u32::from(u16::from_le_bytes([tag_low, tag_high]));
    (result != EQUAL).then(|| Difference { tag, byte: u32::from_le_bytes([a, b, c, d]), saw, expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_as_the_kernel_writes_it() {
        let key = 3_u64 << 48 | 0x0001_0203 << 16 | 0xAB << 8 | 0xCD;
        assert_eq!(decode(key), Some(Difference { tag: 3, byte: 0x0001_0203, saw: 0xAB, expected: 0xCD }));
        assert_eq!(decode(EQUAL), None);
    }
}
