//! Group memory (LDS): 32-bit loads and stores of a wave, under way until the wait. The operations of one wave are
//! performed in order, at any time between issue and wait; a store that nobody waits for may be late for its readers.

use super::underway::Kind;
use super::vector::lanes_of;
use crate::amdgpu::instruction::{Counter, Operation};
use crate::amdgpu::wave::Wave;
use crate::error::{Fault, FaultKind};
use crate::thread::Context;

/// A load or store of group memory.
#[derive(Debug)]
pub(super) struct Shared {
    mask: u64,
    /// Index of the word, by lane.
    words: [usize; 64],
    /// To be stored, or loaded.
    pub(super) values: [u32; 64],
    /// None for a store.
    pub(super) destination: Option<u16>,
    performed: bool,
}

impl Shared {
    pub(super) fn perform(&mut self, memory: &mut [u32]) {
        if std::mem::replace(&mut self.performed, true) {
            return;
        }
        for lane in lanes_of(self.mask) {
            let word = self.words.get(lane).and_then(|index| memory.get_mut(*index));
            if let (Some(word), Some(value)) = (word, self.values.get_mut(lane)) {
                if self.destination.is_some() {
                    *value = *word;
                } else {
                    *word = *value;
                }
            }
        }
    }

    pub(super) fn loaded(&self) -> impl Iterator<Item = (usize, u32)> {
        lanes_of(self.mask).map(|lane| (lane, self.values.get(lane).copied().unwrap_or(0)))
    }
}

impl Wave {
    /// Issues a load or store of group memory.
    pub(super) fn shared_operation(
        &mut self,
        operation: &Operation,
        index: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let (register, offset, data, destination) = match *operation {
            Operation::SharedLoad { destination, address, offset } => (address, offset, None, Some(destination)),
            Operation::SharedStore { data, address, offset } => (address, offset, Some(data), None),
            _ => return Err(Fault::internal("no operation on group memory")),
        };
        let mut shared =
            Box::new(Shared { mask: self.exec(), words: [0; 64], values: [0; 64], destination, performed: false });
        let bytes = context.shared.len() as u64 * 4;
        for lane in lanes_of(shared.mask) {
            let address = u64::from(self.vector.lane(register, lane)?) + u64::from(offset);
            if address + 4 > bytes || !address.is_multiple_of(4) {
                let kind = FaultKind::OutOfBounds {
                    region: "group memory".to_owned(),
                    offset: i128::from(address),
                    region_length: bytes,
                };
                return Err(Fault::at(kind, address, 4));
            }
            if let Some(word) = shared.words.get_mut(lane) {
                *word = usize::try_from(address / 4).unwrap_or(usize::MAX);
            }
            if let (Some(data), Some(value)) = (data, shared.values.get_mut(lane)) {
                *value = self.vector.lane(data, lane)?;
            }
        }
        if !context.memory.is_weak() {
            shared.perform(context.shared);
        }
        self.issue(Counter::Shared, index, Kind::Shared(shared));
        Ok(())
    }

    /// Performs group memory operations up to and including number `last`.
    pub(super) fn perform_shared(&mut self, last: u64, context: &mut Context<'_>) {
        for (number, kind) in self.underway.kinds_mut() {
            if let Kind::Shared(shared) = kind
                && number <= last
            {
                shared.perform(context.shared);
            }
        }
    }

    pub(super) fn write_shared(&mut self, shared: &Shared) -> Result<(), Fault> {
        if let Some(destination) = shared.destination {
            for (lane, value) in shared.loaded() {
                self.vector.set_lane(destination, lane, value)?;
            }
        }
        Ok(())
    }
}
