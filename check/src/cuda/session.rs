//! A module on all its ranks, as the check of plans needs it.

use xreduce_launch::cuda::{Arguments, Error, Geometry, Graph, Memory, Queued, Ranks};

use super::Health;
use super::kernels::Kernels;
use crate::backend::{BackendError, Launch, Limits, ModuleBytes, Region, Session, Sharing, Value};

pub(super) struct CudaSession {
    /// Before the ranks: memory goes before its stream.
    regions: Vec<(u32, Memory)>,
    kernels: Kernels,
    ranks: Ranks,
    health: Health,
}

impl CudaSession {
    pub(super) fn open(ranks: Ranks, module: &ModuleBytes<'_>, health: Health) -> Result<Self, BackendError> {
        let kernels = Kernels::load(&ranks, module.name, module.bytes).map_err(|error| health.told(&error))?;
        Ok(Self { regions: Vec::new(), kernels, ranks, health })
    }
    fn told(&self, error: &Error) -> BackendError {
        self.health.told(error)
    }

    fn region(&self, region: Region) -> Result<(u32, &Memory), Error> {
        let found = self.regions.get(region.0).map(|(rank, memory)| (*rank, memory));
        found.ok_or_else(|| Error::Argument(format!("there is no region {}", region.0)))
    }

    /// A launch as it is queued. One that could not be resident with the other ranks' is refused.
    fn queued(&self, launch: &Launch, dependent: bool) -> Result<Queued, Error> {
        if launch.blocks > self.kernels.blocks() {
            return Err(Error::Argument(format!(
                "{}: of {} blocks on every rank, only {} are surely resident at once on {}, and blocks wait for each other",
                launch.symbol,
                launch.blocks,
                self.kernels.blocks(),
                self.ranks.device()
            )));
        }
        let function = self.kernels.get(launch.rank, &launch.symbol)?;
        let mut arguments = Arguments::new();
        for value in &launch.arguments {
            arguments = match value {
                Value::Address { region, offset } => arguments.address(self.region(*region)?.1.at(*offset, 0)?),
                Value::Word(word) => arguments.word(*word),
            };
        }
        let geometry = Geometry { blocks: launch.blocks, threads: launch.threads, dependent };
        Ok(Queued { function: function.clone(), geometry, arguments })
    }

    fn run(&self, launches: &[Launch], seed: u64) -> Result<(), Error> {
        let (as_graph, dependent) = (seed & 1 != 0, seed & 2 != 0 && self.kernels.may_overlap());
        let mut queues: Vec<Vec<Queued>> = self.ranks.iter().map(|_| Vec::new()).collect();
        for launch in launches {
            let Some(queue) = queues.get_mut(launch.rank as usize) else {
                return Err(Error::Argument(format!("there is no rank {}", launch.rank)));
            };
            // The first has no kernel before it that it could start with.
            queue.push(self.queued(launch, dependent && !queue.is_empty())?);
        }
        let mut streams: Vec<_> = { self.ranks.iter() }.map(|rank| &rank.stream).zip(queues).collect();
        let ranks = streams.len() as u64;
        streams.rotate_left(usize::try_from((seed >> 2) % ranks.max(1)).unwrap_or(0));
        // Graphs are made before anything runs, so that the ranks start close together.
        let mut graphs: Vec<Graph> = Vec::new();
        if as_graph {
            for (stream, queue) in &streams {
                graphs.push(stream.capture(|stream| queue.iter().try_for_each(|kernel| kernel.launch(stream)))?);
            }
        }
        let started: Result<(), Error> = if as_graph {
            streams.iter().zip(&graphs).try_for_each(|((stream, _), graph)| stream.replay(graph))
        } else {
            streams.iter().try_for_each(|(stream, queue)| queue.iter().try_for_each(|kernel| kernel.launch(stream)))
        };
        // What did start is waited for in any case: it uses memory.
        let ended = self.ranks.synchronize();
        started.and(ended)
    }
}

impl Session for CudaSession {
    fn device(&self) -> String {
        self.ranks.device().to_owned()
    }

    fn limits(&self) -> Limits {
        Limits {
            blocks: self.kernels.blocks(),
            threads: self.kernels.threads(),
            inbox_bytes: 1 << 16,
            burst: 8,
            // Microseconds.
            ample_spin: 10_000_000,
            short_spin: 20_000,
        }
    }

    fn clear(&mut self) {
        self.regions.clear();
    }

    fn allocate(&mut self, rank: u32, bytes: u64, _sharing: Sharing) -> Result<Region, BackendError> {
        let memory = self.ranks.rank(rank).and_then(|rank| rank.context.allocate(bytes));
        self.regions.push((rank, memory.map_err(|error| self.told(&error))?));
        Ok(Region(self.regions.len() - 1))
    }

    fn write(&mut self, region: Region, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
        let (rank, memory) = self.region(region).map_err(|error| self.told(&error))?;
        let written = self.ranks.rank(rank).and_then(|rank| rank.stream.copy_in(memory, offset, bytes));
        written.map_err(|error| self.told(&error))
    }

    fn read(&mut self, region: Region, offset: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        let (rank, memory) = self.region(region).map_err(|error| self.told(&error))?;
        let read = self.ranks.rank(rank).and_then(|rank| rank.stream.copy_out(memory, offset, bytes));
        read.map_err(|error| self.told(&error))
    }

    fn launch(&mut self, launches: &[Launch], seed: u64) -> Result<(), BackendError> {
        self.run(launches, seed).map_err(|error| self.told(&error))
    }
}
