//! Ranks placed on devices: one each where there are enough that reach each other's memory, otherwise all on one.
//!
//! Kernels of ranks that share a device wait for each other, so all their blocks must be resident at the same time. How
//! many are: the occupancy that the driver computes. A block finds no room on a multiprocessor only if the others on it
//! use more of some resource than its total less the block's own need; so if `n` blocks of the most demanding kernel
//! fit, at least `n` blocks of any of the kernels are resident on a full multiprocessor.

use super::arguments::Arguments;
use super::device::{Context, Device, Driver};
use super::error::Error;
use super::module::{Function, Module};
use super::stream::{Geometry, Stream};

/// One rank's place.
#[derive(Debug)]
pub struct Rank {
    /// Its device's context.
    pub context: Context,
    /// Its own stream.
    pub stream: Stream,
}

/// All ranks' places.
#[derive(Debug)]
pub struct Ranks {
    ranks: Vec<Rank>,
    /// Ranks on one device.
    sharing: u32,
    device: String,
    compute_units: u32,
}

/// Bytes of the allocation by which a context's copies and fills are tried before any kernel waits.
const TRIED: u64 = 256;

impl Ranks {
    /// Places `world` ranks on devices of this compute capability (as in `sm_90`) or a higher one.
    ///
    /// # Errors
    /// [`Error::Argument`] if no device is capable; else the driver's.
    pub fn place(driver: &Driver, world: u32, capability: u32) -> Result<Self, Error> {
        let mut capable = Vec::new();
        for device in driver.devices()? {
            if device.capability()? >= capability {
                capable.push(device);
            }
        }
        let Some(first) = capable.first().cloned() else {
            return Err(Error::Argument(format!("no device of compute capability sm_{capability} or higher")));
        };
        capable.truncate(world as usize);
        let apart = capable.len() == world as usize && reach_each_other(&capable)?;
        let devices = if apart { capable } else { vec![first.clone(); world as usize] };
        let contexts: Vec<Context> = devices.iter().map(Device::context).collect::<Result<_, _>>()?;
        let mut compute_units = u32::MAX;
        let mut ranks = Vec::new();
        for context in &contexts {
            for peer in &contexts {
                context.enable_peer(peer)?;
            }
            compute_units = compute_units.min(context.device().compute_units()?);
            let stream = context.stream()?;
            // The driver loads its own kernels for these at their first use, which may wait for the device to be idle.
            let memory = context.allocate(TRIED)?;
            stream.fill(&memory, 0, TRIED, 0)?;
            stream.copy((&memory, 0), (&memory, TRIED / 2), TRIED / 2)?;
            stream.synchronize()?;
            ranks.push(Rank { context: context.clone(), stream });
        }
        let (name, version) = (first.name()?, driver.version()?);
        let placed = if apart { format!("{world} GPUs") } else { format!("{world} ranks on one GPU") };
        let device = format!("{name}, {placed}, driver for CUDA {version}");
        Ok(Self { ranks, sharing: if apart { 1 } else { world }, device, compute_units })
    }

    /// The places, by rank.
    pub fn iter(&self) -> std::slice::Iter<'_, Rank> {
        self.ranks.iter()
    }

    /// A rank's place.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such rank.
    pub fn rank(&self, rank: u32) -> Result<&Rank, Error> {
        self.ranks.get(rank as usize).ok_or_else(|| Error::Argument(format!("there is no rank {rank}")))
    }

    /// Device, placement and driver, for reports and evidence.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether the ranks share one device.
    #[must_use]
    pub fn share_a_device(&self) -> bool {
        self.sharing > 1
    }

    /// Loads a module for every rank, once per device.
    ///
    /// # Errors
    /// [`Error::Module`] with what the driver's compiler says.
    pub fn load(&self, name: &str, ptx: &[u8]) -> Result<Vec<Module>, Error> {
        let mut modules: Vec<Module> = Vec::new();
        for rank in &self.ranks {
            match modules.first() {
                Some(module) if self.share_a_device() => modules.push(module.clone()),
                _ => modules.push(rank.context.load(name, ptx)?),
            }
        }
        Ok(modules)
    }

    /// The most blocks of one launch of any of these kernels on every rank, with as many threads as the kernel allows, so that
    /// all ranks' blocks are resident at once, for `queued` launches of a rank at the same time: 1, or 2 if the
    /// next one may start before the last has ended (dependent launch).
    ///
    /// # Errors
    /// The driver's.
    pub fn resident_blocks(&self, functions: &[Function], queued: u32) -> Result<u32, Error> {
        let mut least = u32::MAX;
        for function in functions {
            least = least.min(function.blocks_per_compute_unit(function.max_threads()?)?);
        }
        Ok(least.saturating_mul(self.compute_units) / self.sharing / queued.max(1))
    }

    /// Waits for all ranks. All are waited for, also when one has failed.
    ///
    /// # Errors
    /// The first that a rank's work has caused.
    pub fn synchronize(&self) -> Result<(), Error> {
        let ended: Vec<Result<(), Error>> = self.ranks.iter().map(|rank| rank.stream.synchronize()).collect();
        ended.into_iter().collect()
    }
}

fn reach_each_other(devices: &[Device]) -> Result<bool, Error> {
    for device in devices {
        for peer in devices.iter().filter(|peer| peer.ordinal() != device.ordinal()) {
            if !device.can_access(peer)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Work to be queued on one stream: kernels, each after the other.
#[derive(Debug, Clone)]
pub struct Queued {
    /// The kernel.
    pub function: Function,
    /// Its launch.
    pub geometry: Geometry,
    /// Its arguments.
    pub arguments: Arguments,
}

impl Queued {
    /// Queues it.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&self, stream: &Stream) -> Result<(), Error> {
        stream.launch(&self.function, self.geometry, &self.arguments)
    }
}
