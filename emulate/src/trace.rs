//! The last memory operations of a thread (a wave on AMD), kept for the report of a failure.
//!
//! A thread that polls would fill any list with one instruction, so a repeated instruction takes the place of its own
//! last line and is counted.

use std::fmt;

/// One line of a failure's trace: a memory operation of a thread, or of a wave by its first active lane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceLine {
    /// Machine time, instructions since the start of the run.
    pub clock: u64,
    /// Device (rank) it ran on.
    pub rank: usize,
    /// Block in the grid.
    pub block: u32,
    /// `wave` or `thread`.
    pub kind: &'static str,
    /// Its number in the block.
    pub number: u32,
    /// Instruction text.
    pub instruction: String,
    /// Region and offset.
    pub address: String,
    /// Value read or written, the first 8 bytes.
    pub value: u64,
    /// How often this was done in a row with other memory operations of a loop.
    pub times: u64,
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceLine { clock, rank, block, kind, number, instruction, address, value, times } = self;
        write!(f, "{clock:>8} rank {rank} block {block} {kind} {number}: {instruction}  [{address}] = {value:#x}")?;
        if *times > 1 { write!(f, "  ({times} times)") } else { Ok(()) }
    }
}

/// One operation, as kept while running.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) clock: u64,
    /// Front end's number of the instruction.
    pub(crate) instruction: u32,
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) times: u64,
}

const KEPT: usize = 8;

/// The last operations of one thread, oldest first, each instruction once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    records: [Record; KEPT],
}

impl Recorder {
    pub(crate) fn note(&mut self, clock: u64, instruction: u32, address: u64, value: u64) {
        let known = self.records.iter().position(|record| record.times > 0 && record.instruction == instruction);
        let times = known.and_then(|i| self.records.get(i)).map_or(0, |record| record.times);
        if let Some(rest) = self.records.get_mut(known.unwrap_or(0)..) {
            rest.rotate_left(1);
        }
        if let Some(last) = self.records.last_mut() {
            *last = Record { clock, instruction, address, value, times: times + 1 };
        }
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.times > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_loop_does_not_push_out_what_came_before() {
        let mut recorder = Recorder::default();
        recorder.note(1, 7, 0x10, 1);
        for clock in 0..100 {
            recorder.note(clock, 8, 0x20, clock);
            recorder.note(clock, 9, 0x30, clock);
        }
        let seen: Vec<_> = recorder.records().map(|record| (record.instruction, record.times, record.value)).collect();
        assert_eq!(seen, [(7, 1, 1), (8, 100, 99), (9, 100, 99)]);
    }
}
