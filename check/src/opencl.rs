//! Runs SPIR-V modules on an OpenCL device that takes plain host pointers, one process per rank.
//!
//! On a CPU this is a functional check only: x86 orders stores more strongly than the contract asks
//! for, so a missing fence does not show here.

use xreduce_contract::manifest::Format;
use xreduce_launch::{Argument, Error, Group, Options};

use crate::backend::{Backend, BackendError, Launch, Limits, ModuleBytes, Region, Session, Sharing, Value};

/// Memory for all ranks together; the system gives pages as they are touched.
const MEMORY: u64 = 1 << 28;
/// Guard bytes before, between and after regions; also their alignment.
const GAP: u64 = 256;
const GUARD: u8 = 0xB7;

/// The system's OpenCL loader and the first device that fits. The loader reads its own environment
/// variables (`OCL_ICD_VENDORS`), so that a caller can point it at a runtime that is not installed.
#[derive(Debug, Clone)]
pub struct OpenCl {
    /// Argument with which this program calls [`xreduce_launch::rank_main`].
    pub rank_argument: String,
}

struct OpenClSession {
    group: Group,
    regions: Vec<(u64, u64)>,
    /// First byte that no region has.
    next: u64,
}

impl Backend for OpenCl {
    fn name(&self) -> &'static str {
        "opencl"
    }

    fn runs(&self, format: &Format) -> bool {
        matches!(format, Format::Spirv { .. })
    }

    fn open(&self, module: &ModuleBytes<'_>) -> Result<Box<dyn Session>, BackendError> {
        let ranks = module.world.ranks() as usize;
        let memory = usize::try_from(MEMORY).map_err(BackendError::unable)?;
        let options = Options::this_program(ranks, memory, &self.rank_argument).map_err(BackendError::unable)?;
        let mut group = Group::start(&options).map_err(BackendError::unable)?;
        group.load(module.bytes).map_err(|error| BackendError::unable(format!("{}: {error}", module.name)))?;
        Ok(Box::new(OpenClSession { group, regions: Vec::new(), next: GAP }))
    }
}

impl OpenClSession {
    /// The place of a part of a region in the shared memory.
    fn place(&self, region: Region, offset: u64, bytes: u64) -> Result<u64, BackendError> {
        let found =
            self.regions.get(region.0).filter(|(_, size)| offset.checked_add(bytes).is_some_and(|end| end <= *size));
        let outside = || BackendError::unable(format!("bytes {offset} + {bytes} are outside region {}", region.0));
        found.map(|(start, _)| start + offset).ok_or_else(outside)
    }

    /// Guard bytes around the regions that a kernel has changed.
    fn verify_guards(&self) -> Result<(), BackendError> {
        for (index, (start, size)) in self.regions.iter().enumerate() {
            // What aligns the next region is guard as well.
            let end = start + size;
            for (from, bytes) in [(start - GAP, GAP), (end, end.next_multiple_of(GAP) - end + GAP)] {
                let mut saw = vec![0; usize::try_from(bytes).map_err(BackendError::unable)?];
                self.group.read(from, &mut saw).map_err(BackendError::unable)?;
                let Some(at) = saw.iter().position(|byte| *byte != GUARD) else { continue };
                let offset = i128::from(from) + at as i128 - i128::from(*start);
                return Err(BackendError::kernel(format!(
                    "a kernel wrote to byte {offset} of region {index}, which has {size} bytes"
                )));
            }
        }
        Ok(())
    }
}

impl Session for OpenClSession {
    fn device(&self) -> String {
        self.group.devices().first().map_or_else(String::new, |device| format!("{} ({})", device.name, device.driver))
    }

    fn limits(&self) -> Limits {
        let device = self.group.devices().first();
        Limits {
            blocks: device.map_or(1, |device| device.compute_units).clamp(1, 8),
            threads: device.map_or(1, |device| u32::try_from(device.max_group_size).unwrap_or(u32::MAX)).min(256),
            inbox_bytes: 1 << 16,
            burst: 1,
            // Polls, of about 150 ns. The ranks take turns on few cores: minutes of one, and less than
            // the launcher's patience, against about one second.
            ample_spin: 1 << 30,
            short_spin: 1 << 23,
        }
    }

    fn clear(&mut self) {
        self.regions.clear();
        self.next = GAP;
    }

    fn allocate(&mut self, _rank: u32, bytes: u64, _sharing: Sharing) -> Result<Region, BackendError> {
        let start = self.next;
        let end = start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(GAP));
        let Some(end) = end.map(|end| end + GAP).filter(|end| *end <= MEMORY) else {
            return Err(BackendError::unable(format!("{bytes} bytes more than the {MEMORY} shared ones")));
        };
        let size = usize::try_from(end - start + GAP).map_err(BackendError::unable)?;
        self.group.fill(start - GAP, size, GUARD).map_err(BackendError::unable)?;
        self.regions.push((start, bytes));
        self.next = end;
        Ok(Region(self.regions.len() - 1))
    }

    fn write(&mut self, region: Region, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
        let place = self.place(region, offset, bytes.len() as u64)?;
        self.group.write(place, bytes).map_err(BackendError::unable)
    }

    fn read(&mut self, region: Region, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        let place = self.place(region, offset, bytes.len() as u64)?;
        self.group.read(place, bytes).map_err(BackendError::unable)
    }

    fn launch(&mut self, launches: &[Launch], _seed: u64) -> Result<(), BackendError> {
        let argument = |value: &Value| match value {
            Value::Address { region, offset } => self.place(*region, *offset, 0).map(Argument::Pointer),
            Value::Word(word) => Ok(Argument::Word(*word)),
        };
        let launches = launches.iter().map(|launch| {
            let arguments = launch.arguments.iter().map(argument).collect::<Result<_, BackendError>>()?;
            let rank = launch.rank as usize;
            let kernel = launch.symbol.clone();
            Ok(xreduce_launch::Launch { rank, kernel, arguments, blocks: launch.blocks, threads: launch.threads })
        });
        let launches = launches.collect::<Result<Vec<_>, BackendError>>()?;
        self.group.launch(&launches).map_err(|error| match error {
            Error::Died { .. } | Error::Silent { .. } => BackendError::kernel(error),
            _ => BackendError::unable(error),
        })?;
        self.verify_guards()
    }
}
