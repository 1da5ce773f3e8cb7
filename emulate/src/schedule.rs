//! The scheduler: which wave runs next. Seeded, unfair, and aware of nothing but queues and barriers.
//!
//! Each device has a speed of 1, 1/8 or 1/64, some waves are slower still, and the speeds change now and then: a
//! uniform choice keeps ranks nearly in step and hides races (measured with a prototype: a kernel that never waits
//! was caught in 0 to 1 of 50 seeds, with speeds in 36 to 38). A wave keeps its turn over instructions that nobody
//! can notice and may lose it at any memory operation.

use crate::error::{Failure, Fault, Reason};
use crate::machine::{Command, Launch, Machine, RunOptions, RunReport, Start};
use crate::memory::{Access, Device, Temper};
use crate::rng::Rng;
use crate::thread::{Barrier, BlockStart, Context, Thread, Turn};
use crate::trace::TraceLine;

/// A block that has started.
struct Block {
    device: usize,
    number: u32,
    barrier: Barrier,
    shared: Vec<u32>,
    /// Its slots, one after the other.
    slots: std::ops::Range<usize>,
    /// Threads that have not ended.
    left: usize,
}

/// A thread that has started.
struct Slot {
    /// None once its launch has ended.
    thread: Option<Box<dyn Thread>>,
    block: usize,
    device: usize,
    slowness: u32,
    paused_until: u64,
    blocked: bool,
    done: bool,
}

/// The launch that runs on a device.
struct Active {
    launch: Launch,
    arguments: u64,
    next_block: u32,
    blocks_left: u32,
    /// When the launch ends, its waves having ended: until then their stores leave at random.
    ends: Option<u64>,
}

#[derive(Default)]
struct DeviceRun {
    active: Option<Active>,
    slowness: u32,
    clock_offset: u64,
}

/// A run in progress.
pub(crate) struct Schedule<'m> {
    machine: &'m mut Machine,
    options: RunOptions,
    rng: Rng,
    clock: u64,
    devices: Vec<DeviceRun>,
    blocks: Vec<Block>,
    slots: Vec<Slot>,
    /// Indices of the slots that can run.
    live: Vec<usize>,
    report: RunReport,
    next_mood: u64,
    /// Launches whose waves have ended.
    ending: u32,
}

type Stopped = Box<Failure>;

impl<'m> Schedule<'m> {
    pub(crate) fn new(machine: &'m mut Machine, options: &RunOptions) -> Self {
        let mut rng = Rng::new(options.seed);
        let temper = if options.weak_memory { Temper::draw(&mut rng) } else { Temper::default() };
        machine.memory.begin_run(temper, options.weak_memory, options.drained_at_end);
        let devices = machine
            .queues
            .iter()
            .map(|_| DeviceRun { clock_offset: rng.next() >> 16, ..DeviceRun::default() })
            .collect();
        let report = RunReport { reads: vec![Vec::new(); machine.queues.len()], ..RunReport::default() };
        Schedule {
            machine,
            options: *options,
            rng,
            clock: 0,
            devices,
            blocks: Vec::new(),
            slots: Vec::new(),
            live: Vec::new(),
            report,
            next_mood: 0,
            ending: 0,
        }
    }

    pub(crate) fn run(mut self) -> Result<RunReport, Stopped> {
        let outcome = self.execute();
        if let Err(failure) = outcome {
            for device in 0..self.devices.len() {
                self.end_launch(device);
            }
            self.machine.queues.iter_mut().for_each(std::collections::VecDeque::clear);
            self.machine.memory.end_run();
            return Err(failure);
        }
        self.machine.memory.end_run();
        self.report.steps = self.clock;
        Ok(self.report)
    }

    fn execute(&mut self) -> Result<(), Stopped> {
        for device in 0..self.devices.len() {
            self.advance(device, false)?;
        }
        loop {
            if self.clock >= self.next_mood {
                self.change_mood()?;
            }
            if self.ending > 0 {
                self.end_launches()?;
            }
            if self.live.is_empty() {
                if self.slots.iter().any(|slot| !slot.done) {
                    return Err(self.failure(Reason::Deadlock, None));
                }
                if !self.start_held()? {
                    return Ok(());
                }
                continue;
            }
            self.turn()?;
            if self.clock > self.options.step_limit {
                return Err(self.failure(Reason::StepLimit { limit: self.options.step_limit }, None));
            }
        }
    }

    /// New speeds for everyone, for a random while.
    fn change_mood(&mut self) -> Result<(), Stopped> {
        for device in 0..self.devices.len() {
            self.start_due(device)?;
        }
        for device in &mut self.devices {
            device.slowness = self.rng.pick(&[0, 3, 6], 0);
        }
        for slot in &mut self.slots {
            slot.slowness = self.rng.pick(&[0, 0, 0, 3], 0);
        }
        self.next_mood = self.clock + (1 << (9 + self.rng.below(6)));
        Ok(())
    }

    /// One turn of one wave.
    fn turn(&mut self) -> Result<(), Stopped> {
        let position = usize::try_from(self.rng.below(self.live.len() as u64)).unwrap_or(0);
        let Some(index) = self.live.get(position).copied() else { return Ok(()) };
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let Some(device) = self.devices.get(slot.device) else { return Ok(()) };
        if slot.paused_until > self.clock || !self.rng.one_in_power(device.slowness + slot.slowness) {
            // Time passes even when nobody does anything, or a machine of sleepers would stand still.
            self.clock += u64::from(slot.paused_until > self.clock);
            return Ok(());
        }
        let clock_offset = device.clock_offset;
        let (Some(block), Some(thread)) = (self.blocks.get_mut(slot.block), slot.thread.as_mut()) else {
            return Ok(());
        };
        let phase = block.barrier.phase();
        let mut context = Context {
            memory: &mut self.machine.memory,
            rng: &mut self.rng,
            barrier: &mut block.barrier,
            shared: &mut block.shared,
            clock: &mut self.clock,
            clock_offset,
        };
        let outcome = thread.run(&mut context);
        self.machine.memory.background(&mut self.rng);
        let turn = match outcome {
            Ok(turn) => turn,
            Err(fault) => return Err(self.failure(Reason::Fault(fault), Some(index))),
        };
        match turn {
            Turn::Again => {}
            Turn::Pause(steps) => slot.paused_until = self.clock + steps,
            Turn::Blocked => {
                slot.blocked = true;
                self.live.swap_remove(position);
            }
            Turn::Done => {
                slot.done = true;
                self.live.swap_remove(position);
                block.barrier.leave();
                block.left -= 1;
            }
        }
        let (block_index, device) = (slot.block, slot.device);
        let ended = turn == Turn::Done && block.left == 0;
        if block.barrier.phase() != phase {
            self.release(block_index);
        }
        if ended { self.end_block(device) } else { Ok(()) }
    }

    /// The barrier of a block completed: its waiting waves go on.
    fn release(&mut self, block: usize) {
        let Some(range) = self.blocks.get(block).map(|block| block.slots.clone()) else { return };
        for index in range {
            if let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.blocked) {
                slot.blocked = false;
                self.live.push(index);
            }
        }
    }

    fn end_block(&mut self, device: usize) -> Result<(), Stopped> {
        let Some(active) = self.devices.get_mut(device).and_then(|device| device.active.as_mut()) else {
            return Ok(());
        };
        active.blocks_left -= 1;
        if active.blocks_left == 0 {
            active.ends = Some(self.clock + self.rng.below(256));
            self.ending += 1;
            return Ok(());
        }
        self.start_block(device).map_err(|fault| self.failure(Reason::Fault(fault), None))
    }

    /// Ends launches whose waves have ended, when their time has come or nobody else has anything to do.
    fn end_launches(&mut self) -> Result<(), Stopped> {
        for device in 0..self.devices.len() {
            let ends = self.devices.get(device).and_then(|run| run.active.as_ref()?.ends);
            if ends.is_some_and(|clock| clock <= self.clock || self.live.is_empty()) {
                self.ending -= 1;
                self.end_launch(device);
                self.report.launches += 1;
                self.advance(device, false)?;
            }
        }
        Ok(())
    }

    /// Ends the launch of a device: what its kernel wrote is visible to all.
    fn end_launch(&mut self, device: usize) {
        let Some(active) = self.devices.get_mut(device).and_then(|device| device.active.take()) else { return };
        self.machine.memory.end_kernel(handle(device), &mut self.rng);
        self.machine.memory.free(active.arguments);
        for slot in self.slots.iter_mut().filter(|slot| slot.device == device) {
            slot.thread = None;
        }
    }

    /// Works off a device's queue up to a launch that runs or has to wait.
    fn advance(&mut self, device: usize, held_may_start: bool) -> Result<(), Stopped> {
        while let Some(command) = self.machine.queues.get_mut(device).and_then(std::collections::VecDeque::pop_front) {
            let done = match command {
                Command::Write { address, bytes } => self.machine.memory.write(address, &bytes),
                Command::Read { address, length } => {
                    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
                    let done = self.machine.memory.read(address, &mut bytes);
                    if let Some(reads) = self.report.reads.get_mut(device) {
                        reads.push(bytes);
                    }
                    done
                }
                Command::Launch(launch) => {
                    let starts = match launch.start {
                        Start::AtOnce => true,
                        Start::After(clock) => held_may_start || self.clock >= clock,
                        Start::AfterOthers => held_may_start,
                    };
                    if !starts {
                        if let Some(queue) = self.machine.queues.get_mut(device) {
                            queue.push_front(Command::Launch(launch));
                        }
                        return Ok(());
                    }
                    match self.start_launch(device, launch) {
                        Ok(()) => return Ok(()),
                        Err(fault) => Err(fault),
                    }
                }
            };
            done.map_err(|fault| self.failure(Reason::Fault(fault), None))?;
        }
        Ok(())
    }

    /// Starts launches whose time has come.
    fn start_due(&mut self, device: usize) -> Result<(), Stopped> {
        let idle = self.devices.get(device).is_some_and(|run| run.active.is_none());
        let due = matches!(
            self.machine.queues.get(device).and_then(|queue| queue.front()),
            Some(Command::Launch(Launch { start: Start::After(clock), .. })) if *clock <= self.clock
        );
        if idle && due { self.advance(device, true) } else { Ok(()) }
    }

    /// Nothing can run: time jumps to the next launch that waits for its time, else to those that wait for all
    /// others. Returns whether anything was started.
    fn start_held(&mut self) -> Result<bool, Stopped> {
        let fronts =
            || self.machine.queues.iter().enumerate().filter_map(|(device, queue)| Some((device, queue.front()?)));
        let next = fronts()
            .filter_map(|(device, command)| match command {
                Command::Launch(Launch { start: Start::After(clock), .. }) => Some((*clock, device)),
                _ => None,
            })
            .min();
        if let Some((clock, device)) = next {
            self.clock = self.clock.max(clock);
            self.advance(device, true)?;
            return Ok(true);
        }
        let held: Vec<usize> = fronts().map(|(device, _)| device).collect();
        for device in &held {
            self.advance(*device, true)?;
        }
        Ok(!held.is_empty())
    }

    fn start_launch(&mut self, device: usize, launch: Launch) -> Result<(), Fault> {
        let memory = &mut self.machine.memory;
        // Loaders map argument buffers in units of at least 64 bytes, and a wide scalar load may read up to there.
        let mut bytes = launch.arguments.clone();
        let padded = bytes.len().max(1).next_multiple_of(64);
        bytes.resize_with(padded, || self.rng.next().to_le_bytes()[0]);
        let arguments = memory.allocate("arguments", handle(device), padded as u64, 0, Access::ReadOnly)?;
        memory.write(arguments, &bytes)?;
        memory.begin_kernel(handle(device));
        let (blocks, resident) = (launch.blocks, launch.resident.unwrap_or(launch.blocks).min(launch.blocks));
        if let Some(run) = self.devices.get_mut(device) {
            run.active = Some(Active { launch, arguments, next_block: 0, blocks_left: blocks, ends: None });
        }
        for _ in 0..resident {
            self.start_block(device)?;
        }
        Ok(())
    }

    /// Starts the next block of a device's launch, if one is left.
    fn start_block(&mut self, device: usize) -> Result<(), Fault> {
        let Some(active) = self.devices.get_mut(device).and_then(|device| device.active.as_mut()) else {
            return Ok(());
        };
        if active.next_block == active.launch.blocks {
            return Ok(());
        }
        let number = active.next_block;
        active.next_block += 1;
        let start = BlockStart {
            device: handle(device),
            block: number,
            blocks: active.launch.blocks,
            unique: u32::try_from(self.blocks.len()).unwrap_or(u32::MAX),
            threads: active.launch.threads,
            arguments: active.arguments,
        };
        let threads = active.launch.kernel.0.clone().start_block(start, &mut self.machine.memory, &mut self.rng)?;
        let words = active.launch.kernel.0.shared_bytes().div_ceil(4);
        // What the last kernel left: zeros as often as noise, since a flag that nobody wrote may read as either.
        let noise = if self.rng.one_in(2) { u64::from(u32::MAX) } else { 0 };
        let shared = (0..words).map(|_| (self.rng.next() & noise & 0xFFFF_FFFF) as u32).collect();
        let members = u32::try_from(threads.len()).unwrap_or(u32::MAX);
        let block = self.blocks.len();
        let slots = self.slots.len()..self.slots.len() + threads.len();
        self.blocks.push(Block { device, number, barrier: Barrier::new(members), shared, slots, left: threads.len() });
        for thread in threads {
            self.live.push(self.slots.len());
            let slowness = self.rng.pick(&[0, 0, 0, 3], 0);
            self.slots.push(Slot {
                thread: Some(thread),
                block,
                device,
                slowness,
                paused_until: 0,
                blocked: false,
                done: false,
            });
        }
        Ok(())
    }

    /// A failure with the last operations of every wave of the launches that were running.
    fn failure(&self, reason: Reason, slot: Option<usize>) -> Stopped {
        let memory = &self.machine.memory;
        let at = slot.and_then(|index| self.slots.get(index));
        let place = |slot: &Slot| self.blocks.get(slot.block).map_or((0, 0), |block| (block.device, block.number));
        let mut trace: Vec<TraceLine> = self
            .slots
            .iter()
            .filter_map(|slot| Some((slot, slot.thread.as_ref()?)))
            .flat_map(|(slot, thread)| {
                let (rank, block) = place(slot);
                let (kind, number) = (thread.kind(), thread.number());
                thread.trace().into_iter().map(move |(record, instruction)| TraceLine {
                    clock: record.clock,
                    rank,
                    block,
                    kind,
                    number,
                    instruction,
                    address: memory.describe(record.address),
                    value: record.value,
                    times: record.times,
                })
            })
            .collect();
        trace.sort();
        let surplus = trace.len().saturating_sub(TRACE_LINES);
        trace.drain(..surplus);
        let (place, instruction) =
            at.and_then(|slot| Some((slot, slot.thread.as_ref()?))).map_or_else(Default::default, |(slot, thread)| {
                let (rank, block) = place(slot);
                (format!("rank {rank} block {block} {} {}", thread.kind(), thread.number()), thread.instruction())
            });
        Box::new(Failure { reason, place, instruction, trace })
    }
}

/// Lines of a failure's trace.
const TRACE_LINES: usize = 40;

fn handle(device: usize) -> Device {
    Device(u16::try_from(device).unwrap_or(u16::MAX))
}
