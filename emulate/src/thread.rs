//! What a front end gives the machine: programs that start threads, and threads that run.
//!
//! A *thread* is what the scheduler schedules: a wave on AMD, a thread in PTX. It runs from one point where other threads can notice
//! it (a memory operation, a barrier) to the next and knows nothing of the others. A front end is a [`Program`] that
//! knows its kernel's ABI and makes threads, a [`Thread`] that steps, and its choice of a memory model: `Memory`'s caches
//! (`memory/order.rs`) or its views (`memory/causal/`).

use crate::error::Fault;
use crate::memory::{Device, Memory};
use crate::rng::Rng;
use crate::trace::Record;

/// What a thread has in its hands while it runs.
pub(crate) struct Context<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) rng: &'a mut Rng,
    pub(crate) barrier: &'a mut Barrier,
    /// Memory that the block's threads share (LDS), by words.
    pub(crate) shared: &'a mut [u32],
    /// Instructions executed by all threads of the machine.
    pub(crate) clock: &'a mut u64,
    /// Real-time counter of the thread's device, 100 MHz ticks, at clock 0.
    pub(crate) clock_offset: u64,
}

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It can go on at any time.
    Again,
    /// It wants to pause for about so many instructions.
    Pause(u64),
    /// It waits for its block's barrier.
    Blocked,
    /// It has ended.
    Done,
}

/// A schedulable thread of a kernel.
pub(crate) trait Thread {
    /// Runs up to a point where the scheduler should choose again.
    fn run(&mut self, context: &mut Context<'_>) -> Result<Turn, Fault>;

    /// What its instruction set calls it, for reports.
    fn kind(&self) -> &'static str;

    /// Number of the thread in its block.
    fn number(&self) -> u32;

    /// Text of the instruction it is at.
    fn instruction(&self) -> String;

    /// Its last memory operations with their instruction texts.
    fn trace(&self) -> Vec<(Record, String)>;
}

/// Where and how a block starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockStart {
    pub(crate) device: Device,
    /// Block in the grid.
    pub(crate) block: u32,
    /// Blocks of the grid.
    pub(crate) blocks: u32,
    /// Number of the block, unique in the machine.
    pub(crate) unique: u32,
    /// Threads (work-items) of the block.
    pub(crate) threads: u32,
    /// Address of the argument buffer.
    pub(crate) arguments: u64,
}

/// Which of the two memory models threads live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// `memory/order.rs`.
    Caches,
    /// `memory/causal/`.
    Views,
}

/// A kernel in executable form.
pub(crate) trait Program {
    fn model(&self) -> Model;

    fn name(&self) -> &str;

    /// Bytes of the argument buffer.
    fn argument_bytes(&self) -> u64;

    /// Bytes of memory that a block's threads share.
    fn shared_bytes(&self) -> u32;

    /// Most threads a block may have.
    fn max_threads(&self) -> u32;

    fn start_block(
        self: std::rc::Rc<Self>,
        start: BlockStart,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Result<Vec<Box<dyn Thread>>, Fault>;
}

/// What threads said at a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Votes {
    pub(crate) given: u32,
    pub(crate) yes: u32,
}

/// Block barrier, in the split form that contains the plain one: signal, then wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    members: u32,
    signalled: u32,
    phase: u64,
    /// By parity of the phase: all have left a phase before anyone comes to the next but one.
    votes: [Votes; 2],
}

impl Barrier {
    pub(crate) fn new(members: u32) -> Self {
        Barrier { members, signalled: 0, phase: 0, votes: [Votes::default(); 2] }
    }

    /// The phase that a signal given now belongs to, and how often the barrier has completed.
    pub(crate) fn phase(&self) -> u64 {
        self.phase
    }

    pub(crate) fn signal(&mut self) {
        self.signalled += 1;
        self.complete();
    }

    /// A vote in the present phase; comes before its signal.
    pub(crate) fn vote(&mut self, yes: bool) {
        let [even, odd] = &mut self.votes;
        let votes = if self.phase.is_multiple_of(2) { even } else { odd };
        if self.signalled == 0 {
            *votes = Votes::default();
        }
        votes.given += 1;
        votes.yes += u32::from(yes);
    }

    /// The votes of a phase that has completed.
    pub(crate) fn votes(&self, phase: u64) -> Votes {
        let [even, odd] = self.votes;
        if phase.is_multiple_of(2) { even } else { odd }
    }

    /// A thread has ended: the others no longer wait for it.
    pub(crate) fn leave(&mut self) {
        self.members = self.members.saturating_sub(1);
        self.complete();
    }

    fn complete(&mut self) {
        if self.signalled > 0 && self.signalled >= self.members {
            self.signalled = 0;
            self.phase += 1;
        }
    }
}
