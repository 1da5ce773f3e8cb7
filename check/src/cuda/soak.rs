//! Many calls of a kernel with elements that are made once and results that are compared on the device.
//!
//! Calls come in bursts: every rank's outputs are poisoned, the burst's kernels follow each other without a pause, then
//! each output is compared, with guard bytes around it. A burst is queued directly or captured as a graph and replayed,
//! with or without dependent launch; messages are of every size up to the capacity, in and out of place, at any
//! alignment; each rank alternates between two grids; every third call is another kernel of the module. The workspaces
//! start at epochs from which the run crosses 2^31 and the wrap, and are compared with the contract now and then.
//! NaNs and the rank that does not come are left to the check of plans.

use std::collections::HashMap;

use xreduce_contract::{Element, Status, Workspace, epoch};
use xreduce_launch::cuda::{Error, Geometry, Memory, Ranks, Stream};

use super::call::CallArguments;
use super::compare::{Comparer, Difference, Wanted};
use super::kernels::Kernels;
use super::pool::Pool;
use super::{Cuda, Health};
use crate::backend::{Backend, BackendError, Limits, ModuleBytes};
use crate::bundle::{Bundle, BundleError};
use crate::fault::{Fault, Step, What};
use crate::plan::{Call, Callable, MAX_OFFSET};
use crate::random::Random;
use crate::report::{KernelReport, Outcome, Report};
use crate::run::Stop;
use crate::select::{Progress, Selection, callables};
use crate::state::{self, After};
use crate::values;

/// Capacity of an inbox, bytes.
const INBOX: u32 = 1 << 18;
/// Most calls of a burst.
const BURST: u32 = 8;
/// Most replays of a graph.
const REPLAYS: u32 = 4;
/// Bursts between two looks at the workspaces.
const LOOK: u64 = 32;
/// Guard bytes before and after an output.
const GUARD: u32 = 256;
/// What an output holds before a call.
const POISON: u8 = 0xA5;
/// Bytes of one output with what is around it.
const SLOT: u32 = 2 * GUARD + MAX_OFFSET * 4 + INBOX;
/// Bound of a wait, microseconds.
const SPIN_LIMIT: u32 = 10_000_000;

/// Makes `calls` calls of every selected kernel that runs here, at least; the selection's first seed draws them.
/// Kernels that the host orders are left out: they do not wait.
///
/// # Errors
/// [`BundleError`] if a module cannot be read. What a kernel or the device does wrong is in the report.
pub fn soak(
    bundle: &Bundle,
    cuda: &Cuda,
    selection: &Selection,
    calls: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, BundleError> {
    let mut report = Report { backend: cuda.name(), kernels: Vec::new(), not_run_here: 0 };
    let mut chosen = Vec::new();
    for target in &bundle.manifest.targets {
        for module in &target.modules {
            let wanted = callables(target, module).into_iter();
            let wanted = wanted.filter(|callable| selection.wants(&target.name, &callable.kernel.symbol()));
            let (here, elsewhere): (Vec<Callable>, Vec<Callable>) =
                wanted.partition(|callable| cuda.runs(&module.format) && !callable.kernel.is_ordered_by_host());
            report.not_run_here += elsewhere.len();
            if !here.is_empty() {
                chosen.push((target, module, here));
            }
        }
    }
    let kernels: usize = chosen.iter().map(|(_, _, wanted)| wanted.len()).sum();
    let of = kernels as u64 * calls;
    for (target, module, wanted) in chosen {
        let bytes = bundle.module(module)?;
        let module_bytes =
            ModuleBytes { name: &module.file, processors: &target.processors, bytes: &bytes, world: module.world };
        let seed = selection.first_seed();
        let mut soaking = Soak::open(cuda, &module_bytes, &callables(target, module), seed);
        for focus in wanted {
            let symbol = focus.kernel.symbol();
            let done = report.kernels.len() as u64 * calls;
            let mut kernel = KernelReport::new(&target.name, &symbol);
            let outcome = match &mut soaking {
                Ok(soak) => {
                    kernel.device = soak.ranks.device().to_owned();
                    soak.kernel(focus, calls, seed, &mut |made| {
                        progress(Progress { symbol: &symbol, done: done + made.min(calls), of });
                    })
                }
                Err(error) => Err(Stop::Backend(error.clone())),
            };
            match outcome {
                Ok(right) => (kernel.seeds, kernel.calls) = (1, right),
                Err(Stop::Backend(error)) => kernel.outcome = Outcome::Undecided { reason: error.message },
                Err(Stop::Fault(fault)) => {
                    let (folder, target) = (bundle.folder.display(), &target.name);
                    let replay = format!(
                        "xreduce check {folder} --on cuda --kernel {target}/{symbol} --calls {calls} --seed {seed}"
                    );
                    kernel.outcome = Outcome::Failed { seed, fault, replay };
                }
            }
            report.kernels.push(kernel);
        }
    }
    Ok(report)
}

/// A module with memory for its soak on every rank.
struct Soak<'a> {
    // Memory goes before the streams.
    workspaces: Vec<Memory>,
    outputs: Vec<Memory>,
    pools: HashMap<Element, Pool>,
    comparers: Vec<Comparer>,
    loaded: Kernels,
    ranks: Ranks,
    health: &'a Health,
    /// All kernels that may be called.
    kernels: Vec<Callable>,
    workspace: Workspace,
    limits: Limits,
    epoch: u32,
}

/// A call with its first element in the pool.
struct Windowed {
    call: Call,
    start: u32,
}

impl<'a> Soak<'a> {
    fn open(cuda: &'a Cuda, module: &ModuleBytes<'_>, all: &[Callable], seed: u64) -> Result<Self, BackendError> {
        let ranks = cuda.place(module)?;
        let told = |error: Error| cuda.health.told(&error);
        let workspace = Workspace::new(module.world, INBOX)
            .ok_or_else(|| BackendError::unable(format!("{INBOX} bytes are no size of an inbox")))?;
        let loaded = Kernels::load(&ranks, module.name, module.bytes).map_err(told)?;
        let limits = Limits {
            blocks: loaded.blocks(),
            threads: loaded.threads(),
            inbox_bytes: INBOX,
            burst: BURST,
            ample_spin: SPIN_LIMIT,
            short_spin: SPIN_LIMIT,
        };
        let kernels: Vec<Callable> =
            all.iter().copied().filter(|callable| !callable.kernel.is_ordered_by_host()).collect();
        let memory = |bytes: u64| ranks.iter().map(|rank| rank.context.allocate(bytes)).collect::<Result<Vec<_>, _>>();
        let workspaces = memory(workspace.bytes()).map_err(told)?;
        let outputs = memory(u64::from(BURST) * u64::from(SLOT)).map_err(told)?;
        let comparers = Comparer::all(&ranks).map_err(told)?;
        let mut random = Random::new(seed);
        let mut pools = HashMap::new();
        for element in Element::ALL {
            let of: Vec<_> = { kernels.iter() }
                .map(|callable| callable.kernel)
                .filter(|kernel| kernel.element == *element)
                .collect();
            if !of.is_empty() {
                let elements = 2 * INBOX / element.bytes();
                pools.insert(*element, Pool::draw(&ranks, *element, &of, elements, &mut random).map_err(told)?);
            }
        }
        let health = &cuda.health;
        Ok(Self { workspaces, outputs, pools, comparers, loaded, ranks, health, kernels, workspace, limits, epoch: 0 })
    }

    fn told(&self, error: &Error) -> Stop {
        Stop::Backend(self.health.told(error))
    }

    /// Makes `calls` calls of `focus`, or a few more, among others; gives how many.
    fn kernel(&mut self, focus: Callable, calls: u64, seed: u64, progress: &mut dyn FnMut(u64)) -> Result<u64, Stop> {
        self.health.verify()?;
        for (rank, comparer) in self.ranks.iter().zip(&self.comparers) {
            comparer.forget(&rank.stream).map_err(|error| self.told(&error))?;
        }
        let mut random = Random::new(seed);
        // The kernel's name takes part, so that two kernels do not get the same calls.
        for byte in focus.kernel.symbol().bytes() {
            random = Random::new(random.bits() ^ u64::from(byte));
        }
        let mut number = 0;
        let mut right = 0;
        let parts = 4;
        for part in 0..parts {
            // About half of a part's calls come before the epoch that it is about.
            let before = u32::try_from(calls / parts / 2).unwrap_or(u32::MAX).min(1 << 20);
            let start = match part {
                0 => 0,
                1 => 0x8000_0000 - before.max(1),
                2 => epoch::LAST - before.max(1),
                _ => random.word().clamp(1, epoch::LAST - 1),
            };
            self.prepare(start)?;
            let mut bursts = 0;
            while right < calls * (part + 1) / parts {
                let burst = self.draw(focus, &mut random);
                let replays = self.burst(&burst, &mut random, number)?;
                number += burst.len() * replays as usize;
                let of_focus = burst.iter().filter(|windowed| windowed.call.kernel == focus.kernel).count();
                right += of_focus as u64 * u64::from(replays);
                if bursts % LOOK == 0 || right >= calls * (part + 1) / parts {
                    self.verify_workspaces(&burst, number)?;
                    progress(right);
                }
                bursts += 1;
            }
        }
        self.verify_inputs(focus, number)?;
        Ok(right)
    }

    fn prepare(&mut self, epoch: u32) -> Result<(), Stop> {
        let mut memory = vec![0; usize::try_from(self.workspace.bytes()).unwrap_or(0)];
        self.workspace.prepare(&mut memory).map_err(BackendError::unable)?;
        if let Some(word) = memory.first_chunk_mut::<4>() {
            *word = epoch.to_le_bytes();
        }
        for (rank, workspace) in self.ranks.iter().zip(&self.workspaces) {
            rank.stream.copy_in(workspace, 0, &memory).map_err(|error| self.told(&error))?;
        }
        self.epoch = epoch;
        Ok(())
    }

    fn draw(&self, focus: Callable, random: &mut Random) -> Vec<Windowed> {
        let length = 1 + random.below(BURST);
        // Two grids per rank, by turns.
        let [even, odd] = [(); 2].map(|()| Call::with_count(focus, 1, &self.limits, random).ranks);
        let windowed = |place: u32| {
            let callable = if random.once_in(3) { random.pick(&self.kernels, focus) } else { focus };
            let capacity = callable.kernel.capacity(INBOX);
            let count = match random.below(12) {
                0 => 0,
                1 => capacity,
                // Every order of magnitude as often.
                _ => {
                    let magnitude = random.below(capacity.ilog2());
                    1 + random.below(capacity >> magnitude)
                }
            };
            let mut call = Call::with_count(callable, count, &self.limits, random);
            let grids = if place.is_multiple_of(2) { &even } else { &odd };
            for (part, grid) in call.ranks.iter_mut().zip(grids) {
                part.blocks = grid.blocks;
                part.threads = grid.threads.min(callable.max_threads);
            }
            Windowed { call, start: random.below(capacity) }
        };
        (0..length).map(windowed).collect()
    }

    /// Runs a burst, as often as it gives back.
    fn burst(&mut self, burst: &[Windowed], random: &mut Random, number: usize) -> Result<u32, Stop> {
        let as_graph = random.once_in(2);
        let dependent = random.once_in(2) && self.loaded.may_overlap();
        let replays = if as_graph { 1 + random.below(REPLAYS) } else { 1 };
        let turn = random.below(u32::try_from(self.workspaces.len()).unwrap_or(1));
        self.queue_burst(burst, as_graph.then_some(replays), dependent, turn).map_err(|error| {
            match self.health.told(&error) {
                error if error.by_kernel => fault(burst.last(), number, None, What::Kernel { message: error.message }),
                error => Stop::Backend(error),
            }
        })?;
        let calls = burst.iter().filter(|windowed| windowed.call.count > 0).count();
        for _ in 0..calls * replays as usize {
            self.epoch = epoch::next(self.epoch);
        }
        for (rank, (place, comparer)) in (0..).zip(self.ranks.iter().zip(&self.comparers)) {
            let difference = comparer.difference(&place.stream).map_err(|error| self.told(&error))?;
            if let Some(difference) = difference {
                return Err(self.explain(burst, number, rank, difference));
            }
        }
        Ok(replays)
    }

    fn queue_burst(&self, burst: &[Windowed], replays: Option<u32>, dependent: bool, turn: u32) -> Result<(), Error> {
        let mut ranks: Vec<u32> = (0..).take(self.workspaces.len()).collect();
        ranks.rotate_left(turn as usize);
        let queue = |rank: u32, stream: &Stream| self.queue(burst, dependent, rank, stream);
        let started = match replays {
            None => ranks.iter().try_for_each(|rank| queue(*rank, &self.ranks.rank(*rank)?.stream)),
            Some(replays) => {
                let mut graphs = Vec::new();
                for rank in ranks {
                    let stream = &self.ranks.rank(rank)?.stream;
                    graphs.push((stream, stream.capture(|stream| queue(rank, stream))?));
                }
                let started =
                    (0..replays).try_for_each(|_| graphs.iter().try_for_each(|(stream, graph)| stream.replay(graph)));
                // Before the graphs go, and also when not all have started.
                let ended = self.ranks.synchronize();
                started.and(ended)
            }
        };
        let ended = self.ranks.synchronize();
        started.and(ended)
    }

    /// Queues one rank's part: poison and inputs, then all kernels, then all comparisons.
    fn queue(&self, burst: &[Windowed], dependent: bool, rank: u32, stream: &Stream) -> Result<(), Error> {
        let missing = || Error::Argument(format!("there is no rank {rank}"));
        let output = self.outputs.get(rank as usize).ok_or_else(missing)?;
        let comparer = self.comparers.get(rank as usize).ok_or_else(missing)?;
        let workspaces: Vec<u64> = self.workspaces.iter().map(Memory::address).collect();
        let (mut kernels, mut comparisons) = (Vec::new(), Vec::new());
        for (tag, windowed) in (0..).zip(burst) {
            let Windowed { call, start } = windowed;
            let size = call.kernel.element.bytes();
            let part = call.ranks.get(rank as usize).ok_or_else(missing)?;
            let pool = self.pools.get(&call.kernel.element).ok_or_else(missing)?;
            let (first, data) = (GUARD + part.out_offset * size, call.count * size);
            let slot = u64::from(tag) * u64::from(SLOT);
            let bytes = first + data + GUARD;
            stream.fill(output, slot, bytes.into(), POISON)?;
            let (input, at) = pool.input(rank, *start)?;
            if part.in_place && data > 0 {
                stream.copy((output, slot + u64::from(first)), (input, at), data.into())?;
            }
            let out = output.at(slot + u64::from(first), data.into())?;
            let arguments = CallArguments {
                input: if part.in_place { out } else { input.at(at, data.into())? },
                output: out,
                count: call.count,
                rank,
                blocks: part.blocks,
                threads: part.threads,
                inbox_bytes: INBOX,
                spin_limit: SPIN_LIMIT,
                workspaces: &workspaces,
                root: call.root,
            };
            let dependent = dependent && !kernels.is_empty();
            kernels.push((call, Geometry { blocks: part.blocks, threads: part.threads, dependent }, arguments));
            let expected = pool.sum(&call.kernel, rank, *start)?;
            comparisons.push(Wanted { slot: output.at(slot, bytes.into())?, bytes, first, data, expected, tag });
        }
        for (call, geometry, arguments) in kernels {
            let function = self.loaded.get(rank, &call.kernel.symbol())?;
            stream.launch(function, geometry, &arguments.buffer(&call.kernel))?;
        }
        comparisons.iter().try_for_each(|wanted| comparer.queue(stream, wanted, POISON))
    }

    /// What to say of a wrong byte. A rank that gave up explains every wrong byte.
    fn explain(&self, burst: &[Windowed], number: usize, rank: u32, difference: Difference) -> Stop {
        let windowed = burst.get(difference.tag as usize);
        for (rank, (place, workspace)) in (0..).zip(self.ranks.iter().zip(&self.workspaces)) {
            let mut header = [0; 16];
            if let Err(error) = place.stream.copy_out(workspace, 0, &mut header) {
                return self.told(&error);
            }
            let [_, status, ..] = state::header(&header);
            if status != 0 {
                let saw = format!("{} ({status:#010x})", Status::decode(status));
                let (name, expected) = ("status".to_owned(), Status::Ok.to_string());
                let offset = xreduce_contract::workspace::STATUS;
                return fault(windowed, number, Some(rank), What::Word { name, offset, saw, expected });
            }
        }
        let Some(Windowed { call, start }) = windowed else {
            return Stop::Backend(BackendError::unable("a comparison that nobody asked for differs"));
        };
        let size = call.kernel.element.bytes();
        let first = GUARD + call.ranks.get(rank as usize).map_or(0, |part| part.out_offset) * size;
        let at = difference.byte.checked_sub(first).filter(|at| *at < call.count * size);
        let what = match (at, self.pools.get(&call.kernel.element)) {
            (Some(at), Some(pool)) => {
                match self.element(call, pool, *start, at / size, rank, (difference.tag, first)) {
                    Ok(what) => what,
                    Err(error) => return self.told(&error),
                }
            }
            _ => What::Byte {
                buffer: "out",
                offset: i64::from(difference.byte) - i64::from(first),
                saw: difference.saw,
                expected: difference.expected,
            },
        };
        fault(windowed, number + difference.tag as usize, Some(rank), what)
    }

    /// A wrong element, as it is now in the output `tag`.
    fn element(
        &self,
        call: &Call,
        pool: &Pool,
        start: u32,
        index: u32,
        rank: u32,
        (tag, first): (u32, u32),
    ) -> Result<What, Error> {
        let element = call.kernel.element;
        let show = |bytes: &[u8]| {
            values::elements(element, bytes).next().map_or_else(String::new, |bits| values::show(element, bits))
        };
        let missing = || Error::Argument(format!("there is no rank {rank}"));
        let output = self.outputs.get(rank as usize).ok_or_else(missing)?;
        let place = u64::from(tag) * u64::from(SLOT) + u64::from(first) + u64::from(index) * u64::from(element.bytes());
        let mut saw = vec![0; element.bytes() as usize];
        self.ranks.rank(rank)?.stream.copy_out(output, place, &mut saw)?;
        let inputs = pool.contributions(start + index);
        Ok(What::Element {
            index: index as usize,
            saw: show(&saw),
            expected: show(&values::sum(&call.kernel, &inputs)),
            inputs: inputs.iter().map(|input| show(input)).collect(),
        })
    }

    fn verify_workspaces(&self, burst: &[Windowed], number: usize) -> Result<(), Stop> {
        let mut memory = vec![0; usize::try_from(self.workspace.bytes()).unwrap_or(0)];
        let last = burst.last();
        let call = last.map(|windowed| &windowed.call).filter(|call| call.count > 0);
        let after = After { epoch: self.epoch, call, over_capacity: false };
        for (rank, (place, workspace)) in (0..).zip(self.ranks.iter().zip(&self.workspaces)) {
            place.stream.copy_out(workspace, 0, &mut memory).map_err(|error| self.told(&error))?;
            let world = self.workspace_world();
            if let Some(what) = world.and_then(|world| state::verify(&memory, &self.workspace, world, rank, after)) {
                return Err(fault(last, number, Some(rank), what));
            }
        }
        Ok(())
    }

    fn workspace_world(&self) -> Option<xreduce_contract::World> {
        self.kernels.first().map(|callable| callable.kernel.world)
    }

    fn verify_inputs(&self, focus: Callable, number: usize) -> Result<(), Stop> {
        let Some(pool) = self.pools.get(&focus.kernel.element) else { return Ok(()) };
        match pool.changed(&self.ranks).map_err(|error| self.told(&error))? {
            None => Ok(()),
            Some((rank, byte, saw, expected)) => {
                let offset = i64::try_from(byte).unwrap_or(i64::MAX);
                let what = What::Byte { buffer: "in", offset, saw, expected };
                Err(Stop::Fault(Box::new(Fault {
                    call: number,
                    kernel: focus.kernel.symbol(),
                    count: pool.elements(),
                    step: Step::Call,
                    rank: Some(rank),
                    what,
                })))
            }
        }
    }
}

fn fault(windowed: Option<&Windowed>, number: usize, rank: Option<u32>, what: What) -> Stop {
    let (kernel, count) =
        windowed.map_or_else(Default::default, |windowed| (windowed.call.kernel.symbol(), windowed.call.count));
    Stop::Fault(Box::new(Fault { call: number + 1, kernel, count, step: Step::Call, rank, what }))
}
