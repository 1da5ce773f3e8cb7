//! A whole build: what was asked for -> modules -> artifacts -> gate -> bundle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use xreduce_contract::manifest::{Evidence, KernelEntry, Manifest, Module, SCHEMA, Shard, TargetEntry};
use xreduce_contract::{Algorithm, CONTRACT_VERSION, Element, Kernel, World, kernel_arguments, workspace};

use crate::bundle::{self, Draft, MANIFEST};
use crate::error::{Error, Rejection};
use crate::files::Files;
use crate::gate;
use crate::inputs::{self, Previous};
use crate::job::Job;
use crate::render::{algorithm_template, render};
use crate::target::{Target, Targets, hex};
use crate::template::{Templates, Text};
use crate::worker::{Fault, Worker};

/// What to build, from what, and where to.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Names of targets; empty: all.
    pub targets: Vec<String>,
    /// Algorithms; empty: all.
    pub algorithms: Vec<Algorithm>,
    /// Elements; empty: all.
    pub elements: Vec<Element>,
    /// Worlds; empty: all.
    pub worlds: Vec<World>,
    /// Which part of the build, e.g. `(1, 3)` for the first of three; none: all of it.
    pub shard: Option<(u32, u32)>,
    /// Folder of the bundle.
    pub out: PathBuf,
    /// Templates.
    pub templates: Files,
    /// Target files.
    pub target_files: Files,
    /// Modules that are lowered at the same time.
    pub jobs: usize,
    /// How a module is lowered.
    pub worker: Worker,
    /// Version of the LLVM in the worker.
    pub llvm_version: String,
}

/// Told as a build goes on, from several threads.
pub trait Progress: Sync {
    /// `total` modules will be made.
    fn begin(&self, total: usize);
    /// One module, e.g. `gfx1100 w2`, is done, well or not.
    fn done(&self, module: &str);
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The manifest of the bundle.
    pub manifest: Manifest,
    /// Time each module took that was made, by its file's name; others were there already.
    pub times: BTreeMap<String, Duration>,
    /// Nothing had to be made and nothing was written.
    pub unchanged: bool,
    /// Time of the whole build.
    pub total: Duration,
}

/// One module to make.
struct Plan<'a> {
    target: &'a Target,
    world: World,
    kernels: Vec<Kernel>,
    inputs_sha256: String,
}

/// A module, its bytes, and the time it took to make, or none if an earlier bundle had it.
type Made = (Module, Vec<u8>, Option<Duration>);

impl Plan<'_> {
    fn name(&self) -> String {
        format!("{} w{}", self.target.name, self.world)
    }

    fn file(&self) -> String {
        let (target, world) = (&self.target.name, self.world);
        format!("{target}/xreduce-{target}-w{world}.{}", self.target.family.extension())
    }
}

/// Builds a bundle. `interrupted` ends it early; the place of the bundle then stays as it was, as after any error.
///
/// # Errors
/// Everything that went wrong, one entry per faulty module or file.
pub fn build(options: &BuildOptions, progress: &dyn Progress, interrupted: &AtomicBool) -> Result<Summary, Vec<Error>> {
    let begun = Instant::now();
    let one = |error: Error| vec![error];
    let targets = Targets::read(&options.target_files).map_err(one)?;
    let (plans, shard) = plan(options, &targets).map_err(one)?;
    let previous = Previous::at(&options.out);
    let found = in_parallel(options.jobs, &plans, |plan| previous.as_ref()?.module(&plan.file(), &plan.inputs_sha256));
    let all_found = found.iter().all(Option::is_some);
    let results = if all_found {
        found.into_iter().flatten().map(|(module, bytes)| Ok((module, bytes, None))).collect()
    } else {
        // A place that cannot be written is told before any work is done.
        Draft::new(&options.out).map_err(one)?;
        make_all(options, progress, interrupted, &plans, &found).map_err(one)?
    };

    let mut errors = Vec::new();
    let mut times = BTreeMap::new();
    let mut entries: Vec<TargetEntry> = Vec::new();
    let mut files = Vec::new();
    for (plan, result) in plans.iter().zip(results) {
        match result {
            Ok((module, bytes, time)) => {
                times.extend(time.map(|time| (module.file.clone(), time)));
                files.push((module.file.clone(), bytes));
                match entries.last_mut().filter(|entry| entry.name == plan.target.name) {
                    Some(entry) => entry.modules.push(module),
                    None => entries.push(target_entry(plan.target, module)),
                }
            }
            Err(Error::Interrupted) => return Err(vec![Error::Interrupted]),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(merge_gate(errors));
    }
    let manifest = Manifest {
        schema: SCHEMA,
        tool: concat!("xreduce ", env!("CARGO_PKG_VERSION")).to_owned(),
        llvm: options.llvm_version.clone(),
        contract: CONTRACT_VERSION,
        workspace_layout: workspace::LAYOUT_VERSION,
        templates_sha256: hash_of(&options.templates),
        shard,
        targets: entries,
    };
    let unchanged = all_found && previous.is_some_and(|previous| previous.manifest == manifest);
    if !unchanged {
        write(&options.out, &files, &manifest, interrupted).map_err(one)?;
    }
    Ok(Summary { manifest, times, unchanged, total: begun.elapsed() })
}

/// Makes the modules that were not found, with those that were in their places.
fn make_all(
    options: &BuildOptions,
    progress: &dyn Progress,
    interrupted: &AtomicBool,
    plans: &[Plan<'_>],
    found: &[Option<(Module, Vec<u8>)>],
) -> Result<Vec<Result<Made, Error>>, Error> {
    let templates = Templates::new(&options.templates)?;
    progress.begin(found.iter().filter(|found| found.is_none()).count());
    let work: Vec<_> = plans.iter().zip(found).collect();
    Ok(in_parallel(options.jobs, &work, |(plan, found)| {
        if let Some((module, bytes)) = found {
            return Ok((module.clone(), bytes.clone(), None));
        }
        let begun = Instant::now();
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let made = make(options, &templates, plan).map(|(module, bytes)| (module, bytes, Some(begun.elapsed())));
        progress.done(&plan.name());
        // A worker that the same Ctrl-C ended is no fault of LLVM's.
        if interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { made }
    }))
}

/// Puts a bundle in its place.
fn write(out: &Path, files: &[(String, Vec<u8>)], manifest: &Manifest, interrupted: &AtomicBool) -> Result<(), Error> {
    let draft = Draft::new(out)?;
    for (file, bytes) in files {
        draft.write(file, bytes)?;
    }
    let text = manifest.to_text().map_err(|cause| Error::output(Path::new(MANIFEST), cause))?;
    draft.write(MANIFEST, text.as_bytes())?;
    bundle::audit(draft.path())?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    draft.publish()
}

/// The modules that the options ask for, targets by name, worlds ascending; and which part of the build they are.
fn plan<'a>(options: &BuildOptions, targets: &'a Targets) -> Result<(Vec<Plan<'a>>, Option<Shard>), Error> {
    let chosen: Vec<&Target> = if options.targets.is_empty() {
        targets.iter().collect()
    } else {
        for name in &options.targets {
            targets.get(name)?;
        }
        targets.iter().filter(|target| options.targets.contains(&target.name)).collect()
    };
    let algorithms = some_or_all(&options.algorithms, Algorithm::ALL);
    let elements = some_or_all(&options.elements, Element::ALL);
    let mut plans = Vec::new();
    for target in chosen {
        for world in some_or_all(&options.worlds, World::ALL) {
            let mut kernels = Vec::new();
            for algorithm in &algorithms {
                for wire in algorithm.wires() {
                    let of =
                        |element: &Element| Kernel { algorithm: *algorithm, wire: *wire, element: *element, world };
                    kernels.extend(elements.iter().map(of));
                }
            }
            let inputs_sha256 = inputs::hash(&options.templates, &options.llvm_version, target, world, &kernels);
            plans.push(Plan { target, world, kernels, inputs_sha256 });
        }
    }
    let Some((index, of)) = options.shard else { return Ok((plans, None)) };
    if index == 0 || index > of {
        return Err(Error::Choice(format!("shard {index}/{of}: expected 1/{of} to {of}/{of}")));
    }
    let modules = u32::try_from(plans.len()).unwrap_or(u32::MAX);
    let mine = (0..of).cycle().zip(plans).filter(|(shard, _)| shard + 1 == index).map(|(_, plan)| plan);
    Ok((mine.collect(), Some(Shard { index, of, modules })))
}

fn some_or_all<T: Copy + Ord>(some: &[T], all: &[T]) -> Vec<T> {
    let mut chosen = if some.is_empty() { all.to_vec() } else { some.to_vec() };
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// Runs `work` on every item with `threads` threads; results in the order of the items.
fn in_parallel<T: Sync, R: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, items.get(index)?)))
                {
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Renders, lowers and judges one module.
fn make(options: &BuildOptions, templates: &Templates, plan: &Plan<'_>) -> Result<(Module, Vec<u8>), Error> {
    let text = render(templates, plan.target, plan.world, &plan.kernels)?;
    let job = Job {
        module: plan.name(),
        triple: plan.target.triple.clone(),
        cpu: plan.target.cpu.clone(),
        features: plan.target.features.clone(),
        output: plan.target.family.output(),
        spirv_extensions: plan.target.family.spirv_extensions().map(str::to_owned),
        ir: text.ir.clone(),
    };
    let bytes = options.worker.lower(&job).map_err(|fault| explain(options, plan, &text, fault))?;
    let file = plan.file();
    let template = |kernel: &Kernel| templates.path(&algorithm_template(kernel));
    let passed = gate::judge(&file, &bytes, &plan.kernels, template).map_err(Error::Gate)?;
    let kernels = plan.kernels.iter().zip(passed.resources).map(|(kernel, resources)| KernelEntry {
        symbol: kernel.symbol(),
        algorithm: kernel.algorithm,
        wire: kernel.wire,
        element: kernel.element,
        sum_order: kernel.algorithm.sum_order(),
        elements_per_packet: kernel.elements_per_packet(),
        arguments: kernel_arguments(kernel),
        max_threads_per_block: plan.target.limits.threads_per_block,
        resources,
        evidence: vec![Evidence::Verified],
    });
    let module = Module {
        sha256: hex(&Sha256::digest(&bytes)),
        bytes: bytes.len() as u64,
        inputs_sha256: plan.inputs_sha256.clone(),
        world: plan.world,
        format: passed.format,
        kernels: kernels.collect(),
        file,
    };
    Ok((module, bytes))
}

/// A worker's fault in the user's terms: the template's own line where LLVM named one, else the module, which is kept.
fn explain(options: &BuildOptions, plan: &Plan<'_>, text: &Text, fault: Fault) -> Error {
    let module = plan.name();
    let (message, line) = match fault {
        Fault::Faulty { message, line } => (message, line),
        Fault::Failed(message) => (message, None),
        Fault::Unreachable(message) => return Error::Lowering { module, message, kept: None },
    };
    // An assembler's complaint about inline asm quotes the instruction, as lowered, on its second line.
    let quoted = message.lines().nth(1).filter(|_| message.contains("<inline asm>"));
    let mnemonic = quoted.and_then(|asm| asm.split_whitespace().next());
    let place = line.and_then(|line| text.place(line)).or_else(|| text.find_asm(mnemonic?));
    match place {
        Some(place) => Error::Template { path: place.path.clone(), line: Some(place.line), module, message },
        None => {
            let kept = keep(&options.out, plan, &text.ir);
            let message = if kept.is_some() { message } else { format!("{message}; its IR could not be kept") };
            Error::Lowering { module, message, kept }
        }
    }
}

/// Keeps a module that LLVM could not lower beside the bundle: `<out>.failed/<target>-w<world>.ll`.
fn keep(out: &Path, plan: &Plan<'_>, ir: &str) -> Option<PathBuf> {
    let mut folder = out.as_os_str().to_owned();
    folder.push(".failed");
    let folder = PathBuf::from(folder);
    let path = folder.join(format!("{}-w{}.ll", plan.target.name, plan.world));
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, ir)).ok().map(|()| path)
}

fn target_entry(target: &Target, module: Module) -> TargetEntry {
    TargetEntry {
        name: target.name.clone(),
        family: target.family.word().to_owned(),
        processors: target.processors.clone(),
        target_sha256: target.sha256.clone(),
        lanes: target.lanes,
        spin_limit_unit: target.family.spin_limit_unit(),
        spin_limit_default: target.spin_limit_default,
        max_blocks_per_compute_unit: target.limits.blocks_per_compute_unit,
        modules: vec![module],
        dispatch: target.dispatch.clone(),
    }
}

/// SHA-256 over names and texts, each with its length before it.
fn hash_of(files: &Files) -> String {
    let mut hash = Sha256::new();
    for (name, text) in files.iter() {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hex(&hash.finalize())
}

/// Findings of several modules become one list.
fn merge_gate(errors: Vec<Error>) -> Vec<Error> {
    let mut rejections: Vec<Rejection> = Vec::new();
    let mut others = Vec::new();
    for error in errors {
        match error {
            Error::Gate(more) => rejections.extend(more),
            other => others.push(other),
        }
    }
    if !rejections.is_empty() {
        others.push(Error::Gate(rejections));
    }
    others
}
