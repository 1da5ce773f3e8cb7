//! Vector and scalar memory: issue, and what happens between issue and the wait.
//!
//! A load samples memory at any time between its issue and its wait, each piece of each lane for itself (8-byte
//! tearing); loads of one wave from different addresses in any order. Its registers count as under way until then,
//! and touching them is a fault. A read-modify-write that returns is performed at any time in between, one that does
//! not at issue. Same addresses keep program order. A wait completes the oldest operations of its counter until at
//! most so many are left; scalar operations complete out of order, so only a wait for 0 says anything.

use std::collections::VecDeque;

use super::underway::{Access, Atomic, Flight, Kind, Load, Piece, bytes_of, low64, pieces};
use super::vector::lanes_of;
use crate::amdgpu::instruction::{Address, Counter, Format, Operation};
use crate::amdgpu::text::Part;
use crate::amdgpu::wave::Wave;
use crate::error::{Fault, FaultKind};
use crate::memory::{AccessKind, Scope};
use crate::thread::Context;

impl Wave {
    /// Issues a memory operation, or does what a wait or a cache control asks for.
    pub(in crate::amdgpu) fn memory_operation(
        &mut self,
        operation: &Operation,
        index: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        self.progress(context);
        match operation {
            Operation::Wait(waits) => {
                for (counter, count) in waits {
                    self.wait(*counter, *count, context)?;
                }
            }
            Operation::SharedLoad { .. } | Operation::SharedStore { .. } => {
                self.shared_operation(operation, index, context)?;
            }
            Operation::Invalidate(levels) => context.memory.invalidate(self.place.agent, *levels),
            Operation::WriteBack(reach) => {
                self.issue(Counter::Store, index, Kind::WriteBack(*reach));
            }
            Operation::Clock { destination } => {
                let ticks = context.clock_offset.wrapping_add(*context.clock);
                let values = vec![(ticks & 0xFFFF_FFFF) as u32, (ticks >> 32) as u32];
                self.issue(Counter::Scalar, index, Kind::Scalar { destination: *destination, values });
            }
            Operation::ScalarLoad { destination, words, base, offset_register, offset } => {
                let register = offset_register.map_or(0, |register| u64::from(self.scalar.word(register)));
                let address = self.scalar.double(*base).wrapping_add(register).wrapping_add_signed(*offset) & !3;
                let bytes = 4 * u64::from(*words);
                context.memory.check(address, bytes, 4, AccessKind::Load, self.place.spec.device)?;
                let values: Vec<u32> = (address..address + bytes)
                    .step_by(4)
                    .map(|address| {
                        (context.memory.load(self.place.agent, address, 4, Scope::Scalar, context.rng) & 0xFFFF_FFFF)
                            as u32
                    })
                    .collect();
                let first = values.first().copied().unwrap_or(0);
                self.recorder.note(*context.clock, index, address, u64::from(first));
                self.issue(Counter::Scalar, index, Kind::Scalar { destination: *destination, values });
            }
            Operation::Load { destination, format, address, scope } => {
                let access = self.access(*address, bytes_of(*format), AccessKind::Load, context)?;
                self.keep_order(&access, context);
                let mut left = Vec::with_capacity(64);
                for (lane, address) in access.lanes() {
                    left.extend(pieces(address, access.bytes).map(|(offset, bytes)| Piece {
                        lane: lane.to_le_bytes()[0],
                        offset: offset.to_le_bytes()[0],
                        bytes: bytes.to_le_bytes()[0],
                    }));
                }
                let mut load = Box::new(Load {
                    access,
                    destination: *destination,
                    format: *format,
                    scope: *scope,
                    left,
                    data: [0; 64],
                });
                if !context.memory.is_weak() {
                    self.sample(&mut load, usize::MAX, context);
                }
                self.issue(Counter::Load, index, Kind::Load(load));
            }
            Operation::Store { data, format, address, reach } => {
                let access = self.access(*address, bytes_of(*format), AccessKind::Store, context)?;
                self.keep_order(&access, context);
                let number = self.issue(Counter::Store, index, Kind::Store);
                for (position, (lane, address)) in access.lanes().enumerate() {
                    let value = self.store_data(*data, *format, lane)?;
                    if position == 0 {
                        self.recorder.note(*context.clock, index, address, low64(value));
                    }
                    for (offset, bytes) in pieces(address, access.bytes) {
                        let value = low64(value >> (8 * offset));
                        context.memory.store(self.place.agent, number, address + offset, bytes, value, *reach);
                    }
                }
            }
            Operation::Atomic { function, destination, data, words, compares, address, scope, reach } => {
                let access = self.access(*address, 4 * u64::from(*words), AccessKind::Atomic, context)?;
                self.keep_order(&access, context);
                let mut operands = [(0, 0); 64];
                for (lane, _) in access.lanes() {
                    let value = self.register_words(*data, *words, lane)?;
                    let comparand =
                        if *compares { self.register_words(data + u16::from(*words), *words, lane)? } else { 0 };
                    if let Some(slot) = operands.get_mut(lane) {
                        *slot = (value, comparand);
                    }
                }
                let mut atomic = Box::new(Atomic {
                    access,
                    destination: *destination,
                    words: *words,
                    function: *function,
                    operands,
                    scope: *scope,
                    reach: *reach,
                    performed: false,
                    old: [0; 64],
                });
                if destination.is_none() || !context.memory.is_weak() || context.rng.one_in(2) {
                    self.perform(&mut atomic, index, context);
                }
                let counter = if destination.is_some() { Counter::Load } else { Counter::Store };
                self.issue(counter, index, Kind::Atomic(atomic));
            }
            _ => return Err(Fault::internal("operation without an executor")),
        }
        Ok(())
    }

    /// The wave ends: nothing waits for its loads any more; its stores stay in the buffer until they leave.
    pub(in crate::amdgpu) fn finish(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        if let Some(region) = context.memory.undrained(self.place.agent) {
            return Err(Fault::new(FaultKind::NotDrained { region }));
        }
        self.perform_shared(u64::MAX, context);
        for flight in std::mem::take(&mut self.underway.flights) {
            if let Kind::Atomic(mut atomic) = flight.kind {
                self.perform(&mut atomic, flight.instruction, context);
            }
        }
        Ok(())
    }

    /// gfx9 counts vector stores with the loads; before gfx12 group memory counts with the scalar loads.
    fn counter(&self, counter: Counter) -> Counter {
        let generation = self.program.target.generation;
        match counter {
            Counter::Store if generation.is_gfx9() => Counter::Load,
            Counter::Shared if !generation.counts_shared() => Counter::Scalar,
            counter => counter,
        }
    }

    pub(super) fn issue(&mut self, counter: Counter, instruction: u32, kind: Kind) -> u64 {
        self.underway.issued += 1;
        let number = self.underway.issued;
        let counter = self.counter(counter);
        self.underway.flights.push_back(Flight { number, counter, instruction, kind });
        self.underway.note_registers();
        number
    }

    /// What may happen to operations under way before the next one is issued.
    pub(in crate::amdgpu) fn progress(&mut self, context: &mut Context<'_>) {
        let temper = context.memory.temper();
        if context.rng.one_in(temper.drain) {
            context.memory.drain_some(self.place.agent, context.rng);
        }
        if context.rng.one_in(temper.early_load) {
            let last = self.underway.issued - context.rng.below(4).min(self.underway.issued);
            self.perform_shared(last, context);
        }
        let mut flights = std::mem::take(&mut self.underway.flights);
        for flight in &mut flights {
            match &mut flight.kind {
                Kind::Load(load) if !load.left.is_empty() && context.rng.one_in(temper.early_load) => {
                    let count = usize::try_from(context.rng.below(load.left.len() as u64 + 1)).unwrap_or(0);
                    self.sample(load, count, context);
                }
                Kind::Atomic(atomic) if !atomic.performed && context.rng.one_in(temper.early_load) => {
                    self.perform(atomic, flight.instruction, context);
                }
                _ => {}
            }
        }
        self.underway.flights = flights;
    }

    /// Operations under way on the same addresses come first.
    fn keep_order(&mut self, access: &Access, context: &mut Context<'_>) {
        let mut flights = std::mem::take(&mut self.underway.flights);
        for flight in &mut flights {
            match &mut flight.kind {
                Kind::Load(load) if !load.left.is_empty() && load.access.overlaps(access) => {
                    self.sample(load, usize::MAX, context);
                }
                Kind::Atomic(atomic) if !atomic.performed && atomic.access.overlaps(access) => {
                    self.perform(atomic, flight.instruction, context);
                }
                _ => {}
            }
        }
        self.underway.flights = flights;
    }

    /// Samples up to `count` pieces of a load, chosen at random.
    fn sample(&self, load: &mut Load, count: usize, context: &mut Context<'_>) {
        for _ in 0..count {
            if load.left.is_empty() {
                return;
            }
            let chosen = usize::try_from(context.rng.below(load.left.len() as u64)).unwrap_or(0);
            let Piece { lane, offset, bytes } = load.left.swap_remove(chosen);
            let address = load.access.addresses.get(usize::from(lane)).copied().unwrap_or(0) + u64::from(offset);
            let value = context.memory.load(self.place.agent, address, u64::from(bytes), load.scope, context.rng);
            if let Some(data) = load.data.get_mut(usize::from(lane)) {
                *data |= u128::from(value) << (8 * offset);
            }
        }
    }

    fn perform(&mut self, atomic: &mut Atomic, instruction: u32, context: &mut Context<'_>) {
        if atomic.performed {
            return;
        }
        atomic.performed = true;
        let bits = u64::MAX >> (64 - 32 * u32::from(atomic.words));
        for (position, (lane, address)) in atomic.access.lanes().enumerate() {
            let (value, comparand) = atomic.operands.get(lane).copied().unwrap_or_default();
            let function = atomic.function;
            let apply = |old| function(old, value, comparand) & bits;
            let (bytes, scope, reach) = (atomic.access.bytes, atomic.scope, atomic.reach);
            let old = context.memory.atomic(self.place.agent, address, bytes, (scope, reach), context.rng, apply);
            if let Some(slot) = atomic.old.get_mut(lane) {
                *slot = old;
            }
            if position == 0 {
                self.recorder.note(*context.clock, instruction, address, old);
            }
        }
    }

    fn wait(&mut self, counter: Counter, count: u32, context: &mut Context<'_>) -> Result<(), Fault> {
        let counter = self.counter(counter);
        let out_of_order = |flight: &Flight| flight.counter == counter && matches!(flight.kind, Kind::Scalar { .. });
        if count > 0 && self.underway.flights.iter().any(out_of_order) {
            return Ok(());
        }
        let mut surplus = self
            .underway
            .flights
            .iter()
            .filter(|flight| flight.counter == counter)
            .count()
            .saturating_sub(count as usize);
        if surplus == 0 {
            return Ok(());
        }
        let completes = |flight: &&Flight| flight.counter == counter;
        let last =
            { self.underway.flights.iter() }.filter(completes).nth(surplus - 1).map_or(0, |flight| flight.number);
        self.perform_shared(last, context);
        let mut kept = VecDeque::with_capacity(self.underway.flights.len());
        for flight in std::mem::take(&mut self.underway.flights) {
            if surplus > 0 && flight.counter == counter {
                surplus -= 1;
                self.complete(flight, context)?;
            } else {
                kept.push_back(flight);
            }
        }
        self.underway.flights = kept;
        self.underway.note_registers();
        Ok(())
    }

    fn complete(&mut self, flight: Flight, context: &mut Context<'_>) -> Result<(), Fault> {
        match flight.kind {
            Kind::Store => context.memory.complete_stores(self.place.agent, flight.number, context.rng),
            Kind::WriteBack(reach) => {
                context.memory.complete_stores(self.place.agent, flight.number, context.rng);
                context.memory.write_back(self.place.agent, reach);
            }
            Kind::Shared(shared) => self.write_shared(&shared)?,
            Kind::Scalar { destination, values } => {
                for (register, value) in (destination..).zip(values) {
                    self.scalar.set_word(register, value);
                }
            }
            Kind::Load(mut load) => {
                self.sample(&mut load, usize::MAX, context);
                for (position, (lane, address)) in load.access.lanes().enumerate() {
                    let data = load.data.get(lane).copied().unwrap_or(0);
                    if position == 0 {
                        self.recorder.note(*context.clock, flight.instruction, address, low64(data));
                    }
                    self.load_data(load.destination, load.format, lane, data)?;
                }
            }
            Kind::Atomic(mut atomic) => {
                self.perform(&mut atomic, flight.instruction, context);
                if let Some(destination) = atomic.destination {
                    for (lane, _) in atomic.access.lanes() {
                        let old = atomic.old.get(lane).copied().unwrap_or(0);
                        self.load_data(destination, Format::Words(atomic.words), lane, u128::from(old))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Addresses of the active lanes, checked.
    fn access(&self, address: Address, bytes: u64, kind: AccessKind, context: &Context<'_>) -> Result<Access, Fault> {
        let mut access = Access { mask: self.exec(), addresses: [0; 64], bytes, lowest: u64::MAX, highest: 0 };
        // LLVM relies on unaligned access only down to a register's size here: 4 bytes for whole registers.
        let alignment = if kind == AccessKind::Atomic { bytes } else { bytes.min(4) };
        let base = address.scalar.map(|register| self.scalar.double(register));
        for lane in lanes_of(access.mask) {
            let low = self.vector.lane(address.vector, lane)?;
            let start = match base {
                Some(base) => base.wrapping_add(u64::from(low)),
                None => u64::from(low) | u64::from(self.vector.lane(address.vector + 1, lane)?) << 32,
            };
            let start = start.wrapping_add_signed(address.offset);
            context.memory.check(start, bytes, alignment, kind, self.place.spec.device)?;
            if let Some(slot) = access.addresses.get_mut(lane) {
                *slot = start;
            }
            access.lowest = access.lowest.min(start);
            access.highest = access.highest.max(start + bytes);
        }
        Ok(access)
    }

    /// One or two registers of a lane.
    fn register_words(&self, first: u16, words: u8, lane: usize) -> Result<u64, Fault> {
        let low = u64::from(self.vector.lane(first, lane)?);
        if words == 1 { Ok(low) } else { Ok(low | u64::from(self.vector.lane(first + 1, lane)?) << 32) }
    }

    fn store_data(&self, first: u16, format: Format, lane: usize) -> Result<u128, Fault> {
        match format {
            Format::Words(words) => {
                let mut value = 0;
                for word in 0..words {
                    value |= u128::from(self.vector.lane(first + u16::from(word), lane)?) << (32 * word);
                }
                Ok(value)
            }
            Format::HalfRegister(Part::High) => Ok(u128::from(self.vector.lane(first, lane)? >> 16)),
            Format::Small { .. } | Format::HalfRegister(_) => Ok(u128::from(self.vector.lane(first, lane)?)),
        }
    }

    fn load_data(&mut self, first: u16, format: Format, lane: usize, data: u128) -> Result<(), Fault> {
        let low = (data & 0xFFFF_FFFF) as u32;
        match format {
            Format::Words(words) => {
                for word in 0..words {
                    self.vector.set_lane(
                        first + u16::from(word),
                        lane,
                        ((data >> (32 * word)) & 0xFFFF_FFFF) as u32,
                    )?;
                }
                Ok(())
            }
            Format::Small { bytes, signed } => {
                let shift = 32 - 8 * u32::from(bytes);
                let value = if signed { ((low << shift).cast_signed() >> shift).cast_unsigned() } else { low };
                self.vector.set_lane(first, lane, value)
            }
            Format::HalfRegister(part) => {
                let old = self.vector.lane(first, lane)?;
                let value =
                    if part == Part::High { old & 0xFFFF | low << 16 } else { old & 0xFFFF_0000 | low & 0xFFFF };
                self.vector.set_lane(first, lane, value)
            }
        }
    }
}
