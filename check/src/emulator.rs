//! Runs AMDGPU code objects and PTX modules on the emulator: every rank a device of one machine, under the weak-memory adversary.
//!
//! The launch's seed decides everything that hardware is free to decide.

use xreduce_contract::manifest::Format;
use xreduce_emulate::amdgpu::{CodeObject, Decoder};
use xreduce_emulate::ptx;
use xreduce_emulate::{Access, Device, Failure, Kernel, LoadError, Machine, Reason, RunOptions};

use crate::backend::{Backend, BackendError, Launch, Limits, ModuleBytes, Region, Session, Sharing, Value};

/// The emulator, with the disassembler that it reads machine code by.
pub struct Emulator {
    /// LLVM's disassembler.
    pub decoder: Box<dyn Decoder + Send + Sync>,
    /// Wave instructions after which a launch counts as hung; where threads are emulated one by one, thread
    /// instructions, four times as many.
    pub step_limit: u64,
}

impl Emulator {
    /// The word for it on the command line and in reports.
    pub const NAME: &str = "emulator";

    /// An emulator with the usual limit.
    #[must_use]
    pub fn new(decoder: Box<dyn Decoder + Send + Sync>) -> Self {
        Emulator { decoder, step_limit: 10_000_000 }
    }
}

/// A module in the hands of its front end.
enum Object {
    Amd(CodeObject),
    Ptx(ptx::Module),
}

impl Object {
    fn load(bytes: &[u8], decoder: &dyn Decoder) -> Result<Self, LoadError> {
        // Code objects are ELF files; PTX is text.
        if bytes.starts_with(b"\x7FELF") {
            CodeObject::load(bytes, decoder).map(Object::Amd)
        } else {
            ptx::Module::load(bytes).map(Object::Ptx)
        }
    }

    fn kernel(&self, name: &str) -> Option<&Kernel> {
        match self {
            Object::Amd(object) => object.kernel(name),
            Object::Ptx(module) => module.kernel(name),
        }
    }

    fn processor(&self) -> &str {
        match self {
            Object::Amd(object) => object.target().processor,
            Object::Ptx(module) => module.target(),
        }
    }
}

struct EmulatorSession {
    object: Object,
    machine: Machine,
    devices: Vec<Device>,
    ranks: u32,
    /// Address and size.
    regions: Vec<(u64, u64)>,
    step_limit: u64,
}

impl Backend for Emulator {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn runs(&self, format: &Format) -> bool {
        matches!(format, Format::Hsaco { .. } | Format::Ptx { .. })
    }

    fn open(&self, module: &ModuleBytes<'_>) -> Result<Box<dyn Session>, BackendError> {
        let object = Object::load(module.bytes, self.decoder.as_ref())
            .map_err(|error| BackendError::unable(format!("{}: {error}", module.name)))?;
        let steps = if matches!(object, Object::Amd(_)) { 1 } else { 4 };
        let mut session = EmulatorSession {
            object,
            machine: Machine::new(),
            devices: Vec::new(),
            ranks: module.world.ranks(),
            regions: Vec::new(),
            step_limit: self.step_limit * steps,
        };
        session.clear();
        Ok(Box::new(session))
    }
}

impl EmulatorSession {
    /// Address of a part of a region.
    fn place(&self, region: Region, offset: u64, bytes: u64) -> Result<u64, BackendError> {
        let found =
            self.regions.get(region.0).filter(|(_, size)| offset.checked_add(bytes).is_some_and(|end| end <= *size));
        let outside = || BackendError::unable(format!("bytes {offset} + {bytes} are outside region {}", region.0));
        found.map(|(start, _)| start + offset).ok_or_else(outside)
    }

    fn device(&self, rank: u32) -> Result<Device, BackendError> {
        self.devices.get(rank as usize).copied().ok_or_else(|| BackendError::unable(format!("there is no rank {rank}")))
    }
}

/// A failure and the last memory operations before it, a line each.
fn describe(failure: &Failure) -> String {
    failure.trace.iter().fold(failure.to_string(), |text, line| format!("{text}\n  {line}"))
}

impl Session for EmulatorSession {
    fn device(&self) -> String {
        format!("{}, emulated", self.object.processor())
    }

    fn limits(&self) -> Limits {
        // A wave is executed as one; threads that are executed one by one cost more and show as much.
        let (threads, inbox_bytes) = if matches!(self.object, Object::Amd(_)) { (256, 1 << 13) } else { (64, 1 << 11) };
        Limits {
            blocks: 4,
            threads,
            inbox_bytes,
            burst: 4,
            // Microseconds; the emulated clock makes a hundredth of one per instruction, and a launch has at
            // most some millions of those.
            ample_spin: u32::MAX,
            short_spin: 10_000,
        }
    }

    fn clear(&mut self) {
        self.machine = Machine::new();
        self.devices = (0..self.ranks).map(|_| self.machine.add_device()).collect();
        self.regions.clear();
    }

    fn allocate(&mut self, rank: u32, bytes: u64, sharing: Sharing) -> Result<Region, BackendError> {
        let device = self.device(rank)?;
        let (name, access) = match sharing {
            Sharing::Peers => (format!("workspace_{rank}"), Access::Shared),
            Sharing::Own => (format!("buffer of rank {rank}"), Access::Private),
        };
        let address = self.machine.allocate(&name, device, bytes, 0, access).map_err(BackendError::unable)?;
        self.regions.push((address, bytes));
        Ok(Region(self.regions.len() - 1))
    }

    fn write(&mut self, region: Region, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
        let place = self.place(region, offset, bytes.len() as u64)?;
        self.machine.write(place, bytes).map_err(BackendError::unable)
    }

    fn read(&mut self, region: Region, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        let place = self.place(region, offset, bytes.len() as u64)?;
        self.machine.read(place, bytes).map_err(BackendError::unable)
    }

    fn launch(&mut self, launches: &[Launch], seed: u64) -> Result<(), BackendError> {
        for launch in launches {
            let kernel = self.object.kernel(&launch.symbol);
            let kernel = kernel.ok_or_else(|| BackendError::unable(format!("no kernel {}", launch.symbol)))?.clone();
            let mut arguments = Vec::new();
            for value in &launch.arguments {
                match value {
                    Value::Address { region, offset } => {
                        arguments.resize(arguments.len().next_multiple_of(8), 0);
                        arguments.extend(self.place(*region, *offset, 0)?.to_le_bytes());
                    }
                    Value::Word(word) => arguments.extend(word.to_le_bytes()),
                }
            }
            let launched = xreduce_emulate::Launch::new(&kernel, launch.blocks, launch.threads, arguments);
            self.machine.launch(self.device(launch.rank)?, launched).map_err(BackendError::unable)?;
        }
        let options = RunOptions { step_limit: self.step_limit, drained_at_end: true, ..RunOptions::new(seed) };
        self.machine.run(&options).map(|_| ()).map_err(|failure| match &failure.reason {
            Reason::Fault(fault) if fault.is_internal() => BackendError::unable(describe(&failure)),
            _ => BackendError::kernel(describe(&failure)),
        })
    }
}
