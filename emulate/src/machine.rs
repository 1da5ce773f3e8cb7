//! The machine: devices with memory and a queue of work each, and the run that executes all queues together.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::error::{Failure, Fault, FaultKind};
use crate::memory::{Access, Device, Memory};
use crate::schedule::Schedule;
use crate::thread::{Model, Program};

/// A loaded kernel. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(pub(crate) Rc<dyn Program>);

impl Kernel {
    /// Symbol of the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Size of its argument buffer, bytes.
    #[must_use]
    pub fn argument_bytes(&self) -> u64 {
        self.0.argument_bytes()
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.name()).finish()
    }
}

/// When a launch may start, once the work queued before it on its device has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At once.
    AtOnce,
    /// When the machine has executed so many wave instructions.
    After(u64),
    /// When nothing else can run any more: the rank that comes after the others gave up.
    AfterOthers,
}

/// One kernel launch, one-dimensional.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What to run.
    pub kernel: Kernel,
    /// Blocks (work-groups) in the grid.
    pub blocks: u32,
    /// Threads (work-items) of a block.
    pub threads: u32,
    /// The argument buffer, laid out as the kernel's ABI says.
    pub arguments: Vec<u8>,
    /// When it starts.
    pub start: Start,
    /// Blocks that run at the same time; the others start as these end. `None`: all of them, as the contract demands.
    pub resident: Option<u32>,
}

impl Launch {
    /// A launch that starts at once with all its blocks.
    #[must_use]
    pub fn new(kernel: &Kernel, blocks: u32, threads: u32, arguments: Vec<u8>) -> Self {
        Launch { kernel: kernel.clone(), blocks, threads, arguments, start: Start::AtOnce, resident: None }
    }
}

/// Work of a device, done in order.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Launch(Launch),
    Write { address: u64, bytes: Vec<u8> },
    Read { address: u64, length: u64 },
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Seed of every random choice of the run.
    pub seed: u64,
    /// Wave instructions after which a run is a livelock.
    pub step_limit: u64,
    /// Whether the weak-memory adversary is at work; without it memory is sequentially consistent and only the
    /// order of waves is random.
    pub weak_memory: bool,
    /// Whether a wave that ends with a store to shared memory under way is a fault. Hardware completes such stores at
    /// the end of the kernel; a protocol may demand more.
    pub drained_at_end: bool,
}

impl RunOptions {
    /// A run under the adversary.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        RunOptions { seed, step_limit: 50_000_000, weak_memory: true, drained_at_end: false }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Wave instructions executed.
    pub steps: u64,
    /// Launches that ended.
    pub launches: u64,
    /// Results of the queued reads, by device, in the order they were queued.
    pub reads: Vec<Vec<Vec<u8>>>,
}

/// Devices, their memory and their queues.
#[derive(Debug, Default)]
pub struct Machine {
    pub(crate) memory: Memory,
    pub(crate) queues: Vec<VecDeque<Command>>,
    /// Of all its kernels.
    model: Option<Model>,
}

impl Machine {
    /// A machine without devices.
    #[must_use]
    pub fn new() -> Self {
        Machine::default()
    }

    /// Adds a device, which has one queue.
    pub fn add_device(&mut self) -> Device {
        self.queues.push(VecDeque::new());
        self.memory.add_device()
    }

    /// Makes a region of `length` zero bytes that belongs to `device` and returns its address. Its first byte is
    /// `skew` bytes (below 4096) after a multiple of 4096. `name` is for reports.
    ///
    /// # Errors
    /// [`FaultKind::TooLarge`].
    pub fn allocate(
        &mut self,
        name: &str,
        device: Device,
        length: u64,
        skew: u64,
        access: Access,
    ) -> Result<u64, Fault> {
        self.memory.allocate(name, device, length, skew, access)
    }

    /// Takes a region away; a later access to it is a fault.
    pub fn free(&mut self, address: u64) {
        self.memory.free(address);
    }

    /// Reads memory between runs.
    ///
    /// # Errors
    /// [`FaultKind::Unmapped`] when the range is in no region.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.memory.read(address, bytes)
    }

    /// Writes memory between runs.
    ///
    /// # Errors
    /// [`FaultKind::Unmapped`] when the range is in no region.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.memory.write(address, bytes)
    }

    /// Queues a launch on a device.
    ///
    /// # Errors
    /// [`FaultKind::Launch`] when the arguments or the geometry do not fit the kernel.
    pub fn launch(&mut self, device: Device, launch: Launch) -> Result<(), Fault> {
        let wrong = |what: String| Err(Fault::new(FaultKind::Launch { what }));
        let (kernel, given) = (&launch.kernel, launch.arguments.len() as u64);
        if given != kernel.argument_bytes() {
            return wrong(format!(
                "{} takes {} bytes of arguments, not {given}",
                kernel.name(),
                kernel.argument_bytes()
            ));
        }
        let most = kernel.0.max_threads();
        if launch.blocks == 0 || launch.resident == Some(0) || launch.threads == 0 || launch.threads > most {
            return wrong(format!(
                "{} with {} blocks of {} threads (at most {most})",
                kernel.name(),
                launch.blocks,
                launch.threads
            ));
        }
        if *self.model.get_or_insert(kernel.0.model()) != kernel.0.model() {
            return wrong(format!("{} follows another memory model than the kernels before it", kernel.name()));
        }
        self.queue(device, Command::Launch(launch))
    }

    /// Queues a write of memory by the host, after the work queued before it on this device.
    ///
    /// # Errors
    /// [`FaultKind::Launch`] for a device of another machine.
    pub fn queue_write(&mut self, device: Device, address: u64, bytes: Vec<u8>) -> Result<(), Fault> {
        self.queue(device, Command::Write { address, bytes })
    }

    /// Queues a read of memory by the host; its result is in the run's report.
    ///
    /// # Errors
    /// [`FaultKind::Launch`] for a device of another machine.
    pub fn queue_read(&mut self, device: Device, address: u64, length: u64) -> Result<(), Fault> {
        self.queue(device, Command::Read { address, length })
    }

    fn queue(&mut self, device: Device, command: Command) -> Result<(), Fault> {
        match self.queues.get_mut(device.index()) {
            Some(queue) => {
                queue.push_back(command);
                Ok(())
            }
            None => Err(Fault::new(FaultKind::Launch { what: "no such device".to_owned() })),
        }
    }

    /// Executes all queues to their ends, waves interleaved as the seed says.
    ///
    /// # Errors
    /// A [`Failure`] ends the run; what is left in the queues is dropped, and memory is as the kernels left it.
    pub fn run(&mut self, options: &RunOptions) -> Result<RunReport, Box<Failure>> {
        Schedule::new(self, options).run()
    }
}
