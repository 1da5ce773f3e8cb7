//! Ranks in processes of their own, which open each other's workspaces over IPC handles: how multi-process hosts use
//! the kernels. Where the processes share one GPU, the driver gives it to one after the other, so a kernel waits for its
//! peer's turn: this shows that sums are right, and nothing about time.
//!
//! The commanding process and a rank's exchange lines of JSON. All ranks draw the same calls from the same seed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};
use xreduce_contract::manifest::KernelEntry;
use xreduce_contract::{Kernel, Status, Workspace, World, workspace};
use xreduce_launch::cuda::{Context, Driver, Error, Function, Geometry, Memory, Stream};

use super::call::CallArguments;
use super::needed_capability;
use crate::backend::Limits;
use crate::bundle::Bundle;
use crate::fault::{Fault, Step, What};
use crate::plan::{Call, Callable, MAX_OFFSET};
use crate::random::Random;
use crate::report::{KernelReport, Outcome, Report};
use crate::select::{Progress, Selection, callables};
use crate::values;

/// Capacity of an inbox, bytes: so large that a workspace shares its pages with no other memory.
const INBOX: u32 = 1 << 18;
/// Bound of a wait, microseconds.
const SPIN_LIMIT: u32 = 20_000_000;
/// Guard bytes before and after an output.
const GUARD: usize = 256;
/// What they, and an output before a call, hold.
const POISON: u8 = 0xA5;
/// Bytes of `in`, and of `out`.
const BUFFER: u32 = 2 * 256 + MAX_OFFSET * 4 + INBOX;

/// What a rank is told, in this order.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Open a device and a workspace.
    Open { module: PathBuf, processors: Vec<String>, entry: Box<KernelEntry>, lanes: u32, world: World, rank: u32 },
    /// Open the peers' workspaces.
    Peers { handles: Vec<Vec<u8>> },
    /// Make calls.
    Call { calls: u64, seed: u64, blocks: u32 },
}

/// What it answers to each.
#[derive(Debug, Serialize, Deserialize)]
enum Response {
    /// The workspace, the most blocks of a launch, the device.
    Opened { handle: Vec<u8>, blocks: u32, device: String },
    /// The peers' workspaces are open and the own one is prepared.
    Ready,
    /// So many calls were right, and what was wrong with the next.
    Called { right: u64, wrong: Option<String> },
    /// It could not.
    Failed(String),
}

/// Makes `calls` calls of every selected kernel, each rank a process: this program with `argument`, with which it calls
/// [`rank_main`].
///
/// # Errors
/// The system's, if this program cannot be found. What a kernel, a process or the device does wrong is in the report.
pub fn processes(
    bundle: &Bundle,
    argument: &str,
    selection: &Selection,
    calls: u64,
    progress: &mut dyn FnMut(Progress<'_>),
) -> std::io::Result<Report> {
    let program = std::env::current_exe()?;
    let mut report = Report { backend: super::Cuda::NAME, kernels: Vec::new(), not_run_here: 0 };
    let mut chosen = Vec::new();
    for target in &bundle.manifest.targets {
        for module in &target.modules {
            for (callable, entry) in callables(target, module).into_iter().zip(&module.kernels) {
                let symbol = callable.kernel.symbol();
                if !selection.wants(&target.name, &symbol) {
                    continue;
                }
                let is_ptx = matches!(module.format, xreduce_contract::manifest::Format::Ptx { .. });
                if is_ptx && !callable.kernel.is_ordered_by_host() {
                    chosen.push((target, module, entry, symbol));
                } else {
                    report.not_run_here += 1;
                }
            }
        }
    }
    let of = chosen.len() as u64;
    for (done, (target, module, entry, symbol)) in (1..).zip(chosen) {
        let open = |rank| Request::Open {
            module: bundle.folder.join(&module.file),
            processors: target.processors.clone(),
            entry: Box::new(entry.clone()),
            lanes: target.lanes,
            world: module.world,
            rank,
        };
        let seed = selection.first_seed();
        let mut kernel = KernelReport::new(&target.name, &symbol);
        match run(&program, argument, &(0..module.world.ranks()).map(open).collect::<Vec<_>>(), calls, seed) {
            Ok((device, right, wrong)) => {
                kernel.device = format!("{device}, {} processes", module.world);
                kernel.calls = right;
                kernel.seeds = u32::from(wrong.is_none());
                if let Some((rank, message)) = wrong {
                    let fault = Box::new(Fault {
                        call: usize::try_from(right + 1).unwrap_or(usize::MAX),
                        kernel: symbol.clone(),
                        count: 0,
                        step: Step::Call,
                        rank: Some(rank),
                        what: What::Kernel { message },
                    });
                    let (folder, target) = (bundle.folder.display(), &target.name);
                    let replay = format!(
                        "xreduce check {folder} --on cuda --processes --kernel {target}/{symbol} --calls {calls} --seed {seed}"
                    );
                    kernel.outcome = Outcome::Failed { seed, fault, replay };
                }
            }
            Err(reason) => kernel.outcome = Outcome::Undecided { reason },
        }
        report.kernels.push(kernel);
        progress(Progress { symbol: &symbol, done, of });
    }
    Ok(report)
}

/// A rank's process; ended when dropped.
struct Member {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended by itself; nobody is left to tell of an error to.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Member {
    fn start(program: &Path, argument: &str) -> Result<Self, String> {
        let mut command = Command::new(program);
        let command = command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, output: BufReader::new(output) }),
            _ => Err("a rank's process has no pipes".to_owned()),
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), String> {
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        writeln!(self.input, "{line}").map_err(|error| format!("a rank's process has ended: {error}"))
    }

    fn receive(&mut self) -> Result<Response, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            return Err("a rank's process has ended".to_owned());
        }
        match serde_json::from_str(&line) {
            Ok(Response::Failed(reason)) => Err(reason),
            Ok(response) => Ok(response),
            Err(error) => Err(format!("a rank's process answered {line:?}: {error}")),
        }
    }
}

/// Device, right calls of every rank, and the first rank with a wrong one.
type Ran = (String, u64, Option<(u32, String)>);

fn run(program: &Path, argument: &str, open: &[Request], calls: u64, seed: u64) -> Result<Ran, String> {
    let mut members: Vec<Member> = open.iter().map(|_| Member::start(program, argument)).collect::<Result<_, _>>()?;
    for (member, open) in members.iter_mut().zip(open) {
        member.send(open)?;
    }
    let (mut handles, mut blocks, mut device) = (Vec::new(), u32::MAX, String::new());
    for member in &mut members {
        let Response::Opened { handle, blocks: most, device: name } = member.receive()? else {
            return Err("a rank's process opened nothing".to_owned());
        };
        handles.push(handle);
        blocks = blocks.min(most);
        device = name;
    }
    for member in &mut members {
        member.send(&Request::Peers { handles: handles.clone() })?;
    }
    for member in &mut members {
        member.receive()?;
    }
    for member in &mut members {
        member.send(&Request::Call { calls, seed, blocks })?;
    }
    let (mut least, mut first_wrong) = (u64::MAX, None);
    for (rank, member) in (0..).zip(&mut members) {
        let Response::Called { right, wrong } = member.receive()? else {
            return Err("a rank's process called nothing".to_owned());
        };
        least = least.min(right);
        first_wrong = first_wrong.or(wrong.map(|message| (rank, message)));
    }
    // Only now may the workspaces go.
    Ok((device, least, first_wrong))
}

/// Plays one rank, as requests on standard input say, until that is closed.
#[must_use]
pub fn rank_main() -> ExitCode {
    let mut rank = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let response = serde_json::from_str::<Request>(&line).map_err(|error| error.to_string());
        let response = response.and_then(|request| answer(&mut rank, request)).unwrap_or_else(Response::Failed);
        let Ok(line) = serde_json::to_string(&response) else { return ExitCode::FAILURE };
        let mut output = std::io::stdout().lock();
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn answer(rank: &mut Option<Rank>, request: Request) -> Result<Response, String> {
    match (request, rank) {
        (Request::Open { module, processors, entry, lanes, world, rank: number }, rank) => {
            let (opened, response) = Rank::open(&module, &processors, &entry, lanes, world, number)?;
            *rank = Some(opened);
            Ok(response)
        }
        (Request::Peers { handles }, Some(rank)) => {
            rank.peers(&handles).map_err(|error| error.to_string()).map(|()| Response::Ready)
        }
        (Request::Call { calls, seed, blocks }, Some(rank)) => Ok(rank.calls(calls, seed, blocks)),
        (_, None) => Err("nothing is open".to_owned()),
    }
}

/// A rank in its own process.
struct Rank {
    number: u32,
    callable: Callable,
    workspace: Workspace,
    input: Memory,
    output: Memory,
    own: Memory,
    /// By rank; none for the own one.
    peers: Vec<Option<Memory>>,
    function: Function,
    stream: Stream,
    context: Context,
}

impl Rank {
    fn open(
        path: &Path,
        processors: &[String],
        entry: &KernelEntry,
        lanes: u32,
        world: World,
        number: u32,
    ) -> Result<(Self, Response), String> {
        let ptx = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let workspace = Workspace::new(world, INBOX).ok_or("no size of an inbox")?;
        let told = |error: Error| error.to_string();
        let driver = Driver::open().map_err(told)?;
        let needed = processors.iter().filter_map(|name| needed_capability(name)).min().unwrap_or(0);
        let mut devices = Vec::new();
        for device in driver.devices().map_err(told)? {
            if device.capability().map_err(told)? >= needed {
                devices.push(device);
            }
        }
        // A GPU for every rank, or one for all.
        let at = if devices.len() >= world.ranks() as usize { number as usize } else { 0 };
        let device = devices.get(at).ok_or_else(|| format!("no device of compute capability sm_{needed} or higher"))?;
        let open = || -> Result<(Self, Response), Error> {
            let context = device.context()?;
            let function = context.load(&path.display().to_string(), &ptx)?.function(&entry.symbol)?;
            let max_threads = entry.max_threads_per_block.min(function.max_threads()?);
            let blocks = function.blocks_per_compute_unit(max_threads)? * device.compute_units()?;
            let own = context.allocate(workspace.bytes())?;
            let response = Response::Opened { handle: own.export()?.to_vec(), blocks, device: device.name()? };
            let rank = Self {
                number,
                callable: Callable { kernel: entry.kernel(world), max_threads, lanes },
                workspace,
                input: context.allocate(BUFFER.into())?,
                output: context.allocate(BUFFER.into())?,
                own,
                peers: Vec::new(),
                function,
                stream: context.stream()?,
                context,
            };
            Ok((rank, response))
        };
        open().map_err(told)
    }

    fn peers(&mut self, handles: &[Vec<u8>]) -> Result<(), Error> {
        for (rank, handle) in (0..).zip(handles) {
            let handle = <[u8; 64]>::try_from(handle.as_slice()).map_err(|error| Error::Argument(error.to_string()))?;
            let is_peer = rank != self.number;
            let opened = is_peer.then(|| self.context.import(handle, self.workspace.bytes())).transpose()?;
            self.peers.push(opened);
        }
        let (page, all) = (workspace::HEADER_PAGE, self.workspace.bytes());
        self.stream.fill(&self.own, 0, page, 0)?;
        self.stream.fill(&self.own, page, all - page, 0xFF)?;
        self.stream.synchronize()
    }

    fn calls(&self, calls: u64, seed: u64, blocks: u32) -> Response {
        let mut random = Random::new(seed);
        let limits = Limits {
            blocks,
            threads: self.callable.max_threads,
            inbox_bytes: INBOX,
            burst: 1,
            ample_spin: SPIN_LIMIT,
            short_spin: SPIN_LIMIT,
        };
        for right in 0..calls {
            let call = Call::draw(self.callable, INBOX, &limits, &mut random);
            let wrong = self.call(&call).unwrap_or_else(|error| Some(error.to_string()));
            if wrong.is_some() {
                return Response::Called { right, wrong };
            }
        }
        Response::Called { right: calls, wrong: None }
    }

    /// What is wrong with one call, if anything.
    fn call(&self, call: &Call) -> Result<Option<String>, Error> {
        let missing = || Error::Argument(format!("there is no rank {}", self.number));
        let Kernel { element, world, .. } = call.kernel;
        let part = call.ranks.get(self.number as usize).ok_or_else(missing)?;
        let mut random = Random::new(call.seed);
        let inputs: Vec<Vec<u8>> = (0..world.ranks())
            .map(|_| values::generate(element, call.values, call.count as usize, &mut random))
            .collect();
        let own = inputs.get(self.number as usize).ok_or_else(missing)?;
        let first = |offset: u32| GUARD + (offset * element.bytes()) as usize;
        let bytes = first(part.out_offset) + own.len() + GUARD;
        let (at_in, at_out) = (first(part.in_offset), first(part.out_offset));
        self.stream.copy_in(&self.output, 0, &vec![POISON; bytes])?;
        let (place, at) = if part.in_place { (&self.output, at_out) } else { (&self.input, at_in) };
        self.stream.copy_in(place, at as u64, own)?;
        let workspaces: Vec<u64> = self.peers.iter().map(|peer| peer.as_ref().unwrap_or(&self.own).address()).collect();
        let arguments = CallArguments {
            input: place.at(at as u64, own.len() as u64)?,
            output: self.output.at(at_out as u64, own.len() as u64)?,
            count: call.count,
            rank: self.number,
            blocks: part.blocks,
            threads: part.threads,
            inbox_bytes: INBOX,
            spin_limit: SPIN_LIMIT,
            workspaces: &workspaces,
            root: call.root,
        };
        let geometry = Geometry { blocks: part.blocks, threads: part.threads, dependent: false };
        self.stream.launch(&self.function, geometry, &arguments.buffer(&call.kernel))?;
        let mut saw = vec![0; bytes];
        self.stream.copy_out(&self.output, 0, &mut saw)?;
        let mut status = [0; 4];
        self.stream.copy_out(&self.own, workspace::STATUS, &mut status)?;
        let status = Status::decode(u32::from_le_bytes(status));
        if status != Status::Ok {
            return Ok(Some(format!("{} elements: status: {status}", call.count)));
        }
        let (before, rest) = saw.split_at(at_out);
        let (data, after) = rest.split_at(own.len());
        if let Some((index, saw, sum)) = values::first_difference(element, data, &values::sum(&call.kernel, &inputs)) {
            let (saw, sum) = (values::show(element, saw), values::show(element, sum));
            return Ok(Some(format!("{} elements: element {index} is {saw}, expected {sum}", call.count)));
        }
        let stray = before.iter().chain(after).any(|byte| *byte != POISON);
        Ok(stray.then(|| format!("{} elements: a byte beside `out` was written", call.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_and_one_that_talks_are_told() {
        let mut silent = Member::start(Path::new("true"), "").unwrap();
        assert_eq!(silent.receive().unwrap_err(), "a rank's process has ended");
        let mut talking = Member::start(Path::new("echo"), "what").unwrap();
        assert!(talking.receive().unwrap_err().contains("what"));
        assert!(Member::start(Path::new("/nowhere/program"), "").is_err());
    }

    #[test]
    fn nothing_is_called_before_it_is_open() {
        let answered = answer(&mut None, Request::Call { calls: 1, seed: 1, blocks: 1 });
        assert_eq!(answered.unwrap_err(), "nothing is open");
    }

    #[test]
    fn a_workspace_has_pages_of_its_own() {
        // The driver's unit of allocation is 2 MiB; what is smaller may share one with other memory.
        assert!(Workspace::new(World::try_from(2).unwrap(), INBOX).unwrap().bytes() > 2 << 20);
    }
}
