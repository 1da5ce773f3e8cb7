//! A wave: its registers, its place, the memory operations it has under way, and the loop that executes it.

use std::rc::Rc;

use super::execute::{scalar, underway::Underway, vector};
use super::instruction::{Condition, Lanes, Operation, RegisterSet};
use super::program::AmdProgram;
use super::text::{EXEC, NULL, TTMP7, TTMP9, VCC};
use crate::error::{Fault, FaultKind};
use crate::memory::{AgentId, AgentSpec, Memory};
use crate::rng::Rng;
use crate::thread::{BlockStart, Context, Thread, Turn};
use crate::trace::{Record, Recorder};

/// Scalar state of a wave. Registers are numbered as the hardware encodes them.
#[derive(Clone, Debug)]
pub(super) struct ScalarState {
    registers: [u32; 128],
    pub(super) scc: bool,
}

impl ScalarState {
    /// A 32-bit register; the null register is 0.
    pub(super) fn word(&self, register: u8) -> u32 {
        if register == NULL { 0 } else { self.registers.get(usize::from(register)).copied().unwrap_or(0) }
    }

    /// A pair of registers.
    pub(super) fn double(&self, register: u8) -> u64 {
        if register == NULL {
            return 0;
        }
        u64::from(self.word(register)) | u64::from(self.word(register + 1)) << 32
    }

    pub(super) fn set_word(&mut self, register: u8, value: u32) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)).filter(|_| register != NULL) {
            *slot = value;
        }
    }

    pub(super) fn set_double(&mut self, register: u8, value: u64) {
        if register != NULL {
            self.set_word(register, (value & 0xFFFF_FFFF) as u32);
            self.set_word(register + 1, (value >> 32) as u32);
        }
    }
}

/// Vector registers, in halves of 32 lanes: a wave of 64 has two halves per register.
#[derive(Clone, Debug)]
pub(super) struct VectorState {
    lanes: Vec<Lanes>,
    /// 1 or 2.
    pub(super) halves: usize,
}

impl VectorState {
    pub(super) fn get(&self, register: u16, half: usize) -> Result<&Lanes, Fault> {
        self.lanes
            .get(usize::from(register) * self.halves + half)
            .ok_or(Fault::internal("vector register out of range"))
    }

    pub(super) fn get_mut(&mut self, register: u16, half: usize) -> Result<&mut Lanes, Fault> {
        self.lanes
            .get_mut(usize::from(register) * self.halves + half)
            .ok_or(Fault::internal("vector register out of range"))
    }

    /// A register of one lane of the wave.
    pub(super) fn lane(&self, register: u16, lane: usize) -> Result<u32, Fault> {
        self.get(register, lane / 32)?.get(lane % 32).copied().ok_or(Fault::internal("lane out of range"))
    }

    pub(super) fn set_lane(&mut self, register: u16, lane: usize, value: u32) -> Result<(), Fault> {
        *self.get_mut(register, lane / 32)?.get_mut(lane % 32).ok_or(Fault::internal("lane out of range"))? = value;
        Ok(())
    }
}

/// Where a wave is, for memory and reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) agent: AgentId,
    pub(super) spec: AgentSpec,
    /// Wave in its block.
    pub(super) number: u32,
}

pub(super) struct Wave {
    pub(super) program: Rc<AmdProgram>,
    pub(super) place: Place,
    counter: usize,
    pub(super) scalar: ScalarState,
    pub(super) vector: VectorState,
    pub(super) underway: Underway,
    pub(super) recorder: Recorder,
    /// Phase of the block barrier that the wave has signalled and not waited for.
    signalled: Option<u64>,
}

impl Wave {
    /// The wave `number` of a block, registers set up as the kernel's descriptor says and full of garbage otherwise.
    pub(super) fn start(
        program: &Rc<AmdProgram>,
        start: &BlockStart,
        number: u32,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Self {
        let descriptor = program.descriptor;
        let generation = program.target.generation;
        let complexes = u32::from(generation.complexes());
        let spec = AgentSpec {
            device: start.device,
            block: start.unique,
            complex: (start.block % complexes).to_le_bytes()[0],
            shared_l0: descriptor.compute_unit_mode,
        };
        let garbage = (rng.next() & 0xFFFF_FFFF) as u32;
        let halves = descriptor.wave_size as usize / 32;
        let mut scalar = ScalarState {
            registers: std::array::from_fn(|i| garbage ^ (i as u64 & 0xFF) as u32),
            scc: garbage & 1 != 0,
        };
        if let Some(register) = descriptor.kernarg_sgpr {
            scalar.set_double(register, start.arguments);
        }
        if let Some(register) = descriptor.block_sgpr {
            scalar.set_word(register, start.block);
        }
        if generation.block_in_ttmp() {
            scalar.set_word(TTMP9, start.block);
            scalar.set_word(TTMP7, 0);
        }
        let first = number * descriptor.wave_size;
        let present = start.threads.saturating_sub(first).min(descriptor.wave_size);
        let exec = if present >= 64 { u64::MAX } else { (1 << present) - 1 };
        scalar.set_double(EXEC, exec);
        let mut lanes = vec![[garbage; 32]; usize::from(program.vector_registers) * halves];
        for (half, thread) in lanes.iter_mut().take(halves).zip((first..).step_by(32)) {
            for (lane, thread) in half.iter_mut().zip(thread..) {
                *lane = thread;
            }
        }
        let place = Place { agent: memory.add_agent(spec), spec, number };
        Wave {
            program: program.clone(),
            place,
            counter: 0,
            scalar,
            vector: VectorState { lanes, halves },
            underway: Underway::default(),
            recorder: Recorder::default(),
            signalled: None,
        }
    }

    /// Lanes that execute.
    pub(super) fn exec(&self) -> u64 {
        if self.vector.halves == 1 { u64::from(self.scalar.word(EXEC)) } else { self.scalar.double(EXEC) }
    }

    fn vcc(&self) -> u64 {
        if self.vector.halves == 1 { u64::from(self.scalar.word(VCC)) } else { self.scalar.double(VCC) }
    }

    /// A register that an instruction touches must have arrived.
    fn check_arrived(&self, touches: &RegisterSet) -> Result<(), Fault> {
        match self.underway.registers().common(touches) {
            Some(register) => Err(Fault::new(FaultKind::NotWaitedFor { register })),
            None => Ok(()),
        }
    }

    fn taken(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::Scc(value) => self.scalar.scc == value,
            Condition::VccZero(value) => (self.vcc() == 0) == value,
            Condition::ExecZero(value) => (self.exec() == 0) == value,
        }
    }

    /// Executes one instruction. Returns how the turn ends, or none when it goes on.
    fn step(&mut self, program: &AmdProgram, context: &mut Context<'_>) -> Result<Option<Turn>, Fault> {
        let instruction =
            program.instructions.get(self.counter).ok_or_else(|| Fault::new(FaultKind::ProgramCounter))?;
        if !self.underway.registers().is_empty() {
            self.check_arrived(&instruction.touches)?;
        }
        let mut next = self.counter + 1;
        let mut turn = None;
        match &instruction.operation {
            Operation::Nothing => {}
            Operation::Branch(condition, target) => {
                if self.taken(*condition) {
                    // A loop without memory operations must not keep the turn for ever.
                    turn = (*target <= self.counter).then_some(Turn::Again);
                    next = *target;
                }
            }
            Operation::End => {
                self.finish(context)?;
                turn = Some(Turn::Done);
            }
            Operation::Sleep(units) => turn = Some(Turn::Pause(u64::from(*units) * 4)),
            Operation::Barrier => {
                if self.signalled.is_none() {
                    self.signal(context)?;
                }
                if !self.passes(context)? {
                    return Ok(Some(Turn::Blocked));
                }
                turn = context.rng.one_in(2).then_some(Turn::Again);
            }
            // Others go on at once, before this wave may have waited for anything.
            Operation::BarrierSignal => {
                self.signal(context)?;
                turn = context.rng.one_in(2).then_some(Turn::Again);
            }
            Operation::BarrierWait => {
                if !self.passes(context)? {
                    return Ok(Some(Turn::Blocked));
                }
            }
            // A wait takes time, in which some of what it waits for happens and other waves run.
            Operation::Wait(_) if !self.underway.is_empty() && context.rng.one_in(3) => {
                self.progress(context);
                *context.clock += 1;
                return Ok(Some(Turn::Again));
            }
            operation if scalar::execute(operation, &mut self.scalar) => {}
            operation if vector::execute(operation, self)? => {}
            operation => {
                self.memory_operation(operation, u32::try_from(self.counter).unwrap_or(0), context)?;
                turn = context.rng.one_in(2).then_some(Turn::Again);
            }
        }
        self.counter = next;
        *context.clock += 1;
        Ok(turn)
    }

    fn signal(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        if self.signalled.is_some() {
            return Err(Fault::new(FaultKind::Barrier {
                what: "a second signal before the wait for the first".to_owned(),
            }));
        }
        self.signalled = Some(context.barrier.phase());
        context.barrier.signal();
        Ok(())
    }

    /// Whether the barrier that the wave has signalled is complete.
    fn passes(&mut self, context: &Context<'_>) -> Result<bool, Fault> {
        let Some(phase) = self.signalled else {
            return Err(Fault::new(FaultKind::Barrier { what: "a wait without a signal".to_owned() }));
        };
        let passes = context.barrier.phase() != phase;
        if passes {
            self.signalled = None;
        }
        Ok(passes)
    }
}

impl Thread for Wave {
    fn run(&mut self, context: &mut Context<'_>) -> Result<Turn, Fault> {
        let program = self.program.clone();
        loop {
            if let Some(turn) = self.step(&program, context)? {
                return Ok(turn);
            }
        }
    }

    fn kind(&self) -> &'static str {
        "wave"
    }

    fn number(&self) -> u32 {
        self.place.number
    }

    fn instruction(&self) -> String {
        self.program.text(self.counter)
    }

    fn trace(&self) -> Vec<(Record, String)> {
        self.recorder.records().map(|record| (*record, self.program.text(record.instruction as usize))).collect()
    }
}
