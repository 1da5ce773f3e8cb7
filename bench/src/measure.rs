//! One measurement: a graph of calls on every rank, replayed, timed by the device's own events, and checked.

use xreduce_check::cuda::{CallArguments, Kernels};
use xreduce_contract::{Element, Kernel, Workspace, reference};
use xreduce_launch::cuda::{self, Arguments, Event, Function, Geometry, Graph, Memory, Ranks};

/// Why a bench ended without a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The driver's.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    /// The check's: no driver, no device.
    #[error(transparent)]
    Backend(#[from] xreduce_check::BackendError),
    /// The bundle's.
    #[error(transparent)]
    Bundle(#[from] xreduce_check::BundleError),
    /// Nothing in the bundle is to be measured here.
    #[error("{0}")]
    Nothing(String),
    /// A kernel gave a wrong result, so its time means nothing.
    #[error("{0}")]
    Wrong(String),
    /// The program that times other libraries.
    #[error("{0}")]
    Rivals(String),
}

/// Calls in a graph.
pub(crate) const CALLS: u32 = 200;
/// Bound of a wait, microseconds.
const SPIN_LIMIT: u32 = 10_000_000;
/// What an output holds before a graph runs: no element's sum.
const POISON: u8 = 0xA5;
/// Inputs are integers from -8 to 7, so that a sum of up to eight is exact in every element type and any order.
const VALUES: u32 = 16;

/// Memory for calls of every size on all ranks.
pub(crate) struct Bench<'a> {
    ranks: &'a Ranks,
    workspaces: Vec<Memory>,
    inputs: Vec<Memory>,
    outputs: Vec<Memory>,
    events: Vec<[Event; 2]>,
    inbox_bytes: u32,
}

/// One way to launch a kernel for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) kernel: Kernel,
    pub(crate) count: u32,
    pub(crate) geometry: Geometry,
}

fn value(rank: u32, index: u32) -> f32 {
    // Another value in neighbouring elements, ranks and lines.
    let mixed = index.wrapping_mul(7).wrapping_add(rank * 5).wrapping_add(index >> 4);
    f32::from(u8::try_from(mixed % VALUES).unwrap_or(0)) - 8.0
}

/// `count` elements, each from its index, as bytes.
fn elements(element: Element, count: u32, value: impl Fn(u32) -> f32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..count {
        let bits = reference::round(element, value(index)).to_le_bytes();
        bytes.extend(bits.iter().take(element.bytes() as usize));
    }
    bytes
}

impl<'a> Bench<'a> {
    /// Memory for messages of up to `bytes` bytes with inboxes of `inbox_bytes`.
    pub(crate) fn new(ranks: &'a Ranks, workspace: &Workspace, bytes: u64) -> Result<Self, Error> {
        let memory = |bytes: u64| ranks.iter().map(|rank| rank.context.allocate(bytes)).collect::<Result<Vec<_>, _>>();
        let bench = Self {
            ranks,
            workspaces: memory(workspace.bytes())?,
            inputs: memory(bytes)?,
            outputs: memory(bytes)?,
            events: {
                ranks
                    .iter()
                    .map(|rank| Ok([rank.context.event()?, rank.context.event()?]))
                    .collect::<Result<_, cuda::Error>>()?
            },
            inbox_bytes: workspace.inbox_bytes(),
        };
        for (rank, memory) in ranks.iter().zip(&bench.workspaces) {
            rank.stream.fill(memory, 0, 4096, 0)?;
            rank.stream.fill(memory, 4096, workspace.bytes() - 4096, 0xFF)?;
        }
        ranks.synchronize()?;
        Ok(bench)
    }

    /// Puts elements of this type into all inputs.
    pub(crate) fn fill(&self, element: Element) -> Result<(), Error> {
        for (number, (rank, memory)) in (0..).zip(self.ranks.iter().zip(&self.inputs)) {
            let count = u32::try_from(memory.bytes() / u64::from(element.bytes())).unwrap_or(u32::MAX);
            rank.stream.copy_in(memory, 0, &elements(element, count, |index| value(number, index)))?;
        }
        Ok(())
    }

    /// The median time of a call over `replays` replays, microseconds; one more goes before them.
    pub(crate) fn call(&self, kernels: &Kernels, case: &Case, replays: usize) -> Result<f64, Error> {
        let symbol = case.kernel.symbol();
        let workspaces: Vec<u64> = self.workspaces.iter().map(Memory::address).collect();
        let mut queued = Vec::new();
        for (rank, (input, output)) in (0..).zip(self.inputs.iter().zip(&self.outputs)) {
            let arguments = CallArguments {
                input: input.address(),
                output: output.address(),
                count: case.count,
                rank,
                blocks: case.geometry.blocks,
                threads: case.geometry.threads,
                inbox_bytes: self.inbox_bytes,
                spin_limit: SPIN_LIMIT,
                workspaces: &workspaces,
                root: 0,
            };
            queued.push((kernels.get(rank, &symbol)?, arguments.buffer(&case.kernel)));
        }
        self.poison()?;
        let time = self.graphs(&queued, case.geometry, replays)?;
        self.verify(case)?;
        Ok(time)
    }

    /// The same for a kernel without arguments that touches nothing.
    pub(crate) fn floor(&self, functions: &[Function], geometry: Geometry, replays: usize) -> Result<f64, Error> {
        let queued: Vec<_> = functions.iter().map(|function| (function, Arguments::new())).collect();
        self.graphs(&queued, geometry, replays)
    }

    fn graphs(&self, queued: &[(&Function, Arguments)], geometry: Geometry, replays: usize) -> Result<f64, Error> {
        let mut graphs: Vec<Graph> = Vec::new();
        for (rank, (function, arguments)) in self.ranks.iter().zip(queued) {
            graphs.push(rank.stream.capture(|stream| {
                (0..CALLS).try_for_each(|call| {
                    // The first has no kernel before it.
                    let geometry = Geometry { dependent: geometry.dependent && call > 0, ..geometry };
                    stream.launch(function, geometry, arguments)
                })
            })?);
        }
        let mut times = Vec::new();
        for _ in 0..=replays {
            let started =
                self.ranks.iter().zip(graphs.iter().zip(&self.events)).try_for_each(|(rank, (graph, [begin, end]))| {
                    rank.stream.record(begin)?;
                    rank.stream.replay(graph)?;
                    rank.stream.record(end)
                });
            let ended = self.ranks.synchronize();
            started.and(ended)?;
            // The rank that started last waited for nobody else to start.
            let mut shortest = f64::INFINITY;
            for [begin, end] in &self.events {
                shortest = shortest.min(end.microseconds_since(begin)?);
            }
            times.push(shortest / f64::from(CALLS));
        }
        times.remove(0);
        Ok(median(times))
    }

    fn poison(&self) -> Result<(), Error> {
        for (rank, memory) in self.ranks.iter().zip(&self.outputs) {
            rank.stream.fill(memory, 0, memory.bytes(), POISON)?;
        }
        Ok(self.ranks.synchronize()?)
    }

    fn verify(&self, case: &Case) -> Result<(), Error> {
        let element = case.kernel.element;
        let world = case.kernel.world.ranks();
        let expected = elements(element, case.count, |index| (0..world).map(|rank| value(rank, index)).sum());
        let mut saw = vec![0; expected.len()];
        for (number, (rank, (output, workspace))) in
            (0..).zip(self.ranks.iter().zip(self.outputs.iter().zip(&self.workspaces)))
        {
            let mut status = [0; 4];
            rank.stream.copy_out(workspace, xreduce_contract::workspace::STATUS, &mut status)?;
            let status = xreduce_contract::Status::decode(u32::from_le_bytes(status));
            rank.stream.copy_out(output, 0, &mut saw)?;
            let wrong = saw.iter().zip(&expected).position(|(saw, expected)| saw != expected);
            if status != xreduce_contract::Status::Ok || wrong.is_some() {
                let Case { kernel, count, geometry } = case;
                let at = wrong.map_or_else(String::new, |at| format!(", byte {at} of `out` is wrong"));
                let message = format!(
                    "{}, {count} elements, {} blocks of {} threads: rank {number}: status {status}{at}",
                    kernel.symbol(),
                    geometry.blocks,
                    geometry.threads
                );
                return Err(Error::Wrong(message));
            }
        }
        Ok(())
    }
}

/// The middle one, or the mean of the two in the middle; 0 of none.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match (times.get(middle.wrapping_sub(1)), times.get(middle)) {
        (Some(before), Some(after)) if times.len().is_multiple_of(2) => f64::midpoint(*before, *after),
        (_, Some(middle)) => *middle,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![5.0]), 5.0);
    }

    #[test]
    fn sums_of_inputs_are_exact_in_every_element_type() {
        for element in Element::ALL {
            for index in 0..64 {
                let exact: f32 = (0..8).map(|rank| value(rank, index)).sum();
                assert_eq!(reference::widen(*element, reference::round(*element, exact)), exact);
            }
        }
        assert_eq!(
            elements(Element::F32, 2, |index| if index == 0 { 1.0 } else { -2.0 }),
            [0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]
        );
    }
}
