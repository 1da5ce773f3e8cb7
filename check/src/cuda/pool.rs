//! Elements that stay on the device: every call takes a window of one long row per rank, whose sums are known once
//! and for all, since a sum depends on its own elements alone.

use std::collections::HashMap;

use xreduce_contract::{Element, Kernel};
use xreduce_launch::cuda::{Error, Memory, Ranks};

use crate::random::Random;
use crate::values::{self, Values};

/// Elements of one kind in a row.
const STRETCH: usize = 1024;

/// A row of elements per rank, and their sums.
#[derive(Debug)]
pub(super) struct Pool {
    element: Element,
    /// By rank: what was written, for a look whether it is still there, and where.
    inputs: Vec<(Vec<u8>, Memory)>,
    /// By kernel, then by rank.
    sums: HashMap<String, Vec<Memory>>,
    elements: u32,
}

impl Pool {
    /// Draws `elements` elements per rank and sums them as each of `kernels`, all of one element and world, does.
    /// No sum is a NaN: the contract leaves the payload of those open, and the device compares bytes.
    pub(super) fn draw(
        ranks: &Ranks,
        element: Element,
        kernels: &[Kernel],
        elements: u32,
        random: &mut Random,
    ) -> Result<Self, Error> {
        let mut inputs = Vec::new();
        for (rank, place) in (0..).zip(ranks.iter()) {
            // The ranks' rows begin at different alignments.
            let mut row = values::generate(element, Values::Order, rank, random);
            while row.len() < (rank + elements as usize) * element.bytes() as usize {
                let kind = if random.once_in(8) { Values::NegativeZero } else { Values::Order };
                row.extend(values::generate(element, kind, STRETCH, random));
            }
            let memory = place.context.allocate(row.len() as u64)?;
            place.stream.copy_in(&memory, 0, &row)?;
            inputs.push((row, memory));
        }
        let mut pool = Self { element, inputs, sums: HashMap::new(), elements };
        let contributions: Vec<Vec<u8>> =
            (0..).zip(&pool.inputs).map(|(rank, (row, _))| pool.window(rank, row)).collect();
        for kernel in kernels {
            let sum = values::sum(kernel, &contributions);
            let mut copies = Vec::new();
            for place in ranks.iter() {
                let memory = place.context.allocate(sum.len() as u64)?;
                place.stream.copy_in(&memory, 0, &sum)?;
                copies.push(memory);
            }
            pool.sums.insert(kernel.symbol(), copies);
        }
        Ok(pool)
    }

    fn window(&self, rank: usize, row: &[u8]) -> Vec<u8> {
        let size = self.element.bytes() as usize;
        row.get(rank * size..(rank + self.elements as usize) * size).unwrap_or(&[]).to_vec()
    }

    /// Elements of each rank.
    pub(super) fn elements(&self) -> u32 {
        self.elements
    }

    /// Where a rank's element `index` is: the memory and the byte in it.
    pub(super) fn input(&self, rank: u32, index: u32) -> Result<(&Memory, u64), Error> {
        let found = self.inputs.get(rank as usize).map(|(_, memory)| memory);
        let memory = found.ok_or_else(|| Error::Argument(format!("there is no rank {rank}")))?;
        Ok((memory, (u64::from(rank) + u64::from(index)) * u64::from(self.element.bytes())))
    }

    /// What each rank contributes to element `index`.
    pub(super) fn contributions(&self, index: u32) -> Vec<Vec<u8>> {
        let size = self.element.bytes() as usize;
        let of_rank = |(rank, (row, _)): (usize, &(Vec<u8>, Memory))| {
            let start = (rank + index as usize) * size;
            row.get(start..start + size).unwrap_or(&[]).to_vec()
        };
        self.inputs.iter().enumerate().map(of_rank).collect()
    }

    /// The address of the sums from element `index` on, as `kernel` gives them, in memory of `rank`'s device.
    pub(super) fn sum(&self, kernel: &Kernel, rank: u32, index: u32) -> Result<u64, Error> {
        let found = self.sums.get(&kernel.symbol()).and_then(|copies| copies.get(rank as usize));
        let memory = found.ok_or_else(|| Error::Argument(format!("no sums of {} on rank {rank}", kernel.symbol())))?;
        memory.at(u64::from(index) * u64::from(self.element.bytes()), 0)
    }

    /// The first byte of any rank's elements that is no longer what was written: rank, byte, saw, expected.
    pub(super) fn changed(&self, ranks: &Ranks) -> Result<Option<(u32, usize, u8, u8)>, Error> {
        for (rank, (place, (row, memory))) in (0..).zip(ranks.iter().zip(&self.inputs)) {
            let mut saw = vec![0; row.len()];
            place.stream.copy_out(memory, 0, &mut saw)?;
            let other = saw.iter().zip(row).enumerate().find(|(_, (saw, wrote))| saw != wrote);
            if let Some((byte, (saw, wrote))) = other {
                return Ok(Some((rank, byte, *saw, *wrote)));
            }
        }
        Ok(None)
    }
}
