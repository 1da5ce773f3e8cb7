//! A thread: its registers, its place, and the loop that executes it.

use std::rc::Rc;

use super::alu;
use super::convert::{convert, truncate};
use super::instruction::{Operation, Register, SINK, Source, Special, Vote};
use super::memory::extend;
use super::program::PtxProgram;
use crate::error::{Fault, FaultKind};
use crate::memory::ThreadId;
use crate::thread::{BlockStart, Context, Thread, Turn};
use crate::trace::{Record, Recorder};

/// What the threads of a block have in common.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) start: BlockStart,
    pub(super) arguments: Vec<u8>,
    /// Generic address of its shared memory.
    pub(super) shared: u64,
}

/// Threads of a warp.
const WARP: u32 = 32;

pub(super) struct PtxThread {
    program: Rc<PtxProgram>,
    pub(super) block: Rc<Block>,
    pub(super) id: ThreadId,
    /// In its block.
    number: u32,
    counter: usize,
    registers: Vec<u64>,
    recorder: Recorder,
    /// Phase of the block barrier that the thread has come to and not left.
    waiting: Option<u64>,
}

impl PtxThread {
    /// A thread at the kernel's start, its registers full of garbage.
    pub(super) fn new(program: &Rc<PtxProgram>, block: &Rc<Block>, id: ThreadId, number: u32, garbage: u64) -> Self {
        PtxThread {
            program: program.clone(),
            block: block.clone(),
            id,
            number,
            counter: 0,
            registers: program.widths.iter().map(|bits| truncate(garbage, u32::from(*bits))).collect(),
            recorder: Recorder::default(),
            waiting: None,
        }
    }

    fn register(&self, register: Register) -> u64 {
        self.registers.get(usize::from(register)).copied().unwrap_or(0)
    }

    pub(super) fn read(&self, source: Source, context: &Context<'_>) -> u64 {
        match source {
            Source::Register(register) => self.register(register),
            Source::Not(register) => u64::from(self.register(register) == 0),
            Source::Immediate(value) => value,
            Source::Special(special) => self.special(special, context),
        }
    }

    fn special(&self, special: Special, context: &Context<'_>) -> u64 {
        let start = &self.block.start;
        let nanoseconds = context.clock.wrapping_add(context.clock_offset).wrapping_mul(10);
        match special {
            Special::Thread => u64::from(self.number),
            Special::Threads => u64::from(start.threads),
            Special::Block => u64::from(start.block),
            Special::Blocks => u64::from(start.blocks),
            Special::Lane => u64::from(self.number % WARP),
            Special::Warp => u64::from(self.number / WARP),
            Special::GlobalTimer => nanoseconds,
            Special::GlobalTimerLow => nanoseconds & 0xFFFF_FFFF,
            Special::Clock => *context.clock,
            Special::ClockLow => *context.clock & 0xFFFF_FFFF,
        }
    }

    pub(super) fn write(&mut self, register: Register, value: u64) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)).filter(|_| register != SINK) {
            *slot = value;
        }
    }

    pub(super) fn note(&mut self, context: &Context<'_>, address: u64, value: u64) {
        let instruction = u32::try_from(self.counter).unwrap_or(u32::MAX);
        self.recorder.note(*context.clock, instruction, address, value);
    }

    /// Executes one instruction. Returns how the turn ends, or none when it goes on.
    fn step(&mut self, program: &PtxProgram, context: &mut Context<'_>) -> Result<Option<Turn>, Fault> {
        let instruction =
            program.instructions.get(self.counter).ok_or_else(|| Fault::new(FaultKind::ProgramCounter))?;
        let mut next = self.counter + 1;
        let mut turn = None;
        let executes = instruction.guard.is_none_or(|(register, wanted)| (self.register(register) != 0) == wanted);
        if executes {
            match &instruction.operation {
                Operation::Branch(target) => {
                    // A loop without memory operations must not keep the turn for ever.
                    turn = (*target <= self.counter).then_some(Turn::Again);
                    next = *target;
                }
                Operation::Exit => turn = Some(Turn::Done),
                Operation::Trap => return Err(Fault::new(FaultKind::Trap)),
                Operation::Pause(time) => {
                    // The clock's tick is 10 ns.
                    turn = Some(Turn::Pause(self.read(*time, context) / 10));
                }
                Operation::Barrier => {
                    if self.meet(None, context).is_none() {
                        return Ok(Some(Turn::Blocked));
                    }
                    turn = context.rng.one_in(2).then_some(Turn::Again);
                }
                Operation::BarrierVote { vote, destination, source } => {
                    let mine = self.read(*source, context) != 0;
                    let Some(votes) = self.meet(Some(mine), context) else { return Ok(Some(Turn::Blocked)) };
                    let value = match vote {
                        Vote::All => u64::from(votes.yes == votes.given),
                        Vote::Any => u64::from(votes.yes > 0),
                        Vote::Count => u64::from(votes.yes),
                    };
                    self.write(*destination, value);
                    turn = context.rng.one_in(2).then_some(Turn::Again);
                }
                operation if self.plain(operation, context) => {}
                operation => {
                    self.effect(operation, context)?;
                    turn = context.rng.one_in(2).then_some(Turn::Again);
                }
            }
        }
        self.counter = next;
        *context.clock += 1;
        Ok(turn)
    }

    /// Comes to the block's barrier and, once all have, leaves it with their votes.
    fn meet(&mut self, vote: Option<bool>, context: &mut Context<'_>) -> Option<crate::thread::Votes> {
        let phase = match self.waiting {
            Some(phase) => phase,
            None => {
                let phase = context.barrier.phase();
                context.memory.arrive(self.id, phase, context.rng);
                if let Some(vote) = vote {
                    context.barrier.vote(vote);
                }
                context.barrier.signal();
                self.waiting = Some(phase);
                phase
            }
        };
        if context.barrier.phase() == phase {
            return None;
        }
        context.memory.depart(self.id, phase);
        self.waiting = None;
        Some(context.barrier.votes(phase))
    }

    /// Executes an operation that nobody else can notice; false for any other.
    fn plain(&mut self, operation: &Operation, context: &Context<'_>) -> bool {
        match operation {
            Operation::Nothing => {}
            Operation::Compute { function, kind, destination, sources } => {
                let sources = sources.map(|source| self.read(source, context));
                self.write(*destination, alu::compute(*function, *kind, sources, self.block.shared));
            }
            Operation::SetPredicate { compare, kind, destination, inverse, sources, combine } => {
                let [a, b] = sources.map(|source| self.read(source, context));
                let holds = alu::compare(*compare, *kind, a, b);
                let with = |holds| match combine {
                    None => u64::from(holds),
                    Some((logic, other)) => u64::from(alu::logic(*logic, holds, self.read(*other, context) != 0)),
                };
                let (value, opposite) = (with(holds), with(!holds));
                self.write(*destination, value);
                self.write(*inverse, opposite);
            }
            Operation::Convert { conversion, destination, sources } => {
                let [a, b] = sources.map(|source| self.read(source, context));
                self.write(*destination, convert(conversion, a, b));
            }
            Operation::Pack { destination, bits, parts } => {
                let packed = parts
                    .iter()
                    .rev()
                    .fold(0, |packed, part| packed << bits | truncate(self.read(*part, context), *bits));
                self.write(*destination, packed);
            }
            Operation::Unpack { destinations, bits, source } => {
                let mut packed = self.read(*source, context);
                for destination in destinations {
                    self.write(*destination, truncate(packed, *bits));
                    packed >>= bits;
                }
            }
            Operation::LoadParameter { destinations, width, element, offset } => {
                let size = u64::from(element.bits() / 8);
                for (destination, at) in destinations.iter().zip((0..).map(|index| offset + index * size)) {
                    let bytes = usize::try_from(at).ok().and_then(|at| self.block.arguments.get(at..));
                    let bytes = bytes.unwrap_or(&[]).iter().zip(0..size);
                    let value = bytes.fold(0, |value, (byte, place)| value | u64::from(*byte) << (8 * place));
                    self.write(*destination, extend(value, *element, *width));
                }
            }
            _ => return false,
        }
        true
    }

    /// Executes an operation that others can notice.
    fn effect(&mut self, operation: &Operation, context: &mut Context<'_>) -> Result<(), Fault> {
        match operation {
            Operation::Load { access, destinations, width } => self.load(access, destinations, *width, context),
            Operation::Store { access, sources } => self.store(access, sources, context),
            Operation::Atomic { update, access, destination, sources } => {
                self.atomic(*update, access, *destination, *sources, context)
            }
            Operation::Fence(fence, scope) => {
                context.memory.fence(self.id, *fence, *scope, context.rng);
                Ok(())
            }
            _ => Err(Fault::internal("an operation of no class")),
        }
    }
}

impl Thread for PtxThread {
    fn run(&mut self, context: &mut Context<'_>) -> Result<Turn, Fault> {
        let program = self.program.clone();
        loop {
            if let Some(turn) = self.step(&program, context)? {
                return Ok(turn);
            }
        }
    }

    fn kind(&self) -> &'static str {
        "thread"
    }

    fn number(&self) -> u32 {
        self.number
    }

    fn instruction(&self) -> String {
        self.program.text(self.counter)
    }

    fn trace(&self) -> Vec<(Record, String)> {
        self.recorder.records().map(|record| (*record, self.program.text(record.instruction as usize))).collect()
    }
}
