//! What a wave has issued and not waited for (`memory.rs` says what may happen to it meanwhile).

use std::collections::VecDeque;

use super::shared::Shared;
use super::vector::lanes_of;
use crate::amdgpu::instruction::{AtomicFunction, Counter, Format, RegisterSet};
use crate::memory::{Reach, Scope};

/// A part of a load that is sampled at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) lane: u8,
    /// Byte offset in the lane's access.
    pub(super) offset: u8,
    pub(super) bytes: u8,
}

/// Active lanes and their addresses.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) mask: u64,
    pub(super) addresses: [u64; 64],
    /// Bytes per lane.
    pub(super) bytes: u64,
    pub(super) lowest: u64,
    pub(super) highest: u64,
}

impl Access {
    pub(super) fn lanes(&self) -> impl Iterator<Item = (usize, u64)> {
        lanes_of(self.mask).map(|lane| (lane, self.addresses.get(lane).copied().unwrap_or(0)))
    }

    pub(super) fn overlaps(&self, other: &Access) -> bool {
        self.lowest < other.highest
            && other.lowest < self.highest
            && self.lanes().any(|(_, a)| other.lanes().any(|(_, b)| a < b + other.bytes && b < a + self.bytes))
    }
}

#[derive(Debug)]
pub(super) struct Load {
    pub(super) access: Access,
    pub(super) destination: u16,
    pub(super) format: Format,
    pub(super) scope: Scope,
    pub(super) left: Vec<Piece>,
    /// What was sampled, by lane, first byte lowest.
    pub(super) data: [u128; 64],
}

#[derive(Debug)]
pub(super) struct Atomic {
    pub(super) access: Access,
    pub(super) destination: Option<u16>,
    pub(super) words: u8,
    pub(super) function: AtomicFunction,
    /// Operand and comparand, by lane.
    pub(super) operands: [(u64, u64); 64],
    pub(super) scope: Scope,
    pub(super) reach: Reach,
    pub(super) performed: bool,
    pub(super) old: [u64; 64],
}

#[derive(Debug)]
pub(super) enum Kind {
    Load(Box<Load>),
    Atomic(Box<Atomic>),
    /// Its pieces are in the memory's store buffer.
    Store,
    WriteBack(Reach),
    Shared(Box<Shared>),
    Scalar {
        destination: u8,
        values: Vec<u32>,
    },
}

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) number: u64,
    pub(super) counter: Counter,
    pub(super) instruction: u32,
    pub(super) kind: Kind,
}

/// The memory operations of a wave that it has not waited for, oldest first.
#[derive(Debug, Default)]
pub(in crate::amdgpu) struct Underway {
    pub(super) flights: VecDeque<Flight>,
    pub(super) issued: u64,
    pub(super) registers: RegisterSet,
}

impl Underway {
    /// Registers that loads will still write.
    pub(in crate::amdgpu) fn registers(&self) -> &RegisterSet {
        &self.registers
    }

    pub(in crate::amdgpu) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// Operations with their numbers, oldest first.
    pub(super) fn kinds_mut(&mut self) -> impl Iterator<Item = (u64, &mut Kind)> {
        self.flights.iter_mut().map(|flight| (flight.number, &mut flight.kind))
    }

    pub(super) fn note_registers(&mut self) {
        self.registers = RegisterSet::default();
        for flight in &self.flights {
            match &flight.kind {
                Kind::Load(load) => self.registers.add_vector(load.destination, destination_registers(load.format)),
                Kind::Atomic(atomic) => {
                    if let Some(destination) = atomic.destination {
                        self.registers.add_vector(destination, atomic.words);
                    }
                }
                Kind::Scalar { destination, values } => {
                    self.registers.add_scalar(*destination, u8::try_from(values.len()).unwrap_or(u8::MAX));
                }
                Kind::Shared(shared) => {
                    if let Some(destination) = shared.destination {
                        self.registers.add_vector(destination, 1);
                    }
                }
                Kind::Store | Kind::WriteBack(_) => {}
            }
        }
    }
}

pub(super) fn destination_registers(format: Format) -> u8 {
    if let Format::Words(words) = format { words } else { 1 }
}

pub(super) fn bytes_of(format: Format) -> u64 {
    match format {
        Format::Words(words) => 4 * u64::from(words),
        Format::Small { bytes, .. } => u64::from(bytes),
        Format::HalfRegister(_) => 2,
    }
}

/// The first eight bytes.
pub(super) fn low64(value: u128) -> u64 {
    u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0)
}

/// Cuts an access at 8-byte boundaries, and a small piece of odd size into powers of two.
pub(super) fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let left = bytes - offset;
        let to_boundary = 8 - ((address + offset) & 7);
        let size = match left.min(to_boundary) {
            0 => return None,
            n @ (1 | 2 | 4 | 8) => n,
            n if n > 4 => 4,
            _ => 2,
        };
        offset += size;
        Some((offset - size, size))
    })
}
